//! Sites: places in a body at which the IR uses a type that rustc inferred in the probed copy.
//!
//! Before the syntax tree and the CPU body are made of it, each place that can be a site gets a number, as an attribute
//! on its tokens. The tree notes which type a site has in its tables; the CPU body compares its own type with that one
//! (`quadrants_program::body::SiteTable`). The attributes are removed from what is emitted.

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{
    Attribute, Expr, Pat,
    visit_mut::{self, VisitMut},
};

use crate::{spans, tree::Assert};

/// The attribute's name, which is reserved.
const NAME: &str = "__site";

/// What the tree has at a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Site {
    /// A value of the type with this number.
    Type(usize),
    /// A call of the func with this number, or of a type's function.
    Call(usize),
}

/// What the tree has at each site, by its number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sites(Vec<Option<Site>>);

impl Sites {
    pub(crate) fn put(&mut self, number: Option<usize>, site: Site) {
        let Some(number) = number else { return };
        if self.0.len() <= number {
            self.0.resize(number + 1, None);
        }
        self.0[number] = Some(site);
    }

    pub(crate) fn get(&self, number: Option<usize>) -> Option<Site> {
        *self.0.get(number?)?
    }
}

/// Numbers the sites of a body.
pub(crate) fn number(body: &mut syn::Block) {
    Numbers(0).visit_block_mut(body);
}

/// Takes the number off a node.
pub(crate) fn take(attributes: &mut Vec<Attribute>) -> Option<usize> {
    let at = attributes.iter().position(is_number)?;
    let number: syn::LitInt = attributes.remove(at).parse_args().ok()?;
    number.base10_parse().ok()
}

/// The number of an expression, which keeps it.
pub(crate) fn of(expr: &Expr) -> Option<usize> {
    let attributes = match expr {
        Expr::Array(syn::ExprArray { attrs, .. })
        | Expr::Tuple(syn::ExprTuple { attrs, .. })
        | Expr::Repeat(syn::ExprRepeat { attrs, .. })
        | Expr::Struct(syn::ExprStruct { attrs, .. })
        | Expr::Call(syn::ExprCall { attrs, .. })
        | Expr::MethodCall(syn::ExprMethodCall { attrs, .. })
        | Expr::Match(syn::ExprMatch { attrs, .. }) => attrs,
        _ => return None,
    };
    take(&mut attributes.clone())
}

struct Numbers(usize);

