//! Parallel loops that combine values into locals of the kernel: `sum += x[i];`, `least = least.min(x[i]);`,
//! `if x[i] < least { least = x[i]; nearest = i; }`.
//!
//! Statements that combine into a local are marked with an attribute, which the syntax tree and the CPU body read. A
//! local is only marked if the loop does not use it otherwise. For all other assignments the rules of the language
//! report that the local is declared outside of the loop.

mod effects;
mod fission;
mod parts;
mod selection;
mod statement;
mod unrolled;

use proc_macro2::{Ident, Span};
use quadrants_frontend::syntax::AtomicOp;
use syn::{
    BinOp, Expr, ExprForLoop, ExprIf, Stmt,
    ext::IdentExt,
    visit_mut::{self, VisitMut},
};

use self::{
    parts::UsedParts,
    statement::{CombiningForm, CombiningStmt},
};
use crate::{
    ast::{loop_bindings, unparenthesized},
    marks::{COMBINATION, combines},
    spans,
    tokens::possible_locals,
};

/// A marked statement.
pub(crate) struct MarkedCombination<'a> {
    pub(crate) local: Ident,
    pub(crate) op: AtomicOp,
    /// Whether the value is subtracted.
    pub(crate) subtracts: bool,
    pub(crate) value: &'a mut Expr,
}

/// What a marked statement combines; `None` for other expressions.
pub(crate) fn combination(expr: &mut Expr) -> Option<MarkedCombination<'_>> {
    match expr {
        Expr::Binary(binary) if combines(&binary.attrs) => {
            let (op, subtracts) = operation(&binary.op)?;
            let local = name(&binary.left)?.clone();
            Some(MarkedCombination { local, op, subtracts, value: &mut binary.right })
        }
        Expr::Assign(assign) if combines(&assign.attrs) => {
            let Expr::MethodCall(call) = &mut *assign.right else { return None };
            let (local, op) = (name(&assign.left)?.clone(), extremum(&call.method)?);
            let value = match name(&call.receiver) == Some(&local) {
                true => call.args.first_mut()?,
                false => &mut *call.receiver,
            };
            Some(MarkedCombination { local, op, subtracts: false, value })
        }
        Expr::If(branch) if combines(&branch.attrs) => {
            let Expr::Binary(binary) = &mut *branch.cond else { return None };
            let local = name(&binary.right)?.clone();
            let op = match binary.op {
                BinOp::Lt(_) => AtomicOp::Min,
                _ => AtomicOp::Max,
            };
            Some(MarkedCombination { local, op, subtracts: false, value: &mut binary.left })
        }
        _ => None,
    }
}

/// The operations of a loop's marked statements, by the names of the locals.
pub(crate) fn combinations(body: &syn::Block) -> Vec<(Ident, AtomicOp)> {
    struct CombineCollector(Vec<(Ident, AtomicOp)>);
    impl VisitMut for CombineCollector {
        fn visit_expr_mut(&mut self, expr: &mut Expr) {
            if let Some(found) = combination(expr)
                && !self.0.iter().any(|(local, _)| *local == found.local)
            {
                self.0.push((found.local, found.op));
            }
            visit_mut::visit_expr_mut(self, expr);
        }
    }
    let mut found = CombineCollector(Vec::new());
    found.visit_block_mut(&mut body.clone());
    found.0
}

/// The statements around a loop that combines into locals.
#[derive(Default)]
pub(crate) struct SurroundingStmts {
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
) -> SurroundingStmts {
    let mut around = SurroundingStmts::default();
    if let Some(choices) = fission::split(each, outside, writable, number) {
        if !choices.after.is_empty() {
            return choices;
        }
        around = choices;
    } else if let Some(selection) = selection::rewrite(each, outside, writable, number) {
        return selection;
    }
    let bound = loop_bindings(each);
    let mut loops = LoopMarker { each, writable, number, around };
    for local in outside.iter().filter(|local| !bound.contains(local)) {
        if !loops.local(local) {
            loops.components(local);
        }
    }
    loops.around
}

/// A loop whose statements are marked.
struct LoopMarker<'a> {
    each: &'a mut ExprForLoop,
    writable: &'a [Ident],
    number: usize,
    around: SurroundingStmts,
}

