//! A walk over a syntax tree, for the questions that need one answer about a whole piece of code.

use std::collections::HashSet;

use crate::syntax::{Block, Expr, ExprKind, Pattern, RegionArgument, Stmt, StmtKind};

/// What the walk stands on.
#[derive(Clone, Copy)]
pub(crate) enum Node<'a> {
    Expr(&'a Expr),
    Stmt(&'a Stmt),
}

/// Whether `found` holds for `expr` or anything in it.
pub(crate) fn any_in_expr<'a>(expr: &'a Expr, found: &mut dyn FnMut(Node<'a>) -> bool) -> bool {
    if found(Node::Expr(expr)) {
        return true;
    }
    match &expr.kind {
        ExprKind::Literal { .. }
        | ExprKind::Name(_)
        | ExprKind::Const(_)
        | ExprKind::Len { .. }
        | ExprKind::Unsupported(_)
        | ExprKind::StreamParallel(RegionArgument::Other) => false,
        ExprKind::Unary { value, .. }
        | ExprKind::Cast { value, .. }
        | ExprKind::Repeat { value, .. }
        | ExprKind::Field { value, .. }
        | ExprKind::Extent { axis: value, .. } => any_in_expr(value, found),
        ExprKind::Binary { lhs, rhs, .. } | ExprKind::Logic { lhs, rhs, .. } => {
            any_in_expr(lhs, found) || any_in_expr(rhs, found)
        }
        ExprKind::If { cond, then, otherwise } => {
            any_in_expr(cond, found)
                || any_in_block(then, found)
                || otherwise.as_ref().is_some_and(|block| any_in_block(block, found))
        }
        ExprKind::BlockFor(each) => {
            each.blocks.iter().any(|count| any_in_expr(count, found))
                || any_in_expr(&each.threads, found)
                || any_in_block(&each.body, found)
        }
        ExprKind::Each(each) => any_in_block(&each.body, found),
        ExprKind::Block(body)
        | ExprKind::Unsafe(body)
        | ExprKind::Loop { body, .. }
        | ExprKind::StreamParallel(RegionArgument::Closure { body, .. }) => {
            any_in_block(body, found)
        }
        ExprKind::Index { index: list, .. }
        | ExprKind::Call { args: list, .. }
        | ExprKind::Aggregate { parts: list, .. }
        | ExprKind::Associated { args: list, .. } => list.iter().any(|e| any_in_expr(e, found)),
        ExprKind::Struct { fields, .. } => fields.iter().any(|(_, e)| any_in_expr(e, found)),
        ExprKind::Method { receiver: one, args: list, .. }
        | ExprKind::Element { value: one, index: list, .. } => {
            any_in_expr(one, found) || list.iter().any(|e| any_in_expr(e, found))
        }
        ExprKind::Atomic { place, value, .. } => {
            any_in_expr(place, found) || any_in_expr(value, found)
        }
    }
}

/// Whether `found` holds for anything in `block`.
pub(crate) fn any_in_block<'a>(block: &'a Block, found: &mut dyn FnMut(Node<'a>) -> bool) -> bool {
    block.stmts.iter().any(|stmt| any_in_stmt(stmt, found))
        || block.value.as_ref().is_some_and(|value| any_in_expr(value, found))
}

/// Whether `found` holds for `stmt` or anything in it.
pub(crate) fn any_in_stmt<'a>(stmt: &'a Stmt, found: &mut dyn FnMut(Node<'a>) -> bool) -> bool {
    if found(Node::Stmt(stmt)) {
        return true;
    }
    match &stmt.kind {
        StmtKind::LetShape { .. }
        | StmtKind::LetExtents { .. }
        | StmtKind::Continue { .. }
        | StmtKind::Unsupported(_) => false,
        StmtKind::Let { value, .. }
        | StmtKind::LetPattern { value, .. }
        | StmtKind::Expr(value)
        | StmtKind::Assert { cond: value, .. } => any_in_expr(value, found),
        StmtKind::LetShared { dims, .. } => dims.iter().any(|len| any_in_expr(len, found)),
        StmtKind::LetExchange(made) => {
            let by = made.by.as_ref().is_some_and(|(_, by)| any_in_expr(by, found));
            by || any_in_expr(&made.value, found)
        }
        StmtKind::Assign { target, value, .. } => {
            any_in_expr(target, found) || any_in_expr(value, found)
        }
        StmtKind::For(each) => {
            each.dims.iter().any(|dim| {
                dim.begin.as_ref().is_some_and(|begin| any_in_expr(begin, found))
                    || any_in_expr(&dim.end, found)
                    || dim.step.as_ref().is_some_and(|step| any_in_expr(step, found))
            }) || any_in_block(&each.body, found)
        }
        StmtKind::While { cond, body, .. } => any_in_expr(cond, found) || any_in_block(body, found),
        StmtKind::Loop { body, .. } => any_in_block(body, found),
        StmtKind::Return { value } | StmtKind::Break { value, .. } => {
            value.as_ref().is_some_and(|v| any_in_expr(v, found))
        }
    }
}

/// The name that a place is a part of.
pub(crate) fn root(place: &Expr) -> Option<&str> {
    match &place.kind {
        ExprKind::Name(name) | ExprKind::Index { base: name, .. } => Some(name),
        ExprKind::Field { value, .. } | ExprKind::Element { value, .. } => root(value),
        _ => None,
    }
}

/// The names that a pattern binds, and whether they are `mut`.
pub(crate) fn each_bound<'a>(pattern: &'a Pattern, each: &mut dyn FnMut(&'a str, bool)) {
    match pattern {
        Pattern::Wild => {}
        Pattern::Name { name, mutable, .. } => each(name, *mutable),
        Pattern::Parts(parts) => parts.iter().for_each(|part| each_bound(part, each)),
        Pattern::Fields(fields) => fields.iter().for_each(|(_, part)| each_bound(part, each)),
    }
}

/// Whether evaluating `expr` may assign a local that was there before it.
pub(crate) fn assigns(expr: &Expr) -> bool {
    any_in_expr(expr, &mut |node| match node {
        Node::Stmt(stmt) => matches!(stmt.kind, StmtKind::Assign { .. }),
        Node::Expr(expr) => matches!(expr.kind, ExprKind::Call { on_value: true, .. }),
    })
}

/// Every name that `block` uses, those it declares itself among them.
pub(crate) fn names_in_block<'a>(block: &'a Block, names: &mut HashSet<&'a str>) {
    any_in_block(block, &mut |node| note(node, names));
}

/// Every name that `stmt` uses.
pub(crate) fn names_in_stmt<'a>(stmt: &'a Stmt, names: &mut HashSet<&'a str>) {
    any_in_stmt(stmt, &mut |node| note(node, names));
}

fn note<'a>(node: Node<'a>, names: &mut HashSet<&'a str>) -> bool {
    match node {
        Node::Expr(expr) => match &expr.kind {
            ExprKind::Name(name)
            | ExprKind::Index { base: name, .. }
            | ExprKind::Len { base: name }
            | ExprKind::Extent { base: name, .. } => {
                names.insert(name);
            }
            _ => {}
        },
        Node::Stmt(stmt) => {
            if let StmtKind::LetShape { base, .. } | StmtKind::LetExtents { base, .. } = &stmt.kind
            {
                names.insert(base);
            }
        }
    }
    false
}
