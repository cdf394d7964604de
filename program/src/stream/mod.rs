//! Streams and events as users have them, and the state of a stream.

pub(crate) mod current;
pub(crate) mod manager;

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

use parking_lot::Mutex;
use quadrants_ir::abi::ErrorRecord;
use quadrants_rhi::{EventHandle, EventOptions, StreamHandle, StreamOptions};
use quadrants_runtime as rt;

use crate::{
    Error, Result, capture,
    hazards::{Clock, Tracker, wait_tracked},
    launch::{error_record::RecordSlot, fork_join::WorkerSet, launch_memory::StreamLaunchMemory},
    program::{ProgramInner, ProgramShared},
};

/// What [`capture::refuse`] names.
const HOST_WAIT: &str = "a wait of the host";
const QUERY: &str = "asking whether work is complete";

/// The number of events that this process has made.
static EVENTS: AtomicU64 = AtomicU64::new(0);

/// A stream of a program: a queue of operations that run in order, concurrently with other streams.
///
/// Dropping it waits for its work. An error of that work is kept for
/// [`Program::take_deferred_errors`](crate::Program::take_deferred_errors).
#[derive(Debug)]
pub struct Stream {
    pub(crate) program: Arc<ProgramInner>,
    pub(crate) state: Arc<StreamState>,
}

/// The state that all handles and launches of one stream share.
#[derive(Debug)]
pub(crate) struct StreamState {
    shared: Arc<ProgramShared>,
    pub(crate) stream: Arc<rt::Stream>,
    error_record: Option<RecordSlot>,
    /// The address of the error record.
    record_address: u64,
    /// Whether other code has the driver's handle, and may enqueue work without stamps.
    shared_handle: AtomicBool,
    /// The workers and events of the last region that was launched here.
    pub(crate) worker_set: Mutex<Option<Box<WorkerSet>>>,
    pub(crate) launch_memory: StreamLaunchMemory,
}

/// The resources of a stream that a panicking thread dropped. Kept as long as the program.
#[derive(Debug)]
pub(crate) struct AbandonedStream {
    _error_record: Option<RecordSlot>,
    _worker_set: Option<Box<WorkerSet>>,
    _launch_memory: StreamLaunchMemory,
}

impl StreamState {
    pub(crate) fn new(shared: &Arc<ProgramShared>, stream: Arc<rt::Stream>) -> Result<Arc<Self>> {
        let record = shared.records.take(&shared.context)?;
        let record_address = record.address();
        let foreign = stream.origin() == rt::StreamOrigin::Foreign;
        let state = Arc::new(Self {
            shared: shared.clone(),
            stream,
            error_record: Some(record),
            record_address,
            shared_handle: AtomicBool::new(foreign),
            worker_set: Mutex::new(None),
            launch_memory: StreamLaunchMemory::default(),
        });
        if let Some(tracker) = &shared.hazards {
            tracker.add_stream(&state.stream);
        }
        shared.manager.register(&state);
        Ok(state)
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
        self.check()
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
            self.check()?;
        }
        Ok(complete)
    }

    /// Called by the drop of the user's handle, while others can still find the stream: waits for its work, keeps an
    /// error, and then waits for the leases on it. The default stream stays: the program's tensors need it.
    fn close(&self) {
        if self.stream.origin() == rt::StreamOrigin::Default {
            return;
        }
        if !std::thread::panicking()
            && let Err(error) = self.drain_at_end().and_then(|()| self.check())
        {
            self.shared.defer(error);
        }
        self.shared.manager.retire(self.stream.id());
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.state.close();
    }
}

