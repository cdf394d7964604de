//! Iterations across SIMD lanes: a strip of iterations runs the body together, statement by statement.
//!
//! LLVM vectorizes innermost loops. To vectorize around an inner loop it would have to know that the iterations are
//! independent, as parallel ones are. So locals that live across an inner loop become arrays with an element per
//! iteration; the statements between inner loops become a loop over the strip; and an inner loop whose iterations are
//! the same for the whole strip is moved outside of that. If iterations leave an inner loop at different times, a mask
//! says which are still active. Each iteration computes what it would compute alone, in the same order: results are
//! equal to the last bit.
//!
//! The conditions ([`strips`]): the body has an inner loop, [clamped indices](clamps) or an [update in
//! place](in_place); there, neighbouring iterations access the same element or neighbours in memory, and all operations
//! have SIMD instructions. Other bodies stay as they are; the plain body also runs the iterations that fill no strip.
//! The code consists of the author's tokens: no types are known here.
//!
//! Two kinds of bodies need more:
//!
//! - **Sums along rows**, as in `sum += a[[i, k]] * x[k]` with a strip along `i`: iterations access rows of their own,
//!   and a sum of floats has a fixed order, so that LLVM vectorizes neither loop. Strips of a few iterations hide the
//!   latency of the additions ([`StripKind::Chains`]).
//! - **Conditions around inner loops**, as in `if j <= i { … }`: a strip runs only where the condition is
//!   uniform in it. Otherwise narrower strips are tried, and then single iterations.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{Expr, Pat, Stmt, visit_mut::VisitMut};

use super::scope::BodyScope;
use crate::{
    ast::{
        assigned, each_expr, has_loop, immutable_name, is_assignment, is_loop, jumps,
        pattern_ident, pattern_names, unparenthesized,
    },
    marks,
    reduce::{self, LoopReduction},
    rewrite::BodyRewriter,
    tokens::{idents, internal},
};

mod clamps;
mod in_place;
#[cfg(test)]
mod tests;
mod vectorizable;

use clamps::{PrecedingStmts, has_clamps};

/// Iterations of a strip if two locals live across an inner loop: enough to hide the latency of operations.
const WIDE: usize = 64;

/// Iterations of a strip if more do: wider strips would not fit in registers.
const NARROW: usize = 32;

/// Iterations of the narrowest strips, which are tried after wider ones. Such a strip takes about as long as one
/// iteration alone.
const SHORT: usize = 8;

/// Iterations of a strip of [`StripKind::Chains`]: with more rows, conflict misses of the L1 cache cost more than the
/// strips gain.
const CHAINS: usize = 4;

/// The number of iterations at each end of a row that run in the narrowest strips if conditions guard accesses there.
const MARGIN: usize = SHORT;

pub(super) struct StripCode {
    from: Ident,
    /// The widths, and the body for each, the widest first: narrower strips run what wider ones leave.
    bodies: Vec<(TokenStream, TokenStream)>,
    /// Whether the body has conditions. If one is not uniform in a strip, the strip is left before it has any effect.
    has_conditions: bool,
    /// Whether conditions guard accesses at the ends of a row.
    has_guards: bool,
    /// Whether iterations reduce, and the number of lanes of a partial result.
    reduces: Option<usize>,
}

/// Why a loop runs in strips.
#[derive(Clone, Copy, PartialEq)]
enum StripKind {
    /// To use SIMD lanes.
    Simd,
    /// To overlap independent chains of float operations, each of which waits for the one before.
    Chains,
}

/// What a name of the body means.
enum Variability {
    /// The same value in all iterations of a strip.
    Uniform,
    /// A value per iteration.
    Varying,
    /// Successive integers in successive iterations, but where they are [clamped](StripBuilder::contiguous).
    Next,
    /// A local with an array, in which each iteration has an element.
    Array(Ident),
}

