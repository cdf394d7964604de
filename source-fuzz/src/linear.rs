//! Random expressions of vectors and matrices.

use crate::{
    fragment::{ADD, ATOM, Fragment, MUL, atom, fragment},
    generate::Generator,
    types::{Num, Ty},
};

impl Generator {
    /// A number computed from a vector or a matrix.
    pub(crate) fn linear(&mut self, num: Num, depth: usize) -> Fragment {
        let count = self.rng.within(2, 3);
        let vector = Ty::Vector(num, count);
        let name = match self.rng.below(7) {
            0 => "norm",
            1 => "norm_squared",
            2 => "sum",
            3 => "trace",
            4 => "determinant",
            _ => "dot",
        };
        self.hit("expr.linear.number");
        self.hit_method(name);
        let of =
            if matches!(name, "trace" | "determinant") { Ty::Matrix(num, 2, 2) } else { vector };
        let receiver = self.operand(&of, depth.min(2), ATOM);
        let arg = if name == "dot" { self.expr(&of, depth.min(2)) } else { String::new() };
        atom(format!("{receiver}.{name}({arg})"))
    }

    pub(crate) fn of_vector(&mut self, num: Num, count: usize, depth: usize) -> Fragment {
        let (ty, one) = (Ty::Vector(num, count), Ty::Num(num));
        match self.rng.below(9) {
            0 | 1 => {
                self.hit("expr.linear.operator");
                let op = *self.rng.pick(&["+", "-"]);
                self.binary(&ty, depth, op, ADD)
            }
            2 => {
                self.hit("expr.linear.scaled");
                let (of, by) = (self.operand(&ty, depth, MUL), self.operand(&one, depth, MUL + 1));
                fragment(MUL, format!("{of} * {by}"))
            }
            3 => {
                self.hit("expr.linear.splat");
                let of = self.expr(&one, depth);
                atom(format!("{}::<{}, {count}>::splat({of})", self.vector(), num.name()))
            }
            4 => {
                self.hit("expr.linear.method");
                self.hit_method("component_mul");
                let (of, by) = (self.operand(&ty, depth, ATOM), self.expr(&ty, depth));
                atom(format!("{of}.component_mul({by})"))
            }
            5 if count == 3 => {
                self.hit("expr.linear.method");
                self.hit_method("cross");
                let (of, by) = (self.operand(&ty, depth, ATOM), self.expr(&ty, depth));
                atom(format!("{of}.cross({by})"))
            }
            6 if num.is_float() => {
                self.hit("expr.linear.method");
                self.hit_method("normalized");
                let of = self.operand(&ty, depth, ATOM);
                atom(format!("{of}.normalized()"))
            }
            _ => {
                self.hit("expr.vector");
                let parts: Vec<_> = (0..count).map(|_| self.expr(&one, depth)).collect();
                atom(format!("{}([{}])", self.vector(), parts.join(", ")))
            }
        }
    }

    pub(crate) fn of_matrix(
        &mut self,
        num: Num,
        rows: usize,
        columns: usize,
        depth: usize,
    ) -> Fragment {
        let ty = Ty::Matrix(num, rows, columns);
        match self.rng.below(6) {
            0 => {
                self.hit("expr.linear.operator");
                let op = *self.rng.pick(&["+", "-"]);
                self.binary(&ty, depth, op, ADD)
            }
            1 if rows == columns => {
                self.hit("expr.linear.product");
                self.binary(&ty, depth.min(2), "*", MUL)
            }
            2 => {
                self.hit("expr.linear.method");
                let name =
                    if rows == columns && self.rng.percent(30) { "inverse" } else { "transpose" };
                self.hit_method(name);
                let of = self.operand(&Ty::Matrix(num, columns, rows), depth, ATOM);
                atom(format!("{of}.{name}()"))
            }
            3 if rows == columns => {
                self.hit("expr.linear.diagonal");
                let value = self.expr(&Ty::Num(num), depth);
                atom(format!(
                    "{}::<{}, {rows}, {rows}>::diagonal({value})",
                    self.matrix(),
                    num.name()
                ))
            }
            _ => self.simple(&ty),
        }
    }
}
