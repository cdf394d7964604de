//! Calls of the user's `macro_rules!` macros in kernels and funcs.
//!
//! A procedural macro cannot expand a macro. But `#[func]` on a `macro_rules!` macro adds rules to it that pass an
//! expansion on ([`definition`]). A kernel that calls such a macro is emitted as a call of it, with the kernel itself
//! as an argument; the expansion is a call of [`resume`], which puts the expanded code into the kernel. This repeats
//! until no call is left.
//!
//! A macro that a body defines is moved out of it, with the same rules.

mod definition;

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quadrants_frontend::syntax::FunctionKind;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{
    Expr, Item, Macro, Stmt, Token, braced,
    ext::IdentExt,
    parse::{Parse, ParseStream, Parser},
    visit_mut::{self, VisitMut},
};

use crate::{
    ast::{Invocation, is_cfg, operand},
    desugar::matches_macro,
    spans,
};

pub(crate) use definition::with_rules_for_kernels;

/// The macros of std. Kernels have some of them, and get a message for the others.
pub(crate) const STD: [&str; 35] = [
    "assert",
    "assert_eq",
    "assert_ne",
    "cfg",
    "column",
    "compile_error",
    "concat",
    "dbg",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "env",
    "eprint",
    "eprintln",
    "file",
    "format",
    "format_args",
    "include",
    "include_bytes",
    "include_str",
    "line",
    "matches",
    "module_path",
    "option_env",
    "panic",
    "print",
    "println",
    "stringify",
    "thread_local",
    "todo",
    "unimplemented",
    "unreachable",
    "vec",
    "write",
    "writeln",
];

/// The macro that stands for the call being expanded.
const PLACEHOLDER: &str = "__expansion";

