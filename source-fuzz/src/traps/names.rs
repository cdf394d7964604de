//! Traps by names: modules, types, constants, macros, locals and funcs with the name of something else.

use std::fmt::Write as _;

use super::trap::{Trap, wrong};
use crate::{
    generate::Generator,
    types::{Bound, METHODS, Method, Num, OF_NUMBERS, Ty},
};

/// A glob-imported func, hidden by an item with its name.
pub(super) fn hidden_func(generator: &mut Generator) -> Trap {
    let (label, item) = *generator.rng.pick(&[
        ("function", "fn shifted(i: usize) -> usize { i + (1 << 40) }"),
        ("function of another type", "fn shifted(i: u32) -> u32 { i + 8 }"),
        ("generic function", "fn shifted<Z>(i: Z) -> Z { i }"),
        ("constant", "const shifted: fn(usize) -> usize = |i| i + (1 << 40);"),
        ("static", "static shifted: fn(usize) -> usize = away; fn away(i: usize) -> usize { i + (1 << 40) }"),
        ("struct", "#[derive(Clone, Copy, Debug, qd::KernelValue)] struct shifted(usize);"),
        ("module", "mod shifted { pub fn __call(i: usize) -> usize { i + 8 } }"),
        ("trait", "trait shifted { fn __call(i: usize) -> usize { i + 8 } }"),
        ("type", "type shifted = u32;"),
        ("other func", "#[qd::func] fn shifted(i: usize) -> usize { i.min(2) }"),
        ("trait of the func's type", "trait Own { fn __call(i: usize) -> usize; } impl Own for far::shifted { fn __call(i: usize) -> usize { i + 8 } }"),
        ("glob of both", "mod near { pub fn shifted(i: usize) -> usize { i + 8 } } use near::*;"),
    ]);
    let items = format!(
        "mod far {{ use quadrants as qd; #[qd::func] pub(super) fn shifted(i: usize) -> usize {{ i }} }}\nuse far::*;\n{item}\n"
    );
    generator.equal_indices.push("shifted(@)".to_owned());
    generator.collisions.push((Ty::USIZE, "shifted(1)".to_owned()));
    Trap { label: label.to_owned(), items, ..Trap::default() }
}

/// A module with the name of a number type, and with functions and constants like that type's.
pub(super) fn module_of_number(generator: &mut Generator) -> Trap {
    let num = *generator.rng.pick(&[Num::Usize, Num::F32, Num::U32, Num::I32, Num::U64, Num::U8]);
    let ty = num.name();
    let mut text = format!("pub mod {ty} {{\n");
    for method in &METHODS[..OF_NUMBERS] {
        if method.is_of(num) && !method.name.starts_with("to_") {
            let args: String = (0..method.args.len()).map(|at| format!(", _a{at}: {ty}")).collect();
            let ret = Method::of(method.ret, num);
            let _ = writeln!(
                text,
                "pub fn {}(_x: {ty}{args}) -> {} {{ {} }}",
                method.name,
                generator.text(&ret),
                wrong(&ret)
            );
        }
    }
    let least = if num.is_float() { "3.5" } else { "3" };
    let _ = writeln!(
        text,
        "pub fn from(_x: u8) -> {ty} {{ {least} }}\npub const MAX: {ty} = {least};\npub const MIN: {ty} = {least};\npub const BITS: u32 = 5;\npub const EPSILON: {ty} = {least};\n}}"
    );
    generator
        .equal_indices
        .push(if num == Num::Usize { "usize::max(@, 0)" } else { "@" }.to_owned());
    generator.collisions.push((Ty::Num(num), format!("{ty}::MAX")));
    Trap { label: ty.to_owned(), items: text, ..Trap::default() }
}

/// A module with the name of a crate that emitted code could use.
pub(super) fn module_of_crate(generator: &mut Generator) -> Trap {
    let name =
        *generator.rng.pick(&["core", "std", "quadrants_program", "alloc", "primitive", "body"]);
    let items = format!(
        "pub mod {name} {{\n\
         pub mod primitive {{ pub type u32 = u64; pub type usize = u8; pub type f32 = f64; }}\n\
         pub mod option {{ pub enum Option<T> {{ None, Some(T) }} }}\n\
         pub mod ops {{ pub trait Fn {{}} }}\n\
         pub mod f32 {{ pub mod consts {{ pub const PI: f32 = 3.0; }} pub const MAX: f32 = 3.0; }}\n\
         pub mod primitive_of {{ pub fn max(a: usize, _b: usize) -> usize {{ a + 8 }} }}\n\
         }}\n"
    );
    generator.equal_indices.push("usize::max(@, 0)".to_owned());
    generator.collisions.push((Ty::Num(Num::U32), "u32::MAX".to_owned()));
    Trap { label: name.to_owned(), items, ..Trap::default() }
}

