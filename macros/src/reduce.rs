//! Plain reductions in a parallel loop: tensors that its body does nothing with but combine into one element,
//! `atomic_add(&mut sum[0], x[i]);`. What is found here, the body keeps per piece of the loop.

use std::collections::HashSet;

use proc_macro2::{Ident, TokenStream, TokenTree};
use quadrants_frontend::syntax::AtomicOp;
use quote::{ToTokens, quote};
use syn::{Expr, Stmt, visit::Visit};

use crate::{
    body::{internal, unparenthesized},
    sites, tree,
};

/// More than these would take too many registers.
const AT_MOST: usize = 4;

/// Iterations of a strip whose one sum is kept in lanes: four registers of AVX-512 for 32 bits, which hide what an addition
/// takes. LLVM would unroll shorter strips of short bodies before it could make vectors of them.
const WIDE: usize = 64;

/// Iterations of a strip that has several.
const NARROW: usize = 32;

/// A tensor that a loop reduces into.
pub(crate) struct Reduction {
    pub(crate) tensor: Ident,
    op: AtomicOp,
    /// The element, made of literals and names that mean the same outside the loop.
    index: TokenStream,
    /// What holds the part of a piece's whole strips.
    part: Ident,
    /// What holds that of its other iterations: of places that are chosen while it runs, LLVM keeps none in registers.
    rest: Ident,
    /// The part that the iteration combines into.
    pub(crate) lane: Ident,
    strict: bool,
}

/// The reductions of a loop's body.
pub(crate) fn find(each: &syn::ExprForLoop, strict: bool) -> Vec<Reduction> {
    let body = &each.body;
    let mut bound = Bound(HashSet::new());
    bound.visit_pat(&each.pat);
    bound.visit_block(body);
    let mut found = Found { reductions: Vec::new(), bound: bound.0, strict };
    found.visit_block(body);
    let tokens = body.to_token_stream();
    let mut reductions: Vec<Reduction> = Vec::new();
    for (reduction, uses) in found.reductions {
        // Nothing else is done with it, and no other thing has its name.
        if count(tokens.clone(), &reduction.tensor) == uses && reductions.len() < AT_MOST {
            reductions.push(reduction);
        }
    }
    reductions
}

/// How many iterations a strip has.
pub(crate) fn width(reductions: &[Reduction]) -> usize {
    if reductions.len() > 1 { NARROW } else { WIDE }
}

impl Reduction {
    /// Defines the parts of a piece.
    pub(crate) fn begin(&self, support: &TokenStream, width: usize) -> TokenStream {
        let (part, rest, make) = (&self.part, &self.rest, self.function("partial"));
        quote! {
            let mut #part = #support::#make::<_, #width>();
            let mut #rest = #support::#make::<_, #width>();
        }
    }

