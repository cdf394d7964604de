//! The types that the IR has at the sites of a CPU body.

use proc_macro2::TokenStream;

use crate::{
    marks,
    sites::{Sites, TypeSite},
};

/// Where the body finds the types that the IR has.
#[derive(Clone)]
pub(crate) struct SiteTypes<'a> {
    pub(crate) sites: &'a Sites,
    /// The type whose `SiteTable` has the identities: those of types, then those of calls.
    pub(crate) table: TokenStream,
    /// How many types there are.
    pub(crate) types: usize,
}

impl SiteTypes<'_> {
    pub(super) fn is_value(&self, site: Option<usize>) -> bool {
        matches!(self.sites.get(site), Some(TypeSite::Type(_)))
    }

    /// The generic arguments for the type of a value.
    pub(super) fn value(&self, site: Option<usize>) -> Option<TokenStream> {
        match self.sites.get(site)? {
            TypeSite::Type(number) => Some(marks::arguments(&self.table, number)),
            TypeSite::Call(_) => None,
        }
    }

    /// The generic arguments for the argument types of a call.
    pub(super) fn call(&self, site: Option<usize>) -> Option<TokenStream> {
        match self.sites.get(site)? {
            TypeSite::Type(_) => None,
            TypeSite::Call(number) => Some(marks::arguments(&self.table, self.types + number)),
        }
    }
}
