//! Strips at the ends of an axis: clamped indices such as `(x + 1).min(width - 1)`, and conditions such as
//! `column >= 0 && column < width`.
//!
//! A clamped index is a monotonic function of the loop's variable, and its difference between two iterations is at most
//! that of the variable. So if the indices of the first and the last iteration of a strip of `W` differ by `W - 1`,
//! no index of the strip is clamped, and the strip loads neighbours in memory. A comparison of such an index with a
//! uniform value that holds for the first and the last iteration holds for all. Arithmetic that wraps makes the last
//! index smaller than the first. A cast can undo that, so the operands of casts are compared too. Where the indices
//! differ by less, at the ends of an axis, the strip computes each index and condition.

use std::collections::HashSet;

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{BinOp, Expr, ExprBinary, Lit, Pat, Stmt, visit_mut::VisitMut};

use super::{StripBuilder, Variability};
use crate::{
    ast::{each_expr, is_one_of, pattern_ident, unparenthesized},
    marks,
    tokens::{idents, internal},
};

/// Methods that clamp the receiver, if their arguments are equal for all iterations.
pub(super) const CLAMPS: &[&str] = &["clamp", "max", "min", "saturating_add", "saturating_sub"];

/// Whether statements call such a method.
pub(super) fn has_clamps(stmts: &[Stmt]) -> bool {
    let mut found = false;
    each_expr(stmts, |expr| {
        found |=
            matches!(expr, Expr::MethodCall(call) if CLAMPS.contains(&&*call.method.to_string()));
        true
    });
    found
}

/// What is known about the statements before the current one, as far as these have no loops.
#[derive(Default)]
pub(super) struct PrecedingStmts {
    /// How many names were known before all of them.
    known: usize,
    /// The names in them.
    names: HashSet<Ident>,
    /// The locals that can be computed before all of them.
    early: Vec<Ident>,
    /// The locals whose type depends on their uses.
    untyped: Vec<Ident>,
}

impl PrecedingStmts {
    pub(super) fn new(known: usize) -> Self {
        Self { known, ..Self::default() }
    }

    /// The current statement ends.
    pub(super) fn pass(&mut self, stmt: &Stmt) {
        self.names.extend(idents(stmt));
    }
}

/// The version of statements for iterations in which nothing is clamped.
pub(super) struct UnclampedVersion {
    /// The numbers that must be successive.
    numbers: Vec<TokenStream>,
    /// The conditions that must hold for the first and the last iteration.
    conditions: Vec<TokenStream>,
    /// The statements that these need.
    early: TokenStream,
    pub(super) stmts: Vec<Stmt>,
}

impl UnclampedVersion {
    pub(super) fn has_conditions(&self) -> bool {
        !self.conditions.is_empty()
    }

