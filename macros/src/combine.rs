//! Parallel loops that combine values into locals of the kernel: `sum += x[i];`, `least = least.min(x[i]);`,
//! `if x[i] < least { least = x[i]; nearest = i; }`.
//!
//! Statements that combine into a local are marked with an attribute, which the syntax tree and the CPU body read. A
//! local is only marked if the loop does not use it otherwise. For all other assignments the rules of the language
//! report that the local is declared outside of the loop.

use std::collections::HashSet;

use proc_macro2::{Ident, Span, TokenStream};
use quadrants_frontend::syntax::AtomicOp;
use quote::{ToTokens, quote_spanned};
use syn::{
    Attribute, BinOp, Expr, ExprForLoop, ExprIf, Pat, Stmt,
    ext::IdentExt,
    visit::{self, Visit},
    visit_mut::{self, VisitMut},
};

use crate::{
    ast::{is_assignment, pattern_names, place_root, unparenthesized},
    spans,
    tokens::possible_locals,
};

/// The marking attribute's name, which is reserved.
pub(crate) const NAME: &str = "__combine";

/// A marked statement.
pub(crate) struct Combination<'a> {
    pub(crate) local: Ident,
    pub(crate) op: AtomicOp,
    /// Whether the value is subtracted.
    pub(crate) subtracts: bool,
    pub(crate) value: &'a mut Expr,
}

/// What a marked statement combines; `None` for other expressions.
pub(crate) fn combination(expr: &mut Expr) -> Option<Combination<'_>> {
    match expr {
        Expr::Binary(binary) if is_marked(&binary.attrs) => {
            let (op, subtracts) = operation(&binary.op)?;
            let local = name(&binary.left)?.clone();
            Some(Combination { local, op, subtracts, value: &mut binary.right })
        }
        Expr::Assign(assign) if is_marked(&assign.attrs) => {
            let Expr::MethodCall(call) = &mut *assign.right else { return None };
            let (local, op) = (name(&call.receiver)?.clone(), extremum(&call.method)?);
            Some(Combination { local, op, subtracts: false, value: call.args.first_mut()? })
        }
        Expr::If(branch) if is_marked(&branch.attrs) => {
            let Expr::Binary(binary) = &mut *branch.cond else { return None };
            let local = name(&binary.right)?.clone();
            let op = match binary.op {
                BinOp::Lt(_) => AtomicOp::Min,
                _ => AtomicOp::Max,
            };
            Some(Combination { local, op, subtracts: false, value: &mut binary.left })
        }
        _ => None,
    }
}

/// Whether a statement combines into a local.
pub(crate) fn is_marked(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident(NAME))
}

/// The operations of a loop's marked statements, by the names of the locals.
pub(crate) fn combinations(body: &syn::Block) -> Vec<(Ident, AtomicOp)> {
    struct Found(Vec<(Ident, AtomicOp)>);
    impl VisitMut for Found {
        fn visit_expr_mut(&mut self, expr: &mut Expr) {
            if let Some(found) = combination(expr)
                && !self.0.iter().any(|(local, _)| *local == found.local)
            {
                self.0.push((found.local, found.op));
            }
            visit_mut::visit_expr_mut(self, expr);
        }
    }
    let mut found = Found(Vec::new());
    found.visit_block_mut(&mut body.clone());
    found.0
}

/// The statements around a loop that combines into locals.
#[derive(Default)]
pub(crate) struct Around {
    pub(crate) before: Vec<Stmt>,
    pub(crate) after: Vec<Stmt>,
}

