//! Guards of the last variable of a parallel loop: `if j <= i { … }` around the whole body, or `if j > i { continue; }`
//! in front of it. CPU bodies evaluate such a condition once per row, and run the iterations for which it holds without
//! the condition: half of a triangular loop does not run, and the rest has no branch.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{BinOp, Expr, ExprBinary, ExprForLoop, Pat, Stmt};

use super::scope::BodyScope;
use crate::{
    ast::{immutable_name, loop_bindings, pattern_names, unparenthesized},
    tokens::internal,
};

/// A loop without the guards of its last variable.
pub(super) struct GuardedLoop {
    /// The loop without the guards.
    pub(super) each: ExprForLoop,
    guards: Vec<Guard>,
}

/// A condition on the last variable: `j < bound`, or with another operator.
struct Guard {
    /// The function that limits the iterations of a row.
    limit: &'static str,
    bound: Expr,
}

impl GuardedLoop {
    /// `None` if a loop has no such guards.
    pub(super) fn new(scope: &BodyScope<'_>, each: &ExprForLoop, last: &Pat) -> Option<Self> {
        let name = immutable_name(last)??;
        let variables = pattern_names(&each.pat);
        let bound = loop_bindings(each);
        let finder = GuardFinder {
            is_fixed: &|other| {
                *other != name && (variables.contains(other) || !bound.contains(other))
            },
            scope,
            name: &name,
        };
        let mut each = each.clone();
        let mut guards = Vec::new();
        while let Some(guarded) = finder.take(&mut each.body.stmts, &mut guards) {
            each.body.stmts = guarded;
        }
        (!guards.is_empty()).then_some(Self { each, guards })
    }

    /// The loop over the iterations of a row for which the guards hold.
    pub(super) fn limit(
        &self,
        scope: &BodyScope<'_>,
        (begin, end): (&Ident, &Ident),
        row: &TokenStream,
    ) -> TokenStream {
        let support = scope.support;
        let limits = self.guards.iter().map(|guard| {
            let (limit, bound) = (internal(guard.limit), scope.expr(&guard.bound));
            quote!(let (#begin, #end) = #support::#limit((#begin, #end), #bound);)
        });
        quote!({ #(#limits)* #row })
    }
}

struct GuardFinder<'a> {
    scope: &'a BodyScope<'a>,
    name: &'a Ident,
    /// Whether a name has the same value in all iterations of a row.
    is_fixed: &'a dyn Fn(&Ident) -> bool,
}

impl GuardFinder<'_> {
    /// Takes the guards of a body. Returns what they guard.
    fn take(&self, stmts: &mut Vec<Stmt>, guards: &mut Vec<Guard>) -> Option<Vec<Stmt>> {
        let Some(Stmt::Expr(Expr::If(choice), _)) = stmts.first() else { return None };
        if choice.else_branch.is_some() || !choice.attrs.is_empty() {
            return None;
        }
        let then = &choice.then_branch.stmts;
        if let [Stmt::Expr(Expr::Continue(jump), _)] = &then[..]
            && jump.label.is_none()
        {
            self.guards(&choice.cond, true, guards)?;
            return Some(stmts.split_off(1));
        }
        if stmts.len() > 1 {
            return None;
        }
        self.guards(&choice.cond, false, guards)?;
        Some(then.clone())
    }

    /// Adds the guards of a condition, or of its negation.
    fn guards(&self, cond: &Expr, is_negated: bool, guards: &mut Vec<Guard>) -> Option<()> {
        let Expr::Binary(ExprBinary { left, op, right, .. }) = unparenthesized(cond) else {
            return None;
        };
        if matches!((op, is_negated), (BinOp::And(_), false) | (BinOp::Or(_), true)) {
            let known = guards.len();
            let both = self
                .guards(left, is_negated, guards)
                .and_then(|()| self.guards(right, is_negated, guards));
            if both.is_none() {
                guards.truncate(known);
            }
            return both;
        }
        let (bound, is_swapped) = match (self.is_variable(left), self.is_variable(right)) {
            (true, false) => (right, false),
            (false, true) => (left, true),
            _ => return None,
        };
        let limit = limit(op, is_swapped, is_negated)?;
        // Where an earlier guard holds for no iteration of a row, the bounds of later ones must not overflow.
        let is_allowed = self.is_uniform(bound) && (guards.is_empty() || !has_arithmetic(bound));
        is_allowed.then(|| guards.push(Guard { limit, bound: (**bound).clone() }))
    }

    fn is_variable(&self, expr: &Expr) -> bool {
        matches!(unparenthesized(expr), Expr::Path(path) if path.path.is_ident(self.name))
    }

    /// Whether an expression has the same value in all iterations of a row. It fails by overflow only.
    fn is_uniform(&self, expr: &Expr) -> bool {
        match unparenthesized(expr) {
            Expr::Lit(_) => true,
            Expr::Path(path) => {
                path.qself.is_none()
                    && path.path.get_ident().is_none_or(|name| (self.is_fixed)(name))
            }
            Expr::Cast(cast) => self.is_uniform(&cast.expr),
            Expr::Binary(ExprBinary {
                left,
                op: BinOp::Add(_) | BinOp::Sub(_) | BinOp::Mul(_),
                right,
                ..
            }) => self.is_uniform(left) && self.is_uniform(right),
            Expr::MethodCall(call) => {
                (call.method == "len" || call.method == "shape")
                    && call.args.is_empty()
                    && matches!(unparenthesized(&call.receiver), Expr::Path(path)
                    if path.path.get_ident().is_some_and(|name| {
                        self.scope.is_tensor(name) && (self.is_fixed)(name)
                    }))
            }
            Expr::Index(index) => {
                matches!(unparenthesized(&index.expr), Expr::MethodCall(call) if call.method == "shape")
                    && self.is_uniform(&index.expr)
                    && matches!(unparenthesized(&index.index), Expr::Lit(_))
            }
            _ => false,
        }
    }
}

fn has_arithmetic(expr: &Expr) -> bool {
    match unparenthesized(expr) {
        Expr::Binary(_) => true,
        Expr::Cast(cast) => has_arithmetic(&cast.expr),
        _ => false,
    }
}

/// The function that limits a row to the iterations for which `j op bound` holds, or does not hold.
fn limit(op: &BinOp, is_swapped: bool, is_negated: bool) -> Option<&'static str> {
    const LIMITS: [&str; 4] = ["below", "at_most", "above", "at_least"];
    let at = match op {
        BinOp::Lt(_) => 0,
        BinOp::Le(_) => 1,
        BinOp::Gt(_) => 2,
        BinOp::Ge(_) => 3,
        BinOp::Eq(_) if !is_negated => return Some("only"),
        BinOp::Ne(_) if is_negated => return Some("only"),
        _ => return None,
    };
    // `bound < j` is `j > bound`, and the negation of `j < bound` is `j >= bound`.
    let at = if is_swapped { (at + 2) % 4 } else { at };
    Some(LIMITS[if is_negated { 3 - at } else { at }])
}

#[cfg(test)]
mod tests {
    use quadrants_frontend::syntax::FunctionKind;

