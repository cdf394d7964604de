//! Syntax that is rewritten to simpler syntax before the tree and the CPU body are made, so that both read the simpler
//! form: `matches!`, `assert_eq!`, `debug_assert!`, destructuring assignments, calls of local closures, loops over the
//! elements of an array or vector, and parallel loops over more than three dimensions.
//!
//! The rewritten code means what rustc says about the user's: `matches!` is the `match` of std's macro, and a
//! destructuring assignment is the `let` and the assignments that rustc itself makes of it.

mod closures;
mod collectives;
mod exits;
mod loops;
mod params;

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{quote, quote_spanned};
use syn::{
    Expr, ExprAssign, Stmt,
    visit_mut::{self, VisitMut},
};

use crate::{
    ast::{
        AssertCall, AssertCheck, Invocation, alternatives, collective_of, has_parallel_branch,
        is_block_for, is_constant_pattern, is_invocation, is_of_type, is_serial, is_simple_place,
        is_stream_parallel, is_type_name, operand, pattern_names, phase_of, unparenthesized,
    },
    combine, spans,
};

pub(crate) use loops::ELEMENTS;
pub(crate) use params::bind_patterns;

/// Rewrites the body of a kernel; `writable` are its `&mut` parameters.
pub(crate) fn kernel_body(writable: &[Ident], body: &mut syn::Block) {
    MacroDesugar.visit_block_mut(body);
    Desugar.top_stmts(&mut body.stmts);
    combine_into_locals(&mut body.stmts, Vec::new(), writable, &mut 0);
}

/// Rewrites the body of a func.
pub(crate) fn func_body(body: &mut syn::Block) {
    MacroDesugar.visit_block_mut(body);
    Desugar.visit_block_mut(body);
}

struct Desugar;

impl Desugar {
    /// Statements at the top level of a kernel or `stream_parallel` block, where a loop is parallel unless `#[serial]`.
    fn top_stmts(&mut self, stmts: &mut Vec<Stmt>) {
        simpler_stmts(stmts);
        let mut all = Vec::with_capacity(stmts.len());
        for mut stmt in std::mem::take(stmts) {
            if let Stmt::Expr(Expr::ForLoop(each), _) = &mut stmt
                && !is_serial(each)
                && let Some(lets) = loops::nested_space(each)
            {
                all.extend(lets);
            }
            self.top_stmt(&mut stmt);
            all.push(stmt);
        }
        *stmts = all;
    }

