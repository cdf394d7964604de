//! Traps by a struct: operators, funcs of traits, functions with emitted names, methods with built-in names.

use std::fmt::Write as _;

use super::trap::{Trap, wrong};
use crate::{
    generate::Generator,
    types::{Num, Ty},
};

/// An offset that moves an index out of bounds.
const FAR: &str = "(1 << 40)";

/// An operator of the author's for a struct.
pub(super) fn operators(generator: &mut Generator) -> Trap {
    let mut trap = Trap::default();
    let q = generator.struct_q(&mut trap, "");
    let (label, item, of, used) = match generator.rng.below(12) {
        0 => (
            "Add",
            "impl ::core::ops::Add for Q { type Output = Q; fn add(self, _o: Q) -> Q { Q { a: 77, b: 7.0 } } }",
            q,
            "(q + q)",
        ),
        1 => (
            "Sub",
            "impl ::core::ops::Sub for Q { type Output = Q; fn sub(self, _o: Q) -> Q { Q { a: 77, b: 7.0 } } }",
            q,
            "(q - q)",
        ),
        2 => (
            "Mul",
            "impl ::core::ops::Mul<f32> for Q { type Output = Q; fn mul(self, _o: f32) -> Q { Q { a: 77, b: 7.0 } } }",
            q,
            "(q * 2.0)",
        ),
        3 => (
            "Neg",
            "impl ::core::ops::Neg for Q { type Output = Q; fn neg(self) -> Q { Q { a: 77, b: 7.0 } } }",
            q,
            "(-q)",
        ),
        4 => (
            "Not",
            "impl ::core::ops::Not for Q { type Output = bool; fn not(self) -> bool { true } }",
            Ty::Bool,
            "(!q)",
        ),
        5 => (
            "Index",
            "impl ::core::ops::Index<usize> for Q { type Output = u32; fn index(&self, _i: usize) -> &u32 { &77 } }",
            Ty::Num(Num::U32),
            "q[0]",
        ),
        6 => (
            "PartialOrd",
            "impl PartialEq for Q { fn eq(&self, _o: &Q) -> bool { true } }\nimpl PartialOrd for Q { fn partial_cmp(&self, _o: &Q) -> Option<::core::cmp::Ordering> { Some(::core::cmp::Ordering::Less) } }",
            Ty::Bool,
            "(q < q)",
        ),
        7 => (
            "From",
            "impl From<Q> for u32 { fn from(_q: Q) -> u32 { 77 } }",
            Ty::Num(Num::U32),
            "u32::from(q)",
        ),
        8 => (
            "Into",
            "impl Into<u32> for Q { fn into(self) -> u32 { 77 } }",
            Ty::Num(Num::U32),
            "q.into()",
        ),
        9 => (
            "Mul of Vector",
            "impl ::core::ops::Mul<Q> for Vector<f32, 3> { type Output = f32; fn mul(self, _q: Q) -> f32 { 77.0 } }",
            Ty::Num(Num::F32),
            "(Vector([1.0f32, 2.0, 3.0]) * q)",
        ),
        10 => (
            "Add to a number",
            "impl ::core::ops::Add<Q> for u32 { type Output = u32; fn add(self, _q: Q) -> u32 { 77 } }",
            Ty::Num(Num::U32),
            "(3u32 + q)",
        ),
        _ => (
            "PartialEq with a number",
            "impl PartialEq<Q> for u32 { fn eq(&self, _q: &Q) -> bool { true } }",
            Ty::Bool,
            "(3u32 == q)",
        ),
    };
    trap.label = label.to_owned();
    let _ = writeln!(trap.items, "{item}");
    generator.collisions.push((of, used.to_owned()));
    trap
}

