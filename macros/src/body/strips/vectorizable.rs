//! Which expressions can be in strips: those whose effects are known, and that gain from SIMD.

use proc_macro2::Ident;
use quadrants_frontend::is_builtin_method;
use syn::{BinOp, Expr, ExprBinary, Pat, Stmt, UnOp};

use super::{
    StripBuilder, StripKind, Variability,
    clamps::{CLAMPS, PrecedingStmts},
};
use crate::ast::{
    atomic_op, immutable_name, is_assignment, pattern_ident, pattern_names, unparenthesized,
};

/// Methods of numbers that LLVM can vectorize, the elementary functions for `f32`.
const SIMD_METHODS: &[&str] = &[
    "abs",
    "abs_diff",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "clamp",
    "copysign",
    "cos",
    "cosh",
    "exp",
    "exp2",
    "exp_m1",
    "floor",
    "hypot",
    "ln",
    "ln_1p",
    "log",
    "log10",
    "log2",
    "max",
    "min",
    "mul_add",
    "powf",
    "recip",
    "round_ties_even",
    "saturating_add",
    "saturating_sub",
    "signum",
    "sin",
    "sin_cos",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
    "wrapping_add",
    "wrapping_mul",
    "wrapping_sub",
];

impl StripBuilder<'_, '_> {
    /// Whether each iteration of a strip may run statements by itself. The names that they bind must hide none.
    pub(super) fn all_vectorizable(&mut self, stmts: &[Stmt], in_loop: bool) -> bool {
        let known = self.names.len();
        if !self.is_conditional {
            self.before = PrecedingStmts::new(known);
        }
        let all = stmts.iter().all(|stmt| {
            let vectorizable = match stmt {
                Stmt::Local(local) => self.local_is_vectorizable(local, in_loop),
                Stmt::Expr(expr, _) => self.is_vectorizable(expr, in_loop),
                Stmt::Item(_) | Stmt::Macro(_) => false,
            };
            if !self.is_conditional {
                self.before.pass(stmt);
            }
            vectorizable
        });
        self.names.truncate(known);
        all
    }

    /// As [`all_vectorizable`](Self::all_vectorizable), for statements under a condition.
    fn branch_is_vectorizable(&mut self, stmts: &[Stmt], in_loop: bool) -> bool {
        let outer = std::mem::replace(&mut self.is_conditional, true);
        let all = self.all_vectorizable(stmts, in_loop);
        self.is_conditional = outer;
        all
    }

    fn local_is_vectorizable(&mut self, local: &syn::Local, in_loop: bool) -> bool {
        let Some(init) = &local.init else { return false };
        if let Pat::Tuple(names) = &local.pat {
            return init.diverge.is_none()
                && self.tuple_is_vectorizable(names, &init.expr, in_loop);
        }
        let Some(pattern) = pattern_ident(&local.pat) else { return false };
        let is_same = self.is_same(&init.expr);
        let vectorizable = init.diverge.is_none()
            && self.hides_none(&pattern.ident)
            && (is_same || self.is_vectorizable(&init.expr, in_loop));
        let (meaning, is_early) = self.meaning_of(local).unwrap_or((Variability::Varying, false));
        let is_typed = self.is_typed(local);
        self.bind(pattern.ident.clone(), meaning, is_early, is_typed);
        vectorizable
    }

    /// As [`local_is_vectorizable`](Self::local_is_vectorizable), for a tuple of names.
    fn tuple_is_vectorizable(&mut self, names: &syn::PatTuple, init: &Expr, in_loop: bool) -> bool {
        let vectorizable = self.is_vectorizable(init, in_loop);
        let names: Option<Vec<_>> = names.elems.iter().map(pattern_ident).collect();
        let Some(names) = names else { return false };
        let hides_none = names.iter().all(|name| self.hides_none(&name.ident));
        for name in names {
            self.bind(name.ident.clone(), Variability::Varying, false, false);
        }
        vectorizable && hides_none
    }

    /// Whether a name is neither a tensor's, nor that of a local with an array, nor the loop's variable. A store to the
    /// array would store the value of this name.
    fn hides_none(&self, name: &Ident) -> bool {
        let has_array = self
            .names
            .iter()
            .any(|(known, meaning)| known == name && matches!(meaning, Variability::Array(_)));
        let variable = pattern_names(self.variable).contains(name);
        !has_array && !variable && !self.scope.is_tensor(name)
    }

