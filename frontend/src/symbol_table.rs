//! Symbol table with scopes. A lookup takes constant time.

use std::collections::HashMap;

/// A scoped symbol table. A binding shadows earlier bindings of its name until its scope is left.
#[derive(Clone, Debug)]
pub(crate) struct SymbolTable<B> {
    bindings: Vec<(String, B)>,
    /// The indices in `bindings` of each name, the newest last.
    positions: HashMap<String, Vec<usize>>,
}

impl<B> SymbolTable<B> {
    pub(crate) fn new() -> Self {
        Self { bindings: Vec::new(), positions: HashMap::new() }
    }

    /// The number of bindings. Passed to [`leave`](Self::leave), it removes the bindings that follow.
    pub(crate) fn mark(&self) -> usize {
        self.bindings.len()
    }

    pub(crate) fn bind(&mut self, name: &str, binding: B) {
        let index = self.bindings.len();
        match self.positions.get_mut(name) {
            Some(positions) => positions.push(index),
            None => {
                self.positions.insert(name.to_owned(), vec![index]);
            }
        }
        self.bindings.push((name.to_owned(), binding));
    }

    pub(crate) fn leave(&mut self, mark: usize) {
        for (name, _) in self.bindings.drain(mark.min(self.bindings.len())..).rev() {
            if let Some(positions) = self.positions.get_mut(&name) {
                positions.pop();
            }
        }
    }

    pub(crate) fn lookup(&self, name: &str) -> Option<&B> {
        self.bindings.get(self.position(name)?).map(|(_, binding)| binding)
    }

    pub(crate) fn lookup_mut(&mut self, name: &str) -> Option<&mut B> {
        let position = self.position(name)?;
        self.bindings.get_mut(position).map(|(_, binding)| binding)
    }

    /// The index of the name's binding, which identifies the binding.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.positions.get(name)?.last().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lookup_returns_the_newest_binding_in_scope() {
        let mut names = SymbolTable::new();
        names.bind("a", 1);
        let outer = names.mark();
        names.bind("a", 2);
        names.bind("b", 3);
        let inner = names.mark();
        names.bind("a", 4);
        assert_eq!(
            [names.lookup("a"), names.lookup("b"), names.lookup("c")],
            [Some(&4), Some(&3), None]
        );
        names.leave(inner);
        assert_eq!(names.lookup("a"), Some(&2));
        names.leave(outer);
        assert_eq!([names.lookup("a"), names.lookup("b")], [Some(&1), None]);
        names.bind("b", 5);
        assert_eq!(names.lookup("b"), Some(&5));
    }
}
