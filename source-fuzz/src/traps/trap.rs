//! A trap: items whose names collide with something that kernels use.

use std::fmt::Write as _;

use crate::{
    generate::{Generator, Struct},
    types::{Num, Ty},
};

/// What a trap adds to a module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trap {
    /// The kind and the name: `bound/abs_diff`.
    pub(crate) label: String,
    /// The number of the known defect that this kind finds.
    pub(crate) bug: Option<u8>,
    pub(crate) items: String,
    /// Parameters that the kernel needs.
    pub(crate) params: Vec<(String, Ty)>,
    /// The kernel's generic parameters, and the arguments of its call.
    pub(crate) generics: Option<(String, String)>,
    /// Whether a glob imports the names of the library, so that the module's own hide them.
    pub(crate) glob: bool,
    /// An item of the module that replaces the library's.
    pub(crate) library: Option<String>,
}

/// A value that no built-in method returns.
pub(super) fn wrong(of: &Ty) -> String {
    match of {
        Ty::Bool => "true".to_owned(),
        Ty::Num(Num::Usize) => "1 << 40".to_owned(),
        Ty::Num(num) if num.is_float() => "7777.25".to_owned(),
        _ => "77".to_owned(),
    }
}

impl Generator {
    /// Adds a struct `Q` to a trap, and a kernel parameter `q` of this type.
    pub(super) fn struct_q(&mut self, trap: &mut Trap, derives: &str) -> Ty {
        let number = self.structs.len();
        self.structs.push(Struct {
            name: "Q".to_owned(),
            of: String::new(),
            fields: vec![("a".to_owned(), Ty::Num(Num::U32)), ("b".to_owned(), Ty::Num(Num::F32))],
            tuple: false,
            equal: derives.contains("PartialEq"),
        });
        let _ = writeln!(
            trap.items,
            "#[derive(Clone, Copy, Debug, {derives}qd::KernelValue)]\npub struct Q {{ pub a: u32, pub b: f32 }}"
        );
        trap.params.push(("q".to_owned(), Ty::Struct(number)));
        Ty::Struct(number)
    }
}
