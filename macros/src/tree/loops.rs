//! Statements that are expressions in Rust: assignments, loops and jumps.

use proc_macro2::Ident;
use quadrants_frontend::syntax::{
    BinaryOp, Construct, Dim, Expr, ExprKind, For, LiteralKind, Order, StmtKind,
};
use quote::{ToTokens, quote};
use syn::{Pat, PatIdent};

use super::TreeBuilder;
use crate::{
    ast::{
        MAX_RANK, RangeChain, binary_op, gives_value, is_assignment, is_constant, is_ndrange,
        label_name, loop_label, loop_options, name_of, range_chain, unparenthesized,
    },
    combine::{MarkedCombination, combination},
    marks,
    spans::{self, located},
    tokens::{idents, internal, possible_locals},
};

/// The bounds of a dimension of a loop.
struct DimBounds {
    begin: Option<Expr>,
    end: Expr,
    inclusive: bool,
    step: Option<Expr>,
    order: Order,
}

impl DimBounds {
    /// `0..end`
    fn up_to(end: Expr) -> Self {
        Self { begin: None, end, inclusive: false, step: None, order: Order::Up }
    }
}

impl TreeBuilder {
    pub(super) fn expr_stmt(&mut self, expr: &mut syn::Expr) -> StmtKind {
        use syn::Expr as E;
        if let Some(MarkedCombination { local, op, subtracts, value }) = combination(expr) {
            let name = local.to_string();
            return StmtKind::Reduce { name, op, subtracts, value: self.expr(value) };
        }
        match expr {
            E::Paren(paren) => self.expr_stmt(&mut paren.expr),
            E::Group(group) => self.expr_stmt(&mut group.expr),
            E::Assign(assign) => match &*assign.left {
                E::Infer(_) => StmtKind::Expr(self.expr(&mut assign.right)),
                _ => {
                    let value = self.expr(&mut assign.right);
                    if let syn::Expr::Path(path) = unparenthesized(&assign.left)
                        && let Some(probe) = name_of(path).and_then(|of| self.probe_of_values(of))
                    {
                        let (probe, value) =
                            (located(probe, spans::first(&assign.right)), &assign.right);
                        *assign.right = syn::Expr::Verbatim(quote!(#probe.pass(#value)));
                    }
                    self.assign(&mut assign.left, None, value)
                }
            },
            E::Binary(binary) if is_assignment(&binary.op) => {
                let (op, value) = (binary_op(&binary.op), self.expr(&mut binary.right));
                self.assign(&mut binary.left, op, value)
            }
            E::ForLoop(each) => self.for_loop(each),
            E::While(each) => {
                let label = loop_label(each.label.as_ref());
                let cond = self.expr(&mut each.cond);
                StmtKind::While { cond, body: self.block(&mut each.body), label }
            }
            E::Loop(each) if gives_value(each) => StmtKind::Expr(self.expr(expr)),
            E::Loop(each) => {
                let label = loop_label(each.label.as_ref());
                StmtKind::Loop { body: self.block(&mut each.body), label }
            }
            E::Break(leave) => StmtKind::Break {
                label: leave.label.as_ref().map(label_name),
                value: leave.expr.as_mut().map(|value| self.expr(value)),
            },
            E::Continue(next) => StmtKind::Continue { label: next.label.as_ref().map(label_name) },
            E::Return(leave) => {
                StmtKind::Return { value: leave.expr.as_mut().map(|value| self.expr(value)) }
            }
            E::Macro(call) => self.macro_stmt(&mut call.mac),
            other => StmtKind::Expr(self.expr(other)),
        }
    }

    fn assign(&mut self, target: &mut syn::Expr, op: Option<BinaryOp>, value: Expr) -> StmtKind {
        let name = match unparenthesized(target) {
            syn::Expr::Path(path) => name_of(path).filter(|name| !is_constant(name)).cloned(),
            _ => None,
        };
        let target = self.expr(target);
        if let ExprKind::Unsupported(construct) = target.kind {
            return StmtKind::Unsupported(construct);
        }
        match (&target.kind, name) {
            (ExprKind::Const(_), Some(name)) => StmtKind::Unsupported(Construct::Format(format!(
                "there is no local `{name}` here; declare it with `let mut {name} = …`"
            ))),
            (kind, _) if !is_place(kind) => StmtKind::Unsupported(Construct::Place),
            _ => StmtKind::Assign { target, op, value },
        }
    }

    /// `loop { … break value; … }`
    pub(super) fn loop_value(&mut self, expr: &mut syn::Expr) -> ExprKind {
        let syn::Expr::Loop(each) = expr else {
            return ExprKind::Unsupported(Construct::BlockKind);
        };
        let (label, body) = (loop_label(each.label.as_ref()), self.block(&mut each.body));
        ExprKind::Loop { ty: self.pass(expr), body, label }
    }

    fn for_loop(&mut self, each: &mut syn::ExprForLoop) -> StmtKind {
        let label = loop_label(each.label.as_ref());
        let site = marks::take(&mut each.attrs);
        let Some(options) = loop_options(&each.attrs) else {
            return StmtKind::Unsupported(Construct::LoopAttribute);
        };
        each.attrs.clear();
        let bounds = match self.bounds(&mut each.expr, &each.pat) {
            Ok(bounds) => bounds,
            Err(construct) => return StmtKind::Unsupported(construct),
        };
        let variables: Vec<&mut Pat> = match &mut *each.pat {
            Pat::Tuple(tuple) => tuple.elems.iter_mut().collect(),
            single => vec![single],
        };
        if variables.len() != bounds.len() {
            let what = match bounds.len() {
                1 => "a range has one variable: write `for i in …`; over several dimensions, loop over `ndrange(…)`"
                    .to_owned(),
                count => format!("this `ndrange` has {count} dimensions, so the loop has {count} variables: `for (i, j) in …`"),
            };
            return StmtKind::Unsupported(Construct::Format(what));
        }
        self.loop_scopes.push(self.scopes.len());
        self.scopes.push(Vec::new());
        let (mut dims, mut probes) = (Vec::new(), Vec::new());
        for (pattern, bounds) in variables.into_iter().zip(bounds) {
            let DimBounds { begin, end, inclusive, step, order } = bounds;
            let (ty, name, mutable) = match pattern {
                Pat::Ident(PatIdent { by_ref: None, subpat: None, ident, mutability, .. }) => {
                    let ty = self.bind_probed(ident, &mut probes);
                    self.put_site(site.map(|site| site + dims.len()), ty);
                    (ty, ident.to_string(), mutability.is_some())
                }
                Pat::Wild(_) => {
                    // A hidden name, so that the probe receives the value.
                    let ident = internal(&format!("unnamed{}", self.types.len()));
                    let (ty, probe) = self.probe(&ident, None);
                    probes.push(probe);
                    *pattern = syn::parse_quote!(#ident);
                    (ty, "_".to_owned(), false)
                }
                _ => {
                    self.scopes.pop();
                    self.loop_scopes.pop();
                    return StmtKind::Unsupported(Construct::Pattern);
                }
            };
            dims.push(Dim { name, mutable, ty, begin, end, inclusive, step, order });
        }
        let body = self.block(&mut each.body);
        self.scopes.pop();
        self.loop_scopes.pop();
        each.body.stmts.splice(0..0, probes);
        StmtKind::For(For { dims, body, label, options })
    }

    fn bounds(
        &mut self,
        iterated: &mut syn::Expr,
        pattern: &Pat,
    ) -> Result<Vec<DimBounds>, Construct> {
        match iterated {
            syn::Expr::Paren(paren) => self.bounds(&mut paren.expr, pattern),
            syn::Expr::Group(group) => self.bounds(&mut group.expr, pattern),
            syn::Expr::Call(call) if is_ndrange(call) && call.args.len() == 1 => {
                if let syn::Expr::Path(path) = &*call.func {
                    self.spaces.push(path.clone());
                }
                let rank = match pattern {
                    Pat::Tuple(tuple) => tuple.elems.len(),
                    _ => 1,
                };
                if let Some(variable) = self.own_variable(&call.args, pattern) {
                    return Err(Construct::Format(format!(
                        "the ranges of an `ndrange` are evaluated before the loop, so they cannot depend on its \
                         variable `{variable}`; write a loop over the other variable inside a loop over `{variable}`, \
                         or a condition in the body, as `if j < {variable} {{ … }}`"
                    )));
                }
                self.space(&mut call.args[0], rank)
            }
            other => {
                let RangeChain { range, step, order } =
                    range_chain(other).ok_or(Construct::Iterator)?;
                let bounds = self.range(range)?;
                Ok(vec![DimBounds { step: step.map(|step| self.expr(step)), order, ..bounds }])
            }
        }
    }

    /// A variable of the loop that the argument of its `ndrange` names.
    fn own_variable(&self, space: &impl ToTokens, pattern: &Pat) -> Option<Ident> {
        let used = possible_locals(space);
        idents(pattern)
            .into_iter()
            .find(|name| used.contains(name) && !is_constant(name) && !self.is_bound(name))
    }

    fn range(&mut self, range: &mut syn::ExprRange) -> Result<DimBounds, Construct> {
        match (&mut range.start, &mut range.end) {
            (Some(begin), Some(end)) => Ok(DimBounds {
                begin: Some(self.expr(begin)),
                end: self.expr(end),
                inclusive: matches!(range.limits, syn::RangeLimits::Closed(_)),
                step: None,
                order: Order::Up,
            }),
            _ => Err(Construct::Iterator),
        }
    }

    /// The dimensions in the argument of an `ndrange`.
    fn space(&mut self, space: &mut syn::Expr, rank: usize) -> Result<Vec<DimBounds>, Construct> {
        let span = self.spans.of(space);
        let each = |end: &dyn Fn(Expr) -> ExprKind| {
            let axes = (0..rank).map(|axis| Expr { kind: int(axis), span });
            Ok(axes.map(|axis| DimBounds::up_to(Expr { kind: end(axis), span })).collect())
        };
        if rank > MAX_RANK {
            return Err(Construct::Ndrange);
        }
        if let Some(base) = self.shape_of(space) {
            if let Some(count) = self.written_rank(&base).filter(|count| *count != rank) {
                return Err(Construct::Format(format!(
                    "`{base}` has {count} dimensions, and this loop has {rank} variables"
                )));
            }
            return each(&|axis| ExprKind::Extent { base: base.clone(), axis: Box::new(axis) });
        }
        if let Some(base) = self.tensor(space) {
            return each(&|axis| ExprKind::Index { base: base.clone(), index: vec![axis] });
        }
        let elements = match space {
            syn::Expr::Array(array) => &mut array.elems,
            syn::Expr::Tuple(tuple) => &mut tuple.elems,
            _ => return Err(Construct::Ndrange),
        };
        let bounds = elements.iter_mut().map(|element| match element {
            syn::Expr::Range(range) => self.range(range),
            end => Ok(DimBounds::up_to(self.expr(end))),
        });
        bounds.collect()
    }
}

impl TreeBuilder {
    /// The number of dimensions of a tensor of scalars whose type is written.
    fn written_rank(&self, tensor: &str) -> Option<usize> {
        let known = self.scalar_tensors.iter().find(|(of, _)| of == tensor);
        known.filter(|_| self.is_reference(tensor)).map(|(_, rank)| *rank)
    }
}

fn int(value: usize) -> ExprKind {
    ExprKind::Literal { kind: LiteralKind::Int, text: value.to_string(), suffix: None }
}

/// Whether an expression can be assigned.
fn is_place(kind: &ExprKind) -> bool {
    matches!(
        kind,
        ExprKind::Name(_)
            | ExprKind::Index { .. }
            | ExprKind::Field { .. }
            | ExprKind::Element { .. }
    )
}
