//! What may stand in strips: expressions that are known to do no more than they say, and that gain.

use std::collections::BTreeSet;

use proc_macro2::Ident;
use quadrants_frontend::is_builtin_method;
use quote::ToTokens;
use syn::{BinOp, Expr, Pat, Stmt, UnOp, visit::Visit};

use super::{Lanes, Meaning, tree, unparenthesized};
use crate::{body::cost, index::is_assignment};

/// Methods of numbers that processors have for whole vectors, or that a few such operations make.
const OF_VECTORS: &[&str] = &[
    "abs",
    "ceil",
    "clamp",
    "copysign",
    "floor",
    "max",
    "min",
    "mul_add",
    "recip",
    "round_ties_even",
    "signum",
    "sqrt",
    "trunc",
    "wrapping_add",
    "wrapping_mul",
    "wrapping_sub",
];

/// Whether a statement jumps out of itself: loops within it have jumps of their own.
pub(super) fn jumps(stmt: &Stmt) -> bool {
    struct Found(bool);
    impl Visit<'_> for Found {
        fn visit_expr(&mut self, expr: &Expr) {
            match expr {
                Expr::Break(_) | Expr::Continue(_) => self.0 = true,
                Expr::ForLoop(_) | Expr::While(_) | Expr::Loop(_) => {}
                _ => syn::visit::visit_expr(self, expr),
            }
        }
    }
    let mut found = Found(false);
    found.visit_stmt(stmt);
    found.0
}

/// All identifiers in statements.
pub(super) fn said(stmts: &[Stmt]) -> BTreeSet<String> {
    let mut said = BTreeSet::new();
    stmts.iter().for_each(|stmt| cost::identifiers(stmt.to_token_stream(), &mut said));
    said
}

/// The names that statements assign.
pub(super) fn assigned(stmts: &[Stmt]) -> BTreeSet<String> {
    struct Assigned(BTreeSet<String>);
    impl Visit<'_> for Assigned {
        fn visit_expr(&mut self, expr: &Expr) {
            let place = match expr {
                Expr::Assign(assign) => Some(&assign.left),
                Expr::Binary(binary) if is_assignment(&binary.op) => Some(&binary.left),
                _ => None,
            };
            if let Some(Expr::Path(path)) = place.map(|place| unparenthesized(place)) {
                self.0.extend(path.path.get_ident().map(ToString::to_string));
            }
            syn::visit::visit_expr(self, expr);
        }
    }
    let mut found = Assigned(BTreeSet::new());
    stmts.iter().for_each(|stmt| found.visit_stmt(stmt));
    found.0
}

/// A pattern that is one name, with or without its type.
pub(super) fn ident(pattern: &Pat) -> Option<&syn::PatIdent> {
    match pattern {
        Pat::Ident(ident) if ident.by_ref.is_none() && ident.subpat.is_none() => Some(ident),
        Pat::Type(typed) => self::ident(&typed.pat),
        _ => None,
    }
}

impl Lanes<'_, '_> {
    /// Whether statements fit, which each iteration goes through by itself. A name that they bind hides none.
    pub(super) fn all_fit(&mut self, stmts: &[Stmt], in_loop: bool) -> bool {
        let known = self.names.len();
        let fit = stmts.iter().all(|stmt| match stmt {
            Stmt::Local(local) => self.local_fits(local, in_loop),
            Stmt::Expr(expr, _) => self.fits(expr, in_loop),
            Stmt::Item(_) | Stmt::Macro(_) => false,
        });
        self.names.truncate(known);
        fit
    }

    fn local_fits(&mut self, local: &syn::Local, in_loop: bool) -> bool {
        let (Some(pattern), Some(init)) = (ident(&local.pat), &local.init) else { return false };
        let fits = init.diverge.is_none()
            && self.hides_none(&pattern.ident)
            && self.fits(&init.expr, in_loop);
        let is_shared = pattern.mutability.is_none() && self.is_same(&init.expr);
        let meaning = if is_shared { Meaning::Shared } else { Meaning::Varying };
        self.names.push((pattern.ident.clone(), meaning));
        fits
    }

    /// Whether a name is neither a tensor's, nor that of a local with an array, nor the loop's variable: it would
    /// stand for that where it is put back.
    fn hides_none(&self, name: &Ident) -> bool {
        let of_loop = self
            .names
            .iter()
            .any(|(known, meaning)| known == name && matches!(meaning, Meaning::Array(_)));
        let variable = cost::names(self.variable).contains(name);
        !of_loop && !variable && !self.body.is_tensor(name)
    }

    /// Whether an expression may stand where each iteration of a strip evaluates it by itself.
    pub(super) fn fits(&mut self, expr: &Expr, in_loop: bool) -> bool {
        match expr {
            Expr::Lit(_) | Expr::Continue(syn::ExprContinue { label: None, .. }) => true,
            Expr::Break(jump) => jump.label.is_none() && jump.expr.is_none(),
            Expr::Path(path) => path.qself.is_none(),
            Expr::Paren(inner) => self.fits(&inner.expr, in_loop),
            Expr::Group(inner) => self.fits(&inner.expr, in_loop),
            Expr::Cast(cast) => self.fits(&cast.expr, in_loop),
            Expr::Unary(unary) => {
                matches!(unary.op, UnOp::Neg(_) | UnOp::Not(_)) && self.fits(&unary.expr, in_loop)
            }
            Expr::Binary(syn::ExprBinary { left, right, .. })
            | Expr::Assign(syn::ExprAssign { left, right, .. }) => {
                self.fits(left, in_loop) && self.fits(right, in_loop)
            }
            Expr::If(choice) => {
                let otherwise = choice.else_branch.as_ref();
                self.fits(&choice.cond, in_loop)
                    && self.all_fit(&choice.then_branch.stmts, in_loop)
                    && otherwise.is_none_or(|(_, otherwise)| self.fits(otherwise, in_loop))
            }
            Expr::Block(block) => {
                block.label.is_none()
                    && block.attrs.is_empty()
                    && self.all_fit(&block.block.stmts, in_loop)
            }
            Expr::Index(index) => self.access_fits(index, in_loop),
            // Of an element that all share, or in a tensor whose elements are not.
            Expr::Field(field) => match unparenthesized(&field.base) {
                Expr::Index(index) => {
                    self.access_fits(index, in_loop) && (!in_loop || self.is_same(&field.base))
                }
                _ => false,
            },
            Expr::MethodCall(call) => self.method_fits(call, in_loop),
            Expr::Call(call) => !in_loop && self.call_fits(call),
            _ => false,
        }
    }

