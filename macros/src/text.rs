//! The author's source text, for messages.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;

use crate::{
    sites,
    spans::{self, Position},
};

/// The text of tokens, spaced as the author spaced them.
pub(crate) fn text_of(tokens: &impl ToTokens) -> String {
    let mut text = Text { text: String::new(), end: None };
    text.push_all(sites::without(tokens.to_token_stream()));
    text.text
}

struct Text {
    text: String,
    /// Where the last token ended.
    end: Option<Position>,
}

impl Text {
    fn push(&mut self, (start, end): (Position, Position), part: &str) {
        // A token without extent has no known position.
        if self.end.is_some_and(|before| before != start || start == end) {
            self.text.push(' ');
        }
        self.text.push_str(part);
        self.end = Some(end);
    }

    fn push_all(&mut self, tokens: TokenStream) {
        for token in tokens {
            let TokenTree::Group(group) = token else {
                self.push(spans::extent(token.span()), &token.to_string());
                continue;
            };
            let (open, close) = match group.delimiter() {
                Delimiter::Parenthesis => ("(", ")"),
                Delimiter::Bracket => ("[", "]"),
                Delimiter::Brace => ("{", "}"),
                Delimiter::None => {
                    self.push_all(group.stream());
                    continue;
                }
            };
            // Parsed groups have one span for both of their delimiters.
            let (start, end) = spans::extent(group.span());
            self.push((start, (start.0, start.1 + 1)), open);
            self.push_all(group.stream());
            self.push(((end.0, end.1.saturating_sub(1)), end), close);
        }
    }
}
