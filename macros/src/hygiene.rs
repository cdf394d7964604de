//! One reading of the author's tokens. The tree and rustc read them separately: here what they would read
//! differently is refused, or written so that there is but one way to read it.

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{
    Attribute, Pat, PatIdent,
    ext::IdentExt,
    punctuated::Punctuated,
    visit::{self, Visit},
    visit_mut::{self, VisitMut},
};

use crate::{
    body::unparenthesized,
    tree::{Assert, SCALARS, is_constant, text_of},
};

/// Gives all names the hygiene of the item's keyword, so that names of the same text are the same name: the
/// tree knows texts alone. Without macros around the item, they have it already.
pub(crate) fn of_one_hygiene(item: TokenStream) -> TokenStream {
    let keyword = item.clone().into_iter().find_map(|token| match token {
        TokenTree::Ident(ident) if ident == "fn" || ident == "impl" || ident == "trait" => {
            Some(ident.span())
        }
        _ => None,
    });
    match keyword {
        Some(keyword) => resolved_at(item, keyword),
        None => item,
    }
}

/// The error for `::core` where tokens do not tell that it begins a path: elsewhere it is found through the library.
pub(crate) fn refused_root(item: TokenStream) -> Option<syn::Error> {
    let all: Vec<TokenTree> = item.into_iter().collect();
    let is = |at: usize, mark: char| matches!(all.get(at), Some(TokenTree::Punct(p)) if p.as_char() == mark);
    all.iter().enumerate().find_map(|(at, token)| match token {
        TokenTree::Group(group) => refused_root(group.stream()),
        TokenTree::Ident(name)
            if name == "core" && at >= 3 && is(at - 1, ':') && is(at - 2, ':') =>
        {
            let after_mark = is(at - 3, '>') && !(at >= 4 && (is(at - 4, '-') || is(at - 4, '=')));
            let after_label =
                matches!(all[at - 3], TokenTree::Ident(_)) && at >= 4 && is(at - 4, '\'');
            let message = "write this path without `::` in front, or in parentheses";
            (after_mark || after_label).then(|| syn::Error::new(name.span(), message))
        }
        _ => None,
    })
}

/// The error for a name that emitted code may have: items know no hygiene.
pub(crate) fn reserved(item: TokenStream) -> Option<syn::Error> {
    item.into_iter().find_map(|token| match token {
        TokenTree::Ident(ident) if ident.unraw().to_string().starts_with("__") => {
            let message = "names in kernels and funcs that begin with `__` are reserved";
            Some(syn::Error::new(ident.span(), message))
        }
        TokenTree::Group(group) => reserved(group.stream()),
        _ => None,
    })
}

/// What is refused in a function: attributes that the tree knows nothing of, and types made of constants
/// that only the body knows.
pub(crate) fn refused(signature: &syn::Signature, body: &syn::Block) -> Option<syn::Error> {
    let mut constants = Constants(Vec::new());
    constants.visit_block(body);
    let mut refused = Refused { constants: constants.0, in_type: false, error: None };
    refused.visit_signature(signature);
    refused.visit_block(body);
    refused.error
}

/// A name as kernels have it: `r#` is left on keywords only.
pub(crate) fn normalized(name: &Ident) -> String {
    let text = name.unraw().to_string();
    if syn::parse_str::<Ident>(&text).is_ok() { text } else { name.to_string() }
}

/// The error for `Self` in a function that is in no `impl` block: a generic func and its body hang on different types.
pub(crate) fn refused_self(function: &syn::ItemFn) -> Option<syn::Error> {
    fn named(tokens: TokenStream) -> Option<Ident> {
        tokens.into_iter().find_map(|token| match token {
            TokenTree::Ident(ident) => (ident == "Self").then_some(ident),
            TokenTree::Group(group) => named(group.stream()),
            _ => None,
        })
    }
    let found = named(function.sig.to_token_stream())
        .or_else(|| named(function.block.to_token_stream()))?;
    Some(syn::Error::new(found.span(), "`Self` is available in `impl` blocks only"))
}

