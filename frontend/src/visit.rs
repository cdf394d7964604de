//! Walks over syntax trees, and questions about whole pieces of code.

use std::collections::HashSet;

use crate::syntax::{Block, Dim, Expr, ExprKind, Pattern, RegionArgument, Stmt, StmtKind, TypeIx};

/// Defines a node type and the functions that visit what is directly in an expression, a block or a statement, in
/// source order. One definition serves shared and mutable references.
macro_rules! walk {
    ($Node:ident, $in_expr:ident, $in_block:ident, $in_stmt:ident $(, $mut:tt)?) => {
        /// An expression or a statement.
        pub(crate) enum $Node<'a> {
            Expr(&'a $($mut)? Expr),
            Stmt(&'a $($mut)? Stmt),
        }

        /// Visits the expressions and statements directly in `expr`.
        pub(crate) fn $in_expr<'a>(
            expr: &'a $($mut)? Expr,
            visit: &mut dyn FnMut($Node<'a>),
        ) {
            match & $($mut)? expr.kind {
                ExprKind::Literal { .. }
                | ExprKind::Name(_)
                | ExprKind::Const(_)
                | ExprKind::Len { .. }
                | ExprKind::Unsupported(_)
                | ExprKind::StreamParallel(RegionArgument::Other) => {}
                ExprKind::Unary { value, .. }
                | ExprKind::Cast { value, .. }
                | ExprKind::Repeat { value, .. }
                | ExprKind::Field { value, .. }
                | ExprKind::Extent { axis: value, .. } => visit($Node::Expr(value)),
                ExprKind::Binary { lhs: a, rhs: b, .. }
                | ExprKind::Logic { lhs: a, rhs: b, .. }
                | ExprKind::Atomic { place: a, value: b, .. } => {
                    visit($Node::Expr(a));
                    visit($Node::Expr(b));
                }
                ExprKind::If { cond, then, otherwise } => {
                    visit($Node::Expr(cond));
                    $in_block(then, visit);
                    otherwise.into_iter().for_each(|block| $in_block(block, visit));
                }
                ExprKind::BlockFor(each) => {
                    let each = & $($mut)? **each;
                    for count in & $($mut)? each.blocks {
                        visit($Node::Expr(count));
                    }
                    visit($Node::Expr(& $($mut)? each.threads));
                    $in_block(& $($mut)? each.body, visit);
                }
                ExprKind::Each(each) => $in_block(& $($mut)? each.body, visit),
                ExprKind::Block(body)
                | ExprKind::Unsafe(body)
                | ExprKind::Loop { body, .. }
                | ExprKind::StreamParallel(RegionArgument::Closure { body, .. }) => {
                    $in_block(body, visit);
                }
                ExprKind::Index { index: list, .. }
                | ExprKind::Call { args: list, .. }
                | ExprKind::Aggregate { parts: list, .. }
                | ExprKind::Associated { args: list, .. } => {
                    list.into_iter().for_each(|expr| visit($Node::Expr(expr)));
                }
                ExprKind::Struct { fields, .. } => {
                    fields.into_iter().for_each(|(_, expr)| visit($Node::Expr(expr)));
                }
                ExprKind::Method { receiver: first, args: list, .. }
                | ExprKind::Element { value: first, index: list } => {
                    visit($Node::Expr(first));
                    list.into_iter().for_each(|expr| visit($Node::Expr(expr)));
                }
            }
        }

        /// Visits the statements of `block`, and its value.
        pub(crate) fn $in_block<'a>(
            block: &'a $($mut)? Block,
            visit: &mut dyn FnMut($Node<'a>),
        ) {
            for stmt in & $($mut)? block.stmts {
                visit($Node::Stmt(stmt));
            }
            if let Some(value) = & $($mut)? block.value {
                visit($Node::Expr(value));
            }
        }

        /// Visits the expressions and statements directly in `stmt`.
        pub(crate) fn $in_stmt<'a>(
            stmt: &'a $($mut)? Stmt,
            visit: &mut dyn FnMut($Node<'a>),
        ) {
            match & $($mut)? stmt.kind {
                StmtKind::LetShape { .. }
                | StmtKind::LetExtents { .. }
                | StmtKind::Continue { .. }
                | StmtKind::Unsupported(_) => {}
                StmtKind::Let { value, .. }
                | StmtKind::LetPattern { value, .. }
                | StmtKind::Expr(value)
                | StmtKind::Assert { cond: value, .. } => visit($Node::Expr(value)),
                StmtKind::LetShared { dims, .. } => {
                    dims.into_iter().for_each(|len| visit($Node::Expr(len)));
                }
                StmtKind::LetExchange(made) => {
                    let made = & $($mut)? **made;
                    if let Some((_, by)) = & $($mut)? made.by {
                        visit($Node::Expr(by));
                    }
                    visit($Node::Expr(& $($mut)? made.value));
                }
                StmtKind::Assign { target, value, .. } => {
                    visit($Node::Expr(target));
                    visit($Node::Expr(value));
                }
                StmtKind::For(each) => {
                    for Dim { begin, end, step, .. } in & $($mut)? each.dims {
                        begin.into_iter().for_each(|begin| visit($Node::Expr(begin)));
                        visit($Node::Expr(end));
                        step.into_iter().for_each(|step| visit($Node::Expr(step)));
                    }
                    $in_block(& $($mut)? each.body, visit);
                }
                StmtKind::While { cond, body, .. } => {
                    visit($Node::Expr(cond));
                    $in_block(body, visit);
                }
                StmtKind::Loop { body, .. } => $in_block(body, visit),
                StmtKind::Return { value } | StmtKind::Break { value, .. } => {
                    value.into_iter().for_each(|value| visit($Node::Expr(value)));
                }
            }
        }
    };
}

walk!(Node, in_expr, in_block, in_stmt);
walk!(NodeMut, in_expr_mut, in_block_mut, in_stmt_mut, mut);

type Visit<'v, 'a> = &'v mut dyn FnMut(Node<'a>);
type Found<'f, 'a> = &'f mut dyn FnMut(Node<'a>) -> bool;

