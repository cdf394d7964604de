//! Ensures that the user's tokens have one meaning. The syntax tree and rustc parse them separately. Tokens that they
//! would interpret differently are rejected here, or rewritten so that there is only one interpretation.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{
    Attribute, Pat, PatIdent,
    ext::IdentExt,
    punctuated::Punctuated,
    visit::{self, Visit},
    visit_mut::{self, VisitMut},
};

use crate::{
    ast::{Invocation, LINT_LEVELS, SCALARS, is_constant_pattern, unparenthesized},
    errors::Errors,
    marks,
    signature::NO_OPTIONS,
    tokens::{idents, is_punct, with_stream},
};

/// Gives all names the hygiene of the item's keyword, so that equal texts are equal names: the tree compares texts.
/// They differ only if macros made the item.
pub(crate) fn with_one_hygiene(item: TokenStream) -> TokenStream {
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

fn resolved_at(tokens: TokenStream, at: Span) -> TokenStream {
    let resolved = |token| match token {
        // The hygiene of `$crate` determines the crate.
        TokenTree::Ident(name) if name == "$crate" => name.into(),
        TokenTree::Ident(mut name) => {
            let span = name.span().resolved_at(at);
            // To rustc, `r#k` and `k` are one name; a keyword has only the raw one.
            if let Some(plain) = plain(&name) {
                name = Ident::new(&plain, span);
            }
            name.set_span(span);
            name.into()
        }
        // A text may have names: `"{name}"`. To lints, other literals stay those of the macro that wrote them.
        TokenTree::Literal(mut text) if text.to_string().ends_with(['"', '#']) => {
            text.set_span(text.span().resolved_at(at));
            text.into()
        }
        TokenTree::Group(group) => with_stream(&group, resolved_at(group.stream(), at)),
        other => other,
    };
    tokens.into_iter().map(resolved).collect()
}

/// A name without `r#`, unless it is a keyword.
fn plain(name: &Ident) -> Option<String> {
    let text = name.unraw().to_string();
    syn::parse_str::<Ident>(&text).is_ok().then_some(text)
}

/// A name as kernels write it: with `r#` for keywords only.
pub(crate) fn normalized(name: &Ident) -> String {
    plain(name).unwrap_or_else(|| name.to_string())
}

/// The error for `::core` whose tokens do not show that it begins a path. [`marks::finished`](crate::marks::finished)
/// replaces the others.
pub(crate) fn refused_root(item: TokenStream) -> Option<syn::Error> {
    let all: Vec<TokenTree> = item.into_iter().collect();
    let is = |at: usize, mark: char| all.get(at).is_some_and(|token| is_punct(token, mark));
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

/// The error for a name that emitted code may have: items have no hygiene.
pub(crate) fn refused_name(item: &TokenStream) -> Option<syn::Error> {
    let mut names = idents(item).into_iter();
    let name = names.find(|name| name.unraw().to_string().starts_with("__"))?;
    let message = "names in kernels and funcs that begin with `__` are reserved";
    Some(syn::Error::new(name.span(), message))
}

/// The error for `Self` in a function outside of `impl` blocks: the source and the body of a generic func are in `impl`
/// blocks of different types.
pub(crate) fn refused_self(function: &syn::ItemFn) -> Option<syn::Error> {
    let (signature, body) = (idents(&function.sig), idents(&function.block));
    let found = signature.into_iter().chain(body).find(|name| name == "Self")?;
    Some(syn::Error::new(found.span(), "`Self` is available in `impl` blocks only; write the type"))
}

/// The errors in a function: attributes that the tree ignores, and types that depend on constants of the body.
pub(crate) fn refused(signature: &syn::Signature, body: &syn::Block) -> Option<syn::Error> {
    let mut constants = BodyConstants(Vec::new());
    constants.visit_block(body);
    let params: Vec<&Ident> = signature.generics.const_params().map(|param| &param.ident).collect();
    // Emitted code names the parameters inside of the body.
    let hidden = constants.0.iter().find(|name| params.contains(name)).map(|name| {
        let message = format!("a constant in a kernel cannot hide the generic parameter `{name}`");
        syn::Error::new(name.span(), message)
    });
    let mut check =
        HygieneCheck { constants: constants.0, in_type: false, errors: Errors::default() };
    check.visit_signature(signature);
    check.visit_block(body);
    check.errors.extend(hidden);
    check.errors.0
}

/// The error for a value of `Option` or `Result`, at the first place in a function.
pub(crate) fn refused_options(body: &syn::Block) -> Option<syn::Error> {
    struct Options(Option<Span>);
    impl Options {
        fn check_path(&mut self, path: &syn::Path) {
            let is_option = ["Some", "Ok", "Err"].iter().any(|name| path.is_ident(name));
            if is_option && self.0.is_none() {
                self.0 = path.segments.first().map(|first| first.ident.span());
            }
        }
    }
    impl Visit<'_> for Options {
        fn visit_expr_call(&mut self, call: &syn::ExprCall) {
            if let syn::Expr::Path(path) = &*call.func {
                self.check_path(&path.path);
            }
            visit::visit_expr_call(self, call);
        }

        /// Such as `x.checked_sub(1).unwrap_or(0)`.
        fn visit_expr_method_call(&mut self, call: &syn::ExprMethodCall) {
            const MAKES: [&str; 9] = [
                "checked_",
                "try_into",
                "partial_cmp",
                "get",
                "first",
                "last",
                "find",
                "position",
                "next",
            ];
            const USES: [&str; 9] = [
                "unwrap",
                "unwrap_or",
                "unwrap_or_else",
                "unwrap_or_default",
                "expect",
                "is_some",
                "is_none",
                "is_some_and",
                "map_or",
            ];
            if let syn::Expr::MethodCall(inner) = &*call.receiver
                && USES.iter().any(|name| call.method == name)
                && MAKES.iter().any(|name| inner.method.to_string().starts_with(name))
                && self.0.is_none()
            {
                self.0 = Some(inner.method.span());
            }
            visit::visit_expr_method_call(self, call);
        }

        fn visit_pat_tuple_struct(&mut self, pattern: &syn::PatTupleStruct) {
            self.check_path(&pattern.path);
            visit::visit_pat_tuple_struct(self, pattern);
        }
    }
    let mut found = Options(None);
    found.visit_block(body);
    found.0.map(|span| syn::Error::new(span, NO_OPTIONS))
}

/// The error for a macro in the type of an `impl` block.
pub(crate) fn refused_type(ty: &syn::Type) -> Option<syn::Error> {
    let mut check =
        HygieneCheck { constants: Vec::new(), in_type: true, errors: Errors::default() };
    check.visit_type(ty);
    check.errors.0
}

/// Removes all attributes that are not known to leave a function unchanged, and returns errors for those that could
/// rewrite it: rustc would compile what the tree has not seen. Tools read their attributes in the user's file.
#[must_use]
pub(crate) fn keep_inert(attributes: &mut Vec<Attribute>) -> TokenStream {
    const TOOLS: [&str; 2] = ["rustfmt", "clippy"];
    let mut errors = TokenStream::new();
    attributes.retain(|attribute| {
        let path = attribute.path();
        if path.segments.len() > 1 && TOOLS.iter().any(|tool| path.segments[0].ident == tool) {
            return false;
        }
        let inert = is_inert(&attribute.meta);
        if !inert {
            let message = "this attribute could rewrite the function; write it before `#[kernel]` or `#[func]`";
            errors.extend(syn::Error::new_spanned(attribute, message).into_compile_error());
        }
        inert
    });
    errors
}

/// Whether an attribute is a built-in one of rustc that changes no tokens. No other attribute can have its name.
fn is_inert(attribute: &syn::Meta) -> bool {
    const KNOWN: [&str; 7] =
        ["doc", "inline", "cold", "must_use", "deprecated", "track_caller", "cfg"];
    if let syn::Meta::List(list) = attribute
        && list.path.is_ident("cfg_attr")
    {
        let all = Punctuated::<syn::Meta, syn::Token![,]>::parse_terminated;
        return list.parse_args_with(all).is_ok_and(|metas| metas.iter().skip(1).all(is_inert));
    }
    LINT_LEVELS.iter().chain(&KNOWN).any(|known| attribute.path().is_ident(known))
}

/// Rewrites a body so that
///
/// * a name in a pattern of `match` cannot be a constant;
/// * functions of scalar types cannot be anything else;
/// * operands that `macro_rules!` grouped stay together;
/// * statements and bodies of closures have no parentheses around them: a loop in parentheses is a loop.
pub(crate) fn make_unambiguous(body: &mut syn::Block) {
    Disambiguator.visit_block_mut(body);
}

/// The constants that a body declares.
struct BodyConstants(Vec<Ident>);

impl Visit<'_> for BodyConstants {
    fn visit_item_const(&mut self, item: &syn::ItemConst) {
        self.0.push(item.ident.clone());
    }
}

