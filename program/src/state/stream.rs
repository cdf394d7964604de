//! Methods of the state of a stream.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use parking_lot::Mutex;
use quadrants_ir::abi::ErrorRecord;
use quadrants_runtime as rt;

use super::{AbandonedStream, ProgramShared, RegionWorkers, StreamState};
use crate::{
    Error, Result,
    hazards::{
        Clock,
        tracker::{Tracker, wait_tracked},
    },
    launcher::{
        error_record::RecordSlot,
        fork_join::WorkerSetCache,
        launch_memory::{LaunchMemory, StreamLaunchMemory},
        plan::EnqueueTarget,
    },
};

/// Refuses a stream that other code captures: an event or an allocation of the program would end the capture, and work
/// that runs later, at each launch of the graph, has no stamps.
#[cold]
fn refuse_captured(shared: &ProgramShared, stream: &rt::Stream) -> Result<()> {
    if stream.origin() != rt::StreamOrigin::Foreign {
        return Ok(());
    }
    let handle = stream.handle();
    // SAFETY: the stream is live as long as its owner.
    let captured = unsafe { shared.context.device().is_capturing(handle) };
    match shared.context.observe(captured)? {
        true => Err(Error::ForeignCapture { stream: handle.raw() }),
        false => Ok(()),
    }
}

impl StreamState {
    pub(crate) fn new(shared: &Arc<ProgramShared>, stream: Arc<rt::Stream>) -> Result<Arc<Self>> {
        refuse_captured(shared, &stream)?;
        let record = shared.records.take(&shared.context)?;
        let record_address = record.address();
        let foreign = stream.origin() == rt::StreamOrigin::Foreign;
        let state = Arc::new(Self {
            shared: shared.clone(),
            stream,
            error_record: Some(record),
            record_address,
            shared_handle: AtomicBool::new(foreign),
            foreign,
            workers: WorkerSetCache::default(),
            regions: RegionWorkers::default(),
            launch_memory: StreamLaunchMemory::default(),
            messages: OnceLock::new(),
            making_messages: Mutex::new(()),
        });
        if let Some(tracker) = &shared.hazards {
            tracker.add_stream(&state.stream);
        }
        shared.manager.register(&state);
        Ok(state)
    }

    /// Refuses a stream that other code captures. No driver call for streams of the program.
    ///
    /// # Errors
    /// [`Error::ForeignCapture`](crate::Error::ForeignCapture)
    #[inline(always)]
    pub(crate) fn refuse_captured(&self) -> Result<()> {
        if self.foreign { refuse_captured(&self.shared, &self.stream) } else { Ok(()) }
    }

    /// Whether [`refuse_captured`](Self::refuse_captured) returns an error.
    #[inline(always)]
    pub(crate) fn is_captured(&self) -> bool {
        self.foreign && refuse_captured(&self.shared, &self.stream).is_err()
    }

    /// Enqueues a reset of the word that holds the last launch that reported. Then the next launch can report although
    /// its launch number was used before.
    pub(crate) fn report_anew(&self, context: &rt::Context) -> rt::Result<()> {
        let Some(record) = &self.error_record else { return Ok(()) };
        let (claim, none) = (record.claim(), ErrorRecord::NO_LAUNCH.to_ne_bytes());
        // SAFETY: the word belongs to the record, which the stream has as long as it lives; only kernels of this stream
        // change it.
        let filled = unsafe {
            context.device().fill_u8_async(claim, none[0], none.len(), self.stream.handle())
        };
        context.observe(filled)
    }

    /// Where launches on this stream are enqueued.
    #[inline(always)]
    pub(crate) fn target<'a>(&'a self, shared: &'a ProgramShared) -> EnqueueTarget<'a> {
        let ProgramShared { context, graphs, .. } = shared;
        let device = context.direct_device();
        EnqueueTarget { context, device, graphs, stream: &self.stream, workers: &self.workers }
    }

