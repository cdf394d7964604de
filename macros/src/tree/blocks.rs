//! Blocks of threads: `block_for`, its phases, the arrays that the threads of a block share, and what they
//! exchange.

use proc_macro2::Ident;
use quadrants_frontend::syntax::{
    self, BlockFor, Construct, Each, ExprKind, LetExchange, LiteralKind, StmtKind, exchange_named,
};
use syn::{Expr, ExprCall, ExprClosure, ExprMethodCall, Pat, PatIdent};

use super::{Tree, expr::name_of};
use crate::body::unparenthesized;

impl Tree {
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
        let rank = rank(blocks);
        let blocks = self.counts(blocks);
        let threads = self.expr(threads);
        self.blocks.extend(parameter(closure).flatten().map(|name| (name.to_string(), rank)));
        match self.with_name(closure) {
            Some((name, body)) => {
                ExprKind::BlockFor(Box::new(BlockFor { blocks, threads, name, body }))
            }
            None => ExprKind::Unsupported(Construct::BlockFor),
        }
    }

    /// How many blocks there are, in each dimension of their grid.
    fn counts(&mut self, blocks: &mut Expr) -> Vec<syntax::Expr> {
        match blocks {
            Expr::Array(counts) => counts.elems.iter_mut().map(|count| self.expr(count)).collect(),
            Expr::Paren(inside) => self.counts(&mut inside.expr),
            Expr::Group(inside) => self.counts(&mut inside.expr),
            count => vec![self.expr(count)],
        }
    }

    /// The block's number where its grid has several dimensions: an array of its number in each.
    pub(super) fn index_in_grid(&mut self, call: &ExprMethodCall) -> Option<ExprKind> {
        if call.method != "index" || !call.args.is_empty() {
            return None;
        }
        let block = self.tensor(&call.receiver)?;
        // The last of the name is the one that it means.
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
        let ty = self.written(&syn::parse_quote!([::core::primitive::usize; #rank]));
        Some(ExprKind::Aggregate { ty, parts: (0..rank).map(axis).collect() })
    }

    /// The phase that a method call is, where it is one.
    pub(super) fn phase(&mut self, call: &mut ExprMethodCall) -> Option<ExprKind> {
        phase_of(call)?;
        let block = self.tensor(&call.receiver)?;
        let Some(Expr::Closure(closure)) = call.args.first_mut() else { return None };
        Some(match self.with_name(closure) {
            Some((name, body)) => ExprKind::Each(Box::new(Each { block, name, body })),
            None => ExprKind::Unsupported(Construct::Each),
        })
    }

    /// The statement that `let name = value;` is, where it makes a shared array.
    pub(super) fn shared(&mut self, name: &Ident, value: &mut Expr) -> Option<StmtKind> {
        let Expr::MethodCall(call) = value else { return None };
        let types = call.turbofish.as_ref().map(|written| &written.args)?;
        let (Some(syn::GenericArgument::Type(ty)), 1) = (types.first(), types.len()) else {
            return None;
        };
        if !is_shared(&call.method) || call.args.len() != 1 {
            return None;
        }
        let block = self.tensor(&call.receiver)?;
        let ty = self.written(ty);
        let dims = match &mut call.args[0] {
            Expr::Array(array) if call.method == "shared_2d" => {
                array.elems.iter_mut().map(|len| self.expr(len)).collect()
            }
            len if call.method == "shared" => vec![self.expr(len)],
            _ => return None,
        };
        Some(StmtKind::LetShared { name: name.to_string(), block, ty, dims })
    }

    /// The statement that `let name = value;` is, where it is a phase with an exchange.
    pub(super) fn exchange(
        &mut self,
        name: &Ident,
        value: &mut Expr,
        probes: &mut Vec<syn::Stmt>,
    ) -> Option<StmtKind> {
        let Expr::MethodCall(call) = value else { return None };
        let thread = parameter(exchange_of(call)?)?;
        let (op, shuffle) = exchange_named(&call.method.to_string())?;
        let block = self.tensor(&call.receiver)?;
        let mut args = call.args.iter_mut();
        let (Some(Expr::Closure(closure)), by) = (args.next(), args.next()) else { return None };
        let by = shuffle.zip(by.map(|by| self.expr(by)));
        self.scopes.push(Vec::new());
        if let Some(thread) = &thread {
            self.bind(thread);
        }
        let value = self.expr(&mut closure.body);
        self.scopes.pop();
        // Of a value per thread, the probe sees one.
        let element = (!op.is_uniform()).then(|| quote::quote!([0]));
        let (ty, probe) = self.probe(name, element);
        probes.push(probe);
        let name = name.to_string();
        let thread = thread.map_or_else(|| "_".to_owned(), |thread| thread.to_string());
        Some(StmtKind::LetExchange(Box::new(LetExchange {
            name,
            ty,
            block,
            op,
            by,
            thread,
            value,
        })))
    }

    /// The only parameter of a closure, a name, and its body.
    fn with_name(
        &mut self,
        closure: &mut ExprClosure,
    ) -> Option<(String, quadrants_frontend::syntax::Block)> {
        let name = parameter(closure)?;
        self.scopes.push(Vec::new());
        if let Some(name) = &name {
            self.bind(name);
        }
        let body = self.closure_body(closure);
        self.scopes.pop();
        Some((name.map_or_else(|| "_".to_owned(), |name| name.to_string()), body))
    }
}

/// How many dimensions a grid of blocks has, where it is counted by an array.
pub(crate) fn rank(blocks: &Expr) -> Option<usize> {
    match blocks {
        Expr::Array(counts) => Some(counts.elems.len()),
        Expr::Paren(inside) => rank(&inside.expr),
        Expr::Group(inside) => rank(&inside.expr),
        _ => None,
    }
}

/// The name of a closure's only parameter, or none for `_`; nothing where it has others.
fn parameter(closure: &ExprClosure) -> Option<Option<Ident>> {
    let inputs = &closure.inputs;
    let pattern = match inputs.first()? {
        Pat::Type(typed) => &*typed.pat,
        other => other,
    };
    if inputs.len() != 1 {
        return None;
    }
    match pattern {
        Pat::Ident(PatIdent { by_ref: None, mutability: None, subpat: None, ident, .. }) => {
            Some(Some(ident.clone()))
        }
        Pat::Wild(_) => Some(None),
        _ => None,
    }
}

/// Whether a method makes an array that the threads of a block share.
pub(crate) fn is_shared(method: &Ident) -> bool {
    method == "shared" || method == "shared_2d"
}

/// Whether a call is by its shape that of `block_for`, whatever it is called here.
pub(crate) fn is_grid(call: &ExprCall) -> bool {
    call.args.len() == 3 && matches!(call.args.last(), Some(Expr::Closure(_)))
}

/// The closure of a phase, where a method call is by its shape one.
pub(crate) fn phase_of(call: &ExprMethodCall) -> Option<&ExprClosure> {
    match call.args.first() {
        Some(Expr::Closure(closure)) if call.method == "each" && call.args.len() == 1 => {
            named(&call.receiver).then_some(closure)
        }
        _ => None,
    }
}

/// The closure of a phase with an exchange, where a method call is by its shape one.
pub(crate) fn exchange_of(call: &ExprMethodCall) -> Option<&ExprClosure> {
    let (_, shuffle) = exchange_named(&call.method.to_string())?;
    match call.args.first() {
        Some(Expr::Closure(closure)) if call.args.len() == 1 + usize::from(shuffle.is_some()) => {
            named(&call.receiver).then_some(closure)
        }
        _ => None,
    }
}

fn named(receiver: &Expr) -> bool {
    matches!(receiver, Expr::Path(path) if name_of(path).is_some())
}
