//! Traps by traits of the author's: with methods of built-in names, and as bounds of type parameters.

use std::fmt::Write as _;

use super::trap::{Trap, wrong};
use crate::{
    generate::Generator,
    types::{Bound, METHODS, Method, Num, OF_NUMBERS, RelativeType, Ty},
};

impl Generator {
    /// A method of numbers.
    fn some_method(&mut self) -> &'static Method {
        &METHODS[self.rng.below(OF_NUMBERS)]
    }
}

fn args_of(method: &Method, own: &str) -> String {
    let one = |(at, of): (usize, &RelativeType)| match of {
        RelativeType::U32 | RelativeType::Few => format!(", _a{at}: u32"),
        _ => format!(", _a{at}: {own}"),
    };
    method.args.iter().enumerate().map(one).collect()
}

fn traits_of(generator: &mut Generator, this: &str) -> Trap {
    let method = generator.some_method();
    let mut items = String::new();
    for num in Num::INTS.into_iter().chain([Num::F32, Num::F64]) {
        if method.is_of(num) && generator.rng.percent(70) {
            let (ty, ret) = (num.name(), Method::of(method.ret, num));
            let (args, result) = (args_of(method, ty), generator.text(&ret));
            let name = format!("Own{}", ty.to_uppercase());
            let _ = writeln!(
                items,
                "pub trait {name} {{ fn {0}({this}{args}) -> {result}; }}\nimpl {name} for {ty} {{ fn {0}({this}{args}) -> {result} {{ {1} }} }}",
                method.name,
                wrong(&ret),
            );
        }
    }
    generator.focus.push(method.name);
    Trap { label: method.name.to_owned(), items, ..Trap::default() }
}

pub(super) fn trait_of_numbers(generator: &mut Generator) -> Trap {
    traits_of(generator, "self")
}

pub(super) fn trait_of_numbers_by_reference(generator: &mut Generator) -> Trap {
    let this = *generator.rng.pick(&["&self", "&mut self"]);
    traits_of(generator, this)
}

pub(super) fn blanket_trait(generator: &mut Generator) -> Trap {
    let method = generator.some_method();
    let this = *generator.rng.pick(&["self", "self", "&self"]);
    let args = args_of(method, "Self");
    let (result, value) = match method.ret {
        RelativeType::Own | RelativeType::Divisor | RelativeType::Unsigned => {
            let last = method
                .args
                .iter()
                .rposition(|of| matches!(of, RelativeType::Own | RelativeType::Divisor));
            (
                "Self".to_owned(),
                last.map_or_else(
                    || if this == "self" { "self".to_owned() } else { "*self".to_owned() },
                    |at| format!("_a{at}"),
                ),
            )
        }
        of => {
            let ty = Method::of(of, Num::U32);
            (generator.text(&ty), wrong(&ty))
        }
    };
    generator.focus.push(method.name);
    let items = format!(
        "pub trait Own: Sized + Copy {{ fn {0}({this}{args}) -> {result} {{ {value} }} }}\nimpl<Z: Copy> Own for Z {{}}\n",
        method.name
    );
    Trap { label: method.name.to_owned(), items, ..Trap::default() }
}

/// A trait of vectors, matrices and arrays.
pub(super) fn trait_of_vectors(generator: &mut Generator) -> Trap {
    let (name, ty, args, result, value) = *generator.rng.pick(&[
        ("len", "[f32; 3]", "", "usize", "1 << 40"),
        ("len", "[u32; 2]", "", "usize", "1 << 40"),
        ("sum", "Vector<f32, 3>", "", "f32", "7777.25"),
        ("dot", "Vector<f32, 3>", ", _o: Self", "f32", "7777.25"),
        ("norm", "Vector<f32, 2>", "", "f32", "7777.25"),
        ("norm_squared", "Vector<f32, 2>", "", "f32", "7777.25"),
        ("cross", "Vector<f32, 3>", ", o: Self", "Self", "o"),
        ("component_mul", "Vector<f32, 3>", ", o: Self", "Self", "o"),
        ("trace", "Matrix<f32, 2, 2>", "", "f32", "7777.25"),
        ("determinant", "Matrix<f32, 2, 2>", "", "f32", "7777.25"),
        ("transpose", "Matrix<f32, 2, 2>", "", "Self", "self"),
    ]);
    let this = *generator.rng.pick(&["self", "self", "&self"]);
    let value = if this == "&self" && value == "self" { "*self" } else { value };
    let items = format!(
        "pub trait Own {{ fn {name}({this}{args}) -> {result} where Self: Sized; }}\nimpl Own for {ty} {{ fn {name}({this}{args}) -> {result} {{ {value} }} }}\n"
    );
    generator.focus.push(name);
    match ty {
        "[f32; 3]" => {
            generator.collisions.push((Ty::USIZE, "([1.5f32, 2.0, 3.0].len() - 1)".to_owned()))
        }
        "[u32; 2]" => generator.equal_indices.push("[@, 5].len().min(1).max(@)".to_owned()),
        _ => {}
    }
    Trap { label: format!("{name} of {ty}"), items, ..Trap::default() }
}