impl Numbers {
    /// The next number, where the node begins.
    fn next(&mut self, node: &impl ToTokens) -> Attribute {
        let number = proc_macro2::Literal::usize_unsuffixed(self.0);
        self.0 += 1;
        let at = spans::first(node);
        let name = Ident::new(NAME, at);
        // All tokens have the place of the node's first one, by which messages find it.
        let tokens = spans::at(&quote!(#[#name(#number)]), at);
        syn::parse::Parser::parse2(Attribute::parse_outer, tokens)
            .ok()
            .and_then(|mut all| all.pop())
            .expect("an attribute")
    }
}

impl VisitMut for Numbers {
    fn visit_local_mut(&mut self, local: &mut syn::Local) {
        let site = self.next(local);
        visit_mut::visit_local_mut(self, local);
        local.attrs.push(site);
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        let site = self.next(expr);
        visit_mut::visit_expr_mut(self, expr);
        match expr {
            Expr::Array(syn::ExprArray { attrs, .. })
            | Expr::Tuple(syn::ExprTuple { attrs, .. })
            | Expr::Repeat(syn::ExprRepeat { attrs, .. })
            | Expr::Struct(syn::ExprStruct { attrs, .. })
            | Expr::Call(syn::ExprCall { attrs, .. })
            | Expr::MethodCall(syn::ExprMethodCall { attrs, .. })
            | Expr::Match(syn::ExprMatch { attrs, .. }) => attrs.push(site),
            _ => {}
        }
    }

    fn visit_expr_for_loop_mut(&mut self, each: &mut syn::ExprForLoop) {
        // Its variables have this number and the next ones.
        let site = self.next(each);
        self.0 += variables(&each.pat).len();
        visit_mut::visit_expr_for_loop_mut(self, each);
        each.attrs.push(site);
    }

    fn visit_macro_mut(&mut self, call: &mut syn::Macro) {
        let Ok(Assert { mut cond, message, is_value }) = call.parse_body() else { return };
        self.visit_expr_mut(&mut cond);
        let format = is_value.then(|| quote!(, "{}"));
        let message = message.map(|message| quote!(#format, #message));
        call.tokens = quote!(#cond #message);
    }

    // Types contain no sites.
    fn visit_type_mut(&mut self, _: &mut syn::Type) {}

    fn visit_generic_argument_mut(&mut self, _: &mut syn::GenericArgument) {}

    fn visit_item_mut(&mut self, _: &mut syn::Item) {}
}

/// The variables of a loop, in order; none for what is no name.
pub(crate) fn variables(pattern: &Pat) -> Vec<Option<&Ident>> {
    let name = |pattern| match pattern {
        &Pat::Ident(syn::PatIdent { ref ident, .. }) => Some(ident),
        _ => None,
    };
    match pattern {
        Pat::Tuple(tuple) => tuple.elems.iter().map(name).collect(),
        single => vec![name(single)],
    }
}

/// Whether an attribute is the number of a site.
pub(crate) fn is_number(attribute: &Attribute) -> bool {
    attribute.path().is_ident(NAME)
}

/// What is emitted: without the numbers of sites, and with `core` found through the library, as `::core` may be another
/// crate in the user's.
pub(crate) fn finished(tokens: TokenStream, private: &TokenStream) -> TokenStream {
    changed(&tokens, private).unwrap_or(tokens)
}

/// The tokens without the numbers of sites.
pub(crate) fn without(tokens: TokenStream) -> TokenStream {
    changed(&tokens, &TokenStream::new()).unwrap_or(tokens)
}

/// The tokens with what is to be changed; none where nothing is. Without a root, `::core` stays.
fn changed(tokens: &TokenStream, root: &TokenStream) -> Option<TokenStream> {
    let all: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let (mut out, mut any, mut at) = (Vec::with_capacity(all.len()), false, 0);
    while at < all.len() {
        match (&all[at], all.get(at + 1)) {
            (TokenTree::Punct(hash), Some(TokenTree::Group(group)))
                if hash.as_char() == '#' && is_site(group) =>
            {
                (any, at) = (true, at + 2);
            }
            (TokenTree::Group(group), _) => {
                match changed(&group.stream(), root) {
                    Some(inner) => {
                        let mut new = Group::new(group.delimiter(), inner);
                        new.set_span(group.span());
                        out.push(new.into());
                        any = true;
                    }
                    None => out.push(group.clone().into()),
                }
                at += 1;
            }
            (TokenTree::Ident(name), _) if name == "core" && !root.is_empty() && is_root(&out) => {
                let span = name.span();
                // `::` stays in front.
                out.truncate(out.len() - 2);
                out.extend(spans::at(root, span));
                out.extend(spans::at(&quote!(::), span));
                out.push(all[at].clone());
                (any, at) = (true, at + 1);
            }
            (token, _) => {
                out.push(token.clone());
                at += 1;
            }
        }
    }
    any.then(|| out.into_iter().collect())
}

/// Whether tokens end in `::` that begins a path.
fn is_root(before: &[TokenTree]) -> bool {
    let is_colon =
        |token: &TokenTree| matches!(token, TokenTree::Punct(colon) if colon.as_char() == ':');
    let [.., first, second] = before else { return false };
    if !is_colon(first) || !is_colon(second) {
        return false;
    }
    match before.len().checked_sub(3).map(|at| &before[at]) {
        Some(TokenTree::Ident(word)) => KEYWORDS.iter().any(|keyword| word == keyword),
        Some(TokenTree::Punct(mark)) => mark.as_char() != '>' || is_arrow(before),
        _ => true,
    }
}

/// Words in front of a path that are no part of it.
const KEYWORDS: [&str; 15] = [
    "as", "break", "dyn", "else", "for", "if", "impl", "in", "let", "match", "mut", "return",
    "use", "where", "while",
];

/// Whether the mark in front of a path is the end of `->` or `=>`.
fn is_arrow(before: &[TokenTree]) -> bool {
    before.len().checked_sub(4).is_some_and(
        |at| matches!(&before[at], TokenTree::Punct(mark) if matches!(mark.as_char(), '-' | '=')),
    )
}

fn is_site(group: &Group) -> bool {
    group.delimiter() == Delimiter::Bracket
        && matches!(group.stream().into_iter().next(), Some(TokenTree::Ident(name)) if name == NAME)
}

/// A hidden argument of the table and number of a site: `Table, 7`.
pub(crate) fn arguments(table: &TokenStream, number: usize) -> TokenStream {
    let number = proc_macro2::Literal::usize_unsuffixed(number);
    quote!(#table, #number)
}
