//! Estimates of what an iteration costs.

use std::collections::{HashMap, HashSet};

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{
    BinOp, Block, Expr, ExprBinary, ExprForLoop, ExprMethodCall, Pat, Stmt,
    visit::{self, Visit},
};

use super::scope::BodyScope;
use crate::{
    ast::{binding_counts, each_expr, immutable_name, is_loop, pattern_names, unparenthesized},
    tokens::internal,
};

/// How many iterations an inner loop is assumed to have.
const ITERATIONS: u32 = 16;

/// The largest weight of a simple body.
const SIMPLE: u32 = 96;

/// A rough cost of one iteration: its expressions, those in inner loops many times.
pub(super) fn weight(body: &Block) -> u32 {
    CostCounter::of(body, None).sum
}

/// As [`weight`], as an expression in front of the loop. The iterations of an inner loop are counted if its bounds are
/// known there for the iteration in the middle of the loop, which `iterated` gives. The second value says whether the
/// expression uses `iterated`.
pub(super) fn exact_weight(
    scope: &BodyScope<'_>,
    each: &ExprForLoop,
    iterated: Option<&TokenStream>,
) -> (TokenStream, bool) {
    let names = LoopNames(binding_counts(each));
    let outer = OuterScope { scope, names: &names, sampled: Vec::new() };
    let cost = match iterated {
        Some(iterated) => outer.cost_of(each, iterated),
        None => CostCounter::of(&each.body, Some(outer)).total(scope.support),
    };
    let tokens = if cost.has_loops { without_lints(&cost.tokens) } else { cost.tokens };
    (tokens, iterated.is_some() && cost.samples)
}

/// The cost of code so far.
struct CostCounter<'a> {
    factor: u32,
    sum: u32,
    /// The costs of inner loops whose bounds are known in front of the parallel loop.
    loops: Vec<TokenStream>,
    /// The locals that bounds may use, with their values.
    locals: Vec<(Ident, &'a Pat, &'a Expr)>,
    /// The names that bounds use.
    used: HashSet<Ident>,
    /// Whether a bound uses names that the loop binds.
    samples: bool,
    outer: Option<OuterScope<'a>>,
}

/// The cost of a loop's iteration.
struct IterationCost {
    tokens: TokenStream,
    has_loops: bool,
    /// Whether it uses names of outer iterations.
    samples: bool,
    /// The names that it uses.
    used: HashSet<Ident>,
}

/// What is known in front of a parallel loop.
#[derive(Clone)]
struct OuterScope<'a> {
    scope: &'a BodyScope<'a>,
    /// The names that the loop binds.
    names: &'a LoopNames,
    /// Those of them that are known for an iteration.
    sampled: Vec<Ident>,
}

/// The names that a loop binds, and how often.
struct LoopNames(HashMap<Ident, usize>);

impl LoopNames {
    fn is_unique(&self, name: &Ident) -> bool {
        self.0.get(name) == Some(&1)
    }
}

impl<'a> CostCounter<'a> {
    fn of(body: &'a Block, outer: Option<OuterScope<'a>>) -> Self {
        let mut counter = Self {
            factor: 1,
            sum: 1,
            loops: Vec::new(),
            locals: Vec::new(),
            used: HashSet::new(),
            samples: false,
            outer,
        };
        for stmt in &body.stmts {
            counter.visit_stmt(stmt);
            counter.note_local(stmt);
        }
        counter
    }