    /// Whether each iteration of a strip may evaluate an expression by itself.
    pub(super) fn is_vectorizable(&mut self, expr: &Expr, in_loop: bool) -> bool {
        match expr {
            Expr::Lit(_) | Expr::Continue(syn::ExprContinue { label: None, .. }) => true,
            Expr::Break(jump) => jump.label.is_none() && jump.expr.is_none(),
            Expr::Path(path) => path.qself.is_none(),
            Expr::Paren(inner) => self.is_vectorizable(&inner.expr, in_loop),
            Expr::Group(inner) => self.is_vectorizable(&inner.expr, in_loop),
            Expr::Cast(cast) => self.is_vectorizable(&cast.expr, in_loop),
            Expr::Unary(unary) => {
                matches!(unary.op, UnOp::Neg(_) | UnOp::Not(_))
                    && self.is_vectorizable(&unary.expr, in_loop)
            }
            Expr::Binary(ExprBinary { left, op: BinOp::And(_) | BinOp::Or(_), right, .. }) => {
                let left = self.is_vectorizable(left, in_loop);
                let outer = std::mem::replace(&mut self.is_conditional, true);
                let right = self.is_vectorizable(right, in_loop);
                self.is_conditional = outer;
                left && right
            }
            Expr::Binary(ExprBinary { left, right, .. })
            | Expr::Assign(syn::ExprAssign { left, right, .. }) => {
                self.is_vectorizable(left, in_loop) && self.is_vectorizable(right, in_loop)
            }
            Expr::If(choice) => {
                let otherwise = choice.else_branch.as_ref();
                self.is_vectorizable(&choice.cond, in_loop)
                    && self.branch_is_vectorizable(&choice.then_branch.stmts, in_loop)
                    && otherwise.is_none_or(|(_, otherwise)| {
                        let outer = std::mem::replace(&mut self.is_conditional, true);
                        let all = self.is_vectorizable(otherwise, in_loop);
                        self.is_conditional = outer;
                        all
                    })
            }
            Expr::Block(block) => {
                block.label.is_none()
                    && block.attrs.is_empty()
                    && self.branch_is_vectorizable(&block.block.stmts, in_loop)
            }
            Expr::Index(index) => self.access_is_vectorizable(index, in_loop),
            // In inner loops, a field of an element that all iterations share: components of others are not neighbours.
            Expr::Field(field) => match unparenthesized(&field.base) {
                Expr::Index(index) => {
                    self.access_is_vectorizable(index, in_loop)
                        && (!in_loop || self.is_same(&field.base))
                }
                _ => false,
            },
            Expr::MethodCall(call) => self.method_is_vectorizable(call, in_loop),
            Expr::Call(call) => self.call_is_vectorizable(call, in_loop),
            _ => false,
        }
    }

    fn method_is_vectorizable(&mut self, call: &syn::ExprMethodCall, in_loop: bool) -> bool {
        if self.is_extent(call) {
            return true;
        }
        let name = call.method.to_string();
        let known = if in_loop { SIMD_METHODS.contains(&&*name) } else { is_builtin_method(&name) };
        known
            && call.turbofish.is_none()
            && self.is_vectorizable(&call.receiver, in_loop)
            && call.args.iter().all(|arg| self.is_vectorizable(arg, in_loop))
    }

    /// Whether a call is one of a func without tensors, which is inlined. Atomics have effects that iterations would
    /// reorder.
    fn call_is_vectorizable(&mut self, call: &syn::ExprCall, in_loop: bool) -> bool {
        let Expr::Path(path) = &*call.func else { return false };
        let Some(name) = path.path.segments.last().map(|last| last.ident.to_string()) else {
            return false;
        };
        atomic_op(&name).is_none()
            && !matches!(&*name, "load_relaxed" | "store_relaxed")
            && call
                .args
                .iter()
                .all(|arg| !self.names_tensor(arg) && self.is_vectorizable(arg, in_loop))
    }

    /// Whether neighbouring iterations access the same element, or neighbours in memory. If only the latency of chains
    /// counts, any element.
    fn access_is_vectorizable(&mut self, index: &syn::ExprIndex, in_loop: bool) -> bool {
        if let Expr::MethodCall(call) = unparenthesized(&index.expr) {
            return self.is_extent(call) && matches!(unparenthesized(&index.index), Expr::Lit(_));
        }
        if !self.names_tensor(&index.expr) {
            return false;
        }
        let indices: Vec<&Expr> = match unparenthesized(&index.index) {
            Expr::Array(array) => array.elems.iter().collect(),
            single => vec![single],
        };
        if !indices.iter().all(|index| self.is_same(index) || self.is_vectorizable(index, in_loop))
        {
            return false;
        }
        let Some((last, before)) = indices.split_last() else { return false };
        !in_loop
            || self.kind == StripKind::Chains
            || before.iter().all(|index| self.is_same(index))
                && (self.is_same(last) || self.is_next_index(last))
    }

    /// Whether an index is the loop's variable at a uniform distance, or clamped.
    pub(super) fn is_next_index(&mut self, index: &Expr) -> bool {
        if !self.is_next(index) {
            return false;
        }
        let clamped = !self.is_conditional && self.is_clamped(index);
        self.clamped += usize::from(clamped);
        clamped || !has_clamp(index)
    }

