//! Statements that are expressions to Rust: assignments, loops and jumps.

use proc_macro2::{Ident, Span};
use quadrants_frontend::syntax::{
    Construct, Dim, Expr, ExprKind, For, LiteralKind, LoopOptions, Order, StmtKind,
};
use syn::{Pat, PatIdent, visit::Visit};

use super::{Tree, expr};
use crate::sites;

/// The bounds of a dimension before its variable is known.
struct Bounds {
    begin: Option<Expr>,
    end: Expr,
    inclusive: bool,
    step: Option<Expr>,
    order: Order,
}

/// A range with its `rev` and `step_by`.
pub(crate) struct Chain<'a> {
    pub(crate) range: &'a mut syn::ExprRange,
    pub(crate) step: Option<&'a mut syn::Expr>,
    pub(crate) order: Order,
}

impl Tree {
    pub(super) fn expr_stmt(&mut self, expr: &mut syn::Expr) -> StmtKind {
        use syn::Expr as E;
        match expr {
            E::Paren(paren) => self.expr_stmt(&mut paren.expr),
            E::Group(group) => self.expr_stmt(&mut group.expr),
            E::Assign(assign) => match &*assign.left {
                E::Infer(_) => StmtKind::Expr(self.expr(&mut assign.right)),
                _ => {
                    let value = self.expr(&mut assign.right);
                    self.assign(&mut assign.left, None, value)
                }
            },
            E::Binary(binary) => match expr::compound(&binary.op) {
                Some(op) => {
                    let value = self.expr(&mut binary.right);
                    self.assign(&mut binary.left, Some(op), value)
                }
                None => StmtKind::Expr(self.expr(expr)),
            },
            E::ForLoop(each) => self.for_loop(each),
            E::While(each) => {
                let label = label_of(each.label.as_ref());
                let cond = self.expr(&mut each.cond);
                StmtKind::While { cond, body: self.block(&mut each.body), label }
            }
            E::Loop(each) if gives_value(each) => StmtKind::Expr(self.expr(expr)),
            E::Loop(each) => {
                let label = label_of(each.label.as_ref());
                StmtKind::Loop { body: self.block(&mut each.body), label }
            }
            E::Break(leave) => StmtKind::Break {
                label: leave.label.as_ref().map(name_of_label),
                value: leave.expr.as_mut().map(|value| self.expr(value)),
            },
            E::Continue(next) => {
                StmtKind::Continue { label: next.label.as_ref().map(name_of_label) }
            }
            E::Return(leave) => {
                StmtKind::Return { value: leave.expr.as_mut().map(|value| self.expr(value)) }
            }
            E::Macro(call) => self.macro_stmt(&mut call.mac),
            other => StmtKind::Expr(self.expr(other)),
        }
    }

    fn assign(
        &mut self,
        target: &mut syn::Expr,
        op: Option<quadrants_frontend::syntax::BinaryOp>,
        value: Expr,
    ) -> StmtKind {
        let target = self.expr(target);
        match target.kind {
            ExprKind::Name(_)
            | ExprKind::Index { .. }
            | ExprKind::Field { .. }
            | ExprKind::Element { .. } => StmtKind::Assign { target, op, value },
            _ => StmtKind::Unsupported(Construct::Place),
        }
    }

    /// `loop { … break value; … }`
    pub(super) fn loop_value(&mut self, expr: &mut syn::Expr) -> ExprKind {
        let syn::Expr::Loop(each) = expr else {
            return ExprKind::Unsupported(Construct::BlockKind);
        };
        let (label, body) = (label_of(each.label.as_ref()), self.block(&mut each.body));
        ExprKind::Loop { ty: self.passed(expr), body, label }
    }

