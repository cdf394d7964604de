//! Loops that choose an iteration: `if x[i] < least { least = x[i]; nearest = i; }`.

use proc_macro2::{Ident, Span, TokenStream};
use quadrants_frontend::syntax::AtomicOp;
use quote::{ToTokens, quote, quote_spanned};
use syn::{Expr, ExprForLoop, Pat, Stmt, visit::Visit};

use super::{
    SurroundingStmts,
    effects::EffectFinder,
    marked_choice, name,
    parts::UsedParts,
    statement::{assigns, comparison},
};
use crate::{
    ast::{is_ndrange, loop_bindings, place_root, unparenthesized},
    spans,
    tokens::possible_locals,
};

/// The numbers of dimensions of a parallel loop over `ndrange`. Loops over more are rewritten to these.
const DIMS: [usize; 2] = [2, 3];

/// A loop whose body is `let`s and `if value < best { best = value; … }`: the first loop finds the best value, one loop
/// per dimension finds the first iteration that has it, and a serial statement runs the branch for that iteration.
///
/// The branch consists of assignments to locals, or to parts of locals, that the loop does not read. They may be in one
/// statement, `(best, at) = (value, i)`: because no value reads what another one is assigned to, that is the same.
pub(super) fn rewrite(
    each: &mut ExprForLoop,
    outside: &[Ident],
    writable: &[Ident],
    number: usize,
) -> Option<SurroundingStmts> {
    let mut flat = each.clone();
    let Some(Stmt::Expr(Expr::If(branch), _)) = flat.body.stmts.last_mut() else { return None };
    let stmts = std::mem::take(&mut branch.then_branch.stmts);
    branch.then_branch.stmts = stmts.into_iter().flat_map(single_assignments).collect();
    let around = of_locals(&mut flat, outside, writable, number)
        .or_else(|| of_components(&mut flat, outside, writable, number))?;
    *each = flat;
    Some(around)
}

/// The assignments that `{ let (x, y) = (v, w); a = x; b = y; }` is, to which [`desugar`](crate::desugar) rewrites
/// `(a, b) = (v, w)`; other statements as they are.
fn single_assignments(stmt: Stmt) -> Vec<Stmt> {
    let single = |stmt: &Stmt| {
        let Stmt::Expr(Expr::Block(syn::ExprBlock { block, label: None, .. }), _) = stmt else {
            return None;
        };
        let (Stmt::Local(syn::Local { pat: Pat::Tuple(pattern), init: Some(init), .. }), assigns) =
            block.stmts.split_first()?
        else {
            return None;
        };
        let Expr::Tuple(values) = unparenthesized(&init.expr) else { return None };
        let count = values.elems.len();
        if init.diverge.is_some() || [pattern.elems.len(), assigns.len()] != [count; 2] {
            return None;
        }
        let parts = pattern.elems.iter().zip(&values.elems).zip(assigns);
        let parts = parts.map(|((pattern, value), assign)| match (pattern, assign) {
            (Pat::Ident(part), Stmt::Expr(Expr::Assign(assign), semi)) => {
                let is_part = name(&assign.right) == Some(&part.ident);
                let plain = part.by_ref.is_none() && part.subpat.is_none();
                let right = Box::new(value.clone());
                let assign = syn::ExprAssign { right, ..assign.clone() };
                (is_part && plain).then_some(Stmt::Expr(Expr::Assign(assign), *semi))
            }
            _ => None,
        });
        parts.collect()
    };
    single(&stmt).unwrap_or_else(|| vec![stmt])
}