/// A module that replaces the library, with one item changed.
pub(super) fn module_of_library(generator: &mut Generator) -> Trap {
    let (label, item) = *generator.rng.pick(&[
        ("ndrange", "pub fn ndrange(of: [usize; 2]) -> quadrants::ndrange<[usize; 2]> { quadrants::ndrange([of[0] / 2, of[1]]) }"),
        ("atomic_add", "pub fn atomic_add(x: &mut i32, v: i32) -> i32 { *x -= v; v }"),
        ("stream_parallel", "pub fn stream_parallel(f: impl FnOnce()) { f(); }"),
        ("Vector", "#[derive(Clone, Copy, quadrants::KernelValue)] pub struct Vector<T, const N: usize>(pub [T; N]);"),
        ("Int", "pub trait Int: quadrants::Int { fn abs_diff(self, _o: Self) -> Self { self } } impl<Z: quadrants::Int> Int for Z {}"),
        ("Number", "pub trait Number: quadrants::Number { fn to_usize(self) -> usize { 1 << 40 } } impl<Z: quadrants::Number> Number for Z {}"),
        ("random", "pub fn random_u32(_a: u64, _b: u64, _c: u64) -> u32 { 77 }"),
        ("atomic_max", "pub use quadrants::atomic_min as atomic_max;"),
        ("kernel", "pub use quadrants::kernel as kernel;"),
        ("nothing", ""),
    ]);
    if label == "atomic_max" || label == "atomic_add" {
        generator.collisions.push((Ty::Num(Num::I32), "3i32".to_owned()));
    }
    if matches!(label, "Int" | "Number") {
        let (bound, num) =
            if label == "Int" { (Bound::Int, Num::U32) } else { (Bound::Number, Num::U32) };
        generator.with_param("T", bound, num);
        generator.focus.push(if label == "Int" { "abs_diff" } else { "to_usize" });
        generator.collisions.push((Ty::USIZE, "n.to_usize()".to_owned()));
        let generics = Some((format!("<T: qd::{label}>"), "::<u32>".to_owned()));
        let params = vec![("n".to_owned(), Ty::Param)];
        return Trap {
            label: label.to_owned(),
            library: Some(item.to_owned()),
            generics,
            params,
            ..Trap::default()
        };
    }
    Trap { label: label.to_owned(), library: Some(item.to_owned()), ..Trap::default() }
}

/// Another type with the name of a number type.
pub(super) fn alias(generator: &mut Generator) -> Trap {
    let (name, of) = *generator.rng.pick(&[
        ("u32", "u64"),
        ("usize", "u32"),
        ("f32", "f64"),
        ("i32", "i64"),
        ("u8", "usize"),
        ("bool", "u8"),
        ("f64", "f32"),
    ]);
    let item = match generator.rng.below(3) {
        0 => format!("pub type {name} = {of};\n"),
        1 => format!("pub mod far {{ pub type {name} = {of}; }}\nuse far::*;\n"),
        _ => format!(
            "#[derive(Clone, Copy, Debug, qd::KernelValue)]\npub struct {name}(pub {of});\n"
        ),
    };
    let num = Num::INTS.into_iter().chain([Num::F32, Num::F64]).find(|num| num.name() == name);
    if let Some(num) = num.filter(|num| !num.is_float()) {
        generator.collisions.push((Ty::Num(Num::U64), format!("((300u16 as {name}) as u64)")));
        generator.collisions.push((
            Ty::Num(Num::U32),
            format!("(((5i8 - 9) as {name}) as ::core::primitive::u32)"),
        ));
        let _ = num;
    }
    Trap { label: format!("{name} = {of}"), items: item, ..Trap::default() }
}

