//! Loops that choose an iteration and do something else, such as a second choice or a sum: each choice becomes a loop
//! of its own, before what remains.

use proc_macro2::Ident;
use syn::{
    Expr, ExprForLoop, Stmt, parse_quote,
    visit::{self, Visit},
};

use super::{SurroundingStmts, selection};
use crate::{
    ast::{is_assignment, jumps, loop_bindings, place_root},
    tokens::possible_locals,
};

/// Takes the choices out of a loop that has other statements: returns loops that make them, to be run before. If
/// nothing remains, the last of them replaces the loop. `None`, and nothing is changed, if there are none, or if a
/// statement uses what another one changes.
pub(super) fn split(
    each: &mut ExprForLoop,
    outside: &[Ident],
    writable: &[Ident],
    number: usize,
) -> Option<SurroundingStmts> {
    let stmts = &each.body.stmts;
    if each.label.is_some() || stmts.iter().filter(|stmt| !is_let(stmt)).count() < 2 {
        return None;
    }
    let mut choices = Vec::new();
    for (at, stmt) in stmts.iter().enumerate() {
        if !matches!(stmt, Stmt::Expr(Expr::If(_), _)) {
            continue;
        }
        let mut alone = each.clone();
        alone.body.stmts = stmts[..at].iter().filter(|stmt| is_let(stmt)).map(unused).collect();
        alone.body.stmts.push(stmt.clone());
        if let Some(around) = selection::rewrite(&mut alone, outside, writable, number) {
            choices.push((at, alone, around));
        }
    }
    let is_choice = |at: usize| choices.iter().any(|(choice, ..)| *choice == at);
    if choices.is_empty() || !are_independent(each, outside, writable, &is_choice) {
        return None;
    }
    let rest = stmts.iter().enumerate().filter(|(at, _)| !is_choice(*at));
    let last = choices.len() - 1;
    // The last choice has all `let`s before it. One after it may have an effect.
    let replaces = rest.clone().all(|(at, stmt)| is_let(stmt) && at < choices[last].0);
    let rest: Vec<Stmt> = rest.map(|(_, stmt)| unused(stmt)).collect();
    let mut all = SurroundingStmts::default();
    for (nth, (_, alone, around)) in choices.into_iter().enumerate() {
        all.before.extend(around.before);
        if replaces && nth == last {
            *each = alone;
            all.after = around.after;
            return Some(all);
        }
        all.before.push(Stmt::Expr(Expr::ForLoop(alone), None));
        all.before.extend(around.after);
    }
    each.body.stmts = rest;
    Some(all)
}

fn is_let(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Local(_))
}

/// Whether choices can be made before the other statements of a loop.
fn are_independent(
    each: &ExprForLoop,
    outside: &[Ident],
    writable: &[Ident],
    is_choice: &dyn Fn(usize) -> bool,
) -> bool {
    let bound = loop_bindings(each);
    let known =
        |name: &Ident| outside.contains(name) || bound.contains(name) || writable.contains(name);
    let stmts = &each.body.stmts;
    stmts.iter().enumerate().filter(|(_, stmt)| !is_let(stmt)).all(|(at, stmt)| {
        let mut changed = changed(stmt, writable);
        changed.retain(known);
        let others = stmts.iter().enumerate().filter(|(other, _)| *other != at);
        let mut conflicts = others.filter(|(other, used)| {
            // A choice, with the `let`s before it, reads what the other statements change later.
            let may_read = |name: &Ident| {
                is_let(used) && !outside.contains(name) && *other < at
                    || !is_let(used) && !is_choice(at) && !is_choice(*other)
            };
            possible_locals(used).iter().any(|name| changed.contains(name) && !may_read(name))
        });
        let is_free = match is_choice(at) {
            true => !possible_locals(&each.expr).iter().any(|name| changed.contains(name)),
            false => !jumps(stmt),
        };
        let changes_own = changed.iter().any(|name| bound.contains(name));
        is_free && !changes_own && conflicts.next().is_none()
    })
}

/// A statement that may define variables for others only.
fn unused(stmt: &Stmt) -> Stmt {
    let mut stmt = stmt.clone();
    if let Stmt::Local(local) = &mut stmt {
        local.attrs.push(parse_quote!(#[allow(unused_variables)]));
    }
    stmt
}

/// The variables that a statement assigns, also in parts, and the tensors that it may write.
fn changed(stmt: &Stmt, writable: &[Ident]) -> Vec<Ident> {
    struct Changed(Vec<Ident>);
    impl Changed {
        fn add(&mut self, place: &Expr) {
            let root = place_root(place).and_then(|root| root.path.get_ident());
            self.0.extend(root.cloned());
        }
    }
    impl Visit<'_> for Changed {
        fn visit_expr(&mut self, expr: &Expr) {
            match expr {
                Expr::Assign(assign) => self.add(&assign.left),
                Expr::Binary(binary) if is_assignment(&binary.op) => self.add(&binary.left),
                Expr::Reference(reference) if reference.mutability.is_some() => {
                    self.add(&reference.expr);
                }
                Expr::MethodCall(call) => self.add(&call.receiver),
                _ => {}
            }
            visit::visit_expr(self, expr);
        }
    }
    let mut changed = Changed(Vec::new());
    changed.visit_stmt(stmt);
    // A tensor may be changed in any way.
    changed.0.extend(possible_locals(stmt).into_iter().filter(|name| writable.contains(name)));
    changed.0
}
