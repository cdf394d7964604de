//! The worker streams of host-side regions, each with the event of its join, and the event of the fork. A stream keeps
//! those of its regions, so that a repeated region creates nothing.

use std::sync::Arc;

use quadrants_rhi::StreamOptions;
use quadrants_runtime as rt;

use crate::{
    Result,
    hazards::Clock,
    state::{ProgramShared, RegionEvent, RegionWorkerSet, RegionWorkers, StreamState, Worker},
    stream::next_event_number,
    thread_state::capture,
};

impl RegionWorkers {
    /// Takes a set of workers, or makes one without workers.
    pub(super) fn take(&self, shared: &ProgramShared) -> Result<RegionWorkerSet> {
        if let Some(kept) = self.0.lock().pop() {
            return Ok(kept);
        }
        Ok(RegionWorkerSet { fork: RegionEvent::new(shared)?, workers: Vec::new() })
    }

    pub(super) fn give_back(&self, set: RegionWorkerSet) {
        self.0.lock().push(set);
    }
}

impl Worker {
    pub(super) fn new(shared: &Arc<ProgramShared>) -> Result<Self> {
        let stream = rt::Stream::new(&shared.context, StreamOptions::default())?;
        let join = RegionEvent::new(shared)?;
        Ok(Self { stream: StreamState::new(shared, stream)?, join })
    }
}

impl RegionEvent {
    fn new(shared: &ProgramShared) -> Result<Self> {
        let lease = shared.context.lease_event()?;
        Ok(Self { lease, number: next_event_number(), clock: Clock::default() })
    }

    /// Records the work that a stream has so far.
    pub(super) fn record(&mut self, shared: &ProgramShared, stream: &StreamState) -> Result<()> {
        let record =
            |recorder: &dyn capture::CaptureRecorder| recorder.record_event(self.number, stream);
        if capture::with(shared, record).is_some() {
            return Ok(());
        }
        let (context, stream) = (&shared.context, &stream.stream);
        let clock = shared.hazards.as_ref().map(|tracker| tracker.clock_of(stream));
        // SAFETY: the event is leased, and the stream is live as long as its state.
        let recorded =
            unsafe { context.device().event_record(self.lease.handle(), stream.handle()) };
        context.observe(recorded)?;
        self.clock = clock.unwrap_or_default();
        Ok(())
    }

    /// Makes later work of a stream wait for the recorded work.
    pub(super) fn wait(&self, shared: &ProgramShared, stream: &StreamState) -> Result<()> {
        let wait =
            |recorder: &dyn capture::CaptureRecorder| recorder.wait_event(self.number, stream);
        if let Some(captured) = capture::with(shared, wait) {
            return captured;
        }
        let (context, stream) = (&shared.context, &stream.stream);
        // SAFETY: as above.
        let waited =
            unsafe { context.device().stream_wait_event(stream.handle(), self.lease.handle()) };
        context.observe(waited)?;
        if let Some(tracker) = &shared.hazards {
            tracker.add_wait(stream.id(), &self.clock);
        }
        Ok(())
    }
}