/// Checks attributes, types and constants.
struct HygieneCheck {
    constants: Vec<Ident>,
    /// Whether the walk is in a type, a length or a generic argument.
    in_type: bool,
    errors: Errors,
}

impl HygieneCheck {
    fn add(&mut self, tokens: impl ToTokens, message: &str) {
        self.errors.add(syn::Error::new_spanned(tokens, message));
    }

    fn within_type(&mut self, visit: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.in_type, true);
        visit(self);
        self.in_type = outer;
    }

    /// Checks tokens that emitted code repeats outside of the body.
    fn check_outside(&mut self, tokens: &impl ToTokens) {
        if let Some(name) = first_of(tokens, &self.constants) {
            self.add(
                name,
                "a type in a kernel cannot name a constant of the body; declare it outside",
            );
        }
    }
}

impl Visit<'_> for HygieneCheck {
    fn visit_block(&mut self, block: &syn::Block) {
        let items = block.stmts.iter().filter_map(|stmt| match stmt {
            syn::Stmt::Item(syn::Item::Const(item)) => Some(item),
            _ => None,
        });
        let items: Vec<_> = items.collect();
        for (at, item) in items.iter().enumerate() {
            let later: Vec<_> = items[at..].iter().map(|item| item.ident.clone()).collect();
            if let Some(name) = first_of(&item.expr, &later) {
                self.add(
                    name,
                    "a constant in a kernel must be declared after the constants that it uses",
                );
            }
        }
        visit::visit_block(self, block);
    }

    fn visit_attribute(&mut self, attribute: &Attribute) {
        let is_known = |name| attribute.path().is_ident(name);
        if !is_known(marks::COMBINATION) && !LINT_LEVELS.iter().any(|level| is_known(level)) {
            self.add(
                attribute,
                "attributes in kernels are lint levels, and `serial`, `block_size` and `unroll` of loops",
            );
        }
    }

    fn visit_expr_for_loop(&mut self, each: &syn::ExprForLoop) {
        // The tree checks its attributes.
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
        } else if let Some(Ok(invocation)) = Invocation::of(call) {
            invocation.exprs().iter().for_each(|expr| self.visit_expr(expr));
        }
    }

    fn visit_expr_cast(&mut self, cast: &syn::ExprCast) {
        self.check_outside(&cast.ty);
        visit::visit_expr_cast(self, cast);
    }

    fn visit_item_const(&mut self, item: &syn::ItemConst) {
        self.check_outside(&item.ty);
        visit::visit_item_const(self, item);
    }

    fn visit_angle_bracketed_generic_arguments(
        &mut self,
        arguments: &syn::AngleBracketedGenericArguments,
    ) {
        self.check_outside(arguments);
        self.within_type(|this| visit::visit_angle_bracketed_generic_arguments(this, arguments));
    }
}