impl LoopMarker<'_> {
    /// Marks the statements that combine into a local; false, and nothing is changed, if the loop has other uses of it,
    /// or none.
    fn local(&mut self, local: &Ident) -> bool {
        let Self { each, writable, number, around } = self;
        let (op, conditional, mixed) = (None, false, false);
        let mut uses = LocalUses { local, writable, op, count: 0, conditional, mixed };
        uses.visit_block_mut(&mut each.body.clone());
        let all = possible_locals(&each.body).into_iter().chain(possible_locals(&each.expr));
        let (Some(op), false) = (uses.op, uses.mixed) else { return false };
        if all.filter(|name| name == local).count() != uses.count {
            return false;
        }
        let at = Span::mixed_site().located_at(local.span());
        let into = match uses.conditional {
            true => Ident::new(&format!("__best{number}_{}", local.unraw()), at),
            false => local.clone(),
        };
        StmtMarker { local, writable, into: &into }.visit_block_mut(&mut each.body);
        if uses.conditional {
            around.before.push(syn::parse_quote_spanned!(at=> let mut #into = #local;));
            // A comparison, as the user wrote: NaN stays.
            around.after.push(match op {
                AtomicOp::Min => {
                    syn::parse_quote_spanned!(at=> if #into < #local { #local = #into; })
                }
                _ => syn::parse_quote_spanned!(at=> if #into > #local { #local = #into; }),
            });
        }
        true
    }

    /// Marks the statements that combine into parts of a local, such as `sums[0]` or `body.mass`. Each part becomes a
    /// local of its own during the loop.
    fn components(&mut self, local: &Ident) {
        if self.constant_components(local) {
            return;
        }
        if let Some(body) = unrolled::unrolled(&self.each.body, local) {
            let original = std::mem::replace(&mut self.each.body, body);
            if !self.constant_components(local) {
                self.each.body = original;
            }
        }
    }

    /// As [`components`](Self::components), for parts that are the same in all iterations of inner loops. False, and
    /// nothing is changed, if there are others.
    fn constant_components(&mut self, local: &Ident) -> bool {
        let Some(parts) = UsedParts::of(self.each, local, self.number) else { return false };
        let original = self.each.body.clone();
        let (before, after) = (self.around.before.len(), self.around.after.len());
        parts.replace(&mut self.each.body);
        for (name, place) in parts.all() {
            let at = name.span();
            self.around.before.push(syn::parse_quote_spanned!(at=> let mut #name = #place;));
            if !self.local(name) {
                self.each.body = original;
                self.around.before.truncate(before);
                self.around.after.truncate(after);
                return false;
            }
            self.around.after.push(syn::parse_quote_spanned!(at=> #place = #name;));
        }
        true
    }
}

/// How a loop's body uses a local.
struct LocalUses<'a> {
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

impl VisitMut for LocalUses<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        if let Some(found) = CombiningStmt::of(expr, self.local, self.writable) {
            let conditional = matches!(found.form, CombiningForm::Choice(_));
            self.mixed |= self.op.is_some_and(|known| known != found.op);
            self.mixed |= self.op.is_some() && self.conditional != conditional;
            self.op = Some(found.op);
            self.count += found.occurrences;
            self.conditional |= conditional;
        }
        visit_mut::visit_expr_mut(self, expr);
    }

    fn visit_expr_closure_mut(&mut self, _: &mut syn::ExprClosure) {}
}

/// Marks the statements that combine into a local, in their simplest forms.
struct StmtMarker<'a> {
    local: &'a Ident,
    writable: &'a [Ident],
    into: &'a Ident,
}

impl VisitMut for StmtMarker<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        if let Some(CombiningStmt { op, form, .. }) =
            CombiningStmt::of(expr, self.local, self.writable)
        {
            let at = Span::mixed_site().located_at(spans::first(expr));
            match form {
                CombiningForm::Choice(value) => *expr = marked_choice(at, self.into, op, &value),
                // Its statements are marked next.
                CombiningForm::Several(block) => *expr = block,
                CombiningForm::One(simple) => {
                    *expr = simple;
                    let mark = Ident::new(COMBINATION, at);
                    let attributes = match expr {
                        Expr::Binary(binary) => &mut binary.attrs,
                        Expr::Assign(assign) => &mut assign.attrs,
                        _ => return,
                    };
                    attributes.push(syn::parse_quote_spanned!(at=> #[#mark]));
                }
            }
        }
        visit_mut::visit_expr_mut(self, expr);
    }

    fn visit_expr_closure_mut(&mut self, _: &mut syn::ExprClosure) {}
}

/// `if value < local { local = value; }`, marked. A method would need a receiver of a known type.
fn marked_choice(at: Span, local: &Ident, op: AtomicOp, value: &Expr) -> Expr {
    let at = Span::mixed_site().located_at(at);
    let mark = Ident::new(COMBINATION, at);
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
