//! The CPU body: the author's tokens, with what a processor needs in place of what a GPU would take as
//! it stands.
//!
//! Parallel loops become closures over index ranges, which capture by value and bind anew what they
//! use, so that pointers and extents stay in registers. Inside, only elements of tensors, atomics, `assert!`
//! and the divisors of `/` and `%` change.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream};
use quadrants_frontend::syntax::{Order, ParamPassing};
use quote::{ToTokens, quote, quote_spanned};
use syn::{
    Expr, Pat, Stmt,
    visit_mut::{VisitMut, visit_expr_mut},
};

use crate::{
    index::{is_assignment, is_simple_place},
    reduce::{self, Reduction},
    signature::Param,
    sites::{self, Site},
    spans,
    tree::{self, Assert, Chain},
};

mod cost;
mod jumps;
mod lanes;
mod typing;

use cost::{identifiers, is_simple, names, weight};
pub(crate) use typing::Typing;

/// Makes a kernel's body.
pub(crate) struct Body<'a> {
    /// The path of the support code.
    support: &'a TokenStream,
    /// The context that the body runs in.
    cx: Ident,
    /// The names in scope, and whether each is a tensor's.
    names: Vec<(Ident, bool)>,
    blocks: Vec<Ident>,
    weight: u32,
    /// Whether sums of floats stay as they are written.
    strict: bool,
    /// How many words the interiors of the loops before take.
    inside: usize,
    typing: Typing<'a>,
}

/// Replaces what differs inside loops and in funcs.
pub(crate) struct Rewrite<'a> {
    pub(crate) support: &'a TokenStream,
    /// What the loop around keeps for each of its pieces.
    pub(crate) reductions: &'a [Reduction],
    /// The names of tensors and of what threads share, whose own indexing is checked.
    pub(crate) tensors: Vec<Ident>,
    /// The names of values in scope.
    pub(crate) locals: Vec<Ident>,
    /// The names of blocks of threads in scope.
    pub(crate) blocks: Vec<Ident>,
    /// The context, in an iteration or a thread's phase, which a failed assertion ends.
    pub(crate) iteration: Option<Ident>,
    typing: Typing<'a>,
}

impl<'a> Body<'a> {
    pub(crate) fn new(
        support: &'a TokenStream,
        params: &[Param],
        strict: bool,
        typing: Typing<'a>,
    ) -> Self {
        Self {
            typing,
            support,
            cx: internal("cx"),
            names: params
                .iter()
                .map(|param| (param.name.clone(), param.passing != ParamPassing::Value))
                .collect(),
            blocks: Vec::new(),
            weight: 0,
            strict,
            inside: 0,
        }
    }

