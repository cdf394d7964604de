//! Makes the syntax tree of a function, and adds probes to a copy of its code.
//!
//! The tree numbers the types that it needs. A probe after each binding tells rustc which type a number means. One walk
//! does both, so that they agree.

mod aggregates;
mod blocks;
mod expr;
mod loops;
mod matches;

use proc_macro2::{Ident, TokenStream};
use quadrants_frontend::syntax::{
    AssertionReport, Block, Construct, Expr, ExprKind, Stmt, StmtKind, TypeIx,
};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Local, Pat, PatIdent, visit_mut::VisitMut};

use crate::{
    ast::{
        AssertCall, AssertCheck, ExpectedType, FormatText, Invocation, gives_value, is_assignment,
        is_unreachable, name_of, pattern_ident, pattern_names, unparenthesized, untyped,
    },
    desugar::ELEMENTS,
    marks,
    marks::combines,
    signature::owns_host_memory,
    sites::{Sites, TypeSite},
    span_table::SpanTable,
    spans::{self, located},
    text::text_of,
    tokens::internal,
};

/// The state of the walk, and its results.
#[derive(Default)]
pub(crate) struct TreeBuilder {
    /// Whether the function has generic parameters.
    pub(crate) is_generic: bool,
    pub(crate) spans: SpanTable,
    pub(crate) types: Vec<TypeEntry>,
    /// The paths that are neither parameters nor locals, and the calls of `cfg!`, by their number in the tree.
    pub(crate) consts: Vec<syn::Expr>,
    /// The funcs called, by their number in the tree.
    pub(crate) funcs: Vec<FuncEntry>,
    /// The paths in calls of `stream_parallel`.
    pub(crate) regions: Vec<syn::ExprPath>,
    /// The paths in calls of `block_for`.
    pub(crate) grids: Vec<syn::ExprPath>,
    /// The paths in calls of `ndrange`.
    pub(crate) spaces: Vec<syn::ExprPath>,
    /// The names of the atomics called, and the paths in the calls.
    pub(crate) atomics: Vec<(Ident, syn::ExprPath)>,
    /// The paths to `f16` in calls of its associated functions.
    pub(crate) halves: Vec<syn::Path>,
    pub(crate) sites: Sites,
    scopes: Vec<Vec<String>>,
    /// Which of the scopes have the variables of loops.
    loop_scopes: Vec<usize>,
    /// The names in scope that are shapes and shared arrays, by their position among all names in scope.
    views: Vec<(String, usize)>,
    /// The locals that are declared without a value, by their position among all names in scope, and the probes that
    /// see their values.
    deferred: Vec<(usize, Ident)>,
    /// The constants of the body that are in scope.
    constants: Vec<BodyConstant>,
    /// The parameters that are tensors.
    pub(crate) references: Vec<String>,
    /// The parameters whose types are written as tensors of scalars, and their numbers of dimensions.
    pub(crate) scalar_tensors: Vec<(String, usize)>,
    /// The names of closures that are not supported; their calls get no message of their own.
    closures: Vec<String>,
    /// The names of thread blocks, and the number of dimensions of their grid if that has several.
    blocks: Vec<(String, Option<usize>)>,
}

/// A constant that is declared in the body.
struct BodyConstant {
    name: Ident,
    value: syn::Expr,
    /// The number of scopes around it.
    depth: usize,
}

pub(crate) enum FuncEntry {
    /// By its path. The probe receives the function, with its generic arguments.
    Path { probe: Ident, path: syn::ExprPath },
    /// A method. A probe receives the receiver, another the call's value.
    Method { probe: Ident, result: Ident, name: Ident },
    /// A method of a struct of tensors. A probe receives the call's value.
    OfTensors { result: Ident, ty: Box<syn::Type>, name: Ident },
    /// An associated function, by the type's path. A probe receives the call's value.
    Associated { result: Ident, ty: syn::Path, name: Ident },
}

/// How rustc gives a type.
pub(crate) enum TypeEntry {
    /// As that of a value that a probe receives.
    Probe {
        probe: Ident,
        /// The binding of the value, where rustc reports errors.
        binding: Ident,
        /// What the type must be.
        expected: ExpectedType,
    },
    /// By a type in the source.
    Written(Box<syn::Type>),
    /// By a path to a number type.
    Number(syn::Path),
}

