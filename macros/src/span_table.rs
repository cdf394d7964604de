//! The spans of a syntax tree: numbers that stand for the user's tokens, and errors at them.

use proc_macro2::{Ident, Span, TokenStream};
use quadrants_frontend::syntax;
use quote::ToTokens;

use crate::{
    spans::{extent, first, last},
    text::text_of,
};

/// The number of spans that decide about the file of a kernel.
const FILE_SPANS: usize = 100;

/// The tokens of each span, by the span's number.
#[derive(Debug, Default)]
pub(crate) struct SpanTable {
    tokens: Vec<TokenStream>,
}

impl SpanTable {
    /// A new span of all of `tokens`.
    pub(crate) fn of(&mut self, tokens: &impl ToTokens) -> syntax::Span {
        let tokens = tokens.to_token_stream();
        let (line, column) = extent(first(&tokens)).0;
        let id = u32::try_from(self.tokens.len()).unwrap_or(u32::MAX);
        self.tokens.push(tokens);
        syntax::Span { id, line, column }
    }

    /// The file of most of the first spans, to which the lines of messages belong. It differs from `file!()` for a
    /// kernel of which a macro of another file writes the body. None in this crate's tests, where tokens have no
    /// positions.
    pub(crate) fn file(&self) -> Option<String> {
        if !proc_macro::is_available() {
            return None;
        }
        let mut counts: Vec<(String, usize)> = Vec::new();
        for tokens in self.tokens.iter().take(FILE_SPANS) {
            let file = first(tokens).unwrap().file();
            match counts.iter_mut().find(|(of, _)| *of == file) {
                Some((_, count)) => *count += 1,
                None => counts.push((file, 1)),
            }
        }
        // Of two with as many spans, the first one.
        let most = counts.iter().map(|(_, count)| *count).max()?;
        counts.into_iter().find(|(_, count)| *count == most).map(|(file, _)| file)
    }

    /// The user's text. None in this crate's tests, where tokens have no positions.
    pub(crate) fn text(&self, span: syntax::Span) -> Option<String> {
        let tokens = self.tokens.get(span.id as usize)?;
        proc_macro::is_available().then(|| text_of(tokens))
    }

    /// Where a span starts and ends.
    pub(crate) fn ends(&self, span: syntax::Span) -> (Span, Span) {
        let tokens = self.tokens.get(span.id as usize);
        tokens
            .map_or((Span::call_site(), Span::call_site()), |tokens| (first(tokens), last(tokens)))
    }

    pub(crate) fn error(&self, span: syntax::Span, message: String) -> syn::Error {
        let (first, last) = self.ends(span);
        // An error on tokens extends from the first to the last of them.
        let ends: TokenStream =
            [first, last].into_iter().map(|at| Ident::new("_", at).into_token_stream()).collect();
        syn::Error::new_spanned(ends, message)
    }
}
