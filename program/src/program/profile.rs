//! [`Program::profile`].

use std::sync::{
    Arc,
    atomic::Ordering::{AcqRel, Release},
};

use crate::{
    Error, Program, Result,
    profile::{device::RecordingDevice, session::Mark, timeline::Timeline, timeline_builder},
    state::ProgramShared,
    thread_state::capture::refuse,
};

impl Program {
    /// Runs `body`, and returns its value with a [`Timeline`] of what ran on all streams meanwhile: the tasks of
    /// kernels, copies, fills, allocations, foreign operations, launches of graphs, and host waits.
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
        let device = profiler.device(&shared.context);
        // From here on the drop ends the profile.
        let mut profile = Self { shared, device, begin: Mark::default() };
        shared.synchronize()?;
        if profiler.trace.get().is_some() {
            profile.begin = device.mark();
        } else {
            profiler.record(&shared.context, &shared.graphs)?;
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
        let timeline =
            self.device.read(|session| timeline_builder::timeline(session, self.begin, info));
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
