//! The spellings of a statement that combines values into a local, and the simple form of each.

use proc_macro2::{Ident, Span};
use quadrants_frontend::syntax::AtomicOp;
use quote::ToTokens;
use syn::{BinOp, Expr, ExprIf, Stmt};

use super::{effects::EffectFinder, extremum, name, operation};
use crate::{
    ast::{SCALARS, unparenthesized},
    spans,
    tokens::possible_locals,
};

/// A statement that combines values into a local, and does nothing else with it.
pub(super) struct CombiningStmt {
    pub(super) op: AtomicOp,
    /// How often it has the local's name.
    pub(super) occurrences: usize,
    pub(super) form: CombiningForm,
}

/// What a statement is rewritten to.
pub(super) enum CombiningForm {
    /// `local op= value`, `local = local.min(value)` or `local = value.min(local)`.
    One(Expr),
    /// A block of statements with one value each.
    Several(Expr),
    /// `if value < local { local = value; }`, of which this is the value.
    Choice(Expr),
}

impl CombiningStmt {
    /// What an expression combines into the local. `writable` are the kernel's `&mut` parameters.
    pub(super) fn of(expr: &Expr, local: &Ident, writable: &[Ident]) -> Option<Self> {
        match expr {
            Expr::Binary(binary) if name(&binary.left) == Some(local) => {
                let (op, _) = operation(&binary.op)?;
                let form = CombiningForm::One(expr.clone());
                is_free(&binary.right, local).then_some(Self { op, occurrences: 1, form })
            }
            Expr::Assign(assign) if name(&assign.left) == Some(local) => {
                let value = unparenthesized(&assign.right);
                if let Some((op, value)) = chosen_value(value, local) {
                    return Some(Self { op, occurrences: 3, form: CombiningForm::Choice(value) });
                }
                let at = Span::mixed_site().located_at(spans::first(expr));
                if let Expr::Lit(syn::ExprLit { lit: syn::Lit::Bool(flag), .. }) = value {
                    let (op, of): (_, BinOp) = match flag.value {
                        true => (AtomicOp::Or, syn::parse_quote_spanned!(at=> |=)),
                        false => (AtomicOp::And, syn::parse_quote_spanned!(at=> &=)),
                    };
                    let form =
                        CombiningForm::One(compound(&assign.left, of, flag.to_token_stream())?);
                    return Some(Self { op, occurrences: 1, form });
                }
                let terms = CombinedOperands::of(value, local, writable)?;
                let occurrences = 2;
                let form = terms.form(&assign.left, at)?;
                Some(Self { op: terms.op, occurrences, form })
            }
            Expr::If(branch) => {
                let (op, value) = choice(branch, local)?;
                Some(Self { op, occurrences: 2, form: CombiningForm::Choice(value) })
            }
            _ => None,
        }
    }
}

fn is_free(value: &Expr, local: &Ident) -> bool {
    !possible_locals(value).contains(local)
}