    fn total(self, support: &TokenStream) -> IterationCost {
        let Self { sum, loops, locals, mut used, samples, outer, .. } = self;
        let has_loops = !loops.is_empty();
        let mut tokens = match has_loops {
            true => quote!(#support::total_cost(#sum, &[#(#loops),*])),
            false => quote!(#sum),
        };
        // Others may have types without arithmetic.
        for (name, pattern, value) in locals.into_iter().rev() {
            if let Some(outer) = &outer
                && used.remove(&name)
            {
                let estimate = outer.estimate(value);
                tokens = quote!({ let #pattern = #estimate; #tokens });
                used.extend(value_names(value));
            }
        }
        IterationCost { tokens, has_loops, samples, used }
    }

    /// Notes a local whose value is known for an iteration.
    fn note_local(&mut self, stmt: &'a Stmt) {
        let (Some(outer), Stmt::Local(local)) = (&mut self.outer, stmt) else { return };
        if let (Some(Some(name)), Some(init)) = (immutable_name(&local.pat), &local.init)
            && init.diverge.is_none()
            && outer.names.is_unique(&name)
            && outer.is_known(&init.expr)
        {
            self.locals.push((name.clone(), &local.pat, &init.expr));
            outer.sampled.push(name);
        }
    }
}

impl Visit<'_> for CostCounter<'_> {
    fn visit_expr(&mut self, expr: &Expr) {
        self.sum = self.sum.saturating_add(self.factor);
        if let Expr::ForLoop(each) = expr
            && self.factor == 1
            && let Some(outer) = &self.outer
            && let Some((start, end)) = outer.bounds(&each.expr)
        {
            let support = outer.scope.support;
            let IterationCost { tokens, samples, used, .. } =
                outer.cost_of(each, &quote!(#start..#end));
            self.samples |= samples || outer.is_sampled(&each.expr);
            self.used.extend(used);
            self.used.extend(value_names(&each.expr));
            self.loops.push(quote!(#support::loop_cost(#start, #end, #tokens)));
            return;
        }
        let outer = self.factor;
        if is_loop(expr) {
            self.factor = outer.saturating_mul(ITERATIONS);
        }
        visit::visit_expr(self, expr);
        self.factor = outer;
    }
}

impl OuterScope<'_> {
    /// The cost of the iteration in the middle of a loop.
    fn cost_of(&self, each: &ExprForLoop, iterated: &TokenStream) -> IterationCost {
        let variables = pattern_names(&each.pat).into_iter();
        let mut outer = self.clone();
        outer.sampled.extend(variables.filter(|name| self.names.is_unique(name)));
        let mut cost = CostCounter::of(&each.body, Some(outer)).total(self.scope.support);
        if cost.samples {
            let (support, pattern, tokens) = (self.scope.support, &each.pat, &cost.tokens);
            cost.tokens = quote! {{
                let #pattern = #support::gate::<__OK, _>(#support::Middle::middle(#iterated));
                #tokens
            }};
        }
        cost
    }

    /// The bounds of a range if they can be evaluated in front of the parallel loop, without an error.
    fn bounds(&self, range: &Expr) -> Option<(TokenStream, TokenStream)> {
        let Expr::Range(range) = unparenthesized(range) else { return None };
        let (start, end) = (range.start.as_deref()?, range.end.as_deref()?);
        (self.is_known(start) && self.is_known(end))
            .then(|| (self.estimate(start), self.estimate(end)))
    }

    /// The value of a known expression, where overflow wraps: the iteration may never evaluate it.
    fn estimate(&self, expr: &Expr) -> TokenStream {
        let support = self.scope.support;
        match unparenthesized(expr) {
            Expr::Binary(ExprBinary { left, op, right, .. }) => {
                let method = match op {
                    BinOp::Add(_) => quote!(plus),
                    BinOp::Sub(_) => quote!(minus),
                    _ => quote!(times),
                };
                let (left, right) = (self.estimate(left), self.estimate(right));
                quote!(#support::Estimate::#method(#left, #right))
            }
            Expr::Cast(cast) => {
                let (value, ty) = (self.estimate(&cast.expr), &cast.ty);
                quote!((#value as #ty))
            }
            Expr::MethodCall(call) if !self.is_extents(call) => {
                let method = if call.method == "min" { quote!(lesser) } else { quote!(greater) };
                let receiver = self.estimate(&call.receiver);
                let args = call.args.iter().map(|arg| self.estimate(arg));
                quote!(#support::Estimate::#method(#receiver, #(#args),*))
            }
            other => self.scope.expr(other),
        }
    }

    /// Whether an expression uses names that are known for an iteration only.
    fn is_sampled(&self, expr: &Expr) -> bool {
        let used = value_names(expr);
        self.sampled.iter().any(|name| used.contains(name))
    }

    fn is_known(&self, expr: &Expr) -> bool {
        match unparenthesized(expr) {
            Expr::Lit(_) => true,
            Expr::Path(path) => {
                path.qself.is_none()
                    && path.path.get_ident().is_none_or(|name| {
                        !self.names.0.contains_key(name) || self.sampled.contains(name)
                    })
            }
            Expr::Cast(cast) => self.is_known(&cast.expr),
            Expr::Binary(ExprBinary {
                left,
                op: BinOp::Add(_) | BinOp::Sub(_) | BinOp::Mul(_),
                right,
                ..
            }) => self.is_known(left) && self.is_known(right),
            Expr::MethodCall(call) => {
                self.is_extents(call)
                    || (call.method == "min" || call.method == "max")
                        && call.turbofish.is_none()
                        && call.args.len() == 1
                        && self.is_known(&call.receiver)
                        && call.args.iter().all(|arg| self.is_known(arg))
            }
            Expr::Index(index) => {
                matches!(unparenthesized(&index.expr), Expr::MethodCall(call) if self.is_extents(call))
                    && matches!(unparenthesized(&index.index), Expr::Lit(_))
            }
            _ => false,
        }
    }

    fn is_extents(&self, call: &ExprMethodCall) -> bool {
        (call.method == "len" || call.method == "shape")
            && matches!(
                unparenthesized(&call.receiver),
                Expr::Path(path) if path.path.get_ident().is_some_and(|name| {
                    self.scope.is_tensor(name) && !self.names.0.contains_key(name)
                })
            )
    }
}

/// A cost without warnings about its code. Without the uses in the body, literals may have other types.
fn without_lints(cost: &TokenStream) -> TokenStream {
    let value = internal("cost");
    quote! {{
        #[allow(overflowing_literals, unused_mut, unused_variables)]
        let #value = #cost;
        #value
    }}
}

/// The names of the values that an expression uses.
fn value_names(expr: &Expr) -> HashSet<Ident> {
    struct ValueNames(HashSet<Ident>);
    impl Visit<'_> for ValueNames {
        fn visit_expr_path(&mut self, path: &syn::ExprPath) {
            self.0.extend(path.path.get_ident().cloned());
        }
    }
    let mut names = ValueNames(HashSet::new());
    names.visit_expr(expr);
    names.0
}

/// Whether memory access dominates the cost of a body: it has neither loops nor calls, except for methods that are an
/// instruction or two.
pub(super) fn is_simple(body: &Block) -> bool {
    const CHEAP: [&str; 6] = ["abs", "len", "max", "min", "mul_add", "shape"];
    let mut simple = weight(body) <= SIMPLE;
    each_expr(&body.stmts, |expr| {
        simple &= match expr {
            Expr::MethodCall(call) => CHEAP.iter().any(|name| call.method == name),
            Expr::Call(_) => false,
            other => !is_loop(other),
        };
        simple
    });
    simple
}