    /// Defines the place of the iteration with this number in a whole strip.
    pub(crate) fn lane_at(&self, support: &TokenStream, at: &Ident) -> TokenStream {
        let Self { part, lane, .. } = self;
        quote!(let #lane = #support::Partial::lane(&mut #part, #at);)
    }

    /// The places of the iterations that are in no whole strip.
    pub(crate) fn rest(&self, support: &TokenStream) -> TokenStream {
        let rest = &self.rest;
        quote!(#support::Partial::lanes(&mut #rest))
    }

    /// The function that combines a value into the iteration's lane.
    pub(crate) fn combine(&self, support: &TokenStream) -> TokenStream {
        let (function, strict) = (self.function("reduce"), self.strict);
        quote!(#support::#function::<#strict, _, _>)
    }

    /// Combines the part into the element.
    pub(crate) fn finish(&self, support: &TokenStream) -> TokenStream {
        let Self { tensor, index, part, rest, strict, .. } = self;
        let finish = self.function("finish");
        quote!(#support::#finish::<#strict, _, _, _>((#part, #rest), &#tensor, #index);)
    }

    fn function(&self, what: &str) -> Ident {
        let op = match self.op {
            AtomicOp::Add => "add",
            AtomicOp::Min => "min",
            AtomicOp::Max => "max",
        };
        quote::format_ident!("{what}_{op}")
    }
}

struct Found {
    /// What may be reductions, and how many atomics combine into each.
    reductions: Vec<(Reduction, usize)>,
    /// The names that the loop gives a meaning of its own.
    bound: HashSet<Ident>,
    strict: bool,
}

struct Bound(HashSet<Ident>);

impl Visit<'_> for Bound {
    fn visit_pat_ident(&mut self, pattern: &syn::PatIdent) {
        self.0.insert(pattern.ident.clone());
        syn::visit::visit_pat_ident(self, pattern);
    }

    fn visit_item_const(&mut self, item: &syn::ItemConst) {
        self.0.insert(item.ident.clone());
    }
}

impl Visit<'_> for Found {
    fn visit_stmt(&mut self, stmt: &Stmt) {
        if let Stmt::Expr(Expr::Call(call), Some(_)) = stmt
            && let Some((tensor, op, index)) = self.atomic(call)
        {
            let known = self.reductions.iter_mut().find(|(known, _)| known.tensor == tensor);
            match known {
                Some((known, uses)) => {
                    let same = known.op == op && known.index.to_string() == index.to_string();
                    *uses += usize::from(same);
                }
                None => {
                    let number = self.reductions.len();
                    let [part, rest, lane] =
                        ["part", "rest", "lane"].map(|name| internal(&format!("{name}{number}")));
                    let strict = self.strict;
                    self.reductions
                        .push((Reduction { tensor, op, index, part, rest, lane, strict }, 1));
                }
            }
        }
        syn::visit::visit_stmt(self, stmt);
    }
}

impl Found {
    /// Tensor, operation and index of an atomic on an element that is the same for all iterations.
    fn atomic(&self, call: &syn::ExprCall) -> Option<(Ident, AtomicOp, TokenStream)> {
        let Expr::Path(path) = &*call.func else { return None };
        let op = tree::atomic(&path.path.segments.last()?.ident.to_string())?;
        let mut place = call.args.first()?.clone();
        let Expr::Index(element) = tree::element(&mut place)? else { return None };
        let Expr::Path(base) = &*element.expr else { return None };
        let fixed = match &*element.index {
            Expr::Array(array) => array.elems.iter().all(|index| self.is_fixed(index)),
            index => self.is_fixed(index),
        };
        let known = fixed && call.args.len() == 2;
        known.then_some((
            base.path.get_ident()?.clone(),
            op,
            sites::without(element.index.to_token_stream()),
        ))
    }

    fn is_fixed(&self, index: &Expr) -> bool {
        match unparenthesized(index) {
            Expr::Lit(_) => true,
            // What is bound outside, no iteration can assign.
            Expr::Path(path) => {
                !path.path.get_ident().is_some_and(|name| self.bound.contains(name))
            }
            Expr::Cast(cast) => self.is_fixed(&cast.expr),
            _ => false,
        }
    }
}

/// How often a name occurs.
fn count(tokens: TokenStream, name: &Ident) -> usize {
    let of = |token| match token {
        TokenTree::Ident(ident) => usize::from(ident == *name),
        TokenTree::Group(group) => count(group.stream(), name),
        TokenTree::Punct(_) | TokenTree::Literal(_) => 0,
    };
    tokens.into_iter().map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(each: &syn::ExprForLoop) -> Vec<String> {
        find(each, false).iter().map(|of| format!("{}[{}]", of.tensor, of.index)).collect()
    }

    #[test]
    fn cells_that_are_the_same_for_all_iterations_are_reduced_into() {
        let each = syn::parse_quote!(for i in 0..x.len() {
            atomic_add(&mut a[K], x[i]);
            atomic_add(&mut b[[0, (N)]], x[i]);
            qd::atomic_min(&mut c[of::K as usize], x[i]);
            atomic_max(&mut d[chosen], x[i]);
        });
        assert_eq!(found(&each), ["a[K]", "b[[0 , (N)]]", "c[of :: K as usize]", "d[chosen]"]);
    }

    #[test]
    fn cells_that_an_iteration_chooses_are_not() {
        let each = syn::parse_quote!(for i in 0..x.len() {
            const INNER: usize = 1;
            let chosen = x[i] as usize;
            atomic_add(&mut a[i], 1);
            atomic_add(&mut b[chosen], 1);
            atomic_add(&mut c[INNER], 1);
            atomic_add(&mut d[K + 1], 1);
            atomic_add(&mut e[K], 1);
            atomic_add(&mut e[L], 1);
        });
        assert_eq!(found(&each), [""; 0]);
    }
}
