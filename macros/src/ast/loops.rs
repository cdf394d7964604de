//! Loops: their ranges, attributes, labels and values.

use quadrants_frontend::syntax::{LoopOptions, Order};
use syn::{
    Attribute, Expr, ExprForLoop, ExprLoop, ExprRange, Label, Lifetime, LitInt, Meta,
    visit::{self, Visit},
};

use super::{is_block_for, unparenthesized};
use crate::marks;

/// The most dimensions of a loop.
pub(crate) const MAX_RANK: usize = 6;

/// The attributes that set lint levels.
pub(crate) const LINT_LEVELS: [&str; 5] = ["allow", "expect", "warn", "deny", "forbid"];

/// The attribute of the serial part of a parallel loop over many dimensions. It is reserved.
pub(crate) const SPACE: &str = "__space";

/// A range with its `rev` and `step_by`.
pub(crate) struct RangeChain<'a> {
    pub(crate) range: &'a mut ExprRange,
    pub(crate) step: Option<&'a mut Expr>,
    pub(crate) order: Order,
}

/// The range that an expression iterates over, with at most one `rev` and one `step_by`.
pub(crate) fn range_chain(expr: &mut Expr) -> Option<RangeChain<'_>> {
    match expr {
        Expr::Paren(paren) => range_chain(&mut paren.expr),
        Expr::Group(group) => range_chain(&mut group.expr),
        Expr::Range(range) => Some(RangeChain { range, step: None, order: Order::Up }),
        Expr::MethodCall(syn::ExprMethodCall { receiver, method, args, .. }) => {
            let inner = range_chain(receiver)?;
            if method == "rev" && args.is_empty() && inner.order == Order::Up {
                let order = if inner.step.is_some() { Order::Back } else { Order::Down };
                Some(RangeChain { order, ..inner })
            } else if method == "step_by" && args.len() == 1 && inner.step.is_none() {
                Some(RangeChain { step: args.first_mut(), ..inner })
            } else {
                None
            }
        }
        _ => None,
    }
}

/// The options in a loop's attributes, whose paths may name this crate; `None` if one of them is unknown.
pub(crate) fn loop_options(attributes: &[Attribute]) -> Option<LoopOptions> {
    let mut options = LoopOptions::default();
    for attribute in attributes.iter().filter(|attribute| !marks::is_number(attribute)) {
        let name = &attribute.path().segments.last()?.ident;
        match &attribute.meta {
            // The emitted loop is another one, to which lints do not apply.
            Meta::List(_) if LINT_LEVELS.iter().any(|level| name == level) => {}
            Meta::Path(_) if name == "serial" => options.serial = true,
            Meta::Path(_) if name == SPACE => options.is_space = true,
            Meta::Path(_) if name == "unroll" => options.unroll = Some(0),
            Meta::List(list) if name == "unroll" => {
                let times: LitInt = list.parse_args().ok()?;
                options.unroll = Some(times.base10_parse().ok().filter(|times| *times > 0)?);
            }
            Meta::List(list) if name == "block_size" => {
                let size: LitInt = list.parse_args().ok()?;
                options.block_size = Some(size.base10_parse().ok()?);
            }
            _ => return None,
        }
    }
    Some(options)
}

pub(crate) fn is_loop(expr: &Expr) -> bool {
    matches!(expr, Expr::ForLoop(_) | Expr::While(_) | Expr::Loop(_))
}

pub(crate) fn is_serial(each: &ExprForLoop) -> bool {
    loop_options(&each.attrs).is_some_and(|options| options.serial)
}

/// Whether a `loop` has a value, which one of its `break`s gives.
pub(crate) fn gives_value(of: &ExprLoop) -> bool {
    struct Breaks {
        label: Option<String>,
        /// How many inner loops are around the walk.
        depth: u32,
        found: bool,
    }
    impl Visit<'_> for Breaks {
        fn visit_expr(&mut self, expr: &Expr) {
            if let Expr::Break(syn::ExprBreak { label, expr: Some(_), .. }) = expr {
                self.found |= match label {
                    Some(label) => Some(label_name(label)) == self.label,
                    None => self.depth == 0,
                };
            }
            let inner = u32::from(is_loop(expr));
            self.depth += inner;
            visit::visit_expr(self, expr);
            self.depth -= inner;
        }
    }
    let mut breaks = Breaks { label: loop_label(of.label.as_ref()), depth: 0, found: false };
    breaks.visit_block(&of.body);
    breaks.found
}

/// The label of a loop or block.
pub(crate) fn own_label(expr: &Expr) -> Option<&Lifetime> {
    let label = match expr {
        Expr::Block(of) => of.label.as_ref(),
        Expr::ForLoop(of) => of.label.as_ref(),
        Expr::While(of) => of.label.as_ref(),
        Expr::Loop(of) => of.label.as_ref(),
        _ => None,
    };
    label.map(|label| &label.name)
}

pub(crate) fn loop_label(label: Option<&Label>) -> Option<String> {
    label.map(|label| label_name(&label.name))
}

pub(crate) fn label_name(label: &Lifetime) -> String {
    label.ident.to_string()
}

/// Whether an expression that is a statement at the top level is a parallel loop or a grid of thread blocks, or has
/// such in its branches or braces.
pub(crate) fn has_parallel(expr: &Expr) -> bool {
    match unparenthesized(expr) {
        Expr::ForLoop(each) => !is_serial(each),
        Expr::Call(call) => is_block_for(call),
        Expr::If(branch) => {
            any_parallel(&branch.then_branch.stmts)
                || branch.else_branch.as_ref().is_some_and(|(_, other)| has_parallel(other))
        }
        Expr::Match(each) => each.arms.iter().any(|arm| has_parallel(&arm.body)),
        Expr::Block(syn::ExprBlock { label: None, block, .. })
        | Expr::Unsafe(syn::ExprUnsafe { block, .. }) => any_parallel(&block.stmts),
        _ => false,
    }
}

/// Whether an expression that is a statement at the top level has parallel loops in its branches or braces.
pub(crate) fn has_parallel_branch(expr: &Expr) -> bool {
    let branches = matches!(
        unparenthesized(expr),
        Expr::If(_) | Expr::Match(_) | Expr::Block(_) | Expr::Unsafe(_)
    );
    branches && has_parallel(expr)
}

fn any_parallel(stmts: &[syn::Stmt]) -> bool {
    stmts.iter().any(|stmt| matches!(stmt, syn::Stmt::Expr(expr, _) if has_parallel(expr)))
}
