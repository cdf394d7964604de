//! Values of the race check in a sample launch.

use std::rc::Rc;

use quadrants_ir::races::NodeId;

/// The abstract value of an expression.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum AbstractValue {
    /// A number.
    Number(i128),
    /// An argument, or a part of one: its path, and its number if it is one.
    Argument(Rc<str>, i128),
    /// A node of the current task's graph.
    Node(NodeId),
    /// Unknown, the same in all iterations: computed before the loop.
    Fixed(u32),
    /// Possibly known at launch: a func's result.
    AtLaunch,
    /// Known only on the device, and no integer as far as is known.
    Data,
    /// The parts of a tuple, array or struct, by name or number.
    Parts(Vec<(String, AbstractValue)>),
}

impl AbstractValue {
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

    /// An element of a local array. The launch knows those of an array whose elements it all knows.
    pub(super) fn element(&self, index: &[Self]) -> Self {
        if self.is_known_later() {
            return Self::AtLaunch;
        }
        match index.iter().map(Self::as_number).collect::<Option<Vec<_>>>().as_deref() {
            Some([at]) => self.part(&at.to_string()),
            Some([row, column]) => self.part(&row.to_string()).part(&column.to_string()),
            _ if self.is_table() => Self::AtLaunch,
            _ => Self::Data,
        }
    }

    /// Whether this is an array, or an array of arrays, of values that the launch knows.
    fn is_table(&self) -> bool {
        let Self::Parts(parts) = self else { return false };
        parts
            .iter()
            .all(|(_, part)| part.as_number().is_some() || part.is_known_later() || part.is_table())
    }

    const fn is_known_later(&self) -> bool {
        matches!(self, Self::AtLaunch | Self::Fixed(_))
    }

    pub(super) const fn as_number(&self) -> Option<i128> {
        match self {
            Self::Number(value) | Self::Argument(_, value) => Some(*value),
            _ => None,
        }
    }

    /// A value that may be known at launch, or not.
    pub(super) const fn unknown(at_launch: bool) -> Self {
        if at_launch { Self::AtLaunch } else { Self::Data }
    }
}