/// The error for a macro in the type of an `impl` block.
pub(crate) fn refused_type(ty: &syn::Type) -> Option<syn::Error> {
    let mut refused = Refused { constants: Vec::new(), in_type: true, error: None };
    refused.visit_type(ty);
    refused.error
}

/// Takes away what is not known to leave a function as it stands, and says so of what could rewrite it: rustc
/// would compile what the tree has not seen. Tools read their attributes in the author's file.
#[must_use]
pub(crate) fn inert(attributes: &mut Vec<Attribute>) -> TokenStream {
    const TOOLS: [&str; 2] = ["rustfmt", "clippy"];
    let mut errors = TokenStream::new();
    attributes.retain(|attribute| {
        let path = attribute.path();
        if path.segments.len() > 1 && TOOLS.iter().any(|tool| path.segments[0].ident == tool) {
            return false;
        }
        let inert = is_inert(&attribute.meta);
        if !inert {
            let message = "this could rewrite what is read already; write it before the attribute of the kernel or func";
            errors.extend(syn::Error::new_spanned(attribute, message).into_compile_error());
        }
        inert
    });
    errors
}

/// Whether an attribute is one of rustc's that change no tokens. Nobody else's can have its name.
fn is_inert(attribute: &syn::Meta) -> bool {
    const KNOWN: [&str; 12] = [
        "doc",
        "allow",
        "expect",
        "warn",
        "deny",
        "forbid",
        "inline",
        "cold",
        "must_use",
        "deprecated",
        "track_caller",
        "cfg",
    ];
    if let syn::Meta::List(list) = attribute
        && list.path.is_ident("cfg_attr")
    {
        let all = Punctuated::<syn::Meta, syn::Token![,]>::parse_terminated;
        return list.parse_args_with(all).is_ok_and(|metas| metas.iter().skip(1).all(is_inert));
    }
    KNOWN.iter().any(|known| attribute.path().is_ident(known))
}

/// Writes names in the patterns of `match` so that they cannot be read as constants, the functions of numbers so that
/// they can be nothing else, operands so that they stay together, and statements and bodies of closures without
/// parentheses around them: a loop in parentheses is a loop.
pub(crate) fn unambiguous(body: &mut syn::Block) {
    Names.visit_block_mut(body);
}

fn resolved_at(tokens: TokenStream, at: Span) -> TokenStream {
    let tokens = tokens.into_iter().map(|token| match token {
        // Which crate that is, its hygiene says.
        TokenTree::Ident(ident) if ident == "$crate" => ident.into(),
        TokenTree::Ident(ident) => {
            let span = ident.span().resolved_at(at);
            // `r#k` and `k` are one name to rustc; of a keyword there is but the raw one.
            let text = ident.unraw().to_string();
            let plain = syn::parse_str::<Ident>(&text).is_ok();
            let mut ident = if plain { Ident::new(&text, span) } else { ident };
            ident.set_span(span);
            ident.into()
        }
        TokenTree::Group(group) => {
            let mut inner = Group::new(group.delimiter(), resolved_at(group.stream(), at));
            inner.set_span(group.span());
            inner.into()
        }
        other => other,
    });
    tokens.collect()
}

/// The constants that a body declares.
struct Constants(Vec<Ident>);

impl Visit<'_> for Constants {
    fn visit_item_const(&mut self, item: &syn::ItemConst) {
        self.0.push(item.ident.clone());
    }
}

struct Refused {
    constants: Vec<Ident>,
    /// Whether what is visited is in a type, a length or a generic argument.
    in_type: bool,
    error: Option<syn::Error>,
}

impl Refused {
    fn add(&mut self, tokens: impl ToTokens, message: &str) {
        let error = syn::Error::new_spanned(tokens, message);
        match &mut self.error {
            Some(all) => all.combine(error),
            None => self.error = Some(error),
        }
    }

