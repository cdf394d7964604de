//! Method calls whose callee only rustc knows. A method that has the name of a built-in one can be a func of its
//! receiver's type; the table of callees says which it is, and a func's call becomes [`ExprKind::Call`].

use crate::{
    Callee,
    syntax::{Block, Expr, ExprKind, Function, RegionArgument, Stmt, StmtKind},
};

/// Turns the method calls of `function` that are calls of funcs into [`ExprKind::Call`].
pub(crate) fn methods(function: &mut Function, callees: &[Callee]) {
    if callees.iter().any(|callee| matches!(callee, Callee::Func(_))) {
        block(&mut function.body, callees);
    }
}

fn block(of: &mut Block, callees: &[Callee]) {
    of.stmts.iter_mut().for_each(|one| stmt(one, callees));
    of.value.iter_mut().for_each(|value| expr(value, callees));
}

fn all<'a>(of: impl IntoIterator<Item = &'a mut Expr>, callees: &[Callee]) {
    of.into_iter().for_each(|one| expr(one, callees));
}

fn stmt(of: &mut Stmt, callees: &[Callee]) {
    match &mut of.kind {
        StmtKind::LetShape { .. }
        | StmtKind::LetExtents { .. }
        | StmtKind::Continue { .. }
        | StmtKind::Unsupported(_) => {}
        StmtKind::Let { value, .. }
        | StmtKind::LetPattern { value, .. }
        | StmtKind::Expr(value)
        | StmtKind::Assert { cond: value, .. } => expr(value, callees),
        StmtKind::LetShared { dims, .. } => all(dims, callees),
        StmtKind::LetExchange(made) => {
            all(made.by.iter_mut().map(|(_, by)| by), callees);
            expr(&mut made.value, callees);
        }
        StmtKind::Assign { target, value, .. } => all([target, value], callees),
        StmtKind::For(each) => {
            for dim in &mut each.dims {
                all(&mut dim.begin, callees);
                expr(&mut dim.end, callees);
                all(&mut dim.step, callees);
            }
            block(&mut each.body, callees);
        }
        StmtKind::While { cond, body, .. } => {
            expr(cond, callees);
            block(body, callees);
        }
        StmtKind::Loop { body, .. } => block(body, callees),
        StmtKind::Return { value } | StmtKind::Break { value, .. } => all(value, callees),
    }
}

fn expr(of: &mut Expr, callees: &[Callee]) {
    match &mut of.kind {
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
        | ExprKind::Extent { axis: value, .. } => expr(value, callees),
        ExprKind::Binary { lhs, rhs, .. } | ExprKind::Logic { lhs, rhs, .. } => {
            expr(lhs, callees);
            expr(rhs, callees);
        }
        ExprKind::If { cond, then, otherwise } => {
            expr(cond, callees);
            block(then, callees);
            otherwise.iter_mut().for_each(|otherwise| block(otherwise, callees));
        }
        ExprKind::BlockFor(each) => {
            all(&mut each.blocks, callees);
            expr(&mut each.threads, callees);
            block(&mut each.body, callees);
        }
        ExprKind::Each(each) => block(&mut each.body, callees),
        ExprKind::Block(body)
        | ExprKind::Unsafe(body)
        | ExprKind::Loop { body, .. }
        | ExprKind::StreamParallel(RegionArgument::Closure { body, .. }) => block(body, callees),
        ExprKind::Index { index: list, .. }
        | ExprKind::Call { args: list, .. }
        | ExprKind::Aggregate { parts: list, .. }
        | ExprKind::Associated { args: list, .. } => all(list, callees),
        ExprKind::Struct { fields, .. } => all(fields.iter_mut().map(|(_, e)| e), callees),
        ExprKind::Element { value, index } => {
            expr(value, callees);
            all(index, callees);
        }
        ExprKind::Atomic { place, value, .. } => {
            expr(place, callees);
            expr(value, callees);
        }
        ExprKind::Method { receiver, args, callee, .. } => {
            expr(receiver, callees);
            all(args.iter_mut(), callees);
            let resolved = callee.map(|at| (at, callees.get(at as usize)));
            if let Some((func, Some(Callee::Func(_)))) = resolved {
                let span = receiver.span;
                let nothing = Expr { kind: ExprKind::Name(String::new()), span };
                let mut list = vec![std::mem::replace(&mut **receiver, nothing)];
                list.append(args);
                of.kind = ExprKind::Call { func, args: list, on_value: true, shared: 0 };
            }
        }
    }
}
