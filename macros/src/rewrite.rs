//! Rewrites the user's code for the CPU: elements of tensors, calls, `assert!`, divisions, indices of local arrays,
//! phases of thread blocks, and checks at type sites. Everything else stays.

mod call_targets;
mod division;
mod elements;
mod index;
mod typing;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{
    Expr, ExprClosure, ExprMethodCall, Pat, Stmt,
    visit_mut::{self, VisitMut},
};

use crate::{
    affine::{AffineTensor, affine_tensors, variable},
    ast::{
        FormatText, Invocation, SCALARS, collective_of, is_assignment, is_constant_pattern,
        is_shared_array, is_simple_place, pattern_names, phase_of, unparenthesized, untyped,
    },
    combine::{MarkedCombination, combination},
    marks,
    reduce::LoopReduction,
    scatter::LoopScatter,
    sites, spans,
    tokens::{idents, internal},
};

pub(crate) use typing::SiteTypes;

/// Rewrites code of a loop's body or of a func. It knows what the names in scope are.
pub(crate) struct BodyRewriter<'a> {
    /// The path of the support code.
    pub(crate) support: &'a TokenStream,
    /// The reductions of the parallel loop.
    pub(crate) reductions: &'a [LoopReduction],
    /// The scatters of the parallel loop.
    pub(crate) scatters: &'a [LoopScatter],
    /// The names of tensors and shared arrays, whose indexing the support code checks.
    pub(crate) tensors: Vec<Ident>,
    pub(crate) locals: Vec<Ident>,
    /// The names of thread blocks in scope.
    pub(crate) blocks: Vec<Ident>,
    /// The context, in an iteration or a thread's phase. A failed assertion ends that.
    pub(crate) iteration: Option<Ident>,
    pub(crate) typing: SiteTypes<'a>,
}

/// The label of the innermost `for` of a parallel loop, or of the `for` of a phase.
pub(crate) fn iteration_label() -> syn::Lifetime {
    syn::Lifetime::new("'iteration", Span::mixed_site())
}

/// The pattern of a closure's first parameter, without its type.
pub(crate) fn closure_parameter(closure: &ExprClosure) -> Option<&Pat> {
    closure.inputs.first().map(untyped)
}

