//! Thread blocks: `block_for`, its phases, shared arrays and collectives.

use proc_macro2::Ident;
use quadrants_frontend::syntax::{
    self, BlockFor, Construct, ExprKind, LetCollective, LiteralKind, Phase, StmtKind,
    collective_named,
};
use syn::{Expr, ExprCall, ExprClosure, ExprMethodCall};

use super::TreeBuilder;
use crate::ast::{
    collective_of, grid_rank, immutable_name, is_shared_array, phase_of, unparenthesized,
};

impl TreeBuilder {
    pub(super) fn block_for(&mut self, call: &mut ExprCall) -> ExprKind {
        let mut args = call.args.iter_mut();
        let (Some(blocks), Some(threads), Some(Expr::Closure(closure)), None) =
            (args.next(), args.next(), args.next(), args.next())
        else {
            return ExprKind::Unsupported(Construct::BlockFor);
        };
        if matches!(unparenthesized(blocks), Expr::Repeat(_)) {
            return ExprKind::Unsupported(Construct::BlockFor);
        }
        let rank = grid_rank(blocks);
        let blocks = self.grid_size(blocks);
        let threads = self.expr(&mut self.with_constants(threads));
        self.blocks.extend(parameter(closure).flatten().map(|name| (name.to_string(), rank)));
        match self.named_closure(closure) {
            Some((name, body)) => {
                ExprKind::BlockFor(Box::new(BlockFor { blocks, threads, name, body }))
            }
            None => ExprKind::Unsupported(Construct::BlockFor),
        }
    }

    /// The number of blocks in each dimension of their grid.
    fn grid_size(&mut self, blocks: &mut Expr) -> Vec<syntax::Expr> {
        match blocks {
            Expr::Array(counts) => counts.elems.iter_mut().map(|count| self.expr(count)).collect(),
            Expr::Paren(inside) => self.grid_size(&mut inside.expr),
            Expr::Group(inside) => self.grid_size(&mut inside.expr),
            count => vec![self.expr(count)],
        }
    }

    /// `block.index()` in a grid of several dimensions: an array with the index in each.
    pub(super) fn index_in_grid(&mut self, call: &ExprMethodCall) -> Option<ExprKind> {
        if call.method != "index" || !call.args.is_empty() {
            return None;
        }
        let block = self.tensor(&call.receiver)?;
        // A later name hides an earlier one.
        let (_, rank) = *self.blocks.iter().rev().find(|(name, _)| *name == block)?;
        let rank = rank?;
        let span = self.spans.of(call);
        let axis = |axis: usize| {
            let receiver = Box::new(syntax::Expr { kind: ExprKind::Name(block.clone()), span });
            let kind = LiteralKind::Int;
            let axis = ExprKind::Literal { kind, text: axis.to_string(), suffix: None };
            let args = vec![syntax::Expr { kind: axis, span }];
            let kind = ExprKind::Method { receiver, name: "index".to_owned(), args, callee: None };
            syntax::Expr { kind, span }
        };
        let ty = self.written_type(&syn::parse_quote!([::core::primitive::usize; #rank]));
        Some(ExprKind::Aggregate { ty, parts: (0..rank).map(axis).collect() })
    }

    /// A phase; `None` for other method calls.
    pub(super) fn phase(&mut self, call: &mut ExprMethodCall) -> Option<ExprKind> {
        phase_of(call)?;
        let block = self.tensor(&call.receiver)?;
        let Some(Expr::Closure(closure)) = call.args.first_mut() else { return None };
        Some(match self.named_closure(closure) {
            Some((name, body)) => ExprKind::Phase(Box::new(Phase { block, name, body })),
            None => ExprKind::Unsupported(Construct::Phase),
        })
    }

    /// The statement `let name = value;` if it makes a shared array.
    pub(super) fn shared_array(&mut self, name: &Ident, value: &mut Expr) -> Option<StmtKind> {
        let Expr::MethodCall(call) = value else { return None };
        let types = call.turbofish.as_ref().map(|written| &written.args)?;
        let (Some(syn::GenericArgument::Type(ty)), 1) = (types.first(), types.len()) else {
            return None;
        };
        if !is_shared_array(&call.method) || call.args.len() != 1 {
            return None;
        }
        let block = self.tensor(&call.receiver)?;
        let ty = self.written_type(ty);
        let dims = match &mut call.args[0] {
            Expr::Array(array) if call.method == "shared_2d" => {
                array.elems.iter_mut().map(|len| self.expr(len)).collect()
            }
            len if call.method == "shared" => vec![self.expr(len)],
            _ => return None,
        };
        Some(StmtKind::LetShared { name: name.to_string(), block, ty, dims })
    }

    /// The statement `let name = value;` if it is a phase with a collective.
    pub(super) fn collective(
        &mut self,
        name: &Ident,
        value: &mut Expr,
        probes: &mut Vec<syn::Stmt>,
    ) -> Option<StmtKind> {
        let Expr::MethodCall(call) = value else { return None };
        let thread = parameter(collective_of(call)?)?;
        let (op, shuffle) = collective_named(&call.method.to_string())?;
        let block = self.tensor(&call.receiver)?;
        let mut args = call.args.iter_mut();
        let (Some(Expr::Closure(closure)), by) = (args.next(), args.next()) else { return None };
        let by = shuffle.zip(by.map(|by| self.expr(by)));
        let value = self.scoped(thread.as_ref(), |this| this.expr(&mut closure.body));
        // If each thread gets a value, the probe receives one of them.
        let element = (!op.is_uniform()).then(|| quote::quote!([0]));
        let (ty, probe) = self.probe(name, element);
        probes.push(probe);
        let (name, thread) = (name.to_string(), name_or_wildcard(thread));
        let collective = LetCollective { name, ty, block, op, by, thread, value };
        Some(StmtKind::LetCollective(Box::new(collective)))
    }

    /// The name of a closure's only parameter, and its body.
    fn named_closure(&mut self, closure: &mut ExprClosure) -> Option<(String, syntax::Block)> {
        let name = parameter(closure)?;
        let body = self.scoped(name.as_ref(), |this| this.closure_body(closure));
        Some((name_or_wildcard(name), body))
    }
}

fn name_or_wildcard(name: Option<Ident>) -> String {
    name.map_or_else(|| "_".to_owned(), |name| name.to_string())
}

/// The name of a closure's only parameter, `Some(None)` for `_`; `None` if it has other parameters.
fn parameter(closure: &ExprClosure) -> Option<Option<Ident>> {
    match closure.inputs.len() {
        1 => immutable_name(&closure.inputs[0]),
        _ => None,
    }
}