/// A hand-written `PartialEq`: of a struct, with another type, in arrays and tuples.
pub(super) fn equality(generator: &mut Generator) -> Trap {
    let mut trap = Trap { bug: Some(3), ..Trap::default() };
    let _ = generator.struct_q(&mut trap, "");
    if let Some(q) = generator.structs.last_mut() {
        q.equal = true;
    }
    generator.wants_equality = true;
    let eq = *generator.rng.pick(&[
        "true",
        "false",
        "self.a != o.a",
        "self.a == o.a",
        "self.a ^ 1 == o.a",
    ]);
    let (label, item) = match generator.rng.below(4) {
        0 => (
            "ne",
            format!(
                "impl PartialEq for Q {{ fn eq(&self, o: &Q) -> bool {{ self.a == o.a && self.b == o.b }} fn ne(&self, o: &Q) -> bool {{ let _ = o; {} }} }}",
                eq.replace("self.a ^ 1 == o.a", "true")
            ),
        ),
        1 => (
            "any",
            "impl<Z> PartialEq<Z> for Q { fn eq(&self, _o: &Z) -> bool { true } }".to_owned(),
        ),
        _ => (
            "eq",
            format!("impl PartialEq for Q {{ fn eq(&self, o: &Q) -> bool {{ let _ = o; {eq} }} }}"),
        ),
    };
    trap.label = label.to_owned();
    trap.items.push_str(&item);
    trap.items.push('\n');
    for used in [
        "(q == q)",
        "(q != q)",
        "([q, q] == [q, q])",
        "((q, 1u32) == (q, 1u32))",
        "(q == Q { a: q.a, b: 2.5 })",
        "(((q,), [q; 2]) != ((q,), [q; 2]))",
    ] {
        generator.collisions.push((Ty::Bool, used.to_owned()));
    }
    trap
}

/// A func trait that an `impl` without `#[func]` implements, beside a func with the name.
pub(super) fn func_trait(generator: &mut Generator) -> Trap {
    let mut trap = Trap { bug: Some(1), ..Trap::default() };
    let q = generator.struct_q(&mut trap, "");
    let this = *generator.rng.pick(&["self", "&self"]);
    let (params, call, of) = match generator.rng.below(3) {
        0 => ("i: usize".to_owned(), "T::pick(@)", "static"),
        _ => (format!("{this}, i: usize"), "q.pick(@)", "method"),
    };
    let beside = *generator.rng.pick(&["#[qd::func]\n", "#[qd::func]\n", ""]);
    let block = *generator.rng.pick(&["", "", "#[qd::func]\n"]);
    let constant = generator.rng.percent(30);
    let declared = if constant { "const CORNERS: u32;" } else { "" };
    let (given, own) = if constant {
        generator.collisions.push((Ty::Num(Num::U32), "T::CORNERS".to_owned()));
        ("const CORNERS: u32 = 9;", "const CORNERS: u32 = 4;")
    } else {
        ("", "")
    };
    let _ = writeln!(
        trap.items,
        "#[qd::func]\npub trait Pick {{ {declared} fn pick({params}) -> usize; }}\n\
         {beside}impl Q {{ {own} pub fn pick({params}) -> usize {{ i }} }}\n\
         {block}impl Pick for Q {{ {given} fn pick({params}) -> usize {{ i + {FAR} }} }}"
    );
    trap.label = format!(
        "{of}{}{}",
        if beside.is_empty() { " beside none" } else { "" },
        if block.is_empty() { "" } else { " with #[func]" }
    );
    if generator.rng.percent(70) {
        trap.params = vec![("q".to_owned(), Ty::Param)];
        let (bound, num) = (crate::types::Bound::KernelValue, Num::U32);
        generator.with_param("T", bound, num);
        trap.generics = Some(("<T: Pick>".to_owned(), "::<user::Q>".to_owned()));
        generator.equal_indices.push(call.to_owned());
    } else {
        trap.params = vec![("q".to_owned(), q)];
        generator.collisions.retain(|(_, text)| text != "T::CORNERS");
        generator.equal_indices.push(call.replace("T::", "Q::"));
        if generator.rng.percent(50) {
            let _ = writeln!(
                trap.items,
                "#[qd::func]\nfn picked<T: Pick>(q: T, i: usize) -> usize {{ let _held = q; {} }}",
                call.replace('@', "i")
            );
            generator.equal_indices.push("picked(q, @)".to_owned());
        }
    }
    generator.collisions.push((Ty::USIZE, generator.equal_indices[0].replace('@', "1")));
    trap
}

