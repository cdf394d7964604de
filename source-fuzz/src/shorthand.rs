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

    /// A test whether an integer is in a range.
    pub(crate) fn contained(&mut self) -> Fragment {
        self.hit("expr.contains");
        let num = *self.rng.pick(&Num::INTS);
        let [begin, end, value] = [0, 1, 2].map(|_| self.leaf(&Ty::Num(num)).text);
        let (name, ty) = (self.unique("q"), num.name());
        let range = match self.rng.below(4) {
            0 => format!("({begin})..({end})"),
            1 => format!("({begin})..=({end})"),
            2 => format!("({begin}).."),
            _ => format!("..({end})"),
        };
        atom(format!("({{ let {name}: {ty} = {value}; ({range}).contains(&{name}) }})"))
    }

    /// A block with a value that a `break` may leave.
    pub(crate) fn labelled_value(&mut self, ty: &Ty, depth: usize) -> Fragment {
        self.hit("expr.block.label");
        let label = self.label();
        self.closed();
        let (early, cond) = (self.expr(ty, depth), self.cond(depth.min(1)));
        let mark = self.mark();
        let between = if depth > 0 { self.binding(depth - 1) } else { String::new() };
        let (again, late) = (self.cond(depth.min(1)), self.expr(ty, depth));
        let last = self.expr(ty, depth);
        self.release(mark);
        self.frame.jumps.pop();
        let text = match self.rng.below(3) {
            0 => format!("if {cond} {{ break {label} ({early}); }} {between} {last}"),
            1 => format!(
                "if {cond} {{ break {label} ({early}); }} {between} if {again} {{ break {label} ({late}); }} {last}"
            ),
            _ => format!(
                "{between} match {again} {{ true => break {label} ({late}), false => {{}} }} {last}"
            ),
        };
        fragment(BLOCK, format!("{{ {label}: {{ {text} }} }}"))
    }

    /// A closure that may return early, and a call of it.
    pub(crate) fn closure(&mut self, ty: &Ty, depth: usize) -> Fragment {
        self.hit("expr.closure");
        let (name, arg) = (self.unique("f"), self.unique("w"));
        let of = Ty::Num(self.some_num());
        let given = self.expr(&of, depth.min(1));
        let (ret, jumps) = (self.frame.ret.take(), std::mem::take(&mut self.frame.jumps));
        let mark = self.mark();
        self.bind(&arg, of.clone(), false);
        self.closed();
        let (cond, early) = (self.cond(depth.min(1)), self.expr(ty, depth));
        let last = self.expr(ty, depth);
        self.release(mark);
        (self.frame.ret, self.frame.jumps) = (ret, jumps);
        let (of, to) = (self.text(&of), self.text(ty));
        fragment(
            BLOCK,
            format!(
                "{{ let {name} = |{arg}: {of}| -> {to} {{ if {cond} {{ return {early}; }} {last} }}; {name}({given}) }}"
            ),
        )
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
        let of = match self.rng.below(4) {
            0 => format!("{array}.iter().copied().rev()"),
            1 => format!("{array}.into_iter()"),
            _ => array.clone(),
        };
        format!(
            "{{ let {array}: [{}; {count}] = {value};\n{label}for {name} in {of} {body} }}\n",
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
