//! The CPU body of a kernel: the user's code with other loop headers, and rewritten as [`rewrite`](crate::rewrite)
//! says.
//!
//! Parallel loops become closures over index ranges. They capture by value and rebind what they use, so that pointers
//! and extents stay in registers.

mod cost;
mod guards;
mod jumps;
mod loops;
mod scope;
mod short_axes;
mod strips;

use proc_macro2::{Delimiter, Group, Ident, TokenStream};
use quote::quote;
use syn::{Expr, ExprCall, Stmt};

use crate::{
    ast::{
        grid_rank, has_loop, has_parallel_branch, is_block_for, is_serial, is_stream_parallel,
        pattern_names, unparenthesized,
    },
    rewrite::{SiteTypes, closure_parameter},
    signature::Param,
    spans,
    tokens::internal,
};

use cost::weight;
use scope::BodyScope;

/// The state while the body of a kernel is made.
pub(crate) struct CpuBody<'a> {
    scope: BodyScope<'a>,
    /// The variables for the `stream_parallel` blocks so far.
    blocks: Vec<Ident>,
    /// The cost of all parallel loops so far.
    weight: u32,
    /// Whether the kernel is `strict`: no float sums are reassociated.
    strict: bool,
    /// The numbers of dimensions of the loops so far.
    loops: Vec<usize>,
    /// How many words the interiors of the loops so far have in a launch.
    interior_words: usize,
}

impl<'a> CpuBody<'a> {
    pub(crate) fn new(
        support: &'a TokenStream,
        params: &[Param],
        strict: bool,
        typing: SiteTypes<'a>,
    ) -> Self {
        let scope = BodyScope::new(support, params, typing);
        Self { scope, blocks: Vec::new(), weight: 0, strict, loops: Vec::new(), interior_words: 0 }
    }

