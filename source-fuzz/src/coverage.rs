//! The counts of everything that can be drawn: productions, methods and traps.

use crate::{
    grammar::{Coverage, PRODUCTIONS},
    traps::TRAPS,
    types::METHODS,
};

impl Coverage {
    /// All names in order with their counts, including those that were not used.
    #[must_use]
    pub fn all(&self) -> Vec<(String, u64)> {
        let methods = METHODS.iter().map(|method| format!("method.{}", method.name));
        let traps = TRAPS.iter().map(|(name, _)| format!("trap.{name}"));
        let names = PRODUCTIONS.iter().map(|name| (*name).to_owned()).chain(methods).chain(traps);
        names.map(|name| (name.clone(), self.count(&name))).collect()
    }
}
