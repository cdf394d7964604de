//! Shorthand that kernels have: `matches!`, struct updates, loops over elements, destructuring assignments.

use crate::{
    fragment::{ATOM, BLOCK, Fragment, atom, fragment},
    generate::Generator,
    types::{Num, Ty},
};

impl Generator {
    /// `matches!` of an integer, whose type a `let` determines.
    pub(crate) fn matches(&mut self, depth: usize) -> Fragment {
        self.hit("expr.matches");
        let num = *self.rng.pick(&Num::INTS);
        let value = self.expr(&Ty::Num(num), depth.min(1));
        let (name, pattern) = (self.unique("q"), self.pattern(num));
        let on = format!("{{ let {name}: {} = {value}; {name} }}", num.name());
        if self.rng.percent(30) {
            self.hit("expr.matches.guard");
            let bound = self.unique("q");
            let mark = self.mark();
            self.bind(&bound, Ty::Num(num), false);
            let guard = self.cond(depth.min(1));
            self.release(mark);
            return atom(format!("matches!({on}, {bound} @ ({pattern}) if {guard})"));
        }
        atom(format!("matches!({on}, {pattern})"))
    }

    /// A struct with some fields of another value.
    pub(crate) fn updated(
        &mut self,
        ty: &Ty,
        name: &str,
        fields: &[(String, Ty)],
        depth: usize,
    ) -> Fragment {
        self.hit("expr.struct.update");
        let given: Vec<_> =
            fields.iter().filter(|_| self.rng.percent(50)).cloned().collect::<Vec<_>>();
        let mut parts = Vec::new();
        for (field, of) in given {
            parts.push(format!("{field}: {}", self.expr(&of, depth)));
        }
        let base = self.operand(ty, depth.min(1), ATOM);
        parts.push(format!("..{base}"));
        fragment(BLOCK, format!("{name} {{ {} }}", parts.join(", ")))
    }

    /// A loop over the elements of an array.
    pub(crate) fn element_loop(&mut self, depth: usize) -> String {
        self.hit("loop.elements");
        let (num, count) = (self.some_num(), self.rng.within(1, 3));
        let ty = Ty::Array(Box::new(Ty::Num(num)), count);
        let array = self.unique("items");
        let value = self.expr(&ty, depth.min(1));
        let label = self.begin_loop(true);
        let mark = self.mark();
        let name = self.name();
        self.bind(&name, Ty::Num(num), false);
        let body = self.body(1, depth);
        self.release(mark);
        self.end_loop();
        format!(
            "{{ let {array}: [{}; {count}] = {value};\n{label}for {name} in {array} {body} }}\n",
            num.name()
        )
    }

    /// An assignment to two places.
    pub(crate) fn assigned_pair(&mut self, depth: usize) -> Option<String> {
        let types = [Ty::Num(self.some_num()), Ty::Num(self.some_num())];
        let places = [self.place(&types[0], true)?, self.place(&types[1], true)?];
        self.hit("stmt.assign.pair");
        let values = types.map(|ty| self.expr(&ty, depth.min(1)));
        Some(format!("({}, {}) = ({}, {});\n", places[0], places[1], values[0], values[1]))
    }
}
