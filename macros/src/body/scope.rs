//! The names in scope at a statement of a kernel, outside of its parallel loops.

use std::collections::HashSet;

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use syn::{Expr, Stmt};

use crate::{
    reduce::LoopReduction,
    rewrite::{BodyRewriter, SiteTypes},
    signature::Param,
    tokens::{idents, internal},
};

/// The names in scope, and the names that all emitted code of a body uses.
pub(super) struct BodyScope<'a> {
    /// The path of the support code.
    pub(super) support: &'a TokenStream,
    /// The context that the body runs in.
    pub(super) cx: Ident,
    /// The names in scope, and whether each is a tensor's.
    names: Vec<(Ident, bool)>,
    typing: SiteTypes<'a>,
}

impl<'a> BodyScope<'a> {
    pub(super) fn new(support: &'a TokenStream, params: &[Param], typing: SiteTypes<'a>) -> Self {
        let names = params.iter().map(|param| (param.name.clone(), param.is_tensor())).collect();
        Self { support, cx: internal("cx"), names, typing }
    }

    pub(super) fn bind_values(&mut self, names: Vec<Ident>) {
        self.names.extend(names.into_iter().map(|name| (name, false)));
    }

    /// The position from which [`release`](Self::release) removes names.
    pub(super) fn mark(&self) -> usize {
        self.names.len()
    }

    pub(super) fn release(&mut self, mark: usize) {
        self.names.truncate(mark);
    }

    /// The names in scope that mean tensors, or those that mean values. A later name hides an earlier one.
    fn visible(&self, tensors: bool) -> impl Iterator<Item = &Ident> {
        let last = |name: &Ident| self.names.iter().rev().find(|(known, _)| known == name);
        let names = self.names.iter().map(|(name, _)| name);
        names.filter(move |name| last(name).is_some_and(|(_, is_tensor)| *is_tensor == tensors))
    }

    pub(super) fn is_tensor(&self, name: &Ident) -> bool {
        self.visible(true).any(|tensor| tensor == name)
    }

    /// A rewrite of code in this scope; `in_iteration` says whether a failed assertion ends an iteration.
    pub(super) fn rewrite<'r>(
        &'r self,
        reductions: &'r [LoopReduction],
        in_iteration: bool,
    ) -> BodyRewriter<'r> {
        BodyRewriter {
            tensors: self.visible(true).cloned().collect(),
            locals: self.visible(false).cloned().collect(),
            iteration: in_iteration.then(|| self.cx.clone()),
            reductions,
            ..BodyRewriter::new(self.support, self.typing.clone())
        }
    }

    /// A rewritten expression outside of parallel loops.
    pub(super) fn expr(&self, expr: &Expr) -> TokenStream {
        self.rewrite(&[], false).expr(expr.clone())
    }

    /// A rewritten statement outside of parallel loops.
    pub(super) fn stmt(&self, stmt: &Stmt) -> TokenStream {
        self.rewrite(&[], false).stmt(stmt.clone())
    }

    /// New bindings of the tensors in scope that `code` uses, whose accesses are proven.
    pub(super) fn proven(&self, code: &impl ToTokens) -> TokenStream {
        let used: HashSet<Ident> = idents(code).into_iter().collect();
        let support = self.support;
        let mut seen = HashSet::new();
        let tensors = self.visible(true).filter(|name| used.contains(name) && seen.insert(*name));
        tensors
            .map(|name| {
                quote! {
                    let mut #name =
                        #support::WithCheckMode::with_check_mode(#name, #support::CheckMode::Unchecked);
                }
            })
            .collect()
    }

    /// New bindings of the names in scope that `code` uses. Tensors in a loop get the check mode of its `chunk`.
    pub(super) fn rebound(&self, code: &impl ToTokens, chunk: Option<&Ident>) -> TokenStream {
        let used: HashSet<Ident> = idents(code).into_iter().collect();
        let mut seen = HashSet::new();
        let support = self.support;
        let names = self.names.iter().rev();
        let names = names.filter(|(name, _)| used.contains(name) && seen.insert(name.clone()));
        let bindings = names.map(|(name, is_tensor)| match chunk {
            Some(chunk) if *is_tensor => {
                quote!(let mut #name = #support::WithCheckMode::with_check_mode(#name, #chunk.check_mode);)
            }
            _ => quote!(let mut #name = #name;),
        });
        bindings.collect()
    }
}