    fn method_fits(&mut self, call: &syn::ExprMethodCall, in_loop: bool) -> bool {
        if self.is_extent(call) {
            return true;
        }
        let name = call.method.to_string();
        let known = if in_loop { OF_VECTORS.contains(&&*name) } else { is_builtin_method(&name) };
        known
            && call.turbofish.is_none()
            && self.fits(&call.receiver, in_loop)
            && call.args.iter().all(|arg| self.fits(arg, in_loop))
    }

    /// A func, which is inlined and has no tensors; atomics have an effect in between.
    fn call_fits(&mut self, call: &syn::ExprCall) -> bool {
        let Expr::Path(path) = &*call.func else { return false };
        let Some(name) = path.path.segments.last().map(|last| last.ident.to_string()) else {
            return false;
        };
        tree::atomic(&name).is_none()
            && !matches!(&*name, "load_relaxed" | "store_relaxed")
            && call.args.iter().all(|arg| !self.names_tensor(arg) && self.fits(arg, false))
    }

    /// Whether neighbouring iterations touch the same element, or neighbours.
    fn access_fits(&mut self, index: &syn::ExprIndex, in_loop: bool) -> bool {
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
        if !indices.iter().all(|index| self.fits(index, in_loop)) {
            return false;
        }
        let Some((last, before)) = indices.split_last() else { return false };
        !in_loop
            || before.iter().all(|index| self.is_same(index))
                && (self.is_same(last) || self.is_next(last))
    }

    /// Whether an index is the loop's variable, or at a distance from it that all share.
    fn is_next(&self, index: &Expr) -> bool {
        match unparenthesized(index) {
            Expr::Path(path) => {
                let variable = super::name_of(self.variable).flatten();
                variable.is_some_and(|variable| path.path.is_ident(&variable))
            }
            Expr::Cast(cast) => self.is_next(&cast.expr),
            Expr::Binary(syn::ExprBinary { left, op: BinOp::Add(_), right, .. }) => {
                self.is_next(left) && self.is_same(right)
                    || self.is_same(left) && self.is_next(right)
            }
            Expr::Binary(syn::ExprBinary { left, op: BinOp::Sub(_), right, .. }) => {
                self.is_next(left) && self.is_same(right)
            }
            _ => false,
        }
    }

    /// Whether the iterations of a strip, at the same place, all find the same value.
    fn is_same(&self, expr: &Expr) -> bool {
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
            _ => self.is_shared(expr),
        }
    }

    /// Whether a range has bounds that are the same in all iterations, and computed from no tensor's elements: the
    /// loop may write those.
    pub(super) fn is_shared_range(&self, range: &Expr) -> bool {
        match unparenthesized(range) {
            Expr::Range(range) => [&range.start, &range.end]
                .into_iter()
                .all(|bound| bound.as_ref().is_some_and(|bound| self.is_shared(bound))),
            _ => false,
        }
    }

    /// Whether an expression has one value for all iterations, whenever it is evaluated.
    pub(super) fn is_shared(&self, expr: &Expr) -> bool {
        match unparenthesized(expr) {
            Expr::Lit(_) => true,
            Expr::Path(path) => {
                let meaning = path
                    .path
                    .get_ident()
                    .and_then(|name| self.names.iter().rev().find(|(known, _)| known == name));
                path.qself.is_none() && meaning.is_none_or(|(_, of)| matches!(of, Meaning::Shared))
            }
            Expr::Cast(cast) => self.is_shared(&cast.expr),
            Expr::Unary(unary) => {
                matches!(unary.op, UnOp::Neg(_) | UnOp::Not(_)) && self.is_shared(&unary.expr)
            }
            Expr::Binary(binary) => {
                !is_assignment(&binary.op)
                    && self.is_shared(&binary.left)
                    && self.is_shared(&binary.right)
            }
            Expr::MethodCall(call) => {
                let of_two = matches!(&*call.method.to_string(), "min" | "max");
                self.is_extent(call)
                    || of_two
                        && self.is_shared(&call.receiver)
                        && call.args.iter().all(|arg| self.is_shared(arg))
            }
            Expr::Index(index) => match unparenthesized(&index.expr) {
                Expr::MethodCall(call) => self.is_extent(call) && self.is_shared(&index.index),
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether a call asks for a tensor's extents.
    fn is_extent(&self, call: &syn::ExprMethodCall) -> bool {
        (call.method == "len" || call.method == "shape")
            && call.args.is_empty()
            && self.names_tensor(&call.receiver)
    }

    fn names_tensor(&self, expr: &Expr) -> bool {
        self.body.rewrite(&[], false).is_tensor(expr)
    }
}
