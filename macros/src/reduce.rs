//! Plain reductions in a parallel loop: tensors that its body does nothing with but combine into one element,
//! `atomic_add(&mut sum[0], x[i]);`. What is found here, the body keeps per piece of the loop.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quadrants_frontend::syntax::AtomicOp;
use quote::{ToTokens, quote};
use syn::{Expr, Stmt, visit::Visit};

use crate::{body::internal, tree};

/// More than these would take too many registers.
const AT_MOST: usize = 4;

/// A tensor that a loop reduces into.
pub(crate) struct Reduction {
    pub(crate) tensor: Ident,
    op: AtomicOp,
    /// The element, made of literals.
    index: TokenStream,
    /// What holds a piece's part.
    part: Ident,
    /// The part that the iteration combines into.
    pub(crate) lane: Ident,
    strict: bool,
}

/// The reductions of a loop's body.
pub(crate) fn find(body: &syn::Block, strict: bool) -> Vec<Reduction> {
    let mut found = Found { reductions: Vec::new(), strict };
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

impl Reduction {
    /// Defines the part of a piece.
    pub(crate) fn begin(&self, support: &TokenStream) -> TokenStream {
        let (part, make) = (&self.part, self.function("part"));
        quote!(let mut #part = #support::#make();)
    }

    /// The lanes of the part.
    pub(crate) fn lanes(&self) -> TokenStream {
        let part = &self.part;
        quote!(#part.lanes())
    }

    /// The function that combines a value into the iteration's lane.
    pub(crate) fn combine(&self, support: &TokenStream) -> TokenStream {
        let (function, strict) = (self.function("reduce"), self.strict);
        quote!(#support::#function::<#strict, _, _>)
    }

    /// Combines the part into the element.
    pub(crate) fn finish(&self, support: &TokenStream) -> TokenStream {
        let Self { tensor, index, part, strict, .. } = self;
        let finish = self.function("finish");
        quote!(#support::#finish::<#strict, _, _>(#part, &#tensor, #index);)
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
    strict: bool,
}

impl Visit<'_> for Found {
    fn visit_stmt(&mut self, stmt: &Stmt) {
        if let Stmt::Expr(Expr::Call(call), Some(_)) = stmt
            && let Some((tensor, op, index)) = atomic(call)
        {
            let known = self.reductions.iter_mut().find(|(known, _)| known.tensor == tensor);
            match known {
                Some((known, uses)) => {
                    let same = known.op == op && known.index.to_string() == index.to_string();
                    *uses += usize::from(same);
                }
                None => {
                    let number = self.reductions.len();
                    let [part, lane] =
                        ["part", "lane"].map(|name| internal(&format!("{name}{number}")));
                    let strict = self.strict;
                    self.reductions.push((Reduction { tensor, op, index, part, lane, strict }, 1));
                }
            }
        }
        syn::visit::visit_stmt(self, stmt);
    }
}

/// Tensor, operation and index of an atomic on an element that literals name.
fn atomic(call: &syn::ExprCall) -> Option<(Ident, AtomicOp, TokenStream)> {
    let Expr::Path(path) = &*call.func else { return None };
    let op = tree::atomic(&path.path.segments.last()?.ident.to_string())?;
    let mut place = call.args.first()?.clone();
    let Expr::Index(element) = tree::element(&mut place)? else { return None };
    let Expr::Path(base) = &*element.expr else { return None };
    let literal = match &*element.index {
        Expr::Array(array) => array.elems.iter().all(|index| matches!(index, Expr::Lit(_))),
        index => matches!(index, Expr::Lit(_)),
    };
    let known = literal && call.args.len() == 2;
    known.then_some((base.path.get_ident()?.clone(), op, element.index.to_token_stream()))
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
