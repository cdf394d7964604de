//! What is asked of tokens as a whole: which names they bind or say, and what running them costs.

use std::collections::BTreeSet;

use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::{Expr, Pat, PatIdent, visit::Visit};

/// An inner loop's body counts this often.
const ITERATIONS: u32 = 16;

/// The largest weight of a simple body.
const SIMPLE: u32 = 96;

/// The names that a pattern binds.
pub(super) fn names(pattern: &Pat) -> Vec<Ident> {
    struct Names(Vec<Ident>);
    impl Visit<'_> for Names {
        fn visit_pat_ident(&mut self, pattern: &PatIdent) {
            self.0.push(pattern.ident.clone());
        }
    }
    let mut names = Names(Vec::new());
    names.visit_pat(pattern);
    names.0
}

/// Adds the names that tokens say.
pub(super) fn identifiers(tokens: TokenStream, found: &mut BTreeSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => {
                found.insert(ident.to_string());
            }
            TokenTree::Group(group) => identifiers(group.stream(), found),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

/// What one iteration costs, roughly: its expressions, those in inner loops many times.
pub(super) fn weight(body: &syn::Block) -> u32 {
    struct Weight {
        factor: u32,
        sum: u32,
    }
    impl Visit<'_> for Weight {
        fn visit_expr(&mut self, expr: &Expr) {
            self.sum = self.sum.saturating_add(self.factor);
            let outer = self.factor;
            if matches!(expr, Expr::ForLoop(_) | Expr::While(_) | Expr::Loop(_)) {
                self.factor = outer.saturating_mul(ITERATIONS);
            }
            syn::visit::visit_expr(self, expr);
            self.factor = outer;
        }
    }
    let mut weight = Weight { factor: 1, sum: 1 };
    weight.visit_block(body);
    weight.sum
}

/// Whether a body does so little that, where its elements come from memory, it waits for them: neither loops nor calls, but for
/// methods of which a processor makes an instruction or two.
pub(super) fn is_simple(body: &syn::Block) -> bool {
    struct Simple(bool);
    impl Visit<'_> for Simple {
        fn visit_expr(&mut self, expr: &Expr) {
            self.0 &= match expr {
                Expr::MethodCall(call) => ["abs", "len", "max", "min", "mul_add", "shape"]
                    .iter()
                    .any(|n| call.method == n),
                Expr::ForLoop(_) | Expr::While(_) | Expr::Loop(_) | Expr::Call(_) => false,
                _ => true,
            };
            syn::visit::visit_expr(self, expr);
        }
    }
    let mut simple = Simple(weight(body) <= SIMPLE);
    simple.visit_block(body);
    simple.0
}