/// Marks the statements of a parallel loop that combine into the locals of `outside`, and rewrites those that choose a
/// minimum or maximum by an `if`. `writable` are the kernel's `&mut` parameters; `number` makes the names of new locals
/// unique.
pub(crate) fn mark(
    each: &mut ExprForLoop,
    outside: &[Ident],
    writable: &[Ident],
    number: usize,
) -> Around {
    let mut around = Around::default();
    if let Some(selection) = selection(each, outside, writable, number) {
        return selection;
    }
    let bound = Bound::by(each);
    for local in outside.iter().filter(|local| !bound.0.contains(local)) {
        let (op, conditional, mixed) = (None, false, false);
        let mut uses = Uses { local, writable, op, count: 0, conditional, mixed };
        uses.visit_block_mut(&mut each.body.clone());
        let all = possible_locals(&each.body).into_iter().chain(possible_locals(&each.expr));
        let (Some(op), false) = (uses.op, uses.mixed) else { continue };
        if all.filter(|name| name == local).count() != uses.count {
            continue;
        }
        let at = Span::mixed_site().located_at(local.span());
        let into = match uses.conditional {
            true => Ident::new(&format!("__best{number}_{}", local.unraw()), at),
            false => local.clone(),
        };
        Marker { local, writable, into: &into }.visit_block_mut(&mut each.body);
        if uses.conditional {
            around.before.push(syn::parse_quote_spanned!(at=> let mut #into = #local;));
            // A comparison, as the author wrote: NaN stays.
            around.after.push(match op {
                AtomicOp::Min => {
                    syn::parse_quote_spanned!(at=> if #into < #local { #local = #into; })
                }
                _ => syn::parse_quote_spanned!(at=> if #into > #local { #local = #into; }),
            });
        }
    }
    around
}

/// The names that patterns and constants bind.
struct Bound(HashSet<Ident>);

impl Bound {
    fn by(each: &ExprForLoop) -> Self {
        let mut bound = Self(pattern_names(&each.pat).into_iter().collect());
        bound.visit_block(&each.body);
        bound
    }
}

impl Visit<'_> for Bound {
    fn visit_pat_ident(&mut self, pattern: &syn::PatIdent) {
        self.0.insert(pattern.ident.clone());
        visit::visit_pat_ident(self, pattern);
    }

    fn visit_item_const(&mut self, item: &syn::ItemConst) {
        self.0.insert(item.ident.clone());
    }
}

/// How a loop's body uses a local.
struct Uses<'a> {
    local: &'a Ident,
    writable: &'a [Ident],
    op: Option<AtomicOp>,
    /// The number of times that the name occurs in statements that combine into it.
    count: usize,
    /// Whether an `if` compares it.
    conditional: bool,
    /// Whether it is combined into in several ways.
    mixed: bool,
}

impl Uses<'_> {
    fn add(&mut self, op: AtomicOp, occurrences: usize, conditional: bool) {
        self.mixed |= self.op.is_some_and(|known| known != op);
        self.mixed |= self.op.is_some() && self.conditional != conditional;
        self.op = Some(op);
        self.count += occurrences;
        self.conditional |= conditional;
    }
}

impl VisitMut for Uses<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        if let Some((op, _)) = choice(expr, self.local) {
            self.add(op, 2, true);
        } else if let Some(plain) = plain(expr, self.local, self.writable) {
            self.add(plain.op, plain.occurrences, false);
        }
        visit_mut::visit_expr_mut(self, expr);
    }

    fn visit_expr_closure_mut(&mut self, _: &mut syn::ExprClosure) {}
}

/// Marks the statements that combine into a local, in their simplest forms.
struct Marker<'a> {
    local: &'a Ident,
    writable: &'a [Ident],
    into: &'a Ident,
}

impl VisitMut for Marker<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        if let Some((op, value)) = choice(expr, self.local) {
            *expr = marked_choice(spans::first(expr), self.into, op, &value);
        } else if let Some(Plain { simple, .. }) = plain(expr, self.local, self.writable) {
            let at = Span::mixed_site().located_at(spans::first(expr));
            *expr = simple;
            let mark = Ident::new(NAME, at);
            let attributes = match expr {
                Expr::Binary(binary) => &mut binary.attrs,
                Expr::Assign(assign) => &mut assign.attrs,
                _ => return,
            };
            attributes.push(syn::parse_quote_spanned!(at=> #[#mark]));
        }
        visit_mut::visit_expr_mut(self, expr);
    }

    fn visit_expr_closure_mut(&mut self, _: &mut syn::ExprClosure) {}
}