impl Drop for StreamState {
    fn drop(&mut self) {
        self.shared.manager.remove(self.stream.id());
        if std::thread::panicking() {
            // Without a wait, unfinished work may still use all this.
            let left = AbandonedStream {
                _error_record: self.error_record.take(),
                _worker_set: self.worker_set.get_mut().take(),
                _launch_memory: std::mem::take(&mut self.launch_memory),
            };
            self.shared.abandoned_streams.lock().push(left);
            return;
        }
        // After a wait nothing writes the record any more, so that another stream can have it.
        let drained = self.drain_at_end();
        if let Some(tracker) = &self.shared.hazards {
            tracker.remove_stream(self.stream.id());
        }
        match drained {
            Ok(()) => {
                if let Err(error) = self.check() {
                    self.shared.defer(error);
                }
                if let Some(record) = self.error_record.take() {
                    self.shared.records.give_back(record);
                }
            }
            Err(error) => self.shared.defer(error),
        }
    }
}

impl Stream {
    /// The driver's handle. 0 is the default stream, and on the CPU every stream.
    #[must_use]
    pub fn handle(&self) -> StreamHandle {
        self.state.shared_handle.store(true, Relaxed);
        self.state.stream.handle()
    }

    /// The stream's number in its program, by which messages name it. It is reused after the stream is destroyed.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.state.stream.id()
    }

    /// Whether all work enqueued so far is complete.
    ///
    /// # Errors
    /// Where it is complete, those of [`synchronize`](Self::synchronize); else errors of the device.
    pub fn query(&self) -> Result<bool> {
        capture::refuse(&self.program.shared, QUERY)?;
        self.state.query()
    }

    /// Waits for all work enqueued so far.
    ///
    /// # Errors
    /// [`Error::Kernel`] where a kernel on this stream reported an error that was not returned yet, or an error of the
    /// device.
    pub fn synchronize(&self) -> Result<()> {
        capture::refuse(&self.program.shared, HOST_WAIT)?;
        self.state.synchronize()
    }

    /// Waits for the work in flight, returns its error, and destroys the stream. Neither use nor another destruction is
    /// possible afterwards:
    ///
    /// ```compile_fail,E0382
    /// # fn twice(stream: quadrants_program::Stream) -> quadrants_program::Result<()> {
    /// stream.destroy()?;
    /// stream.destroy()
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`synchronize`](Self::synchronize).
    pub fn destroy(self) -> Result<()> {
        self.synchronize()
    }

    /// Runs `body` with this stream as the thread's current stream for launches of its program. Afterwards the previous
    /// one is current again, also where `body` panics.
    pub fn scope<R>(&self, body: impl FnOnce() -> R) -> R {
        current::with_scope(&self.program, &self.state, body)
    }

    /// Wraps a stream that was made elsewhere in the program's context. It is never destroyed here.
    ///
    /// # Safety
    /// `handle` is a stream of the program's device context, and stays alive as long as the wrapper.
    ///
    /// # Errors
    /// Out of pinned memory, or too many streams at once.
    pub unsafe fn from_raw(program: &crate::Program, handle: StreamHandle) -> Result<Self> {
        let inner = program.inner();
        // SAFETY: by the caller.
        let stream = unsafe { rt::Stream::from_raw(&inner.shared.context, handle)? };
        Ok(Self { state: StreamState::new(&inner.shared, stream)?, program: inner.clone() })
    }

    pub(crate) fn create(program: &Arc<ProgramInner>, options: StreamOptions) -> Result<Self> {
        let stream = rt::Stream::new(&program.shared.context, options)?;
        Ok(Self { state: StreamState::new(&program.shared, stream)?, program: program.clone() })
    }
}

/// An event: a marker in a stream that other streams and the host can wait for.
#[derive(Debug)]
pub struct Event {
    // Before the program, so that the event is destroyed while its context is alive.
    event: rt::Event,
    last_record: Mutex<LastRecord>,
    /// Identifies the event for captures.
    number: u64,
    program: Arc<ProgramInner>,
}

/// The work that the last record of an event stands for.
#[derive(Debug, Default, Clone)]
struct LastRecord {
    stamp: Option<rt::Stamp>,
    /// Empty where hazards are not tracked.
    clock: Clock,
}

