//! Visitors of syntax trees, and queries over subtrees.

use std::collections::HashSet;

use crate::syntax::{
    Block, Dim, Expr, ExprKind, Pattern, Stmt, StmtKind, StreamParallelArgument, TypeIx,
};

/// Defines a node type and functions that visit the direct children of an expression, block or statement, in source
/// order. One definition serves shared and mutable references.
macro_rules! walk {
    ($Node:ident, $walk_expr:ident, $walk_block:ident, $walk_stmt:ident $(, $mut:tt)?) => {
        /// An expression or a statement.
        pub(crate) enum $Node<'a> {
            Expr(&'a $($mut)? Expr),
            Stmt(&'a $($mut)? Stmt),
        }

        /// Visits the direct children of `expr`.
        pub(crate) fn $walk_expr<'a>(
            expr: &'a $($mut)? Expr,
            visit: &mut dyn FnMut($Node<'a>),
        ) {
            match & $($mut)? expr.kind {
                ExprKind::Literal { .. }
                | ExprKind::Name(_)
                | ExprKind::Const(_)
                | ExprKind::Len { .. }
                | ExprKind::Unsupported(_)
                | ExprKind::StreamParallel(StreamParallelArgument::Other) => {}
                ExprKind::Unary { value, .. }
                | ExprKind::Cast { value, .. }
                | ExprKind::Repeat { value, .. }
                | ExprKind::Field { value, .. }
                | ExprKind::Extent { axis: value, .. } => visit($Node::Expr(value)),
                ExprKind::Binary { lhs: a, rhs: b, .. }
                | ExprKind::Logic { lhs: a, rhs: b, .. } => {
                    visit($Node::Expr(a));
                    visit($Node::Expr(b));
                }
                ExprKind::Atomic { place, expected, value, .. } => {
                    visit($Node::Expr(place));
                    expected.into_iter().for_each(|expected| visit($Node::Expr(expected)));
                    visit($Node::Expr(value));
                }
                ExprKind::If { cond, then, otherwise } => {
                    visit($Node::Expr(cond));
                    $walk_block(then, visit);
                    otherwise.into_iter().for_each(|block| $walk_block(block, visit));
                }
                ExprKind::BlockFor(each) => {
                    let each = & $($mut)? **each;
                    for count in & $($mut)? each.blocks {
                        visit($Node::Expr(count));
                    }
                    visit($Node::Expr(& $($mut)? each.threads));
                    $walk_block(& $($mut)? each.body, visit);
                }
                ExprKind::Phase(phase) => $walk_block(& $($mut)? phase.body, visit),
                ExprKind::Block(body)
                | ExprKind::Unsafe(body)
                | ExprKind::Loop { body, .. }
                | ExprKind::StreamParallel(StreamParallelArgument::Closure { body, .. }) => {
                    $walk_block(body, visit);
                }
                ExprKind::Index { index: list, .. }
                | ExprKind::Call { args: list, .. }
                | ExprKind::Aggregate { parts: list, .. }
                | ExprKind::Associated { args: list, .. } => {
                    list.into_iter().for_each(|expr| visit($Node::Expr(expr)));
                }
                ExprKind::Struct { fields, base, .. } => {
                    fields.into_iter().for_each(|(_, expr)| visit($Node::Expr(expr)));
                    base.into_iter().for_each(|base| visit($Node::Expr(base)));
                }
                ExprKind::Method { receiver: first, args: list, .. }
                | ExprKind::Element { value: first, index: list } => {
                    visit($Node::Expr(first));
                    list.into_iter().for_each(|expr| visit($Node::Expr(expr)));
                }
            }
        }

        /// Visits the statements and the value of `block`.
        pub(crate) fn $walk_block<'a>(
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

        /// Visits the direct children of `stmt`.
        pub(crate) fn $walk_stmt<'a>(
            stmt: &'a $($mut)? Stmt,
            visit: &mut dyn FnMut($Node<'a>),
        ) {
            match & $($mut)? stmt.kind {
                StmtKind::LetShape { .. }
                | StmtKind::LetExtents { .. }
                | StmtKind::Continue { .. }
                | StmtKind::Unreachable
                | StmtKind::Unsupported(_) => {}
                StmtKind::Let { value, .. }
                | StmtKind::LetPattern { value, .. }
                | StmtKind::Expr(value)
                | StmtKind::Reduce { value, .. } => visit($Node::Expr(value)),
                StmtKind::Assert { cond, report } => {
                    visit($Node::Expr(cond));
                    let args = & $($mut)? report.args;
                    args.into_iter().for_each(|(arg, _)| visit($Node::Expr(arg)));
                }
                StmtKind::Print { args, .. } => {
                    args.into_iter().for_each(|(arg, _)| visit($Node::Expr(arg)));
                }
                StmtKind::LetShared { dims, .. } => {
                    dims.into_iter().for_each(|len| visit($Node::Expr(len)));
                }
                StmtKind::LetCollective(call) => {
                    let call = & $($mut)? **call;
                    if let Some((_, by)) = & $($mut)? call.by {
                        visit($Node::Expr(by));
                    }
                    visit($Node::Expr(& $($mut)? call.value));
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
                    $walk_block(& $($mut)? each.body, visit);
                }
                StmtKind::While { cond, body, .. } => {
                    visit($Node::Expr(cond));
                    $walk_block(body, visit);
                }
                StmtKind::Loop { body, .. } => $walk_block(body, visit),
                StmtKind::Return { value } | StmtKind::Break { value, .. } => {
                    value.into_iter().for_each(|value| visit($Node::Expr(value)));
                }
            }
        }
    };
}

walk!(Node, walk_expr, walk_block, walk_stmt);
walk!(NodeMut, walk_expr_mut, walk_block_mut, walk_stmt_mut, mut);

type Visit<'v, 'a> = &'v mut dyn FnMut(Node<'a>);
type Predicate<'f, 'a> = &'f mut dyn FnMut(Node<'a>) -> bool;