fn value_block(value: Expr) -> Block {
    Block { stmts: Vec::new(), value: Some(Box::new(value)) }
}

impl TreeBuilder {
    fn add_type(&mut self, entry: TypeEntry) -> TypeIx {
        self.types.push(entry);
        (self.types.len() - 1) as TypeIx
    }

    /// Numbers a type in the source.
    pub(crate) fn written_type(&mut self, ty: &syn::Type) -> TypeIx {
        self.add_type(TypeEntry::Written(Box::new(ty.clone())))
    }

    fn next_probe(&self) -> Ident {
        internal(&format!("probe{}", self.types.len()))
    }

    /// A probe for the type of a binding or of a part of it, and the statement that shows it the value.
    fn probe(&mut self, binding: &Ident, part: Option<TokenStream>) -> (TypeIx, syn::Stmt) {
        let probe = self.next_probe();
        let tokens = quote!(#probe.observe(&#binding #part));
        let expected = ExpectedType::Any;
        let ty = self.add_type(TypeEntry::Probe { probe, binding: binding.clone(), expected });
        (ty, syn::Stmt::Expr(syn::Expr::Verbatim(tokens), Some(<syn::Token![;]>::default())))
    }

    /// Passes a value through a probe of its type.
    fn pass(&mut self, value: &mut syn::Expr) -> TypeIx {
        self.pass_as(value, ExpectedType::Any)
    }

    fn pass_as(&mut self, value: &mut syn::Expr, expected: ExpectedType) -> TypeIx {
        let binding = Ident::new("value", spans::first(value));
        let probe = located(&self.next_probe(), binding.span());
        let at = probe.span();
        *value = syn::Expr::Verbatim(quote_spanned!(at=> #probe.pass(#value)));
        self.add_type(TypeEntry::Probe { probe, binding, expected })
    }

    /// Passes a value through a probe of its type, which compiles only if the value matches a pattern.
    fn pass_by_pattern(
        &mut self,
        value: &mut syn::Expr,
        pattern: &TokenStream,
        expected: ExpectedType,
    ) -> TypeIx {
        let (probe, made) = (located(&self.next_probe(), spans::first(value)), value.clone());
        let at = probe.span();
        let ty = self.pass_as(value, expected);
        *value = syn::Expr::Verbatim(
            quote_spanned!(at=> #probe.pass_constructed(#made, |value| match value { #pattern => (), #[allow(unreachable_patterns)] _ => () })),
        );
        ty
    }

    /// Passes a tuple, array or struct through a probe of its type.
    fn pass_aggregate(&mut self, value: &mut syn::Expr) -> TypeIx {
        // With the hygiene of the probe's other uses, so that rustc reports a wrong type once.
        let (probe, made) = (located(&self.next_probe(), spans::first(value)), value.clone());
        let at = probe.span();
        let ty = self.pass(value);
        *value = syn::Expr::Verbatim(quote_spanned!(at=> #probe.pass_aggregate(#made)));
        ty
    }

    /// Passes a value through a probe of its type, which must be that of an array or vector.
    fn pass_elements(&mut self, value: &mut syn::Expr) -> TypeIx {
        let start = spans::first(value);
        let (probe, binding) = (located(&self.next_probe(), start), Ident::new("value", start));
        let at = probe.span();
        *value = syn::Expr::Verbatim(quote_spanned!(at=> #probe.elements(#value)));
        self.add_type(TypeEntry::Probe { probe, binding, expected: ExpectedType::Any })
    }

    /// Records that the expression at a site has the type with this number, and returns the number.
    fn put_site(&mut self, site: Option<usize>, ty: TypeIx) -> TypeIx {
        self.sites.put(site, TypeSite::Type(ty as usize));
        ty
    }

    /// A value with an explicit type, because the IR would infer another for a literal.
    fn typed(&mut self, value: Expr, ty: TypeIx) -> Expr {
        let span = value.span;
        let name = format!("__typed{}", self.types.len());
        let named = Expr { kind: ExprKind::Name(name.clone()), span };
        let kind = StmtKind::Let { name, mutable: false, ty, value };
        let block = Block { stmts: vec![Stmt { kind, span }], ..value_block(named) };
        Expr { kind: ExprKind::Block(block), span }
    }

    /// Adds a name to the current scope.
    pub(crate) fn bind(&mut self, name: &Ident) {
        if self.scopes.is_empty() {
            self.scopes.push(Vec::new());
        }
        let position = self.scopes.iter().map(Vec::len).sum();
        self.views.retain(|(_, view)| *view < position);
        self.deferred.retain(|(deferred, _)| *deferred < position);
        self.scopes.last_mut().expect("pushed").push(name.to_string());
    }

    /// Adds the name of a shape or a shared array to the current scope.
    fn bind_view(&mut self, name: &Ident) {
        self.bind(name);
        let position = self.scopes.iter().map(Vec::len).sum::<usize>() - 1;
        self.views.push((name.to_string(), position));
    }

    /// Adds a name to the current scope, and a probe of its type to the statements after the binding.
    fn bind_probed(&mut self, name: &Ident, probes: &mut Vec<syn::Stmt>) -> TypeIx {
        let (ty, probe) = self.probe(name, None);
        self.bind(name);
        probes.push(probe);
        ty
    }

    fn bind_all(&mut self, pattern: &Pat) {
        pattern_names(pattern).iter().for_each(|name| self.bind(name));
    }

    /// Calls `inner` in a new scope, in which `name` is bound.
    fn scoped<T>(&mut self, name: Option<&Ident>, inner: impl FnOnce(&mut Self) -> T) -> T {
        self.scopes.push(Vec::new());
        if let Some(name) = name {
            self.bind(name);
        }
        let value = inner(self);
        self.scopes.pop();
        value
    }

    /// Whether a name is that of a tensor, a shape or a shared array, whose length the IR knows by the name. A field
    /// of a struct of tensors is written `struct.field`.
    fn is_view(&self, name: &str) -> bool {
        if name.contains('.') {
            return true;
        }
        let bound = self.scopes.iter().flatten().enumerate().filter(|(_, bound)| *bound == name);
        bound.last().is_some_and(|(position, _)| {
            self.views.iter().any(|(_, view)| *view == position) || self.is_reference(name)
        })
    }

    /// Whether a name is that of a tensor parameter. The parameters are bound first.
    pub(super) fn is_reference(&self, name: &str) -> bool {
        self.references.iter().any(|of| name == of)
            && self.scopes.iter().flatten().filter(|bound| name == *bound).count() == 1
    }

    /// Whether a name is that of a parameter or a `let`.
    fn is_local(&self, name: &Ident) -> bool {
        let depth = self.scopes.iter().rposition(|names| names.iter().any(|bound| name == bound));
        // rustc rejects a `let` with the name of a constant.
        depth.is_some_and(|depth| {
            !self.constants.iter().any(|of| *name == of.name && of.depth == depth + 1)
        })
    }

    fn is_bound(&self, name: &Ident) -> bool {
        self.scopes.iter().flatten().any(|bound| name == bound)
    }

    pub(crate) fn block(&mut self, block: &mut syn::Block) -> Block {
        let out = self.scoped(None, |this| this.block_in_scope(block));
        self.constants.retain(|constant| constant.depth <= self.scopes.len());
        out
    }

    fn block_in_scope(&mut self, block: &mut syn::Block) -> Block {
        let mut probed_constants = Vec::new();
        let constants = self.constants(block, &mut probed_constants);
        let mut out = Block { stmts: constants, value: None };
        let count = block.stmts.len();
        let stmts = std::mem::replace(&mut block.stmts, probed_constants);
        for (at, mut stmt) in stmts.into_iter().enumerate() {
            let mut probes = Vec::new();
            let last = at + 1 == count;
            match &mut stmt {
                syn::Stmt::Expr(value, semi @ None) if last && !is_statement(value) => {
                    let tree = self.expr(value);
                    let grid = matches!(tree.kind, ExprKind::BlockFor(_));
                    if grid || matches!(tree.kind, ExprKind::StreamParallel(_)) {
                        // The user may leave out the semicolon; the type-inference copy needs it for its type.
                        *semi = Some(<syn::Token![;]>::default());
                    }
                    if grid || matches!(tree.kind, ExprKind::Phase(_)) {
                        let span = tree.span;
                        out.stmts.push(Stmt { kind: StmtKind::Expr(tree), span });
                    } else {
                        out.value = Some(Box::new(tree));
                    }
                }
                syn::Stmt::Item(syn::Item::Const(_)) => {}
                other => out.stmts.push(self.stmt(other, &mut probes)),
            }
            block.stmts.push(stmt);
            block.stmts.extend(probes);
        }
        out
    }

    /// A block of one expression, which replaces that in the type-inference copy.
    fn expr_as_block(&mut self, expr: &mut syn::Expr) -> Block {
        let stmts = vec![syn::Stmt::Expr(expr.clone(), None)];
        let mut block = syn::Block { brace_token: syn::token::Brace::default(), stmts };
        let tree = self.block(&mut block);
        *expr = syn::parse_quote!(#block);
        tree
    }

    /// An expression with the values of the body's constants for their names, for places where the IR needs a number.
    fn with_constants(&self, expr: &syn::Expr) -> syn::Expr {
        struct Values<'a>(&'a TreeBuilder);
        impl VisitMut for Values<'_> {
            fn visit_expr_mut(&mut self, expr: &mut syn::Expr) {
                if let syn::Expr::Path(path) = &*expr
                    && let Some(name) = name_of(path)
                    && !self.0.is_local(name)
                    && let Some(of) = self.0.constants.iter().rev().find(|of| of.name == *name)
                {
                    let value = &of.value;
                    *expr = syn::parse_quote!((#value));
                }
                syn::visit_mut::visit_expr_mut(self, expr);
            }
        }
        let mut expr = expr.clone();
        Values(self).visit_expr_mut(&mut expr);
        expr
    }

    /// The constants of a block, which are in scope in all of it. In the tree they are `let`s. The type-inference copy
    /// keeps the items, which cannot contain probes, and has their values with probes in `probed`.
    fn constants(&mut self, block: &syn::Block, probed: &mut Vec<syn::Stmt>) -> Vec<Stmt> {
        let mut stmts = Vec::new();
        for stmt in &block.stmts {
            let syn::Stmt::Item(syn::Item::Const(item)) = stmt else { continue };
            let span = self.spans.of(item);
            let mut with_probes = item.expr.clone();
            let (ty, value) = (self.written_type(&item.ty), self.expr(&mut with_probes));
            // A literal needs no probe.
            if !matches!(*item.expr, syn::Expr::Lit(_)) {
                let written = &item.ty;
                probed.push(syn::parse_quote!(let _: #written = #with_probes;));
            }
            let name = item.ident.to_string();
            self.bind(&item.ident);
            let value_in_source = (*item.expr).clone();
            self.constants.push(BodyConstant {
                name: item.ident.clone(),
                value: value_in_source,
                depth: self.scopes.len(),
            });
            stmts.push(Stmt { kind: StmtKind::Let { name, mutable: false, ty, value }, span });
        }
        stmts
    }

    fn stmt(&mut self, stmt: &mut syn::Stmt, probes: &mut Vec<syn::Stmt>) -> Stmt {
        let span = match stmt {
            // A loop reports errors at its `for`.
            syn::Stmt::Expr(syn::Expr::ForLoop(each), _) => {
                let attributes = std::mem::take(&mut each.attrs);
                let span = self.spans.of(each);
                each.attrs = attributes;
                span
            }
            _ => self.spans.of(stmt),
        };
        let kind = match stmt {
            syn::Stmt::Local(local) => self.local(local, probes),
            syn::Stmt::Item(syn::Item::Fn(_)) => {
                let text = "functions in functions are not supported in kernels; move this one out, and write \
                            `#[qd::func]` above it";
                StmtKind::Unsupported(Construct::Format(text.to_owned()))
            }
            syn::Stmt::Item(_) => StmtKind::Unsupported(Construct::Item),
            syn::Stmt::Macro(call) => self.macro_stmt(&mut call.mac),
            syn::Stmt::Expr(expr, _) => self.expr_stmt(expr),
        };
        Stmt { kind, span }
    }

    fn local(&mut self, local: &mut Local, probes: &mut Vec<syn::Stmt>) -> StmtKind {
        let site = marks::take(&mut local.attrs);
        let pattern = untyped(&local.pat);
        if let Pat::Type(typed) = &local.pat
            && owns_host_memory(&typed.ty)
        {
            let what =
                "kernels have no memory of the host but tensors; a local can be an array, `[…; N]`";
            return self.unsupported_local(pattern, Construct::Format(what.to_owned()));
        }
        let init = match &mut local.init {
            Some(init) if init.diverge.is_none() => &mut *init.expr,
            Some(_) => return self.unsupported_local(pattern, Construct::LetCondition),
            None => {
                return self.without_value(&local.pat).unwrap_or_else(|| {
                    self.unsupported_local(pattern, Construct::LetWithoutValue)
                });
            }
        };
        if matches!(unparenthesized(init), syn::Expr::Closure(_)) {
            self.closures.extend(pattern_names(pattern).iter().map(ToString::to_string));
        }
        match (pattern, self.shape_of(init)) {
            (
                Pat::Ident(PatIdent { by_ref: None, subpat: None, ident, mutability, .. }),
                shape_of,
            ) => {
                if let (Some(base), None) = (shape_of, mutability) {
                    self.bind_view(ident);
                    return StmtKind::LetShape { name: ident.to_string(), base };
                }
                if let Some(shared) = self.shared_array(ident, init) {
                    self.bind_view(ident);
                    return shared;
                }
                if mutability.is_none()
                    && let Some(collective) = self.collective(ident, init, probes)
                {
                    self.bind(ident);
                    return collective;
                }
                let value = self.expr(init);
                let ty = if ident == ELEMENTS {
                    let ty = self.pass_elements(init);
                    self.bind(ident);
                    ty
                } else {
                    self.bind_probed(ident, probes)
                };
                let (name, mutable) = (ident.to_string(), mutability.is_some());
                StmtKind::Let { name, mutable, ty: self.put_site(site, ty), value }
            }
            (Pat::Wild(_), _) => StmtKind::Expr(self.expr(init)),
            (Pat::Slice(slice), Some(base)) => {
                let is_rest = |pattern: &Pat| matches!(pattern, Pat::Rest(_));
                let rest = slice.elems.iter().position(is_rest);
                let named = slice.elems.iter().filter(|pattern| !is_rest(pattern));
                let names = named.map(|pattern| match pattern {
                    Pat::Wild(_) => Some(None),
                    pattern => Some(Some(pattern_ident(pattern)?.ident.to_string())),
                });
                let names: Option<Vec<_>> = names.collect();
                self.bind_all(pattern);
                match names {
                    Some(names) => StmtKind::LetExtents { names, rest, base },
                    None => StmtKind::Unsupported(Construct::Pattern),
                }
            }
            (pattern, None) => {
                let value = self.expr(init);
                let ty = self.pass(init);
                self.put_site(site, ty);
                match self.pattern_parts(pattern, probes) {
                    Some(pattern) => StmtKind::LetPattern { pattern, value },
                    None => self.unsupported_local(pattern, Construct::Pattern),
                }
            }
            (Pat::Tuple(tuple), Some(shape)) => {
                let names = text_of(&tuple.elems);
                let what = format!("a shape is an array: write `let [{names}] = {shape}.shape();`");
                self.unsupported_local(pattern, Construct::Format(what))
            }
            (pattern, Some(_)) => self.unsupported_local(pattern, Construct::Pattern),
        }
    }

    /// `let name;`, whose type is that of the values assigned to it. rustc checks that it is not read before. `None`
    /// for other patterns.
    fn without_value(&mut self, pattern: &Pat) -> Option<StmtKind> {
        let PatIdent { ident, .. } = pattern_ident(pattern)?;
        let mut deferred = None;
        let ty = match pattern {
            Pat::Type(typed) => self.written_type(&typed.ty),
            _ => {
                deferred = Some(self.next_probe());
                let (probe, binding) = (self.next_probe(), ident.clone());
                self.add_type(TypeEntry::Probe { probe, binding, expected: ExpectedType::Any })
            }
        };
        self.bind(ident);
        let position = self.scopes.iter().map(Vec::len).sum::<usize>() - 1;
        self.deferred.extend(deferred.map(|probe| (position, probe)));
        let span = self.spans.of(ident);
        let none = Stmt { kind: StmtKind::Unreachable, span };
        let kind = ExprKind::Block(Block { stmts: vec![none], value: None });
        let (name, value) = (ident.to_string(), Expr { kind, span });
        Some(StmtKind::Let { name, mutable: true, ty, value })
    }

    /// The probe for the values of a local that is declared without one.
    fn probe_of_values(&self, name: &Ident) -> Option<&Ident> {
        let named = self.scopes.iter().flatten().enumerate().filter(|(_, bound)| *name == bound);
        let (position, _) = named.last()?;
        self.deferred.iter().find(|(known, _)| *known == position).map(|(_, probe)| probe)
    }

    fn unsupported_local(&mut self, pattern: &Pat, construct: Construct) -> StmtKind {
        self.bind_all(pattern);
        StmtKind::Unsupported(construct)
    }

    fn macro_stmt(&mut self, call: &mut syn::Macro) -> StmtKind {
        match Invocation::of(call) {
            Some(Ok(Invocation::Assert(assert))) => self.assertion(call, assert),
            Some(Ok(Invocation::Print(print))) => self.print(call, print),
            Some(Err(error)) => StmtKind::Unsupported(Construct::Format(error.to_string())),
            None if is_unreachable(call) => StmtKind::Unreachable,
            None => {
                let name = call.path.to_token_stream().to_string().replace(' ', "");
                StmtKind::Unsupported(Construct::Macro(name))
            }
        }
    }

    fn assertion(&mut self, call: &mut syn::Macro, assert: AssertCall) -> StmtKind {
        let (message, text) = assert.text();
        let comparison = assert.comparison();
        let mut condition = assert.condition();
        let cond = self.expr(&mut condition);
        let (mut args, mut checks) = (Vec::new(), TokenStream::new());
        if let Some(mut text) = assert.message {
            args = self.arguments(&mut text, &mut checks);
        }
        if let AssertCheck::Comparison { mut operands, .. } = assert.checks {
            // Both have one type, which is checked once.
            for (operand, is_checked) in operands.iter_mut().zip([true, false]) {
                let value = self.expr(operand);
                args.push((value, self.pass(operand)));
                checks.extend(match is_checked {
                    true => debug_check(operand),
                    false => quote!(let _ = #operand;),
                });
            }
        }
        call.tokens = match checks.is_empty() {
            true => quote!(#condition, #text),
            false => quote!({ #checks #condition }),
        };
        // The user's crate may have a macro with this name.
        let at = spans::first(&call.path);
        call.path = syn::parse_quote_spanned!(at=> ::core::assert);
        StmtKind::Assert { cond, report: AssertionReport { message, comparison, args } }
    }

    fn print(&mut self, call: &mut syn::Macro, mut print: FormatText) -> StmtKind {
        let mut checks = TokenStream::new();
        let args = self.arguments(&mut print, &mut checks);
        // A lint rejects an assertion of `true` alone.
        let text = &print.text;
        call.tokens = quote_spanned!(text.span()=> { let _ = #text; #checks true });
        let at = spans::first(&call.path);
        call.path = syn::parse_quote_spanned!(at=> ::core::assert);
        StmtKind::Print { format: print.format, args }
    }

    /// The arguments of a text. The type-inference copy passes them through probes, and checks that they suit the text.
    fn arguments(
        &mut self,
        text: &mut FormatText,
        checks: &mut TokenStream,
    ) -> Vec<(Expr, TypeIx)> {
        let mut values = Vec::with_capacity(text.args.len());
        for at in 0..text.args.len() {
            let expected = text.expected(at);
            let arg = &mut text.args[at];
            let value = self.expr(arg);
            values.push((value, self.pass_as(arg, expected)));
            checks.extend(match expected {
                ExpectedType::Any => debug_check(arg),
                _ => quote!(let _ = #arg;),
            });
        }
        values
    }
}

/// A statement of the type-inference copy by which rustc checks that a value has a `Debug`.
fn debug_check(value: &syn::Expr) -> TokenStream {
    let at = spans::first(value);
    quote_spanned!(at=> let _: &dyn ::core::fmt::Debug = &#value;)
}

/// Whether an expression at the end of a block is a statement of the tree rather than its value.
fn is_statement(expr: &syn::Expr) -> bool {
    use syn::Expr as E;
    match expr {
        E::ForLoop(_)
        | E::While(_)
        | E::Assign(_)
        | E::Break(_)
        | E::Continue(_)
        | E::Return(_)
        | E::Macro(_) => true,
        E::Loop(each) => !gives_value(each),
        E::Binary(binary) => is_assignment(&binary.op),
        E::If(branch) => combines(&branch.attrs),
        _ => false,
    }
}