    /// The statements and the value of a kernel. `elements` is the size of its largest tensor.
    /// Also the numbers of dimensions of its loops, 0 for grids of thread blocks.
    pub(crate) fn kernel(
        mut self,
        block: &syn::Block,
        elements: &TokenStream,
    ) -> (TokenStream, Vec<usize>) {
        let (value, stmts) = match block.stmts.split_last() {
            Some((Stmt::Expr(value, None), stmts)) if !is_parallel(value) => (Some(value), stmts),
            _ => (None, &block.stmts[..]),
        };
        let stmts = self.statements(stmts);
        let value = value.map(|value| self.value(value));
        let region = (!self.blocks.is_empty()).then(|| {
            let (cx, blocks, weight) = (&self.scope.cx, &self.blocks, self.weight);
            quote!(#cx.region(&[#(&#blocks),*], #elements, #weight);)
        });
        (quote!(#stmts #region #value), self.loops)
    }

    fn statements(&mut self, stmts: &[Stmt]) -> TokenStream {
        stmts.iter().map(|stmt| self.statement(stmt)).collect()
    }

    fn statement(&mut self, stmt: &Stmt) -> TokenStream {
        match stmt {
            Stmt::Expr(Expr::ForLoop(each), _) if !is_serial(each) => self.parallel_for(each),
            Stmt::Expr(Expr::Call(call), _) if is_stream_parallel(call) => {
                self.stream_parallel(call)
            }
            Stmt::Expr(Expr::Call(call), _) if is_block_for(call) => self.block_for(call),
            Stmt::Expr(expr, end) if has_parallel_branch(expr) => {
                let branches = self.branches(expr);
                quote!(#branches #end)
            }
            Stmt::Local(local) => {
                let tokens = self.scope.stmt(stmt);
                self.scope.bind_values(pattern_names(&local.pat));
                tokens
            }
            other => self.serial(other),
        }
    }

    /// The value of the kernel, or of a block with parallel loops.
    fn value(&mut self, value: &Expr) -> TokenStream {
        if has_parallel_branch(value) { self.branches(value) } else { self.scope.expr(value) }
    }

    /// Branches or braces at the top level that have parallel loops.
    fn branches(&mut self, expr: &Expr) -> TokenStream {
        // What is not in a block is rewritten with the blocks in place.
        let mut around = unparenthesized(expr).clone();
        match &mut around {
            Expr::If(branch) => {
                self.block(&mut branch.then_branch, &[]);
                if let Some((_, other)) = &mut branch.else_branch
                    && let Expr::Block(other) = &mut **other
                {
                    self.block(&mut other.block, &[]);
                }
            }
            Expr::Match(each) => {
                for arm in &mut each.arms {
                    let bound = pattern_names(&arm.pat);
                    match &mut *arm.body {
                        Expr::Block(body) => self.block(&mut body.block, &bound),
                        // Already rejected: what is emitted does not matter.
                        _ => return TokenStream::new(),
                    }
                }
            }
            Expr::Block(syn::ExprBlock { block, .. })
            | Expr::Unsafe(syn::ExprUnsafe { block, .. }) => self.block(block, &[]),
            _ => {}
        }
        self.scope.expr(&around)
    }

    /// A block at the top level, in which names are bound.
    fn block(&mut self, block: &mut syn::Block, bound: &[Ident]) {
        let mark = self.scope.mark();
        self.scope.bind_values(bound.to_vec());
        let (value, stmts) = match block.stmts.split_last() {
            Some((Stmt::Expr(value, None), stmts)) if !is_parallel(value) => (Some(value), stmts),
            _ => (None, &block.stmts[..]),
        };
        let stmts = self.statements(stmts);
        let value = value.map(|value| self.value(value));
        self.scope.release(mark);
        block.stmts = vec![Stmt::Expr(Expr::Verbatim(quote!(#stmts #value)), None)];
    }

    /// A statement outside of parallel loops. One with loops is compiled without and with checks.
    fn serial(&self, stmt: &Stmt) -> TokenStream {
        let checked = self.scope.stmt(stmt);
        let tensors = self.scope.proven(stmt);
        if !has_loop(stmt) || tensors.is_empty() {
            return checked;
        }
        let cx = &self.scope.cx;
        quote!(if #cx.is_proven() { #tensors #checked } else { #checked })
    }

    fn stream_parallel(&mut self, call: &ExprCall) -> TokenStream {
        let Some(Expr::Closure(closure)) = call.args.first() else {
            // Already rejected: what is emitted does not matter.
            return TokenStream::new();
        };
        let mark = self.scope.mark();
        let body = match &*closure.body {
            Expr::Block(block) => self.statements(&block.block.stmts),
            other => self.statement(&Stmt::Expr(other.clone(), Some(Default::default()))),
        };
        self.scope.release(mark);
        let block = internal(&format!("block{}", self.blocks.len()));
        self.blocks.push(block.clone());
        let cx = &self.scope.cx;
        let rebound = self.scope.rebound(&closure.body, None);
        quote! {
            let #block = #cx.block(#[inline(always)] move || { #rebound #body });
        }
    }

    /// A loop over thread blocks. Each iteration runs the phases of one block.
    fn block_for(&mut self, call: &ExprCall) -> TokenStream {
        let mut args = call.args.iter();
        let (Some(blocks), Some(threads), Some(Expr::Closure(closure))) =
            (args.next(), args.next(), args.next())
        else {
            // Already rejected: what is emitted does not matter.
            return TokenStream::new();
        };
        let body = &closure.body;
        let weight = weight(&syn::parse_quote!({ #body }));
        self.weight = self.weight.saturating_add(weight);
        let number = self.loops.len();
        self.loops.push(0);
        let scope = &self.scope;
        let chunk = internal("chunk");
        let rebound = scope.rebound(body, Some(&chunk));
        let in_grid = grid_rank(blocks).is_some();
        let (blocks, threads) = (scope.expr(blocks), scope.expr(threads));
        let (cx, support, pattern) = (&scope.cx, scope.support, closure_parameter(closure));
        let mut rewrite = scope.rewrite(&[], false);
        if let Some(pattern) = pattern {
            rewrite.bind_blocks(pattern);
        }
        let body = rewrite.expr((**body).clone());
        let [count, size, begin, end, index] =
            ["count", "size", "begin", "end", "index"].map(internal);
        let (all, this) = if in_grid {
            (quote!(#support::block_count(#count)), quote!(#support::block_index(#count, #index)))
        } else {
            (quote!(#count), quote!(#index))
        };
        let arguments = quote! {
            #support::LoopAt::blocks(#number), 0..#all, #support::block_weight(#size, #weight),
            #[inline(always)] move |([(#begin, #end)], #chunk)| {
                #rebound
                for #index in #begin..#end {
                    let #pattern = #cx.threads(#this, #size, #chunk);
                    #body
                }
            }
        };
        let call = loop_call(spans::first(call), cx, "par_for", arguments);
        quote! {{
            let (#count, #size) = #support::grid(#support::gate::<__OK, _>(#blocks), #threads);
            #call
        }}
    }
}

fn is_parallel(expr: &Expr) -> bool {
    match expr {
        Expr::ForLoop(each) => !is_serial(each),
        Expr::Call(call) => is_stream_parallel(call) || is_block_for(call),
        _ => false,
    }
}

/// A call of the context's method for a loop. Errors are reported at the loop, at `start`.
fn loop_call(
    start: proc_macro2::Span,
    cx: &Ident,
    method: &str,
    arguments: TokenStream,
) -> TokenStream {
    let method = Ident::new(method, start);
    let mut arguments = Group::new(Delimiter::Parenthesis, arguments);
    arguments.set_span(start);
    quote!(#cx.#method #arguments;)
}