    /// `successive` where nothing is clamped in a strip of `width` iterations, else `general`, for each lane.
    pub(super) fn choose(
        &self,
        support: &TokenStream,
        width: &TokenStream,
        successive: &TokenStream,
        general: &TokenStream,
    ) -> TokenStream {
        let Self { numbers, conditions, early, .. } = self;
        let names = |name| (0..numbers.len()).map(move |at| internal(&format!("{name}{at}")));
        let (firsts, lasts): (Vec<_>, Vec<_>) = names("first").zip(names("last")).unzip();
        let [lane, at_first, at_last] = ["lane", "at_first", "at_last"].map(internal);
        quote! {
            let (#(#firsts,)* #at_first) = {
                let #lane = 0_usize;
                #early
                (#(#numbers,)* true #(&& #conditions)*)
            };
            let (#(#lasts,)* #at_last) = {
                let #lane = #width - 1;
                #early
                (#(#numbers,)* true #(&& #conditions)*)
            };
            if #at_first
                && #at_last
                #(&& #support::are_successive::<_, #width>(#firsts, #lasts))*
            {
                for #lane in 0..#width { #successive }
            } else {
                for #lane in 0..#width { #general }
            }
        }
    }
}

impl StripBuilder<'_, '_> {
    /// Whether an expression can be evaluated before the statements around it. Elements may have been written by then,
    /// and a division could report an error twice. Of the names that these statements bind, it uses only those of
    /// locals that can be computed before, too.
    pub(super) fn is_early(&self, expr: &Expr) -> bool {
        let mut is_early = true;
        each_expr(&[Stmt::Expr(expr.clone(), None)], |part| {
            is_early &= match part {
                Expr::Index(index) => matches!(unparenthesized(&index.expr), Expr::MethodCall(_)),
                Expr::Call(_) | Expr::Macro(_) | Expr::Closure(_) => false,
                Expr::Binary(binary) => !matches!(binary.op, BinOp::Div(_) | BinOp::Rem(_)),
                _ => true,
            };
            true
        });
        let PrecedingStmts { known, early, untyped, .. } = &self.before;
        let new = &self.names[*known..];
        is_early
            && !idents(expr)
                .iter()
                .any(|name| new.iter().any(|(bound, _)| bound == name) && !early.contains(name))
            && !casts(expr).iter().any(|operand| {
                !self.has_own_type(operand)
                    && idents(operand).iter().any(|name| untyped.contains(name))
            })
    }

    /// Whether an index is clamped, and can be computed before the statements around it.
    pub(super) fn is_clamped(&self, index: &Expr) -> bool {
        let mut clamps = false;
        each_expr(&[Stmt::Expr(index.clone(), None)], |part| {
            clamps |= matches!(part, Expr::MethodCall(call) if CLAMPS.contains(&&*call.method.to_string()));
            true
        });
        clamps && self.is_next(index) && self.is_early(index)
    }

    /// Returns a copy of the statements without clamps and conditions, if they have clamped indices or conditions on
    /// such indices.
    pub(super) fn contiguous(&mut self, stmts: &[Stmt]) -> Option<UnclampedVersion> {
        let known = self.names.len();
        self.before = PrecedingStmts::new(known);
        let mut early = Vec::new();
        let mut replaced = stmts.to_vec();
        let mut required = Requirements::default();
        for (stmt, original) in replaced.iter_mut().zip(stmts) {
            match stmt {
                Stmt::Local(local) => {
                    let name = pattern_ident(&local.pat).map(|pattern| pattern.ident.clone());
                    let meaning = self.meaning_of(local);
                    let is_typed = self.is_typed(local);
                    if let Some(init) = &mut local.init {
                        ClampReplacer { builder: self, required: &mut required }
                            .value(&mut init.expr);
                    }
                    if let (Some(name), Some((meaning, is_early))) = (name, meaning) {
                        if is_early {
                            early.push(early_local(original, is_typed));
                        }
                        self.bind(name, meaning, is_early, is_typed);
                    }
                }
                Stmt::Expr(expr, _) => {
                    ClampReplacer { builder: self, required: &mut required }.visit_expr_mut(expr);
                }
                Stmt::Item(_) | Stmt::Macro(_) => {}
            }
            self.before.pass(original);
        }
        let result = (!required.numbers.is_empty()).then(|| {
            let (variable, rewritten) = (self.variable(), |expr| self.rewritten_expr(expr));
            let early = early.iter().map(|stmt| self.rewritten_stmt(stmt));
            UnclampedVersion {
                numbers: required.numbers.iter().map(rewritten).collect(),
                conditions: required.conditions.iter().map(rewritten).collect(),
                early: quote!(#variable #(#early)*),
                stmts: replaced,
            }
        });
        self.names.truncate(known);
        result
    }

    /// What the name of a local means, and whether it can be computed before the statements around it.
    pub(super) fn meaning_of(&mut self, local: &syn::Local) -> Option<(Variability, bool)> {
        let (pattern, init) = (pattern_ident(&local.pat)?, local.init.as_ref()?);
        let is_fixed = pattern.mutability.is_none();
        let (is_same, is_next) = (self.is_same(&init.expr), self.is_next_index(&init.expr));
        let meaning = match is_fixed {
            true if is_same => Variability::Uniform,
            true if is_next => Variability::Next,
            _ => Variability::Varying,
        };
        let is_early = is_fixed
            && (is_same || is_next)
            && !self.is_conditional
            && local.attrs.iter().all(marks::is_number)
            && !self.before.names.contains(&pattern.ident)
            && !(is_next && idents(&init.expr).contains(&pattern.ident))
            && (self.is_typed(local) || is_small(&init.expr))
            && self.is_early(&init.expr);
        Some((meaning, is_early))
    }

    /// From here on, the name of a local has this meaning.
    pub(super) fn bind(
        &mut self,
        name: Ident,
        meaning: Variability,
        is_early: bool,
        is_typed: bool,
    ) {
        let PrecedingStmts { early, untyped, .. } = &mut self.before;
        for names in [&mut *early, &mut *untyped] {
            names.retain(|known| *known != name);
        }
        if is_early {
            early.push(name.clone());
        }
        if !is_typed {
            untyped.push(name.clone());
        }
        self.names.push((name, meaning));
    }

    /// Whether rustc knows the type of a local without its uses.
    pub(super) fn is_typed(&self, local: &syn::Local) -> bool {
        is_typed(&local.pat)
            || local.init.as_ref().is_some_and(|init| self.has_own_type(&init.expr))
    }

    fn has_own_type(&self, expr: &Expr) -> bool {
        match unparenthesized(expr) {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Int(number) => !number.suffix().is_empty(),
                Lit::Float(number) => !number.suffix().is_empty(),
                _ => true,
            },
            Expr::Path(_) => !is_one_of(expr, &self.before.untyped),
            Expr::Unary(unary) => self.has_own_type(&unary.expr),
            Expr::Binary(ExprBinary { left, op: BinOp::Shl(_) | BinOp::Shr(_), .. }) => {
                self.has_own_type(left)
            }
            Expr::Binary(ExprBinary { left, right, .. }) => {
                self.has_own_type(left) || self.has_own_type(right)
            }
            _ => true,
        }
    }
}

/// Whether an expression is a literal that has the same value in each type.
fn is_small(expr: &Expr) -> bool {
    match unparenthesized(expr) {
        Expr::Lit(syn::ExprLit { lit: Lit::Int(number), .. }) => {
            number.base10_parse::<i8>().is_ok()
        }
        _ => false,
    }
}

/// A local as computed before the statements around it. There, rustc may infer another type for a literal.
fn early_local(stmt: &Stmt, is_typed: bool) -> Stmt {
    let mut stmt = stmt.clone();
    if let Stmt::Local(local) = &mut stmt
        && !is_typed
    {
        marks::take(&mut local.attrs);
    }
    stmt
}

/// Whether an expression has no operation that may report an overflow.
fn cannot_fail(expr: &Expr) -> bool {
    const METHODS: [&str; 6] = ["len", "max", "min", "saturating_add", "saturating_sub", "shape"];
    match unparenthesized(expr) {
        Expr::Lit(_) | Expr::Path(_) => true,
        Expr::Cast(cast) => cannot_fail(&cast.expr),
        Expr::Index(index) => cannot_fail(&index.expr),
        Expr::MethodCall(call) => {
            METHODS.contains(&&*call.method.to_string())
                && cannot_fail(&call.receiver)
                && call.args.iter().all(cannot_fail)
        }
        _ => false,
    }
}

/// The operands of the casts in an expression.
fn casts(expr: &Expr) -> Vec<Expr> {
    let mut operands = Vec::new();
    each_expr(&[Stmt::Expr(expr.clone(), None)], |part| {
        if let Expr::Cast(cast) = part {
            operands.push((*cast.expr).clone());
        }
        true
    });
    operands
}

fn is_typed(pattern: &Pat) -> bool {
    matches!(pattern, Pat::Type(typed) if idents(&typed.ty).iter().all(|name| name != "_"))
}

/// What a strip without clamps and conditions requires: numbers that must be successive, and conditions that must hold
/// for the first and the last iteration.
#[derive(Default)]
struct Requirements {
    numbers: Vec<Expr>,
    conditions: Vec<Expr>,
}

impl Requirements {
    /// The position of a number.
    fn number(&mut self, builder: &StripBuilder<'_, '_>, number: &Expr) -> usize {
        let text = quote!(#number).to_string();
        let known = self.numbers.iter().position(|known| quote!(#known).to_string() == text);
        known.unwrap_or_else(|| {
            self.numbers.push(number.clone());
            let position = self.numbers.len() - 1;
            self.operands(builder, number);
            position
        })
    }

    /// Adds the clamped operands of the casts in a number: a cast can undo an overflow of its operand.
    fn operands(&mut self, builder: &StripBuilder<'_, '_>, number: &Expr) {
        let clamped = |operand: &Expr| matches!(unparenthesized(operand), Expr::MethodCall(_));
        for operand in casts(number) {
            if clamped(&operand) && builder.is_next(&operand) {
                self.number(builder, &operand);
            }
        }
    }
}

fn block_of(value: Expr) -> syn::Block {
    syn::Block { brace_token: Default::default(), stmts: vec![Stmt::Expr(value, None)] }
}

/// Replaces clamped indices by successive ones, and conditions by `true`.
struct ClampReplacer<'l, 'f, 'b, 'a> {
    builder: &'l StripBuilder<'b, 'a>,
    required: &'f mut Requirements,
}

impl ClampReplacer<'_, '_, '_, '_> {
    /// Replaces the value of a local, or the indices in it.
    fn value(&mut self, value: &mut Expr) {
        if self.builder.is_clamped(value) {
            self.index(value);
        } else {
            self.visit_expr_mut(value);
        }
    }

    fn index(&mut self, index: &mut Expr) {
        let first = internal(&format!("first{}", self.required.number(self.builder, index)));
        let (support, lane) = (self.builder.scope.support, internal("lane"));
        let successive = Expr::Verbatim(quote!(#support::lane_of(#first, #lane)));
        // rustc infers types from the index.
        *index = Expr::If(syn::ExprIf {
            attrs: Vec::new(),
            if_token: Default::default(),
            cond: Box::new(syn::parse_quote!(true)),
            then_branch: block_of(successive),
            else_branch: Some((
                Default::default(),
                Box::new(Expr::Block(syn::ExprBlock {
                    attrs: Vec::new(),
                    label: None,
                    block: block_of(index.clone()),
                })),
            )),
        });
    }

    /// Replaces the comparisons of successive numbers in a condition. `is_guarded` says whether another condition is
    /// evaluated first; where that is false, this one might fail.
    fn condition(&mut self, condition: &mut Expr, is_guarded: bool) {
        match condition {
            Expr::Paren(inner) => self.condition(&mut inner.expr, is_guarded),
            Expr::Group(inner) => self.condition(&mut inner.expr, is_guarded),
            Expr::Binary(ExprBinary { left, op: BinOp::And(_), right, .. }) => {
                self.condition(left, is_guarded);
                self.condition(right, true);
            }
            Expr::Binary(ExprBinary {
                left,
                op: BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_),
                right,
                ..
            }) => {
                let builder = self.builder;
                let is_pair = |next: &Expr, same: &Expr| {
                    builder.is_next(next)
                        && builder.is_uniform(same)
                        && builder.is_early(next)
                        && builder.is_early(same)
                };
                let (next, same) = match (is_pair(left, right), is_pair(right, left)) {
                    (true, _) => (left, right),
                    (_, true) => (right, left),
                    _ => return,
                };
                if is_guarded && !(cannot_fail(next) && cannot_fail(same)) {
                    return;
                }
                self.required.number(builder, next);
                self.required.conditions.push(condition.clone());
                // As for an index.
                *condition = syn::parse_quote!((true || #condition));
            }
            _ => {}
        }
    }
}

impl VisitMut for ClampReplacer<'_, '_, '_, '_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        match expr {
            // What is evaluated under a condition stays.
            Expr::If(choice) => self.condition(&mut choice.cond, false),
            Expr::Block(_) => {}
            Expr::Binary(ExprBinary { left, op: BinOp::And(_) | BinOp::Or(_), .. }) => {
                self.visit_expr_mut(left);
            }
            Expr::Index(index) if self.builder.names_tensor(&index.expr) => {
                let last = match &mut *index.index {
                    Expr::Array(array) => array.elems.last_mut(),
                    single => Some(single),
                };
                if let Some(last) = last
                    && self.builder.is_clamped(last)
                {
                    self.index(last);
                }
            }
            _ => syn::visit_mut::visit_expr_mut(self, expr),
        }
    }
}
