//! What an operation waits for outside its own world.

use std::sync::Arc;

use super::matched_call::MatchedCall;
use crate::{op_id::OpId, remote::Remote};

/// What an operation that is ready in its own world still waits for.
#[derive(Clone, Debug)]
pub(crate) enum Blocker {
    /// An operation of a world.
    Operation(u16, OpId),
    /// Calls of other ranks. No operation can be run for them.
    MatchedCall(Arc<MatchedCall>),
}

impl From<&Remote> for Blocker {
    fn from(remote: &Remote) -> Self {
        let (world, op) = remote.operation();
        Self::Operation(world, op)
    }
}