fn compound(left: &Expr, op: BinOp, right: impl ToTokens) -> Option<Expr> {
    syn::parse2(quote::quote!(#left #op #right)).ok()
}

/// The operands of nested operations of one kind, of which one operand is the local: `local + a - b`,
/// `a.min(local).min(b)`.
struct CombinedOperands {
    op: AtomicOp,
    values: Vec<CombinedOperand>,
}

struct CombinedOperand {
    value: Expr,
    /// Whether the local is the operation's first operand. A method's receiver must have a known type.
    of_first: bool,
    subtracts: bool,
    how: OperatorSyntax,
}

/// How an operand is combined.
#[derive(Clone)]
enum OperatorSyntax {
    Operator,
    Method(Ident),
    /// `f32::min(local, value)`
    Function(Ident, Ident),
}

impl CombinedOperands {
    fn of(value: &Expr, local: &Ident, writable: &[Ident]) -> Option<Self> {
        let (op, first, second, how) = operation_of(unparenthesized(value))?;
        let (inner, other, of_first) = match (is_free(first, local), is_free(second, local)) {
            (false, true) => (first, second, true),
            (true, false) => (second, first, false),
            _ => return None,
        };
        let (subtracts, is_lazy) = match unparenthesized(value) {
            Expr::Binary(binary) => (
                matches!(binary.op, BinOp::Sub(_)),
                matches!(binary.op, BinOp::And(_) | BinOp::Or(_)),
            ),
            _ => (false, false),
        };
        // The value of `local || value` is evaluated in all iterations, instead of only in some.
        let effects =
            || EffectFinder::of(&[], writable, |all| syn::visit::Visit::visit_expr(all, other));
        if subtracts && !of_first || is_lazy && of_first && effects() {
            return None;
        }
        let mut values = match name(inner) == Some(local) {
            true => Vec::new(),
            false => {
                let inner = Self::of(inner, local, writable)?;
                if inner.op != op {
                    return None;
                }
                inner.values
            }
        };
        let term =
            CombinedOperand { value: unparenthesized(other).clone(), of_first, subtracts, how };
        // In the order of evaluation.
        values.insert(if of_first { values.len() } else { 0 }, term);
        Some(Self { op, values })
    }

    fn form(&self, left: &Expr, at: Span) -> Option<CombiningForm> {
        if let [CombinedOperand { how: OperatorSyntax::Operator | OperatorSyntax::Method(_), .. }] =
            &self.values[..]
        {
            return Some(CombiningForm::One(self.statement(left, &self.values[0], at)?));
        }
        let statements: Option<Vec<_>> =
            self.values.iter().map(|term| self.statement(left, term, at)).collect();
        let statements = statements?;
        Some(CombiningForm::Several(syn::parse_quote_spanned!(at=> { #(#statements;)* })))
    }

    fn statement(&self, left: &Expr, term: &CombinedOperand, at: Span) -> Option<Expr> {
        let value = &term.value;
        match &term.how {
            OperatorSyntax::Method(method) if term.of_first => {
                Some(syn::parse_quote_spanned!(at=> #left = #left.#method(#value)))
            }
            OperatorSyntax::Method(method) => {
                let receiver: Expr = match value {
                    Expr::Path(_)
                    | Expr::Index(_)
                    | Expr::MethodCall(_)
                    | Expr::Call(_)
                    | Expr::Field(_) => value.clone(),
                    other => syn::parse_quote_spanned!(at=> (#other)),
                };
                Some(syn::parse_quote_spanned!(at=> #left = #receiver.#method(#left)))
            }
            // rustc checks that the type's name is that of the value.
            OperatorSyntax::Function(ty, method) => Some(syn::parse_quote_spanned! {at=> {
                let __value: #ty = #value;
                #left = __value.#method(#left);
            }}),
            OperatorSyntax::Operator => {
                let of: BinOp = match self.op {
                    AtomicOp::Add if term.subtracts => syn::parse_quote_spanned!(at=> -=),
                    AtomicOp::Add => syn::parse_quote_spanned!(at=> +=),
                    AtomicOp::And => syn::parse_quote_spanned!(at=> &=),
                    AtomicOp::Or => syn::parse_quote_spanned!(at=> |=),
                    AtomicOp::Xor => syn::parse_quote_spanned!(at=> ^=),
                    _ => return None,
                };
                compound(left, of, value)
            }
        }
    }
}

/// An operation whose operands can be combined in any order: its kind and its operands.
fn operation_of(value: &Expr) -> Option<(AtomicOp, &Expr, &Expr, OperatorSyntax)> {
    match value {
        Expr::Binary(binary) => {
            let op = match binary.op {
                BinOp::Add(_) | BinOp::Sub(_) => AtomicOp::Add,
                BinOp::BitAnd(_) | BinOp::And(_) => AtomicOp::And,
                BinOp::BitOr(_) | BinOp::Or(_) => AtomicOp::Or,
                BinOp::BitXor(_) => AtomicOp::Xor,
                _ => return None,
            };
            Some((op, &binary.left, &binary.right, OperatorSyntax::Operator))
        }
        Expr::MethodCall(call) if call.args.len() == 1 => {
            let how = OperatorSyntax::Method(call.method.clone());
            Some((extremum(&call.method)?, &call.receiver, &call.args[0], how))
        }
        Expr::Call(call) if call.args.len() == 2 => {
            let Expr::Path(syn::ExprPath { qself: None, path, .. }) = &*call.func else {
                return None;
            };
            let mut segments = path.segments.iter();
            let (Some(ty), Some(method), None) =
                (segments.next(), segments.next(), segments.next())
            else {
                return None;
            };
            let is_plain = ty.arguments.is_none() && method.arguments.is_none();
            let is_scalar = SCALARS.iter().any(|scalar| ty.ident == scalar);
            let how = OperatorSyntax::Function(ty.ident.clone(), method.ident.clone());
            let op = extremum(&method.ident).filter(|_| is_plain && is_scalar)?;
            Some((op, &call.args[0], &call.args[1], how))
        }
        _ => None,
    }
}

/// `if value < local { local = value; }`, with the operation and the value.
fn choice(branch: &ExprIf, local: &Ident) -> Option<(AtomicOp, Expr)> {
    let (op, value, _) = comparison(branch, local)?;
    let [Stmt::Expr(Expr::Assign(assign), _)] = &branch.then_branch.stmts[..] else { return None };
    (branch.else_branch.is_none() && assigns(assign, local, &value)).then_some((op, value))
}

/// The operation and the value of `if value < local { value } else { local }`. In the other order, `if local < value {
/// local } else { value }`, a NaN would be chosen.
fn chosen_value(expr: &Expr, local: &Ident) -> Option<(AtomicOp, Expr)> {
    let Expr::If(branch) = expr else { return None };
    let (op, value, _) = comparison(branch, local)?;
    let [Stmt::Expr(then, None)] = &branch.then_branch.stmts[..] else { return None };
    let (_, otherwise) = branch.else_branch.as_ref()?;
    let Expr::Block(syn::ExprBlock { block, label: None, .. }) = &**otherwise else { return None };
    let [Stmt::Expr(otherwise, None)] = &block.stmts[..] else { return None };
    (is_same(then, &value) && name(otherwise) == Some(local)).then_some((op, value))
}

/// The operation, the value, and whether equal values are chosen too, of `if value < local`.
pub(super) fn comparison(branch: &ExprIf, local: &Ident) -> Option<(AtomicOp, Expr, bool)> {
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
    if !is_free(value, local) {
        return None;
    }
    let op = if less { AtomicOp::Min } else { AtomicOp::Max };
    Some((op, unparenthesized(value).clone(), equal))
}

pub(super) fn assigns(assign: &syn::ExprAssign, local: &Ident, value: &Expr) -> bool {
    name(&assign.left) == Some(local) && is_same(&assign.right, value)
}

fn is_same(expr: &Expr, value: &Expr) -> bool {
    let text = |expr: &Expr| expr.to_token_stream().to_string();
    text(unparenthesized(expr)) == text(value)
}
