//! Identities of types, which constants can compare. They also differ for types of equal layout.

/// The identity of a type: the name of its definition, which no other definition has, and its generic arguments and
/// fields. Not a hash: the user of a program chooses names and constants, and could make two hashes equal.
#[derive(Debug)]
pub struct Identity {
    /// The definition.
    pub name: &'static str,
    /// What the type is made of, in order.
    pub parts: &'static [TypePart],
}

/// A part of an [`Identity`].
#[derive(Debug)]
pub enum TypePart {
    /// A type.
    Type(&'static Identity),
    /// A constant.
    Number(u128),
}

impl Identity {
    /// Stands for a type that the source states: it is never compared.
    pub const STATED: &'static Self = &Self { name: "", parts: &[] };

    /// Whether both are the identity of one type.
    #[must_use]
    pub const fn is(&self, other: &Self) -> bool {
        if self.parts.len() != other.parts.len() || !equal(self.name, other.name) {
            return false;
        }
        let mut at = 0;
        while at < self.parts.len() {
            let same = match (&self.parts[at], &other.parts[at]) {
                (TypePart::Type(one), TypePart::Type(other)) => one.is(other),
                (TypePart::Number(one), TypePart::Number(other)) => *one == *other,
                _ => false,
            };
            if !same {
                return false;
            }
            at += 1;
        }
        true
    }
}

const fn equal(one: &str, other: &str) -> bool {
    let (one, other, mut at) = (one.as_bytes(), other.as_bytes(), 0);
    if one.len() != other.len() {
        return false;
    }
    while at < one.len() {
        if one[at] != other[at] {
            return false;
        }
        at += 1;
    }
    true
}