    fn for_loop(&mut self, each: &mut syn::ExprForLoop) -> StmtKind {
        let label = label_of(each.label.as_ref());
        let site = sites::take(&mut each.attrs);
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
            return StmtKind::Unsupported(Construct::Pattern);
        }
        self.scopes.push(Vec::new());
        let mut dims = Vec::new();
        let mut probes = Vec::new();
        for (pattern, bounds) in variables.into_iter().zip(bounds) {
            let Bounds { begin, end, inclusive, step, order } = bounds;
            let (name, mutable) = match pattern {
                Pat::Ident(PatIdent { by_ref: None, subpat: None, ident, mutability, .. }) => {
                    self.bind(ident);
                    let (ty, probe) = self.probe(ident, None);
                    self.typed_at(site.map(|site| site + dims.len()), ty);
                    probes.push((ty, probe));
                    (ident.to_string(), mutability.is_some())
                }
                Pat::Wild(_) => {
                    // A name that the author's code cannot reach, for the probe to see.
                    let ident =
                        Ident::new(&format!("unnamed{}", self.types.len()), Span::mixed_site());
                    let (ty, probe) = self.probe(&ident, None);
                    probes.push((ty, probe));
                    *pattern = syn::parse_quote!(#ident);
                    ("_".to_owned(), false)
                }
                _ => {
                    self.scopes.pop();
                    return StmtKind::Unsupported(Construct::Pattern);
                }
            };
            let ty = probes.last().map_or(0, |(ty, _)| *ty);
            dims.push(Dim { name, mutable, ty, begin, end, inclusive, step, order });
        }
        let body = self.block(&mut each.body);
        self.scopes.pop();
        each.body.stmts.splice(0..0, probes.into_iter().map(|(_, probe)| probe));
        StmtKind::For(For { dims, body, label, options })
    }

    fn bounds(
        &mut self,
        iterated: &mut syn::Expr,
        pattern: &Pat,
    ) -> Result<Vec<Bounds>, Construct> {
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
                self.space(&mut call.args[0], rank)
            }
            other => {
                let Chain { range, step, order } = chain(other).ok_or(Construct::Iterator)?;
                let bounds = self.range(range)?;
                Ok(vec![Bounds { step: step.map(|step| self.expr(step)), order, ..bounds }])
            }
        }
    }

    fn range(&mut self, range: &mut syn::ExprRange) -> Result<Bounds, Construct> {
        match (&mut range.start, &mut range.end) {
            (Some(begin), Some(end)) => Ok(Bounds {
                begin: Some(self.expr(begin)),
                end: self.expr(end),
                inclusive: matches!(range.limits, syn::RangeLimits::Closed(_)),
                step: None,
                order: Order::Up,
            }),
            _ => Err(Construct::Iterator),
        }
    }

    /// The dimensions of an `ndrange`'s argument.
    fn space(&mut self, space: &mut syn::Expr, rank: usize) -> Result<Vec<Bounds>, Construct> {
        let span = self.spans.of(space);
        let each = |kind: &dyn Fn(Expr) -> ExprKind| {
            (0..rank)
                .map(|axis| {
                    let axis = Expr { kind: int(axis), span };
                    let end = Expr { kind: kind(axis), span };
                    Bounds { begin: None, end, inclusive: false, step: None, order: Order::Up }
                })
                .collect()
        };
        if rank > 3 {
            return Err(Construct::Ndrange);
        }
        if let Some(base) = self.shape_of(space) {
            return Ok(each(&|axis| ExprKind::Extent { base: base.clone(), axis: Box::new(axis) }));
        }
        if let Some(base) = self.tensor(space) {
            return Ok(each(&|axis| ExprKind::Index { base: base.clone(), index: vec![axis] }));
        }
        let elements = match space {
            syn::Expr::Array(array) => &mut array.elems,
            syn::Expr::Tuple(tuple) => &mut tuple.elems,
            _ => return Err(Construct::Ndrange),
        };
        elements
            .iter_mut()
            .map(|element| match element {
                syn::Expr::Range(range) => self.range(range),
                end => {
                    let end = self.expr(end);
                    let order = Order::Up;
                    Ok(Bounds { begin: None, end, inclusive: false, step: None, order })
                }
            })
            .collect()
    }
}

