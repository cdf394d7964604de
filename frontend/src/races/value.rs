//! Values of the race check in a sample launch.

use quadrants_ir::races::AffineForm;

/// The abstract value of an expression.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Value {
    /// A number, or an affine form of loop variables.
    AffineForm(AffineForm),
    /// Unknown, the same in all iterations: computed before the loop.
    Fixed(u32),
    /// The smaller one of two forms, which depends on the iteration.
    Least([AffineForm; 2]),
    /// Possibly known at launch: a func's result.
    AtLaunch,
    /// Known only on the device.
    Data,
    /// A ticket: the value that an atomic counter returned.
    Ticket(Counter),
    /// The parts of a tuple, array or struct, by name or number.
    Parts(Vec<(String, Value)>),
}

/// An atomic counter: an element that is incremented.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Counter {
    pub(super) tensor: String,
    pub(super) fields: Vec<String>,
    pub(super) index: Vec<Option<i128>>,
}

impl Value {
    /// Whether the value may be known at launch.
    pub(super) fn known_at_launch(&self) -> bool {
        match self {
            Self::Data | Self::Ticket(_) => false,
            Self::Parts(parts) => parts.iter().all(|(_, part)| part.known_at_launch()),
            Self::AffineForm(_) | Self::Fixed(_) | Self::Least(_) | Self::AtLaunch => true,
        }
    }

    pub(super) const fn number(value: i128) -> Self {
        Self::AffineForm(AffineForm::constant(value))
    }

    /// A part of the value. Parts of values that are known at launch are too.
    pub(super) fn part(&self, name: &str) -> Self {
        match self {
            Self::Parts(parts) => {
                let part = parts.iter().find(|(part, _)| part == name);
                part.map_or(Self::Data, |(_, value)| value.clone())
            }
            Self::AtLaunch | Self::Fixed(_) => Self::AtLaunch,
            _ => Self::Data,
        }
    }

    /// An element of a local array.
    pub(super) fn element(&self, index: &[Self]) -> Self {
        match index.iter().map(Self::as_number).collect::<Option<Vec<_>>>().as_deref() {
            Some([at]) => self.part(&at.to_string()),
            Some([row, column]) => self.part(&row.to_string()).part(&column.to_string()),
            _ => Self::Data,
        }
    }

    pub(super) fn as_number(&self) -> Option<i128> {
        match self {
            Self::AffineForm(form) => form.value(),
            _ => None,
        }
    }

    /// A value that may be known at launch, or not.
    pub(super) const fn unknown(at_launch: bool) -> Self {
        if at_launch { Self::AtLaunch } else { Self::Data }
    }
}

impl From<Option<AffineForm>> for Value {
    fn from(form: Option<AffineForm>) -> Self {
        form.map_or(Self::Data, Self::AffineForm)
    }
}
