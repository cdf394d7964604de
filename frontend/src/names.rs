//! Names in scopes: the newest binding of a name is found at once, however many others there are.

use std::collections::HashMap;

/// What names stand for; a later binding hides an earlier one of the same name until its scope is left.
#[derive(Clone, Debug)]
pub(crate) struct Names<B> {
    bound: Vec<(String, B)>,
    /// The places of each name's bindings, the newest last.
    of_name: HashMap<String, Vec<usize>>,
}

impl<B> Names<B> {
    pub(crate) fn new() -> Self {
        Self { bound: Vec::new(), of_name: HashMap::new() }
    }

    /// How many bindings there are: the mark to [leave](Self::leave) a scope entered here.
    pub(crate) fn mark(&self) -> usize {
        self.bound.len()
    }

    pub(crate) fn bind(&mut self, name: &str, binding: B) {
        let at = self.bound.len();
        match self.of_name.get_mut(name) {
            Some(places) => places.push(at),
            None => {
                self.of_name.insert(name.to_owned(), vec![at]);
            }
        }
        self.bound.push((name.to_owned(), binding));
    }

    pub(crate) fn leave(&mut self, mark: usize) {
        for (name, _) in self.bound.drain(mark.min(self.bound.len())..).rev() {
            if let Some(places) = self.of_name.get_mut(&name) {
                places.pop();
            }
        }
    }

    pub(crate) fn lookup(&self, name: &str) -> Option<&B> {
        self.bound.get(self.place(name)?).map(|(_, binding)| binding)
    }

    /// How many bindings there were before the one that the name has.
    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        self.of_name.get(name)?.last().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_binding_counts_until_its_scope_is_left() {
        let mut names = Names::new();
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
