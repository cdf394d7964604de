//! Methods of the state of a program.

use std::{fmt, sync::Arc};

use quadrants_rhi::Severity;

use super::{ProgramInner, ProgramShared};
use crate::{
    Error, Result,
    hazards::{
        Clock,
        tracker::{Tracker, wait_tracked},
    },
    program_registry,
};

impl fmt::Debug for ProgramShared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProgramShared").field("context", &self.context).finish_non_exhaustive()
    }
}

impl fmt::Debug for ProgramInner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program")
            .field("device", &self.shared.context.device())
            .finish_non_exhaustive()
    }
}

impl Drop for ProgramShared {
    fn drop(&mut self) {
        program_registry::unregister(self);
        let info = self.context.device().info();
        tracing::info!(device = info.name, backend = info.backend, "close");
    }
}

impl ProgramInner {
    /// Checks that `what`, which belongs to the program `other`, belongs to this one.
    #[inline]
    pub(crate) fn check_same(
        self: &Arc<Self>,
        other: &Arc<Self>,
        what: &'static str,
    ) -> Result<()> {
        if Arc::ptr_eq(self, other) { Ok(()) } else { Err(self.other_program(other, what, None)) }
    }

    #[cold]
    pub(crate) fn other_program(
        &self,
        other: &Self,
        what: &'static str,
        user: Option<&str>,
    ) -> Error {
        let name = |of: &Self| Box::new(of.shared.context.direct_device().info().into());
        let user = user.map(Into::into);
        Error::OtherProgram { what, user, belongs_to: name(other), used_on: name(self) }
    }
}

impl ProgramShared {
    /// Waits for all work on all streams.
    pub(crate) fn synchronize(&self) -> Result<()> {
        let clock = |tracker: &Tracker| {
            let mut all = Clock::default();
            for stream in self.manager.all() {
                all.join(&tracker.clock_of(&stream.stream));
            }
            all
        };
        wait_tracked(self.hazards.as_ref(), clock, || Ok(self.context.synchronize()?))
    }

    /// Keeps an error that no call can return, like [`Context::defer`].
    pub(crate) fn defer(&self, error: Error) {
        if error.severity() == Severity::ContextLost {
            return;
        }
        tracing::warn!(%error, "an error that no call could return");
        self.deferred.lock().push(error);
    }
}
