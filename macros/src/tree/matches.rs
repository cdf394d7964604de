//! `match` on a number, a bool, an enum, or a tuple or struct of them, as branches: one per arm, in their order.

use proc_macro2::Ident;
use quadrants_frontend::syntax::{
    BinaryOp, Block, Construct, Expr, ExprKind, LiteralKind, LogicOp, Span as TreeSpan, Stmt,
    StmtKind, TypeIx, UnaryOp,
};
use syn::{Pat, PatIdent, RangeLimits, punctuated::Punctuated};

use super::{TreeBuilder, value_block};
use crate::{
    ast::{alternatives, is_constant_pattern, member_name, pattern_names},
    marks,
};

/// A matched value, or a part of it.
#[derive(Clone)]
struct MatchedValue {
    /// The name and the type of the whole value in the tree.
    name: String,
    ty: TypeIx,
    span: TreeSpan,
    /// The way from the whole value to the part.
    path: Vec<PatternStep>,
}

/// A part of a value.
#[derive(Clone, PartialEq, Eq)]
enum PatternStep {
    /// A field by its name, or a part by its number; `-1` is the last part, `-2` the one before.
    Field(String),
    /// An element of an array or vector, by its index.
    Element(usize),
}

/// The condition of a pattern, and the names that it binds.
struct PatternTest {
    /// `None` if every value matches.
    cond: Option<Expr>,
    bindings: Vec<PatternBinding>,
}

struct PatternBinding {
    name: Ident,
    to: MatchedValue,
}

impl TreeBuilder {
    pub(super) fn match_expr(&mut self, each: &mut syn::ExprMatch) -> ExprKind {
        let span = self.spans.of(&*each.expr);
        let value = self.expr(&mut each.expr);
        // Messages show names of this form as the value that they are bound to.
        let name = format!("__match{}", self.types.len());
        let site = marks::take(&mut each.attrs);
        let ty = self.pass(&mut each.expr);
        let ty = self.put_site(site, ty);
        let matched = MatchedValue { name: name.clone(), ty, span, path: Vec::new() };
        let mut arms = Vec::with_capacity(each.arms.len());
        for arm in &mut each.arms {
            match self.arm(arm, &matched) {
                Some(all) => arms.extend(all),
                None => return ExprKind::Unsupported(Construct::MatchPattern),
            }
        }
        // rustc checks that the arms are exhaustive: the last one needs no condition.
        let mut rest: Option<Block> = None;
        for (cond, body, span) in arms.into_iter().rev() {
            rest = Some(match (cond, rest) {
                (Some(cond), Some(otherwise)) => {
                    let (cond, otherwise) = (Box::new(cond), Some(otherwise));
                    value_block(Expr { kind: ExprKind::If { cond, then: body, otherwise }, span })
                }
                _ => body,
            });
        }
        let kind = StmtKind::Let { name, mutable: false, ty: matched.ty, value };
        let value = rest.map(|rest| Box::new(Expr { kind: ExprKind::Block(rest), span }));
        ExprKind::Block(Block { stmts: vec![Stmt { kind, span }], value })
    }

