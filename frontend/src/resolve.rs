//! Resolution of method calls. A method with the name of a built-in one can be a func of its receiver's type. Only rustc
//! knows which; the table of callees says it, and the call of a func becomes [`ExprKind::Call`].

use crate::{
    Callee,
    syntax::{Expr, ExprKind, Function},
    visit::{NodeMut, in_block_mut, in_expr_mut, in_stmt_mut},
};

/// Turns the method calls of `function` that are calls of funcs into [`ExprKind::Call`].
pub(crate) fn methods(function: &mut Function, callees: &[Callee]) {
    if callees.iter().any(|callee| matches!(callee, Callee::Func(_))) {
        in_block_mut(&mut function.body, &mut |node| resolve(node, callees));
    }
}

fn resolve(node: NodeMut<'_>, callees: &[Callee]) {
    let expr = match node {
        NodeMut::Stmt(stmt) => return in_stmt_mut(stmt, &mut |node| resolve(node, callees)),
        NodeMut::Expr(expr) => expr,
    };
    in_expr_mut(expr, &mut |node| resolve(node, callees));
    if let ExprKind::Method { receiver, args, callee: Some(func), .. } = &mut expr.kind
        && let Some(Callee::Func(_)) = callees.get(*func as usize)
    {
        let nothing = Expr { kind: ExprKind::Name(String::new()), span: receiver.span };
        let mut list = vec![std::mem::replace(&mut **receiver, nothing)];
        list.append(args);
        expr.kind = ExprKind::Call { func: *func, args: list, on_value: true, shared: 0 };
    }
}