    /// The statements and the value of a kernel. `elements` is the size of its largest tensor.
    pub(crate) fn kernel(mut self, block: &syn::Block, elements: &TokenStream) -> TokenStream {
        let (value, stmts) = match block.stmts.split_last() {
            Some((Stmt::Expr(value, None), stmts)) if !self.is_parallel(value) => {
                (Some(value), stmts)
            }
            _ => (None, &block.stmts[..]),
        };
        let stmts = self.statements(stmts);
        let value = value.map(|value| self.rewritten(value.clone()));
        let region = (!self.blocks.is_empty()).then(|| {
            let (cx, blocks, weight) = (&self.cx, &self.blocks, self.weight);
            quote!(#cx.region(&[#(&#blocks),*], #elements, #weight);)
        });
        quote!(#stmts #region #value)
    }

    fn statements(&mut self, stmts: &[Stmt]) -> TokenStream {
        stmts.iter().map(|stmt| self.statement(stmt)).collect()
    }

    fn statement(&mut self, stmt: &Stmt) -> TokenStream {
        match stmt {
            Stmt::Expr(Expr::ForLoop(each), _) if !is_serial(each) => self.parallel_for(each),
            Stmt::Expr(Expr::Call(call), _) if is_region(call) => self.block(call),
            Stmt::Expr(Expr::Call(call), _) if is_grid(call) => self.block_for(call),
            Stmt::Local(local) => {
                let stmt = self.rewritten(stmt.clone());
                self.names.extend(names(&local.pat).into_iter().map(|name| (name, false)));
                stmt
            }
            other => self.rewritten(other.clone()),
        }
    }

    fn is_parallel(&self, expr: &Expr) -> bool {
        match expr {
            Expr::ForLoop(each) => !is_serial(each),
            Expr::Call(call) => is_region(call) || is_grid(call),
            _ => false,
        }
    }

    fn block(&mut self, call: &syn::ExprCall) -> TokenStream {
        let Some(Expr::Closure(closure)) = call.args.first() else {
            // Rejected already; what is emitted does not matter.
            return TokenStream::new();
        };
        let known = self.names.len();
        let body = match &*closure.body {
            Expr::Block(block) => self.statements(&block.block.stmts),
            other => self.statement(&Stmt::Expr(other.clone(), Some(Default::default()))),
        };
        self.names.truncate(known);
        let block = internal(&format!("block{}", self.blocks.len()));
        self.blocks.push(block.clone());
        let cx = &self.cx;
        let rebound = self.rebound(closure.body.to_token_stream(), None);
        quote! {
            let #block = #cx.block(#[inline(always)] move || { #rebound #body });
        }
    }

    /// A loop over blocks of threads, each of which goes through its phases by itself.
    fn block_for(&mut self, call: &syn::ExprCall) -> TokenStream {
        let mut args = call.args.iter();
        let (Some(blocks), Some(threads), Some(Expr::Closure(closure))) =
            (args.next(), args.next(), args.next())
        else {
            // Rejected already; what is emitted does not matter.
            return TokenStream::new();
        };
        let body = &closure.body;
        let weight = weight(&syn::parse_quote!({ #body }));
        self.weight = self.weight.saturating_add(weight);
        let rebound = self.rebound(closure.body.to_token_stream(), None);
        let in_grid = tree::rank(blocks).is_some();
        let (blocks, threads) = (self.rewritten(blocks.clone()), self.rewritten(threads.clone()));
        let (cx, support, pattern) = (&self.cx, self.support, parameter(closure));
        let body = self.rewritten_under(pattern, (*closure.body).clone());
        let [count, size, begin, end, index] =
            ["count", "size", "begin", "end", "index"].map(internal);
        let start = spans::first(call);
        let method = Ident::new("par_for", start);
        let (all, this) = if in_grid {
            (quote!(#support::block_count(#count)), quote!(#support::block_index(#count, #index)))
        } else {
            (quote!(#count), quote!(#index))
        };
        let mut arguments = Group::new(
            Delimiter::Parenthesis,
            quote! {
                ::core::option::Option::None, 0..#all, #support::block_weight(#size, #weight),
                #[inline(always)] move |((#begin, #end), _)| {
                    #rebound
                    for #index in #begin..#end {
                        let #pattern = #cx.threads(#this, #size);
                        #body
                    }
                }
            },
        );
        arguments.set_span(start);
        quote! {{
            let (#count, #size) = #support::grid(#support::gate::<__OK, _>(#blocks), #threads);
            #cx.#method #arguments;
        }}
    }

    fn parallel_for(&mut self, each: &syn::ExprForLoop) -> TokenStream {
        let weight = weight(&each.body);
        self.weight = self.weight.saturating_add(weight);
        if let Some(walk) = self.walk((*each.expr).clone()) {
            return self.strided_for(each, weight, &walk);
        }
        let proven = internal("proven");
        let rebound = self.rebound(each.body.to_token_stream(), Some(&proven));
        let iterated = self.rewritten((*each.expr).clone());
        let reductions = reduce::find(each, self.strict);
        let body = self.rewritten_iteration(each, &reductions);
        let inside = self.interior(match &*each.pat {
            Pat::Tuple(tuple) => tuple.elems.len(),
            _ => 1,
        });
        let cx = &self.cx;
        let space = match unparenthesized(&each.expr) {
            Expr::Call(call) => tree::is_ndrange(call),
            _ => false,
        };
        let variables: Vec<&Pat> = match &*each.pat {
            Pat::Tuple(tuple) => tuple.elems.iter().collect(),
            single => vec![single],
        };
        let bounds: Vec<_> = (0..variables.len())
            .map(|k| (internal(&format!("begin{k}")), internal(&format!("end{k}"))))
            .collect();
        let support = self.support;
        let innermost = variables.len().saturating_sub(1);
        let strips = reductions.is_empty().then(|| lanes::strips(self, each, variables[innermost]));
        let strips = strips.flatten();
        let nested = variables.iter().zip(&bounds).enumerate();
        let loops = nested.rev().fold(body, |body, (at, (pattern, (lo, hi)))| {
            let label = (at == innermost).then(|| {
                let label = iteration();
                quote!(#label:)
            });
            if at == innermost && !reductions.is_empty() {
                return self.strips(each, &reductions, (lo, hi), &quote!(#pattern), body);
            }
            // The author's block is its own braces; an outer loop needs them around the inner.
            let plain =
                quote!({ #label for #pattern in #support::gate::<__OK, _>(#lo..#hi) #body });
            match &strips {
                Some(strips) if at == innermost => strips.around(support, (lo, hi), &plain),
                _ => plain,
            }
        });
        let loops = self.reducing(&reductions, loops);
        let (begins, ends) = bounds.into_iter().unzip::<_, _, Vec<_>, Vec<_>>();
        let weight = match reductions.is_empty() && is_simple(&each.body) {
            true => quote!(#support::Simple(#weight)),
            false => quote!(#weight),
        };
        let (method, parameter) = match &strips {
            _ if space => ("nd_for", quote!([#((#begins, #ends)),*])),
            None => ("par_for", quote!((#(#begins, #ends),*))),
            Some(_) => ("par_for_strips", quote!((#(#begins, #ends),*))),
        };
        let width = strips.iter().filter(|_| !space).map(|strips| strips.width());
        let arguments = quote! {
            #inside, #iterated, #weight, #(#width,)*
            #[inline(always)] move |(#parameter, #proven)| { #rebound #loops }
        };
        call(each, cx, method, arguments)
    }

    /// The values of a loop with a step, backwards or through its last bound; none of any other.
    fn walk(&self, mut iterated: Expr) -> Option<TokenStream> {
        let Chain { range, step, order } = tree::chain(&mut iterated)?;
        let (range, step) = (range.clone(), step.cloned());
        let plain = matches!(range.limits, syn::RangeLimits::HalfOpen(_));
        if order == Order::Up && step.is_none() && plain {
            return None;
        }
        let support = self.support;
        let range = self.rewritten(Expr::Range(range));
        let step = match step {
            Some(step) => self.rewritten(step),
            None => quote!(1),
        };
        // The iterations of a parallel loop have no order.
        let down = order == Order::Down;
        Some(quote!(#support::gate::<__OK, _>(#support::SteppedRange::new(#range, #step, #down))))
    }

    /// Where the interior of the next loop is among those of a launch.
    fn interior(&mut self, dims: usize) -> TokenStream {
        let at = self.inside;
        // As the IR has it: begin and end of each dimension.
        self.inside += 2 * dims;
        quote!(::core::option::Option::Some(#at))
    }

    fn strided_for(
        &mut self,
        each: &syn::ExprForLoop,
        weight: u32,
        walk: &TokenStream,
    ) -> TokenStream {
        let inside = self.interior(1);
        let proven = internal("proven");
        let rebound = self.rebound(each.body.to_token_stream(), Some(&proven));
        let reductions = reduce::find(each, self.strict);
        let body = self.rewritten_iteration(each, &reductions);
        let label = iteration();
        let (cx, pattern, support) = (&self.cx, &each.pat, self.support);
        let [values, begin, end, nth] = ["values", "begin", "end", "nth"].map(internal);
        let body = quote!({ let #pattern = #support::gate::<__OK, _>(#support::SteppedRange::at(&#values, #nth)); #body });
        let loops = match reductions.is_empty() {
            true => quote!(#label: for #nth in #begin..#end #body),
            false => self.strips(each, &reductions, (&begin, &end), &nth.to_token_stream(), body),
        };
        let loops = self.reducing(&reductions, loops);
        let arguments = quote! {
            #inside, 0..#support::SteppedRange::len(&#values), #weight,
            #[inline(always)] move |((#begin, #end), #proven)| { #rebound #loops }
        };
        let call = call(each, cx, "par_for", arguments);
        quote!({ let #values = #walk; #call })
    }

    /// A loop over a range in strips, whose iterations have lanes for what they reduce. Whole strips of bodies without
    /// loops have a length that is known, so that LLVM keeps the lanes in registers.
    fn strips(
        &self,
        each: &syn::ExprForLoop,
        reductions: &[Reduction],
        (begin, end): (&Ident, &Ident),
        pattern: &TokenStream,
        body: TokenStream,
    ) -> TokenStream {
        let (support, width) = (self.support, reduce::width(reductions));
        let [from, to, at] = ["from", "to", "at"].map(internal);
        let label = iteration();
        let whole = (!each.body.stmts.iter().any(lanes::has_loop)).then(|| {
            let lanes = reductions.iter().map(|reduction| reduction.lane_at(support, &at));
            quote! {
                if !__CHECKED {
                    #[allow(unused_variables, unused_assignments)]
                    for #from in #support::whole_strips::<_, #width>(&mut #begin, #end) {
                        #support::optimization_barrier();
                        #label: for #at in 0..#width {
                            #(#lanes)*
                            let #pattern = #support::gate::<__OK, _>(#support::lane_of(#from, #at));
                            #body
                        }
                    }
                }
            }
        });
        let range = quote!(#support::gate::<__OK, _>(#from..#to));
        let (pattern, iterated) =
            reductions.iter().fold((pattern.clone(), range), |(pattern, iterated), reduction| {
                let (lane, lanes) = (&reduction.lane, reduction.rest(support));
                (quote!((#lane, #pattern)), quote!(::core::iter::Iterator::zip(#lanes, #iterated)))
            });
        let moved = whole.is_some().then(|| quote!(let mut #begin = #begin;));
        quote! {{
            #moved
            #whole
            for (#from, #to) in #support::strips::<_, #width>(#begin, #end) {
                #label: for #pattern in #iterated #body
            }
        }}
    }

    /// A piece of a loop, and what it keeps of reductions before and after.
    fn reducing(&self, reductions: &[Reduction], loops: TokenStream) -> TokenStream {
        let width = reduce::width(reductions);
        let begins = reductions.iter().map(|reduction| reduction.begin(self.support, width));
        let ends = reductions.iter().map(|reduction| reduction.finish(self.support));
        quote!(#(#begins)* #loops #(#ends)*)
    }

    /// New bindings of the known names that `tokens` use. Tensors get to know in a loop whether its
    /// iterations are `proven`.
    fn rebound(&self, tokens: TokenStream, proven: Option<&Ident>) -> TokenStream {
        let mut used = BTreeSet::new();
        identifiers(tokens, &mut used);
        let mut seen = BTreeSet::new();
        let support = self.support;
        self.names
            .iter()
            .rev()
            .filter(|(name, _)| used.contains(&name.to_string()) && seen.insert(name.to_string()))
            .map(|(name, is_tensor)| match proven {
                Some(proven) if *is_tensor => {
                    quote!(let mut #name = #support::WithProven::with_proven(#name, #proven);)
                }
                _ => quote!(let mut #name = #name;),
            })
            .collect()
    }

    fn rewritten(&self, tokens: impl Rewritable) -> TokenStream {
        tokens.rewritten(&mut self.rewrite(&[], false))
    }

    /// Rewrites code in which the pattern's name is a block of threads.
    fn rewritten_under(&self, pattern: Option<&Pat>, tokens: impl Rewritable) -> TokenStream {
        let mut rewrite = self.rewrite(&[], false);
        if let Some(pattern) = pattern {
            rewrite.hide(pattern);
            rewrite.locals.retain(|local| !names(pattern).contains(local));
            rewrite.blocks.extend(names(pattern));
        }
        tokens.rewritten(&mut rewrite)
    }

    /// The names in scope that are values.
    fn locals(&self) -> Vec<Ident> {
        let last = |name: &Ident| self.names.iter().rev().find(|(known, _)| known == name);
        let values = self.names.iter().filter(|(name, _)| last(name).is_some_and(|(_, t)| !t));
        values.map(|(name, _)| name.clone()).collect()
    }

    /// The body of a parallel loop, whose innermost `for` has the label.
    fn rewritten_iteration(
        &self,
        each: &syn::ExprForLoop,
        reductions: &[Reduction],
    ) -> TokenStream {
        let mut rewrite = self.rewrite(reductions, true);
        rewrite.hide(&each.pat);
        let mut body = each.body.clone();
        if let Some(label) = &each.label {
            jumps::redirect(&mut body, &label.name, &iteration());
        }
        let seen = rewrite.seen(each);
        rewrite.visit_block_mut(&mut body);
        body.stmts.splice(0..0, seen);
        body.into_token_stream()
    }

    fn is_tensor(&self, name: &Ident) -> bool {
        self.rewrite(&[], false).tensors.contains(name)
    }

    fn rewrite<'r>(&'r self, reductions: &'r [Reduction], in_iteration: bool) -> Rewrite<'r> {
        let tensors = self.names.iter().enumerate().filter(|(at, (name, is_tensor))| {
            *is_tensor && !self.names[at + 1..].iter().any(|(later, _)| later == name)
        });
        Rewrite {
            tensors: tensors.map(|(_, (name, _))| name.clone()).collect(),
            locals: self.locals(),
            iteration: in_iteration.then(|| self.cx.clone()),
            reductions,
            ..Rewrite::new(self.support, self.typing.clone())
        }
    }
}

/// The label of the `for` whose rounds are the iterations of a parallel loop, or threads of a phase.
fn iteration() -> syn::Lifetime {
    syn::Lifetime::new("'iteration", Span::mixed_site())
}

/// A call of a loop's method. What it reports, it reports from the loop's place.
fn call(each: &syn::ExprForLoop, cx: &Ident, method: &str, arguments: TokenStream) -> TokenStream {
    let start = each.for_token.span;
    let method = Ident::new(method, start);
    let mut arguments = Group::new(Delimiter::Parenthesis, arguments);
    arguments.set_span(start);
    quote!(#cx.#method #arguments;)
}

/// What can be rewritten.
pub(crate) trait Rewritable {
    fn rewritten(self, rewrite: &mut Rewrite<'_>) -> TokenStream;
}

impl Rewritable for Expr {
    fn rewritten(mut self, rewrite: &mut Rewrite<'_>) -> TokenStream {
        rewrite.visit_expr_mut(&mut self);
        self.into_token_stream()
    }
}

impl Rewritable for Stmt {
    fn rewritten(mut self, rewrite: &mut Rewrite<'_>) -> TokenStream {
        rewrite.visit_stmt_mut(&mut self);
        self.into_token_stream()
    }
}

impl Rewritable for syn::Block {
    fn rewritten(mut self, rewrite: &mut Rewrite<'_>) -> TokenStream {
        rewrite.visit_block_mut(&mut self);
        self.into_token_stream()
    }
}

impl VisitMut for Rewrite<'_> {
    fn visit_stmt_mut(&mut self, stmt: &mut Stmt) {
        if let Stmt::Macro(call) = stmt
            && let Some(check) = self.assertion(&call.mac)
        {
            *stmt = Stmt::Expr(check, Some(Default::default()));
            return;
        }
        let site = match stmt {
            Stmt::Local(local) => sites::take(&mut local.attrs),
            _ => None,
        };
        let is_shared = matches!(stmt, Stmt::Local(syn::Local { init: Some(init), .. })
            if matches!(&*init.expr, Expr::MethodCall(call) if tree::is_shared(&call.method)));
        syn::visit_mut::visit_stmt_mut(self, stmt);
        if let Stmt::Local(local) = stmt {
            if let Some(init) = &mut local.init {
                self.gate(&mut init.expr);
                self.check(site, &mut init.expr);
            }
            self.hide(&local.pat);
            if is_shared {
                let shared = names(&local.pat);
                self.locals.retain(|local| !shared.contains(local));
                self.tensors.extend(shared);
            }
        }
    }

    /// What is bound may be changed by a method; that the author's own is not, the probed copy sees to.
    fn visit_pat_ident_mut(&mut self, pattern: &mut syn::PatIdent) {
        if pattern.by_ref.is_none() && !tree::is_constant(&pattern.ident) {
            pattern.mutability = Some(syn::Token![mut](pattern.ident.span()));
        }
    }

    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        self.scoped(|this| syn::visit_mut::visit_block_mut(this, block));
    }

    fn visit_expr_for_loop_mut(&mut self, each: &mut syn::ExprForLoop) {
        self.visit_expr_mut(&mut each.expr);
        let seen = self.seen(each);
        self.scoped(|this| {
            this.hide(&each.pat);
            this.visit_block_mut(&mut each.body);
        });
        each.body.stmts.splice(0..0, seen);
    }

    fn visit_expr_closure_mut(&mut self, closure: &mut syn::ExprClosure) {
        self.scoped(|this| {
            closure.inputs.iter().for_each(|pattern| this.hide(pattern));
            this.visit_expr_mut(&mut closure.body);
        });
    }

    fn visit_arm_mut(&mut self, arm: &mut syn::Arm) {
        self.scoped(|this| {
            this.hide(&arm.pat);
            syn::visit_mut::visit_arm_mut(this, arm);
        });
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        let site = match expr {
            // Of a call, the receiver or the arguments have the types.
            Expr::MethodCall(_) | Expr::Match(_) => None,
            _ => sites::of(expr)
                .filter(|site| matches!(self.typing.sites.get(Some(*site)), Some(Site::Type(_)))),
        };
        self.rewrite(expr);
        if site.is_some() {
            let inner = unparenthesized(expr).clone();
            *expr = inner;
            self.gate(expr);
            self.check(site, expr);
        }
    }

    fn visit_expr_match_mut(&mut self, each: &mut syn::ExprMatch) {
        let site = sites::take(&mut each.attrs);
        syn::visit_mut::visit_expr_match_mut(self, each);
        self.check(site, &mut each.expr);
    }
}

impl Rewrite<'_> {
    fn rewrite(&mut self, expr: &mut Expr) {
        if let Expr::Macro(call) = expr
            && let Some(check) = self.assertion(&call.mac)
        {
            *expr = check;
            return;
        }
        if let Some(access) = self.access(expr) {
            *expr = Expr::Verbatim(access);
            return;
        }
        // `*t`, where `t` is a tensor, is `t`: there is no other reference in a kernel.
        if let Expr::Unary(syn::ExprUnary { op: syn::UnOp::Deref(_), expr: inner, .. }) = expr
            && (matches!(unparenthesized(inner), Expr::Path(_)) || self.is_tensor(inner))
        {
            *expr = (**inner).clone();
            return;
        }
        if let Expr::MethodCall(call) = expr
            && tree::phase_of(call).is_some()
        {
            self.phase(expr);
            return;
        }
        if let Expr::MethodCall(call) = expr
            && call.method == "len"
            && call.args.is_empty()
            && self.is_tensor(&call.receiver)
        {
            let (start, support) = (spans::first(call), self.support);
            self.visit_expr_mut(&mut call.receiver);
            let receiver = &call.receiver;
            *expr = Expr::Verbatim(
                quote_spanned!(start=> #support::ElementCount::element_count(&#receiver)),
            );
            return;
        }
        if let Expr::MethodCall(call) = expr
            && let Some(called) = self.method(call)
        {
            *expr = Expr::Verbatim(called);
            return;
        }
        let mut before = TokenStream::new();
        let start = matches!(expr, Expr::Index(_)).then(|| spans::first(expr));
        match expr {
            Expr::Assign(syn::ExprAssign { left, right, .. }) => {
                before = self.assigned(left, right);
            }
            Expr::Binary(binary) if is_assignment(&binary.op) => {
                before = self.assigned(&mut binary.left, &mut binary.right);
            }
            _ => visit_expr_mut(self, expr),
        }
        let replacement = match expr {
            Expr::Binary(binary) => {
                self.divided(binary).or_else(|| self.compared(binary).map(Expr::Verbatim))
            }
            Expr::Call(call) => self.path_call(call).map(Expr::Verbatim),
            Expr::Index(index) => match self.bound(index) {
                Some(bound) if is_simple_place(&index.expr) => {
                    *index.index = Expr::Verbatim(bound);
                    None
                }
                _ => start.and_then(|start| self.bound_of_value(index, start)),
            },
            Expr::MethodCall(call) => {
                if let Some(closure) = tree::exchange_of(call) {
                    let (support, block, method) = (self.support, &call.receiver, &call.method);
                    let (pattern, body) = (parameter(closure), &closure.body);
                    let given = internal("given");
                    // Evaluated before the phase, as it stands outside.
                    let by = call.args.iter().nth(1);
                    let by_name = by.map(|_| internal("by"));
                    let mut all: Expr = syn::parse_quote!(#given);
                    self.gate(&mut all);
                    let bound = by_name.as_ref().map(|name| quote!(let #name = #by;));
                    *expr = Expr::Verbatim(quote! {{
                        #bound
                        let mut #given = #support::ThreadBlock::contributions(&#block);
                        for #pattern in #support::ThreadBlock::each(&#block) {
                            #support::Contributions::push(&mut #given, #body);
                        }
                        #support::Contributions::#method(#all, #by_name)
                    }});
                    return;
                }
                None
            }
            Expr::ForLoop(each) => {
                each.attrs.clear();
                self.gate(&mut each.expr);
                None
            }
            _ => None,
        };
        if let Some(replacement) = replacement {
            *expr = replacement;
        }
        if !before.is_empty() {
            *expr = Expr::Verbatim(quote!({ #before #expr; }));
        }
    }
}

impl<'a> Rewrite<'a> {
    pub(crate) fn new(support: &'a TokenStream, typing: Typing<'a>) -> Self {
        Self {
            typing,
            support,
            tensors: Vec::new(),
            locals: Vec::new(),
            blocks: Vec::new(),
            iteration: None,
            reductions: &[],
        }
    }
}

impl Rewrite<'_> {
    /// A phase of a block of threads.
    fn phase(&mut self, expr: &mut Expr) {
        let outer = self.iteration.replace(internal("cx"));
        visit_expr_mut(self, expr);
        self.iteration = outer;
        let Expr::MethodCall(call) = expr else { return };
        let Some(closure) = tree::phase_of(call) else { return };
        let (support, block, label) = (self.support, &call.receiver, iteration());
        let (pattern, body) = (parameter(closure), &closure.body);
        *expr = Expr::Verbatim(quote! {
            #label: for #pattern in #support::ThreadBlock::each(&#block) { #body }
        });
    }

    pub(crate) fn gate(&self, expr: &mut Expr) {
        let support = self.support;
        *expr = Expr::Verbatim(quote!(#support::gate::<__OK, _>(#expr)));
    }

    fn scoped(&mut self, inner: impl FnOnce(&mut Self)) {
        let known = (self.tensors.clone(), self.locals.clone(), self.blocks.clone());
        inner(self);
        (self.tensors, self.locals, self.blocks) = known;
    }

    /// A pattern's names are those of values from here on.
    fn hide(&mut self, pattern: &Pat) {
        let bound = names(pattern);
        self.tensors.retain(|tensor| !bound.contains(tensor));
        self.blocks.retain(|block| !bound.contains(block));
        self.locals.extend(bound);
    }

    fn assertion(&mut self, call: &syn::Macro) -> Option<Expr> {
        let start = spans::first(call);
        let Assert { mut cond, message, .. } =
            call.path.is_ident("assert").then(|| call.parse_body().ok())??;
        let text = message.map_or_else(|| tree::text_of(&cond), |message| message.value());
        self.visit_expr_mut(&mut cond);
        let support = spans::at(self.support, start);
        Some(Expr::Verbatim(match &self.iteration {
            Some(cx) => {
                let (holds, label) =
                    (quote_spanned!(start=> #support::Cx::holds(#cx, #cond)), iteration());
                quote!(if !#holds { continue #label; })
            }
            None => quote_spanned!(start=> #support::check(#cond, #text)),
        }))
    }
}

/// The names of the parameters that are tensors.
pub(crate) fn tensors(params: &[Param]) -> Vec<Ident> {
    let tensors = params.iter().filter(|param| param.passing != ParamPassing::Value);
    tensors.map(|param| param.name.clone()).collect()
}

/// A name of the emitted code, which the author's code cannot see.
pub(crate) fn internal(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

fn is_region(call: &syn::ExprCall) -> bool {
    let named = match &*call.func {
        Expr::Path(path) => {
            path.path.segments.last().is_some_and(|segment| segment.ident == "stream_parallel")
        }
        _ => false,
    };
    named || tree::is_block(call)
}

/// The pattern of a closure's parameter, without the type that may be written behind it.
fn parameter(closure: &syn::ExprClosure) -> Option<&Pat> {
    closure.inputs.first().map(|pattern| match pattern {
        Pat::Type(typed) => &*typed.pat,
        other => other,
    })
}

fn is_grid(call: &syn::ExprCall) -> bool {
    let named = match &*call.func {
        Expr::Path(path) => {
            path.path.segments.last().is_some_and(|segment| segment.ident == "block_for")
        }
        _ => false,
    };
    named || tree::is_grid(call)
}

fn is_serial(each: &syn::ExprForLoop) -> bool {
    tree::loop_options(&each.attrs).is_some_and(|options| options.serial)
}

pub(crate) fn unparenthesized(expr: &Expr) -> &Expr {
    match expr {
        Expr::Paren(paren) => unparenthesized(&paren.expr),
        Expr::Group(group) => unparenthesized(&group.expr),
        other => other,
    }
}