/// A type parameter with the name of a known type.
pub(super) fn generic_name(generator: &mut Generator) -> Trap {
    let (name, bound, num) = *generator.rng.pick(&[
        ("f32", Bound::Float, Num::F64),
        ("u32", Bound::Int, Num::I64),
        ("usize", Bound::Int, Num::U32),
        ("i32", Bound::Int, Num::U32),
        ("bool", Bound::Number, Num::U32),
        ("Vector", Bound::Int, Num::I32),
        ("Tensor_", Bound::Float, Num::F32),
        ("qd", Bound::Int, Num::I32),
        ("core", Bound::Int, Num::I32),
        ("__Level", Bound::Int, Num::I32),
        ("Body", Bound::Int, Num::I32),
        ("__F", Bound::Int, Num::I32),
        ("Source", Bound::Int, Num::I32),
    ]);
    generator.with_param(name, bound, num);
    Trap {
        label: name.to_owned(),
        params: vec![("n".to_owned(), Ty::Param)],
        generics: Some((
            format!("<{name}: quadrants::{}>", bound.name()),
            format!("::<{}>", num.name()),
        )),
        ..Trap::default()
    }
}

/// Locals and parameters with names that other things have.
pub(super) fn locals(generator: &mut Generator) -> Trap {
    let names = match generator.rng.below(4) {
        0 => {
            "cx args value given proven begin end index count size at0 assigned part0 \
             lane0 rest0 array by this elements"
        }
        1 => "f32 u32 usize qd quadrants core std Tensor Vector i32 bool",
        2 => {
            "__OK __launch __def __DEF __SOURCE probe0 probe1 __func0 __Body \
             unnamed0 __Level __WIDE argument0"
        }
        _ => {
            "len max sum shape func0 func1 kernel atomic_add ndrange stream_parallel \
             block_for t b abs_diff"
        }
    };
    generator.pool = names.split_whitespace().map(str::to_owned).collect();
    let label = generator.pool[0].clone();
    Trap { label: format!("{label}, …"), ..Trap::default() }
}

/// Constants, statics and unit structs with names that locals have.
pub(super) fn constants(generator: &mut Generator) -> Trap {
    let name = generator.word("v0 v1 v2 i1 k3 n a0 cx args value __OK begin p0 x0 y0");
    let (label, item) = match generator.rng.below(5) {
        0 => ("const", format!("const {name}: usize = 1;\n")),
        1 => ("static", format!("static {name}: usize = 1;\n")),
        2 => ("struct", format!("struct {name};\n")),
        3 => ("fn", format!("fn {name}() -> usize {{ 1 }}\n")),
        _ => {
            ("const by glob", format!("mod far {{ pub const {name}: usize = 1; }}\nuse far::*;\n"))
        }
    };
    Trap { label: format!("{label} {name}"), items: item, ..Trap::default() }
}

/// Macros with names that emitted code or kernels use.
pub(super) fn macros(generator: &mut Generator) -> Trap {
    let name = generator.word(
        "assert assert debug_assert panic unreachable matches vec quote stringify concat \
         file line include_bytes",
    );
    let body = *generator.rng.pick(&["{ }", "{ () }", "{ return }", "{ 0 }"]);
    let item = if generator.rng.percent(50) {
        format!("macro_rules! {name} {{ ($($t:tt)*) => {body}; }}\n")
    } else {
        format!("macro_rules! own {{ ($($t:tt)*) => {body}; }}\nuse own as {name};\n")
    };
    Trap { label: name.to_owned(), items: item, ..Trap::default() }
}

/// Items with names of the prelude.
pub(super) fn prelude(generator: &mut Generator) -> Trap {
    let name = generator.word(
        "Option Some None Ok Err Result Copy Clone Fn FnOnce Into From Iterator Default \
         Sized Send Sync Box Vec String PartialEq PartialOrd Ord Self_ Drop",
    );
    let (label, item) = match generator.rng.below(5) {
        0 => ("struct", format!("pub struct {name};\n")),
        1 => (
            "trait",
            format!(
                "pub trait {name} {{ fn clone(&self) -> u8 {{ 3 }} fn from(_x: u8) -> u32 {{ 77 }} }}\n"
            ),
        ),
        2 => ("fn", format!("pub fn {name}<Z>(z: Z) -> Z {{ z }}\n")),
        3 => ("mod", format!("pub mod {name} {{}}\n")),
        _ => ("type", format!("pub type {name} = u32;\n")),
    };
    Trap { label: format!("{label} {name}"), items: item, ..Trap::default() }
}