    /// An arm's condition and body, or those of its alternatives; `None` if kernels do not have its pattern.
    fn arm(
        &mut self,
        arm: &mut syn::Arm,
        matched: &MatchedValue,
    ) -> Option<Vec<(Option<Expr>, Block, TreeSpan)>> {
        let span = self.spans.of(&arm.pat);
        let (pattern, guard) = match &mut arm.pat {
            Pat::Guard(guarded) => (&*guarded.pat, Some(&mut *guarded.guard)),
            pattern => (&*pattern, None),
        };
        // rustc evaluates the guard for each alternative of an or-pattern, in their order. Alternatives with names may
        // bind different parts.
        let binds = pattern_names(pattern).iter().any(|name| !is_constant_pattern(name));
        let patterns = match guard.is_some() || binds {
            true => alternatives(pattern),
            false => vec![pattern.clone()],
        };
        let tests = patterns.iter().map(|pattern| self.pattern(pattern, matched));
        let tests = tests.collect::<Option<Vec<_>>>()?;
        let bindings = &tests.first()?.bindings;
        let names = |test: &PatternTest| {
            let mut names: Vec<_> = test.bindings.iter().map(|one| one.name.to_string()).collect();
            names.sort();
            names
        };
        if tests.iter().any(|test| names(test) != names(&tests[0])) {
            return None;
        }
        let mut probes = Vec::new();
        let (types, guard, tree) = self.scoped(None, |this| {
            let types: Vec<_> =
                bindings.iter().map(|one| this.bind_matched(one, &mut probes)).collect();
            (types, guard.map(|guard| this.expr(guard)), this.expr_as_block(&mut arm.body))
        });
        if !probes.is_empty() {
            let body = &arm.body;
            *arm.body = syn::parse_quote!({ #(#probes)* #body });
        }
        let named: Vec<_> = bindings.iter().map(|one| one.name.clone()).zip(types).collect();

        let parts = |test: &PatternTest| {
            let path = |name: &Ident| {
                let binding = test.bindings.iter().find(|binding| binding.name == *name);
                binding.map(|binding| binding.to.path.clone())
            };
            named.iter().map(|(name, _)| path(name)).collect::<Vec<_>>()
        };
        let of_first = parts(&tests[0]);
        let bind_the_same = tests.iter().all(|test| parts(test) == of_first);
        let arms = tests.into_iter().map(|PatternTest { cond, bindings }| {
            // rustc checks that all alternatives bind the same names, with equal types.
            let lets: Vec<_> = bindings
                .iter()
                .filter_map(|PatternBinding { name, to }| {
                    let (_, ty) = named.iter().find(|(named, _)| named == name)?;
                    let (name, value) = (name.to_string(), to.value());
                    let kind = StmtKind::Let { name, mutable: false, ty: *ty, value };
                    Some(Stmt { kind, span })
                })
                .collect();
            let bound = |value: Block| {
                let mut stmts = lets.clone();
                stmts.extend(value.stmts);
                Block { stmts, value: value.value }
            };
            let guard = guard.clone().map(|guard| {
                let span = guard.span;
                Expr { kind: ExprKind::Block(bound(value_block(guard))), span }
            });
            let cond = match (cond, guard) {
                (Some(cond), Some(guard)) => Some(logic(LogicOp::And, cond, guard)),
                (cond, guard) => cond.or(guard),
            };
            (cond, bound(tree.clone()), span)
        });
        let arms: Vec<_> = arms.collect();
        if !bind_the_same {
            return Some(arms);
        }
        // One body, under either condition.
        let one = arms.into_iter().reduce(|(any, body, span), (cond, ..)| {
            (any.zip(cond).map(|(any, cond)| logic(LogicOp::Or, any, cond)), body, span)
        });
        Some(one.into_iter().collect())
    }

    /// Binds a name to a matched value or a part of it. Only the type of the whole value is known already.
    fn bind_matched(&mut self, binding: &PatternBinding, probes: &mut Vec<syn::Stmt>) -> TypeIx {
        let PatternBinding { name, to } = binding;
        if to.path.is_empty() {
            self.bind(name);
            return to.ty;
        }
        self.bind_probed(name, probes)
    }

    fn equal(&mut self, mut value: syn::Expr, matched: &MatchedValue) -> Option<PatternTest> {
        let cond = matched.compared(BinaryOp::Eq, self.expr(&mut value));
        Some(PatternTest { cond: Some(cond), bindings: Vec::new() })
    }

    fn pattern(&mut self, pattern: &Pat, matched: &MatchedValue) -> Option<PatternTest> {
        let plain = |cond| Some(PatternTest { cond, bindings: Vec::new() });
        match pattern {
            Pat::Wild(_) => plain(None),
            Pat::Paren(paren) => self.pattern(&paren.pat, matched),
            Pat::Lit(lit) => self.equal(syn::Expr::Lit(lit.clone()), matched),
            Pat::Path(path) => self.equal(syn::Expr::Path(path.clone()), matched),
            // rustc reads the name of a local as a new binding.
            Pat::Ident(PatIdent { ident, .. })
                if is_constant_pattern(ident) && self.is_local(ident) =>
            {
                None
            }
            // A constant. If none has the name, rustc reports it in the type-inference copy.
            Pat::Ident(PatIdent {
                by_ref: None, mutability: None, subpat: None, ident, ..
            }) if is_constant_pattern(ident) => self.equal(syn::parse_quote!(#ident), matched),
            Pat::Ident(PatIdent { by_ref: None, mutability: None, subpat, ident, .. }) => {
                let inner = match subpat {
                    Some((_, inner)) => self.pattern(inner, matched)?,
                    None => PatternTest { cond: None, bindings: Vec::new() },
                };
                // A second name for the same value could be a constant, of which the IR knows nothing.
                let binding = PatternBinding { name: ident.clone(), to: matched.clone() };
                inner
                    .bindings
                    .is_empty()
                    .then(|| PatternTest { cond: inner.cond, bindings: vec![binding] })
            }
            // `(..)`, `[..]`
            Pat::Tuple(syn::PatTuple { elems, .. }) | Pat::Slice(syn::PatSlice { elems, .. })
                if matches!(elems.first(), Some(Pat::Rest(_))) && elems.len() == 1 =>
            {
                plain(None)
            }
            Pat::Tuple(syn::PatTuple { elems, .. })
            | Pat::TupleStruct(syn::PatTupleStruct { elems, .. }) => {
                let field = |at: usize| PatternStep::Field(at.to_string());
                self.parts(numbered(elems, field), matched)
            }
            Pat::Slice(syn::PatSlice { elems, .. }) => {
                self.parts(numbered(elems, PatternStep::Element), matched)
            }
            Pat::Struct(of) => {
                let fields = of
                    .fields
                    .iter()
                    .map(|field| (PatternStep::Field(member_name(&field.member)), &*field.pat));
                self.parts(fields, matched)
            }
            Pat::Range(range) => {
                let from = range.start.as_ref().map(|at| self.expr(&mut at.clone()));
                let to = range.end.as_ref().map(|at| self.expr(&mut at.clone()));
                let below = match range.limits {
                    RangeLimits::HalfOpen(_) => BinaryOp::Lt,
                    RangeLimits::Closed(_) => BinaryOp::Le,
                };
                let from = from.map(|from| matched.compared(BinaryOp::Ge, from));
                let to = to.map(|to| matched.compared(below, to));
                plain(match (from, to) {
                    (Some(from), Some(to)) => Some(logic(LogicOp::And, from, to)),
                    (from, to) => from.or(to),
                })
            }
            Pat::Or(or) => {
                let mut any: Option<Expr> = None;
                for case in &or.cases {
                    let test = self.pattern(case, matched)?;
                    if !test.bindings.is_empty() {
                        return None;
                    }
                    let Some(cond) = test.cond else { return plain(None) };
                    any = Some(match any {
                        Some(any) => logic(LogicOp::Or, any, cond),
                        None => cond,
                    });
                }
                plain(any)
            }
            _ => None,
        }
    }

    /// The patterns of parts, which all have to match. `None` if there are none: the path may name a variant of an
    /// enum, as in `Cell::Sand { .. }`, or a struct, and only rustc knows which.
    fn parts<'p>(
        &mut self,
        parts: impl Iterator<Item = (PatternStep, &'p Pat)>,
        matched: &MatchedValue,
    ) -> Option<PatternTest> {
        let mut all = PatternTest { cond: None, bindings: Vec::new() };
        let mut parts = parts.peekable();
        parts.peek()?;
        for (field, pattern) in parts {
            let mut part = matched.clone();
            part.path.push(field);
            let PatternTest { cond, bindings } = self.pattern(pattern, &part)?;
            all.bindings.extend(bindings);
            all.cond = match (all.cond, cond) {
                (Some(before), Some(cond)) => Some(logic(LogicOp::And, before, cond)),
                (before, cond) => before.or(cond),
            };
        }
        Some(all)
    }
}

impl MatchedValue {
    fn value(&self) -> Expr {
        let mut value = Expr { kind: ExprKind::Name(self.name.clone()), span: self.span };
        for part in &self.path {
            let inner = Box::new(value);
            let kind = match part {
                PatternStep::Field(name) => ExprKind::Field { value: inner, name: name.clone() },
                PatternStep::Element(at) => {
                    let kind = ExprKind::Literal {
                        kind: LiteralKind::Int,
                        text: at.to_string(),
                        suffix: Some("usize".to_owned()),
                    };
                    let index = vec![Expr { kind, span: self.span }];
                    ExprKind::Element { value: inner, index }
                }
            };
            value = Expr { kind, span: self.span };
        }
        value
    }

    fn compared(&self, op: BinaryOp, with: Expr) -> Expr {
        let span = with.span;
        let is_true = matches!(&with.kind, ExprKind::Literal { text, .. } if text == "true");
        let is_false = matches!(&with.kind, ExprKind::Literal { text, .. } if text == "false");
        let kind = if is_true {
            return self.value();
        } else if is_false {
            ExprKind::Unary { op: UnaryOp::Not, value: Box::new(self.value()) }
        } else {
            ExprKind::Binary { op, lhs: Box::new(self.value()), rhs: Box::new(with) }
        };
        Expr { kind, span }
    }
}

fn logic(op: LogicOp, lhs: Expr, rhs: Expr) -> Expr {
    let span = lhs.span;
    Expr { kind: ExprKind::Logic { op, lhs: Box::new(lhs), rhs: Box::new(rhs) }, span }
}

/// The patterns of a list with the parts at their positions. Those after `..` are counted from the end, as the number
/// of parts depends on the type.
fn numbered(
    elems: &Punctuated<Pat, syn::Token![,]>,
    part: impl Fn(usize) -> PatternStep,
) -> impl Iterator<Item = (PatternStep, &Pat)> {
    let (count, rest) = (elems.len(), elems.iter().position(|one| matches!(one, Pat::Rest(_))));
    elems.iter().enumerate().filter_map(move |(at, pattern)| match rest {
        Some(rest) if at == rest => None,
        Some(rest) if at > rest => Some((PatternStep::Field(format!("-{}", count - at)), pattern)),
        _ => Some((part(at), pattern)),
    })
}
