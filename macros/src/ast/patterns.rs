//! Patterns with alternatives.

use syn::{Pat, PatIdent, punctuated::Punctuated};

/// The patterns without alternatives that a pattern stands for, in their order.
pub(crate) fn alternatives(pattern: &Pat) -> Vec<Pat> {
    match pattern {
        Pat::Or(or) => or.cases.iter().flat_map(alternatives).collect(),
        Pat::Paren(paren) => alternatives(&paren.pat),
        Pat::Ident(named @ PatIdent { subpat: Some((at, inner)), .. }) => {
            let all = alternatives(inner).into_iter().map(|inner| {
                Pat::Ident(PatIdent { subpat: Some((*at, Box::new(inner))), ..named.clone() })
            });
            all.collect()
        }
        Pat::Tuple(tuple) => products(tuple.elems.iter().map(alternatives))
            .map(|elems| Pat::Tuple(syn::PatTuple { elems, ..tuple.clone() }))
            .collect(),
        Pat::TupleStruct(tuple) => products(tuple.elems.iter().map(alternatives))
            .map(|elems| Pat::TupleStruct(syn::PatTupleStruct { elems, ..tuple.clone() }))
            .collect(),
        Pat::Struct(of) => {
            let fields = of.fields.iter().map(|field| {
                let all = alternatives(&field.pat).into_iter();
                all.map(|pat| syn::FieldPat { pat: Box::new(pat), ..field.clone() }).collect()
            });
            products(fields)
                .map(|fields| Pat::Struct(syn::PatStruct { fields, ..of.clone() }))
                .collect()
        }
        Pat::Slice(slice) => products(slice.elems.iter().map(alternatives))
            .map(|elems| Pat::Slice(syn::PatSlice { elems, ..slice.clone() }))
            .collect(),
        other => vec![other.clone()],
    }
}

/// All lists with one of the alternatives of each part, those of the first part varying most slowly.
fn products<T: Clone>(
    parts: impl Iterator<Item = Vec<T>>,
) -> impl Iterator<Item = Punctuated<T, syn::Token![,]>> {
    let mut all: Vec<Punctuated<T, syn::Token![,]>> = vec![Punctuated::new()];
    for alternatives in parts {
        let with = |before: &Punctuated<T, syn::Token![,]>, part: &T| {
            let mut list = before.clone();
            list.push(part.clone());
            list
        };
        all = all
            .iter()
            .flat_map(|before| alternatives.iter().map(|part| with(before, part)))
            .collect();
    }
    all.into_iter()
}
