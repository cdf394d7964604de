//! Syntax that is rewritten to simpler syntax before the tree and the CPU body are made, so that both read the simpler
//! form: `matches!`, `assert_eq!`, `debug_assert!`, destructuring assignments, loops over the elements of an array or
//! vector, and parallel loops over more than three dimensions.
//!
//! The rewritten code means what rustc says about the author's: `matches!` is the `match` of std's macro, and a
//! destructuring assignment is the `let` and the assignments that rustc itself makes of it.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{quote, quote_spanned};
use syn::{
    Expr, ExprAssign, ExprForLoop, Stmt,
    visit_mut::{self, VisitMut},
};

use crate::{
    ast::{
        Assert, Checks, Invocation, MAX_RANK, SPACE, is_invocation, is_ndrange, is_of_type,
        is_serial, is_stream_parallel, is_type_name, pattern_names, unparenthesized,
    },
    combine, spans,
};

/// The name of the array or vector that a loop iterates over. It is reserved.
pub(crate) const ELEMENTS: &str = "__elements";

/// Rewrites the body of a kernel; `writable` are its `&mut` parameters.
pub(crate) fn kernel_body(writable: &[Ident], body: &mut syn::Block) {
    Desugar.top_stmts(&mut body.stmts);
    combine_into_locals(&mut body.stmts, writable, &mut 0);
}

/// Rewrites the body of a func.
pub(crate) fn func_body(body: &mut syn::Block) {
    Desugar.visit_block_mut(body);
}

struct Desugar;

impl Desugar {
    /// Statements at the top level of a kernel or `stream_parallel` block, where a loop is parallel unless `#[serial]`.
    fn top_stmts(&mut self, stmts: &mut Vec<Stmt>) {
        let mut all = Vec::with_capacity(stmts.len());
        for mut stmt in std::mem::take(stmts) {
            if let Stmt::Expr(Expr::ForLoop(each), _) = &mut stmt
                && !is_serial(each)
                && let Some(lets) = nested_space(each)
            {
                all.extend(lets);
            }
            self.top_stmt(&mut stmt);
            all.push(stmt);
        }
        *stmts = all;
    }

    fn top_stmt(&mut self, stmt: &mut Stmt) {
        match stmt {
            Stmt::Expr(Expr::ForLoop(each), _) if !is_serial(each) => {
                visit_mut::visit_expr_for_loop_mut(self, each);
            }
            Stmt::Expr(Expr::Call(call), _) if is_stream_parallel(call) => {
                for arg in &mut call.args {
                    match arg {
                        Expr::Closure(syn::ExprClosure { body, .. }) => match &mut **body {
                            Expr::Block(block) => self.top_stmts(&mut block.block.stmts),
                            other => self.visit_expr_mut(other),
                        },
                        other => self.visit_expr_mut(other),
                    }
                }
            }
            other => self.visit_stmt_mut(other),
        }
    }
}

/// Marks what parallel loops combine into the locals of their statement list.
fn combine_into_locals(stmts: &mut Vec<Stmt>, writable: &[Ident], loops: &mut usize) {
    let mut all = Vec::with_capacity(stmts.len());
    let mut locals: Vec<Ident> = Vec::new();
    for mut stmt in std::mem::take(stmts) {
        let mut after = Vec::new();
        match &mut stmt {
            Stmt::Local(local) => {
                let bound = pattern_names(&local.pat);
                locals.retain(|name| !bound.contains(name));
                // Also those that lack `mut`, which rustc reports.
                locals.extend(bound);
            }
            Stmt::Expr(Expr::ForLoop(each), _) if !is_serial(each) => {
                let around = combine::mark(each, &locals, writable, *loops);
                *loops += 1;
                all.extend(around.before);
                after = around.after;
            }
            Stmt::Expr(Expr::Call(call), _) if is_stream_parallel(call) => {
                for arg in &mut call.args {
                    if let Expr::Closure(syn::ExprClosure { body, .. }) = arg
                        && let Expr::Block(block) = &mut **body
                    {
                        combine_into_locals(&mut block.block.stmts, writable, loops);
                    }
                }
            }
            _ => {}
        }
        all.push(stmt);
        all.extend(after);
    }
    *stmts = all;
}

impl VisitMut for Desugar {
    fn visit_stmt_mut(&mut self, stmt: &mut Stmt) {
        if let Stmt::Macro(call) = stmt
            && let Some(value) = simpler_macro(&call.mac)
        {
            *stmt = Stmt::Expr(value, call.semi_token);
        }
        visit_mut::visit_stmt_mut(self, stmt);
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        let simpler = match expr {
            Expr::Macro(call) => simpler_macro(&call.mac),
            Expr::Assign(assign) => destructuring_assignment(assign),
            Expr::ForLoop(each) => element_loop(each),
            _ => None,
        };
        if let Some(simpler) = simpler {
            *expr = simpler;
        }
        visit_mut::visit_expr_mut(self, expr);
    }

