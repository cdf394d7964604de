//! Parallel loops of a CPU body.

use proc_macro2::{Ident, TokenStream};
use quadrants_frontend::syntax::Order;
use quote::{ToTokens, quote};
use syn::{Block, Expr, ExprForLoop, Pat, RangeLimits, visit_mut::VisitMut};

use super::{
    CpuBody,
    cost::{exact_weight, is_simple, weight},
    guards::GuardedLoop,
    jumps, loop_call, short_axes, strips,
};
use crate::{
    affine::{affine_tensors, variable},
    ast::{RangeChain, has_loop, is_ndrange, range_chain, unparenthesized},
    reduce::{self, LoopReduction},
    rewrite::iteration_label,
    scatter::{self, LoopScatter},
    tokens::internal,
};

impl CpuBody<'_> {
    pub(super) fn parallel_for(&mut self, each: &ExprForLoop) -> TokenStream {
        let weight = weight(&each.body);
        self.weight = self.weight.saturating_add(weight);
        if let Some(range) = self.stepped_range((*each.expr).clone()) {
            let (weight, _) = exact_weight(&self.scope, each, None);
            return self.stepped_for(each, &weight, &range);
        }
        let support = self.scope.support;
        let chunk = internal("chunk");
        let rebound = self.scope.rebound(&each.body, Some(&chunk));
        let iterated = self.scope.expr(&each.expr);
        let reductions = reduce::find(each, self.strict);
        let is_space = matches!(unparenthesized(&each.expr), Expr::Call(call) if is_ndrange(call));
        let variables: Vec<&Pat> = match &*each.pat {
            Pat::Tuple(tuple) => tuple.elems.iter().collect(),
            single => vec![single],
        };
        let guarded = match (variables.last(), reductions.is_empty()) {
            (Some(last), true) => GuardedLoop::new(&self.scope, each, last),
            _ => None,
        };
        let inner = guarded.as_ref().map_or(each, |guarded| &guarded.each);
        let scatters = self.scatters(inner, &reductions);
        let body = self.iteration(inner, &reductions, &scatters);
        let copies: TokenStream =
            scatters.iter().map(|scatter| scatter.begin(support, &chunk)).collect();
        let at = self.loop_at(variables.len());
        let bounds: Vec<_> = (0..variables.len())
            .map(|k| (internal(&format!("begin{k}")), internal(&format!("end{k}"))))
            .collect();
        let innermost = variables.len().saturating_sub(1);
        let strips =
            variables.last().and_then(|last| strips::strips(&self.scope, inner, last, &reductions));
        let nested = variables.iter().zip(&bounds).enumerate();
        let loops = nested.rev().fold(body, |body, (at, (pattern, (begin, end)))| {
            let label = (at == innermost).then(|| {
                let label = iteration_label();
                quote!(#label:)
            });
            if at == innermost && !reductions.is_empty() {
                let bounds = (begin, end);
                return match &strips {
                    Some(strips) => {
                        let plain = self.reduction_rest(&reductions, bounds, pattern, &body, true);
                        strips.around(support, bounds, &plain, &chunk)
                    }
                    None => self.reduction_strips(each, &reductions, bounds, pattern, &body),
                };
            }
            // The user's block has its own braces; an outer loop needs them around the inner one.
            let plain =
                quote!({ #label for #pattern in #support::gate::<__OK, _>(#begin..#end) #body });
            let row = match &strips {
                Some(strips) if at == innermost => {
                    strips.around(support, (begin, end), &plain, &chunk)
                }
                _ => plain,
            };
            match &guarded {
                Some(guarded) if at == innermost => guarded.limit(&self.scope, (begin, end), &row),
                _ => row,
            }
        });
        let loops = self.with_reductions(&reductions, loops, &chunk);
        let is_tensor = |name: &Ident| self.scope.is_tensor(name);
        let loops = short_axes::versions(support, &each.body, is_tensor, loops);
        let inspected = self.inspected(&each.body, &variables, &bounds);
        let (begins, ends) = bounds.into_iter().unzip::<_, _, Vec<_>, Vec<_>>();
        let space = internal("space");
        let again = quote!(::core::clone::Clone::clone(&#space));
        let (weight, uses_space) = match reductions.is_empty() && is_simple(&each.body) {
            true => (quote!(#support::LightIterationCost(#weight)), false),
            false => exact_weight(&self.scope, each, Some(&again)),
        };
        // It is evaluated once: calls of funcs in it have effects.
        let bound = uses_space.then(|| quote!(let #space = #iterated;));
        let iterated = if uses_space { again } else { iterated };
        let method = match &strips {
            _ if is_space => "nd_for",
            None => "par_for",
            Some(_) => "par_for_strips",
        };
        let width = strips.iter().filter(|_| !is_space).map(|strips| strips.width());
        let arguments = quote! {
            #at, #iterated, #weight, #(#width,)*
            #[inline(always)] move |([#((#begins, #ends)),*], #chunk)| { #rebound #copies #inspected #loops }
        };
        let call = loop_call(each.for_token.span, &self.scope.cx, method, arguments);
        let call = if uses_space { quote!({ #bound #call }) } else { call };
        around(&reductions, &scatters, support, call)
    }

    /// Statements that, in an inspection, check accesses for all iterations at once.
    fn inspected(
        &self,
        body: &Block,
        variables: &[&Pat],
        bounds: &[(Ident, Ident)],
    ) -> Option<TokenStream> {
        let variables: Option<Vec<Ident>> = variables.iter().copied().map(variable).collect();
        let tensors = affine_tensors(body, &variables?, &|name| self.scope.is_tensor(name));
        let bounds: Vec<_> =
            bounds.iter().map(|(begin, end)| (quote!(#begin), quote!(#end))).collect();
        let ok = internal("ok");
        let checks = tensors.iter().map(|tensor| tensor.inspect(self.scope.support, &ok, &bounds));
        let checks: Vec<_> = checks.collect();
        (!checks.is_empty()).then(|| {
            quote! {
                let mut #ok = true;
                #(#checks)*
                if !#ok { return; }
            }
        })
    }

    /// The values of a loop whose range is inclusive, reversed or has a step; `None` for others.
    fn stepped_range(&self, mut iterated: Expr) -> Option<TokenStream> {
        let RangeChain { range, step, order } = range_chain(&mut iterated)?;
        let (range, step) = (range.clone(), step.cloned());
        let is_half_open = matches!(range.limits, RangeLimits::HalfOpen(_));
        if order == Order::Up && step.is_none() && is_half_open {
            return None;
        }
        let support = self.scope.support;
        let range = self.scope.expr(&Expr::Range(range));
        let step = step.map_or_else(|| quote!(1), |step| self.scope.expr(&step));
        // The iterations of a parallel loop have no order: `step_by().rev()` has the values of `step_by()`.
        let down = order == Order::Down;
        Some(quote!(#support::gate::<__OK, _>(#support::SteppedRange::new(#range, #step, #down))))
    }

    /// The number of the next loop, and the position of its interior among those of a launch. As in the IR, each
    /// dimension has a begin and an end.
    fn loop_at(&mut self, dims: usize) -> TokenStream {
        let (number, at, support) = (self.loops.len(), self.interior_words, self.scope.support);
        self.loops.push(dims);
        self.interior_words += 2 * dims;
        quote!(#support::LoopAt::range(#number, #at))
    }

    /// A loop over the numbers of a stepped range's values.
    fn stepped_for(
        &mut self,
        each: &ExprForLoop,
        weight: &TokenStream,
        range: &TokenStream,
    ) -> TokenStream {
        let at = self.loop_at(1);
        let chunk = internal("chunk");
        let rebound = self.scope.rebound(&each.body, Some(&chunk));
        let reductions = reduce::find(each, self.strict);
        let scatters = self.scatters(each, &reductions);
        let body = self.iteration(each, &reductions, &scatters);
        let label = iteration_label();
        let (pattern, support) = (&each.pat, self.scope.support);
        let [values, begin, end, nth] = ["values", "begin", "end", "nth"].map(internal);
        let body = quote!({ let #pattern = #support::gate::<__OK, _>(#support::SteppedRange::at(&#values, #nth)); #body });
        let loops = match reductions.is_empty() {
            true => quote!(#label: for #nth in #begin..#end #body),
            false => self.reduction_strips(each, &reductions, (&begin, &end), &nth, &body),
        };
        let loops = self.with_reductions(&reductions, loops, &chunk);
        let copies: TokenStream =
            scatters.iter().map(|scatter| scatter.begin(support, &chunk)).collect();
        let arguments = quote! {
            #at, &#values, #weight,
            #[inline(always)] move |([(#begin, #end)], #chunk)| { #rebound #copies #loops }
        };
        let call = loop_call(each.for_token.span, &self.scope.cx, "par_for_stepped", arguments);
        let call = quote!({ let #values = #range; #call });
        around(&reductions, &scatters, support, call)
    }

    fn scatters(&self, each: &ExprForLoop, reductions: &[LoopReduction]) -> Vec<LoopScatter> {
        scatter::find(each, self.strict, reductions, |name| self.scope.is_tensor(name))
    }

    /// The rewritten body of a parallel loop, for a `for` with the iteration label.
    fn iteration(
        &self,
        each: &ExprForLoop,
        reductions: &[LoopReduction],
        scatters: &[LoopScatter],
    ) -> TokenStream {
        let mut rewrite = self.scope.rewrite(reductions, true);
        rewrite.scatters = scatters;
        rewrite.bind_variables(&each.pat);
        let mut body = each.body.clone();
        if let Some(label) = &each.label {
            jumps::redirect(&mut body, &label.name, &iteration_label());
        }
        let checks = rewrite.variable_checks(each);
        rewrite.visit_block_mut(&mut body);
        body.stmts.splice(0..0, checks);
        body.into_token_stream()
    }

    /// A loop over a range in strips, whose iterations have lanes for what they reduce. Whole strips of bodies without
    /// inner loops have a constant length, so that LLVM keeps the lanes in registers.
    fn reduction_strips(
        &self,
        each: &ExprForLoop,
        reductions: &[LoopReduction],
        (begin, end): (&Ident, &Ident),
        pattern: &impl ToTokens,
        body: &TokenStream,
    ) -> TokenStream {
        let rest = self.reduction_rest(reductions, (begin, end), pattern, body, false);
        if each.body.stmts.iter().any(has_loop) {
            return quote!({ #rest });
        }
        let (support, width) = (self.scope.support, reduce::width(reductions));
        let [from, at] = ["from", "at"].map(internal);
        let label = iteration_label();
        let lanes = reductions.iter().map(|reduction| reduction.lane_at(support, &at));
        quote! {{
            let mut #begin = #begin;
            #[allow(unused_variables, unused_assignments)]
            for #from in #support::whole_strips::<_, #width>(&mut #begin, #end) {
                #support::optimization_barrier();
                #label: for #at in 0..#width {
                    #(#lanes)*
                    let #pattern = #support::gate::<__OK, _>(#support::lane_of(#from, #at));
                    #body
                }
            }
            #rest
        }}
    }

    /// A loop over the iterations outside of whole strips. If `is_after_strips`, the lane of the first one is known.
    fn reduction_rest(
        &self,
        reductions: &[LoopReduction],
        (begin, end): (&Ident, &Ident),
        pattern: &impl ToTokens,
        body: &TokenStream,
        is_after_strips: bool,
    ) -> TokenStream {
        let (support, width) = (self.scope.support, reduce::width(reductions));
        let [from, to] = ["from", "to"].map(internal);
        let (label, position) = (iteration_label(), strips::reduction_position());
        let start = (pattern.to_token_stream(), quote!(#support::gate::<__OK, _>(#from..#to)));
        let (pattern, iterated) =
            reductions.iter().fold(start, |(pattern, iterated), reduction| {
                let (lane, mut lanes) = (&reduction.lane, reduction.rest(support));
                if is_after_strips {
                    lanes = quote!(::core::iter::Iterator::skip(#lanes, #position));
                }
                (quote!((#lane, #pattern)), quote!(::core::iter::Iterator::zip(#lanes, #iterated)))
            });
        quote! {
            for (#from, #to) in #support::strips::<_, #width>(#begin, #end) {
                #label: for #pattern in #iterated #body
            }
        }
    }

    /// The loops of a chunk, between the definition and the combination of its partial results.
    fn with_reductions(
        &self,
        reductions: &[LoopReduction],
        loops: TokenStream,
        chunk: &Ident,
    ) -> TokenStream {
        let (support, width) = (self.scope.support, reduce::width(reductions));
        let begins = reductions.iter().map(|reduction| reduction.begin(support, width));
        let ends = reductions.iter().map(|reduction| reduction.finish(support, chunk));
        quote!(#(#begins)* #loops #(#ends)*)
    }
}

/// A loop's call, with the accumulators and private copies of what it combines into.
fn around(
    reductions: &[LoopReduction],
    scatters: &[LoopScatter],
    support: &TokenStream,
    call: TokenStream,
) -> TokenStream {
    let call = reductions.iter().fold(call, |call, reduction| reduction.around(support, call));
    scatters.iter().fold(call, |call, scatter| scatter.around(support, call))
}
