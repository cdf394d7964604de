//! The handles of programs and streams.

use std::{fmt, sync::Arc};

use quadrants_runtime as rt;

use super::{ProgramInner, ProgramShared, StreamState};

/// A program on one device: the owner of its tensors, streams, events and kernels.
///
/// A clone is another handle of the same program. Streams, events and tensors keep the program alive, so that they can
/// be dropped in any order.
#[derive(Clone)]
pub struct Program {
    pub(crate) default: Arc<Stream>,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner().fmt(f)
    }
}

/// A stream of a program: a queue of operations that run in order, concurrently with other streams.
///
/// Dropping it waits for its work. An error of that work is kept for
/// [`Program::take_deferred_errors`](crate::Program::take_deferred_errors).
#[derive(Debug)]
pub struct Stream {
    pub(crate) program: Arc<ProgramInner>,
    pub(crate) state: Arc<StreamState>,
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.state.stream.origin() == rt::StreamOrigin::Default {
            // The default stream is dropped with the last `Program` handle. The owners of foreign memory may own the
            // program.
            self.program.shared.context.finish_owners();
        }
        self.state.close();
    }
}

impl Program {
    pub(crate) fn inner(&self) -> &Arc<ProgramInner> {
        &self.default.program
    }

    pub(crate) fn shared(&self) -> &Arc<ProgramShared> {
        &self.inner().shared
    }
}
