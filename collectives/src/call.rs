//! The operations as ranks call them.

use std::fmt;

use crate::element::{DataType, Reduction};

/// An operation as a rank calls it. A [`Mismatch`](crate::Mismatch) has two that should be equal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CollectiveCall {
    pub(crate) kind: CallKind,
    /// The number of elements: of the smaller tensor, where they differ.
    pub(crate) count: usize,
    pub(crate) data_type: DataType,
    pub(crate) group_position: GroupPosition,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CallKind {
    AllReduce(Reduction),
    Reduce { reduction: Reduction, root: usize },
    Broadcast { root: usize },
    AllGather,
    ReduceScatter(Reduction),
    Send { to: usize },
    Receive { from: usize },
}

/// The position of a collective operation in its group. Other operations have the position 0 of 0.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct GroupPosition {
    /// Its number among the collective operations of its rank in the group, from 0.
    pub(crate) index: u32,
    /// The number of these.
    pub(crate) of: u32,
}

impl CollectiveCall {
    /// The operation: `all_reduce`.
    #[must_use]
    pub fn operation(&self) -> &'static str {
        self.kind.name()
    }

    /// The number of elements; of those that all ranks have, where tensors differ in their lengths.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The type of the elements: `f32`.
    #[must_use]
    pub fn element(&self) -> &'static str {
        self.data_type.name()
    }

    /// How the elements are combined.
    #[must_use]
    pub fn reduction(&self) -> Option<Reduction> {
        match self.kind {
            CallKind::AllReduce(reduction)
            | CallKind::Reduce { reduction, .. }
            | CallKind::ReduceScatter(reduction) => Some(reduction),
            _ => None,
        }
    }

    /// The root, or the rank at the other end of a send or receive.
    #[must_use]
    pub fn peer(&self) -> Option<usize> {
        match self.kind {
            CallKind::Reduce { root: peer, .. }
            | CallKind::Broadcast { root: peer }
            | CallKind::Send { to: peer }
            | CallKind::Receive { from: peer } => Some(peer),
            CallKind::AllReduce(_) | CallKind::AllGather | CallKind::ReduceScatter(_) => None,
        }
    }

    /// The sender and the receiver, of a call of `rank`; none of a collective operation.
    pub(crate) fn pair(&self, rank: usize) -> Option<(usize, usize)> {
        match self.kind {
            CallKind::Send { to } => Some((rank, to)),
            CallKind::Receive { from } => Some((from, rank)),
            _ => None,
        }
    }
}

impl fmt::Display for CollectiveCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.operation())?;
        match self.kind {
            CallKind::Send { to } => write!(f, " to rank {to}")?,
            CallKind::Receive { from } => write!(f, " from rank {from}")?,
            CallKind::Reduce { root, .. } | CallKind::Broadcast { root } => {
                write!(f, " of root {root}")?
            }
            CallKind::AllReduce(_) | CallKind::AllGather | CallKind::ReduceScatter(_) => {}
        }
        write!(f, " ({} elements of `{}`", self.count, self.element())?;
        if let Some(reduction) = self.reduction() {
            write!(f, ", {reduction:?}")?;
        }
        let GroupPosition { index, of } = self.group_position;
        if of > 1 {
            write!(f, ", the {}. of {of} in a group", index + 1)?;
        }
        f.write_str(")")
    }
}

impl CallKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::AllReduce(_) => "all_reduce",
            Self::Reduce { .. } => "reduce",
            Self::Broadcast { .. } => "broadcast",
            Self::AllGather => "all_gather",
            Self::ReduceScatter(_) => "reduce_scatter",
            Self::Send { .. } => "send",
            Self::Receive { .. } => "receive",
        }
    }
}