impl Event {
    pub(crate) fn create(program: &Arc<ProgramInner>, options: EventOptions) -> Result<Self> {
        Ok(Self {
            event: rt::Event::new(&program.shared.context, options)?,
            last_record: Mutex::default(),
            number: EVENTS.fetch_add(1, Relaxed),
            program: program.clone(),
        })
    }

    /// The driver's handle; 0 on the CPU.
    #[must_use]
    pub fn handle(&self) -> EventHandle {
        self.event.handle()
    }

    /// Records the event: it now stands for all work on `stream` so far. Waits that are enqueued already keep the
    /// earlier record.
    ///
    /// # Errors
    /// [`Error::OtherProgram`], or an error of the device.
    pub fn record(&self, stream: &Stream) -> Result<()> {
        self.same_program(stream)?;
        if capture::is_active()
            && let Some(captured) =
                capture::record(&self.program.shared, self.number, &stream.state)
        {
            return captured;
        }
        let (tracker, stream) = (&self.program.shared.hazards, &stream.state.stream);
        let clock = tracker.as_ref().map(|tracker| tracker.clock_of(stream)).unwrap_or_default();
        self.event.record(stream)?;
        *self.last_record.lock() = LastRecord { stamp: Some(stream.next_stamp()), clock };
        Ok(())
    }

    /// Makes later work of `stream` wait for the recorded work. The host does not wait. An event that was never
    /// recorded is complete.
    ///
    /// # Errors
    /// [`Error::OtherProgram`], or an error of the device.
    pub fn wait(&self, stream: &Stream) -> Result<()> {
        self.same_program(stream)?;
        if capture::is_active()
            && let Some(captured) = capture::wait(&self.program.shared, self.number, &stream.state)
        {
            return captured;
        }
        let record = self.tracked_record();
        self.event.wait(&stream.state.stream)?;
        if let Some((tracker, record)) = record {
            tracker.add_wait(stream.id(), &record.clock);
        }
        Ok(())
    }

    /// Whether the recorded work is complete; true where nothing was recorded.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn query(&self) -> Result<bool> {
        capture::refuse(&self.program.shared, QUERY)?;
        let record = self.tracked_record();
        let reached = self.event.query()?;
        if reached && let Some((tracker, record)) = record {
            tracker.mark_complete(&record.clock);
        }
        Ok(reached)
    }

    /// Waits until the recorded work is complete.
    ///
    /// # Errors
    /// [`Error::Kernel`] where a kernel on the recorded stream reported an error that was not returned yet; then this
    /// waits for the whole stream. Or an error of the device.
    pub fn synchronize(&self) -> Result<()> {
        capture::refuse(&self.program.shared, HOST_WAIT)?;
        let record = self.last_record();
        let wait = || Ok(self.event.synchronize()?);
        wait_tracked(self.program.shared.hazards.as_ref(), |_| record.clock.clone(), wait)?;
        match record.stamp.and_then(|stamp| self.program.shared.manager.find(stamp)) {
            Some(stream) => stream.check(),
            None => Ok(()),
        }
    }

    /// Milliseconds from the record of `start` to the record of this event. Both must be timing events and complete.
    ///
    /// # Errors
    /// [`Error::OtherProgram`], or an error of the device.
    pub fn elapsed_ms_since(&self, start: &Event) -> Result<f32> {
        if !Arc::ptr_eq(&self.program, &start.program) {
            return Err(Error::OtherProgram { what: "the start event" });
        }
        capture::refuse(&self.program.shared, QUERY)?;
        Ok(self.event.elapsed_ms_since(&start.event)?)
    }

    fn last_record(&self) -> LastRecord {
        self.last_record.lock().clone()
    }

    /// The last record, where hazards are tracked.
    fn tracked_record(&self) -> Option<(&Tracker, LastRecord)> {
        self.program.shared.hazards.as_ref().map(|tracker| (tracker, self.last_record()))
    }

    fn same_program(&self, stream: &Stream) -> Result<()> {
        if Arc::ptr_eq(&self.program, &stream.program) {
            Ok(())
        } else {
            Err(Error::OtherProgram { what: "the stream" })
        }
    }
}
