//! What the race check knows of a value in one sampled launch.

use quadrants_ir::races::AffineForm;

/// A value, as far as an index depends on it.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Value {
    /// A number, or an integer combination of loop variables.
    AffineForm(AffineForm),
    /// Unknown, and the same in all iterations: what was computed before the loop.
    Fixed(u32),
    /// What a launch may know: a func's value.
    Later,
    /// What no launch knows before it runs.
    Data,
    /// The old value of a counter, which no other access to it gets.
    Ticket(Counter),
    /// The parts of a tuple, array or struct, by name or number.
    Parts(Vec<(String, Value)>),
}

/// An element that is counted up in.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Counter {
    pub(super) tensor: String,
    pub(super) fields: Vec<String>,
    pub(super) index: Vec<Option<i128>>,
}

impl Value {
    /// Whether a launch may know it.
    pub(super) fn is_later(&self) -> bool {
        match self {
            Self::Data | Self::Ticket(_) => false,
            Self::Parts(parts) => parts.iter().all(|(_, part)| part.is_later()),
            Self::AffineForm(_) | Self::Fixed(_) | Self::Later => true,
        }
    }

    pub(super) const fn number(value: i128) -> Self {
        Self::AffineForm(AffineForm::constant(value))
    }

    /// A part of the value; of a value that only a launch knows, the part too.
    pub(super) fn part(&self, name: &str) -> Self {
        match self {
            Self::Parts(parts) => {
                let found = parts.iter().find(|(part, _)| part == name);
                found.map_or(Self::Data, |(_, value)| value.clone())
            }
            Self::Later | Self::Fixed(_) => Self::Later,
            _ => Self::Data,
        }
    }

    /// The element at an index of a local array.
    pub(super) fn element(&self, index: &[Self]) -> Self {
        match index.iter().map(Self::known).collect::<Option<Vec<_>>>().as_deref() {
            Some([at]) => self.part(&at.to_string()),
            Some([row, column]) => self.part(&row.to_string()).part(&column.to_string()),
            _ => Self::Data,
        }
    }

    pub(super) fn known(&self) -> Option<i128> {
        match self {
            Self::AffineForm(form) => form.value(),
            _ => None,
        }
    }

    pub(super) fn of(form: Option<AffineForm>) -> Self {
        form.map_or(Self::Data, Self::AffineForm)
    }
}
