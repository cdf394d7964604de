//! Branches at the top level of a kernel, whose loops are parallel, and `return`s before loops.

use crate::{
    generate::Generator,
    types::{Num, Ty},
};

impl Generator {
    /// Code with parallel loops, sometimes under a condition. `code` makes it, once for each branch.
    pub(crate) fn in_branches(&mut self, code: &mut dyn FnMut(&mut Self) -> String) -> String {
        match self.rng.below(14) {
            0 | 1 => {
                self.hit("kernel.if");
                let cond = self.cond(2);
                format!("if {cond} {}\n", self.arm(code))
            }
            2 => {
                self.hit("kernel.if.else");
                let cond = self.cond(2);
                format!("if {cond} {} else {}\n", self.arm(code), self.arm(code))
            }
            3 => {
                self.hit("kernel.if.nested");
                let (outer, inner, other) = (self.cond(2), self.cond(2), self.cond(1));
                let (first, second) = (self.arm(code), self.arm(code));
                let binding = self.alone();
                format!("if {outer} && {inner} {first} else {{\n{binding}if {other} {second}\n}}\n")
            }
            4 => {
                self.hit("kernel.match");
                let value = self.expr(&Ty::Num(Num::I32), 2);
                let cond = self.cond(2);
                let (first, second) = (self.arm(code), self.arm(code));
                let third = self.alone();
                format!(
                    "match ({value}) {{\n0..=4 => {first}\n7 | -1 if {cond} => {second}\n_ => {{\n{third}}}\n}}\n"
                )
            }
            5 => {
                self.hit("kernel.braces");
                format!("{}\n", self.arm(code))
            }
            _ => code(self),
        }
    }

    /// A statement whose names are visible nowhere else.
    fn alone(&mut self) -> String {
        let mark = self.mark();
        let binding = self.binding(2);
        self.release(mark);
        binding
    }

    /// A block with code, and with locals before it.
    fn arm(&mut self, code: &mut dyn FnMut(&mut Self) -> String) -> String {
        let mark = self.mark();
        let mut text = String::from("{\n");
        if self.rng.percent(50) {
            text.push_str(&self.binding(2));
        }
        text.push_str(&code(self));
        text.push('}');
        self.release(mark);
        text
    }

    /// A `return` that other code follows.
    pub(crate) fn leave(&mut self, result: Option<Num>) -> String {
        let cond = self.cond(2);
        let value = result.map_or_else(String::new, |num| self.expr(&Ty::Num(num), 2));
        match self.rng.below(3) {
            0 => {
                self.hit("kernel.return.let");
                let (of, name) = (self.expr(&Ty::Num(Num::I32), 2), self.unique("k"));
                self.bind(&name, Ty::Num(Num::I32), false);
                format!(
                    "let {name}: i32 = match ({of}) {{ 3 => 1, -2..=1 if {cond} => return {value}, other => other }};\n"
                )
            }
            1 => {
                self.hit("kernel.return.loop");
                let name = self.unique("k");
                format!(
                    "#[qd::serial]\nfor {name} in 0..3 {{\nif {name} == 2 && {cond} {{ return {value}; }}\n}}\n"
                )
            }
            _ => {
                self.hit("kernel.return");
                format!("if {cond} {{ return {value}; }}\n")
            }
        }
    }
}