    /// The limits of the rows of a loop over `(i, j)`, in order.
    fn limits(body: &str) -> Vec<String> {
        let body = format!("{{ for (i, j) in qd::ndrange(y.shape()) {{ {body} }} }}");
        let body: syn::Block = syn::parse_str(&body).expect("a block");
        let kernel = quote::quote! {
            fn kernel(n: usize, x: &mut Tensor<f32, 1>, y: &mut Tensor<f32, 2>) #body
        };
        let text = crate::expand(FunctionKind::Kernel, proc_macro2::TokenStream::new(), kernel);
        let text = text.to_string();
        let calls = text.split("let (begin1 , end1) = ").skip(1);
        let name = |call: &str| {
            let (path, _) = call.split_once(" ((begin1 , end1)")?;
            path.rsplit(' ').next().map(str::to_owned)
        };
        calls.filter_map(name).collect()
    }

    #[test]
    fn guards_of_the_last_variable_limit_its_rows() {
        for (guards, expected) in [
            ("if j < i { WORK }", &["below"][..]),
            ("if j <= i { WORK }", &["at_most"]),
            ("if j > i { WORK }", &["above"]),
            ("if j >= i { WORK }", &["at_least"]),
            ("if i < j { WORK }", &["above"]),
            ("if i >= j { WORK }", &["at_most"]),
            ("if j == n - 1 { WORK }", &["only"]),
            ("if n + i * 2 > j && (j > i as usize) { WORK }", &["below", "above"]),
            ("if j > i { if j < y.shape()[1] { WORK } }", &["above", "below"]),
            ("if j > i { continue; } WORK", &["at_most"]),
            ("if j < 3 || j >= n { continue; } WORK", &["at_least", "below"]),
            ("if j != i { continue; } if j < n { WORK }", &["only", "below"]),
            ("if j < i { y[[i, j]] = 1.0; if j < n { WORK } }", &["below"]),
            // Other conditions. The last bound of these may overflow where the first condition is false.
            ("if j < n && j < n - 1 { WORK }", &[]),
            ("if j < n { if j < n - 1 { WORK } }", &["below"]),
            ("if j < i { WORK } else { y[[i, j]] = 0.0; }", &[]),
            ("if i < n { WORK }", &[]),
            ("if j < i || j > n { WORK }", &[]),
            ("if j < i && j > n { continue; } WORK", &[]),
            ("if j != i { WORK }", &[]),
            ("if j < i && y[[i, j]] > 0.5 { WORK }", &[]),
            ("if j + 1 < n { WORK }", &[]),
            ("if j < n / i { WORK }", &[]),
            ("if j < x[i] as usize { WORK }", &[]),
            ("y[[i, j]] = 1.0; if j < i { WORK }", &[]),
            ("if j < i { WORK } y[[i, j]] = 1.0;", &[]),
            ("let k = i; if j < k { WORK }", &[]),
        ] {
            let body = guards.replace("WORK", "y[[i, j]] += 2.0;");
            assert_eq!(limits(&body), expected, "{guards}");
        }
    }
}
