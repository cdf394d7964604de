//! Token streams: finding and replacing identifiers, and names for emitted code.

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;

/// All identifiers in tokens, in order, including those in groups.
pub(crate) fn idents(tokens: &impl ToTokens) -> Vec<Ident> {
    fn collect(tokens: TokenStream, found: &mut Vec<Ident>) {
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => found.push(ident),
                TokenTree::Group(group) => collect(group.stream(), found),
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }
    let mut found = Vec::new();
    collect(tokens.to_token_stream(), &mut found);
    found
}

/// The identifiers in tokens that can be locals: all but those of members, methods, paths and the fields of structs.
pub(crate) fn possible_locals(tokens: &impl ToTokens) -> Vec<Ident> {
    fn collect(tokens: TokenStream, found: &mut Vec<Ident>) {
        let tokens: Vec<_> = tokens.into_iter().collect();
        let is = |at: Option<usize>, mark| {
            at.and_then(|at| tokens.get(at)).is_some_and(|token| is_punct(token, mark))
        };
        for (at, token) in tokens.iter().enumerate() {
            let (before, second) = (at.checked_sub(1), at.checked_sub(2));
            // The end of a range follows two dots.
            let is_member = is(before, '.') && !is(second, '.');
            let is_in_path = is(before, ':') && is(second, ':');
            let is_field = is(Some(at + 1), ':') && !is(Some(at + 2), ':');
            match token {
                TokenTree::Ident(ident) if !(is_member || is_in_path || is_field) => {
                    found.push(ident.clone());
                }
                TokenTree::Group(group) => collect(group.stream(), found),
                _ => {}
            }
        }
    }
    let mut found = Vec::new();
    collect(tokens.to_token_stream(), &mut found);
    found
}

/// Replaces each identifier, also in groups, by what `replace` pushes for it.
pub(crate) fn replace_idents(
    tokens: TokenStream,
    replace: &dyn Fn(Ident, &mut Vec<TokenTree>),
) -> TokenStream {
    let mut out = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => replace(ident, &mut out),
            TokenTree::Group(group) => {
                out.push(with_stream(&group, replace_idents(group.stream(), replace)));
            }
            other => out.push(other),
        }
    }
    out.into_iter().collect()
}

/// A group with the delimiters and the span of another.
pub(crate) fn with_stream(group: &Group, stream: TokenStream) -> TokenTree {
    let mut new = Group::new(group.delimiter(), stream);
    new.set_span(group.span());
    new.into()
}

/// A name of the emitted code, which the user's code cannot see.
pub(crate) fn internal(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// The number by which kernels find a method or associated function: made of its name, without `r#`.
pub(crate) fn method_number(name: &Ident) -> u64 {
    quadrants_frontend::name_number(&name.unraw().to_string())
}

pub(crate) fn is_punct(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}