/// The state while the body of a strip is emitted.
struct StripBuilder<'b, 'a> {
    scope: &'b BodyScope<'a>,
    /// The pattern of the loop's last variable.
    variable: &'b Pat,
    from: Ident,
    width: TokenStream,
    kind: StripKind,
    /// What the loop reduces into. Each iteration has the same lane as without strips.
    reductions: &'b [LoopReduction],
    arrays: usize,
    names: Vec<(Ident, Variability)>,
    before: PrecedingStmts,
    /// Whether an expression is evaluated under a condition.
    is_conditional: bool,
    /// The number of clamped indices.
    clamped: usize,
    /// The locals that inner loops may combine floats into, one after another.
    floats: Vec<Ident>,
    /// Whether an inner loop combines floats into one of these locals.
    has_chain: bool,
    /// Whether earlier statements must not be repeated, because they have an effect other than on locals or take long.
    /// Then the strip cannot be left any more.
    has_effects: bool,
    has_conditions: bool,
    has_guards: bool,
}

/// The strips of a loop, if the conditions hold. `variable` is the pattern of its last variable.
pub(super) fn strips(
    scope: &BodyScope<'_>,
    each: &syn::ExprForLoop,
    variable: &Pat,
    reductions: &[LoopReduction],
) -> Option<StripCode> {
    let has_loops = each.body.stmts.iter().any(has_loop);
    let stmts = &each.body.stmts;
    // Reductions of bodies without inner loops have strips of their own.
    let in_strips = has_loops && reductions.iter().all(LoopReduction::is_of_locals);
    if !(reductions.is_empty() || in_strips) {
        return None;
    }
    let reduces = (!reductions.is_empty()).then(|| reduce::width(reductions));
    let is_update = !has_loops && in_place::is_update(stmts);
    if each.label.is_some() || !has_loops && !is_update && !has_clamps(stmts) {
        return None;
    }
    let from = internal("strip");
    let attempt = |width: TokenStream, kind: StripKind| {
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
        let meaning = |at| if at == last { Variability::Varying } else { Variability::Uniform };
        let names = names.into_iter().enumerate();
        let names = names.filter_map(|(at, name)| Some((name?, meaning(at)))).collect();
        let mut builder = StripBuilder {
            scope,
            variable,
            from: from.clone(),
            width,
            kind,
            reductions,
            arrays: 0,
            names,
            before: PrecedingStmts::default(),
            is_conditional: false,
            clamped: 0,
            floats: Vec::new(),
            has_chain: false,
            has_effects: false,
            has_conditions: false,
            has_guards: false,
        };
        // Without inner loops, the body itself must gain from SIMD.
        let tokens = match is_update {
            true => builder.in_place(stmts)?,
            false => builder.block(stmts, !has_loops)?,
        };
        let is_useful = match kind {
            StripKind::Simd => has_loops || is_update || builder.clamped > 0,
            StripKind::Chains => builder.has_chain,
        };
        let StripBuilder { arrays, width, has_conditions, has_guards, .. } = builder;
        // Iterations must run in order, each in the lane after that of the one before.
        if reduces.is_some() && (has_conditions || has_guards) {
            return None;
        }
        let bodies = vec![(width, tokens)];
        let strips = StripCode { from: from.clone(), bodies, has_conditions, has_guards, reduces };
        is_useful.then_some((arrays, strips))
    };
    let Some((arrays, mut strips)) = attempt(quote!(#NARROW), StripKind::Simd) else {
        return attempt(quote!(#CHAINS), StripKind::Chains).map(|(_, strips)| strips);
    };
    let wide = match arrays {
        _ if !has_loops => None,
        _ if reduces.is_some_and(|lanes| lanes < WIDE) => None,
        ..=2 if reduces.is_some() => Some(quote!(#WIDE)),
        // The instruction level decides how many iterations hide the latency of operations on one local.
        ..=1 => Some(quote!(__WIDE)),
        2 => Some(quote!(#WIDE)),
        _ => None,
    };
    if let Some(width) = wide {
        strips.bodies.splice(0..0, attempt(width, StripKind::Simd)?.1.bodies);
    }
    strips.bodies.extend(attempt(quote!(#SHORT), StripKind::Simd)?.1.bodies);
    Some(strips)
}

impl StripCode {
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
        chunk: &Ident,
    ) -> TokenStream {
        let from = &self.from;
        if self.has_conditions {
            return self.around_conditions(support, (begin, end), plain, chunk);
        }
        let position = reduction_position();
        let strips = |(width, body): &(TokenStream, TokenStream), end: &Ident| {
            let advance =
                self.reduces.map(|lanes| quote!(#position = (#position + #width) % #lanes;));
            quote! {
                #[allow(unused_variables, unused_assignments)]
                for #from in #support::whole_strips::<_, #width>(&mut #begin, #end) { #body #advance }
            }
        };
        let all = match self.bodies.split_last() {
            // Where a guard does not hold for all iterations, LLVM does not vectorize.
            Some((short, others)) if self.has_guards => {
                let [first_end, wide_end] = ["first_end", "wide_end"].map(internal);
                let (first, last) = (strips(short, &first_end), strips(short, end));
                let wide = others.iter().map(|wide| strips(wide, &wide_end));
                quote! {
                    let (#first_end, #wide_end) = #support::without_ends::<_, #MARGIN>(#begin, #end);
                    #first
                    #(#wide)*
                    #last
                }
            }
            _ => self.bodies.iter().map(|body| strips(body, end)).collect(),
        };
        let first_position = self.reduces.map(|_| quote!(let mut #position = 0usize;));
        quote! {{
            let mut #begin = #begin;
            #first_position
            if #chunk.check_mode.is_unchecked() { #all }
            #plain
        }}
    }

    /// As [`around`](Self::around), for bodies with conditions: the widest strip in which they are uniform runs, or
    /// a few single iterations.
    fn around_conditions(
        &self,
        support: &TokenStream,
        (begin, end): (&Ident, &Ident),
        plain: &TokenStream,
        chunk: &Ident,
    ) -> TokenStream {
        let (from, strip) = (&self.from, strip_label());
        let strips_label = syn::Lifetime::new("'strips", proc_macro2::Span::mixed_site());
        let [next, wide_begin] = ["next", "wide_begin"].map(internal);
        let last = self.bodies.len() - 1;
        let narrowest = &self.bodies[last].0;
        let strips = self.bodies.iter().enumerate().map(|(at, (width, body))| {
            // A wide strip that was left is not tried again before its end.
            let is_wide = at < last;
            let is_tried = is_wide.then(|| quote!(#begin >= #wide_begin &&));
            let is_left = is_wide.then(|| quote!(#wide_begin = #next;));
            quote! {
                if #is_tried let ::core::option::Option::Some(#next) =
                    #support::strip_end::<_, #width>(#begin, #end)
                {
                    let #from = #begin;
                    #strip: {
                        #body
                        #begin = #next;
                        continue #strips_label;
                    }
                    #is_left
                }
            }
        });
        quote! {{
            let mut #begin = #begin;
            #[allow(unused_variables, unused_mut)]
            let mut #wide_begin = #begin;
            #[allow(unused_variables, unused_assignments)]
            #strips_label: while #chunk.check_mode.is_unchecked() && #begin < #end {
                #(#strips)*
                let #next = #support::strip_end::<_, #narrowest>(#begin, #end);
                let #next = ::core::option::Option::unwrap_or(#next, #end);
                { let #end = #next; #plain }
                #begin = #next;
            }
            #plain
        }}
    }
}

/// The variable with the lane of a reduction's next iteration.
pub(super) fn reduction_position() -> Ident {
    internal("position")
}

/// The label of a strip's block.
fn strip_label() -> syn::Lifetime {
    syn::Lifetime::new("'strip", proc_macro2::Span::mixed_site())
}

impl StripBuilder<'_, '_> {
    /// Statements of the body, or of an inner loop whose iterations are the same for the whole strip.
    fn block(&mut self, stmts: &[Stmt], in_loop: bool) -> Option<TokenStream> {
        let (known, floats) = (self.names.len(), self.floats.len());
        let mut tokens = TokenStream::new();
        let mut chunk = Vec::new();
        let divided = stmts.iter().any(has_loop);
        for stmt in stmts {
            match stmt {
                Stmt::Local(local) if divided => {
                    tokens.extend(self.chunk(&mut chunk, in_loop)?);
                    tokens.extend(self.local(local, in_loop)?);
                }
                Stmt::Expr(expr, _) if is_loop(expr) => {
                    tokens.extend(self.chunk(&mut chunk, in_loop)?);
                    tokens.extend(self.inner(expr)?);
                    self.has_effects = true;
                }
                Stmt::Expr(Expr::If(choice), _) if has_loop(stmt) && !in_loop => {
                    tokens.extend(self.chunk(&mut chunk, in_loop)?);
                    tokens.extend(self.choice(choice)?);
                }
                _ if has_loop(stmt) => return None,
                _ => chunk.push(stmt.clone()),
            }
        }
        tokens.extend(self.chunk(&mut chunk, in_loop)?);
        self.names.truncate(known);
        self.floats.truncate(floats);
        Some(tokens)
    }

    /// A local between inner loops.
    fn local(&mut self, local: &syn::Local, in_loop: bool) -> Option<TokenStream> {
        let (pattern, init) = (pattern_ident(&local.pat)?, local.init.as_ref()?);
        let stmt = Stmt::Local(local.clone());
        let name = &pattern.ident;
        // Each chunk of a strip rebinds the loop's variable, which would hide a local with its name.
        let hides_variable = pattern_names(self.variable).contains(name);
        if init.diverge.is_some() || hides_variable || self.scope.is_tensor(name) {
            return None;
        }
        if pattern.mutability.is_none() && self.is_uniform(&init.expr) {
            let value = self.rewritten(vec![stmt], Some(name));
            self.names.push((name.clone(), Variability::Uniform));
            return Some(quote!(let #name = #value;));
        }
        let alone = assigned(std::slice::from_ref(&stmt)).is_empty() && !jumps(&stmt);
        if !alone || !self.is_vectorizable(&init.expr, in_loop) {
            return None;
        }
        self.has_effects |= has_effects(std::slice::from_ref(&stmt));
        if pattern.mutability.is_some() && !in_loop && is_float_constant(&init.expr) {
            self.floats.push(name.clone());
        }
        let (lane, array) = (internal("lane"), internal(&format!("lanes{}", self.arrays)));
        self.arrays += 1;
        let (variable, loads) = (self.variable(), self.loads(std::slice::from_ref(&stmt)));
        let value = self.rewritten(vec![stmt], Some(name));
        let (support, width) = (self.scope.support, &self.width);
        self.names.push((name.clone(), Variability::Array(array.clone())));
        Some(quote! {
            let mut #array = #support::lanes::<_, #width>(
                #[inline(always)] |#lane| { #variable #loads #value }
            );
        })
    }

    /// A condition around inner loops. The strip is left if the condition is not uniform in it.
    fn choice(&mut self, choice: &syn::ExprIf) -> Option<TokenStream> {
        if !choice.attrs.is_empty() {
            return None;
        }
        let cond = &*choice.cond;
        let (is_uniform, had_effects) = (self.is_uniform(cond), self.has_effects);
        let tested = [Stmt::Expr(cond.clone(), None)];
        let is_pure = !has_effects(&tested) && assigned(&tested).is_empty();
        if !is_uniform && (had_effects || !is_pure || !self.is_vectorizable(cond, false)) {
            return None;
        }
        let then = self.block(&choice.then_branch.stmts, false)?;
        let had_effects = std::mem::replace(&mut self.has_effects, had_effects);
        let otherwise = match choice.else_branch.as_ref().map(|(_, otherwise)| &**otherwise) {
            None => TokenStream::new(),
            Some(Expr::Block(block)) if block.attrs.is_empty() && block.label.is_none() => {
                self.block(&block.block.stmts, false)?
            }
            Some(other @ Expr::If(_)) => self.block(&[Stmt::Expr(other.clone(), None)], false)?,
            Some(_) => return None,
        };
        self.has_effects |= had_effects;
        if is_uniform {
            let cond = self.rewritten_expr(cond);
            return Some(quote!(if #cond { #then } else { #otherwise }));
        }
        self.has_conditions = true;
        let (variable, loads) = (self.variable(), self.loads(&tested));
        let (cond, strip, width) = (self.rewritten_expr(cond), strip_label(), &self.width);
        let [some, all, holds, lane] = ["some", "all", "holds", "lane"].map(internal);
        Some(quote! {
            let (mut #some, mut #all) = (false, true);
            for #lane in 0..#width {
                #variable
                #loads
                let #holds: ::core::primitive::bool = #cond;
                #some |= #holds;
                #all &= #holds;
            }
            if #all { #then } else if !#some { #otherwise } else { break #strip; }
        })
    }

    fn inner(&mut self, expr: &Expr) -> Option<TokenStream> {
        let support = self.scope.support;
        let barrier = quote!(#support::optimization_barrier(););
        match expr {
            Expr::ForLoop(each)
                if each.label.is_none() && each.attrs.iter().all(marks::is_number) =>
            {
                if !self.is_uniform_range(&each.expr) {
                    return None;
                }
                let name = immutable_name(&each.pat)?;
                let known = self.names.len();
                if let Some(name) = name {
                    self.is_new(&name).then_some(())?;
                    self.names.push((name, Variability::Uniform));
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
        self.note_effects(stmts, true)?;
        // The mask needs registers too.
        self.arrays += 1;
        let [active, any, go, lane] = ["active", "any", "go", "lane"].map(internal);
        let end = syn::Lifetime::new("'round", proc_macro2::Span::mixed_site());
        let mut all = stmts.to_vec();
        let mut body = stmts.to_vec();
        let mut jumps = MaskedJumps { go: &go, label: &end };
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
    fn chunk(&mut self, stmts: &mut Vec<Stmt>, in_loop: bool) -> Option<TokenStream> {
        let stmts = std::mem::take(stmts);
        if stmts.is_empty() {
            return Some(TokenStream::new());
        }
        if !self.all_vectorizable(&stmts, in_loop) || stmts.iter().any(jumps) {
            return None;
        }
        self.note_effects(&stmts, in_loop)?;
        let (variable, loads, stores) = (self.variable(), self.loads(&stmts), self.stores(&stmts));
        let contiguous = match self.kind {
            StripKind::Simd => self.contiguous(&stmts),
            StripKind::Chains => None,
        };
        let (lane, width) = (internal("lane"), &self.width);
        let changed = assigned(&stmts);
        let body = self.rewritten(stmts, None);
        // LLVM would collect the numbers of several iterations into vectors, which takes longer than scalars.
        let scalars = (in_loop && self.kind == StripKind::Chains).then(|| {
            let support = self.scope.support;
            let floats = self.floats.iter().filter(|name| changed.contains(&name.to_string()));
            quote!(#(let #floats = #support::scalar(#floats);)*)
        });
        let iteration = |body| quote!(#variable #loads #body #scalars #stores);
        let general = iteration(body);
        let Some(contiguous) = contiguous else {
            return Some(quote!(for #lane in 0..#width { #general }));
        };
        self.has_guards |= contiguous.has_conditions();
        let successive = iteration(self.rewritten(contiguous.stmts.clone(), None));
        Some(contiguous.choose(self.scope.support, &self.width, &successive, &general))
    }

    /// Notes the effects of statements without loops. In [`StripKind::Chains`], inner loops assign locals only.
    fn note_effects(&mut self, stmts: &[Stmt], in_loop: bool) -> Option<()> {
        let only_locals = !has_effects(stmts);
        if in_loop {
            let assigned = assigned(stmts);
            self.has_chain |= self.floats.iter().any(|name| assigned.contains(&name.to_string()));
            (only_locals || self.kind == StripKind::Simd).then_some(())?;
        }
        self.has_effects |= !only_locals;
        Some(())
    }

    /// Binds the loop's variable in one iteration.
    fn variable(&self) -> TokenStream {
        let (support, from, variable) = (self.scope.support, &self.from, self.variable);
        let lane = internal("lane");
        quote!(let #variable = #support::gate::<__OK, _>(#support::lane_of(#from, #lane));)
    }

    /// Loads the locals that statements use, and finds the lanes of what they reduce into, in one iteration.
    fn loads(&self, stmts: &[Stmt]) -> TokenStream {
        let used = idents(&quote!(#(#stmts)*));
        let (lane, position) = (internal("lane"), reduction_position());
        let arrays = self.visible_arrays().filter(|(name, _)| used.contains(name));
        let loads = arrays.map(|(name, array)| quote!(let mut #name = #array[#lane];));
        let lanes = self
            .reductions
            .iter()
            .filter(|reduction| used.iter().any(|name| reduction.is_of_local(name)));
        let at = quote!(#position + #lane);
        let lanes = lanes.map(|reduction| reduction.rest_lane_at(self.scope.support, &at));
        loads.chain(lanes).collect()
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
            Variability::Array(array)
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

    fn rewritten_stmt(&self, stmt: &Stmt) -> TokenStream {
        self.rewrite().stmt(stmt.clone())
    }

    fn rewritten_expr(&self, expr: &Expr) -> TokenStream {
        self.rewrite().expr(expr.clone())
    }

    fn rewrite(&self) -> BodyRewriter<'_> {
        let mut rewrite = self.scope.rewrite(self.reductions, false);
        rewrite.bind_variables(self.variable);
        rewrite
    }

    /// Whether a name has no meaning yet.
    fn is_new(&self, name: &Ident) -> bool {
        !self.scope.is_tensor(name) && !self.names.iter().any(|(known, _)| known == name)
    }
}

/// Whether statements may do anything but compute values and assign locals. Funcs can.
fn has_effects(stmts: &[Stmt]) -> bool {
    let mut found = false;
    each_expr(stmts, |expr| {
        let target = match expr {
            Expr::Assign(assign) => Some(&assign.left),
            Expr::Binary(binary) if is_assignment(&binary.op) => Some(&binary.left),
            _ => None,
        };
        found |= target.is_some_and(|target| !matches!(unparenthesized(target), Expr::Path(_)));
        found |= matches!(expr, Expr::Call(_) | Expr::Macro(_));
        true
    });
    found
}

/// Whether an expression is a literal of a float or a constant of a float type, such as `f32::MAX`.
fn is_float_constant(expr: &Expr) -> bool {
    match unparenthesized(expr) {
        Expr::Lit(literal) => matches!(literal.lit, syn::Lit::Float(_)),
        Expr::Unary(unary) => {
            matches!(unary.op, syn::UnOp::Neg(_)) && is_float_constant(&unary.expr)
        }
        Expr::Path(path) => {
            let mut names = path.path.segments.iter().rev().skip(1);
            names.next().is_some_and(|of| of.ident == "f32" || of.ident == "f64")
        }
        _ => false,
    }
}

/// Replaces jumps: `break` clears the iteration's mask.
struct MaskedJumps<'a> {
    go: &'a Ident,
    label: &'a syn::Lifetime,
}

impl VisitMut for MaskedJumps<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        let Self { go, label } = self;
        match expr {
            Expr::Break(_) => *expr = Expr::Verbatim(quote!({ #go = 0; break #label; })),
            Expr::Continue(_) => *expr = Expr::Verbatim(quote!(break #label)),
            _ => syn::visit_mut::visit_expr_mut(self, expr),
        }
    }
}
