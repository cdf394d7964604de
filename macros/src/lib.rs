//! The attribute macros `#[kernel]` and `#[func]`, and the derives `KernelValue` and `Tensors`.
//!
//! A macro sees tokens and no types. From one function it makes
//!
//! * the **type-inference copy** (by [`tree`]): the user's code, never called, with probes by which rustc's inference
//!   gives the type of each binding. rustc reports the user's mistakes in this copy;
//! * the **syntax tree** (by [`tree`]), from which the IR is made, and whose rules `frontend` checks;
//! * the **CPU body** (by [`body`] and [`rewrite`]): the user's code again, with other loop headers and checked
//!   accesses.
//!
//! [`emit`] combines them. The only emitted `unsafe` in a body is the user's.
#![forbid(unsafe_code)]

mod affine;
mod ast;
mod attribute;
mod body;
mod combine;
mod complex;
mod derive_kernel_value;
mod desugar;
mod emit;
mod enums;
mod errors;
mod generics;
mod hygiene;
mod identity;
mod marks;
mod methods;
mod reduce;
mod rewrite;
mod scatter;
mod signature;
mod sites;
mod span_table;
mod spans;
mod storage;
mod tensor_methods;
mod tensors;
mod text;
mod tokens;
mod tree;
mod user_macros;

use proc_macro2::TokenStream;
use quadrants_frontend::syntax::FunctionKind;
use quote::quote;

/// Makes a function a kernel: a call of it returns a launch.
///
/// ```text
/// #[qd::kernel]
/// fn saxpy(a: f32, x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
///     for i in 0..x.len() {
///         y[i] += a * x[i];
///     }
/// }
/// ```
///
/// `saxpy(2.0, &x, &mut y).launch()?` launches it. The rules, in short; the book in `docs/book` of the repository has a
/// chapter about the kernel language:
///
/// - **Parameters** are kernel values (numbers, `bool`, tuples, arrays, `Vector`, `Matrix`, types with
///   `#[derive(KernelValue)]`), `&Tensor` and `&mut Tensor`, and structs of tensors (`#[derive(Tensors)]`). A kernel
///   may return a kernel value.
/// - **A `for` loop at the top level is parallel**, over a range of integers, with `rev` and `step_by`, or over an
///   `ndrange` of up to six dimensions, also in an `if` or `match` at the top level and after a `return`. Loops in
///   loops and in values are serial, as are all other statements. Attributes of loops:
///   `#[qd::serial]`, `#[qd::block_size(n)]`, `#[qd::unroll]`, `#[qd::unroll(n)]`.
/// - **Iterations do not conflict.** An element that one iteration writes is not accessed by another, except by
///   atomics. That must be provable: at compile time, or at launch, else the launch is `Error::Race`. `unsafe { … }`
///   around an access asserts it.
/// - **Iterations assign only locals of their own.** `break` and `return` cannot leave a parallel loop.
/// - **Indices are proven in range** at launch, or checked: then an index out of range is an error of the launch.
/// - Other top-level statements are `stream_parallel` blocks, which run concurrently, and `block_for`, a grid of thread
///   blocks with shared arrays.
/// - Calls are those of funcs (`#[qd::func]`), of local closures, of built-in methods, and of the macros `assert!`,
///   `assert_eq!`, `assert_ne!` and their `debug_` forms, `cfg!`, `matches!`, `println!`, and `macro_rules!` macros
///   with `#[qd::func]`. Closures as values, references, iterators and `?` are not supported.
///
/// Arguments, separated by commas:
///
/// - `strict`: no contraction of multiplications and additions, and no combining of a loop's atomic float sums before
///   they reach memory. Excludes `fast_math`.
/// - `fast_math`: floats may be reassociated on GPUs, and functions are less accurate.
/// - `crate = path`: the facade crate, if it is not `::quadrants`.
#[proc_macro_attribute]
pub fn kernel(
    arguments: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    expand(FunctionKind::Kernel, arguments.into(), item.into()).into()
}

/// Makes a function callable from kernels and other funcs. It also stays an ordinary function.
///
/// ```text
/// #[qd::func]
/// fn laplacian(u: &Tensor<f32, 1>, i: usize) -> f32 {
///     let (left, right) = (wrapped(i as i32 - 1, u.len()), wrapped(i as i32 + 1, u.len()));
///     u[left] + u[right] - 2.0 * u[i]
/// }
/// ```
///
/// The rules, in short; the book in `docs/book` of the repository has a chapter about the kernel language:
///
/// - Parameters are kernel values, tensors by `&` or `&mut`, and structs of tensors. A func may write tensors: the race
///   check of the kernel looks into it.
/// - All its loops are serial, and it may `return` anywhere. It cannot call itself.
/// - It may be generic over types (`Number`, `Float`, `Int`, `Signed`, or a trait with `#[func]`) and constants.
/// - The options `strict` and `fast_math` are those of the kernel that calls it.
///
/// On an `impl` block of a kernel value, it makes all functions of the block callable: methods with `self`,
/// `&self` or `&mut self`, and functions by the type's name. A method may have the name of a built-in one, such as
/// `norm`, unless it takes `&mut self`. In a kernel, `value.name(…)` is the func of the value's type, even if traits
/// with a method of that name are in scope.
///
/// On an `impl` block of a struct of tensors, it makes the methods that take `&self` or `&mut self` callable.
///
/// On a trait, it makes the trait a bound for the generic parameters of kernels and funcs. Each implementation needs
/// `#[func]` too; it may be for a type of another crate. Kernels rely on what that emits, so that the trait becomes
/// `unsafe` to implement: an `impl` without `#[func]` does not compile.
///
/// On a `macro_rules!` macro, it makes the macro callable from kernels and funcs:
///
/// ```text
/// #[qd::func]
/// macro_rules! square {
///     ($x:expr) => {{
///         let x = $x;
///         x * x
///     }};
/// }
/// ```
///
/// A macro that a kernel's body defines needs no attribute.
///
/// Argument: `crate = path` (the facade crate, if it is not `::quadrants`).
#[proc_macro_attribute]
pub fn func(
    arguments: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    expand(FunctionKind::Func, arguments.into(), item.into()).into()
}

