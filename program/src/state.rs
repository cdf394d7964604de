//! The state of a program: the parts that its tensors, streams and launches share.

use std::{
    fmt,
    sync::{Arc, atomic::AtomicU64},
};

use parking_lot::Mutex;
use quadrants_rhi::Severity;
use quadrants_runtime::Context;

use crate::{
    Error, Result,
    capture::host_exclusion::HostExclusion,
    hazards::{
        Clock,
        tracker::{Tracker, wait_tracked},
    },
    kernel::loader::KernelLoader,
    launch::{
        error_record::RecordPool, launcher::KernelLauncher, operation::OperationNames,
        region_graph::Graphs,
    },
    output::Printer,
    profile::{Profiler, trace},
    program_registry,
    stream::{
        manager::StreamManager,
        state::{AbandonedStream, StreamState},
    },
};

/// What all parts of a program share, except the default stream, which refers to it.
pub(crate) struct ProgramShared {
    // Modules are unloaded and pinned memory is freed while the context is alive: each keeps it.
    pub(crate) launcher: KernelLauncher,
    // Dropped after the launcher, whose modules wait for the device before they unload.
    pub(crate) abandoned_streams: Mutex<Vec<AbandonedStream>>,
    pub(crate) records: RecordPool,
    pub(crate) manager: StreamManager,
    pub(crate) context: Arc<Context>,
    pub(crate) loader: KernelLoader,
    pub(crate) launches: AtomicU64,
    pub(crate) graphs: Graphs,
    pub(crate) host_exclusion: HostExclusion,
    pub(crate) operation_names: OperationNames,
    /// None where hazards are not tracked.
    pub(crate) hazards: Option<Tracker>,
    /// Where kernels print.
    pub(crate) printer: Printer,
    pub(crate) deferred: Mutex<Vec<Error>>,
    pub(crate) profiler: Profiler,
}

/// The shared part of [`Program`](crate::Program), with its default stream. Tensors, streams and launches refer to it.
pub(crate) struct ProgramInner {
    pub(crate) default: Arc<StreamState>,
    pub(crate) shared: Arc<ProgramShared>,
}

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

impl Drop for ProgramInner {
    fn drop(&mut self) {
        trace::write(&self.shared);
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
        if Arc::ptr_eq(self, other) { Ok(()) } else { Err(Error::OtherProgram { what }) }
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
