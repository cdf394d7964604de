//! Type sites: places in a body at which the IR uses a type that rustc inferred in the probed copy.
//!
//! Before the syntax tree and the CPU body are made, each place that can be a site gets a number, as an attribute on
//! its tokens. The tree records which of its types a site has; the CPU body compares its own type with that one
//! (`quadrants_program::body::SiteTable`). The attributes are removed from what is emitted.

use proc_macro2::{Delimiter, Group, Ident, Literal, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{
    Attribute, Expr, Pat,
    visit_mut::{self, VisitMut},
};

use crate::{
    ast::{Invocation, ends_in_branch},
    combine, spans,
    tokens::{is_punct, with_stream},
};

/// The attribute's name, which is reserved.
const NAME: &str = "__site";

/// What the tree has at a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Site {
    /// A value of the type with this number.
    Type(usize),
    /// A call of the func with this number.
    Call(usize),
}

/// What the tree has at each site, by the site's number.
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

pub(crate) fn number(body: &mut syn::Block) {
    Numbers(0).visit_block_mut(body);
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

/// The attributes of an expression that can be a site.
pub(crate) fn attributes(expr: &mut Expr) -> Option<&mut Vec<Attribute>> {
    match expr {
        Expr::Array(syn::ExprArray { attrs, .. })
        | Expr::Tuple(syn::ExprTuple { attrs, .. })
        | Expr::Repeat(syn::ExprRepeat { attrs, .. })
        | Expr::Struct(syn::ExprStruct { attrs, .. })
        | Expr::Call(syn::ExprCall { attrs, .. })
        | Expr::MethodCall(syn::ExprMethodCall { attrs, .. })
        | Expr::Match(syn::ExprMatch { attrs, .. }) => Some(attrs),
        Expr::Cast(cast) if ends_in_branch(&cast.expr) => Some(&mut cast.attrs),
        _ => None,
    }
}

/// Numbers nodes; holds the next number.
struct Numbers(usize);

impl Numbers {
    /// The next number as an attribute, located at the node's first token.
    fn next(&mut self, node: &impl ToTokens) -> Attribute {
        let at = spans::first(node);
        let name = Ident::new(NAME, at);
        let mut number = Literal::usize_unsuffixed(self.0);
        number.set_span(at);
        self.0 += 1;
        syn::parse_quote_spanned!(at=> #[#name(#number)])
    }
}

impl VisitMut for Numbers {
    fn visit_local_mut(&mut self, local: &mut syn::Local) {
        let site = self.next(local);
        visit_mut::visit_local_mut(self, local);
        local.attrs.push(site);
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        // Made before the parts have attributes, because its span is that of the author's first token.
        let site = attributes(expr).is_some().then(|| self.next(expr));
        visit_mut::visit_expr_mut(self, expr);
        if let Some(attributes) = attributes(expr) {
            attributes.extend(site);
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
        Invocation::rewrite(call, |expr| self.visit_expr_mut(expr));
    }

    // Types contain no sites.
    fn visit_type_mut(&mut self, _: &mut syn::Type) {}

    fn visit_generic_argument_mut(&mut self, _: &mut syn::GenericArgument) {}

    fn visit_item_mut(&mut self, _: &mut syn::Item) {}
}

/// The variables of a loop, in order; `None` for patterns that are no names.
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

pub(crate) fn is_number(attribute: &Attribute) -> bool {
    attribute.path().is_ident(NAME)
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
            Some(TokenTree::Ident(name)) if name == NAME || name == combine::NAME
        )
}

/// The generic arguments for the table and the number of a site: `Table, 7`.
pub(crate) fn arguments(table: &TokenStream, number: usize) -> TokenStream {
    let number = Literal::usize_unsuffixed(number);
    quote!(#table, #number)
}
