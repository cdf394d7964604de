//! Printing of accesses as source text, for messages.

use crate::syntax::{BinaryOp, Expr, ExprKind, LogicOp, Span, UnaryOp};

/// The most characters of an expression that is printed. A longer one prints as `…`.
const LONGEST: usize = 80;

/// The texts that expressions print as, if not as the tree says.
#[derive(Clone, Copy)]
pub(super) struct ExprTexts<'a> {
    /// The author's text, where it is known.
    pub(super) source: &'a dyn Fn(Span) -> Option<String>,
    /// What to print for a name, if not the name itself.
    pub(super) names: &'a dyn Fn(&str) -> Option<Printed>,
}

/// A text, and how strongly its operator binds.
pub(super) type Printed = (String, u8);

/// The binding strength of a name, an index or a method call; of unary operators; and of comparisons, which do not
/// associate.
pub(super) const ATOM: u8 = 14;
const UNARY: u8 = 13;
const COMPARISON: u8 = 5;

/// An expression.
pub(super) fn expr(value: &Expr, texts: ExprTexts<'_>) -> String {
    let source = (texts.source)(value.span);
    let text = source.map(|text| without_parentheses(value, text));
    let text = text.unwrap_or_else(|| printed(value, texts).0);
    match &value.kind {
        _ if text.chars().count() <= LONGEST => text,
        ExprKind::Index { base, .. } => format!("{base}[…]"),
        _ => "…".to_owned(),
    }
}

/// The author's text without parentheses around all of it.
fn without_parentheses(value: &Expr, text: String) -> String {
    let is_operation = matches!(
        value.kind,
        ExprKind::Unary { .. }
            | ExprKind::Binary { .. }
            | ExprKind::Logic { .. }
            | ExprKind::Cast { .. }
    );
    let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
    let Some(inner) = inner.filter(|_| is_operation) else { return text };
    // In `(a) + (b)`, the first parenthesis ends before the last.
    let mut depth = 0;
    let is_one = inner.chars().all(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth >= 0
    });
    if is_one { inner.to_owned() } else { text }
}

/// An expression as an operand of an operator of this strength.
fn operand(value: &Expr, strength: u8, texts: ExprTexts<'_>) -> String {
    let (text, own) = printed(value, texts);
    if own < strength { format!("({text})") } else { text }
}

/// An expression as the receiver of a method.
fn receiver(value: &Expr, texts: ExprTexts<'_>) -> String {
    operand(value, ATOM, texts)
}

/// `t[i + 1]`, `t[[i, j]]`
fn element(base: &str, index: &[Expr], texts: ExprTexts<'_>) -> String {
    match index {
        [index] => format!("{base}[{}]", printed(index, texts).0),
        index => format!("{base}[[{}]]", list(index, texts)),
    }
}

fn list(values: &[Expr], texts: ExprTexts<'_>) -> String {
    values.iter().map(|value| printed(value, texts).0).collect::<Vec<_>>().join(", ")
}

/// The text of the tree. Kinds that are rare in an index print as `…`.
pub(super) fn printed(value: &Expr, texts: ExprTexts<'_>) -> Printed {
    let text = match &value.kind {
        ExprKind::Literal { text, suffix, .. } => {
            format!("{text}{}", suffix.as_deref().unwrap_or_default())
        }
        ExprKind::Name(name) => {
            return (texts.names)(name).unwrap_or_else(|| (name.clone(), ATOM));
        }
        ExprKind::Unary { op, value } => {
            let sign = match op {
                UnaryOp::Neg => "-",
                // `!`. Bit counts are methods in the tree.
                _ => "!",
            };
            return (format!("{sign}{}", operand(value, UNARY, texts)), UNARY);
        }
        ExprKind::Binary { op, lhs, rhs } => {
            return binary(op.symbol(), strength(*op), [lhs, rhs], texts);
        }
        ExprKind::Logic { op: LogicOp::And, lhs, rhs } => {
            return binary("&&", 4, [lhs, rhs], texts);
        }
        ExprKind::Logic { op: LogicOp::Or, lhs, rhs } => return binary("||", 3, [lhs, rhs], texts),
        // The tree has only an index for the target type.
        ExprKind::Cast { value, .. } => return printed(value, texts),
        ExprKind::Index { base, index } => element(base, index, texts),
        ExprKind::Element { value, index } => element(&receiver(value, texts), index, texts),
        ExprKind::Field { value, name } => format!("{}.{name}", receiver(value, texts)),
        ExprKind::Len { base } => format!("{base}.len()"),
        ExprKind::Extent { base, axis } => {
            format!("{base}.shape()[{}]", printed(axis, texts).0)
        }
        ExprKind::Method { receiver: of, name, args, .. } => {
            format!("{}.{name}({})", receiver(of, texts), list(args, texts))
        }
        _ => "…".to_owned(),
    };
    (text, ATOM)
}

fn binary(symbol: &str, own: u8, [lhs, rhs]: [&Expr; 2], texts: ExprTexts<'_>) -> Printed {
    // Operators associate to the left.
    let left = operand(lhs, own + u8::from(own == COMPARISON), texts);
    (format!("{left} {symbol} {}", operand(rhs, own + 1, texts)), own)
}

/// How strongly an operator binds in Rust.
const fn strength(op: BinaryOp) -> u8 {
    match op {
        BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => 11,
        BinaryOp::Add | BinaryOp::Sub => 10,
        BinaryOp::Shl | BinaryOp::Shr => 9,
        BinaryOp::And => 8,
        BinaryOp::Xor => 7,
        BinaryOp::Or => 6,
        _ => COMPARISON,
    }
}