    /// Branches or braces at the top level that have parallel loops.
    fn top_branches(&mut self, expr: &mut Expr) {
        let plain = unparenthesized(expr).clone();
        *expr = match &plain {
            Expr::If(branch) => if_let(branch).unwrap_or(plain),
            _ => plain,
        };
        match expr {
            Expr::If(branch) => {
                self.visit_expr_mut(&mut branch.cond);
                self.top_stmts(&mut branch.then_branch.stmts);
                if let Some((_, other)) = &mut branch.else_branch {
                    let mut block = block_of(other);
                    self.top_stmts(&mut block.stmts);
                    **other = syn::parse_quote!(#block);
                }
            }
            Expr::Match(each) => {
                self.visit_expr_mut(&mut each.expr);
                each.arms = each.arms.drain(..).flat_map(with_one_pattern).collect();
                for arm in &mut each.arms {
                    self.visit_pat_mut(&mut arm.pat);
                    let mut block = block_of(&arm.body);
                    self.top_stmts(&mut block.stmts);
                    *arm.body = syn::parse_quote!(#block);
                }
            }
            Expr::Block(syn::ExprBlock { block, .. })
            | Expr::Unsafe(syn::ExprUnsafe { block, .. }) => self.top_stmts(&mut block.stmts),
            other => self.visit_expr_mut(other),
        }
    }

    fn top_stmt(&mut self, stmt: &mut Stmt) {
        match stmt {
            Stmt::Expr(expr, _) if has_parallel_branch(expr) => self.top_branches(expr),
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

/// Rewrites what concerns several statements of a list.
fn simpler_stmts(stmts: &mut Vec<Stmt>) {
    closures::inline(stmts);
    collectives::bind(stmts);
    params::bind_parts(stmts);
}

/// A block without a label, or an expression in a block of its own.
fn block_of(expr: &Expr) -> syn::Block {
    match unparenthesized(expr) {
        Expr::Block(syn::ExprBlock { attrs, label: None, block }) if attrs.is_empty() => {
            block.clone()
        }
        other => syn::parse_quote!({ #other }),
    }
}

/// An arm per alternative, where the condition or the names of an arm depend on the alternative: an arm with parallel
/// loops has its loops once for each condition.
fn with_one_pattern(arm: syn::Arm) -> Vec<syn::Arm> {
    let (pattern, has_guard) = match &arm.pat {
        syn::Pat::Guard(guarded) => (&*guarded.pat, true),
        pattern => (pattern, false),
    };
    if !has_guard && pattern_names(pattern).iter().all(is_constant_pattern) {
        return vec![arm];
    }
    let with = |pattern: syn::Pat| {
        let mut one = arm.clone();
        match &mut one.pat {
            syn::Pat::Guard(guarded) => *guarded.pat = pattern,
            whole => *whole = pattern,
        }
        one
    };
    alternatives(pattern).into_iter().map(with).collect()
}

/// Marks what parallel loops combine into the locals of their statement list, or into those around it.
fn combine_into_locals(
    stmts: &mut Vec<Stmt>,
    mut locals: Vec<Ident>,
    writable: &[Ident],
    loops: &mut usize,
) {
    let mut all = Vec::with_capacity(stmts.len());
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
                        combine_into_locals(&mut block.block.stmts, Vec::new(), writable, loops);
                    }
                }
            }
            Stmt::Expr(expr, _) if has_parallel_branch(expr) => {
                combine_in_branches(expr, &locals, writable, loops);
            }
            _ => {}
        }
        all.push(stmt);
        all.extend(after);
    }
    *stmts = all;
}

fn combine_in_branches(expr: &mut Expr, locals: &[Ident], writable: &[Ident], loops: &mut usize) {
    let mut in_block = |block: &mut syn::Block, bound: Vec<Ident>| {
        let mut locals = locals.to_vec();
        locals.retain(|name| !bound.contains(name));
        combine_into_locals(&mut block.stmts, locals, writable, loops);
    };
    match expr {
        Expr::If(branch) => {
            in_block(&mut branch.then_branch, Vec::new());
            if let Some((_, other)) = &mut branch.else_branch
                && let Expr::Block(other) = &mut **other
            {
                in_block(&mut other.block, Vec::new());
            }
        }
        Expr::Match(each) => {
            for arm in &mut each.arms {
                if let Expr::Block(body) = &mut *arm.body {
                    in_block(&mut body.block, pattern_names(&arm.pat));
                }
            }
        }
        Expr::Block(syn::ExprBlock { block, .. }) | Expr::Unsafe(syn::ExprUnsafe { block, .. }) => {
            in_block(block, Vec::new())
        }
        _ => {}
    }
}

/// Rewrites macros. Before everything else, so that what looks for names and calls sees those in their arguments.
struct MacroDesugar;

impl VisitMut for MacroDesugar {
    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        block.stmts.retain(|stmt| !matches!(stmt, Stmt::Expr(value, _) if is_unit(value)));
        visit_mut::visit_block_mut(self, block);
    }

    fn visit_stmt_mut(&mut self, stmt: &mut Stmt) {
        if let Stmt::Macro(call) = stmt
            && let Some(value) = simpler_macro(&call.mac)
        {
            *stmt = Stmt::Expr(value, call.semi_token);
        }
        visit_mut::visit_stmt_mut(self, stmt);
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        if let Expr::Macro(call) = expr
            && let Some(simpler) = simpler_macro(&call.mac)
        {
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

impl VisitMut for Desugar {
    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        simpler_stmts(&mut block.stmts);
        visit_mut::visit_block_mut(self, block);
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        let simpler = match expr {
            Expr::Assign(assign) => destructuring_assignment(assign),
            Expr::ForLoop(each) => loops::over_elements(each),
            Expr::MethodCall(call) => {
                end_early(call);
                closures::map(call).or_else(|| contains(call))
            }
            Expr::Call(call) if is_block_for(call) => {
                without_return(call.args.last_mut());
                None
            }
            Expr::Block(block) => exits::without_label(block),
            Expr::If(branch) => if_let(branch),
            Expr::While(each) => while_let(each),
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

    fn visit_item_mut(&mut self, _: &mut syn::Item) {}

    fn visit_type_mut(&mut self, _: &mut syn::Type) {}
}

/// Replaces `return` in the closure of a phase, which ends the phase of one thread.
fn end_early(call: &mut syn::ExprMethodCall) {
    if phase_of(call).is_some() || collective_of(call).is_some() {
        without_return(call.args.first_mut());
    }
}

fn without_return(closure: Option<&mut Expr>) {
    if let Some(Expr::Closure(closure)) = closure
        && let Some(body) = exits::without_return(&closure.body)
    {
        *closure.body = body;
    }
}

/// `(a..b).contains(&x)` as two comparisons; `None` for other calls.
fn contains(call: &syn::ExprMethodCall) -> Option<Expr> {
    let (1, Expr::Range(range)) = (call.args.len(), unparenthesized(&call.receiver)) else {
        return None;
    };
    let Expr::Reference(syn::ExprReference { mutability: None, expr: value, .. }) =
        unparenthesized(&call.args[0])
    else {
        return None;
    };
    if call.method != "contains" {
        return None;
    }
    let at = generated(spans::first(&call.method));
    let mut lets: Vec<Stmt> = Vec::new();
    // Operands that may have effects are evaluated once, in the order of the call.
    let mut named = |name: &str, operand: &Expr| -> Expr {
        let operand = unparenthesized(operand);
        if is_simple_place(operand) || matches!(operand, Expr::Lit(_)) {
            return operand.clone();
        }
        let name = Ident::new(name, at);
        lets.push(syn::parse_quote_spanned!(at=> let #name = #operand;));
        syn::parse_quote!(#name)
    };
    let begin = range.start.as_deref().map(|begin| named("__begin", begin));
    let end = range.end.as_deref().map(|end| named("__end", end));
    let value = named("__value", value);
    let from: Option<Expr> = begin.map(|begin| syn::parse_quote_spanned!(at=> #begin <= #value));
    let to: Option<Expr> = end.map(|end| match range.limits {
        syn::RangeLimits::HalfOpen(_) => syn::parse_quote_spanned!(at=> #value < #end),
        syn::RangeLimits::Closed(_) => syn::parse_quote_spanned!(at=> #value <= #end),
    });
    let both: Expr = match (from, to) {
        (Some(from), Some(to)) => syn::parse_quote_spanned!(at=> #from && #to),
        (from, to) => from.or(to)?,
    };
    Some(operand(match lets.is_empty() {
        true => syn::parse_quote_spanned!(at=> (#both)),
        false => syn::parse_quote_spanned!(at=> { #(#lets)* #both }),
    }))
}

/// A span for code that stands for the user's at a location. Lints do not apply to it.
fn generated(at: Span) -> Span {
    Span::mixed_site().located_at(at)
}

/// The names of the operands of `assert_eq!` and `assert_ne!`. They are reserved.
const OPERANDS: [&str; 2] = ["__left", "__right"];

fn is_unit(expr: &Expr) -> bool {
    matches!(unparenthesized(expr), Expr::Tuple(tuple) if tuple.elems.is_empty())
}

/// Puts the call of a macro without a value, such as `println!`, into a block. `()` becomes an empty one.
fn make_statement(body: &mut Expr) {
    if is_unit(body) {
        *body = syn::parse_quote!({});
    }
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
        // std's, even if the user's crate has a macro with this name.
        "cfg" => syn::parse2(quote_spanned!(at=> ::core::cfg!(#tokens))).ok(),
        // Evaluated in the user's crate, as by std's macros.
        "debug_assert" | "debug_assert_eq" | "debug_assert_ne" => {
            // On the CPU, the location of an error is that of the user's token.
            let assert = Ident::new(name.strip_prefix("debug_")?, spans::first(call));
            let tokens = quote_spanned! {at=>
                if ::core::cfg!(debug_assertions) { #assert!(#tokens); }
            };
            syn::parse2(tokens).ok()
        }
        "assert_eq" | "assert_ne" => named_operands(call),
        "panic" | "unreachable" | "todo" | "unimplemented" => failure(call, &name),
        _ => None,
    }
}

/// A macro that always fails, as a failed assertion with the text of std, after which nothing runs.
fn failure(call: &syn::Macro, name: &str) -> Option<Expr> {
    let (alone, before) = match name {
        "unreachable" => ("internal error: entered unreachable code", true),
        "todo" => ("not yet implemented", true),
        "unimplemented" => ("not implemented", true),
        _ => ("explicit panic", false),
    };
    let parse = |input: syn::parse::ParseStream<'_>| {
        if input.is_empty() {
            let text = syn::LitStr::new(alone, spans::first(call));
            return Ok(quote!(#text));
        }
        let (text, arguments) = (input.parse::<syn::LitStr>()?, input.parse::<TokenStream>()?);
        let whole = match before {
            true => format!("{alone}: {}", text.value()),
            false => text.value(),
        };
        let text = syn::LitStr::new(&whole, text.span());
        Ok(quote!(#text #arguments))
    };
    // Without a literal text, the assertion is refused.
    let text = call.parse_body_with(parse).unwrap_or_else(|_| call.tokens.clone());
    let at = generated(spans::first(call));
    // The location of an error is that of the user's token.
    let assert = Ident::new("assert", spans::first(call));
    let tokens = quote_spanned! {at=> {
        #assert!(false, #text);
        ::core::unreachable!()
    }};
    syn::parse2(tokens).ok()
}

/// `assert_eq!(a, b)` as `{ let x = a; let y = b; assert_eq!(x, y); }`, so that the operands are evaluated once.
/// `None` if they are names already, and for wrong arguments.
fn named_operands(call: &syn::Macro) -> Option<Expr> {
    let Invocation::Assert(AssertCall { checks, message }) = Invocation::of(call)?.ok()? else {
        return None;
    };
    let AssertCheck::Comparison { equal, operands: [left, right] } = checks else { return None };
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
    let checks = AssertCheck::Comparison { equal, operands };
    let tokens = Invocation::Assert(AssertCall { checks, message }).tokens();
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
pub(crate) fn matches_macro(call: &syn::Macro) -> Option<Expr> {
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

/// `if let pattern = value { … } else { … }` as a `match`; `None` for other conditions.
fn if_let(branch: &syn::ExprIf) -> Option<Expr> {
    let Expr::Let(condition) = unparenthesized(&branch.cond) else { return None };
    let otherwise: Expr = match &branch.else_branch {
        Some((_, otherwise)) => (**otherwise).clone(),
        None => syn::parse_quote!({}),
    };
    let then = &branch.then_branch;
    Some(two_arms(condition, &syn::parse_quote!(#then), &otherwise))
}

/// `while let pattern = value { … }` as a `loop`; `None` for other conditions.
fn while_let(each: &syn::ExprWhile) -> Option<Expr> {
    let Expr::Let(condition) = unparenthesized(&each.cond) else { return None };
    let (label, body) = (&each.label, &each.body);
    let at = generated(spans::first(each));
    let arms = two_arms(condition, &syn::parse_quote!(#body), &syn::parse_quote!({ break }));
    Some(syn::parse_quote_spanned!(at=> #label loop { #arms }))
}

fn two_arms(condition: &syn::ExprLet, then: &Expr, otherwise: &Expr) -> Expr {
    let at = generated(spans::first(&condition.let_token));
    let (pattern, value) = (&condition.pat, &condition.expr);
    syn::parse_quote_spanned! {at=>
        match #value {
            #[allow(unused_braces)]
            #pattern => #then,
            #[allow(unreachable_patterns, unused_braces)]
            _ => #otherwise,
        }
    }
}
