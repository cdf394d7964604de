//! Iterations across SIMD lanes: a strip of them goes through the body together, statement by statement.
//!
//! rustc's backend vectorizes a loop that holds no other; around an inner loop it would have to know that the
//! iterations are independent, which we do. So locals that live across an inner loop become arrays with an element
//! per iteration, what stands between inner loops becomes a loop over the strip, and inner loops whose rounds all
//! iterations share go around it. Where iterations leave an inner loop at different times, a mask says who is still in
//! it. Each iteration computes what it would compute alone, in the same order: results are the same to the last bit.
//!
//! The rule, [`strip`]: the body has an inner loop; within inner loops, the elements that neighbouring iterations
//! touch are the same or neighbours in memory, and all operations are such as processors have for whole vectors.
//! Everything else keeps the plain body, which also runs the few iterations that fill no strip. Pieces consist of the
//! author's own tokens: nothing is known of types here.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{Expr, Pat, Stmt, visit::Visit, visit_mut::VisitMut};

use super::{Body, Rewritable, internal, unparenthesized};
use crate::{sites, tree};

#[cfg(test)]
mod tests;
mod vectorizable;

use vectorizable::jumps;

/// Iterations of a strip where two locals live across an inner loop: enough to hide what an operation takes.
const WIDE: usize = 64;

/// Iterations of a strip where more do: wider ones would not find room in registers.
const NARROW: usize = 32;

/// Iterations of the strips behind those: an iteration alone takes about as long as one of them.
const SHORT: usize = 8;

/// Strips of a loop's iterations.
pub(super) struct Strips {
    from: Ident,
    /// Widths and the body in strips of each, the widest first: narrower ones take what wider ones leave.
    bodies: Vec<(TokenStream, TokenStream)>,
}

/// What a name of the body stands for.
enum Meaning {
    /// The same in all iterations.
    Shared,
    /// Not the same.
    Varying,
    /// A local that has an array, and its element there.
    Array(Ident),
}

struct Lanes<'b, 'a> {
    body: &'b Body<'a>,
    variable: &'b Pat,
    from: Ident,
    width: TokenStream,
    arrays: usize,
    names: Vec<(Ident, Meaning)>,
}