/// As [`of_locals`], where the branch assigns to parts of locals. Each part is a local of its own during the loop.
fn of_components(
    each: &mut ExprForLoop,
    outside: &[Ident],
    writable: &[Ident],
    number: usize,
) -> Option<SurroundingStmts> {
    let Some(Stmt::Expr(Expr::If(branch), _)) = each.body.stmts.last() else { return None };
    let assigned = branch.then_branch.stmts.iter().filter_map(|stmt| match stmt {
        Stmt::Expr(Expr::Assign(assign), _) => place_root(&assign.left)?.path.get_ident().cloned(),
        _ => None,
    });
    let assigned: Vec<Ident> = assigned.collect();
    let bound = loop_bindings(each);
    let is_assigned = |local: &&Ident| assigned.contains(local) && !bound.contains(*local);
    let mut locals = outside.to_vec();
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for local in outside.iter().filter(is_assigned) {
        let Some(parts) = UsedParts::of(each, local, number) else { continue };
        parts.replace(&mut each.body);
        for (name, place) in parts.all() {
            let at = name.span();
            before.push(syn::parse_quote_spanned!(at=> let mut #name = #place;));
            after.push(syn::parse_quote_spanned!(at=> #place = #name;));
            locals.push(name.clone());
        }
    }
    if before.is_empty() {
        return None;
    }
    let around = of_locals(each, &locals, writable, number)?;
    before.extend(around.before);
    after.splice(0..0, around.after);
    Some(SurroundingStmts { before, after })
}

/// As [`rewrite`], where the branch is assignments to locals.
fn of_locals(
    each: &mut ExprForLoop,
    outside: &[Ident],
    writable: &[Ident],
    number: usize,
) -> Option<SurroundingStmts> {
    let (Stmt::Expr(Expr::If(branch), _), lets) = each.body.stmts.split_last()? else {
        return None;
    };
    let assignments: Option<Vec<&syn::ExprAssign>> = branch
        .then_branch
        .stmts
        .iter()
        .map(|stmt| match stmt {
            Stmt::Expr(Expr::Assign(assign), _) => Some(assign),
            _ => None,
        })
        .collect();
    let assignments = assignments?;
    let (local, (op, value, equal)) = assignments.iter().find_map(|assign| {
        let local = name(&assign.left)?;
        let comparison = comparison(branch, local)?;
        assigns(assign, local, &comparison.1).then_some((local, comparison))
    })?;
    let targets: Option<Vec<&Ident>> =
        assignments.iter().map(|assign| name(&assign.left)).collect();
    let mut targets = targets?;
    targets.retain(|target| *target != local);
    let at = Span::mixed_site().located_at(spans::first(branch));
    let space = IterationSpace::of(each, number, at)?;
    let bound = loop_bindings(each);
    let all = possible_locals(&each.body);
    let occurrences = |name: &Ident| all.iter().filter(|other| *other == name).count();
    let is_let = |stmt: &Stmt| matches!(stmt, Stmt::Local(local) if local.init.as_ref().is_some_and(|init| init.diverge.is_none()));
    let changed: Vec<&Ident> = targets.iter().copied().chain([local]).chain(&bound).collect();
    let is_target = |name: &&Ident| outside.contains(name) && !bound.contains(*name);
    if each.label.is_some()
        || branch.else_branch.is_some()
        || targets.is_empty()
        || !lets.iter().all(is_let)
        || !is_target(&local)
        || occurrences(local) != 2
        || !targets.iter().all(is_target)
        || targets.iter().any(|name| occurrences(name) != 1)
        || possible_locals(&each.expr).contains(local)
        || EffectFinder::of(&changed, writable, |all| all.visit_block(&each.body))
    {
        return None;
    }
    let best = Ident::new(&format!("__best{number}"), at);
    let (attributes, then, condition) = (&each.attrs, &branch.then_branch.stmts, &branch.cond);
    let find_best = marked_choice(at, &best, op, &value);
    let dims: Vec<SelectedIndex<'_>> = space.dims.iter().map(|dim| dim.chosen(equal, at)).collect();
    // What a loop computes for the others is unused in it.
    let quiet = lets.iter().map(|stmt| quote_spanned!(at=> #[allow(unused_variables)] #stmt));
    let quiet: TokenStream = quiet.collect();
    let (bounds, pattern, iterated) = (&space.bounds, &each.pat, &space.iterated);
    let mut before = quote_spanned! {at=>
        #bounds
        let mut #best = #local;
        #(#attributes)*
        for #pattern in #iterated {
            #quiet
            #find_best
        }
    };
    let mut body = TokenStream::new();
    for (nth, dim) in dims.iter().enumerate() {
        let is_earlier = dims[..nth].iter().map(|dim| &dim.is_chosen);
        let SelectedIndex { winner, none, choose, .. } = dim;
        body = quote_spanned! {at=>
            #quiet
            if #condition {
                if #value == #best #(&& #is_earlier)* {
                    #choose
                }
            }
        };
        before.extend(quote_spanned!(at=> let mut #winner = #none;));
        if nth + 1 < dims.len() {
            let pattern = space.quiet_pattern(at);
            before.extend(quote_spanned! {at=>
                #(#attributes)*
                for #pattern in #iterated { #body }
            });
        }
    }
    let found = dims.iter().map(|dim| &dim.found);
    let chosen = dims.iter().map(|SelectedIndex { index, chosen, .. }| {
        quote_spanned!(at=> #[allow(unused_variables)] let #index = #chosen;)
    });
    // A loop that wants only the index, as an argmin, does not read the best value afterwards.
    let after = quote_spanned! {at=>
        #[allow(unused_assignments)]
        if #(#found)&&* {
            #(#chosen)*
            #(#lets)*
            #(#then)*
        }
    };
    let stmts = |tokens: TokenStream| {
        syn::parse2::<syn::Block>(quote_spanned!(at=> { #tokens })).map(|block| block.stmts)
    };
    let around = SurroundingStmts { before: stmts(before).ok()?, after: stmts(after).ok()? };
    let (body, iterated) = (syn::parse2(quote_spanned!(at=> { #body })), &space.iterated);
    (each.body, *each.expr) = (body.ok()?, syn::parse2(iterated.clone()).ok()?);
    Some(around)
}

/// The iterations of a loop, with bounds that are evaluated before it.
struct IterationSpace {
    dims: Vec<SelectionDim>,
    /// Defines the bounds.
    bounds: TokenStream,
    iterated: TokenStream,
}

struct SelectionDim {
    index: Ident,
    begin: TokenStream,
    end: TokenStream,
    winner: Ident,
}

/// How a dimension's index of the chosen iteration is found.
struct SelectedIndex<'a> {
    index: &'a Ident,
    winner: &'a Ident,
    /// What the winner is without an iteration.
    none: &'a TokenStream,
    choose: Expr,
    chosen: TokenStream,
    found: TokenStream,
    /// Whether an iteration has the chosen index.
    is_chosen: TokenStream,
}

impl SelectionDim {
    /// Of equal values, `<` keeps the first and `<=` the last one.
    fn chosen(&self, last: bool, at: Span) -> SelectedIndex<'_> {
        let Self { index, begin, end, winner } = self;
        let (none, chosen, op, candidate, found) = match last {
            false => (
                end,
                quote_spanned!(at=> #winner),
                AtomicOp::Min,
                syn::parse_quote!(#index),
                quote_spanned!(at=> #winner < #end),
            ),
            true => (
                begin,
                quote_spanned!(at=> #winner - 1),
                AtomicOp::Max,
                syn::parse_quote!((#index + 1)),
                quote_spanned!(at=> #winner > #begin),
            ),
        };
        let choose = marked_choice(at, winner, op, &candidate);
        let is_chosen = quote_spanned!(at=> #candidate == #winner);
        SelectedIndex { index, winner, none, choose, chosen, found, is_chosen }
    }
}

impl IterationSpace {
    /// `None` for loops other than over `begin..end` and `ndrange` with names as its pattern.
    fn of(each: &ExprForLoop, number: usize, at: Span) -> Option<Self> {
        let of_dim =
            |dim: usize| move |what: &str| Ident::new(&format!("__{what}{number}_{dim}"), at);
        let index = |pattern: &Pat| match pattern {
            Pat::Ident(syn::PatIdent {
                ident,
                by_ref: None,
                mutability: None,
                subpat: None,
                ..
            }) => Some(ident.clone()),
            _ => None,
        };
        let range = |expr: &Expr, dim: usize, bounds: &mut TokenStream| {
            let Expr::Range(syn::ExprRange {
                start: Some(begin),
                end: Some(end),
                limits: syn::RangeLimits::HalfOpen(_),
                ..
            }) = unparenthesized(expr)
            else {
                return None;
            };
            let [first, after] = ["first", "after"].map(of_dim(dim));
            bounds.extend(quote_spanned!(at=> let #first = #begin; let #after = #end;));
            Some((quote_spanned!(at=> #first), quote_spanned!(at=> #after)))
        };
        let mut bounds = TokenStream::new();
        let dim = |dim: usize, index: Ident, (begin, end): (TokenStream, TokenStream)| {
            SelectionDim { winner: of_dim(dim)("winner"), index, begin, end }
        };
        if let Some(index) = index(&each.pat) {
            let ends = range(&each.expr, 0, &mut bounds)?;
            let (begin, end) = &ends;
            let iterated = quote_spanned!(at=> #begin..#end);
            return Some(Self { dims: vec![dim(0, index, ends)], bounds, iterated });
        }
        let (Pat::Tuple(pattern), Expr::Call(call)) = (&*each.pat, unparenthesized(&each.expr))
        else {
            return None;
        };
        let indices: Option<Vec<Ident>> = pattern.elems.iter().map(index).collect();
        let indices = indices.filter(|indices| DIMS.contains(&indices.len()))?;
        if !is_ndrange(call) || call.args.len() != 1 {
            return None;
        }
        let (path, space) = (&call.func, unparenthesized(&call.args[0]));
        let ranges = match space {
            Expr::Tuple(syn::ExprTuple { elems, .. })
                if matches!(elems.first(), Some(Expr::Range(_))) =>
            {
                Some(elems)
            }
            Expr::Array(ranges) if matches!(ranges.elems.first(), Some(Expr::Range(_))) => {
                Some(&ranges.elems)
            }
            _ => None,
        };
        let (ends, iterated): (Vec<_>, _) = match ranges {
            Some(ranges) if ranges.len() == indices.len() => {
                let all: Option<Vec<_>> = ranges
                    .iter()
                    .enumerate()
                    .map(|(at, expr)| range(expr, at, &mut bounds))
                    .collect();
                let all = all?;
                let ranges = all.iter().map(|(begin, end)| quote_spanned!(at=> #begin..#end));
                let iterated = quote_spanned!(at=> #path((#(#ranges),*)));
                (all, iterated)
            }
            Some(_) => return None,
            None => {
                let ends: Vec<_> = (0..indices.len()).map(|at| of_dim(at)("after")).collect();
                let extents = match space {
                    Expr::Tuple(syn::ExprTuple { elems, .. }) => quote_spanned!(at=> [#elems]),
                    other => quote!(#other),
                };
                bounds.extend(quote_spanned!(at=> let [#(#ends),*] = #extents;));
                let iterated = quote_spanned!(at=> #path([#(#ends),*]));
                let begin = quote_spanned!(at=> 0);
                (ends.iter().map(|end| (begin.clone(), quote!(#end))).collect(), iterated)
            }
        };
        let dims = indices.into_iter().zip(ends).enumerate();
        let dims = dims.map(|(at, (index, ends))| dim(at, index, ends)).collect();
        Some(Self { dims, bounds, iterated })
    }

    /// The indices as a pattern that may not be used.
    fn quiet_pattern(&self, at: Span) -> TokenStream {
        let names = self.dims.iter().map(|dim| &dim.index);
        match &self.dims[..] {
            [one] => one.index.to_token_stream(),
            _ => quote_spanned!(at=> (#(#names),*)),
        }
    }
}