/// `if value < local { local = value; }`, marked. A method would need a receiver of a known type.
fn marked_choice(at: Span, local: &Ident, op: AtomicOp, value: &Expr) -> Expr {
    let at = Span::mixed_site().located_at(at);
    let mark = Ident::new(NAME, at);
    let less: BinOp = match op {
        AtomicOp::Min => syn::parse_quote_spanned!(at=> <),
        _ => syn::parse_quote_spanned!(at=> >),
    };
    let mut branch: ExprIf = syn::parse_quote_spanned! {at=>
        if true { #local = #value; }
    };
    *branch.cond = Expr::Binary(syn::ExprBinary {
        attrs: Vec::new(),
        left: Box::new(value.clone()),
        op: less,
        right: Box::new(syn::parse_quote!(#local)),
    });
    branch.attrs.push(syn::parse_quote_spanned!(at=> #[#mark]));
    Expr::If(branch)
}

/// A statement that combines a value into a local.
struct Plain {
    op: AtomicOp,
    /// How often it has the local's name.
    occurrences: usize,
    /// `local op= value` or `local = local.min(value)`.
    simple: Expr,
}

fn plain(expr: &Expr, local: &Ident, writable: &[Ident]) -> Option<Plain> {
    let is_free = |value: &Expr| !possible_locals(value).contains(local);
    match expr {
        Expr::Binary(binary) if name(&binary.left) == Some(local) => {
            let (op, _) = operation(&binary.op)?;
            is_free(&binary.right).then(|| Plain { op, occurrences: 1, simple: expr.clone() })
        }
        Expr::Assign(assign) if name(&assign.left) == Some(local) => {
            let (left, at) = (&assign.left, spans::first(expr));
            let (op, simple): (_, Expr) = match unparenthesized(&assign.right) {
                Expr::Binary(binary) => {
                    let (first, second) = (&binary.left, &binary.right);
                    let (of_first, of_second) =
                        (name(first) == Some(local), name(second) == Some(local));
                    let value = match (of_first, of_second) {
                        (true, false) => second,
                        (false, true) if !matches!(binary.op, BinOp::Sub(_)) => first,
                        _ => return None,
                    };
                    // The value of `local || value` is evaluated in all iterations, instead of only in some.
                    let is_lazy = of_first && matches!(binary.op, BinOp::And(_) | BinOp::Or(_));
                    let effects = || Effects::of(&[], writable, |all| all.visit_expr(value));
                    if !is_free(value) || is_lazy && effects() {
                        return None;
                    }
                    let (op, compound): (_, TokenStream) = match binary.op {
                        BinOp::Add(_) => (AtomicOp::Add, quote_spanned!(at=> +=)),
                        BinOp::Sub(_) => (AtomicOp::Add, quote_spanned!(at=> -=)),
                        BinOp::BitAnd(_) | BinOp::And(_) => {
                            (AtomicOp::And, quote_spanned!(at=> &=))
                        }
                        BinOp::BitOr(_) | BinOp::Or(_) => (AtomicOp::Or, quote_spanned!(at=> |=)),
                        BinOp::BitXor(_) => (AtomicOp::Xor, quote_spanned!(at=> ^=)),
                        _ => return None,
                    };
                    (op, syn::parse2(quote_spanned!(at=> #left #compound #value)).ok()?)
                }
                Expr::MethodCall(call) if call.args.len() == 1 => {
                    let (receiver, argument) = (&*call.receiver, &call.args[0]);
                    let op = extremum(&call.method)?;
                    match (name(receiver) == Some(local), name(argument) == Some(local)) {
                        (true, false) if is_free(argument) => (op, expr.clone()),
                        (false, true) if is_free(receiver) => {
                            let (method, receiver) = (&call.method, unparenthesized(receiver));
                            (op, syn::parse_quote_spanned!(at=> #left = #left.#method(#receiver)))
                        }
                        _ => return None,
                    }
                }
                _ => return None,
            };
            Some(Plain { op, occurrences: 2, simple })
        }
        _ => None,
    }
}

/// `if value < local { local = value; }`, with the operation and the value.
fn choice(expr: &Expr, local: &Ident) -> Option<(AtomicOp, Expr)> {
    let Expr::If(branch) = expr else { return None };
    let (op, value, _) = comparison(branch, local)?;
    let [Stmt::Expr(Expr::Assign(assign), _)] = &branch.then_branch.stmts[..] else { return None };
    (branch.else_branch.is_none() && assigns(assign, local, &value)).then_some((op, value))
}

/// The operation, the value, and whether equal values are chosen too, of `if value < local`.
fn comparison(branch: &ExprIf, local: &Ident) -> Option<(AtomicOp, Expr, bool)> {
    let Expr::Binary(binary) = unparenthesized(&branch.cond) else { return None };
    let (less, equal) = match binary.op {
        BinOp::Lt(_) => (true, false),
        BinOp::Le(_) => (true, true),
        BinOp::Gt(_) => (false, false),
        BinOp::Ge(_) => (false, true),
        _ => return None,
    };
    let (value, less) =
        match (name(&binary.left) == Some(local), name(&binary.right) == Some(local)) {
            (false, true) => (&binary.left, less),
            (true, false) => (&binary.right, !less),
            _ => return None,
        };
    if possible_locals(value).contains(local) {
        return None;
    }
    let op = if less { AtomicOp::Min } else { AtomicOp::Max };
    Some((op, unparenthesized(value).clone(), equal))
}

fn assigns(assign: &syn::ExprAssign, local: &Ident, value: &Expr) -> bool {
    let text = |expr: &Expr| expr.to_token_stream().to_string();
    name(&assign.left) == Some(local) && text(unparenthesized(&assign.right)) == text(value)
}

/// A loop over `a..b` whose body is `let`s and `if value < best { best = value; … }`: the first loop finds the best
/// value, the second one the first iteration that has it, and a serial statement runs the branch for that iteration.
///
/// The branch consists of assignments to locals that the loop does not read.
fn selection(
    each: &mut ExprForLoop,
    outside: &[Ident],
    writable: &[Ident],
    number: usize,
) -> Option<Around> {
    let (Stmt::Expr(Expr::If(branch), _), lets) = each.body.stmts.split_last()? else {
        return None;
    };
    let (Stmt::Expr(Expr::Assign(first), _), others) = branch.then_branch.stmts.split_first()?
    else {
        return None;
    };
    let local = name(&first.left)?;
    let (op, value, equal) = comparison(branch, local)?;
    let Pat::Ident(syn::PatIdent { ident: index, by_ref: None, subpat: None, .. }) = &*each.pat
    else {
        return None;
    };
    let Expr::Range(syn::ExprRange {
        start: Some(begin),
        end: Some(end),
        limits: syn::RangeLimits::HalfOpen(_),
        ..
    }) = unparenthesized(&each.expr)
    else {
        return None;
    };
    let bound = Bound::by(each);
    let all = possible_locals(&each.body);
    let occurrences = |name: &Ident| all.iter().filter(|other| *other == name).count();
    let targets: Option<Vec<&Ident>> = others
        .iter()
        .map(|stmt| match stmt {
            Stmt::Expr(Expr::Assign(assign), Some(_)) => name(&assign.left),
            _ => None,
        })
        .collect();
    let targets = targets?;
    let is_let = |stmt: &Stmt| matches!(stmt, Stmt::Local(local) if local.init.as_ref().is_some_and(|init| init.diverge.is_none()));
    let changed: Vec<&Ident> = targets.iter().copied().chain([local]).chain(&bound.0).collect();
    let is_target = |name: &&Ident| outside.contains(name) && !bound.0.contains(*name);
    if each.label.is_some()
        || branch.else_branch.is_some()
        || targets.is_empty()
        || !lets.iter().all(is_let)
        || !assigns(first, local, &value)
        || !is_target(&local)
        || occurrences(local) != 2
        || !targets.iter().all(is_target)
        || targets.iter().any(|name| occurrences(name) != 1)
        || possible_locals(&each.expr).contains(local)
        || Effects::of(&changed, writable, |all| all.visit_block(&each.body))
    {
        return None;
    }
    let at = Span::mixed_site().located_at(spans::first(branch));
    let name = |what: &str| Ident::new(&format!("__{what}{number}"), at);
    let [first, after, best, winner] = ["first", "after", "best", "winner"].map(name);
    let (attributes, then, condition) = (&each.attrs, &branch.then_branch.stmts, &branch.cond);
    let find_best = marked_choice(at, &best, op, &value);
    // Of equal values, `<` keeps the first and `<=` the last one.
    let (none, chosen, choose, found) = match equal {
        false => (
            &after,
            quote_spanned!(at=> #winner),
            marked_choice(at, &winner, AtomicOp::Min, &syn::parse_quote!(#index)),
            quote_spanned!(at=> #winner < #after),
        ),
        true => (
            &first,
            quote_spanned!(at=> #winner - 1),
            marked_choice(at, &winner, AtomicOp::Max, &syn::parse_quote!((#index + 1))),
            quote_spanned!(at=> #winner > #first),
        ),
    };
    let parsed = |tokens: TokenStream| syn::parse2::<syn::Block>(tokens).map(|block| block.stmts);
    // What a loop computes for the others is unused in it.
    let quiet = lets.iter().map(|stmt| quote_spanned!(at=> #[allow(unused_variables)] #stmt));
    let quiet: TokenStream = quiet.collect();
    let before = quote_spanned! {at=> {
        let #first = #begin;
        let #after = #end;
        let mut #best = #local;
        #(#attributes)*
        for #index in #first..#after {
            #quiet
            #find_best
        }
        let mut #winner = #none;
    }};
    let after_loop = quote_spanned! {at=> {
        if #found {
            let #index = #chosen;
            #(#lets)*
            #(#then)*
        }
    }};
    let body = quote_spanned! {at=> {
        #quiet
        if #condition {
            if #value == #best {
                #choose
            }
        }
    }};
    let around = Around { before: parsed(before).ok()?, after: parsed(after_loop).ok()? };
    let body = syn::parse2(body).ok()?;
    *each.expr = syn::parse_quote_spanned!(at=> #first..#after);
    each.body = body;
    Some(around)
}

/// Finds out whether code can have an effect other than assignments to `locals`: it assigns to something else, borrows
/// mutably, calls a macro, loops, jumps, or passes on one of the `writable` parameters.
struct Effects<'a> {
    locals: &'a [&'a Ident],
    writable: &'a [Ident],
    found: bool,
}

impl<'a> Effects<'a> {
    fn of(locals: &'a [&'a Ident], writable: &'a [Ident], visit: impl FnOnce(&mut Self)) -> bool {
        let mut effects = Self { locals, writable, found: false };
        visit(&mut effects);
        effects.found
    }

    fn assign(&mut self, to: &Expr) {
        let root = place_root(to).and_then(|root| root.path.get_ident());
        self.found |= root.is_none_or(|root| !self.locals.contains(&root));
    }

    fn pass(&mut self, value: &Expr) {
        let root = place_root(value).and_then(|root| root.path.get_ident());
        self.found |= root.is_some_and(|root| self.writable.contains(root));
    }
}

impl Visit<'_> for Effects<'_> {
    fn visit_expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Break(_)
            | Expr::Continue(_)
            | Expr::Return(_)
            | Expr::Unsafe(_)
            | Expr::ForLoop(_)
            | Expr::While(_)
            | Expr::Loop(_)
            | Expr::Closure(_)
            | Expr::Reference(syn::ExprReference { mutability: Some(_), .. }) => self.found = true,
            Expr::Assign(assign) => self.assign(&assign.left),
            Expr::Binary(binary) if is_assignment(&binary.op) => self.assign(&binary.left),
            // An index is a value, but a whole tensor may be written.
            Expr::Call(call) => {
                let whole = |arg: &&Expr| !matches!(unparenthesized(arg), Expr::Index(_));
                call.args.iter().filter(whole).for_each(|arg| self.pass(arg));
            }
            // A method may change its receiver in place.
            Expr::MethodCall(call) => {
                call.args.iter().chain([&*call.receiver]).for_each(|arg| self.pass(arg));
            }
            _ => {}
        }
        visit::visit_expr(self, expr);
    }

    fn visit_macro(&mut self, _: &syn::Macro) {
        self.found = true;
    }
}

/// The operation of a compound assignment, and whether it subtracts.
fn operation(op: &BinOp) -> Option<(AtomicOp, bool)> {
    Some(match op {
        BinOp::AddAssign(_) => (AtomicOp::Add, false),
        BinOp::SubAssign(_) => (AtomicOp::Add, true),
        BinOp::BitAndAssign(_) => (AtomicOp::And, false),
        BinOp::BitOrAssign(_) => (AtomicOp::Or, false),
        BinOp::BitXorAssign(_) => (AtomicOp::Xor, false),
        _ => return None,
    })
}

fn extremum(method: &Ident) -> Option<AtomicOp> {
    match method.to_string().as_str() {
        "min" => Some(AtomicOp::Min),
        "max" => Some(AtomicOp::Max),
        _ => None,
    }
}

/// The name that an expression is.
fn name(expr: &Expr) -> Option<&Ident> {
    match unparenthesized(expr) {
        Expr::Path(path) => path.path.get_ident(),
        _ => None,
    }
}