    /// Whether an index is the loop's variable, or at a uniform distance from it, where no method clamps it.
    pub(super) fn is_next(&self, index: &Expr) -> bool {
        match unparenthesized(index) {
            Expr::Path(path) => path.path.get_ident().is_some_and(|name| {
                let meaning = self.names.iter().rev().find(|(known, _)| known == name);
                match meaning {
                    Some((_, Variability::Next)) => true,
                    _ => immutable_name(self.variable).flatten().as_ref() == Some(name),
                }
            }),
            Expr::Cast(cast) => is_integer(&cast.ty) && self.is_next(&cast.expr),
            Expr::Binary(ExprBinary { left, op: BinOp::Add(_), right, .. }) => {
                self.is_next(left) && self.is_same(right)
                    || self.is_same(left) && self.is_next(right)
            }
            Expr::Binary(ExprBinary { left, op: BinOp::Sub(_), right, .. }) => {
                self.is_next(left) && self.is_same(right)
            }
            Expr::MethodCall(call) => {
                CLAMPS.contains(&&*call.method.to_string())
                    && call.turbofish.is_none()
                    && self.is_next(&call.receiver)
                    && call.args.iter().all(|arg| self.is_uniform(arg))
            }
            _ => false,
        }
    }

    /// Whether the iterations of a strip find the same value when they evaluate an expression at the same time.
    pub(super) fn is_same(&self, expr: &Expr) -> bool {
        match unparenthesized(expr) {
            Expr::Index(index) if self.names_tensor(&index.expr) => {
                match unparenthesized(&index.index) {
                    Expr::Array(array) => array.elems.iter().all(|index| self.is_same(index)),
                    index => self.is_same(index),
                }
            }
            Expr::Binary(binary) => {
                !is_assignment(&binary.op)
                    && self.is_same(&binary.left)
                    && self.is_same(&binary.right)
            }
            Expr::Cast(cast) => self.is_same(&cast.expr),
            _ => self.is_uniform(expr),
        }
    }

    /// Whether the bounds of a range are uniform. They use no elements of tensors, which the loop may write.
    pub(super) fn is_uniform_range(&self, range: &Expr) -> bool {
        match unparenthesized(range) {
            Expr::Range(range) => [&range.start, &range.end]
                .into_iter()
                .all(|bound| bound.as_ref().is_some_and(|bound| self.is_uniform(bound))),
            _ => false,
        }
    }

    /// Whether an expression has the same value for all iterations, whenever it is evaluated.
    pub(super) fn is_uniform(&self, expr: &Expr) -> bool {
        match unparenthesized(expr) {
            Expr::Lit(_) => true,
            Expr::Path(path) => {
                let meaning = path
                    .path
                    .get_ident()
                    .and_then(|name| self.names.iter().rev().find(|(known, _)| known == name));
                path.qself.is_none()
                    && meaning.is_none_or(|(_, of)| matches!(of, Variability::Uniform))
            }
            Expr::Cast(cast) => self.is_uniform(&cast.expr),
            Expr::Unary(unary) => {
                matches!(unary.op, UnOp::Neg(_) | UnOp::Not(_)) && self.is_uniform(&unary.expr)
            }
            Expr::Binary(binary) => {
                !is_assignment(&binary.op)
                    && self.is_uniform(&binary.left)
                    && self.is_uniform(&binary.right)
            }
            Expr::MethodCall(call) => {
                self.is_extent(call)
                    || is_builtin_method(&call.method.to_string())
                        && call.turbofish.is_none()
                        && self.is_uniform(&call.receiver)
                        && call.args.iter().all(|arg| self.is_uniform(arg))
            }
            Expr::Index(index) => match unparenthesized(&index.expr) {
                Expr::MethodCall(call) => self.is_extent(call) && self.is_uniform(&index.index),
                _ => false,
            },
            _ => false,
        }
    }

    fn is_extent(&self, call: &syn::ExprMethodCall) -> bool {
        (call.method == "len" || call.method == "shape")
            && call.args.is_empty()
            && self.names_tensor(&call.receiver)
    }

    pub(super) fn names_tensor(&self, expr: &Expr) -> bool {
        self.scope.rewrite(&[], false).is_tensor(expr)
    }
}

/// Whether an index is clamped by a method.
fn has_clamp(index: &Expr) -> bool {
    match unparenthesized(index) {
        Expr::MethodCall(_) => true,
        Expr::Cast(cast) => has_clamp(&cast.expr),
        Expr::Binary(binary) => has_clamp(&binary.left) || has_clamp(&binary.right),
        _ => false,
    }
}

fn is_integer(ty: &syn::Type) -> bool {
    const INTEGERS: [&str; 10] =
        ["i8", "i16", "i32", "i64", "isize", "u8", "u16", "u32", "u64", "usize"];
    matches!(ty, syn::Type::Path(path) if INTEGERS.iter().any(|name| path.path.is_ident(name)))
}