/// The strips of a loop, where the rule allows them. `variable` is its last one.
pub(super) fn strips(body: &Body<'_>, each: &syn::ExprForLoop, variable: &Pat) -> Option<Strips> {
    if each.label.is_some() || !each.body.stmts.iter().any(has_loop) {
        return None;
    }
    let from = internal("strip");
    let attempt = |width: TokenStream| {
        let names = match &*each.pat {
            Pat::Tuple(tuple) => tuple.elems.iter().map(name_of).collect::<Option<Vec<_>>>()?,
            single => vec![name_of(single)?],
        };
        if names.iter().flatten().any(|name| body.is_tensor(name)) {
            return None;
        }
        let last = names.len() - 1;
        let meaning = |at| if at == last { Meaning::Varying } else { Meaning::Shared };
        let names = names.into_iter().enumerate();
        let names = names.filter_map(|(at, name)| Some((name?, meaning(at)))).collect();
        let mut lanes = Lanes { body, variable, from: from.clone(), width, arrays: 0, names };
        let tokens = lanes.block(&each.body.stmts, false)?;
        Some((lanes.arrays, (lanes.width, tokens)))
    };
    let (arrays, narrow) = attempt(quote!(#NARROW))?;
    let wide = match arrays {
        // How many hide what an operation on one number each takes, the level of instructions says.
        ..=1 => Some(attempt(quote!(__WIDE))?.1),
        2 => Some(attempt(quote!(#WIDE))?.1),
        _ => None,
    };
    let (_, short) = attempt(quote!(#SHORT))?;
    Some(Strips { from, bodies: wide.into_iter().chain([narrow, short]).collect() })
}

impl Strips {
    /// How many iterations the widest strip has.
    pub(super) fn width(&self) -> &TokenStream {
        &self.bodies[0].0
    }

    /// A loop over `begin..end`: whole strips, and behind them what `plain` makes of the rest.
    pub(super) fn around(
        &self,
        support: &TokenStream,
        (begin, end): (&Ident, &Ident),
        plain: &TokenStream,
    ) -> TokenStream {
        let from = &self.from;
        let strips = self.bodies.iter().map(|(width, body)| {
            quote! {
                #[allow(unused_variables, unused_assignments)]
                for #from in #support::whole_strips::<_, #width>(&mut #begin, #end) { #body }
            }
        });
        quote! {{
            let mut #begin = #begin;
            if !__CHECKED { #(#strips)* }
            #plain
        }}
    }
}

impl Lanes<'_, '_> {
    /// Statements of the body or of a loop in it that all iterations share.
    fn block(&mut self, stmts: &[Stmt], in_loop: bool) -> Option<TokenStream> {
        let known = self.names.len();
        let mut tokens = TokenStream::new();
        let mut piece = Vec::new();
        let divided = stmts.iter().any(has_loop);
        for stmt in stmts {
            match stmt {
                Stmt::Local(local) if divided => {
                    tokens.extend(self.piece(&mut piece, in_loop)?);
                    tokens.extend(self.local(local, in_loop)?);
                }
                Stmt::Expr(expr, _) if is_loop(expr) => {
                    tokens.extend(self.piece(&mut piece, in_loop)?);
                    tokens.extend(self.inner(expr)?);
                }
                _ if has_loop(stmt) => return None,
                _ => piece.push(stmt.clone()),
            }
        }
        tokens.extend(self.piece(&mut piece, in_loop)?);
        self.names.truncate(known);
        Some(tokens)
    }

    /// A local between inner loops.
    fn local(&mut self, local: &syn::Local, in_loop: bool) -> Option<TokenStream> {
        let (pattern, init) = (vectorizable::ident(&local.pat)?, local.init.as_ref()?);
        let stmt = Stmt::Local(local.clone());
        let name = &pattern.ident;
        // Each piece of a strip binds the loop's variable anew, which would hide a local of its name.
        let hides_variable = super::names(self.variable).contains(name);
        if init.diverge.is_some() || hides_variable || self.body.is_tensor(name) {
            return None;
        }
        if pattern.mutability.is_none() && self.is_shared(&init.expr) {
            let value = self.rewritten(vec![stmt], Some(name));
            self.names.push((name.clone(), Meaning::Shared));
            return Some(quote!(let #name = #value;));
        }
        let alone = vectorizable::assigned(std::slice::from_ref(&stmt)).is_empty() && !jumps(&stmt);
        if !alone || !self.fits(&init.expr, in_loop) {
            return None;
        }
        let (lane, array) = (internal("lane"), internal(&format!("lanes{}", self.arrays)));
        self.arrays += 1;
        let (variable, loads) = (self.variable(), self.loads(std::slice::from_ref(&stmt)));
        let value = self.rewritten(vec![stmt], Some(name));
        let (support, width) = (self.body.support, &self.width);
        self.names.push((name.clone(), Meaning::Array(array.clone())));
        Some(quote! {
            let mut #array = #support::lanes::<_, #width>(
                #[inline(always)] |#lane| { #variable #loads #value }
            );
        })
    }

    /// A loop in the body.
    fn inner(&mut self, expr: &Expr) -> Option<TokenStream> {
        let support = self.body.support;
        let apart = quote!(#support::optimization_barrier(););
        match expr {
            Expr::ForLoop(each)
                if each.label.is_none() && each.attrs.iter().all(sites::is_number) =>
            {
                if !self.is_shared_range(&each.expr) {
                    return None;
                }
                let name = name_of(&each.pat)?;
                let known = self.names.len();
                if let Some(name) = name {
                    self.is_new(&name).then_some(())?;
                    self.names.push((name, Meaning::Shared));
                }
                let (pattern, range) = (&each.pat, self.rewritten_expr(&each.expr));
                let rounds = quote!(for #pattern in #support::gate::<__OK, _>(#range));
                let tokens = if each.body.stmts.iter().any(jumps) {
                    self.masked(&rounds, None, &each.body.stmts)?
                } else {
                    let body = self.block(&each.body.stmts, true)?;
                    quote!(#rounds { #apart #body })
                };
                self.names.truncate(known);
                Some(tokens)
            }
            Expr::While(each) if each.label.is_none() && each.attrs.is_empty() => {
                self.masked(&quote!(loop), Some(&each.cond), &each.body.stmts)
            }
            Expr::Loop(each) if each.label.is_none() && each.attrs.is_empty() => {
                self.masked(&quote!(loop), None, &each.body.stmts)
            }
            _ => None,
        }
    }

    /// A loop that iterations leave at different times, or whose rounds they end early.
    fn masked(
        &mut self,
        rounds: &TokenStream,
        cond: Option<&Expr>,
        stmts: &[Stmt],
    ) -> Option<TokenStream> {
        if stmts.iter().any(has_loop) || !self.all_fit(stmts, true) {
            return None;
        }
        // The mask needs room too.
        self.arrays += 1;
        let [active, any, go, lane] = ["active", "any", "go", "lane"].map(internal);
        let end = syn::Lifetime::new("'round", proc_macro2::Span::mixed_site());
        let mut all = stmts.to_vec();
        let mut body = stmts.to_vec();
        let mut ends = Ends { go: &go, label: &end };
        body.iter_mut().for_each(|stmt| ends.visit_stmt_mut(stmt));
        let body = self.rewritten(body, None);
        let body = match cond {
            Some(cond) => {
                self.fits(cond, true).then_some(())?;
                all.push(Stmt::Expr(cond.clone(), None));
                let cond = self.rewritten_expr(cond);
                quote!(if #cond #body else { #go = 0; })
            }
            None => body,
        };
        let (variable, loads, stores) = (self.variable(), self.loads(&all), self.stores(&all));
        let (support, width) = (self.body.support, &self.width);
        Some(quote! {{
            let mut #active = [1u32; #width];
            #rounds {
                #support::optimization_barrier();
                let mut #any = 0u32;
                for #lane in 0..#width {
                    #variable
                    #loads
                    let mut #go = #active[#lane];
                    if #go != 0 {
                        #end: { #body }
                    }
                    #any |= #go;
                    #active[#lane] = #go;
                    #stores
                }
                if #any == 0 { break; }
            }
        }})
    }

    /// Statements without loops, which each iteration of the strip goes through by itself.
    fn piece(&mut self, stmts: &mut Vec<Stmt>, in_loop: bool) -> Option<TokenStream> {
        let stmts = std::mem::take(stmts);
        if stmts.is_empty() {
            return Some(TokenStream::new());
        }
        if !self.all_fit(&stmts, in_loop) || stmts.iter().any(jumps) {
            return None;
        }
        let (variable, loads, stores) = (self.variable(), self.loads(&stmts), self.stores(&stmts));
        let (lane, width) = (internal("lane"), &self.width);
        let body = self.rewritten(stmts, None);
        Some(quote!(for #lane in 0..#width { #variable #loads #body #stores }))
    }

    /// The loop's variable, of one iteration.
    fn variable(&self) -> TokenStream {
        let (support, from, variable) = (self.body.support, &self.from, self.variable);
        let lane = internal("lane");
        quote!(let #variable = #support::gate::<__OK, _>(#support::lane_of(#from, #lane));)
    }

    /// The locals that statements say, of one iteration.
    fn loads(&self, stmts: &[Stmt]) -> TokenStream {
        let said = vectorizable::said(stmts);
        let lane = internal("lane");
        let known = self.arrays_known();
        let known = known.filter(|(name, _)| said.contains(&name.to_string()));
        known.map(|(name, array)| quote!(let mut #name = #array[#lane];)).collect()
    }

    /// Puts back what statements assign.
    fn stores(&self, stmts: &[Stmt]) -> TokenStream {
        let assigned = vectorizable::assigned(stmts);
        let lane = internal("lane");
        let known = self.arrays_known();
        let known = known.filter(|(name, _)| assigned.contains(&name.to_string()));
        known.map(|(name, array)| quote!(#array[#lane] = #name;)).collect()
    }

    /// The arrays that names mean here.
    fn arrays_known(&self) -> impl Iterator<Item = (&Ident, &Ident)> {
        self.names.iter().enumerate().filter_map(|(at, (name, meaning))| match meaning {
            Meaning::Array(array)
                if !self.names[at + 1..].iter().any(|(later, _)| later == name) =>
            {
                Some((name, array))
            }
            _ => None,
        })
    }

    /// Statements as a block, whose value is `value`.
    fn rewritten(&self, mut stmts: Vec<Stmt>, value: Option<&Ident>) -> TokenStream {
        if let Some(last) = stmts.last_mut()
            && let Stmt::Expr(_, semicolon @ None) = last
        {
            *semicolon = Some(Default::default());
        }
        stmts.extend(value.map(|value| Stmt::Expr(syn::parse_quote!(#value), None)));
        let mut rewrite = self.body.rewrite(&[], false);
        rewrite.hide(self.variable);
        syn::Block { brace_token: Default::default(), stmts }.rewritten(&mut rewrite)
    }

    fn rewritten_expr(&self, expr: &Expr) -> TokenStream {
        let mut rewrite = self.body.rewrite(&[], false);
        rewrite.hide(self.variable);
        expr.clone().rewritten(&mut rewrite)
    }

    /// Whether a name has no other meaning here.
    fn is_new(&self, name: &Ident) -> bool {
        !self.body.is_tensor(name) && !self.names.iter().any(|(known, _)| known == name)
    }
}

/// Ends an iteration's round, or its loop.
struct Ends<'a> {
    go: &'a Ident,
    label: &'a syn::Lifetime,
}

impl VisitMut for Ends<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        let Self { go, label } = self;
        match expr {
            Expr::Break(_) => *expr = Expr::Verbatim(quote!({ #go = 0; break #label; })),
            Expr::Continue(_) => *expr = Expr::Verbatim(quote!(break #label)),
            _ => syn::visit_mut::visit_expr_mut(self, expr),
        }
    }
}

/// The name that a loop's variable has, where it has one.
fn name_of(pattern: &Pat) -> Option<Option<Ident>> {
    match pattern {
        Pat::Wild(_) => Some(None),
        _ => {
            let pattern = vectorizable::ident(pattern)?;
            pattern.mutability.is_none().then(|| Some(pattern.ident.clone()))
        }
    }
}

fn is_loop(expr: &Expr) -> bool {
    matches!(expr, Expr::ForLoop(_) | Expr::While(_) | Expr::Loop(_))
}

pub(super) fn has_loop(stmt: &Stmt) -> bool {
    struct Loops(bool);
    impl Visit<'_> for Loops {
        fn visit_expr(&mut self, expr: &Expr) {
            self.0 |= is_loop(expr);
            syn::visit::visit_expr(self, expr);
        }
    }
    let mut loops = Loops(false);
    loops.visit_stmt(stmt);
    loops.0
}
