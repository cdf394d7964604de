//! Expressions, names and patterns.

use proc_macro2::{Ident, Span};
use quadrants_frontend::syntax::BinaryOp;
use syn::{BinOp, Expr, ExprPath, Member, Pat, PatIdent};

use crate::spans;

/// The names of the scalar types.
pub(crate) const SCALARS: [&str; 14] = [
    "f16", "f32", "f64", "i8", "i16", "i32", "i64", "isize", "u8", "u16", "u32", "u64", "usize",
    "bool",
];

/// An expression without parentheses around it, and without the invisible groups of `macro_rules!` macros.
pub(crate) fn unparenthesized(expr: &Expr) -> &Expr {
    match expr {
        Expr::Paren(paren) => unparenthesized(&paren.expr),
        Expr::Group(group) => unparenthesized(&group.expr),
        other => other,
    }
}

/// Generated code in parentheses, unless operators around it cannot take it apart. A statement loses them again.
pub(crate) fn operand(expr: Expr) -> Expr {
    use Expr as E;
    match expr {
        E::Array(_)
        | E::Call(_)
        | E::Field(_)
        | E::Index(_)
        | E::Lit(_)
        | E::Macro(_)
        | E::MethodCall(_)
        | E::Paren(_)
        | E::Path(_)
        | E::Tuple(_) => expr,
        other => {
            let at = Span::mixed_site().located_at(spans::first(&other));
            syn::parse_quote_spanned!(at=> (#other))
        }
    }
}

/// Whether the value of an expression is that of a `match`, `if` or `loop`, possibly inside blocks, parentheses and
/// signs. rustc does not infer the type of a literal in there from a cast of the expression.
pub(crate) fn ends_in_branch(expr: &Expr) -> bool {
    match expr {
        Expr::Paren(paren) => ends_in_branch(&paren.expr),
        Expr::Group(group) => ends_in_branch(&group.expr),
        Expr::Unary(unary) => ends_in_branch(&unary.expr),
        Expr::Block(syn::ExprBlock { block, .. }) | Expr::Unsafe(syn::ExprUnsafe { block, .. }) => {
            matches!(block.stmts.last(), Some(syn::Stmt::Expr(value, None)) if ends_in_branch(value))
        }
        Expr::Match(_) | Expr::If(_) | Expr::Loop(_) => true,
        _ => false,
    }
}

pub(crate) fn name_of(path: &ExprPath) -> Option<&Ident> {
    if path.qself.is_none() { path.path.get_ident() } else { None }
}

/// Whether a macro is std's `cfg!`, as [`desugar`](crate::desugar) writes it.
pub(crate) fn is_cfg(call: &syn::Macro) -> bool {
    is_of_core(call, "cfg")
}

/// Whether a macro is std's `unreachable!`, as [`desugar`](crate::desugar) writes it.
pub(crate) fn is_unreachable(call: &syn::Macro) -> bool {
    is_of_core(call, "unreachable")
}

fn is_of_core(call: &syn::Macro, name: &str) -> bool {
    let names: Vec<_> = call.path.segments.iter().map(|segment| &segment.ident).collect();
    call.path.leading_colon.is_some()
        && matches!(names[..], [of, last] if of == "core" && last == name)
}

/// Whether a name is written like a constant: in capitals.
pub(crate) fn is_constant(name: &Ident) -> bool {
    let text = name.to_string();
    text.chars().any(char::is_alphabetic) && !text.chars().any(char::is_lowercase)
}

/// Whether a pattern that is this name means a constant or a variant of an enum, rather than a new binding. Emitted
/// code relies on it: bindings are written `name @ _`, and rustc reports constants that do not exist.
pub(crate) fn is_constant_pattern(name: &Ident) -> bool {
    is_constant(name) || is_type_name(&name.to_string())
}

/// Whether a name is written like a type: with a capital.
pub(crate) fn is_type_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_uppercase())
}

/// The name of a field, or its number in a tuple.
pub(crate) fn member_name(member: &Member) -> String {
    match member {
        Member::Named(name) => name.to_string(),
        Member::Unnamed(index) => index.index.to_string(),
    }
}

