//! The attribute macros `#[kernel]` and `#[func]`.
//!
//! A macro sees tokens and no types. From one function it makes
//!
//! * the **probed copy** (made by [`tree`]): the author's tokens as they stand, never called, with probes that
//!   let rustc's inference say the type of each binding. It also is where rustc finds the author's
//!   mistakes, in the author's own code;
//! * the **syntax tree** ([`tree`]), from which the IR is made, and whose rules `frontend` checks;
//! * the **CPU body** ([`body`]): the author's tokens again, with other loop headers.
//!
//! [`emit`] puts them together. No `unsafe` is emitted in a body that its author did not write.
#![forbid(unsafe_code)]

mod attribute;
mod body;
mod calls;
mod device;
mod division;
mod elements;
mod emit;
mod generics;
mod hygiene;
mod index;
mod methods;
mod reduce;
mod signature;
mod sites;
mod spans;
mod tensors;
mod tree;

use proc_macro2::TokenStream;
use quadrants_frontend::syntax::FunctionKind;
use quote::quote;

/// Makes a function a kernel: calling it gives a launch.
///
/// ```text
/// #[quadrants::kernel]
/// fn saxpy(a: f32, x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
///     for i in 0..x.len() {
///         y[i] += a * x[i];
///     }
/// }
/// saxpy(2.0, &x, &mut y).launch()?;
/// ```
///
/// Arguments, separated by commas: `strict` (no contraction of multiplications and additions, and no
/// combining of a loop's atomic sums before they reach memory),
/// `fast_math` (floats may be reassociated on GPUs), `crate = path` (where the facade crate is found,
/// if not at `::quadrants`).
#[proc_macro_attribute]
pub fn kernel(
    arguments: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    expand(FunctionKind::Kernel, arguments.into(), item.into()).into()
}

/// Makes a function callable from kernels. It stays an ordinary function too.
///
/// On an `impl` block of a type of kernels, it makes all functions of the block callable: methods with `self`,
/// `&self` or `&mut self`, and functions by the type's name. A method may have the name of a built-in one, such as
/// `norm`, unless it takes `&mut self`. In a kernel, `value.name(…)` is the func of the value's type, whatever traits
/// with a method of that name are in scope.
///
/// On a trait, it makes what implements the trait usable in kernels and funcs that are generic over it. Each
/// implementation is a block with `#[func]` too. Kernels rely on what that emits, so that the trait becomes
/// `unsafe` to implement: an `impl` without `#[func]` does not compile.
///
/// Argument: `crate = path` (where the facade crate is found, if not at `::quadrants`).
#[proc_macro_attribute]
pub fn func(
    arguments: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    expand(FunctionKind::Func, arguments.into(), item.into()).into()
}

/// Makes a struct a type of values in kernels: its fields are such types. It needs `Clone` and `Copy` too.
///
/// In kernels, `a == b` compares the fields, on every backend: an implementation of `PartialEq` by hand is needed for
/// the kernel to type-check, and not called. The struct cannot implement `Deref`.
///
/// ```text
/// #[derive(Clone, Copy, quadrants::KernelValue)]
/// struct Ray {
///     origin: Vector<f32, 3>,
///     direction: Vector<f32, 3>,
/// }
/// ```
///
/// Attribute: `#[device(crate = path)]` (where the facade crate is found, if not at `::quadrants`).
#[proc_macro_derive(KernelValue, attributes(device))]
pub fn device(item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    match syn::parse(item).and_then(|input| device::derive(&input)) {
        Ok(tokens) => tokens.into(),
        Err(error) => error.into_compile_error().into(),
    }
}

/// Makes a struct of tensors a parameter of kernels and funcs, by `&` or `&mut`.
///
/// ```text
/// #[derive(quadrants::Tensors)]
/// struct Particles<'a> {
///     place: &'a mut Tensor<Vector<f32, 3>, 1>,
///     mass: &'a Tensor<f32, 1>,
/// }
///
/// #[quadrants::kernel]
/// fn fall(by: f32, p: &mut Particles<'_>) {
///     for i in 0..p.place.len() {
///         p.place[i][1] -= by * p.mass[i];
///     }
/// }
/// ```
///
/// Attribute: `#[device(crate = path)]` (where the facade crate is found, if not at `::quadrants`).
#[proc_macro_derive(Tensors, attributes(device))]
pub fn tensors(item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    match syn::parse(item).and_then(|input| tensors::derive(&input)) {
        Ok(tokens) => tokens.into(),
        Err(error) => error.into_compile_error().into(),
    }
}

fn expand(kind: FunctionKind, arguments: TokenStream, item: TokenStream) -> TokenStream {
    let item = hygiene::of_one_hygiene(item);
    let refused = hygiene::reserved(item.clone()).or_else(|| hygiene::refused_root(item.clone()));
    if let Some(error) = refused {
        return error.into_compile_error();
    }
    if kind == FunctionKind::Func
        && let Ok(block) = syn::parse2::<syn::ItemImpl>(item.clone())
    {
        return match attribute::parse(kind, arguments) {
            Ok(attribute) => methods::expand(&attribute, block),
            Err(error) => error.into_compile_error(),
        };
    }
    if kind == FunctionKind::Func
        && let Ok(of) = syn::parse2::<syn::ItemTrait>(item.clone())
    {
        return match attribute::parse(kind, arguments) {
            Ok(attribute) => methods::expand_trait(&attribute, of),
            Err(error) => error.into_compile_error(),
        };
    }
    expand_function(kind, arguments, item)
}

fn expand_function(kind: FunctionKind, arguments: TokenStream, item: TokenStream) -> TokenStream {
    let parsed = syn::parse2(item).and_then(|mut function: syn::ItemFn| {
        if let Some(error) = hygiene::refused_self(&function) {
            return Err(error);
        }
        hygiene::unambiguous(&mut function.block);
        let attribute = attribute::parse(kind, arguments)?;
        let refused = hygiene::inert(&mut function.attrs);
        Ok((refused, attribute, function))
    });
    match parsed {
        Ok((refused, attribute, function)) => {
            let private = emit::Paths::new(&attribute.krate).private;
            let function = emit::function(kind, &attribute, function);
            sites::finished(quote!(#refused #function), &private)
        }
        Err(error) => error.into_compile_error(),
    }
}

#[cfg(test)]
mod tests;