/// Methods of all types, with names that emitted code calls.
pub(super) fn emitted_method(generator: &mut Generator) -> Trap {
    let name = generator.word(
        "see pass push args value tensor par_for block region finish holds shape count \
         get set at lane lanes rest each given give bounded gate threads index len walk \
         strided cell load store read write by launch ir of shared reduce_add add sub \
         mul neg not eq lt next into_iter deref borrow rem div bitand shl add_assign \
         index_mut partial_cmp cmp clone rev step_by clamped divisor divisor_of combine \
         element place as_ref call update element_mut extent",
    );
    let this = *generator.rng.pick(&["self", "self", "&self"]);
    let (args, result, value) = *generator.rng.pick(&[
        ("", "usize", "1 << 40"),
        ("", "Self where Self: Sized", "loop {}"),
        ("<A>(SELF, a: A)", "A", "a"),
        ("<A, B>(SELF, a: A, _b: B)", "A", "a"),
        ("<A>(SELF, _a: A)", "()", "()"),
        ("", "()", "()"),
    ]);
    let args = if args.is_empty() { "(SELF)".to_owned() } else { args.to_owned() };
    let args = args.replace("SELF", this);
    let items = format!(
        "pub trait Own {{ fn {name}{args} -> {result} where Self: Sized; }}\nimpl<Z> Own for Z {{ fn {name}{args} -> {result} where Self: Sized {{ {value} }} }}\n"
    )
    .replace("where Self: Sized where", "where");
    Trap { label: name.to_owned(), items, ..Trap::default() }
}

/// Items with names of emitted items.
pub(super) fn emitted_name(generator: &mut Generator) -> Trap {
    let name = generator.word(
        "__Body __SOURCE __DEF __INSTANCES __OK __Level __F __WIDE __KEPT Cx \
         Probe Level Body Source Launch support in_scope gate identity ElementCount \
         Bounded Number Known",
    );
    let item = match generator.rng.below(4) {
        0 => format!("pub struct {name};\n"),
        1 => format!("pub const {name}: bool = false;\n"),
        2 => format!("pub trait {name} {{}}\n"),
        _ => format!("pub fn {name}<Z>(z: Z) -> Z {{ z }}\n"),
    };
    Trap { label: name.to_owned(), items: item, ..Trap::default() }
}

/// Methods of ranges, which loops use.
pub(super) fn range_methods(generator: &mut Generator) -> Trap {
    let (label, items) = *generator.rng.pick(&[
        ("rev", "pub trait Own: Sized { fn rev(self) -> ::core::ops::Range<usize> { 0..1 } }\nimpl Own for ::core::ops::Range<usize> {}\n"),
        ("step_by", "pub trait Own: Sized { fn step_by(self, _by: usize) -> ::core::ops::Range<usize> { 0..1 } }\nimpl Own for ::core::ops::Range<usize> {}\n"),
        ("rev of all", "pub trait Own: Sized { fn rev(self) -> Self { self } }\nimpl<Z> Own for Z {}\n"),
        ("into_iter", "pub trait Own: Sized { fn into_iter(self) -> Self { self } }\nimpl<Z> Own for Z {}\n"),
        ("next", "pub trait Own: Sized { fn next(&mut self) -> Option<usize> { None } }\nimpl Own for ::core::ops::Range<usize> {}\n"),
        ("len", "pub trait Own: Sized { fn len(self) -> usize { 1 << 40 } }\nimpl Own for &Tensor<f32, 1> {}\nimpl Own for &Tensor<u32, 1> {}\nimpl Own for &Tensor<i32, 1> {}\n"),
        ("shape", "pub trait Own: Sized { fn shape(self) -> [usize; 1] { [1 << 40] } }\nimpl<Z> Own for Z {}\n"),
        ("shape by reference", "pub trait Own { fn shape(&self) -> [usize; 1] { [1 << 40] } }\nimpl<Z> Own for Z {}\n"),
    ]);
    Trap { label: label.to_owned(), items: items.to_owned(), ..Trap::default() }
}