fn first_of(tokens: &impl ToTokens, names: &[Ident]) -> Option<Ident> {
    idents(tokens).into_iter().find(|ident| names.contains(ident))
}

struct Disambiguator;

impl VisitMut for Disambiguator {
    fn visit_macro_mut(&mut self, call: &mut syn::Macro) {
        Invocation::rewrite(call, |expr| self.visit_expr_mut(expr));
    }

    fn visit_expr_mut(&mut self, expr: &mut syn::Expr) {
        use syn::Expr as E;
        match expr {
            E::Binary(binary) => {
                ungroup_operand(&mut binary.left);
                ungroup_operand(&mut binary.right);
            }
            E::Unary(syn::ExprUnary { expr: operand, .. })
            | E::Cast(syn::ExprCast { expr: operand, .. })
            | E::MethodCall(syn::ExprMethodCall { receiver: operand, .. })
            | E::Field(syn::ExprField { base: operand, .. })
            | E::Index(syn::ExprIndex { expr: operand, .. })
            | E::Reference(syn::ExprReference { expr: operand, .. }) => ungroup_operand(operand),
            _ => {}
        }
        while let E::Group(group) = expr {
            *expr = (*group.expr).clone();
        }
        visit_mut::visit_expr_mut(self, expr);
    }

    fn visit_expr_call_mut(&mut self, call: &mut syn::ExprCall) {
        if let syn::Expr::Path(syn::ExprPath { qself: None, path, .. }) = &mut *call.func {
            make_absolute(path);
        }
        visit_mut::visit_expr_call_mut(self, call);
    }

    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        for stmt in &mut block.stmts {
            if let syn::Stmt::Expr(expr, _) = stmt {
                strip_parentheses(expr);
            }
        }
        visit_mut::visit_block_mut(self, block);
    }

    fn visit_expr_closure_mut(&mut self, closure: &mut syn::ExprClosure) {
        strip_parentheses(&mut closure.body);
        visit_mut::visit_expr_closure_mut(self, closure);
    }

    fn visit_arm_mut(&mut self, arm: &mut syn::Arm) {
        make_binding(&mut arm.pat);
        visit_mut::visit_arm_mut(self, arm);
    }
}

