//! Checks that expressions of a CPU body have the types that the IR has at their sites.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{Expr, Stmt};

use super::{Rewrite, unparenthesized};
use crate::{
    sites::{self, Site, Sites},
    spans,
};

/// Where the body finds the types that the IR has.
#[derive(Clone)]
pub(crate) struct Typing<'a> {
    pub(crate) sites: &'a Sites,
    /// The type whose `SiteTable` has the identities: those of types, then those of calls.
    pub(crate) table: TokenStream,
    /// How many types there are.
    pub(crate) types: usize,
}

impl Rewrite<'_> {
    /// Lets a value pass a check that its type is the one that the IR has at this site.
    pub(super) fn check(&self, site: Option<usize>, value: &mut Expr) {
        if let Some(at) = self.type_at(site) {
            let (start, inner) = (spans::first(value), unparenthesized(value));
            let support = spans::at(self.support, start);
            *value = Expr::Verbatim(quote_spanned!(start=> #support::typed::<_, #at>(#inner)));
        }
    }

    /// Table and number of the type that the IR has at a site.
    pub(crate) fn type_at(&self, site: Option<usize>) -> Option<TokenStream> {
        match self.typing.sites.get(site)? {
            Site::Type(number) => Some(sites::arguments(&self.typing.table, number)),
            Site::Call(_) => None,
        }
    }

    /// Table and number of the arguments' types of a call.
    pub(crate) fn call_at(&self, site: Option<usize>) -> Option<TokenStream> {
        let Typing { sites, table, types } = &self.typing;
        match sites.get(site)? {
            Site::Type(_) => None,
            Site::Call(number) => Some(sites::arguments(table, types + number)),
        }
    }

    /// Statements that check the types of a loop's variables.
    pub(super) fn seen(&self, each: &syn::ExprForLoop) -> Vec<Stmt> {
        let Some(first) = sites::take(&mut each.attrs.clone()) else { return Vec::new() };
        let names = sites::variables(&each.pat).into_iter().enumerate();
        let checks = names.filter_map(|(nth, name)| {
            let (at, support, name) = (self.type_at(Some(first + nth))?, self.support, name?);
            let check = quote!(#support::seen::<_, #at>(&#name));
            Some(Stmt::Expr(Expr::Verbatim(check), Some(Default::default())))
        });
        checks.collect()
    }
}