    fn within_type(&mut self, visit: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.in_type, true);
        visit(self);
        self.in_type = outer;
    }

    /// What stands in a type is looked up outside the body.
    fn outside(&mut self, tokens: &impl ToTokens) {
        if let Some(name) = found(tokens.to_token_stream(), &self.constants) {
            self.add(
                name,
                "a type in a kernel cannot name a constant of the body; declare it outside",
            );
        }
    }
}

impl Visit<'_> for Refused {
    fn visit_block(&mut self, block: &syn::Block) {
        let items = block.stmts.iter().filter_map(|stmt| match stmt {
            syn::Stmt::Item(syn::Item::Const(item)) => Some(item),
            _ => None,
        });
        let items: Vec<_> = items.collect();
        for (at, item) in items.iter().enumerate() {
            let later: Vec<_> = items[at..].iter().map(|item| item.ident.clone()).collect();
            if let Some(name) = found(item.expr.to_token_stream(), &later) {
                self.add(
                    name,
                    "a constant in a kernel is made of ones that are declared before it",
                );
            }
        }
        visit::visit_block(self, block);
    }

    fn visit_attribute(&mut self, attribute: &Attribute) {
        const LEVELS: [&str; 5] = ["allow", "expect", "warn", "deny", "forbid"];
        if !LEVELS.iter().any(|level| attribute.path().is_ident(level)) {
            self.add(
                attribute,
                "attributes in kernels are lint levels, and `serial`, `block_size` and `unroll` of loops",
            );
        }
    }

    fn visit_expr_for_loop(&mut self, each: &syn::ExprForLoop) {
        // Its attributes the tree knows.
        let mut each = each.clone();
        each.attrs.clear();
        visit::visit_expr_for_loop(self, &each);
    }

    fn visit_type(&mut self, ty: &syn::Type) {
        self.within_type(|this| visit::visit_type(this, ty));
    }

    fn visit_expr_repeat(&mut self, repeat: &syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
        self.within_type(|this| this.visit_expr(&repeat.len));
    }

    fn visit_macro(&mut self, call: &syn::Macro) {
        if self.in_type {
            self.add(
                call,
                "macros are not supported in types, lengths and generic arguments of kernels and funcs; write the type",
            );
            return;
        }
        if let Ok(Assert { cond, .. }) = call.parse_body() {
            self.visit_expr(&cond);
        }
    }

    fn visit_expr_cast(&mut self, cast: &syn::ExprCast) {
        self.outside(&cast.ty);
        visit::visit_expr_cast(self, cast);
    }

    fn visit_item_const(&mut self, item: &syn::ItemConst) {
        self.outside(&item.ty);
        visit::visit_item_const(self, item);
    }

    fn visit_angle_bracketed_generic_arguments(
        &mut self,
        arguments: &syn::AngleBracketedGenericArguments,
    ) {
        self.outside(arguments);
        self.within_type(|this| visit::visit_angle_bracketed_generic_arguments(this, arguments));
    }
}

struct Names;