/// Whether a `loop` has a value: one of its `break`s gives it.
pub(super) fn gives_value(of: &syn::ExprLoop) -> bool {
    struct Breaks {
        label: Option<String>,
        /// How many loops are around the walk, without the one in question.
        inner: u32,
        found: bool,
    }
    impl Visit<'_> for Breaks {
        fn visit_expr(&mut self, expr: &syn::Expr) {
            if let syn::Expr::Break(syn::ExprBreak { label, expr: Some(_), .. }) = expr {
                self.found |= match label {
                    Some(label) => Some(name_of_label(label)) == self.label,
                    None => self.inner == 0,
                };
            }
            let is_loop =
                matches!(expr, syn::Expr::ForLoop(_) | syn::Expr::While(_) | syn::Expr::Loop(_));
            self.inner += u32::from(is_loop);
            syn::visit::visit_expr(self, expr);
            self.inner -= u32::from(is_loop);
        }
    }
    let mut breaks = Breaks { label: label_of(of.label.as_ref()), inner: 0, found: false };
    breaks.visit_block(&of.body);
    breaks.found
}

fn label_of(label: Option<&syn::Label>) -> Option<String> {
    label.map(|label| name_of_label(&label.name))
}

fn name_of_label(label: &syn::Lifetime) -> String {
    label.ident.to_string()
}

/// What a loop's attributes ask for; none where one of them is unknown. They are written with this
/// crate's path before them, or without.
pub(crate) fn loop_options(attributes: &[syn::Attribute]) -> Option<LoopOptions> {
    let mut options = LoopOptions::default();
    for attribute in attributes.iter().filter(|attribute| !sites::is_number(attribute)) {
        let name = &attribute.path().segments.last()?.ident;
        match &attribute.meta {
            syn::Meta::Path(_) if name == "serial" => options.serial = true,
            syn::Meta::Path(_) if name == "unroll" => options.unroll = Some(0),
            syn::Meta::List(list) if name == "unroll" => {
                let times: syn::LitInt = list.parse_args().ok()?;
                options.unroll = Some(times.base10_parse().ok().filter(|times| *times > 0)?);
            }
            syn::Meta::List(list) if name == "block_size" => {
                let size: syn::LitInt = list.parse_args().ok()?;
                options.block_size = Some(size.base10_parse().ok()?);
            }
            _ => return None,
        }
    }
    Some(options)
}

/// The range that an expression runs over, with one `rev` and one `step_by` at most.
pub(crate) fn chain(expr: &mut syn::Expr) -> Option<Chain<'_>> {
    match expr {
        syn::Expr::Paren(paren) => chain(&mut paren.expr),
        syn::Expr::Group(group) => chain(&mut group.expr),
        syn::Expr::Range(range) => Some(Chain { range, step: None, order: Order::Up }),
        syn::Expr::MethodCall(syn::ExprMethodCall { receiver, method, args, .. }) => {
            let inner = chain(receiver)?;
            if method == "rev" && args.is_empty() && inner.order == Order::Up {
                let order = if inner.step.is_some() { Order::Back } else { Order::Down };
                Some(Chain { order, ..inner })
            } else if method == "step_by" && args.len() == 1 && inner.step.is_none() {
                Some(Chain { step: args.first_mut(), ..inner })
            } else {
                None
            }
        }
        _ => None,
    }
}

/// Whether a call is one of `ndrange`.
pub(crate) fn is_ndrange(call: &syn::ExprCall) -> bool {
    match &*call.func {
        syn::Expr::Path(path) => path.path.segments.last().is_some_and(|s| s.ident == "ndrange"),
        _ => false,
    }
}

fn int(value: usize) -> ExprKind {
    ExprKind::Literal { kind: LiteralKind::Int, text: value.to_string(), suffix: None }
}
