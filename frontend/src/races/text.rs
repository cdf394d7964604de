//! Accesses as their author wrote them, for messages.

use crate::syntax::{Expr, ExprKind, UnaryOp};

/// What a name is shown as, where not as itself.
pub(super) type Shown<'a> = &'a dyn Fn(&str) -> Option<String>;

/// `t[i + 1]`, `t[[i, j]]`
pub(super) fn element(base: &str, index: &[Expr], shown: Shown<'_>) -> String {
    let list: Vec<String> = index.iter().map(|index| expr(index, shown)).collect();
    match &list[..] {
        [index] => format!("{base}[{index}]"),
        list => format!("{base}[[{}]]", list.join(", ")),
    }
}

/// An expression; what seldom stands in an index is left out.
pub(super) fn expr(value: &Expr, shown: Shown<'_>) -> String {
    let list = |args: &[Expr]| -> String {
        let args: Vec<String> = args.iter().map(|arg| expr(arg, shown)).collect();
        args.join(", ")
    };
    match &value.kind {
        ExprKind::Literal { text, suffix, .. } => {
            format!("{text}{}", suffix.as_deref().unwrap_or_default())
        }
        ExprKind::Name(name) => shown(name).unwrap_or_else(|| name.clone()),
        ExprKind::Unary { op, value } => {
            let sign = match op {
                UnaryOp::Neg => "-",
                // The tree has no other: counts of bits are methods.
                _ => "!",
            };
            format!("{sign}{}", operand(value, shown))
        }
        ExprKind::Binary { op, lhs, rhs } => {
            format!("{} {} {}", operand(lhs, shown), op.symbol(), operand(rhs, shown))
        }
        // The target's type is a number here.
        ExprKind::Cast { value, .. } => expr(value, shown),
        ExprKind::Index { base, index } => element(base, index, shown),
        ExprKind::Element { value, index } => element(&operand(value, shown), index, shown),
        ExprKind::Field { value, name } => format!("{}.{name}", operand(value, shown)),
        ExprKind::Len { base } => format!("{base}.len()"),
        ExprKind::Extent { base, axis } => format!("{base}.shape()[{}]", expr(axis, shown)),
        ExprKind::Method { receiver, name, args, .. } => {
            format!("{}.{name}({})", operand(receiver, shown), list(args))
        }
        _ => "…".to_owned(),
    }
}

pub(super) fn operand(value: &Expr, shown: Shown<'_>) -> String {
    let text = expr(value, shown);
    if text.contains(' ') && !text.ends_with([']', ')']) { format!("({text})") } else { text }
}
