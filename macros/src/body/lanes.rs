//! Iterations across SIMD lanes: a strip of iterations runs the body together, statement by statement.
//!
//! LLVM vectorizes innermost loops. To vectorize around an inner loop it would have to know that the iterations are
//! independent, as parallel ones are. So locals that live across an inner loop become arrays with an element per
//! iteration; the statements between inner loops become a loop over the strip; and an inner loop whose iterations are
//! the same for the whole strip is moved outside of that. If iterations leave an inner loop at different times, a mask
//! says which are still active. Each iteration computes what it would compute alone, in the same order: results are
//! equal to the last bit.
//!
//! The conditions ([`strips`]): the body has an inner loop; in inner loops, neighbouring iterations access the same
//! element or neighbours in memory, and all operations have SIMD instructions. Other bodies stay as they are; the
//! plain body also runs the iterations that fill no strip. The code consists of the author's tokens: no types are
//! known here.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{Expr, Pat, Stmt, visit_mut::VisitMut};

use super::scope::Scope;
use crate::{
    ast::{assigned, has_loop, immutable_name, is_loop, jumps, pattern_ident, pattern_names},
    rewrite::Rewrite,
    sites,
    tokens::{idents, internal},
};

#[cfg(test)]
mod tests;
mod vectorizable;

/// Iterations of a strip if two locals live across an inner loop: enough to hide the latency of operations.
const WIDE: usize = 64;

/// Iterations of a strip if more do: wider strips would not fit in registers.
const NARROW: usize = 32;

/// Iterations of the strips after those. Such a strip takes about as long as one iteration alone.
const SHORT: usize = 8;

pub(super) struct Strips {
    from: Ident,
    /// The widths, and the body for each, the widest first: narrower strips run what wider ones leave.
    bodies: Vec<(TokenStream, TokenStream)>,
}

/// What a name of the body means.
enum Meaning {
    /// The same value in all iterations of a strip.
    Uniform,
    /// A value per iteration.
    Varying,
    /// A local with an array, in which each iteration has an element.
    Array(Ident),
}

/// The state while the body of a strip is made.
struct Lanes<'b, 'a> {
    scope: &'b Scope<'a>,
    /// The pattern of the loop's last variable.
    variable: &'b Pat,
    from: Ident,
    width: TokenStream,
    arrays: usize,
    names: Vec<(Ident, Meaning)>,
}