    fn visit_macro_mut(&mut self, call: &mut syn::Macro) {
        Invocation::rewrite(call, |expr| self.visit_expr_mut(expr));
    }

    fn visit_arm_mut(&mut self, arm: &mut syn::Arm) {
        make_statement(&mut arm.body);
        visit_mut::visit_arm_mut(self, arm);
    }

    fn visit_expr_closure_mut(&mut self, closure: &mut syn::ExprClosure) {
        make_statement(&mut closure.body);
        visit_mut::visit_expr_closure_mut(self, closure);
    }

    // Items and types contain nothing to rewrite: constants are evaluated by rustc.
    fn visit_item_mut(&mut self, _: &mut syn::Item) {}

    fn visit_type_mut(&mut self, _: &mut syn::Type) {}
}

/// A span for code that stands for the author's at a location. Lints do not apply to it.
fn generated(at: Span) -> Span {
    Span::mixed_site().located_at(at)
}

/// The names of the operands of `assert_eq!` and `assert_ne!`. They are reserved.
const OPERANDS: [&str; 2] = ["__left", "__right"];

/// Puts the call of a macro without a value, such as `println!`, into a block.
fn make_statement(body: &mut Expr) {
    if let Expr::Macro(call) = body
        && is_invocation(&call.mac)
    {
        *body = syn::parse_quote!({ #call; });
    }
}

/// What a macro stands for; `None` if it stays.
fn simpler_macro(call: &syn::Macro) -> Option<Expr> {
    let name = call.path.get_ident()?.to_string();
    let at = generated(spans::first(call));
    let tokens = &call.tokens;
    match name.as_str() {
        "matches" => matches_macro(call),
        // std's, even if the author's crate has a macro with this name.
        "cfg" => syn::parse2(quote_spanned!(at=> ::core::cfg!(#tokens))).ok(),
        // Evaluated in the author's crate, as by std's macros.
        "debug_assert" | "debug_assert_eq" | "debug_assert_ne" => {
            // On the CPU, the location of an error is that of the author's token.
            let assert = Ident::new(name.strip_prefix("debug_")?, spans::first(call));
            let tokens = quote_spanned! {at=>
                if ::core::cfg!(debug_assertions) { #assert!(#tokens); }
            };
            syn::parse2(tokens).ok()
        }
        "assert_eq" | "assert_ne" => named_operands(call),
        _ => None,
    }
}

/// `assert_eq!(a, b)` as `{ let x = a; let y = b; assert_eq!(x, y); }`, so that the operands are evaluated once.
/// `None` if they are names already, and for wrong arguments.
fn named_operands(call: &syn::Macro) -> Option<Expr> {
    let Invocation::Assert(Assert { checks, message }) = Invocation::of(call)?.ok()? else {
        return None;
    };
    let Checks::Comparison { equal, operands: [left, right] } = checks else { return None };
    let is_named = |operand: &Expr| match operand {
        Expr::Path(path) => OPERANDS.iter().any(|name| path.path.is_ident(name)),
        _ => false,
    };
    if is_named(&left) && is_named(&right) {
        return None;
    }
    let at = generated(spans::first(call));
    // rustc reports operands of different types at these names.
    let name = |name, operand| Ident::new(name, generated(spans::first(operand)));
    let [left_name, right_name] = &[name(OPERANDS[0], &left), name(OPERANDS[1], &right)];
    let operands = [syn::parse_quote!(#left_name), syn::parse_quote!(#right_name)];
    let checks = Checks::Comparison { equal, operands };
    let tokens = Invocation::Assert(Assert { checks, message }).tokens();
    // On the CPU, the location of an error is that of this token.
    let name = &call.path;
    let tokens = quote_spanned! {at=> {
        let #left_name = #left;
        let #right_name = #right;
        #name!(#tokens);
    }};
    syn::parse2(tokens).ok()
}

/// `matches!(value, pattern)` as std's macro defines it. `None` for wrong arguments.
fn matches_macro(call: &syn::Macro) -> Option<Expr> {
    let parse = |input: syn::parse::ParseStream<'_>| {
        let value: Expr = input.parse()?;
        input.parse::<syn::Token![,]>()?;
        Ok((value, input.parse::<TokenStream>()?))
    };
    let (value, rest) = call.parse_body_with(parse).ok()?;
    let mut pattern: Vec<TokenTree> = rest.into_iter().collect();
    if matches!(pattern.last(), Some(TokenTree::Punct(mark)) if mark.as_char() == ',') {
        pattern.pop();
    }
    let at = generated(spans::first(call));
    let tokens = quote_spanned! {at=>
        match () {
            #(#pattern)* => true,
            #[allow(unreachable_patterns)]
            _ => false,
        }
    };
    let mut expr: syn::ExprMatch = syn::parse2(tokens).ok()?;
    // The tokens of the pattern must not end it.
    if expr.arms.len() != 2 {
        return None;
    }
    expr.expr = Box::new(value);
    Some(Expr::Match(expr))
}

/// `(a, b) = value` as `{ let (x, y) = value; a = x; b = y; }`; `None` for other assignments.
fn destructuring_assignment(assign: &ExprAssign) -> Option<Expr> {
    if matches!(assign.left.as_ref(), Expr::Infer(_)) {
        return None;
    }
    let mut targets = Vec::new();
    let pattern = pattern(&assign.left, &mut targets)?;
    let value = &assign.right;
    let (names, places): (Vec<_>, Vec<_>) = targets.into_iter().unzip();
    let at = generated(spans::first(assign));
    let block: syn::ExprBlock = syn::parse2(quote_spanned! {at=>
        { let #pattern = #value; #(#places = #names;)* }
    })
    .ok()?;
    Some(Expr::Block(block))
}

/// The pattern that an assigned expression is, and what its names are assigned to. `None` for a place.
fn pattern<'a>(left: &'a Expr, targets: &mut Vec<(Ident, &'a Expr)>) -> Option<TokenStream> {
    let mut parts = |elements: &'a syn::punctuated::Punctuated<Expr, syn::Token![,]>| {
        elements.iter().map(|part| part_pattern(part, targets)).collect::<Vec<_>>()
    };
    let at = generated(spans::first(left));
    Some(match left {
        Expr::Paren(paren) => return pattern(&paren.expr, targets),
        Expr::Group(group) => return pattern(&group.expr, targets),
        Expr::Tuple(tuple) => {
            let parts = parts(&tuple.elems);
            quote_spanned!(at=> (#(#parts,)*))
        }
        Expr::Array(array) => {
            let parts = parts(&array.elems);
            quote_spanned!(at=> [#(#parts),*])
        }
        Expr::Call(call) => {
            let Expr::Path(path) = &*call.func else { return None };
            let last = path.path.segments.last()?.ident.to_string();
            if !is_of_type(path) || !is_type_name(&last) {
                return None;
            }
            let parts = parts(&call.args);
            quote_spanned!(at=> #path(#(#parts),*))
        }
        Expr::Struct(of) if of.rest.is_none() => {
            let path = &of.path;
            let fields = of.fields.iter().map(|field| {
                let (member, part) = (&field.member, part_pattern(&field.expr, targets));
                quote!(#member: #part,)
            });
            let fields: TokenStream = fields.collect();
            let rest = of.dot2_token.map(|_| quote!(..));
            quote_spanned!(at=> #path { #fields #rest })
        }
        _ => return None,
    })
}

fn part_pattern<'a>(part: &'a Expr, targets: &mut Vec<(Ident, &'a Expr)>) -> TokenStream {
    if let Expr::Infer(_) = part {
        return quote!(_);
    }
    if let Expr::Range(syn::ExprRange { start: None, end: None, .. }) = part {
        return quote!(..);
    }
    pattern(part, targets).unwrap_or_else(|| {
        let at = generated(spans::first(part));
        let name = Ident::new(&format!("__part{}", targets.len()), at);
        targets.push((name.clone(), part));
        quote!(#name)
    })
}

/// A loop over the elements of an array or vector as one over their numbers; `None` for other loops.
fn element_loop(each: &ExprForLoop) -> Option<Expr> {
    if !is_array_like(&each.expr) {
        return None;
    }
    let (label, pattern, array) = (&each.label, &each.pat, &each.expr);
    // The block of the elements runs in one thread.
    let is_serial = |attribute: &&syn::Attribute| {
        attribute.path().segments.last().is_some_and(|last| last.ident == "serial")
    };
    let attributes = each.attrs.iter().filter(|attribute| !is_serial(attribute));
    let at = generated(spans::first(array));
    let (elements, position) = (Ident::new(ELEMENTS, at), Ident::new("__position", at));
    let body = &each.body;
    // An item of the body is visible in all of it, but not in the pattern.
    let has_items = body.stmts.iter().any(|stmt| matches!(stmt, Stmt::Item(_)));
    let stmts = match has_items {
        true => quote!(#body),
        false => {
            let stmts = &body.stmts;
            quote!(#(#stmts)*)
        }
    };
    let keyword = each.for_token;
    let block: syn::ExprBlock = syn::parse2(quote_spanned! {at=> {
        let #elements = #array;
        #(#attributes)* #label #keyword #position in 0..#elements.len() {
            let #pattern = #elements[#position];
            #stmts
        }
    }})
    .ok()?;
    Some(Expr::Block(block))
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
fn nested_space(each: &mut ExprForLoop) -> Option<Vec<Stmt>> {
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
