//! Estimates of what an iteration costs.

use syn::{
    Block, Expr,
    visit::{self, Visit},
};

use crate::ast::{each_expr, is_loop};

/// How many iterations an inner loop is assumed to have.
const ITERATIONS: u32 = 16;

/// The largest weight of a simple body.
const SIMPLE: u32 = 96;

/// A rough cost of one iteration: its expressions, those in inner loops many times.
pub(super) fn weight(body: &Block) -> u32 {
    struct Weight {
        factor: u32,
        sum: u32,
    }
    impl Visit<'_> for Weight {
        fn visit_expr(&mut self, expr: &Expr) {
            self.sum = self.sum.saturating_add(self.factor);
            let outer = self.factor;
            if is_loop(expr) {
                self.factor = outer.saturating_mul(ITERATIONS);
            }
            visit::visit_expr(self, expr);
            self.factor = outer;
        }
    }
    let mut weight = Weight { factor: 1, sum: 1 };
    weight.visit_block(body);
    weight.sum
}

/// Whether memory access dominates the cost of a body: it has neither loops nor calls, except for methods that are an
/// instruction or two.
pub(super) fn is_simple(body: &Block) -> bool {
    const CHEAP: [&str; 6] = ["abs", "len", "max", "min", "mul_add", "shape"];
    let mut simple = weight(body) <= SIMPLE;
    each_expr(&body.stmts, |expr| {
        simple &= match expr {
            Expr::MethodCall(call) => CHEAP.iter().any(|name| call.method == name),
            Expr::Call(_) => false,
            other => !is_loop(other),
        };
        simple
    });
    simple
}
