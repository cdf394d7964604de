//! Walks over statements: loops, jumps, assignments and bound names.

use std::collections::{BTreeSet, HashMap, HashSet};

use proc_macro2::Ident;
use syn::{
    Expr, Lifetime, Pat, PatIdent, Stmt,
    visit::{self, Visit},
};

use super::{
    exprs::{is_assignment, unparenthesized},
    loops::{is_loop, own_label},
};

struct EachExpr<F>(F);

impl<'ast, F: FnMut(&'ast Expr) -> bool> Visit<'ast> for EachExpr<F> {
    fn visit_expr(&mut self, expr: &'ast Expr) {
        if (self.0)(expr) {
            visit::visit_expr(self, expr);
        }
    }
}

/// Calls `f` with each expression of statements. Where it returns false, the walk skips the parts.
pub(crate) fn each_expr<'ast>(stmts: &'ast [Stmt], f: impl FnMut(&'ast Expr) -> bool) {
    let mut walk = EachExpr(f);
    stmts.iter().for_each(|stmt| walk.visit_stmt(stmt));
}

pub(crate) fn has_loop(stmt: &Stmt) -> bool {
    let mut found = false;
    each_expr(std::slice::from_ref(stmt), |expr| {
        found |= is_loop(expr);
        !found
    });
    found
}

/// Whether a statement has a `break` or `continue` outside of the loops within it.
pub(crate) fn jumps(stmt: &Stmt) -> bool {
    let mut found = false;
    each_expr(std::slice::from_ref(stmt), |expr| {
        found |= matches!(expr, Expr::Break(_) | Expr::Continue(_));
        !found && !is_loop(expr) && !matches!(expr, Expr::Closure(_))
    });
    found
}

/// Whether an expression can leave the closure that it is the body of, other than by its value.
pub(crate) fn leaves_closure(body: &Expr) -> bool {
    #[derive(Default)]
    struct Leaves<'ast> {
        labels: Vec<&'ast Lifetime>,
        loops: u32,
        found: bool,
    }
    impl<'ast> Visit<'ast> for Leaves<'ast> {
        fn visit_expr(&mut self, expr: &'ast Expr) {
            let own = own_label(expr);
            self.found |= match expr {
                Expr::Break(syn::ExprBreak { label, .. })
                | Expr::Continue(syn::ExprContinue { label, .. }) => match label {
                    Some(label) => !self.labels.iter().any(|of| of.ident == label.ident),
                    None => self.loops == 0,
                },
                Expr::Return(_) | Expr::Try(_) | Expr::Await(_) => true,
                Expr::Closure(_) => return,
                _ => false,
            };
            let inner = u32::from(is_loop(expr));
            self.loops += inner;
            self.labels.extend(own);
            visit::visit_expr(self, expr);
            self.loops -= inner;
            self.labels.truncate(self.labels.len() - usize::from(own.is_some()));
        }
    }
    let mut leaves = Leaves::default();
    leaves.visit_expr(body);
    leaves.found
}

/// The names that statements assign.
pub(crate) fn assigned(stmts: &[Stmt]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    each_expr(stmts, |expr| {
        let target = match expr {
            Expr::Assign(assign) => Some(&assign.left),
            Expr::Binary(binary) if is_assignment(&binary.op) => Some(&binary.left),
            _ => None,
        };
        if let Some(Expr::Path(path)) = target.map(|target| unparenthesized(target)) {
            names.extend(path.path.get_ident().map(ToString::to_string));
        }
        true
    });
    names
}

/// Collects the names that patterns and constants of code bind, with repetitions.
#[derive(Default)]
pub(crate) struct BodyBindings(pub(crate) Vec<Ident>);

impl Visit<'_> for BodyBindings {
    fn visit_pat_ident(&mut self, pattern: &PatIdent) {
        self.0.push(pattern.ident.clone());
        visit::visit_pat_ident(self, pattern);
    }

    fn visit_item_const(&mut self, item: &syn::ItemConst) {
        self.0.push(item.ident.clone());
    }
}

/// The names that a pattern binds.
pub(crate) fn pattern_names(pattern: &Pat) -> Vec<Ident> {
    struct PatternNames(Vec<Ident>);
    impl Visit<'_> for PatternNames {
        fn visit_pat_ident(&mut self, pattern: &PatIdent) {
            self.0.push(pattern.ident.clone());
        }

        // What an arm's guard binds is not visible outside of the guard.
        fn visit_expr(&mut self, _: &syn::Expr) {}
    }
    let mut names = PatternNames(Vec::new());
    names.visit_pat(pattern);
    names.0
}

/// The names that a loop binds: its variables, and those that patterns and constants in its body bind.
pub(crate) fn loop_bindings(each: &syn::ExprForLoop) -> HashSet<Ident> {
    binding_counts(each).into_keys().collect()
}

/// The names that a loop binds, and how often.
pub(crate) fn binding_counts(each: &syn::ExprForLoop) -> HashMap<Ident, usize> {
    struct LoopNames(HashMap<Ident, usize>);
    impl Visit<'_> for LoopNames {
        fn visit_pat_ident(&mut self, pattern: &PatIdent) {
            *self.0.entry(pattern.ident.clone()).or_default() += 1;
            visit::visit_pat_ident(self, pattern);
        }

        fn visit_item_const(&mut self, item: &syn::ItemConst) {
            *self.0.entry(item.ident.clone()).or_default() += 1;
        }
    }
    let mut names = LoopNames(HashMap::new());
    names.visit_pat(&each.pat);
    names.visit_block(&each.body);
    names.0
}