/// An item that hides the library's item with its name.
pub(super) fn own_type(generator: &mut Generator) -> Trap {
    let (label, items) = *generator.rng.pick(&[
        ("Vector", "#[derive(Clone, Copy, Debug, qd::KernelValue)]\npub struct Vector<T, const N: usize>(pub [T; N]);\n#[qd::func]\nimpl<T: quadrants::Number> Vector<T, 3> { pub fn own(self) -> T { self.0[0] } }\n"),
        ("Vector alias", "pub type Vector<T, const N: usize> = quadrants::Vector<T, N>;\n"),
        ("Matrix", "#[derive(Clone, Copy, Debug, qd::KernelValue)]\npub struct Matrix<T, const R: usize, const C: usize>(pub [[T; C]; R]);\n"),
        ("Tensor", "pub type Tensor<T, const N: usize> = quadrants::Tensor<T, N>;\n"),
        ("KernelValue", "pub trait KernelValue {}\n"),
        ("Int", "pub trait Int {}\n"),
        ("Float", "pub type Float = f32;\n"),
        ("ndrange", "pub fn ndrange() -> usize { 3 }\n"),
        ("atomic_add", "pub fn atomic_add(x: &mut i32, v: i32) -> i32 { *x -= v; v }\n"),
        ("Vector function", "#[allow(non_snake_case)]\npub fn Vector<T: Copy, const N: usize>(of: [T; N]) -> quadrants::Vector<T, N> { quadrants::Vector([of[0]; N]) }\n"),
    ]);
    Trap { label: label.to_owned(), items: items.to_owned(), glob: true, ..Trap::default() }
}

/// Items that could give a literal another type in the CPU body than in the type-inference copy, and functions that
/// hide a conversion.
pub(super) fn inference(generator: &mut Generator) -> Trap {
    let boxed = "#[derive(Clone, Copy, qd::KernelValue)] pub struct Boxed<T>(pub T);\n";
    let (label, items, uses) = *generator.rng.pick(&[
        (
            "equality",
            "impl PartialEq for Boxed<u64> { fn eq(&self, _: &Self) -> bool { true } }\n",
            "{ let b = Boxed(3); let _e = b == b; (b.0 - 4) as i64 >> 8 }",
        ),
        (
            "method",
            "#[qd::func] impl<T: quadrants::Int> Boxed<T> { pub fn all(self) -> u64 { 5 } }\n\
             pub trait Hiding { fn all(self) -> u64; }\n\
             impl Hiding for Boxed<u64> { fn all(self) -> u64 { 6 } }\n",
            "{ let b = Boxed(3); let a = b.all(); ((b.0 - 4) as i64 >> 8) + a as i64 }",
        ),
        (
            "alias",
            "mod held { use quadrants as qd; #[qd::func] pub fn less<T: qd::Int>(a: T) -> T { a - T::from_i32(4) } }\n\
             #[allow(non_camel_case_types)] type less = held::less;\n\
             fn less(a: u64) -> u64 { a }\n",
            "{ let b = less(3); b as i64 >> 8 }",
        ),
        (
            "assert",
            "macro_rules! assert { ($a:ident > 0, $m:expr) => {{ let _u: u64 = $a; }} }\n",
            "{ let b = 3; assert!(b > 0, \"positive\"); (b - 4) as i64 >> 8 }",
        ),
        (
            "from",
            "impl From<usize> for Boxed<usize> { fn from(a: usize) -> Self { Boxed(a + 8) } }\n\
             #[qd::func] impl Boxed<usize> { fn from(a: usize) -> Boxed<usize> { Boxed(a) } }\n",
            "Boxed::from(3_usize).0 as i64",
        ),
        (
            "half",
            "pub trait OfHalf { fn from_u32(a: u32) -> quadrants::f16; fn from_f32(a: f32) -> quadrants::f16; }\n\
             impl OfHalf for quadrants::f16 {\n\
             fn from_u32(_: u32) -> Self { quadrants::f16::MAX }\n\
             fn from_f32(_: f32) -> Self { quadrants::f16::MAX } }\n",
            "quadrants::f16::from_f32(2.5).to_f32() as i64",
        ),
        ("path", "", "f32::to_u32(1.5) as i64 + (i64::to_i32(2147483648) >> 31) as i64"),
    ]);
    generator.collisions.push((Ty::Num(Num::I64), format!("({uses})")));
    Trap { label: label.to_owned(), items: format!("{boxed}{items}"), ..Trap::default() }
}
