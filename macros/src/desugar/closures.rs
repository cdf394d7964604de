//! Closures: a local one is put in place of its calls, and `map` of a vector becomes a loop.
//!
//! A closure that is only called means the same as its body at each call, as long as the names that it captures are
//! not declared again between. Then it can also assign what it captures. Other closures stay, and get a message.

use proc_macro2::{Ident, Span};
use quadrants_frontend::FILLED;
use quote::{ToTokens, quote_spanned};
use syn::{
    Expr, ExprClosure, Pat, PatIdent, ReturnType, Stmt,
    punctuated::Punctuated,
    visit::{self, Visit},
    visit_mut::{self, VisitMut},
};

use super::{ELEMENTS, exits, generated};
use crate::{
    ast::{
        BodyBindings, Invocation, is_iterator_chain, leaves_closure, operand, pattern_ident,
        pattern_names, unparenthesized,
    },
    spans,
};

/// Replaces the calls of local closures in a list of statements.
pub(super) fn inline(stmts: &mut Vec<Stmt>) {
    let mut at = 0;
    while at < stmts.len() {
        match inlined(&stmts[at..]) {
            Some(rest) => {
                stmts.truncate(at);
                stmts.extend(rest);
            }
            None => at += 1,
        }
    }
}

/// The statements after the first one, with calls replaced, if that declares a closure which can be replaced.
fn inlined(stmts: &[Stmt]) -> Option<Vec<Stmt>> {
    let (name, closure) = local_closure(stmts.first()?)?;
    let closure = &applicable(closure)?;
    let mut rest = stmts[1..].to_vec();
    let hides = |stmt: &Stmt| matches!(stmt, Stmt::Local(local) if pattern_names(&local.pat).contains(name));
    let end = rest.iter().position(hides).map_or(rest.len(), |at| at + 1);
    let scope = &mut rest[..end];
    let captured = captured(closure);
    let mut replace = ReplaceCalls { name, closure };
    scope.iter_mut().for_each(|stmt| replace.visit_stmt_mut(stmt));
    let mut bound = BodyBindings::default();
    stmts[1..].iter().take(end).for_each(|stmt| bound.visit_stmt(stmt));
    let is_hidden = captured.iter().any(|captured| bound.0.contains(captured));
    let mut remaining = FreeNames::default();
    rest[..end].iter().for_each(|stmt| remaining.visit_stmt(stmt));
    (!is_hidden && !remaining.names.contains(name)).then_some(rest)
}

/// The name and the closure of `let name = |…| …;`.
fn local_closure(stmt: &Stmt) -> Option<(&Ident, &ExprClosure)> {
    let Stmt::Local(local) = stmt else { return None };
    let init = local.init.as_ref().filter(|init| init.diverge.is_none())?;
    let PatIdent { by_ref: None, subpat: None, ident, .. } = pattern_ident(&local.pat)? else {
        return None;
    };
    match unparenthesized(&init.expr) {
        Expr::Closure(closure) => Some((ident, closure)),
        _ => None,
    }
}

/// A closure that means its body: it moves nothing, and does not jump out of it. A `return` becomes the body's value.
fn applicable(closure: &ExprClosure) -> Option<ExprClosure> {
    let ExprClosure { attrs, lifetimes, constness, asyncness, capture, body, .. } = closure;
    let is_plain = attrs.is_empty()
        && lifetimes.is_none()
        && constness.is_none()
        && asyncness.is_none()
        && capture.is_none();
    let body = exits::without_return(body).filter(|body| is_plain && !leaves_closure(body))?;
    Some(ExprClosure { body: Box::new(body), ..closure.clone() })
}

/// The names in a closure's body that may be those of locals around it.
fn captured(closure: &ExprClosure) -> Vec<Ident> {
    let mut free = FreeNames::default();
    free.visit_expr_closure(closure);
    free.names
}

/// Collects the names that code uses and does not bind itself.
#[derive(Default)]
struct FreeNames {
    names: Vec<Ident>,
    bound: Vec<Ident>,
}

impl FreeNames {
    fn scoped(&mut self, walk: impl FnOnce(&mut Self)) {
        let outer = self.bound.len();
        walk(self);
        self.bound.truncate(outer);
    }

    fn bind(&mut self, pattern: &Pat) {
        self.visit_pat(pattern);
        self.bound.extend(pattern_names(pattern));
    }
}