impl VisitMut for Names {
    fn visit_macro_mut(&mut self, call: &mut syn::Macro) {
        let Ok(Assert { mut cond, message, is_value }) = call.parse_body() else { return };
        let own = text_of(&cond);
        let before = cond.to_token_stream().to_string();
        self.visit_expr_mut(&mut cond);
        if cond.to_token_stream().to_string() != before {
            call.tokens = match message {
                Some(message) if !is_value => quote!(#cond, #message),
                message => {
                    let message =
                        message.unwrap_or_else(|| syn::LitStr::new(&own, Span::call_site()));
                    quote!(#cond, "{}", #message)
                }
            };
        }
    }

    fn visit_expr_mut(&mut self, expr: &mut syn::Expr) {
        use syn::Expr as E;
        match expr {
            E::Binary(binary) => {
                operand(&mut binary.left);
                operand(&mut binary.right);
            }
            E::Unary(unary) => operand(&mut unary.expr),
            E::Cast(cast) => operand(&mut cast.expr),
            E::MethodCall(call) => operand(&mut call.receiver),
            E::Field(field) => operand(&mut field.base),
            E::Index(index) => operand(&mut index.expr),
            E::Reference(reference) => operand(&mut reference.expr),
            _ => {}
        }
        while let E::Group(group) = expr {
            *expr = (*group.expr).clone();
        }
        visit_mut::visit_expr_mut(self, expr);
    }

    fn visit_expr_call_mut(&mut self, call: &mut syn::ExprCall) {
        if let syn::Expr::Path(syn::ExprPath { qself: None, path, .. }) = &mut *call.func {
            absolute(path);
        }
        visit_mut::visit_expr_call_mut(self, call);
    }

    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        for stmt in &mut block.stmts {
            if let syn::Stmt::Expr(expr, _) = stmt {
                bare(expr);
            }
        }
        visit_mut::visit_block_mut(self, block);
    }

    fn visit_expr_closure_mut(&mut self, closure: &mut syn::ExprClosure) {
        bare(&mut closure.body);
        visit_mut::visit_expr_closure_mut(self, closure);
    }

    fn visit_arm_mut(&mut self, arm: &mut syn::Arm) {
        bound(&mut arm.pat);
        visit_mut::visit_arm_mut(self, arm);
    }
}

/// An operand that a `macro_rules!` macro was given as one: rustc forgets that it is, unless it is in parentheses.
fn operand(expr: &mut syn::Expr) {
    use syn::Expr as E;
    while let E::Group(group) = expr {
        let inner = (*group.expr).clone();
        *expr = match inner {
            E::Binary(_)
            | E::Unary(_)
            | E::Cast(_)
            | E::Range(_)
            | E::Assign(_)
            | E::Closure(_)
            | E::Reference(_)
            | E::If(_)
            | E::Match(_)
            | E::Block(_)
            | E::Unsafe(_)
            | E::Loop(_)
            | E::Struct(_) => E::Paren(syn::ExprParen {
                attrs: Vec::new(),
                paren_token: syn::token::Paren(group.group_token.span),
                expr: Box::new(inner),
            }),
            other => other,
        };
    }
}

/// `u32::max` from `::core` on: the author may have a module of a number's name.
fn absolute(path: &mut syn::Path) {
    let is_own = |of: &Ident| of != "f16" && SCALARS.iter().any(|known| of == known);
    if path.leading_colon.is_none() && path.segments.len() == 2 && is_own(&path.segments[0].ident) {
        // What is wrong in the call, the processor's body reports from its first token.
        let at = path.segments[0].ident.span();
        let segments = &path.segments;
        *path = syn::parse_quote_spanned!(at=> ::core::primitive::#segments);
    }
}

/// Takes parentheses around loops and calls away, and the marks that a macro leaves around what it was given.
fn bare(expr: &mut syn::Expr) {
    use syn::Expr::{Block, Call, ForLoop, Loop, MethodCall, While};
    let inner = unparenthesized(expr);
    if !matches!(inner, Block(_) | Call(_) | ForLoop(_) | Loop(_) | MethodCall(_) | While(_)) {
        return;
    }
    while let syn::Expr::Paren(syn::ExprParen { expr: inner, .. })
    | syn::Expr::Group(syn::ExprGroup { expr: inner, .. }) = expr
    {
        *expr = std::mem::replace(&mut **inner, syn::Expr::PLACEHOLDER);
    }
}

/// `name @ _`, which binds whatever else has that name.
fn bound(pattern: &mut Pat) {
    match pattern {
        Pat::Ident(PatIdent { subpat: subpat @ None, ident, .. }) if !is_constant(ident) => {
            *subpat = Some((<syn::Token![@]>::default(), Box::new(syn::parse_quote!(_))));
        }
        Pat::Paren(paren) => bound(&mut paren.pat),
        Pat::Guard(guarded) => bound(&mut guarded.pat),
        _ => {}
    }
}

/// The first of some names in tokens.
fn found(tokens: TokenStream, names: &[Ident]) -> Option<Ident> {
    tokens.into_iter().find_map(|token| match token {
        TokenTree::Ident(ident) => names.contains(&ident).then_some(ident),
        TokenTree::Group(group) => found(group.stream(), names),
        _ => None,
    })
}
