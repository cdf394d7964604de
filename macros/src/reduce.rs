//! Code generation for reductions in the CPU body: finds tensors that a parallel loop uses only to combine values into
//! one element, as in `atomic_add(&mut sum[0], x[i]);`, and [locals](crate::combine) that it combines into, and emits
//! partial results per chunk of the loop.

use std::collections::HashSet;

use proc_macro2::{Ident, Span, TokenStream};
use quadrants_frontend::syntax::AtomicOp;
use quote::{ToTokens, format_ident, quote};
use syn::{Expr, Stmt, visit::Visit};

use crate::{
    ast::{combining_atomic, loop_bindings, unparenthesized},
    combine::combinations,
    marks,
    text::depends_on_macro,
    tokens::{idents, internal},
};

#[cfg(test)]
mod tests;

/// The most reductions of a loop into tensors: more would take too many registers.
const AT_MOST: usize = 4;

/// Iterations of a strip with one reduction, whose parts are kept in lanes: four AVX-512 registers of 32-bit values,
/// which hide the latency of an addition. LLVM would unroll shorter strips of short bodies before vectorizing them.
const WIDE: usize = 64;

/// Iterations of a strip with several reductions.
const NARROW: usize = 32;

/// What a loop reduces into.
pub(crate) struct LoopReduction {
    pub(crate) target: ReductionPlace,
    op: AtomicOp,
    /// The variable with the [accumulator](Self::around).
    total: Ident,
    /// The variable with the partial results of a chunk's whole strips.
    part: Ident,
    /// The variable with those of its other iterations. LLVM keeps no lanes in registers that are chosen at run time.
    rest: Ident,
    /// The variable for the partial result that an iteration combines into.
    pub(crate) lane: Ident,
    strict: bool,
}

/// The place that a loop reduces into.
pub(crate) enum ReductionPlace {
    /// An element of a tensor.
    Element {
        /// The tensor.
        tensor: Ident,
        /// The index, by literals and names that mean the same outside of the loop.
        index: TokenStream,
    },
    /// A local of the kernel.
    Local {
        /// The local.
        name: Ident,
    },
}

pub(crate) fn find(each: &syn::ExprForLoop, strict: bool) -> Vec<LoopReduction> {
    let body = &each.body;
    let mut candidates =
        ReductionCandidates { reductions: Vec::new(), bound: loop_bindings(each), strict };
    candidates.visit_block(body);
    let names = idents(body);
    let all = candidates.reductions.into_iter();
    // The body uses the tensor for nothing else, and nothing else has its name.
    let only = all.filter(|(reduction, uses)| {
        names.iter().filter(|name| reduction.is_of_tensor(name)).count() == *uses
    });
    let elements = only.map(|(reduction, _)| reduction).take(AT_MOST);
    let locals = combinations(body).into_iter().enumerate().map(|(number, (name, op))| {
        LoopReduction::new(ReductionPlace::Local { name }, op, &format!("_local{number}"), strict)
    });
    elements.chain(locals).collect()
}

/// How many iterations a strip has.
pub(crate) fn width(reductions: &[LoopReduction]) -> usize {
    if reductions.len() > 1 { NARROW } else { WIDE }
}

impl LoopReduction {
    fn new(target: ReductionPlace, op: AtomicOp, number: &str, strict: bool) -> Self {
        let [part, rest, lane, total] =
            ["part", "rest", "lane", "total"].map(|name| internal(&format!("{name}{number}")));
        Self { target, op, total, part, rest, lane, strict }
    }

    pub(crate) fn is_of_tensor(&self, name: &Ident) -> bool {
        matches!(&self.target, ReductionPlace::Element { tensor, .. } if tensor == name)
    }

    pub(crate) fn is_of_local(&self, name: &Ident) -> bool {
        matches!(&self.target, ReductionPlace::Local { name: local, .. } if local == name)
    }