pub(crate) fn any_in_expr<'a>(expr: &'a Expr, predicate: Predicate<'_, 'a>) -> bool {
    predicate(Node::Expr(expr)) || any(&mut |visit| walk_expr(expr, visit), predicate)
}

pub(crate) fn any_in_block<'a>(block: &'a Block, predicate: Predicate<'_, 'a>) -> bool {
    any(&mut |visit| walk_block(block, visit), predicate)
}

pub(crate) fn any_in_stmt<'a>(stmt: &'a Stmt, predicate: Predicate<'_, 'a>) -> bool {
    predicate(Node::Stmt(stmt)) || any(&mut |visit| walk_stmt(stmt, visit), predicate)
}

fn any<'a>(children: &mut dyn FnMut(Visit<'_, 'a>), predicate: Predicate<'_, 'a>) -> bool {
    let mut any = false;
    children(&mut |node| {
        any = any
            || match node {
                Node::Expr(expr) => any_in_expr(expr, predicate),
                Node::Stmt(stmt) => any_in_stmt(stmt, predicate),
            };
    });
    any
}

/// The variable at the base of a place expression: `t` of `t[i].x`.
pub(crate) fn base_name(place: &Expr) -> Option<&str> {
    match &place.kind {
        ExprKind::Name(name) | ExprKind::Index { base: name, .. } => Some(name),
        ExprKind::Field { value, .. } | ExprKind::Element { value, .. } => base_name(value),
        _ => None,
    }
}

/// Visits the names that a pattern binds, whether they are `mut`, and their types.
pub(crate) fn each_binding<'a>(pattern: &'a Pattern, each: &mut dyn FnMut(&'a str, bool, TypeIx)) {
    match pattern {
        Pattern::Wild | Pattern::Rest => {}
        Pattern::Name { name, mutable, ty } => each(name, *mutable, *ty),
        Pattern::Parts(parts) => parts.iter().for_each(|part| each_binding(part, each)),
        Pattern::Fields(fields) => fields.iter().for_each(|(_, part)| each_binding(part, each)),
    }
}

/// Whether evaluating `expr` may assign a local that is declared outside it.
pub(crate) fn assigns(expr: &Expr) -> bool {
    any_in_expr(expr, &mut |node| match node {
        Node::Stmt(stmt) => matches!(stmt.kind, StmtKind::Assign { .. } | StmtKind::Reduce { .. }),
        Node::Expr(expr) => matches!(expr.kind, ExprKind::Call { has_receiver: true, .. }),
    })
}

/// The locals that a loop's body combines values into.
pub(crate) fn combined_names(body: &Block) -> Vec<&str> {
    let mut names = Vec::new();
    any_in_block(body, &mut |node| {
        if let Node::Stmt(stmt) = node
            && let StmtKind::Reduce { name, .. } = &stmt.kind
        {
            names.push(name.as_str());
        }
        false
    });
    names
}

/// Adds the name that `node` uses, if any. Always false: a visitor for `any_in_block` and `any_in_stmt`.
pub(crate) fn collect_name<'a>(node: Node<'a>, names: &mut HashSet<&'a str>) -> bool {
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
            if let StmtKind::LetShape { base, .. }
            | StmtKind::LetExtents { base, .. }
            | StmtKind::Reduce { name: base, .. } = &stmt.kind
            {
                names.insert(base);
            }
        }
    }
    false
}

/// Whether a block at the top level has parallel loops or grids of thread blocks, also under conditions.
pub(crate) fn has_parallel(block: &Block) -> bool {
    block.stmts.iter().any(stmt_has_parallel)
        || block.value.as_deref().is_some_and(expr_has_parallel)
}

/// As [`has_parallel`], for a statement.
pub(crate) fn stmt_has_parallel(stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::For(each) => !each.options.serial,
        StmtKind::Expr(expr) => expr_has_parallel(expr),
        _ => false,
    }
}

/// As [`has_parallel`], for a statement or the value of a block.
pub(crate) fn expr_has_parallel(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::BlockFor(_) => true,
        ExprKind::If { then, otherwise, .. } => {
            has_parallel(then) || otherwise.as_ref().is_some_and(has_parallel)
        }
        ExprKind::Block(block) | ExprKind::Unsafe(block) => has_parallel(block),
        _ => false,
    }
}

pub(crate) fn is_stream_parallel_stmt(stmt: &Stmt) -> bool {
    matches!(&stmt.kind, StmtKind::Expr(expr) if is_stream_parallel(expr))
}

pub(crate) fn is_stream_parallel(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::StreamParallel(_))
}

/// Whether a statement contains a `stream_parallel` call. A misplaced call is reported by itself, so its statement is
/// not.
pub(crate) fn contains_stream_parallel(stmt: &Stmt) -> bool {
    any_in_stmt(stmt, &mut |node| matches!(node, Node::Expr(expr) if is_stream_parallel(expr)))
}

/// Whether an expression is an `if` without `else`, at the end of any number of `else if`s.
pub(crate) fn lacks_else(value: &Expr) -> bool {
    match &value.kind {
        ExprKind::If { otherwise: None, .. } => true,
        ExprKind::If { otherwise: Some(block), .. } => {
            block.stmts.is_empty() && block.value.as_deref().is_some_and(lacks_else)
        }
        _ => false,
    }
}

/// The struct's name for a tensor of a struct of tensors: `p` for `p.x`. Both have the same binding.
pub(crate) fn struct_name(name: &str) -> &str {
    name.split_once('.').map_or(name, |(of, _)| of)
}
