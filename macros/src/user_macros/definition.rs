//! `#[func]` on a `macro_rules!` macro: rules by which kernels expand it.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{
    ItemMacro, Token,
    ext::IdentExt,
    parse::{ParseStream, Parser},
};

use crate::{
    ast::is_type_name,
    tokens::{is_punct, with_stream},
};

/// What the arguments of an expansion begin with. rustc shows the text if the macro has no rules for kernels: no
/// fragment of a pattern matches the name and the text.
pub(super) fn marker(at: Span) -> TokenStream {
    let name = Ident::new("needs_the_attribute_func", at);
    let mut text =
        Literal::string("a macro that kernels call needs `#[quadrants::func]` at its definition");
    text.set_span(at);
    quote!(#name #text)
}

/// A definition, and for each of its rules another one with which kernels expand the macro.
pub(crate) fn with_rules_for_kernels(item: &ItemMacro) -> syn::Result<TokenStream> {
    let Some(name) = item.ident.as_ref().filter(|_| item.mac.path.is_ident("macro_rules")) else {
        return Err(syn::Error::new_spanned(item, "`#[func]` is for functions and `macro_rules!`"));
    };
    let rules = Parser::parse2(rules, item.mac.tokens.clone())?;
    let added = rules.iter().map(|rule| for_kernels(rule, name));
    let all: TokenStream = added.chain(rules.iter().map(MacroRule::to_token_stream)).collect();
    let attributes = &item.attrs;
    Ok(quote!(#(#attributes)* macro_rules! #name { #all }))
}

/// `(pattern) => { body };`
struct MacroRule {
    pattern: Group,
    body: Group,
}

impl MacroRule {
    fn to_token_stream(&self) -> TokenStream {
        let Self { pattern, body } = self;
        quote!(#pattern => #body;)
    }
}

fn rules(input: ParseStream<'_>) -> syn::Result<Vec<MacroRule>> {
    let mut rules = Vec::new();
    while !input.is_empty() {
        let pattern = input.parse()?;
        input.parse::<Token![=>]>()?;
        rules.push(MacroRule { pattern, body: input.parse()? });
        input.parse::<Option<Token![;]>>()?;
    }
    Ok(rules)
}

/// The rule for kernels: it passes the expansion on to a macro that its arguments name.
fn for_kernels(rule: &MacroRule, name: &Ident) -> TokenStream {
    let (pattern, marker, dollar) = (rule.pattern.stream(), marker(Span::call_site()), dollar());
    let mut locals = BTreeSet::new();
    bound_names(&rule.body.stream(), &mut locals);
    let suffix = format!("_in_{}", name.unraw().to_string().to_lowercase());
    let body = renamed(rule.body.stream(), &locals, &suffix);
    quote! {
        (#marker [#dollar(#dollar __resume:tt)*] #dollar __state:tt #pattern) => {
            #dollar(#dollar __resume)* ! { #dollar __state { #body } }
        };
    }
}

fn dollar() -> Punct {
    Punct::new('$', Spacing::Alone)
}

/// The names that `let`, `for`, closures and arms of `match` bind in a rule's body. rustc hides them from the code
/// around a call; in a kernel equal texts are equal names, so that they are renamed.
fn bound_names(body: &TokenStream, names: &mut BTreeSet<String>) {
    let tokens: Vec<TokenTree> = body.clone().into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        let end = match &tokens[at] {
            TokenTree::Ident(word) if word == "let" => find(&tokens, at + 1, |tokens, at| {
                is_single(tokens, at, '=')
                    || is_single(tokens, at, ':')
                    || is_punct(&tokens[at], ';')
            }),
            TokenTree::Ident(word) if word == "for" => find(
                &tokens,
                at + 1,
                |tokens, at| matches!(&tokens[at], TokenTree::Ident(word) if word == "in"),
            ),
            TokenTree::Punct(mark) if mark.as_char() == '|' && begins_closure(&tokens[..at]) => {
                find(&tokens, at + 1, |tokens, at| is_punct(&tokens[at], '|'))
            }
            TokenTree::Ident(word) if word == "match" => {
                arms(&tokens[at + 1..], names);
                None
            }
            _ => None,
        };
        if let Some(end) = end {
            pattern_names(&tokens[at + 1..end], names);
            at = end;
            continue;
        }
        if let TokenTree::Group(group) = &tokens[at] {
            bound_names(&group.stream(), names);
        }
        at += 1;
    }
}

fn find(
    tokens: &[TokenTree],
    from: usize,
    is_end: impl Fn(&[TokenTree], usize) -> bool,
) -> Option<usize> {
    (from..tokens.len()).find(|at| is_end(tokens, *at))
}

/// Whether a token is a mark that is not part of `::`, `==` or `=>`.
fn is_single(tokens: &[TokenTree], at: usize, mark: char) -> bool {
    let joined = |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(of)) if of.spacing() == Spacing::Joint && matches!(of.as_char(), ':' | '=' | '.'));
    is_punct(&tokens[at], mark) && !joined(at) && !(at > 0 && joined(at - 1))
}

/// Whether a `|` after these tokens begins a closure rather than being an operator.
fn begins_closure(before: &[TokenTree]) -> bool {
    match before.last() {
        None => true,
        Some(TokenTree::Punct(mark)) => matches!(mark.as_char(), '=' | ',' | '(' | ';'),
        Some(TokenTree::Ident(word)) => word == "move" || word == "return",
        Some(_) => false,
    }
}

/// The names that the arms of a `match` bind, whose value and braces follow.
fn arms(after: &[TokenTree], names: &mut BTreeSet<String>) {
    let braces = after.iter().find_map(|token| match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => Some(group),
        _ => None,
    });
    let Some(braces) = braces else { return };
    let tokens: Vec<TokenTree> = braces.stream().into_iter().collect();
    let is_arrow = |at: usize| {
        is_punct(&tokens[at], '=') && tokens.get(at + 1).is_some_and(|next| is_punct(next, '>'))
    };
    let mut from = 0;
    for at in 0..tokens.len() {
        if is_arrow(at) {
            let guard = |word: &TokenTree| matches!(word, TokenTree::Ident(word) if word == "if");
            let end = tokens[from..at].iter().position(guard).map_or(at, |guard| from + guard);
            pattern_names(&tokens[from..end], names);
        } else if is_punct(&tokens[at], ',')
            || matches!(&tokens[at], TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
        {
            from = at + 1;
        }
    }
}

/// The names in the tokens of patterns that are neither constants, paths nor fragments. The patterns may have types.
fn pattern_names(patterns: &[TokenTree], names: &mut BTreeSet<String>) {
    names_in(patterns, false, names);
}

fn names_in(tokens: &[TokenTree], in_braces: bool, names: &mut BTreeSet<String>) {
    let is = |at: usize, mark| tokens.get(at).is_some_and(|token| is_punct(token, mark));
    let mut at = 0;
    while at < tokens.len() {
        let (has_colon, is_path) = (is(at + 1, ':'), is(at + 1, ':') && is(at + 2, ':'));
        match &tokens[at] {
            TokenTree::Group(group) => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                names_in(&inner, group.delimiter() == Delimiter::Brace, names);
            }
            TokenTree::Ident(name) => {
                let of_fields = matches!(tokens.get(at + 1), Some(TokenTree::Group(group)) if group.delimiter() != Delimiter::Bracket);
                let is_keyword = syn::parse2::<Ident>(tokens[at].to_token_stream()).is_err();
                let is_fragment = at > 0 && is(at - 1, '$');
                // The name of a field, whose pattern follows.
                let is_field = in_braces && has_colon;
                let text = name.to_string();
                let is_type = is_type_name(&text);
                if !(is_fragment || of_fields || is_path || is_field || is_keyword || is_type) {
                    names.insert(text);
                }
            }
            _ => {}
        }
        at += match (is_path, has_colon && !in_braces) {
            (true, _) => 3,
            // A type.
            (false, true) => {
                let end = (at..tokens.len()).find(|end| is(*end, ','));
                end.map_or(tokens.len(), |end| end - at)
            }
            (false, false) => 1,
        };
    }
}

