//! Profiles: what ran when on which stream. [`Program::profile`] returns a [`Timeline`]; the environment variable
//! [`TRACE_VARIABLE`](crate::TRACE_VARIABLE) writes the one of a whole program.
//!
//! While a profile runs, the program's calls go to a recording device that forwards them (`device.rs`), and regions are
//! launched by events, so that each of their tasks has its times. Without a profile nothing of this runs: the fast path
//! of a launch tests that its context is ordinary, which is one test for this and for a lost context.

mod activity;
mod build;
mod chrome;
mod device;
mod enqueue;
mod json;
pub(crate) mod origin;
mod read;
pub(crate) mod session;
mod svg;
pub(crate) mod table;
pub(crate) mod timeline;
pub(crate) mod trace;

use std::sync::{
    Arc, OnceLock,
    atomic::{
        AtomicBool,
        Ordering::{AcqRel, Release},
    },
};

use quadrants_rhi::{FunctionHandle, StreamHandle};

use self::{
    device::RecordingDevice,
    enqueue::ForeignGuard,
    origin::{GraphGuard, OriginGuard},
    session::{ForeignNames, GraphContents, Mark},
    timeline::Timeline,
};
use crate::{
    Error, Program, Result, capture::active::refuse, launch::context::KernelContext,
    state::ProgramShared,
};

/// The profiles of a program.
#[derive(Debug, Default)]
pub(crate) struct Profiler {
    /// Made by the first profile.
    device: OnceLock<Arc<RecordingDevice>>,
    /// Whether a profile runs.
    is_active: AtomicBool,
    /// The trace of the whole program.
    trace: OnceLock<trace::Trace>,
}

impl Program {
    /// Runs `body`, and returns its value with a [`Timeline`] of what ran on all streams meanwhile: the tasks of
    /// kernels, copies, fills, allocations, foreign operations, launches of graphs, and waits of the host.
    ///
    /// Waits for the device before and after. Errors of kernels stay with their streams, which return them as usual.
    /// Regions are launched by events meanwhile, not as graphs. A captured graph is one span with a list of its nodes;
    /// where the times of the nodes are known, they are spans too.
    ///
    /// # Errors
    /// [`Error::ProfileActive`] where a profile of this program runs already, on any thread; `body` is not called then.
    /// Or an error of the device before it is called.
    ///
    /// # Examples
    /// ```
    /// # fn main() -> quadrants_program::Result<()> {
    /// # let device = quadrants_rhi_cpu::driver()?.open(0)?;
    /// # let opened = quadrants_program::Opened { device, compiler: None };
    /// # let prog = quadrants_program::Program::open(opened)?;
    /// let (values, timeline) = prog.profile(|| prog.zeros::<f32, 1>([100])?.to_vec())?;
    /// assert_eq!(values?, [0.0; 100]);
    /// println!("{timeline}");
    /// std::fs::write(std::env::temp_dir().join("timeline.svg"), timeline.svg()).unwrap();
    /// # Ok(())
    /// # }
    /// ```
    pub fn profile<R>(&self, body: impl FnOnce() -> R) -> Result<(R, Timeline)> {
        let shared = self.shared();
        refuse(shared, "a profile")?;
        let profile = Profile::begin(shared)?;
        let value = body();
        Ok((value, profile.finish()))
    }
}

/// A profile that runs. Its drop ends it.
struct Profile<'a> {
    shared: &'a Arc<ProgramShared>,
    device: &'a RecordingDevice,
    begin: Mark,
}

impl<'a> Profile<'a> {
    fn begin(shared: &'a Arc<ProgramShared>) -> Result<Self> {
        let profiler = &shared.profiler;
        if profiler.is_active.swap(true, AcqRel) {
            return Err(Error::ProfileActive);
        }
        let device = profiler.device(shared);
        // From here on the drop ends the profile.
        let mut profile = Self { shared, device, begin: Mark::default() };
        shared.synchronize()?;
        if profiler.trace.get().is_some() {
            profile.begin = device.mark();
        } else {
            profiler.record(shared)?;
        }
        Ok(profile)
    }

    fn finish(self) -> Timeline {
        // An error of a kernel or of the device is returned by the next call that waits; operations without times are
        // counted in the timeline.
        if let Err(error) = self.shared.synchronize() {
            tracing::debug!(%error, "the end of a profile");
        }
        let info = self.shared.context.device().info();
        let timeline = self.device.read(|session| build::timeline(session, self.begin, info));
        timeline.unwrap_or_else(|| Timeline::empty(info))
    }
}

impl Drop for Profile<'_> {
    fn drop(&mut self) {
        let profiler = &self.shared.profiler;
        if profiler.trace.get().is_none() {
            self.shared.context.interpose(false, Arc::clone);
            self.shared.graphs.set_for_regions(true);
            drop(self.device.end());
        }
        profiler.is_active.store(false, Release);
    }
}

impl Profiler {
    fn device(&self, shared: &ProgramShared) -> &Arc<RecordingDevice> {
        let context = &shared.context;
        self.device.get_or_init(|| {
            let inner = context.direct_device().clone();
            Arc::new(RecordingDevice::new(inner, Arc::downgrade(context)))
        })
    }

    /// Begins to record. All work of the device is complete.
    fn record(&self, shared: &ProgramShared) -> Result<()> {
        let device = self.device(shared);
        device.begin().map_err(quadrants_runtime::Error::from)?;
        shared.graphs.set_for_regions(false);
        shared.context.interpose(true, |_| device.clone());
        Ok(())
    }

    /// The device that records, while it does.
    fn recording(&self, shared: &ProgramShared) -> Option<&RecordingDevice> {
        self.device.get().filter(|_| shared.context.is_interposed()).map(|device| &**device)
    }
}

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
        self.profiler.recording(self)?.name_functions(id, &context.kernel, functions);
        Some(origin::enter(stream, 0))
    }

    /// Tells a profile that the next launch on the stream `later` conflicts with the last launch of a kernel on the
    /// stream `earlier`, and nothing orders them.
    pub(crate) fn profile_conflict(&self, earlier: (u32, u32), later: u32) {
        if let Some(device) = self.profiler.recording(self) {
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
        Some(self.profiler.recording(self)?.foreign(stream, names()))
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