/// A bound by the author's trait beside one of the library's.
pub(super) fn bound(generator: &mut Generator) -> Trap {
    let (bound, num) = generator.some_bound();
    // rustc mostly rejects methods that both bounds have.
    let has = |m: &Method| m.bound.is_some_and(|of| of == bound || of == Bound::Number);
    let known = generator.rng.percent(20);
    let fits = |m: &&Method| m.is_of(num) && has(m) == known;
    let all: Vec<_> = METHODS[..OF_NUMBERS].iter().filter(fits).collect();
    let method = *generator.rng.pick(&all);
    bounded(generator, bound, num, method, true)
}

pub(super) fn bound_of_device(generator: &mut Generator) -> Trap {
    if generator.rng.percent(30) {
        return bound_of_linear(generator);
    }
    let num = *generator.rng.pick(&[Num::U32, Num::F32, Num::I64, Num::Usize, Num::F64]);
    let all: Vec<_> = METHODS[..OF_NUMBERS].iter().filter(|m| m.is_of(num)).collect();
    let method = *generator.rng.pick(&all);
    bounded(generator, Bound::KernelValue, num, method, true)
}

fn bounded(generator: &mut Generator, bound: Bound, num: Num, method: &Method, own: bool) -> Trap {
    let ret = Method::of(method.ret, num);
    let (result, ty) = match method.ret {
        RelativeType::Own | RelativeType::Divisor => ("Self".to_owned(), Ty::Param),
        _ => (generator.text(&ret), ret.clone()),
    };
    let args = args_of(method, "Self");
    let this = *generator.rng.pick(&["self", "self", "&self"]);
    let number = num.name();
    let items = format!(
        "pub trait Own: Sized {{ fn {0}({this}{args}) -> {result}; }}\nimpl Own for {number} {{ fn {0}({this}{args}) -> {result} {{ {1} }} }}\n",
        method.name,
        wrong(&ret),
    );
    let mut values = String::new();
    for (at, of) in method.args.iter().enumerate() {
        let comma = if at == 0 { "" } else { ", " };
        values.push_str(comma);
        values.push_str(match of {
            RelativeType::U32 | RelativeType::Few => "2",
            _ => "n",
        });
    }
    let comma = if values.is_empty() { "" } else { ", " };
    let name = method.name;
    generator.collisions.push((ty.clone(), format!("n.{name}({values})")));
    if this == "self" && generator.rng.percent(40) {
        generator.collisions.push((ty, format!("T::{name}(n{comma}{values})")));
    }
    if own {
        generator.focus.push(name);
    }
    generator.with_param("T", bound, num);
    Trap {
        label: name.to_owned(),
        bug: Some(2),
        items,
        params: vec![("n".to_owned(), Ty::Param)],
        generics: Some((format!("<T: qd::{} + Own>", bound.name()), format!("::<{number}>"))),
        ..Trap::default()
    }
}

/// A bound by the author's trait, which a vector, a matrix or an array implements.
fn bound_of_linear(generator: &mut Generator) -> Trap {
    let (name, ty, float) = *generator.rng.pick(&[
        ("len", "[f32; 3]", false),
        ("sum", "quadrants::Vector<f32, 3>", true),
        ("norm", "quadrants::Vector<f32, 3>", true),
        ("trace", "quadrants::Matrix<f32, 2, 2>", true),
        ("determinant", "quadrants::Matrix<f32, 2, 2>", true),
    ]);
    let of = if float { Ty::Num(Num::F32) } else { Ty::USIZE };
    let (result, value) = (generator.text(&of), wrong(&of));
    generator.collisions.push((of, format!("n.{name}()")));
    generator.with_param("T", Bound::KernelValue, Num::F32);
    Trap {
        label: name.to_owned(),
        bug: Some(2),
        items: format!(
            "pub trait Own: Sized {{ fn {name}(self) -> {result}; }}\nimpl Own for {ty} {{ fn {name}(self) -> {result} {{ {value} }} }}\n"
        ),
        params: vec![("n".to_owned(), Ty::Param)],
        generics: Some(("<T: qd::KernelValue + Own>".to_owned(), format!("::<{ty}>"))),
        ..Trap::default()
    }
}
