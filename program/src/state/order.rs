//! The order of work on streams: what the policy does with hazards, and which work a wait covers.

use quadrants_runtime::{BufferUse, Completed, Stamp};
use smallvec::SmallVec;

use super::{ProgramShared, StreamState};
use crate::{
    Result,
    error::{Hazard, HazardUse},
    hazards::{
        Clock,
        tracker::{Conflicts, Tracker},
    },
};

impl ProgramShared {
    /// Applies the policy to the conflicts of a launch with earlier ones.
    #[cold]
    pub(crate) fn handle_conflicts(
        &self,
        tracker: &Tracker,
        conflicts: &Conflicts,
        stream: &StreamState,
    ) -> Result<()> {
        if tracker.inserts_waits() {
            let mut stamps = Clock::default();
            conflicts.iter().for_each(|(earlier, _)| stamps.raise(earlier.stamp));
            order_after(self, stream, stamps.stamps())?;
            tracker.count_inserted_waits(stamps.stamps().count() as u64);
            return Ok(());
        }
        for (earlier, later) in conflicts {
            if !tracker.may_be_ordered(earlier.stamp.stream, later.stamp.stream) {
                self.report_conflict(tracker, earlier, later)?;
                self.profile_conflict(
                    (earlier.stamp.stream, earlier.by.kernel),
                    later.stamp.stream,
                );
            }
        }
        Ok(())
    }

    /// Applies the policy to two launches of a graph that conflict and have no order. Returns whether the graph needs
    /// an edge between them.
    ///
    /// # Errors
    /// [`Error::Hazard`](crate::Error::Hazard) under [`Hazards::Check`](crate::Hazards::Check).
    pub(crate) fn graph_conflict(
        &self,
        tracker: &Tracker,
        earlier: &BufferUse,
        later: &BufferUse,
    ) -> Result<bool> {
        if tracker.inserts_waits() {
            tracker.count_inserted_waits(1);
            return Ok(true);
        }
        self.report_conflict(tracker, earlier, later)?;
        Ok(false)
    }

    fn report_conflict(
        &self,
        tracker: &Tracker,
        earlier: &BufferUse,
        later: &BufferUse,
    ) -> Result<()> {
        tracker.report([earlier.by, later.by], || self.hazard(earlier, later))
    }

    pub(crate) fn hazard(&self, earlier: &BufferUse, later: &BufferUse) -> Hazard {
        Hazard { earlier: self.describe(earlier), later: self.describe(later) }
    }

    fn describe(&self, one: &BufferUse) -> HazardUse {
        let Self { launcher, operation_names, .. } = self;
        let (kernel, parameter) =
            launcher.kernel_and_parameter_names(operation_names, one.by.kernel, one.by.parameter);
        HazardUse {
            kernel,
            parameter,
            writes: one.writes,
            bytes: one.bytes.hull(),
            stream: one.stamp.stream,
            at: one.by.at,
        }
    }
}

/// The newest stamps of the streams of `stamps`. They are found before the tracker is locked.
fn newest_of_streams(
    shared: &ProgramShared,
    stamps: impl IntoIterator<Item = Stamp>,
) -> SmallVec<[Stamp; 4]> {
    let newest = |stamp| shared.manager.find(stamp).map_or(stamp, |leased| leased.stream.newest());
    stamps.into_iter().map(newest).collect()
}

/// Makes later work of a stream wait for the work at `stamps`.
pub(crate) fn order_after(
    shared: &ProgramShared,
    stream: &StreamState,
    stamps: impl IntoIterator<Item = Stamp>,
) -> Result<()> {
    let stamps: SmallVec<[Stamp; 4]> = stamps.into_iter().collect();
    let tracker = shared.hazards.as_ref();
    let wait = tracker
        .map(|tracker| tracker.begin_wait(newest_of_streams(shared, stamps.iter().copied())));
    // SAFETY: the stream is live as long as its state.
    let completed = unsafe { shared.context.order_after(stream.stream.handle(), stamps)? };
    if let (Some(tracker), Some(wait)) = (tracker, wait) {
        tracker.add_wait(stream.stream.id(), &wait.completed(completed));
    }
    Ok(())
}

/// Runs `wait`, a host wait for the work at `stamps` that returns what it covered, and marks that as complete.
pub(crate) fn wait_for_stamps(
    shared: &ProgramShared,
    stamps: impl IntoIterator<Item = Stamp>,
    wait: impl FnOnce() -> Result<Completed>,
) -> Result<()> {
    let Some(tracker) = &shared.hazards else { return wait().map(drop) };
    let pending = tracker.begin_wait(newest_of_streams(shared, stamps));
    let completed = wait()?;
    tracker.mark_complete(&pending.completed(completed));
    Ok(())
}
