//! The user's source text, for messages.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;

use crate::{
    marks,
    spans::{self, Position},
};

/// The text of tokens, spaced as the user spaced them.
pub(crate) fn text_of(tokens: &impl ToTokens) -> String {
    let mut text = SourceTextBuilder { text: String::new(), last: None, begin: 0 };
    text.push_all(marks::without(tokens.to_token_stream()));
    text.text
}

struct SourceTextBuilder {
    text: String,
    /// The extent of the last token.
    last: Option<(Position, Position)>,
    /// Where the last token begins in the text, with the space before it.
    begin: usize,
}

impl SourceTextBuilder {
    fn push(&mut self, (start, end): (Position, Position), part: &str) {
        let is_added = start != end && self.last == Some((start, end));
        if is_added {
            // A path that the macro completed: all of its tokens have the extent of the user's, which is the last.
            self.text.truncate(self.begin);
        } else {
            self.begin = self.text.len();
        }
        // A token without extent has no known position.
        if !is_added && self.last.is_some_and(|(_, before)| before != start || start == end) {
            self.text.push(' ');
        }
        self.text.push_str(part);
        self.last = Some((start, end));
    }

    fn push_all(&mut self, tokens: TokenStream) {
        for token in tokens {
            let TokenTree::Group(group) = token else {
                self.push(spans::extent(token.span()), &token.to_string());
                continue;
            };
            if spans::is_added(&group) {
                self.push_all(group.stream());
                continue;
            }
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

/// Whether tokens of this text can name different items where different macros wrote them: `$crate::K`, `::krate::K`.
pub(crate) fn depends_on_macro(text: &str) -> bool {
    let is_root = |(at, _)| {
        let before = text[..at].trim_end();
        before.ends_with(" as")
            || !before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '>')
    };
    text.contains("$crate") || text.match_indices("::").any(is_root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_begin_in_a_macro_depend_on_it() {
        for text in ["$crate :: K", ":: dep :: K", "1 + :: dep :: K", "< T as :: dep :: Is > :: K"]
        {
            assert!(depends_on_macro(text), "{text}");
        }
        for text in ["K", "Self :: K", "a :: b :: K", "< T as Is > :: K", "i + m :: K * 2"] {
            assert!(!depends_on_macro(text), "{text}");
        }
    }
}
