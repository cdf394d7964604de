//! What launches and other operations tell a profile, if one runs.

use quadrants_rhi::{FunctionHandle, StreamHandle};

use super::ProgramShared;
use crate::{
    launcher::kernel_context::KernelContext,
    profile::{
        enqueue::ForeignGuard,
        origin::{self, GraphGuard, OriginGuard},
        session::{ForeignNames, GraphContents},
    },
};

impl ProgramShared {
    /// Before a kernel is launched on the stream with this id: tells a profile, if one runs.
    #[inline]
    pub(crate) fn profile_launch(
        &self,
        stream: u32,
        id: u32,
        context: &KernelContext,
        functions: &[FunctionHandle],
    ) -> Option<OriginGuard> {
        if !self.context.is_interposed() {
            return None;
        }
        self.profiler.recording(&self.context)?.name_functions(id, &context.kernel, functions);
        Some(origin::enter(stream, 0))
    }

    /// Tells a profile that the next launch on the stream `later` conflicts with the last launch of a kernel on the
    /// stream `earlier`, and nothing orders them.
    pub(crate) fn profile_conflict(&self, earlier: (u32, u32), later: u32) {
        if let Some(device) = self.profiler.recording(&self.context) {
            device.conflict(earlier, later);
        }
    }

    /// Before other code enqueues work on the stream with this id and handle: tells a profile, if one runs.
    #[inline]
    pub(crate) fn profile_foreign(
        &self,
        stream: (u32, StreamHandle),
        names: impl FnOnce() -> ForeignNames,
    ) -> Option<ForeignGuard<'_>> {
        if !self.context.is_interposed() {
            return None;
        }
        Some(self.profiler.recording(&self.context)?.foreign(stream, names()))
    }

    /// Before a graph is launched on the stream with this id: tells a profile what it contains, if one runs.
    pub(crate) fn profile_graph(
        &self,
        stream: u32,
        contents: impl FnOnce() -> GraphContents,
    ) -> Option<(OriginGuard, GraphGuard)> {
        let graph = || origin::enter_graph(contents().into());
        self.context.is_interposed().then(|| (origin::enter(stream, 0), graph()))
    }
}