impl<'a> BodyRewriter<'a> {
    /// A rewrite in which no names are known.
    pub(crate) fn new(support: &'a TokenStream, typing: SiteTypes<'a>) -> Self {
        let (tensors, locals, blocks) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            typing,
            support,
            tensors,
            locals,
            blocks,
            iteration: None,
            reductions: &[],
            scatters: &[],
        }
    }

    pub(crate) fn expr(mut self, mut expr: Expr) -> TokenStream {
        self.visit_expr_mut(&mut expr);
        expr.into_token_stream()
    }

    pub(crate) fn stmt(mut self, mut stmt: Stmt) -> TokenStream {
        self.visit_stmt_mut(&mut stmt);
        stmt.into_token_stream()
    }

    pub(crate) fn block(mut self, mut block: syn::Block) -> TokenStream {
        self.visit_block_mut(&mut block);
        block.into_token_stream()
    }

    /// From here on, the names of a pattern are those of values.
    pub(crate) fn bind_values(&mut self, pattern: &Pat) {
        let bound = pattern_names(pattern);
        self.tensors.retain(|tensor| !bound.contains(tensor));
        self.blocks.retain(|block| !bound.contains(block));
        self.locals.extend(bound);
    }

    /// From here on, the names of a pattern are those of loop variables, which nothing changes.
    pub(crate) fn bind_variables(&mut self, pattern: &Pat) {
        self.bind_values(pattern);
        let bound = pattern_names(pattern);
        self.locals.retain(|local| !bound.contains(local));
    }

    /// From here on, the names of a pattern are those of thread blocks.
    pub(crate) fn bind_blocks(&mut self, pattern: &Pat) {
        self.bind_values(pattern);
        let bound = pattern_names(pattern);
        self.locals.retain(|local| !bound.contains(local));
        self.blocks.extend(bound);
    }

    fn scoped(&mut self, inner: impl FnOnce(&mut Self)) {
        let outer = (self.tensors.clone(), self.locals.clone(), self.blocks.clone());
        inner(self);
        (self.tensors, self.locals, self.blocks) = outer;
    }

    /// Passes a value through the gate, which does not compile if the type-inference copy does not: rustc then reports
    /// errors of the copy only.
    fn gate(&self, expr: &mut Expr) {
        let support = self.support;
        *expr = Expr::Verbatim(quote!(#support::gate::<__OK, _>(#expr)));
    }

    /// As [`gate`](Self::gate), for the written type of a local, unless rustc infers parts of it.
    fn gate_type(&self, ty: &mut syn::Type) {
        let is_scalar = match &*ty {
            syn::Type::Path(of) => of
                .path
                .segments
                .last()
                .is_some_and(|last| SCALARS.iter().any(|name| last.ident == name)),
            _ => false,
        };
        if is_scalar || idents(&*ty).iter().any(|name| name == "_") {
            return;
        }
        let support = spans::at(self.support, spans::first(ty));
        *ty = syn::parse_quote!(#support::Gated<__OK, #ty>);
    }

    /// As [`gate`](Self::gate), for the value of a first branch if that is a literal: rustc compares the types of
    /// other branches with it.
    fn gate_literal(&self, value: &mut Expr) {
        let inner = match unparenthesized(value) {
            Expr::Unary(syn::ExprUnary { op: syn::UnOp::Neg(_), expr, .. }) => {
                unparenthesized(expr)
            }
            other => other,
        };
        if matches!(inner, Expr::Lit(_)) {
            *value = unparenthesized(value).clone();
            self.gate(value);
        }
    }

    /// Passes a value through the check that it has the type that the IR has at this site.
    fn check(&self, site: Option<usize>, value: &mut Expr) {
        if let Some(at) = self.typing.value(site) {
            let (start, inner) = (spans::first(value), unparenthesized(value));
            let support = spans::at(self.support, start);
            *value = Expr::Verbatim(quote_spanned!(start=> #support::typed::<_, #at>(#inner)));
        }
    }

    pub(crate) fn variable_checks(&self, each: &syn::ExprForLoop) -> Vec<Stmt> {
        let Some(first) = marks::number_of(&each.attrs) else { return Vec::new() };
        let names = sites::variables(&each.pat).into_iter().enumerate();
        let checks = names.filter_map(|(nth, name)| {
            let (at, support, name) = (self.typing.value(Some(first + nth))?, self.support, name?);
            let check = quote!(#support::seen::<_, #at>(&#name));
            Some(Stmt::Expr(Expr::Verbatim(check), Some(Default::default())))
        });
        checks.collect()
    }

    /// Rewrites an expression, except for the check at its site.
    fn rewrite(&mut self, expr: &mut Expr) {
        if let Some(replacement) = self.replacement(expr) {
            *expr = replacement;
            return;
        }
        let mut before = TokenStream::new();
        let start = match expr {
            Expr::Index(_) | Expr::Binary(_) => spans::first(expr),
            _ => Span::call_site(),
        };
        let affine = match expr {
            Expr::ForLoop(each) => self.affine_tensors(each),
            _ => Vec::new(),
        };
        match expr {
            Expr::Assign(syn::ExprAssign { left, right, .. }) => {
                before = self.assignment(left, right);
            }
            Expr::Binary(binary) if is_assignment(&binary.op) => {
                before = self.assignment(&mut binary.left, &mut binary.right);
            }
            _ => visit_mut::visit_expr_mut(self, expr),
        }
        let replacement = match expr {
            Expr::Binary(binary) => {
                let division = self.division(binary, start);
                division.or_else(|| self.comparison(binary, start).map(Expr::Verbatim))
            }
            Expr::Call(call) => self.path_call(call).map(Expr::Verbatim),
            Expr::Index(index) => match self.bounded_index(index) {
                Some(bounded) if is_simple_place(&index.expr) => {
                    *index.index = Expr::Verbatim(bounded);
                    None
                }
                _ => self.bounded_element(index, start),
            },
            Expr::MethodCall(call) => self.collective(call).map(Expr::Verbatim),
            Expr::If(syn::ExprIf { then_branch, else_branch: Some(_), .. }) => {
                if let Some(syn::Stmt::Expr(value, None)) = then_branch.stmts.last_mut() {
                    self.gate_literal(value);
                }
                None
            }
            Expr::Match(each) => {
                if let Some(first) = each.arms.first_mut() {
                    self.gate_literal(&mut first.body);
                }
                None
            }
            Expr::ForLoop(each) => {
                each.attrs.clear();
                self.gate(&mut each.expr);
                self.inspected(affine, each).map(Expr::Verbatim)
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

    /// The tensors that a serial loop of an iteration accesses at constant distances from its variable only.
    fn affine_tensors(&self, each: &syn::ExprForLoop) -> Vec<AffineTensor> {
        let is_range = matches!(
            unparenthesized(&each.expr),
            Expr::Range(syn::ExprRange {
                start: Some(_),
                end: Some(_),
                limits: syn::RangeLimits::HalfOpen(_),
                ..
            })
        );
        match variable(&each.pat) {
            // Loops over thread blocks are not inspected.
            Some(variable) if is_range && self.iteration.is_some() && self.blocks.is_empty() => {
                affine_tensors(&each.body, &[variable], &|name| self.tensors.contains(name))
            }
            _ => Vec::new(),
        }
    }

    /// A rewritten serial loop that, in an inspection, checks the accesses to some tensors for all iterations at once.
    fn inspected(
        &self,
        tensors: Vec<AffineTensor>,
        each: &syn::ExprForLoop,
    ) -> Option<TokenStream> {
        if tensors.is_empty() {
            return None;
        }
        let syn::ExprForLoop { label, pat, expr, body, .. } = each;
        let [range, ok] = ["range", "ok"].map(internal);
        let bounds = [(quote!(#range.start), quote!(#range.end))];
        let checks = tensors.iter().map(|tensor| tensor.inspect(self.support, &ok, &bounds));
        Some(quote! {{
            let #range = #expr;
            let mut #ok = #range.start < #range.end;
            #(#checks)*
            if #ok { #label for #pat in #range #body }
        }})
    }

    /// The replacement of an expression whose parts are rewritten in their own way.
    fn replacement(&mut self, expr: &mut Expr) -> Option<Expr> {
        if let Expr::Macro(call) = expr
            && let Some(replacement) = self.invocation(&call.mac)
        {
            return Some(replacement);
        }
        if let Some(MarkedCombination { local, subtracts, value, .. }) = combination(expr)
            && let Some(reduction) =
                self.reductions.iter().find(|reduction| reduction.is_of_local(&local))
        {
            self.visit_expr_mut(value);
            let (lane, support) = (&reduction.lane, spans::at(self.support, local.span()));
            let start = local.span();
            let combine = reduction.combine_local(&support, subtracts, start);
            return Some(Expr::Verbatim(
                quote_spanned!(start=> { #combine(&mut *#lane, #value); }),
            ));
        }
        if let Some(access) = self.element_access(expr) {
            return Some(Expr::Verbatim(access));
        }
        match expr {
            // A tensor `t` is the only reference in a kernel; the CPU body has its view by value.
            Expr::Unary(syn::ExprUnary { op: syn::UnOp::Deref(_), expr: inner, .. })
                if matches!(unparenthesized(inner), Expr::Path(_)) || self.is_tensor(inner) =>
            {
                Some((**inner).clone())
            }
            Expr::MethodCall(call) if phase_of(call).is_some() => self.phase(call),
            Expr::MethodCall(call)
                if call.method == "len"
                    && call.args.is_empty()
                    && self.is_tensor(&call.receiver) =>
            {
                let (start, support) = (spans::first(call), self.support);
                self.visit_expr_mut(&mut call.receiver);
                let receiver = &call.receiver;
                Some(Expr::Verbatim(
                    quote_spanned!(start=> #support::ElementCount::element_count(&#receiver)),
                ))
            }
            Expr::MethodCall(call) => self.method_call(call).map(Expr::Verbatim),
            _ => None,
        }
    }

    /// A phase of a thread block as a loop over its threads.
    fn phase(&mut self, call: &mut ExprMethodCall) -> Option<Expr> {
        let outer = self.iteration.replace(internal("cx"));
        visit_mut::visit_expr_method_call_mut(self, call);
        self.iteration = outer;
        let closure = phase_of(call)?;
        let (support, block, label) = (self.support, &call.receiver, iteration_label());
        let (pattern, body) = (closure_parameter(closure), &closure.body);
        Some(Expr::Verbatim(quote! {
            #label: for #pattern in #support::ThreadBlock::each(&#block) { #body }
        }))
    }

    /// A phase with a collective, whose parts are rewritten: all threads contribute, then each gets its result.
    fn collective(&self, call: &ExprMethodCall) -> Option<TokenStream> {
        let closure = collective_of(call)?;
        let (support, block, method) = (self.support, &call.receiver, &call.method);
        let (pattern, body) = (closure_parameter(closure), &closure.body);
        let given = internal("given");
        // Evaluated before the phase, because it is outside of the closure.
        let by = call.args.iter().nth(1);
        let by_name = by.map(|_| internal("by"));
        let bound = by_name.as_ref().map(|name| quote!(let #name = #by;));
        Some(quote! {{
            #bound
            let #given = #support::ThreadBlock::contributions(&#block, #[inline(always)] |#pattern| #body);
            #support::Contributions::#method(#support::gate::<__OK, _>(#given), #by_name)
        }})
    }

    fn invocation(&mut self, call: &syn::Macro) -> Option<Expr> {
        let start = spans::first(call);
        let support = spans::at(self.support, start);
        let assert = match Invocation::of(call)?.ok()? {
            Invocation::Assert(assert) => assert,
            Invocation::Print(FormatText { args, text, .. }) => {
                let values = self.printed(args, start);
                let print = quote_spanned!(start=> #support::print(#text, &[#(#values),*]));
                return Some(Expr::Verbatim(print));
            }
        };
        let (format, text) = assert.text();
        let mut cond = assert.condition();
        self.visit_expr_mut(&mut cond);
        let values = self.printed(assert.values(), start);
        let label = iteration_label();
        Some(Expr::Verbatim(match (&self.iteration, values.is_empty()) {
            (Some(cx), true) => {
                let holds = quote_spanned!(start=> #support::Cx::holds(#cx, #cond));
                quote!(if !#holds { continue #label; })
            }
            (Some(cx), false) => {
                let fail = quote_spanned!(start=> #support::Cx::fail(#cx, &[#(#values),*]));
                quote!(if !#support::identity::<::core::primitive::bool>(#cond) {
                    #fail;
                    continue #label;
                })
            }
            (None, true) => {
                let text = format.fill(&[]);
                quote_spanned!(start=> #support::check(#cond, #text))
            }
            (None, false) => {
                let function = match assert.comparison() {
                    None => quote!(fail),
                    Some(true) => quote!(fail_equal),
                    Some(false) => quote!(fail_unequal),
                };
                let fail = quote_spanned! {start=>
                    #support::#function(#text, &[#(#values),*])
                };
                quote!(if !#support::identity::<::core::primitive::bool>(#cond) { #fail })
            }
        }))
    }

    /// The arguments of a text.
    fn printed(&mut self, args: Vec<Expr>, start: Span) -> Vec<TokenStream> {
        let support = spans::at(self.support, start);
        let printed = args.into_iter().map(|mut arg| {
            self.visit_expr_mut(&mut arg);
            self.gate(&mut arg);
            quote_spanned!(start=> #support::printed(#arg))
        });
        printed.collect()
    }
}

impl VisitMut for BodyRewriter<'_> {
    // rustc evaluates constants.
    fn visit_item_mut(&mut self, _: &mut syn::Item) {}

    fn visit_stmt_mut(&mut self, stmt: &mut Stmt) {
        if let Stmt::Macro(call) = stmt
            && let Some(replacement) = self.invocation(&call.mac)
        {
            *stmt = Stmt::Expr(replacement, Some(Default::default()));
            return;
        }
        let site = match stmt {
            Stmt::Local(local) => marks::take(&mut local.attrs),
            _ => None,
        };
        let is_shared = matches!(stmt, Stmt::Local(syn::Local { init: Some(init), .. })
            if matches!(&*init.expr, Expr::MethodCall(call) if is_shared_array(&call.method)));
        visit_mut::visit_stmt_mut(self, stmt);
        if let Stmt::Local(local) = stmt {
            if let syn::Pat::Type(typed) = &mut local.pat {
                self.gate_type(&mut typed.ty);
            }
            if let Some(init) = &mut local.init {
                self.gate(&mut init.expr);
                self.check(site, &mut init.expr);
            }
            self.bind_values(&local.pat);
            if is_shared {
                let shared = pattern_names(&local.pat);
                self.locals.retain(|local| !shared.contains(local));
                self.tensors.extend(shared);
            }
        }
    }

    /// Makes bindings mutable, because a method may change them. The type-inference copy checks that the user's own
    /// are not assigned.
    fn visit_pat_ident_mut(&mut self, pattern: &mut syn::PatIdent) {
        if pattern.by_ref.is_none() && !is_constant_pattern(&pattern.ident) {
            pattern.mutability = Some(syn::Token![mut](pattern.ident.span()));
        }
    }

    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        self.scoped(|this| visit_mut::visit_block_mut(this, block));
    }

    fn visit_expr_for_loop_mut(&mut self, each: &mut syn::ExprForLoop) {
        self.visit_expr_mut(&mut each.expr);
        let checks = self.variable_checks(each);
        self.scoped(|this| {
            this.bind_variables(&each.pat);
            this.visit_block_mut(&mut each.body);
        });
        each.body.stmts.splice(0..0, checks);
    }

    fn visit_expr_closure_mut(&mut self, closure: &mut ExprClosure) {
        self.scoped(|this| {
            closure.inputs.iter().for_each(|pattern| this.bind_variables(pattern));
            this.visit_expr_mut(&mut closure.body);
        });
    }

    fn visit_arm_mut(&mut self, arm: &mut syn::Arm) {
        self.scoped(|this| {
            this.bind_values(&arm.pat);
            visit_mut::visit_arm_mut(this, arm);
        });
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        let site = match expr {
            // The type at the site is that of the receiver, of the matched value, or of the operand.
            Expr::MethodCall(_) | Expr::Match(_) | Expr::Cast(_) => None,
            _ => sites::attributes(expr).and_then(|attributes| marks::number_of(attributes)),
        };
        self.rewrite(expr);
        if self.typing.is_value(site) {
            let inner = unparenthesized(expr).clone();
            *expr = inner;
            self.gate(expr);
            self.check(site, expr);
        }
    }

    fn visit_expr_cast_mut(&mut self, cast: &mut syn::ExprCast) {
        let site = marks::take(&mut cast.attrs);
        visit_mut::visit_expr_cast_mut(self, cast);
        self.check(site, &mut cast.expr);
    }

    fn visit_expr_match_mut(&mut self, each: &mut syn::ExprMatch) {
        let site = marks::take(&mut each.attrs);
        visit_mut::visit_expr_match_mut(self, each);
        self.check(site, &mut each.expr);
    }
}