/// Puts the expansion of a `macro_rules!` macro into the kernel that called it. Emitted code calls this.
#[doc(hidden)]
#[proc_macro]
pub fn resume(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let resumed = user_macros::resume(input.into());
    let tokens = resumed.map(|(kind, arguments, item)| expand(kind, arguments, item));
    tokens.unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a struct a kernel value, as its fields must be, or an enum without fields. It also needs `Clone` and `Copy`.
///
/// In kernels and funcs, `a == b` compares the fields, on every backend, as `#[derive(PartialEq)]` does. A `PartialEq`
/// of your own is not called, except by CPU bodies with debug assertions, which panic where its result is another one.
/// The struct cannot implement `Deref`.
///
/// An enum is a parameter, a local and a field of structs; kernels compare it by `==`, `match` and `matches!`, and cast
/// it by `as`. It cannot be an element of a tensor, whose memory may hold numbers that are not discriminants; store
/// `value as u32`.
///
/// ```text
/// #[derive(Clone, Copy, quadrants::KernelValue)]
/// struct Ray {
///     origin: Vector<f32, 3>,
///     direction: Vector<f32, 3>,
/// }
/// ```
///
/// Attribute: `#[device(crate = path)]` (the facade crate, if it is not `::quadrants`).
#[proc_macro_derive(KernelValue, attributes(device))]
pub fn device(item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    derived(item, derive_kernel_value::derive)
}

/// Makes a struct of tensors a parameter of kernels and funcs, by `&` or `&mut`.
///
/// ```text
/// #[derive(quadrants::Tensors)]
/// struct Particles<'a> {
///     position: &'a mut Tensor<Vector<f32, 3>, 1>,
///     mass: &'a Tensor<f32, 1>,
/// }
///
/// #[quadrants::kernel]
/// fn fall(by: f32, p: &mut Particles<'_>) {
///     for i in 0..p.position.len() {
///         p.position[i][1] -= by * p.mass[i];
///     }
/// }
/// ```
///
/// Attribute: `#[device(crate = path)]` (the facade crate, if it is not `::quadrants`).
#[proc_macro_derive(Tensors, attributes(device))]
pub fn tensors(item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    derived(item, tensors::derive)
}

fn derived(
    item: proc_macro::TokenStream,
    derive: fn(&syn::DeriveInput) -> syn::Result<TokenStream>,
) -> proc_macro::TokenStream {
    let tokens = syn::parse(item).and_then(|input| derive(&input));
    tokens.unwrap_or_else(syn::Error::into_compile_error).into()
}

fn expand(kind: FunctionKind, arguments: TokenStream, item: TokenStream) -> TokenStream {
    try_expand(kind, arguments, item).unwrap_or_else(syn::Error::into_compile_error)
}

fn try_expand(
    kind: FunctionKind,
    arguments: TokenStream,
    item: TokenStream,
) -> syn::Result<TokenStream> {
    let item = hygiene::with_one_hygiene(item);
    let refused = hygiene::refused_name(&item).or_else(|| hygiene::refused_root(item.clone()));
    if let Some(error) = refused {
        return Err(error);
    }
    if kind == FunctionKind::Func
        && let Ok(definition) = syn::parse2::<syn::ItemMacro>(item.clone())
    {
        attribute::parse(kind, arguments)?;
        return user_macros::with_rules_for_kernels(&definition);
    }
    let private = attribute::parse(kind, arguments.clone())?.paths.private;
    if let Some(code) = user_macros::expansion(kind, &arguments, &item, &private)? {
        return Ok(code);
    }
    if kind == FunctionKind::Func {
        if let Ok(block) = syn::parse2(item.clone()) {
            return Ok(methods::expand_impl(&attribute::parse(kind, arguments)?, block));
        }
        if let Ok(of) = syn::parse2(item.clone()) {
            return Ok(methods::expand_trait(&attribute::parse(kind, arguments)?, of));
        }
    }
    let mut function: syn::ItemFn = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(_) => return errors::explained(kind, item),
    };
    if let Some(error) = hygiene::refused_self(&function) {
        return Err(error);
    }
    desugar::bind_patterns(&mut function.sig, &mut function.block);
    match kind {
        FunctionKind::Kernel => {
            desugar::kernel_body(
                &signature::mutable_references(&function.sig),
                &mut function.block,
            );
        }
        FunctionKind::Func => desugar::func_body(&mut function.block),
    }
    hygiene::make_unambiguous(&mut function.block);
    let attribute = attribute::parse(kind, arguments)?;
    let refused = hygiene::keep_inert(&mut function.attrs);
    let function = emit::function(kind, &attribute, function);
    Ok(marks::finished(quote!(#refused #function), &attribute.paths.private))
}

#[cfg(test)]
mod tests;