/// Functions with the names by which emitted code calls a func.
pub(super) fn twin(generator: &mut Generator) -> Trap {
    let mut trap = Trap { bug: Some(4), ..Trap::default() };
    let _ = generator.struct_q(&mut trap, "");
    let far = *generator.rng.pick(&["i + (1 << 40)", "i + 1"]);
    let (label, items) = match generator.rng.below(7) {
        0 => (
            "in a block with #[func]",
            format!(
                "#[qd::func]\npub trait Pick {{ fn pick(self, i: usize) -> usize; }}\n\
             #[qd::func]\nimpl Pick for Q {{ fn pick(self, i: usize) -> usize {{ i }} fn __func_pick(self, i: usize) -> usize {{ {far} }} }}\n\
             #[qd::func]\nfn picked<T: Pick>(q: T, i: usize) -> usize {{ q.pick(i) }}"
            ),
        ),
        1 => (
            "in a block",
            format!(
                "#[qd::func]\npub trait Pick {{ fn pick(self, i: usize) -> usize; }}\n\
             #[qd::func]\nimpl Q {{ pub fn pick(self, i: usize) -> usize {{ i }} }}\n\
             impl Pick for Q {{ fn pick(self, i: usize) -> usize {{ i }} fn __func_pick(self, i: usize) -> usize {{ {far} }} }}\n\
             #[qd::func]\nfn picked<T: Pick>(q: T, i: usize) -> usize {{ q.pick(i) }}"
            ),
        ),
        2 => (
            "in the block of the func",
            format!(
                "#[qd::func]\nimpl Q {{ pub fn pick(self, i: usize) -> usize {{ i }} pub fn __func_pick(self, i: usize) -> usize {{ {far} }} }}\n\
             #[qd::func]\nfn picked(q: Q, i: usize) -> usize {{ q.pick(i) }}"
            ),
        ),
        3 => (
            "of a blanket trait",
            format!(
                "pub trait Own: Sized {{ fn __func_pick(self, i: usize) -> usize {{ {far} }} }}\nimpl<Z> Own for Z {{}}\n\
             #[qd::func]\nimpl Q {{ pub fn pick(&self, i: usize) -> usize {{ i }} }}\n\
             #[qd::func]\nfn picked(q: Q, i: usize) -> usize {{ q.pick(i) }}"
            ),
        ),
        4 => (
            "in a block without its func",
            format!(
                "impl Q {{ pub fn pick(self, i: usize) -> usize {{ i }} }}\n\
             #[qd::func]\nimpl Q {{ pub fn __func_pick(self, i: usize) -> usize {{ {far} }} }}\n\
             #[qd::func]\nfn picked(q: Q, i: usize) -> usize {{ q.pick(i) }}"
            ),
        ),
        5 => (
            "in a func trait",
            format!(
                "#[qd::func]\npub trait Pick {{ fn pick(self, i: usize) -> usize; fn __func_pick(self, i: usize) -> usize; }}\n\
             #[qd::func]\nimpl Pick for Q {{ fn pick(self, i: usize) -> usize {{ i }} fn __func_pick(self, i: usize) -> usize {{ {far} }} }}\n\
             #[qd::func]\nfn picked<T: Pick>(q: T, i: usize) -> usize {{ q.pick(i) }}"
            ),
        ),
        _ => (
            "of a type beside the func",
            format!(
                "#[qd::func]\nfn pick(i: usize) -> usize {{ i }}\nimpl pick {{ pub fn __func_pick(i: usize) -> usize {{ {far} }} }}\n\
             impl Q {{ pub fn __func_method(self) -> u32 {{ 77 }} }}\n\
             #[qd::func]\nfn picked(q: Q, i: usize) -> usize {{ let _held = q; pick(i) }}"
            ),
        ),
    };
    trap.label = label.to_owned();
    let _ = writeln!(trap.items, "{items}");
    generator.equal_indices.push("picked(q, @)".to_owned());
    if label != "of a type beside the func" && generator.rng.percent(60) {
        generator.equal_indices.push("q.pick(@)".to_owned());
    }
    generator.collisions.push((Ty::USIZE, "picked(q, 1)".to_owned()));
    trap
}

