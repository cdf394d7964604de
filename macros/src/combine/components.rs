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
enum Projection {
    Field(String),
    Element(Vec<u64>),
}

/// The parts of a local that a loop uses. They do not overlap.
pub(super) struct Components<'a> {
    local: &'a Ident,
    all: Vec<Component>,
}

struct Component {
    path: Vec<Projection>,
    place: Expr,
    /// The local that stands for the part during the loop.
    name: Ident,
}

impl<'a> Components<'a> {
    /// `None` if the loop uses the local as a whole, or a part that differs between iterations, or no part.
    pub(super) fn of(each: &ExprForLoop, local: &'a Ident, number: usize) -> Option<Self> {
        let mut found = ComponentCollector { local, places: Vec::new() };
        found.visit_block_mut(&mut each.body.clone());
        let uses = possible_locals(&each.body).into_iter().chain(possible_locals(&each.expr));
        if found.places.is_empty()
            || uses.filter(|name| name == local).count() != found.places.len()
        {
            return None;
        }
        let mut all: Vec<Component> = Vec::new();
        for (path, place) in found.places {
            if all.iter().any(|known| known.path == path) {
                continue;
            }
            if !all.iter().all(|known| are_disjoint(&known.path, &path)) {
                return None;
            }
            let at = Span::mixed_site().located_at(spans::first(&place));
            let name = Ident::new(&format!("__component{number}_{}_{local}", all.len()), at);
            all.push(Component { path, place, name });
        }
        Some(Self { local, all })
    }

    /// Replaces the parts by their locals.
    pub(super) fn replace(&self, body: &mut syn::Block) {
        Replace(self).visit_block_mut(body);
    }

    /// The locals and the parts.
    pub(super) fn all(&self) -> impl Iterator<Item = (&Ident, &Expr)> {
        self.all.iter().map(|component| (&component.name, &component.place))
    }
}

/// Whether two parts of a value have nothing in common. Indices of different kinds may mean the same element.
fn are_disjoint(a: &[Projection], b: &[Projection]) -> bool {
    match a.iter().zip(b).find(|(a, b)| a != b) {
        Some((Projection::Field(_), Projection::Field(_))) => true,
        Some((Projection::Element(a), Projection::Element(b))) => a.len() == b.len(),
        _ => false,
    }
}

/// The path to a part of a local, by constant indices; `None` for other expressions.
fn path(expr: &Expr, local: &Ident) -> Option<Vec<Projection>> {
    fn projections(expr: &Expr, local: &Ident) -> Option<Vec<Projection>> {
        let (base, projection) = match unparenthesized(expr) {
            Expr::Field(field) => (&field.base, Projection::Field(member_name(&field.member))),
            Expr::Index(index) => (&index.expr, Projection::Element(constant_index(&index.index)?)),
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

struct ComponentCollector<'a> {
    local: &'a Ident,
    places: Vec<(Vec<Projection>, Expr)>,
}

impl VisitMut for ComponentCollector<'_> {
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

struct Replace<'a>(&'a Components<'a>);

impl VisitMut for Replace<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        let Components { local, all } = self.0;
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