impl Visit<'_> for FreeNames {
    fn visit_expr_path(&mut self, path: &syn::ExprPath) {
        if let Some(name) = path.path.get_ident()
            && !self.bound.contains(name)
        {
            self.names.push(name.clone());
        }
    }

    fn visit_block(&mut self, block: &syn::Block) {
        self.scoped(|this| visit::visit_block(this, block));
    }

    fn visit_local(&mut self, local: &syn::Local) {
        if let Some(init) = &local.init {
            self.visit_expr(&init.expr);
        }
        self.bind(&local.pat);
    }

    fn visit_expr_for_loop(&mut self, each: &syn::ExprForLoop) {
        self.visit_expr(&each.expr);
        self.scoped(|this| {
            this.bind(&each.pat);
            this.visit_block(&each.body);
        });
    }

    fn visit_expr_closure(&mut self, closure: &ExprClosure) {
        self.scoped(|this| {
            closure.inputs.iter().for_each(|pattern| this.bind(pattern));
            this.visit_expr(&closure.body);
        });
    }

    fn visit_arm(&mut self, arm: &syn::Arm) {
        self.scoped(|this| {
            this.bind(&arm.pat);
            visit::visit_arm(this, arm);
        });
    }

    fn visit_macro(&mut self, call: &syn::Macro) {
        if let Some(Ok(invocation)) = Invocation::of(call) {
            invocation.exprs().into_iter().for_each(|expr| self.visit_expr(expr));
        }
    }
}

struct ReplaceCalls<'a> {
    name: &'a Ident,
    closure: &'a ExprClosure,
}

impl VisitMut for ReplaceCalls<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        visit_mut::visit_expr_mut(self, expr);
        if let Expr::Call(call) = expr
            && matches!(unparenthesized(&call.func), Expr::Path(path) if path.path.is_ident(self.name))
            && let Some(applied) = applied(self.closure, call.args.iter(), spans::first(call))
        {
            *expr = applied;
        }
    }

    fn visit_macro_mut(&mut self, call: &mut syn::Macro) {
        Invocation::rewrite(call, |expr| self.visit_expr_mut(expr));
    }

    fn visit_item_mut(&mut self, _: &mut syn::Item) {}
}

/// A closure's body in a block that first evaluates the arguments; `None` if there are more or fewer than parameters.
fn applied<'e>(
    closure: &ExprClosure,
    args: impl ExactSizeIterator<Item = &'e Expr>,
    at: Span,
) -> Option<Expr> {
    if args.len() != closure.inputs.len() {
        return None;
    }
    let at = generated(at);
    let name = |position: usize| Ident::new(&format!("__argument{position}"), at);
    let mut stmts: Vec<Stmt> = Vec::new();
    let mut params: Vec<Stmt> = Vec::new();
    for (position, (arg, param)) in args.zip(&closure.inputs).enumerate() {
        let name = name(position);
        let (pattern, ty): (&Pat, _) = match param {
            Pat::Type(typed) => (&typed.pat, Some(&typed.ty)),
            pattern => (pattern, None),
        };
        let ty = ty.map(|ty| quote_spanned!(at=> : #ty));
        // Of one argument, the parameter is the only name.
        if closure.inputs.len() == 1 {
            params.push(syn::parse_quote_spanned!(at=> let #pattern #ty = #arg;));
        } else {
            stmts.push(syn::parse_quote_spanned!(at=> let #name = #arg;));
            params.push(syn::parse_quote_spanned!(at=> let #pattern #ty = #name;));
        }
    }
    stmts.extend(params);
    let body = (*closure.body).clone();
    let value = match &closure.output {
        ReturnType::Default => body,
        ReturnType::Type(_, ty) => {
            stmts.push(syn::parse_quote_spanned!(at=> let __result: #ty = #body;));
            syn::parse_quote_spanned!(at=> __result)
        }
    };
    // Not of tokens: a value that begins with a block would end there.
    stmts.push(Stmt::Expr(value, None));
    let block = syn::Block { brace_token: syn::token::Brace(at), stmts };
    Some(operand(Expr::Block(syn::ExprBlock { attrs: Vec::new(), label: None, block })))
}

/// `vector.map(|x| body)` as a loop over the components; `None` for other calls.
pub(super) fn map(call: &syn::ExprMethodCall) -> Option<Expr> {
    let (1, Expr::Closure(closure)) = (call.args.len(), unparenthesized(call.args.first()?)) else {
        return None;
    };
    if call.method != "map" || is_iterator_chain(call) {
        return None;
    }
    let closure = &applicable(closure)?;
    let start = spans::first(&call.method);
    let at = generated(start);
    let [vector, first, result, position] =
        [ELEMENTS, "__first", "__result", "__position"].map(|name| Ident::new(name, at));
    // rustc would warn about parentheses around the value of a `let`.
    let receiver = unparenthesized(&call.receiver);
    let of = |index: &dyn ToTokens| {
        let element: Expr = syn::parse2(quote_spanned!(at=> #vector[#index])).ok()?;
        let args: Punctuated<Expr, syn::Token![,]> = [element].into_iter().collect();
        applied(closure, args.iter(), start)
    };
    let (head, rest) = (of(&syn::LitInt::new("0", at))?, of(&position)?);
    let filled = Ident::new(FILLED, at);
    let block = syn::parse2(quote_spanned! {at=> {
        let #vector = #receiver;
        let #first = #head;
        let mut #result = #vector.#filled(#first);
        for #position in 1..#vector.len() {
            #result[#position] = #rest;
        }
        #result
    }});
    block.ok().map(operand)
}