/// A method of a struct with the name of a method of numbers, arrays or tensors.
pub(super) fn inherent_method(generator: &mut Generator) -> Trap {
    let mut trap = Trap::default();
    let _ = generator.struct_q(&mut trap, "");
    let (name, args, ty) = *generator.rng.pick(&[
        ("to_usize", "", Num::Usize),
        ("len", "", Num::Usize),
        ("count_ones", "", Num::U32),
        ("sum", "", Num::F32),
        ("norm", "", Num::F32),
        ("abs", "", Num::F32),
        ("to_bits", "", Num::U32),
        ("max", ", _o: u32", Num::U32),
        ("pow", ", _o: u32", Num::U32),
        ("clamp", ", _a: u32, _b: u32", Num::U32),
        ("shape", "", Num::Usize),
        ("index", "", Num::Usize),
        ("rev", "", Num::Usize),
        ("see", "", Num::U32),
    ]);
    let ret = Ty::Num(ty);
    let attribute = *generator.rng.pick(&["", "", "#[qd::func]\n"]);
    let this = *generator.rng.pick(&["self", "&self"]);
    let head = if generator.rng.percent(60) {
        "impl Q"
    } else {
        "pub trait Own { fn NAME(THISARGS) -> RET; }\nATTRimpl Own for Q"
    };
    let head = head
        .replace("NAME", name)
        .replace("THIS", this)
        .replace("ARGS", args)
        .replace("RET", ty.name())
        .replace("ATTR", attribute);
    let public = if head.contains("Own") { "" } else { "pub " };
    let (attribute, declared) = if head.contains("Own") { ("", "") } else { (attribute, "") };
    let _ = writeln!(
        trap.items,
        "{attribute}{head} {{ {declared}{public}fn {name}({this}{args}) -> {} {{ {} }} }}",
        ty.name(),
        wrong(&ret),
    );
    let values = match args.matches(':').count() {
        0 => "",
        1 => "2u32",
        _ => "1u32, 2u32",
    };
    generator.collisions.push((ret, format!("q.{name}({values})")));
    trap.label = name.to_owned();
    trap
}

/// Fields and methods through `Deref`.
pub(super) fn dereferenced(generator: &mut Generator) -> Trap {
    let mut trap = Trap { label: "Deref".to_owned(), ..Trap::default() };
    let _ = generator.struct_q(&mut trap, "");
    let _ = writeln!(
        trap.items,
        "#[derive(Clone, Copy, Debug, qd::KernelValue)]\npub struct Under {{ pub a: u32, pub c: u32 }}\n\
         #[qd::func]\nimpl Under {{ pub fn under(&self) -> u32 {{ self.c }} }}\n\
         impl ::core::ops::Deref for Q {{ type Target = Under; fn deref(&self) -> &Under {{ &Under {{ a: 77, c: 78 }} }} }}"
    );
    let used = *generator.rng.pick(&[
        "q.c",
        "(*q).a",
        "q.under()",
        "(*q).c",
        "{ let Under { a, .. } = *q; a }",
    ]);
    generator.collisions.push((Ty::Num(Num::U32), used.to_owned()));
    trap.label = used.to_owned();
    trap
}