/// Replaces the invisible group of a `macro_rules!` macro by parentheses: rustc forgets such groups.
fn ungroup_operand(expr: &mut syn::Expr) {
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

/// Writes `u32::max` from `::core` on, because the user may have a module with the name of a scalar type.
fn make_absolute(path: &mut syn::Path) {
    let is_primitive = |of: &Ident| of != "f16" && SCALARS.iter().any(|known| of == known);
    if path.leading_colon.is_none()
        && path.segments.len() == 2
        && is_primitive(&path.segments[0].ident)
    {
        // The CPU body reports errors in the call at its first token.
        let at = path.segments[0].ident.span();
        let segments = &path.segments;
        *path = syn::parse_quote_spanned!(at=> ::core::primitive::#segments);
    }
}

/// Removes parentheses and invisible groups around loops and calls.
fn strip_parentheses(expr: &mut syn::Expr) {
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

/// Writes each name in a pattern as `name @ _`, which binds the name even if a constant has it.
fn make_binding(pattern: &mut Pat) {
    match pattern {
        Pat::Ident(PatIdent { subpat: subpat @ None, ident, .. })
            if !is_constant_pattern(ident) =>
        {
            *subpat = Some((<syn::Token![@]>::default(), Box::new(syn::parse_quote!(_))));
        }
        Pat::Ident(PatIdent { subpat: Some((_, inner)), .. }) => make_binding(inner),
        Pat::Or(or) => or.cases.iter_mut().for_each(make_binding),
        Pat::Paren(paren) => make_binding(&mut paren.pat),
        Pat::Guard(guarded) => make_binding(&mut guarded.pat),
        Pat::Tuple(tuple) => tuple.elems.iter_mut().for_each(make_binding),
        Pat::TupleStruct(tuple) => tuple.elems.iter_mut().for_each(make_binding),
        Pat::Slice(slice) => slice.elems.iter_mut().for_each(make_binding),
        Pat::Struct(of) => of.fields.iter_mut().for_each(|field| {
            field.colon_token.get_or_insert_default();
            make_binding(&mut field.pat);
        }),
        _ => {}
    }
}
