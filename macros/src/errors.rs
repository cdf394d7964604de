//! Errors that are reported together, and errors of code that is not valid Rust.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quadrants_frontend::syntax::FunctionKind;

use crate::text::text_of;

/// The errors found so far.
#[derive(Default)]
pub(crate) struct Errors(pub(crate) Option<syn::Error>);

impl Errors {
    pub(crate) fn add(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(all) => all.combine(error),
            None => self.0 = Some(error),
        }
    }
}

impl Extend<syn::Error> for Errors {
    fn extend<I: IntoIterator<Item = syn::Error>>(&mut self, errors: I) {
        errors.into_iter().for_each(|error| self.add(error));
    }
}

/// What becomes of code that is no function: an error if it is another item, or a mistake that rustc explains badly;
/// else the code itself, so that rustc reports its own error, once.
pub(crate) fn explained(kind: FunctionKind, code: TokenStream) -> syn::Result<TokenStream> {
    if let Ok(item) = syn::parse2::<syn::Item>(code.clone())
        && !matches!(item, syn::Item::Verbatim(_))
    {
        let message = match kind {
            FunctionKind::Kernel => "`#[kernel]` is for functions",
            FunctionKind::Func => {
                "`#[func]` is for functions, `impl` blocks, traits and `macro_rules!` macros"
            }
        };
        return Err(syn::Error::new(Span::call_site(), message));
    }
    let Some(index) = index_without_brackets(code.clone()) else { return Ok(code) };
    let message = format!(
        "the index of several dimensions is an array: write `[[{}]]`",
        text_of(&index.stream())
    );
    Err(syn::Error::new(index.span(), message))
}

/// The first `[a, b]` that follows what can be indexed.
fn index_without_brackets(code: TokenStream) -> Option<Group> {
    const KEYWORDS: [&str; 9] =
        ["as", "break", "else", "if", "in", "let", "match", "mut", "return"];
    let mut after_value = false;
    for token in code {
        let is_value = match &token {
            TokenTree::Ident(name) => !KEYWORDS.iter().any(|keyword| name == keyword),
            TokenTree::Group(group) => group.delimiter() != Delimiter::Brace,
            _ => false,
        };
        if let TokenTree::Group(group) = token {
            let is_comma =
                |token: TokenTree| matches!(token, TokenTree::Punct(of) if of.as_char() == ',');
            if after_value
                && group.delimiter() == Delimiter::Bracket
                && group.stream().into_iter().any(is_comma)
            {
                return Some(group);
            }
            if let Some(found) = index_without_brackets(group.stream()) {
                return Some(found);
            }
        }
        after_value = is_value;
    }
    None
}
