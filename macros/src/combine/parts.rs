//! The parts of a local that a loop combines into: `sums[0] += x[i];`, `body.mass += m[i];`.

use proc_macro2::{Ident, Span};
use syn::{
    Expr, ExprForLoop,
    visit_mut::{self, VisitMut},
};

use super::name;
use crate::{
    ast::{Invocation, member_name, unparenthesized},
    spans,
    tokens::possible_locals,
};

/// A part of a value, by its field or index.
#[derive(Clone, PartialEq, Eq)]
enum PathStep {
    Field(String),
    Element(Vec<u64>),
}

/// The parts of a local that a loop uses. They do not overlap.
pub(super) struct UsedParts<'a> {
    local: &'a Ident,
    all: Vec<UsedPart>,
}

struct UsedPart {
    path: Vec<PathStep>,
    place: Expr,
    /// The local that stands for the part during the loop.
    name: Ident,
}

impl<'a> UsedParts<'a> {
    /// `None` if the loop uses the local as a whole, or a part that differs between iterations, or no part.
    pub(super) fn of(each: &ExprForLoop, local: &'a Ident, number: usize) -> Option<Self> {
        let mut found = PartCollector { local, places: Vec::new() };
        found.visit_block_mut(&mut each.body.clone());
        let uses = possible_locals(&each.body).into_iter().chain(possible_locals(&each.expr));
        if found.places.is_empty()
            || uses.filter(|name| name == local).count() != found.places.len()
        {
            return None;
        }
        let mut all: Vec<UsedPart> = Vec::new();
        for (path, place) in found.places {
            if all.iter().any(|known| known.path == path) {
                continue;
            }
            if !all.iter().all(|known| are_disjoint(&known.path, &path)) {
                return None;
            }
            let at = Span::mixed_site().located_at(spans::first(&place));
            let name = Ident::new(&format!("__component{number}_{}_{local}", all.len()), at);
            all.push(UsedPart { path, place, name });
        }
        Some(Self { local, all })
    }

    /// Replaces the parts by their locals.
    pub(super) fn replace(&self, body: &mut syn::Block) {
        PartReplacer(self).visit_block_mut(body);
    }

    /// The locals and the parts.
    pub(super) fn all(&self) -> impl Iterator<Item = (&Ident, &Expr)> {
        self.all.iter().map(|component| (&component.name, &component.place))
    }
}

/// Whether two parts of a value have nothing in common. Indices of different kinds may mean the same element.
fn are_disjoint(a: &[PathStep], b: &[PathStep]) -> bool {
    match a.iter().zip(b).find(|(a, b)| a != b) {
        Some((PathStep::Field(_), PathStep::Field(_))) => true,
        Some((PathStep::Element(a), PathStep::Element(b))) => a.len() == b.len(),
        _ => false,
    }
}

/// The path to a part of a local, by constant indices; `None` for other expressions.
fn path(expr: &Expr, local: &Ident) -> Option<Vec<PathStep>> {
    fn projections(expr: &Expr, local: &Ident) -> Option<Vec<PathStep>> {
        let (base, projection) = match unparenthesized(expr) {
            Expr::Field(field) => (&field.base, PathStep::Field(member_name(&field.member))),
            Expr::Index(index) => (&index.expr, PathStep::Element(constant_index(&index.index)?)),
            other => return (name(other) == Some(local)).then(Vec::new),
        };
        let mut path = projections(base, local)?;
        path.push(projection);
        Some(path)
    }
    projections(expr, local).filter(|path| !path.is_empty())
}

fn constant_index(index: &Expr) -> Option<Vec<u64>> {
    let number = |expr: &Expr| match unparenthesized(expr) {
        Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(number), .. }) => {
            number.base10_parse::<u64>().ok()
        }
        _ => None,
    };
    match unparenthesized(index) {
        Expr::Array(array) => array.elems.iter().map(number).collect(),
        single => Some(vec![number(single)?]),
    }
}

struct PartCollector<'a> {
    local: &'a Ident,
    places: Vec<(Vec<PathStep>, Expr)>,
}

impl VisitMut for PartCollector<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        match path(expr, self.local) {
            Some(path) => self.places.push((path, expr.clone())),
            None => visit_mut::visit_expr_mut(self, expr),
        }
    }

    fn visit_macro_mut(&mut self, call: &mut syn::Macro) {
        Invocation::rewrite(call, |expr| self.visit_expr_mut(expr));
    }
}

struct PartReplacer<'a>(&'a UsedParts<'a>);

impl VisitMut for PartReplacer<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        let UsedParts { local, all } = self.0;
        match path(expr, local) {
            Some(path) => {
                if let Some(component) = all.iter().find(|component| component.path == path) {
                    let name = &component.name;
                    *expr = syn::parse_quote!(#name);
                }
            }
            None => visit_mut::visit_expr_mut(self, expr),
        }
    }

    fn visit_macro_mut(&mut self, call: &mut syn::Macro) {
        Invocation::rewrite(call, |expr| self.visit_expr_mut(expr));
    }
}