/// A method with the func's name and another type, which rustc's method lookup finds first.
pub(super) fn func_of_another_type(generator: &mut Generator) -> Trap {
    let mut trap = Trap::default();
    let _ = generator.struct_q(&mut trap, "");
    let ret = *generator.rng.pick(&[
        Num::U32,
        Num::I64,
        Num::U8,
        Num::F32,
        Num::U64,
        Num::I32,
        Num::Usize,
    ]);
    let of =
        *generator.rng.pick(&["impl<Z> Own for Z {}", "impl Own for Q {}", "impl Own for &Q {}"]);
    let value = if ret.is_float() { "7777.25" } else { "77" };
    let by = if generator.rng.percent(70) { "" } else { "mut " };
    let _ = writeln!(
        trap.items,
        "pub trait Own: Sized {{ fn pick({by}self, _i: usize) -> {0} {{ {value} }} fn made(_i: usize) -> {0} {{ {value} }} }}\n{of}\n\
         #[qd::func]\nimpl Q {{ pub fn pick(&self, i: usize) -> usize {{ i + (1 << 33) }} pub fn made(i: usize) -> usize {{ i + (1 << 33) }} }}",
        ret.name()
    );
    trap.label = format!("{} by {of}", ret.name());
    generator.collisions.extend([
        (Ty::Num(Num::U64), "{ let v = q.pick(1); v as u64 }".to_owned()),
        (Ty::Num(Num::U64), "(q.pick(1) as u64)".to_owned()),
        (
            Ty::Num(Num::F32),
            "{ let v = q.pick(i); let w = [v, v]; (w[1] / w[0]) as f32 + v as f32 }"
                .replace("(i)", "(2)"),
        ),
        (
            Ty::Num(Num::I64),
            "{ let (v, w) = (q.pick(3), Q::made(4)); v as i64 - w as i64 }".to_owned(),
        ),
    ]);
    generator.equal_indices.push("((q.pick(@) as usize) - (1 << 33))".to_owned());
    trap
}

/// Funcs with one name, for several instances of a generic struct.
pub(super) fn funcs_of_instances(generator: &mut Generator) -> Trap {
    let this = *generator.rng.pick(&["self", "&self"]);
    let (label, blocks) = match generator.rng.below(3) {
        0 => (
            "two",
            "#[qd::func]\nimpl G<u32> { pub fn pick(THIS, i: usize) -> usize { i } }\n#[qd::func]\nimpl G<f32> { pub fn pick(THIS, i: usize) -> usize { i + 1 } }",
        ),
        1 => (
            "one without #[func]",
            "#[qd::func]\nimpl G<u32> { pub fn pick(THIS, i: usize) -> usize { i } }\nimpl G<f32> { pub fn pick(THIS, i: usize) -> usize { i + (1 << 40) } }",
        ),
        _ => (
            "generic and of a trait",
            "#[qd::func]\nimpl<T: qd::Number> G<T> { pub fn pick(THIS, i: usize) -> usize { i } }\npub trait Own { fn pick(THIS, i: usize) -> usize; }\nimpl Own for G<f32> { fn pick(THIS, i: usize) -> usize { i + (1 << 40) } }",
        ),
    };
    let items = format!(
        "#[derive(Clone, Copy, Debug, qd::KernelValue)]\npub struct G<T>(pub T);\n{}\n",
        blocks.replace("THIS", this)
    );
    generator.equal_indices.push("G(1u32).pick(@)".to_owned());
    generator.collisions.push((Ty::USIZE, "G(1.5f32).pick(1)".to_owned()));
    generator
        .collisions
        .push((Ty::USIZE, "{ let g = G(2.5f32); g.pick(1) + G(1u32).pick(2) }".to_owned()));
    Trap { label: label.to_owned(), items, ..Trap::default() }
}
