//! Loops over the elements of arrays and vectors, and parallel loops over more than three dimensions.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{
    Expr, ExprForLoop, Stmt,
    ext::IdentExt,
    visit::Visit,
    visit_mut::{self, VisitMut},
};

use super::generated;
use crate::{
    ast::{
        BodyBindings, Invocation, MAX_RANK, SPACE, is_ndrange, name_of, pattern_names,
        unparenthesized,
    },
    spans,
};

/// The name of the array or vector that a loop iterates over. It is reserved.
pub(crate) const ELEMENTS: &str = "__elements";

/// A loop over the elements of arrays and vectors as one over their numbers; `None` for other loops.
pub(super) fn over_elements(each: &ExprForLoop) -> Option<Expr> {
    let mut arrays = Vec::new();
    let elements = IteratedElements::of(&each.expr, &mut arrays)?;
    let at = generated(spans::first(&*each.expr));
    let position = Ident::new("__position", at);
    let mut values = ElementBindings {
        at,
        several: arrays.len() > 1,
        lets: Vec::new(),
        references: Vec::new(),
        places: Vec::new(),
    };
    values.bind(&elements, &each.pat, quote!(#position), true)?;
    let ElementBindings { lets, references, places, .. } = &values;
    let count = values.count(&elements);
    let mut body = each.body.clone();
    if !places.is_empty() {
        let names = |name: &Ident| places.iter().any(|(of, ..)| of == name);
        let mut bound = BodyBindings(pattern_names(&each.pat));
        bound.0.retain(|name| !names(name));
        bound.visit_block(&body);
        let is_bound = |name: &Ident| bound.0.contains(name);
        if places.iter().any(|(name, root, _)| is_bound(name) || is_bound(root)) {
            return None;
        }
        InPlace(places).visit_block_mut(&mut body);
    }
    if !references.is_empty() {
        Dereferenced(references).visit_block_mut(&mut body);
    }
    // An item of the body is visible in all of it, but not in the pattern.
    let has_items = body.stmts.iter().any(|stmt| matches!(stmt, Stmt::Item(_)));
    let stmts = match has_items {
        true => quote!(#body),
        false => {
            let stmts = &body.stmts;
            quote!(#(#stmts)*)
        }
    };
    let evaluated = arrays.iter().enumerate().map(|(number, array)| {
        let elements = Ident::new(ELEMENTS, at);
        let name = values.name(number);
        let named = values.several.then(|| quote_spanned!(at=> let #name = #elements;));
        quote_spanned!(at=> let #elements = #array; #named)
    });
    let attributes = &each.attrs;
    let (label, keyword) = (&each.label, each.for_token);
    let block: syn::ExprBlock = syn::parse2(quote_spanned! {at=> {
        #(#evaluated)*
        #(#attributes)* #label #keyword #position in 0..#count {
            #(#lets)*
            #stmts
        }
    }})
    .ok()?;
    Some(Expr::Block(block))
}

/// The elements that a loop iterates over.
enum IteratedElements {
    /// Those of an array or vector, by its number among those of the loop.
    Of { array: usize, by_reference: bool },
    /// Those of an array or vector that the loop changes, with the place and the name at its root.
    Mutable { array: usize, place: Expr, root: Ident },
    /// `.copied()`, `.cloned()`
    Copied(Box<Self>),
    /// `.rev()`
    Reversed(Box<Self>),
    /// `.enumerate()`
    Numbered(Box<Self>),
    /// `.zip(…)`
    Both(Box<[Self; 2]>),
}

impl IteratedElements {
    /// Those of what can be written after `in`.
    fn of<'e>(expr: &'e Expr, arrays: &mut Vec<&'e Expr>) -> Option<Self> {
        let expr = unparenthesized(expr);
        if let Expr::Reference(syn::ExprReference { mutability: Some(_), expr, .. }) = expr {
            return Self::mutable(expr, arrays);
        }
        let (array, by_reference) = match expr {
            // Elements are values: `for &x in &array` and `for x in &array` copy them.
            Expr::Reference(syn::ExprReference { mutability: None, expr, .. }) => (&**expr, true),
            other => (other, false),
        };
        match is_array_like(array) {
            true => Some(Self::add(array, by_reference, arrays)),
            false => Self::of_iterator(expr, arrays),
        }
    }

    fn add<'e>(array: &'e Expr, by_reference: bool, arrays: &mut Vec<&'e Expr>) -> Self {
        arrays.push(array);
        Self::Of { array: arrays.len() - 1, by_reference }
    }

    fn mutable<'e>(place: &'e Expr, arrays: &mut Vec<&'e Expr>) -> Option<Self> {
        let root = changed_root(place)?.clone();
        arrays.push(place);
        Some(Self::Mutable { array: arrays.len() - 1, place: place.clone(), root })
    }

    fn of_iterator<'e>(expr: &'e Expr, arrays: &mut Vec<&'e Expr>) -> Option<Self> {
        let Expr::MethodCall(call) = unparenthesized(expr) else { return None };
        let receiver = unparenthesized(&call.receiver);
        let mut inner = || Self::of_iterator(receiver, arrays).map(Box::new);
        Some(match (call.method.to_string().as_str(), call.args.len()) {
            ("iter" | "into_iter", 0) if is_array_like(receiver) => {
                Self::add(receiver, call.method == "iter", arrays)
            }
            ("iter_mut", 0) => Self::mutable(receiver, arrays)?,
            ("copied" | "cloned", 0) => Self::Copied(inner()?),
            ("rev", 0) => Self::Reversed(inner()?),
            ("enumerate", 0) => Self::Numbered(inner()?),
            ("zip", 1) => {
                let first = Self::of_iterator(receiver, arrays)?;
                Self::Both(Box::new([first, Self::of(&call.args[0], arrays)?]))
            }
            _ => return None,
        })
    }
}

/// The statements that bind the elements at a position.
struct ElementBindings {
    at: Span,
    /// Whether the loop has several arrays.
    several: bool,
    lets: Vec<TokenStream>,
    /// The names that are references in the user's code.
    references: Vec<Ident>,
    /// The names of elements that the loop changes, the name at the root of the array's place, and the element.
    places: Vec<(Ident, Ident, Expr)>,
}

impl ElementBindings {
    fn name(&self, array: usize) -> Ident {
        match self.several {
            true => Ident::new(&format!("{ELEMENTS}{array}"), self.at),
            false => Ident::new(ELEMENTS, self.at),
        }
    }

    fn count(&self, elements: &IteratedElements) -> TokenStream {
        match elements {
            IteratedElements::Of { array, .. } | IteratedElements::Mutable { array, .. } => {
                let name = self.name(*array);
                quote_spanned!(self.at=> #name.len())
            }
            IteratedElements::Copied(of)
            | IteratedElements::Reversed(of)
            | IteratedElements::Numbered(of) => self.count(of),
            IteratedElements::Both(of) => {
                let [first, second] = [self.count(&of[0]), self.count(&of[1])];
                quote_spanned!(self.at=> #first.min(#second))
            }
        }
    }

    /// Binds a pattern to the element at a position; `None` if the pattern does not suit the iterator.
    fn bind(
        &mut self,
        elements: &IteratedElements,
        pattern: &syn::Pat,
        position: TokenStream,
        may_be_reference: bool,
    ) -> Option<()> {
        let at = self.at;
        let pair = || match pattern {
            syn::Pat::Tuple(pair) if pair.elems.len() == 2 => {
                Some([&pair.elems[0], &pair.elems[1]])
            }
            _ => None,
        };
        match elements {
            IteratedElements::Of { array, by_reference } => {
                let mut pattern = pattern;
                if *by_reference && may_be_reference {
                    match pattern {
                        syn::Pat::Reference(syn::PatReference {
                            mutability: None, pat, ..
                        }) => {
                            pattern = pat;
                        }
                        pattern => self.references.extend(pattern_names(pattern)),
                    }
                }
                let name = self.name(*array);
                self.lets.push(quote_spanned!(at=> let #pattern = #name[#position];));
                Some(())
            }
            IteratedElements::Mutable { place, root, .. } => match pattern {
                syn::Pat::Wild(_) => Some(()),
                syn::Pat::Ident(syn::PatIdent {
                    by_ref: None,
                    mutability: None,
                    subpat: None,
                    ident,
                    ..
                }) if may_be_reference => {
                    // The position of this loop, also in a loop inside of it.
                    let own = Ident::new(&format!("__at_{}", ident.unraw()), at);
                    self.lets.push(quote_spanned!(at=> let #own = #position;));
                    let element = syn::parse2(quote_spanned!(at=> #place[#own])).ok()?;
                    self.places.push((ident.clone(), root.clone(), element));
                    Some(())
                }
                _ => None,
            },
            IteratedElements::Copied(of) => self.bind(of, pattern, position, false),
            IteratedElements::Reversed(of) => {
                let count = self.count(of);
                let position = quote_spanned!(at=> #count - 1 - #position);
                self.bind(of, pattern, quote_spanned!(at=> (#position)), may_be_reference)
            }
            IteratedElements::Numbered(of) => {
                let [number, pattern] = pair()?;
                self.lets.push(quote_spanned!(at=> let #number = #position;));
                self.bind(of, pattern, position, may_be_reference)
            }
            IteratedElements::Both(of) => {
                let [first, second] = pair()?;
                self.bind(&of[0], first, position.clone(), may_be_reference)?;
                self.bind(&of[1], second, position, may_be_reference)
            }
        }
    }
}

/// Replaces `*name` by an element of an array, and so `name.field`, `name[i]` and `name.method()`.
struct InPlace<'a>(&'a [(Ident, Ident, Expr)]);

impl InPlace<'_> {
    fn replace(&self, expr: &mut Expr) -> bool {
        let of = |path: &syn::ExprPath| self.0.iter().find(|(name, ..)| path.path.is_ident(name));
        let element = match unparenthesized(expr) {
            Expr::Path(path) => of(path).map(|(.., element)| element.clone()),
            _ => None,
        };
        element.map(|element| *expr = element).is_some()
    }
}

impl VisitMut for InPlace<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        if let Expr::Unary(syn::ExprUnary { op: syn::UnOp::Deref(_), expr: inner, .. }) = expr
            && self.replace(inner)
        {
            *expr = (**inner).clone();
            return;
        }
        match expr {
            Expr::Field(syn::ExprField { base: of, .. })
            | Expr::Index(syn::ExprIndex { expr: of, .. })
            | Expr::MethodCall(syn::ExprMethodCall { receiver: of, .. }) => {
                self.replace(of);
            }
            _ => {}
        }
        visit_mut::visit_expr_mut(self, expr);
    }

    fn visit_macro_mut(&mut self, call: &mut syn::Macro) {
        Invocation::rewrite(call, |expr| self.visit_expr_mut(expr));
    }
}

/// The name at the root of a place that can be evaluated again: a name, or a field of one.
fn changed_root(place: &Expr) -> Option<&Ident> {
    match unparenthesized(place) {
        Expr::Path(path) => name_of(path),
        Expr::Field(field) => changed_root(&field.base),
        _ => None,
    }
}

/// Replaces `*name` by `name`, for names whose values stand for references.
struct Dereferenced<'a>(&'a [Ident]);

impl VisitMut for Dereferenced<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        if let Expr::Unary(syn::ExprUnary { op: syn::UnOp::Deref(_), expr: inner, .. }) = expr
            && matches!(&**inner, Expr::Path(path) if self.0.iter().any(|name| path.path.is_ident(name)))
        {
            *expr = (**inner).clone();
        }
        visit_mut::visit_expr_mut(self, expr);
    }

    fn visit_macro_mut(&mut self, call: &mut syn::Macro) {
        Invocation::rewrite(call, |expr| self.visit_expr_mut(expr));
    }
}

/// Whether an expression can be an array or vector rather than an iterator.
fn is_array_like(expr: &Expr) -> bool {
    match expr {
        Expr::Paren(syn::ExprParen { expr, .. }) | Expr::Group(syn::ExprGroup { expr, .. }) => {
            is_array_like(expr)
        }
        Expr::Array(_) | Expr::Repeat(_) | Expr::Path(_) | Expr::Field(_) | Expr::Index(_) => true,
        Expr::Call(call) => !is_ndrange(call),
        _ => false,
    }
}

/// The most dimensions of a parallel loop.
const PARALLEL_RANK: usize = 3;

/// Changes a parallel loop over four to six dimensions to one over the last three, whose body is a serial loop over the
/// others. Returns the statements before it, which evaluate the bounds of the others. `None` for other loops.
pub(super) fn nested_space(each: &mut ExprForLoop) -> Option<Vec<Stmt>> {
    let syn::Pat::Tuple(pattern) = &*each.pat else { return None };
    let rank = pattern.elems.len();
    let Expr::Call(call) = unparenthesized(&each.expr) else { return None };
    if !is_ndrange(call)
        || call.args.len() != 1
        || !(PARALLEL_RANK + 1..=MAX_RANK).contains(&rank)
        || !matches!(&*call.func, Expr::Path(_))
    {
        return None;
    }
    let (path, space) = (&call.func, unparenthesized(&call.args[0]));
    let at = generated(spans::first(space));
    let mut lets = Vec::new();
    let name = |what: &str, axis: usize| Ident::new(&format!("__{what}{axis}"), at);
    let elements = match space {
        Expr::Array(array) => Some(&array.elems),
        Expr::Tuple(tuple) => Some(&tuple.elems),
        _ => None,
    };
    let mut ranges: Vec<Expr> = match elements {
        Some(elements) => elements.iter().cloned().collect(),
        // Extents, whose number the pattern checks.
        None => {
            let names: Vec<Ident> = (0..rank).map(|axis| name("extent", axis)).collect();
            lets.push(syn::parse_quote_spanned!(at=> let [#(#names),*] = #space;));
            names.iter().map(|name| syn::parse_quote!(#name)).collect()
        }
    };
    let is_plain = |range: &Expr| match range {
        Expr::Range(syn::ExprRange { start, end, limits, .. }) => {
            start.is_some() && end.is_some() && matches!(limits, syn::RangeLimits::HalfOpen(_))
        }
        _ => true,
    };
    if ranges.len() != rank || !ranges.iter().all(is_plain) {
        return None;
    }
    let inner = ranges.drain(..rank - PARALLEL_RANK).enumerate().map(|(axis, range)| {
        if elements.is_none() {
            return range;
        }
        let mut evaluated = |what: &str, value: &Expr| -> Expr {
            let name = name(what, axis);
            lets.push(syn::parse_quote_spanned!(at=> let #name = #value;));
            syn::parse_quote!(#name)
        };
        match &range {
            Expr::Range(syn::ExprRange { start: Some(begin), end: Some(end), .. }) => {
                let (begin, end) = (evaluated("begin", begin), evaluated("end", end));
                syn::parse_quote!(#begin..#end)
            }
            end => evaluated("end", end),
        }
    });
    let inner: Vec<Expr> = inner.collect();
    let names: Vec<&syn::Pat> = pattern.elems.iter().collect();
    let (serial, parallel) = names.split_at(rank - PARALLEL_RANK);
    // An array has extents or ranges, a tuple ranges.
    let of = |ranges: &[Expr]| match (space, ranges) {
        (_, [Expr::Range(range)]) => quote!(#range),
        (_, [end]) => quote!(0..#end),
        (Expr::Tuple(_), ranges) => quote!(#path((#(#ranges),*))),
        (_, ranges) => quote!(#path([#(#ranges),*])),
    };
    let (serial_space, parallel_space) = (of(&inner), of(&ranges));
    let (keyword, label, body) = (each.for_token, &each.label, &each.body);
    let marker = Ident::new(SPACE, at);
    let serial_pattern = match serial {
        [one] => quote!(#one),
        several => quote!((#(#several),*)),
    };
    let body: syn::Block = syn::parse2(quote_spanned! {at=> {
        #[#marker]
        #label #keyword #serial_pattern in #serial_space #body
    }})
    .ok()?;
    let pattern: syn::Pat =
        syn::parse::Parser::parse2(syn::Pat::parse_single, quote!((#(#parallel),*))).ok()?;
    let space: Expr = syn::parse2(parallel_space).ok()?;
    (*each.pat, *each.expr, each.body, each.label) = (pattern, space, body, None);
    Some(lets)
}
