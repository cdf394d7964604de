//! Type sites: places in a body at which the IR uses a type that rustc inferred in the type-inference copy.
//!
//! Before the syntax tree and the CPU body are made, each place that can be a site gets a number, as an attribute on
//! its tokens. The tree records which of its types a site has; the CPU body compares its own type with that one
//! (`quadrants_program::body::SiteTable`). The attributes are removed from what is emitted.

use proc_macro2::{Ident, Literal};
use quote::ToTokens;
use syn::{
    Attribute, Expr, Pat,
    visit_mut::{self, VisitMut},
};

use crate::{
    ast::{Invocation, ends_in_branch},
    marks::SITE,
    spans,
};

/// What the tree has at a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TypeSite {
    /// A value of the type with this number.
    Type(usize),
    /// A call of the func with this number.
    Call(usize),
}

/// What the tree has at each site, by the site's number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sites(Vec<Option<TypeSite>>);

impl Sites {
    pub(crate) fn put(&mut self, number: Option<usize>, site: TypeSite) {
        let Some(number) = number else { return };
        if self.0.len() <= number {
            self.0.resize(number + 1, None);
        }
        self.0[number] = Some(site);
    }

    pub(crate) fn get(&self, number: Option<usize>) -> Option<TypeSite> {
        *self.0.get(number?)?
    }
}

pub(crate) fn number(body: &mut syn::Block) {
    SiteNumbering(0).visit_block_mut(body);
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
struct SiteNumbering(usize);

impl SiteNumbering {
    /// The next number as an attribute, located at the node's first token.
    fn next(&mut self, node: &impl ToTokens) -> Attribute {
        let at = spans::first(node);
        let name = Ident::new(SITE, at);
        let mut number = Literal::usize_unsuffixed(self.0);
        number.set_span(at);
        self.0 += 1;
        syn::parse_quote_spanned!(at=> #[#name(#number)])
    }
}

impl VisitMut for SiteNumbering {
    fn visit_local_mut(&mut self, local: &mut syn::Local) {
        let site = self.next(local);
        visit_mut::visit_local_mut(self, local);
        local.attrs.push(site);
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        // Made before the parts have attributes, because its span is that of the user's first token.
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

/// The variables of a loop, in order; `None` for patterns that are not names.
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