/// If an item calls macros of the user: the code that expands the first call.
pub(crate) fn expansion(
    kind: FunctionKind,
    arguments: &TokenStream,
    item: &TokenStream,
    support: &TokenStream,
) -> syn::Result<Option<TokenStream>> {
    let Ok(mut parsed) = syn::parse2::<Item>(item.clone()) else { return Ok(None) };
    let moved = move_definitions(&mut parsed)?;
    let mut take = CallExtractor::default();
    take.visit_item_mut(&mut parsed);
    let Some(call) = take.call else {
        // What is defined but not called.
        return Ok((!moved.is_empty()).then(|| call_again(kind, arguments, &parsed, support)));
    };
    let (path, tokens) = (&call.path, &call.tokens);
    let kind = kind_name(kind);
    let marker = definition::marker(spans::first(&call));
    let at = Span::call_site().located_at(spans::first(&call));
    let state = quote!({ #kind { #arguments } { #parsed } });
    let call = quote_spanned!(at=> #path! { #marker [#support::resume] #state #tokens });
    Ok(Some(quote!(#(#moved)* #call)))
}

/// The attribute once more, for an item that changed.
fn call_again(
    kind: FunctionKind,
    arguments: &TokenStream,
    item: &Item,
    support: &TokenStream,
) -> TokenStream {
    let kind = kind_name(kind);
    quote!(#support::resume! { { #kind { #arguments } { #item } } })
}

fn kind_name(kind: FunctionKind) -> Ident {
    let name = match kind {
        FunctionKind::Kernel => "kernel",
        FunctionKind::Func => "func",
    };
    Ident::new(name, Span::call_site())
}

/// An item whose macro calls are being expanded, as [`resume`] gets it.
struct ResumedExpansion {
    kind: FunctionKind,
    arguments: TokenStream,
    item: TokenStream,
    expanded: Option<TokenStream>,
}

impl Parse for ResumedExpansion {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let braces = |input: ParseStream<'_>| {
            let content;
            braced!(content in input);
            content.parse::<TokenStream>()
        };
        let state;
        braced!(state in input);
        let kind = match state.parse::<Ident>()? {
            kernel if kernel == "kernel" => FunctionKind::Kernel,
            _ => FunctionKind::Func,
        };
        let (arguments, item) = (braces(&state)?, braces(&state)?);
        let expanded = (!input.is_empty()).then(|| braces(input)).transpose()?;
        Ok(Self { kind, arguments, item, expanded })
    }
}

/// Puts an expansion into the item that called the macro. Returns what the attribute on the item gets.
pub(crate) fn resume(input: TokenStream) -> syn::Result<(FunctionKind, TokenStream, TokenStream)> {
    let ResumedExpansion { kind, arguments, item, expanded } = syn::parse2(input)?;
    let Some(expanded) = expanded else { return Ok((kind, arguments, item)) };
    let mut item: Item = syn::parse2(item)?;
    let mut put = ExpansionInserter { expanded, error: None };
    put.visit_item_mut(&mut item);
    match put.error {
        Some(error) => Err(error),
        None => Ok((kind, arguments, item.into_token_stream())),
    }
}

/// Whether a call is expanded here.
fn is_users(call: &Macro) -> bool {
    let segments = &call.path.segments;
    let is_std = match (segments.first(), segments.len()) {
        (Some(name), 1) => STD.contains(&&*name.ident.unraw().to_string()),
        (Some(root), _) => ["std", "core", "alloc"].iter().any(|known| root.ident == known),
        (None, _) => false,
    };
    !is_std && !is_cfg(call)
}

/// Calls `visit` with each expression that a macro of kernels evaluates.
fn in_arguments(call: &mut Macro, visit: impl FnMut(&mut Expr)) {
    if !is_users(call) {
        Invocation::rewrite(call, visit);
    }
}

/// Takes the first call out of an item, and leaves the placeholder.
#[derive(Default)]
struct CallExtractor {
    call: Option<Macro>,
}

impl CallExtractor {
    fn take(&mut self, call: &mut Macro) {
        if self.call.is_none() && is_users(call) {
            let name = Ident::new(PLACEHOLDER, Span::call_site());
            self.call = Some(std::mem::replace(call, syn::parse_quote!(#name!())));
        }
    }
}

impl VisitMut for CallExtractor {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        if let Expr::Macro(call) = expr
            && call.mac.path.is_ident("matches")
            && let Some(simpler) = matches_macro(&call.mac)
        {
            *expr = simpler;
        }
        if let Expr::Macro(call) = expr {
            self.take(&mut call.mac);
        }
        visit_mut::visit_expr_mut(self, expr);
    }

    fn visit_stmt_macro_mut(&mut self, call: &mut syn::StmtMacro) {
        self.take(&mut call.mac);
        visit_mut::visit_stmt_macro_mut(self, call);
    }

    fn visit_macro_mut(&mut self, call: &mut Macro) {
        if self.call.is_none() {
            in_arguments(call, |expr| self.visit_expr_mut(expr));
        }
    }

    /// Lengths, types and patterns have no macros.
    fn visit_expr_repeat_mut(&mut self, repeat: &mut syn::ExprRepeat) {
        self.visit_expr_mut(&mut repeat.expr);
    }

    fn visit_type_mut(&mut self, _: &mut syn::Type) {}

    fn visit_pat_mut(&mut self, _: &mut syn::Pat) {}
}

/// Replaces the placeholder by the expanded code.
struct ExpansionInserter {
    expanded: TokenStream,
    error: Option<syn::Error>,
}

fn is_placeholder(call: &Macro) -> bool {
    call.path.is_ident(PLACEHOLDER)
}

impl ExpansionInserter {
    /// The statements of the expansion, or the placeholder's call if they are none.
    fn stmts(&mut self, semicolon: Option<Token![;]>) -> Vec<Stmt> {
        match syn::Block::parse_within.parse2(self.expanded.clone()) {
            Ok(mut stmts) => {
                if let (Some(semicolon), Some(Stmt::Expr(_, end @ None))) =
                    (semicolon, stmts.last_mut())
                {
                    *end = Some(semicolon);
                }
                stmts
            }
            Err(error) => {
                self.error = Some(error);
                Vec::new()
            }
        }
    }
}

impl VisitMut for ExpansionInserter {
    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        let is_placeholder = |stmt: &Stmt| match stmt {
            Stmt::Macro(call) => is_placeholder(&call.mac),
            Stmt::Expr(Expr::Macro(call), _) => is_placeholder(&call.mac),
            _ => false,
        };
        if let Some(at) = block.stmts.iter().position(is_placeholder) {
            let semicolon = match &block.stmts[at] {
                Stmt::Macro(call) => call.semi_token,
                Stmt::Expr(_, semicolon) => *semicolon,
                _ => None,
            };
            let stmts = self.stmts(semicolon);
            block.stmts.splice(at..=at, stmts);
            return;
        }
        visit_mut::visit_block_mut(self, block);
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        if let Expr::Macro(call) = expr
            && is_placeholder(&call.mac)
        {
            match syn::parse2::<Expr>(self.expanded.clone()) {
                Ok(expanded) => *expr = operand(expanded),
                Err(error) => self.error = Some(error),
            }
            return;
        }
        visit_mut::visit_expr_mut(self, expr);
    }

    fn visit_macro_mut(&mut self, call: &mut Macro) {
        in_arguments(call, |expr| self.visit_expr_mut(expr));
    }
}

/// Moves the macros that bodies define out of an item, each with the rules of [`definition`], and renames their calls.
fn move_definitions(item: &mut Item) -> syn::Result<Vec<TokenStream>> {
    let mut moving = MoveDefinitions::default();
    moving.visit_item_mut(item);
    match moving.error {
        Some(error) => Err(error),
        None => Ok(moving.moved),
    }
}

#[derive(Default)]
struct MoveDefinitions {
    function: String,
    moved: Vec<TokenStream>,
    error: Option<syn::Error>,
}

impl VisitMut for MoveDefinitions {
    fn visit_item_fn_mut(&mut self, function: &mut syn::ItemFn) {
        self.function = function.sig.ident.unraw().to_string();
        visit_mut::visit_item_fn_mut(self, function);
    }

    fn visit_impl_item_fn_mut(&mut self, function: &mut syn::ImplItemFn) {
        self.function = function.sig.ident.unraw().to_string();
        visit_mut::visit_impl_item_fn_mut(self, function);
    }

    fn visit_trait_item_fn_mut(&mut self, function: &mut syn::TraitItemFn) {
        self.function = function.sig.ident.unraw().to_string();
        visit_mut::visit_trait_item_fn_mut(self, function);
    }

    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        let mut at = 0;
        while at < block.stmts.len() {
            let Some((name, mut defined)) = definition_in(&block.stmts[at]) else {
                at += 1;
                continue;
            };
            block.stmts.remove(at);
            let moved = format_ident!("{}_in_{}_{}", name.unraw(), self.function, self.moved.len());
            defined.ident = Some(moved.clone());
            match with_rules_for_kernels(&defined) {
                Ok(mut definition) => {
                    let mut rename = RenameCalls { from: &name, to: &moved };
                    rename.stmts(&mut block.stmts[at..]);
                    definition = renamed_calls(definition, &name, &moved);
                    self.moved
                        .push(quote!(#[allow(unused_macros, unused_macro_rules)] #definition));
                }
                Err(error) => self.error = Some(error),
            }
        }
        visit_mut::visit_block_mut(self, block);
    }
}

/// The `macro_rules!` that a statement is, and its name.
fn definition_in(stmt: &Stmt) -> Option<(Ident, syn::ItemMacro)> {
    match stmt {
        Stmt::Item(Item::Macro(item)) if item.mac.path.is_ident("macro_rules") => {
            Some((item.ident.clone()?, item.clone()))
        }
        _ => None,
    }
}

struct RenameCalls<'a> {
    from: &'a Ident,
    to: &'a Ident,
}

impl RenameCalls<'_> {
    /// Renames the calls in statements, up to another definition of the name.
    fn stmts(&mut self, stmts: &mut [Stmt]) {
        let is_other =
            |stmt: &Stmt| definition_in(stmt).is_some_and(|(other, _)| other == *self.from);
        let end = stmts.iter().position(is_other).unwrap_or(stmts.len());
        stmts[..end].iter_mut().for_each(|stmt| self.visit_stmt_mut(stmt));
    }
}

impl VisitMut for RenameCalls<'_> {
    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        self.stmts(&mut block.stmts);
    }

    fn visit_macro_mut(&mut self, call: &mut Macro) {
        if call.path.is_ident(self.from) {
            call.path = self.to.clone().into();
        }
        call.tokens = renamed_calls(std::mem::take(&mut call.tokens), self.from, self.to);
    }
}

/// Tokens with `from!` as `to!`.
fn renamed_calls(tokens: TokenStream, from: &Ident, to: &Ident) -> TokenStream {
    let mut out: Vec<TokenTree> = Vec::new();
    for token in tokens {
        let is_call = matches!(&token, TokenTree::Punct(mark) if mark.as_char() == '!')
            && matches!(out.last(), Some(TokenTree::Ident(name)) if name == from);
        if is_call {
            let mut name = to.clone();
            name.set_span(out.pop().map_or_else(Span::call_site, |name| name.span()));
            out.push(name.into());
        }
        out.push(match token {
            TokenTree::Group(group) => {
                let inner = renamed_calls(group.stream(), from, to);
                let mut renamed = Group::new(group.delimiter(), inner);
                renamed.set_span(group.span());
                renamed.into()
            }
            other => other,
        });
    }
    out.into_iter().collect()
}