/// Whether `found` holds for `expr` or anything in it.
pub(crate) fn any_in_expr<'a>(expr: &'a Expr, found: Found<'_, 'a>) -> bool {
    found(Node::Expr(expr)) || any(&mut |visit| in_expr(expr, visit), found)
}

/// Whether `found` holds for anything in `block`.
pub(crate) fn any_in_block<'a>(block: &'a Block, found: Found<'_, 'a>) -> bool {
    any(&mut |visit| in_block(block, visit), found)
}

/// Whether `found` holds for `stmt` or anything in it.
pub(crate) fn any_in_stmt<'a>(stmt: &'a Stmt, found: Found<'_, 'a>) -> bool {
    found(Node::Stmt(stmt)) || any(&mut |visit| in_stmt(stmt, visit), found)
}

fn any<'a>(children: &mut dyn FnMut(Visit<'_, 'a>), found: Found<'_, 'a>) -> bool {
    let mut any = false;
    children(&mut |node| {
        any = any
            || match node {
                Node::Expr(expr) => any_in_expr(expr, found),
                Node::Stmt(stmt) => any_in_stmt(stmt, found),
            };
    });
    any
}

/// The name that a place is a part of.
pub(crate) fn root(place: &Expr) -> Option<&str> {
    match &place.kind {
        ExprKind::Name(name) | ExprKind::Index { base: name, .. } => Some(name),
        ExprKind::Field { value, .. } | ExprKind::Element { value, .. } => root(value),
        _ => None,
    }
}

/// The names that a pattern binds, whether they are `mut`, and their types.
pub(crate) fn each_bound<'a>(pattern: &'a Pattern, each: &mut dyn FnMut(&'a str, bool, TypeIx)) {
    match pattern {
        Pattern::Wild => {}
        Pattern::Name { name, mutable, ty } => each(name, *mutable, *ty),
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

/// Adds the name that `node` uses, if it uses one; for walks over all nodes.
pub(crate) fn add_name<'a>(node: Node<'a>, names: &mut HashSet<&'a str>) -> bool {
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