/// A rule's body with other names for its locals, also in texts such as `"{name}"`.
fn renamed(body: TokenStream, locals: &BTreeSet<String>, suffix: &str) -> TokenStream {
    Renaming { locals, suffix }.tokens(body, false)
}

struct Renaming<'a> {
    locals: &'a BTreeSet<String>,
    suffix: &'a str,
}

impl Renaming<'_> {
    /// Renames locals in tokens, which may be the braces after a struct's name.
    fn tokens(&self, tokens: TokenStream, of_struct: bool) -> TokenStream {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let is = |at: Option<usize>, mark| {
            at.and_then(|at| tokens.get(at)).is_some_and(|token| is_punct(token, mark))
        };
        let mut out = Vec::with_capacity(tokens.len());
        for (at, token) in tokens.iter().enumerate() {
            let (before, second, next) = (at.checked_sub(1), at.checked_sub(2), at + 1);
            // The end of a range follows two dots.
            let is_member = is(before, '.') && !is(second, '.');
            let begins_field = of_struct && (at == 0 || is(before, ','));
            let is_field = begins_field && is(Some(next), ':');
            let is_in_path = is(before, ':') && is(second, ':');
            let is_macro =
                is(Some(next), '!') && matches!(tokens.get(next + 1), Some(TokenTree::Group(_)));
            match token {
                TokenTree::Ident(name)
                    if self.locals.contains(&name.to_string())
                        && !is(before, '$')
                        && !(is_member || is_field || is_in_path || is_macro) =>
                {
                    // A field that is written as its value only.
                    if begins_field && (next == tokens.len() || is(Some(next), ',')) {
                        out.extend([name.clone().into(), Punct::new(':', Spacing::Alone).into()]);
                    }
                    let renamed = format!("{}{}", name.unraw(), self.suffix);
                    out.push(Ident::new(&renamed, name.span()).into());
                }
                TokenTree::Group(group) => {
                    let of_struct = group.delimiter() == Delimiter::Brace
                        && matches!(before.map(|at| &tokens[at]), Some(TokenTree::Ident(of)) if is_type_name(&of.to_string()));
                    out.push(with_stream(group, self.tokens(group.stream(), of_struct)));
                }
                TokenTree::Literal(literal) => out.push(self.text(literal).into()),
                other => out.push(other.clone()),
            }
        }
        out.into_iter().collect()
    }

    fn text(&self, literal: &Literal) -> Literal {
        let text = literal.to_string();
        if !text.starts_with('"') {
            return literal.clone();
        }
        let mut renamed = text.clone();
        for name in self.locals {
            for end in ["}", ":"] {
                let (from, to) =
                    (format!("{{{name}{end}"), format!("{{{name}{}{end}", self.suffix));
                renamed = renamed.replace(&from, &to);
            }
        }
        match renamed.parse::<Literal>() {
            Ok(mut literal_with) if renamed != text => {
                literal_with.set_span(literal.span());
                literal_with
            }
            _ => literal.clone(),
        }
    }
}
