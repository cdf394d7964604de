//! Texts of expressions, with their precedence.

/// The text of an expression.
#[derive(Clone, Debug)]
pub(crate) struct Fragment {
    pub(crate) text: String,
    pub(crate) precedence: u8,
}

// Precedences, the highest first. An operand needs parentheses if its own is lower than the operator's.
pub(crate) const ATOM: u8 = 16;
pub(crate) const UNARY: u8 = 14;
pub(crate) const CAST: u8 = 13;
pub(crate) const MUL: u8 = 12;
pub(crate) const ADD: u8 = 11;
pub(crate) const SHIFT: u8 = 10;
pub(crate) const AND: u8 = 9;
pub(crate) const XOR: u8 = 8;
pub(crate) const OR: u8 = 7;
pub(crate) const COMPARE: u8 = 6;
/// `&&`
pub(crate) const BOTH: u8 = 5;
/// `||`
pub(crate) const EITHER: u8 = 4;
/// Expressions with braces.
pub(crate) const BLOCK: u8 = 0;

pub(crate) fn fragment(precedence: u8, text: impl Into<String>) -> Fragment {
    Fragment { text: text.into(), precedence }
}

pub(crate) fn atom(text: impl Into<String>) -> Fragment {
    fragment(ATOM, text)
}