    /// The temporaries of a launch that needs `bytes` of them; none for 0 bytes.
    pub(crate) fn temporaries(&self, bytes: usize) -> Result<Option<LaunchMemory<'_>>> {
        if bytes == 0 {
            return Ok(None);
        }
        self.launch_memory.allocate(&self.stream, bytes).map(Some)
    }

    pub(crate) fn shared(&self) -> &ProgramShared {
        &self.shared
    }

    /// Tells kernels where to leave messages.
    pub(crate) fn set_message_buffer(&self, address: u64) {
        if let Some(record) = &self.error_record {
            record.set_message_buffer(address);
        }
    }

    #[inline]
    pub(crate) fn record_address(&self) -> u64 {
        self.record_address
    }

    /// Whether a kernel on this stream reported an error. One load; no driver call.
    #[inline]
    pub(crate) fn has_report(&self) -> bool {
        // SAFETY: the record is the stream's until its last owner is dropped, and nobody else has a reference then.
        unsafe { RecordSlot::is_set_at(self.record_address) }
    }

    /// Returns the error that a kernel on this stream reported, once: looks, drains the stream, takes the report.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        if self.has_report() { self.report() } else { Ok(()) }
    }

    #[cold]
    fn report(&self) -> Result<()> {
        let Some(record) = &self.error_record else { return Ok(()) };
        // Work that another thread enqueues now may still write the record; then it is not full, and a later check
        // finds it.
        if !self.stream.is_idle() {
            self.drain()?;
        }
        match self.shared.records.take_report(record, |report| self.shared.launcher.decode(report))
        {
            Some(error) => Err(Box::new(error).into()),
            None => Ok(()),
        }
    }

    pub(crate) fn synchronize(&self) -> Result<()> {
        self.drain()?;
        self.report_all()
    }

    /// After a wait for all work: prints the messages of this stream and of those that were joined to it by regions,
    /// and returns the first error.
    fn report_all(&self) -> Result<()> {
        self.print_all()?;
        self.check()?;
        self.regions.streams().iter().try_for_each(|worker| worker.report_all())
    }

    /// Waits for all work, without checking for errors.
    fn drain(&self) -> Result<()> {
        let clock = |tracker: &Tracker| tracker.clock_of(&self.stream);
        wait_tracked(self.shared.hazards.as_ref(), clock, || Ok(self.stream.synchronize()?))
    }

    /// Waits for all work, unless an earlier wait has shown it complete, without checking for errors.
    fn drain_at_end(&self) -> Result<()> {
        let newest = self.stream.newest();
        if self.shared_handle.load(Relaxed) || !self.stream.is_idle() {
            return self.drain();
        }
        // The earlier wait may not have covered what the stream was made to wait for since.
        if let Some(tracker) = &self.shared.hazards {
            tracker.mark_complete(&Clock::of(newest));
        }
        Ok(())
    }

    /// Whether all work is complete. If so, also checks for errors.
    pub(crate) fn query(&self) -> Result<bool> {
        let clock =
            self.shared.hazards.as_ref().map(|tracker| (tracker, tracker.clock_of(&self.stream)));
        let complete = self.stream.query()?;
        if complete && let Some((tracker, clock)) = clock {
            tracker.mark_complete(&clock);
        }
        if complete {
            self.report_all()?;
        }
        Ok(complete)
    }

    /// Called by the drop of the user's handle, while others can still find the stream: waits for its work, keeps an
    /// error, and then waits for the leases on it. The default stream stays: the program's tensors need it.
    pub(crate) fn close(&self) {
        if self.stream.origin() == rt::StreamOrigin::Default {
            return;
        }
        if !std::thread::panicking()
            && let Err(error) = self.drain_at_end().and_then(|()| self.report_all())
        {
            self.shared.defer(error);
        }
        self.shared.manager.retire(self.stream.id());
    }
}

impl RegionWorkers {
    /// The worker streams.
    pub(crate) fn streams(&self) -> Vec<Arc<StreamState>> {
        let sets = self.0.lock();
        sets.iter().flat_map(|set| &set.workers).map(|worker| worker.stream.clone()).collect()
    }
}

impl Drop for StreamState {
    fn drop(&mut self) {
        self.shared.manager.remove(self.stream.id());
        if std::thread::panicking() {
            // Without a wait, unfinished work may still use all this.
            let left = AbandonedStream {
                _error_record: self.error_record.take(),
                _workers: std::mem::take(&mut self.workers),
                _launch_memory: std::mem::take(&mut self.launch_memory),
                _messages: std::mem::take(&mut self.messages),
            };
            self.shared.abandoned_streams.lock().push(left);
            return;
        }
        // After a wait nothing writes the record any more, so that another stream can have it.
        let drained = self.drain_at_end().and_then(|()| self.print_all());
        if let Some(tracker) = &self.shared.hazards {
            tracker.remove_stream(self.stream.id());
        }
        match drained {
            Ok(()) => {
                if let Err(error) = self.check() {
                    self.shared.defer(error);
                }
                if let Some(record) = self.error_record.take() {
                    record.set_message_buffer(0);
                    self.shared.records.give_back(record);
                }
            }
            Err(error) => {
                if self.messages.get().is_some() {
                    // Unfinished work may still use the message buffer.
                    let left = AbandonedStream {
                        _error_record: None,
                        _workers: WorkerSetCache::default(),
                        _launch_memory: StreamLaunchMemory::default(),
                        _messages: std::mem::take(&mut self.messages),
                    };
                    self.shared.abandoned_streams.lock().push(left);
                }
                self.shared.defer(error);
            }
        }
    }
}
