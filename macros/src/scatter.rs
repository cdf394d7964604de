//! Code generation for scatters in the CPU body: finds tensors that a parallel loop uses only to combine values into
//! elements that each iteration chooses, as in `atomic_add(&mut bins[x[i]], 1);`, and lets the chunks of the loop
//! combine into private copies of small tensors.

use proc_macro2::{Ident, TokenStream};
use quadrants_frontend::syntax::AtomicOp;
use quote::{format_ident, quote};
use syn::{
    Expr, ExprMethodCall, Stmt,
    visit::{self, Visit},
};

use crate::{
    ast::{combining_atomic, unparenthesized},
    reduce::LoopReduction,
    tokens::{idents, internal},
};

/// A tensor that a loop scatters into.
pub(crate) struct LoopScatter {
    tensor: Ident,
    op: AtomicOp,
    /// The variable with the private copies.
    copies: Ident,
    /// The variable that says whether a chunk has a private copy.
    is_private: Ident,
    strict: bool,
}

/// What a body does with the tensors that it scatters into.
struct ScatterUses {
    /// Each tensor with its operation, and the number of its occurrences that are scatters.
    tensors: Vec<(Ident, AtomicOp, usize)>,
    /// The tensors whose extents are read.
    extents: Vec<Ident>,
}

/// The scatters of a loop into tensors in scope, but for those that `reductions` combines.
pub(crate) fn find(
    each: &syn::ExprForLoop,
    strict: bool,
    reductions: &[LoopReduction],
    is_tensor: impl Fn(&Ident) -> bool,
) -> Vec<LoopScatter> {
    let mut uses = ScatterUses { tensors: Vec::new(), extents: Vec::new() };
    uses.visit_block(&each.body);
    let names = idents(&each.body);
    let ScatterUses { tensors, extents } = uses;
    let found = tensors.into_iter().filter(|(tensor, _, scatters)| {
        let known = scatters + extents.iter().filter(|name| *name == tensor).count();
        // The body uses the tensor for nothing else, and nothing else has its name.
        names.iter().filter(|name| *name == tensor).count() == known
            && is_tensor(tensor)
            && !reductions.iter().any(|reduction| reduction.is_of_tensor(tensor))
    });
    found
        .enumerate()
        .map(|(number, (tensor, op, _))| LoopScatter {
            tensor,
            op,
            copies: internal(&format!("copies{number}")),
            is_private: internal(&format!("private{number}")),
            strict,
        })
        .collect()
}

impl LoopScatter {
    /// Whether this is the scatter of an operation into a tensor.
    pub(crate) fn is_of(&self, tensor: &Expr) -> bool {
        matches!(tensor, Expr::Path(path) if path.path.is_ident(&self.tensor))
    }

    /// The statements before and after a loop, around those of the loop.
    pub(crate) fn around(&self, support: &TokenStream, inner: TokenStream) -> TokenStream {
        let Self { tensor, copies, .. } = self;
        let owner = internal(&format!("{copies}_owner"));
        let total = self.function("scatter_total");
        quote! {
            let #owner = #support::Scatter::new();
            {
                let #copies = &#owner;
                #inner
            }
            #support::#total(#owner, #tensor);
        }
    }

    /// Rebinds the tensor in a part of a chunk.
    pub(crate) fn begin(&self, support: &TokenStream, chunk: &Ident) -> TokenStream {
        let Self { tensor, copies, is_private, strict, .. } = self;
        let begin = self.function("scatter_begin");
        quote! {
            let (mut #tensor, #is_private) = #support::gate::<__OK, _>(
                #support::#begin::<#strict, _, _>(#copies, #tensor, #chunk)
            );
        }
    }

    /// The function that combines a value into an element, and its first argument.
    pub(crate) fn combine(&self) -> (Ident, &Ident) {
        (self.function("scatter"), &self.is_private)
    }

    fn function(&self, what: &str) -> Ident {
        format_ident!("{}", self.op.name().replace("atomic", what))
    }
}

impl Visit<'_> for ScatterUses {
    fn visit_stmt(&mut self, stmt: &Stmt) {
        if let Stmt::Expr(Expr::Call(call), Some(_)) = stmt
            && let Some((tensor, op, _)) = combining_atomic(call)
        {
            let known = self.tensors.iter_mut().find(|(known, ..)| *known == tensor);
            match known {
                Some((_, of, scatters)) if *of == op => *scatters += 1,
                Some(_) => {}
                None => self.tensors.push((tensor, op, 1)),
            }
        }
        visit::visit_stmt(self, stmt);
    }

    fn visit_expr_method_call(&mut self, call: &ExprMethodCall) {
        if (call.method == "len" || call.method == "shape")
            && let Expr::Path(path) = unparenthesized(&call.receiver)
        {
            self.extents.extend(path.path.get_ident().cloned());
        }
        visit::visit_expr_method_call(self, call);
    }
}
