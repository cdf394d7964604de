//! Traps: items whose names collide with something that kernels use, by kind.
//!
//! rustc may reject a module with a trap. If it does not, the collision must change nothing, or change it on all
//! backends alike.

mod names;
mod structs;
mod traits;
mod trap;

use crate::generate::Generator;

pub(crate) use trap::Trap;

/// Makes a trap of one kind.
type Make = fn(&mut Generator) -> Trap;

/// The kinds of traps.
pub(crate) const TRAPS: &[(&str, Make)] = &[
    ("trait.number", traits::trait_of_numbers),
    ("trait.number.ref", traits::trait_of_numbers_by_reference),
    ("trait.blanket", traits::blanket_trait),
    ("trait.linear", traits::trait_of_vectors),
    ("bound", traits::bound),
    ("bound.device", traits::bound_of_device),
    ("operator", structs::operators),
    ("equality", structs::equality),
    ("func.trait", structs::func_trait),
    ("twin", structs::twin),
    ("func.hidden", names::hidden_func),
    ("func.type", structs::func_of_another_type),
    ("func.instance", structs::funcs_of_instances),
    ("module.number", names::module_of_number),
    ("module.crate", names::module_of_crate),
    ("module.library", names::module_of_library),
    ("alias", names::alias),
    ("generic.name", names::generic_name),
    ("local", names::locals),
    ("constant", names::constants),
    ("macro", names::macros),
    ("prelude", names::prelude),
    ("emitted", names::emitted_method),
    ("emitted.name", names::emitted_name),
    ("inherent", structs::inherent_method),
    ("range", names::range_methods),
    ("type", names::own_type),
    ("deref", structs::dereferenced),
    ("inference", names::inference),
];

/// The kinds of traps that find known defects where their fixes are reverted.
pub const KNOWN_DEFECTS: [&str; 5] = ["func.trait", "bound", "bound.device", "equality", "twin"];

impl Generator {
    /// A random trap; `kind` names its kind.
    pub(crate) fn trap(&mut self, kind: Option<&str>) -> Trap {
        let named = kind.and_then(|kind| TRAPS.iter().find(|(name, _)| *name == kind));
        let (name, make) = match named {
            Some(named) => *named,
            None => {
                let known = self.rng.percent(30);
                let fits = |(name, _): &&(&str, Make)| !known || KNOWN_DEFECTS.contains(name);
                let kinds: Vec<_> = TRAPS.iter().filter(fits).collect();
                **self.rng.pick(&kinds)
            }
        };
        let mut trap = make(self);
        trap.label = format!("{name}/{}", trap.label);
        self.coverage.hit_trap(name);
        trap
    }

    /// A trap beside another. Its kind needs no kernel parameter; its trait has another name.
    pub(crate) fn second_trap(&mut self) -> Trap {
        const BESIDE: [&str; 11] = [
            "trait.number",
            "trait.number.ref",
            "trait.blanket",
            "module.number",
            "module.crate",
            "macro",
            "prelude",
            "emitted",
            "emitted.name",
            "range",
            "local",
        ];
        let kind = *self.rng.pick(&BESIDE);
        let mut trap = self.trap(Some(kind));
        trap.items = trap.items.replace("Own", "Other").replace("mod far", "mod further");
        trap
    }
}