    /// The statements before and after a loop, around those of the loop.
    pub(crate) fn around(&self, support: &TokenStream, inner: TokenStream) -> TokenStream {
        let Self { total, strict, .. } = self;
        let owner = internal(&format!("{total}_owner"));
        let end = match &self.target {
            ReductionPlace::Element { tensor, index } => {
                let function = self.function("total");
                quote!(#support::#function::<#strict, _, _>(#owner, &#tensor, #index);)
            }
            ReductionPlace::Local { name } => {
                let function = self.function("local_total");
                quote!(#name = #support::#function(#owner, #name);)
            }
        };
        quote! {
            let #owner = #support::Accumulator::new();
            {
                let #total = &#owner;
                #inner
            }
            #end
        }
    }

    /// The function that combines a value into the iteration's lane of a local.
    pub(crate) fn combine_local(
        &self,
        support: &TokenStream,
        subtracts: bool,
        at: Span,
    ) -> TokenStream {
        let mut function = if subtracts { internal("local_sub") } else { self.function("local") };
        function.set_span(at);
        quote!(#support::#function)
    }

    /// Defines the partial results of a chunk.
    pub(crate) fn begin(&self, support: &TokenStream, width: usize) -> TokenStream {
        let (make, part, rest) = (self.function("partial"), &self.part, &self.rest);
        quote! {
            let mut #part = #support::#make::<_, #width>();
            let mut #rest = #support::#make::<_, #width>();
        }
    }

    /// Defines the lane of an iteration by its number in a whole strip.
    pub(crate) fn lane_at(&self, support: &TokenStream, at: &Ident) -> TokenStream {
        let Self { part, lane, .. } = self;
        quote!(let #lane = #support::Partial::lane(&mut #part, #at);)
    }

    pub(crate) fn is_of_locals(&self) -> bool {
        matches!(self.target, ReductionPlace::Local { .. })
    }

    /// Defines the lane of an iteration among those outside of whole strips, by its position.
    pub(crate) fn rest_lane_at(&self, support: &TokenStream, at: &TokenStream) -> TokenStream {
        let Self { rest, lane, .. } = self;
        quote!(let #lane = #support::Partial::lane(&mut #rest, #at);)
    }

    /// The lanes of the iterations outside of whole strips.
    pub(crate) fn rest(&self, support: &TokenStream) -> TokenStream {
        let rest = &self.rest;
        quote!(#support::Partial::lanes(&mut #rest))
    }

    /// The function that combines a value into the iteration's lane.
    pub(crate) fn combine(&self, support: &TokenStream) -> TokenStream {
        let (function, strict) = (self.function("reduce"), self.strict);
        quote!(#support::#function::<#strict, _, _>)
    }

    /// Leaves the partial results of a chunk in the accumulator.
    pub(crate) fn finish(&self, support: &TokenStream, chunk: &Ident) -> TokenStream {
        let Self { part, rest, total, strict, .. } = self;
        match &self.target {
            ReductionPlace::Element { .. } => {
                let finish = self.function("finish");
                quote!(#support::#finish((#part, #rest), #total, #chunk);)
            }
            ReductionPlace::Local { .. } => {
                let finish = self.function("local_finish");
                quote!(#support::#finish::<#strict, _, _>((#part, #rest), #total, #chunk);)
            }
        }
    }

    fn function(&self, what: &str) -> Ident {
        format_ident!("{}", self.op.name().replace("atomic", what))
    }
}

struct ReductionCandidates {
    /// Possible reductions, and how many atomics combine into each.
    reductions: Vec<(LoopReduction, usize)>,
    /// The names that the loop binds.
    bound: HashSet<Ident>,
    strict: bool,
}

impl Visit<'_> for ReductionCandidates {
    fn visit_stmt(&mut self, stmt: &Stmt) {
        if let Stmt::Expr(Expr::Call(call), Some(_)) = stmt
            && let Some((tensor, op, index)) = self.atomic(call)
        {
            let number = self.reductions.len();
            let known = self.reductions.iter_mut().find(|(known, _)| known.is_of_tensor(&tensor));
            if let Some((known, uses)) = known {
                let text = index.to_string();
                let same_index = matches!(&known.target, ReductionPlace::Element { index, .. } if index.to_string() == text && !depends_on_macro(&text));
                let same = known.op == op && same_index;
                *uses += usize::from(same);
            } else {
                let target = ReductionPlace::Element { tensor, index };
                let reduction = LoopReduction::new(target, op, &number.to_string(), self.strict);
                self.reductions.push((reduction, 1));
            }
        }
        syn::visit::visit_stmt(self, stmt);
    }
}

impl ReductionCandidates {
    /// Tensor, operation and index of an atomic on an element that is the same for all iterations.
    fn atomic(&self, call: &syn::ExprCall) -> Option<(Ident, AtomicOp, TokenStream)> {
        let (tensor, op, element) = combining_atomic(call)?;
        let fixed = match &*element.index {
            Expr::Array(array) => array.elems.iter().all(|index| self.is_fixed(index)),
            index => self.is_fixed(index),
        };
        let index = marks::without(element.index.to_token_stream());
        fixed.then_some((tensor, op, index))
    }

    /// Whether all iterations find the same value in an index. No iteration can assign a name from outside.
    fn is_fixed(&self, index: &Expr) -> bool {
        match unparenthesized(index) {
            Expr::Lit(_) => true,
            Expr::Path(path) => {
                !path.path.get_ident().is_some_and(|name| self.bound.contains(name))
            }
            Expr::Cast(cast) => self.is_fixed(&cast.expr),
            _ => false,
        }
    }
}