/// The path of the local or constant that a place is a part of; `None` for expressions that are no places. Evaluating a
/// place twice has no second effect.
pub(crate) fn place_root(expr: &Expr) -> Option<&ExprPath> {
    match expr {
        Expr::Path(path) => Some(path),
        Expr::Field(syn::ExprField { base: inner, .. })
        | Expr::Index(syn::ExprIndex { expr: inner, .. })
        | Expr::Paren(syn::ExprParen { expr: inner, .. }) => place_root(inner),
        _ => None,
    }
}

/// Whether an expression is a name or a field of one, so that emitted code may repeat it.
pub(crate) fn is_simple_place(expr: &Expr) -> bool {
    match expr {
        Expr::Path(_) => true,
        Expr::Field(field) => is_simple_place(&field.base),
        Expr::Paren(paren) => is_simple_place(&paren.expr),
        _ => false,
    }
}

/// Whether an expression is one of these names.
pub(crate) fn is_one_of(expr: &Expr, names: &[Ident]) -> bool {
    match unparenthesized(expr) {
        Expr::Path(path) => name_of(path).is_some_and(|name| names.contains(name)),
        _ => false,
    }
}

/// The operation of an operator, with or without assignment; `None` for `&&` and `||`.
pub(crate) fn binary_op(op: &BinOp) -> Option<BinaryOp> {
    Some(match op {
        BinOp::Add(_) | BinOp::AddAssign(_) => BinaryOp::Add,
        BinOp::Sub(_) | BinOp::SubAssign(_) => BinaryOp::Sub,
        BinOp::Mul(_) | BinOp::MulAssign(_) => BinaryOp::Mul,
        BinOp::Div(_) | BinOp::DivAssign(_) => BinaryOp::Div,
        BinOp::Rem(_) | BinOp::RemAssign(_) => BinaryOp::Rem,
        BinOp::BitXor(_) | BinOp::BitXorAssign(_) => BinaryOp::Xor,
        BinOp::BitAnd(_) | BinOp::BitAndAssign(_) => BinaryOp::And,
        BinOp::BitOr(_) | BinOp::BitOrAssign(_) => BinaryOp::Or,
        BinOp::Shl(_) | BinOp::ShlAssign(_) => BinaryOp::Shl,
        BinOp::Shr(_) | BinOp::ShrAssign(_) => BinaryOp::Shr,
        BinOp::Eq(_) => BinaryOp::Eq,
        BinOp::Ne(_) => BinaryOp::Ne,
        BinOp::Lt(_) => BinaryOp::Lt,
        BinOp::Le(_) => BinaryOp::Le,
        BinOp::Gt(_) => BinaryOp::Gt,
        BinOp::Ge(_) => BinaryOp::Ge,
        _ => return None,
    })
}

/// Whether an operator is one of a compound assignment.
pub(crate) fn is_assignment(op: &BinOp) -> bool {
    use BinOp as B;
    matches!(
        op,
        B::AddAssign(_) | B::SubAssign(_) | B::MulAssign(_) | B::DivAssign(_) | B::RemAssign(_)
    ) || matches!(op, B::BitXorAssign(_) | B::BitAndAssign(_) | B::BitOrAssign(_))
        || matches!(op, B::ShlAssign(_) | B::ShrAssign(_))
}

/// A pattern without the type written after it.
pub(crate) fn untyped(pattern: &Pat) -> &Pat {
    match pattern {
        Pat::Type(typed) => &typed.pat,
        other => other,
    }
}

/// A pattern that is one name, with or without a type.
pub(crate) fn pattern_ident(pattern: &Pat) -> Option<&PatIdent> {
    match untyped(pattern) {
        Pat::Ident(ident) if ident.by_ref.is_none() && ident.subpat.is_none() => Some(ident),
        _ => None,
    }
}

/// The name of a pattern that is a name without `mut`; `Some(None)` for `_`.
pub(crate) fn immutable_name(pattern: &Pat) -> Option<Option<Ident>> {
    if let Pat::Wild(_) = untyped(pattern) {
        return Some(None);
    }
    let pattern = pattern_ident(pattern)?;
    pattern.mutability.is_none().then(|| Some(pattern.ident.clone()))
}
