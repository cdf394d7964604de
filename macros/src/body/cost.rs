//! Estimates of what an iteration costs.

use std::collections::HashSet;

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{
    Block, Expr, ExprForLoop, ExprMethodCall,
    visit::{self, Visit},
};

use super::scope::BodyScope;
use crate::ast::{each_expr, is_loop, loop_bindings, unparenthesized};

/// How many iterations an inner loop is assumed to have.
const ITERATIONS: u32 = 16;

/// The largest weight of a simple body.
const SIMPLE: u32 = 96;

/// A rough cost of one iteration: its expressions, those in inner loops many times.
pub(super) fn weight(body: &Block) -> u32 {
    CostCounter::of(body, None).sum
}

/// As [`weight`], as an expression in front of the loop, which counts the iterations of inner loops whose bounds are
/// known there.
pub(super) fn exact_weight(scope: &BodyScope<'_>, each: &ExprForLoop) -> TokenStream {
    let bound = loop_bindings(each);
    CostCounter::of(&each.body, Some(OuterScope { scope, bound: &bound })).total(scope.support)
}

/// The cost of code so far.
struct CostCounter<'a> {
    factor: u32,
    sum: u32,
    /// The costs of inner loops whose bounds are known in front of the parallel loop.
    loops: Vec<TokenStream>,
    outer: Option<OuterScope<'a>>,
}

/// What is known in front of a parallel loop.
#[derive(Clone, Copy)]
struct OuterScope<'a> {
    scope: &'a BodyScope<'a>,
    /// The names that the loop binds.
    bound: &'a HashSet<Ident>,
}

impl<'a> CostCounter<'a> {
    fn of(body: &Block, outer: Option<OuterScope<'a>>) -> Self {
        let mut weight = Self { factor: 1, sum: 1, loops: Vec::new(), outer };
        weight.visit_block(body);
        weight
    }

    fn total(self, support: &TokenStream) -> TokenStream {
        let Self { sum, loops, .. } = self;
        match loops.is_empty() {
            true => quote!(#sum),
            false => quote!(#support::total_cost(#sum, &[#(#loops),*])),
        }
    }
}

impl Visit<'_> for CostCounter<'_> {
    fn visit_expr(&mut self, expr: &Expr) {
        self.sum = self.sum.saturating_add(self.factor);
        if let Expr::ForLoop(each) = expr
            && self.factor == 1
            && let Some(outer) = self.outer
            && let Some((start, end)) = outer.bounds(&each.expr)
        {
            let support = outer.scope.support;
            let cost = Self::of(&each.body, self.outer).total(support);
            self.loops.push(quote!(#support::loop_cost(#start, #end, #cost)));
            return;
        }
        let outer = self.factor;
        if is_loop(expr) {
            self.factor = outer.saturating_mul(ITERATIONS);
        }
        visit::visit_expr(self, expr);
        self.factor = outer;
    }
}

impl OuterScope<'_> {
    /// The bounds of a range if they can be evaluated in front of the parallel loop, without an error.
    fn bounds(&self, range: &Expr) -> Option<(TokenStream, TokenStream)> {
        let Expr::Range(range) = unparenthesized(range) else { return None };
        let (start, end) = (range.start.as_deref()?, range.end.as_deref()?);
        (self.is_known(start) && self.is_known(end))
            .then(|| (self.scope.expr(start), self.scope.expr(end)))
    }

    fn is_known(&self, bound: &Expr) -> bool {
        match unparenthesized(bound) {
            Expr::Lit(_) => true,
            Expr::Path(path) => {
                path.qself.is_none()
                    && !path.path.get_ident().is_some_and(|name| self.bound.contains(name))
            }
            Expr::Cast(cast) => self.is_known(&cast.expr),
            Expr::MethodCall(call) => self.is_extents(call),
            Expr::Index(index) => {
                matches!(unparenthesized(&index.expr), Expr::MethodCall(call) if self.is_extents(call))
                    && matches!(unparenthesized(&index.index), Expr::Lit(_))
            }
            _ => false,
        }
    }

    fn is_extents(&self, call: &ExprMethodCall) -> bool {
        (call.method == "len" || call.method == "shape")
            && matches!(
                unparenthesized(&call.receiver),
                Expr::Path(path) if path.path.get_ident().is_some_and(|name| {
                    self.scope.is_tensor(name) && !self.bound.contains(name)
                })
            )
    }
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
