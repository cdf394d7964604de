//! Versions of loops for tensors whose last axis is short, such as the channels of `image[[y, x, 2]]`. The stride
//! between neighbouring elements is then a run-time value, so that LLVM does not vectorize. A loop that accesses the
//! last axis by literals only has a version for the extent that these suggest.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{
    Block, Expr, ExprForLoop, ExprIndex, ExprMethodCall, Lit, Pat,
    visit::{self, Visit},
};

use crate::{ast::unparenthesized, tokens::idents};

/// The largest extent of a last axis for which a loop has a version.
const MAX_SHORT_EXTENT: usize = 8;

/// A tensor, and the extent of its last axis that a loop suggests.
struct ShortAxis {
    tensor: Ident,
    extent: usize,
}

/// The tensors that a body accesses by literals in the last of several axes.
struct LiteralAccesses {
    found: Vec<(ShortAxis, usize)>,
    /// The variables of inner loops from zero, and their ends.
    variables: Vec<(Ident, usize)>,
    /// Tensors that are accessed otherwise.
    others: Vec<Ident>,
}

/// Adds a version for the suggested extents, if there are any, to `loops`, which runs the iterations of `body`.
pub(super) fn versions(
    support: &TokenStream,
    body: &Block,
    is_tensor: impl Fn(&Ident) -> bool,
    loops: TokenStream,
) -> TokenStream {
    let channels = channels(body, is_tensor);
    if channels.is_empty() {
        return loops;
    }
    let (tensors, extents): (Vec<_>, Vec<_>) =
        channels.iter().map(|each| (&each.tensor, each.extent)).unzip();
    quote! {
        if #(#support::View::has_last_extent(&#tensors, #extents))&&* {
            #(let mut #tensors = #support::View::with_last_extent::<#extents>(#tensors);)*
            #loops
        } else {
            #loops
        }
    }
}

fn channels(body: &Block, is_tensor: impl Fn(&Ident) -> bool) -> Vec<ShortAxis> {
    let mut accesses =
        LiteralAccesses { found: Vec::new(), variables: Vec::new(), others: Vec::new() };
    accesses.visit_block(body);
    let LiteralAccesses { found, others, .. } = accesses;
    let names = idents(body);
    let only = found.into_iter().filter(|(ShortAxis { tensor, extent }, uses)| {
        // The body uses the tensor for nothing else, and nothing else has its name.
        (2..=MAX_SHORT_EXTENT).contains(extent)
            && is_tensor(tensor)
            && !others.contains(tensor)
            && names.iter().filter(|name| *name == tensor).count() == *uses
    });
    only.map(|(channels, _)| channels).collect()
}

impl LiteralAccesses {
    /// The least extent of an axis with an index.
    fn extent(&self, index: &Expr) -> Option<usize> {
        match unparenthesized(index) {
            Expr::Path(path) => {
                let name = path.path.get_ident()?;
                let known = self.variables.iter().find(|(variable, _)| variable == name);
                known.map(|(_, end)| *end)
            }
            literal => literal_of(literal).and_then(|at| at.checked_add(1)),
        }
    }
}

fn literal_of(expr: &Expr) -> Option<usize> {
    match unparenthesized(expr) {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(number) => number.base10_parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

impl Visit<'_> for LiteralAccesses {
    fn visit_expr_index(&mut self, index: &ExprIndex) {
        if let Expr::Path(path) = unparenthesized(&index.expr)
            && let Some(tensor) = path.path.get_ident()
            && let Expr::Array(array) = unparenthesized(&index.index)
            && array.elems.len() > 1
            && let Some(last) = array.elems.last()
        {
            match self.extent(last) {
                Some(extent) => {
                    let known = self.found.iter_mut().find(|(known, _)| known.tensor == *tensor);
                    if let Some((known, uses)) = known {
                        known.extent = known.extent.max(extent);
                        *uses += 1;
                    } else {
                        self.found.push((ShortAxis { tensor: tensor.clone(), extent }, 1));
                    }
                }
                None => self.others.push(tensor.clone()),
            }
        }
        visit::visit_expr_index(self, index);
    }

    fn visit_expr_method_call(&mut self, call: &ExprMethodCall) {
        if (call.method == "len" || call.method == "shape")
            && let Expr::Path(path) = unparenthesized(&call.receiver)
            && let Some((_, uses)) =
                self.found.iter_mut().find(|(known, _)| path.path.is_ident(&known.tensor))
        {
            *uses += 1;
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_for_loop(&mut self, each: &ExprForLoop) {
        let known = self.variables.len();
        if let (Pat::Ident(name), Expr::Range(range)) = (&*each.pat, unparenthesized(&each.expr))
            && name.subpat.is_none()
            && range.start.as_deref().and_then(literal_of) == Some(0)
            && let Some(end) = range.end.as_deref().and_then(literal_of)
            && matches!(range.limits, syn::RangeLimits::HalfOpen(_))
        {
            self.variables.push((name.ident.clone(), end));
        }
        visit::visit_expr_for_loop(self, each);
        self.variables.truncate(known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suggested(body: &str) -> Vec<(String, usize)> {
        let body = syn::parse_str(&format!("{{ {body} }}")).expect("a block");
        let is_tensor = |name: &Ident| name != "local";
        let found = channels(&body, is_tensor).into_iter();
        found.map(|each| (each.tensor.to_string(), each.extent)).collect()
    }

    #[test]
    fn literals_in_the_last_axis_suggest_its_extent() {
        let image = |extent| vec![("image".to_owned(), extent)];
        for (body, extent) in [
            ("y[i] = image[[i, 0]] + image[[i, 2]] + image[[i + 1, 1]];", 3),
            ("for c in 0..4 { y[i] += image[[i, j, c]] * image[[i, j, 3]]; }", 4),
            ("y[i] = image[[i, (1)]] * image.shape()[0] as f32;", 2),
            ("if y[i] > 0 { image[[0, i, 1]] = 1; }", 2),
        ] {
            assert_eq!(suggested(body), image(extent), "{body}");
        }
        let two = suggested("out[[i, 1]] = image[[i, 2]];");
        assert_eq!(two, [("out".to_owned(), 2), ("image".to_owned(), 3)]);
        for body in [
            // Nothing is gained, or too much would be guessed.
            "y[i] = image[[i, 0]];",
            "y[i] = image[[i, 8]];",
            "y[i] = image[3];",
            // Another index, or another use.
            "y[i] = image[[i, 1]] + image[[1, i]];",
            "for c in 1..4 { y[i] += image[[i, c]]; }",
            "for c in 0..n { y[i] += image[[i, c]]; }",
            "for c in 0..=3 { y[i] += image[[i, c]]; }",
            "for c in 0..3 { y[i] += 1; } y[i] = image[[i, c]];",
            "y[i] = image[[i, 1]] + sum(image);",
            "y[i] = local[[i, 1]];",
        ] {
            assert_eq!(suggested(body), [], "{body}");
        }
    }
}
