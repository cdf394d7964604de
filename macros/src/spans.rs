//! The spans of tokens: where they begin and end, and tokens located elsewhere.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree, token_stream};
use quote::ToTokens;

/// The span of the first token, where rustc should locate emitted code.
pub(crate) fn first(tokens: &impl ToTokens) -> Span {
    // A group alone would be underlined whole; its first token is its opening bracket.
    end(tokens.to_token_stream(), |mut all| all.next(), Group::span_open)
}

pub(crate) fn last(tokens: &impl ToTokens) -> Span {
    end(tokens.to_token_stream(), |all| all.last(), Group::span_close)
}

fn end(
    tokens: TokenStream,
    token: fn(token_stream::IntoIter) -> Option<TokenTree>,
    bracket: fn(&Group) -> Span,
) -> Span {
    match token(tokens.into_iter()) {
        Some(TokenTree::Group(group)) if is_added(&group) => end(group.stream(), token, bracket),
        Some(TokenTree::Group(group)) => bracket(&group),
        Some(other) => other.span(),
        None => Span::call_site(),
    }
}

/// Whether `syn` added these parentheses, because their content has attributes ([`marks`](crate::marks)).
pub(crate) fn is_added(group: &Group) -> bool {
    group.delimiter() == Delimiter::Parenthesis
        && proc_macro::is_available()
        && extent(group.span()) == extent(Span::call_site())
        && !group.stream().is_empty()
}

/// A path located at `span`: rustc reports a call at its first token.
pub(crate) fn at(path: &TokenStream, span: Span) -> TokenStream {
    let tokens = path.clone().into_iter().map(|mut token| {
        token.set_span(span);
        token
    });
    tokens.collect()
}

/// A name that errors show at a location; its hygiene stays.
pub(crate) fn located(name: &Ident, at: Span) -> Ident {
    let mut name = name.clone();
    name.set_span(name.span().located_at(at));
    name
}

/// Line and column, from 1, as `std::panic::Location` counts them.
pub(crate) type Position = (u32, u32);

/// Where a span starts and ends; zeros in this crate's tests, which run without a compiler.
pub(crate) fn extent(span: Span) -> (Position, Position) {
    let count = |at: usize| u32::try_from(at).unwrap_or(0);
    let position = |span: proc_macro::Span| (count(span.line()), count(span.column()));
    if proc_macro::is_available() {
        let span = span.unwrap();
        (position(span.start()), position(span.end()))
    } else {
        ((0, 0), (0, 0))
    }
}