/// The strips of a loop, if the conditions hold. `variable` is the pattern of its last variable.
pub(super) fn strips(scope: &Scope<'_>, each: &syn::ExprForLoop, variable: &Pat) -> Option<Strips> {
    if each.label.is_some() || !each.body.stmts.iter().any(has_loop) {
        return None;
    }
    let from = internal("strip");
    let attempt = |width: TokenStream| {
        let names = match &*each.pat {
            Pat::Tuple(tuple) => {
                tuple.elems.iter().map(immutable_name).collect::<Option<Vec<_>>>()?
            }
            single => vec![immutable_name(single)?],
        };
        if names.iter().flatten().any(|name| scope.is_tensor(name)) {
            return None;
        }
        let last = names.len() - 1;
        let meaning = |at| if at == last { Meaning::Varying } else { Meaning::Uniform };
        let names = names.into_iter().enumerate();
        let names = names.filter_map(|(at, name)| Some((name?, meaning(at)))).collect();
        let mut lanes = Lanes { scope, variable, from: from.clone(), width, arrays: 0, names };
        let tokens = lanes.block(&each.body.stmts, false)?;
        Some((lanes.arrays, (lanes.width, tokens)))
    };
    let (arrays, narrow) = attempt(quote!(#NARROW))?;
    let wide = match arrays {
        // The instruction level decides how many iterations hide the latency of operations on one local.
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

    /// A loop over `begin..end`: whole strips, then `plain` for the rest.
    pub(super) fn around(
        &self,
        support: &TokenStream,
        (begin, end): (&Ident, &Ident),
        plain: &TokenStream,
        piece: &Ident,
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
            if #piece.access.is_unchecked() { #(#strips)* }
            #plain
        }}
    }
}

impl Lanes<'_, '_> {
    /// Statements of the body, or of an inner loop whose iterations are the same for the whole strip.
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
        let (pattern, init) = (pattern_ident(&local.pat)?, local.init.as_ref()?);
        let stmt = Stmt::Local(local.clone());
        let name = &pattern.ident;
        // Each piece of a strip rebinds the loop's variable, which would hide a local with its name.
        let hides_variable = pattern_names(self.variable).contains(name);
        if init.diverge.is_some() || hides_variable || self.scope.is_tensor(name) {
            return None;
        }
        if pattern.mutability.is_none() && self.is_uniform(&init.expr) {
            let value = self.rewritten(vec![stmt], Some(name));
            self.names.push((name.clone(), Meaning::Uniform));
            return Some(quote!(let #name = #value;));
        }
        let alone = assigned(std::slice::from_ref(&stmt)).is_empty() && !jumps(&stmt);
        if !alone || !self.is_vectorizable(&init.expr, in_loop) {
            return None;
        }
        let (lane, array) = (internal("lane"), internal(&format!("lanes{}", self.arrays)));
        self.arrays += 1;
        let (variable, loads) = (self.variable(), self.loads(std::slice::from_ref(&stmt)));
        let value = self.rewritten(vec![stmt], Some(name));
        let (support, width) = (self.scope.support, &self.width);
        self.names.push((name.clone(), Meaning::Array(array.clone())));
        Some(quote! {
            let mut #array = #support::lanes::<_, #width>(
                #[inline(always)] |#lane| { #variable #loads #value }
            );
        })
    }

    fn inner(&mut self, expr: &Expr) -> Option<TokenStream> {
        let support = self.scope.support;
        let barrier = quote!(#support::optimization_barrier(););
        match expr {
            Expr::ForLoop(each)
                if each.label.is_none() && each.attrs.iter().all(sites::is_number) =>
            {
                if !self.is_uniform_range(&each.expr) {
                    return None;
                }
                let name = immutable_name(&each.pat)?;
                let known = self.names.len();
                if let Some(name) = name {
                    self.is_new(&name).then_some(())?;
                    self.names.push((name, Meaning::Uniform));
                }
                let (pattern, range) = (&each.pat, self.rewritten_expr(&each.expr));
                let header = quote!(for #pattern in #support::gate::<__OK, _>(#range));
                let tokens = if each.body.stmts.iter().any(jumps) {
                    self.masked(&header, None, &each.body.stmts)?
                } else {
                    let body = self.block(&each.body.stmts, true)?;
                    quote!(#header { #barrier #body })
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

    /// An inner loop that iterations leave or continue at different times, with a mask of the active ones.
    fn masked(
        &mut self,
        header: &TokenStream,
        cond: Option<&Expr>,
        stmts: &[Stmt],
    ) -> Option<TokenStream> {
        if stmts.iter().any(has_loop) || !self.all_vectorizable(stmts, true) {
            return None;
        }
        // The mask needs registers too.
        self.arrays += 1;
        let [active, any, go, lane] = ["active", "any", "go", "lane"].map(internal);
        let end = syn::Lifetime::new("'round", proc_macro2::Span::mixed_site());
        let mut all = stmts.to_vec();
        let mut body = stmts.to_vec();
        let mut jumps = Jumps { go: &go, label: &end };
        body.iter_mut().for_each(|stmt| jumps.visit_stmt_mut(stmt));
        let body = self.rewritten(body, None);
        let body = match cond {
            Some(cond) => {
                self.is_vectorizable(cond, true).then_some(())?;
                all.push(Stmt::Expr(cond.clone(), None));
                let cond = self.rewritten_expr(cond);
                quote!(if #cond #body else { #go = 0; })
            }
            None => body,
        };
        let (variable, loads, stores) = (self.variable(), self.loads(&all), self.stores(&all));
        let (support, width) = (self.scope.support, &self.width);
        Some(quote! {{
            let mut #active = [1u32; #width];
            #header {
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

    /// Statements without loops, as a loop over the iterations of the strip.
    fn piece(&mut self, stmts: &mut Vec<Stmt>, in_loop: bool) -> Option<TokenStream> {
        let stmts = std::mem::take(stmts);
        if stmts.is_empty() {
            return Some(TokenStream::new());
        }
        if !self.all_vectorizable(&stmts, in_loop) || stmts.iter().any(jumps) {
            return None;
        }
        let (variable, loads, stores) = (self.variable(), self.loads(&stmts), self.stores(&stmts));
        let (lane, width) = (internal("lane"), &self.width);
        let body = self.rewritten(stmts, None);
        Some(quote!(for #lane in 0..#width { #variable #loads #body #stores }))
    }

    /// Binds the loop's variable in one iteration.
    fn variable(&self) -> TokenStream {
        let (support, from, variable) = (self.scope.support, &self.from, self.variable);
        let lane = internal("lane");
        quote!(let #variable = #support::gate::<__OK, _>(#support::lane_of(#from, #lane));)
    }

    /// Loads the locals that statements use, in one iteration.
    fn loads(&self, stmts: &[Stmt]) -> TokenStream {
        let used = idents(&quote!(#(#stmts)*));
        let lane = internal("lane");
        let arrays = self.visible_arrays().filter(|(name, _)| used.contains(name));
        arrays.map(|(name, array)| quote!(let mut #name = #array[#lane];)).collect()
    }

    /// Stores the locals that statements assign, in one iteration.
    fn stores(&self, stmts: &[Stmt]) -> TokenStream {
        let assigned = assigned(stmts);
        let lane = internal("lane");
        let arrays = self.visible_arrays().filter(|(name, _)| assigned.contains(&name.to_string()));
        arrays.map(|(name, array)| quote!(#array[#lane] = #name;)).collect()
    }

    /// The locals with arrays that no later name hides, and their arrays.
    fn visible_arrays(&self) -> impl Iterator<Item = (&Ident, &Ident)> {
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
        self.rewrite().block(syn::Block { brace_token: Default::default(), stmts })
    }

    fn rewritten_expr(&self, expr: &Expr) -> TokenStream {
        self.rewrite().expr(expr.clone())
    }

    fn rewrite(&self) -> Rewrite<'_> {
        let mut rewrite = self.scope.rewrite(&[], false);
        rewrite.bind_values(self.variable);
        rewrite
    }

    /// Whether a name has no meaning yet.
    fn is_new(&self, name: &Ident) -> bool {
        !self.scope.is_tensor(name) && !self.names.iter().any(|(known, _)| known == name)
    }
}

/// Replaces jumps: `break` clears the iteration's mask.
struct Jumps<'a> {
    go: &'a Ident,
    label: &'a syn::Lifetime,
}

impl VisitMut for Jumps<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        let Self { go, label } = self;
        match expr {
            Expr::Break(_) => *expr = Expr::Verbatim(quote!({ #go = 0; break #label; })),
            Expr::Continue(_) => *expr = Expr::Verbatim(quote!(break #label)),
            _ => syn::visit_mut::visit_expr_mut(self, expr),
        }
    }
}
