//! Resolution of calls of methods and associated functions. One with a built-in name can be a func of the type. rustc
//! decides which; the table of callees holds the decision. A call of a func becomes [`ExprKind::Call`].

use crate::{
    Callee,
    syntax::{Expr, ExprKind, Function},
    visit::{NodeMut, walk_block_mut, walk_expr_mut, walk_stmt_mut},
};

/// Replaces calls by built-in names that call funcs by [`ExprKind::Call`].
pub(crate) fn methods(function: &mut Function, callees: &[Callee]) {
    if callees.iter().any(|callee| matches!(callee, Callee::Func(_))) {
        walk_block_mut(&mut function.body, &mut |node| resolve(node, callees));
    }
}

fn resolve(node: NodeMut<'_>, callees: &[Callee]) {
    let expr = match node {
        NodeMut::Stmt(stmt) => return walk_stmt_mut(stmt, &mut |node| resolve(node, callees)),
        NodeMut::Expr(expr) => expr,
    };
    walk_expr_mut(expr, &mut |node| resolve(node, callees));
    if let ExprKind::Associated { args, callee: Some(func), .. } = &mut expr.kind
        && let Some(Callee::Func(_)) = callees.get(*func as usize)
    {
        let args = std::mem::take(args);
        expr.kind = ExprKind::Call { func: *func, args, has_receiver: false, read_only_args: 0 };
        return;
    }
    if let ExprKind::Method { receiver, args, callee: Some(func), .. } = &mut expr.kind
        && let Some(Callee::Func(_)) = callees.get(*func as usize)
    {
        let placeholder = Expr { kind: ExprKind::Name(String::new()), span: receiver.span };
        let mut list = vec![std::mem::replace(&mut **receiver, placeholder)];
        list.append(args);
        expr.kind =
            ExprKind::Call { func: *func, args: list, has_receiver: true, read_only_args: 0 };
    }
}
