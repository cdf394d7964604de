//! Printing of accesses as source text, for messages.

use crate::syntax::{Expr, ExprKind, UnaryOp};

/// The text to print for a name, if not the name itself.
pub(super) type DisplayName<'a> = &'a dyn Fn(&str) -> Option<String>;

/// `t[i + 1]`, `t[[i, j]]`
pub(super) fn element(base: &str, index: &[Expr], names: DisplayName<'_>) -> String {
    let list: Vec<String> = index.iter().map(|index| expr(index, names)).collect();
    match &list[..] {
        [index] => format!("{base}[{index}]"),
        list => format!("{base}[[{}]]", list.join(", ")),
    }
}

/// An expression. Kinds that are rare in an index print as `…`.
pub(super) fn expr(value: &Expr, names: DisplayName<'_>) -> String {
    let list = |args: &[Expr]| -> String {
        let args: Vec<String> = args.iter().map(|arg| expr(arg, names)).collect();
        args.join(", ")
    };
    match &value.kind {
        ExprKind::Literal { text, suffix, .. } => {
            format!("{text}{}", suffix.as_deref().unwrap_or_default())
        }
        ExprKind::Name(name) => names(name).unwrap_or_else(|| name.clone()),
        ExprKind::Unary { op, value } => {
            let sign = match op {
                UnaryOp::Neg => "-",
                // `!`. Bit counts are methods in the tree.
                _ => "!",
            };
            format!("{sign}{}", operand(value, names))
        }
        ExprKind::Binary { op, lhs, rhs } => {
            format!("{} {} {}", operand(lhs, names), op.symbol(), operand(rhs, names))
        }
        // The tree has only an index for the target type.
        ExprKind::Cast { value, .. } => expr(value, names),
        ExprKind::Index { base, index } => element(base, index, names),
        ExprKind::Element { value, index } => element(&operand(value, names), index, names),
        ExprKind::Field { value, name } => format!("{}.{name}", operand(value, names)),
        ExprKind::Len { base } => format!("{base}.len()"),
        ExprKind::Extent { base, axis } => format!("{base}.shape()[{}]", expr(axis, names)),
        ExprKind::Method { receiver, name, args, .. } => {
            format!("{}.{name}({})", operand(receiver, names), list(args))
        }
        _ => "…".to_owned(),
    }
}

pub(super) fn operand(value: &Expr, names: DisplayName<'_>) -> String {
    let text = expr(value, names);
    if text.contains(' ') && !text.ends_with([']', ')']) { format!("({text})") } else { text }
}
