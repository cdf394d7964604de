//! Attributes that earlier passes leave on the user's tokens for later ones: the numbers of
//! [type sites](crate::sites) and the marks of [statements that combine](crate::combine). None of them is emitted.

use proc_macro2::{Delimiter, Group, Literal, TokenStream, TokenTree};
use quote::quote;
use syn::Attribute;

use crate::{
    spans,
    tokens::{is_punct, with_stream},
};

/// The attribute with the number of a site. The name is reserved.
pub(crate) const SITE: &str = "__site";

/// The attribute of a statement that combines a value into a local. The name is reserved.
pub(crate) const COMBINATION: &str = "__combine";

/// Whether a statement combines a value into a local.
pub(crate) fn combines(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident(COMBINATION))
}

/// Removes the number from a node's attributes.
pub(crate) fn take(attributes: &mut Vec<Attribute>) -> Option<usize> {
    let at = attributes.iter().position(is_number)?;
    number_in(&attributes.remove(at))
}

/// The number of an expression or a loop, which keeps it.
pub(crate) fn number_of(attributes: &[Attribute]) -> Option<usize> {
    number_in(attributes.iter().find(|attribute| is_number(attribute))?)
}

fn number_in(attribute: &Attribute) -> Option<usize> {
    let number: syn::LitInt = attribute.parse_args().ok()?;
    number.base10_parse().ok()
}

pub(crate) fn is_number(attribute: &Attribute) -> bool {
    attribute.path().is_ident(SITE)
}

/// What is emitted: without the numbers of sites and other marks, and with `core` found through the library, because
/// `::core` may be another crate in the user's.
pub(crate) fn finished(tokens: TokenStream, private: &TokenStream) -> TokenStream {
    changed(&tokens, private).unwrap_or(tokens)
}

/// The tokens without the numbers of sites and other marks.
pub(crate) fn without(tokens: TokenStream) -> TokenStream {
    changed(&tokens, &TokenStream::new()).unwrap_or(tokens)
}

/// The tokens without numbers, and with `root::core` for `::core` unless `root` is empty; `None` if nothing changes.
fn changed(tokens: &TokenStream, root: &TokenStream) -> Option<TokenStream> {
    let all: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let (mut out, mut any, mut at) = (Vec::with_capacity(all.len()), false, 0);
    while at < all.len() {
        match (&all[at], all.get(at + 1)) {
            (TokenTree::Punct(hash), Some(TokenTree::Group(group)))
                if hash.as_char() == '#' && is_site(group) =>
            {
                (any, at) = (true, at + 2);
                continue;
            }
            (TokenTree::Group(group), _) => match changed(&group.stream(), root) {
                Some(inner) => {
                    out.push(with_stream(group, inner));
                    any = true;
                }
                None => out.push(group.clone().into()),
            },
            (TokenTree::Ident(name), _) if name == "core" && !root.is_empty() && is_root(&out) => {
                let span = name.span();
                // The library's path replaces the leading `::`.
                out.truncate(out.len() - 2);
                out.extend(spans::at(root, span));
                out.extend(spans::at(&quote!(::), span));
                out.push(all[at].clone());
                any = true;
            }
            (token, _) => out.push(token.clone()),
        }
        at += 1;
    }
    any.then(|| out.into_iter().collect())
}

/// Whether tokens end in `::` that begins a path.
fn is_root(before: &[TokenTree]) -> bool {
    /// Words before a path that are no part of it.
    const KEYWORDS: [&str; 15] = [
        "as", "break", "dyn", "else", "for", "if", "impl", "in", "let", "match", "mut", "return",
        "use", "where", "while",
    ];
    let [before @ .., first, second] = before else { return false };
    if !is_punct(first, ':') || !is_punct(second, ':') {
        return false;
    }
    match before {
        [.., TokenTree::Ident(word)] => KEYWORDS.iter().any(|keyword| word == keyword),
        [.., mark, end] if is_punct(end, '>') => is_punct(mark, '-') || is_punct(mark, '='),
        [.., TokenTree::Punct(mark)] => mark.as_char() != '>',
        _ => true,
    }
}

fn is_site(group: &Group) -> bool {
    group.delimiter() == Delimiter::Bracket
        && matches!(
            group.stream().into_iter().next(),
            Some(TokenTree::Ident(name)) if name == SITE || name == COMBINATION
        )
}

/// The generic arguments for the table and the number of a site: `Table, 7`.
pub(crate) fn arguments(table: &TokenStream, number: usize) -> TokenStream {
    let number = Literal::usize_unsuffixed(number);
    quote!(#table, #number)
}
