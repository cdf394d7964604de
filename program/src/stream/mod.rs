//! Streams and events, as the user holds them.

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

/// What captures refuse.
const WAITED: &str = "a wait of the host";
const ASKED: &str = "asking whether work is complete";

/// How many events this process has made.
static EVENTS: AtomicU64 = AtomicU64::new(0);

/// A stream of a program. Work on it runs in order, beside that of other streams.
///
/// Dropping it waits for its work, and keeps an error of it for
/// [`Program::take_deferred_errors`](crate::Program::take_deferred_errors).
#[derive(Debug)]
pub struct Stream {
    pub(crate) program: Arc<ProgramInner>,
    pub(crate) state: Arc<StreamState>,
}

/// What all handles and launches of one stream share.
#[derive(Debug)]
pub(crate) struct StreamState {
    shared: Arc<ProgramShared>,
    pub(crate) stream: Arc<rt::Stream>,
    record: Option<RecordSlot>,
    /// Where the record is.
    record_address: u64,
    /// Whether others have the handle, who may enqueue what has no stamp.
    shared_handle: AtomicBool,
    /// What the last region launched here forked to and joined by.
    pub(crate) worker_set: Mutex<Option<Box<WorkerSet>>>,
    pub(crate) launch_memory: StreamLaunchMemory,
}

/// What a stream had that was dropped by a panicking thread; kept as long as the program.
#[derive(Debug)]
pub(crate) struct AbandonedStream {
    _record: Option<RecordSlot>,
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
            record: Some(record),
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

    /// Has the stream's next launch report as if it were another one than the last that did: in the order of the
    /// stream, for launches whose number was used before.
    pub(crate) fn report_anew(&self, context: &rt::Context) -> rt::Result<()> {
        let Some(record) = &self.record else { return Ok(()) };
        let (claim, none) = (record.claim(), ErrorRecord::NO_LAUNCH.to_ne_bytes());
        // SAFETY: the word is the record's, which the stream has as long as it lives; kernels of this stream alone change
        // it.
        let filled = unsafe {
            context.device().fill_u8_async(claim, none[0], none.len(), self.stream.handle())
        };
        context.observe(filled)
    }

    #[inline]
    pub(crate) fn record_address(&self) -> u64 {
        self.record_address
    }

    /// Whether a kernel on this stream reported something. One load; no driver call.
    #[inline]
    pub(crate) fn has_report(&self) -> bool {
        // SAFETY: the record is the stream's until its last owner drops it, and nobody else has a reference then.
        unsafe { RecordSlot::is_set_at(self.record_address) }
    }

    /// Reports what a kernel on this stream reported, once: looks, drains, takes.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        if self.has_report() { self.report() } else { Ok(()) }
    }

    #[cold]
    fn report(&self) -> Result<()> {
        let Some(record) = &self.record else { return Ok(()) };
        // What another thread enqueues just now may still write it; then it is not full, and the next look finds it.
        if !self.stream.is_idle() {
            self.drain()?;
        }
        match self.shared.records.take_report(record, |found| self.shared.launcher.decode(found)) {
            Some(error) => Err(Box::new(error).into()),
            None => Ok(()),
        }
    }

    pub(crate) fn synchronize(&self) -> Result<()> {
        self.drain()?;
        self.check()
    }

    /// Waits for all work, and reports nothing.
    fn drain(&self) -> Result<()> {
        let clock = |tracker: &Tracker| tracker.clock_of(&self.stream);
        wait_tracked(self.shared.hazards.as_ref(), clock, || Ok(self.stream.synchronize()?))
    }

    /// Waits for all work, unless a wait has shown it complete, and reports nothing.
    fn drain_at_end(&self) -> Result<()> {
        let newest = self.stream.newest();
        if self.shared_handle.load(Relaxed) || !self.stream.is_idle() {
            return self.drain();
        }
        // A wait that was made for something else says nothing of what the stream was told to wait for since.
        if let Some(tracker) = &self.shared.hazards {
            tracker.mark_complete(&Clock::of(newest));
        }
        Ok(())
    }

    /// Asks whether all work is complete, and where it is, reports.
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

    /// What the drop of the stream's handle does while others can still find the stream: waits for its work,
    /// keeps an error, and then waits for the others. The default stream stays for the program's tensors.
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
            // Nothing is waited for, and unfinished work may still use all this.
            let left = AbandonedStream {
                _record: self.record.take(),
                _worker_set: self.worker_set.get_mut().take(),
                _launch_memory: std::mem::take(&mut self.launch_memory),
            };
            self.shared.abandoned_streams.lock().push(left);
            return;
        }
        // After a wait nothing writes the record any more, so that it can go to another stream.
        let drained = self.drain_at_end();
        if let Some(tracker) = &self.shared.hazards {
            tracker.remove_stream(self.stream.id());
        }
        match drained {
            Ok(()) => {
                if let Err(error) = self.check() {
                    self.shared.defer(error);
                }
                if let Some(record) = self.record.take() {
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

    /// The stream's number within its program, by which messages name it. One that is gone gives it to a later
    /// stream.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.state.stream.id()
    }

    /// Whether all work enqueued so far is complete.
    ///
    /// # Errors
    /// Where it is complete, as for [`synchronize`](Self::synchronize); else what the device returns.
    pub fn query(&self) -> Result<bool> {
        capture::refuse(&self.program.shared, ASKED)?;
        self.state.query()
    }

    /// Waits for all work enqueued so far.
    ///
    /// # Errors
    /// [`Error::Kernel`] where a kernel on this stream reported an error that was not yet returned,
    /// or what the device returns.
    pub fn synchronize(&self) -> Result<()> {
        capture::refuse(&self.program.shared, WAITED)?;
        self.state.synchronize()
    }

    /// Waits for the work in flight, reports its error, and destroys the stream. It cannot be used, or destroyed
    /// again, afterwards:
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

    /// Runs `body` with this stream as the thread's current one for launches of its program. The
    /// previous one is current again afterwards, also where `body` panics.
    pub fn scope<R>(&self, body: impl FnOnce() -> R) -> R {
        current::within(&self.program, &self.state, body)
    }

    /// Wraps a stream made elsewhere in a program's context. It is never destroyed here.
    ///
    /// # Safety
    /// `handle` is a stream of the program's device context, and its owner keeps it alive as long as
    /// the wrapper lives.
    ///
    /// # Errors
    /// Out of pinned memory, or too many streams at once.
    pub unsafe fn from_raw(program: &crate::Program, handle: StreamHandle) -> Result<Self> {
        let inner = program.inner();
        // SAFETY: the caller's promise.
        let stream = unsafe { rt::Stream::from_raw(&inner.shared.context, handle)? };
        Ok(Self { state: StreamState::new(&inner.shared, stream)?, program: inner.clone() })
    }

    pub(crate) fn create(program: &Arc<ProgramInner>, options: StreamOptions) -> Result<Self> {
        let stream = rt::Stream::new(&program.shared.context, options)?;
        Ok(Self { state: StreamState::new(&program.shared, stream)?, program: program.clone() })
    }
}

/// An event: a mark in a stream that other streams and the host can wait for.
#[derive(Debug)]
pub struct Event {
    // Before the program, so that the event goes while its context lives.
    event: rt::Event,
    marked: Mutex<Mark>,
    /// By which captures know it.
    number: u64,
    program: Arc<ProgramInner>,
}

/// What the latest record of an event is behind.
#[derive(Debug, Default, Clone)]
struct Mark {
    stamp: Option<rt::Stamp>,
    /// Empty where hazards are not looked for.
    clock: Clock,
}

impl Event {
    pub(crate) fn create(program: &Arc<ProgramInner>, options: EventOptions) -> Result<Self> {
        Ok(Self {
            event: rt::Event::new(&program.shared.context, options)?,
            marked: Mutex::default(),
            number: EVENTS.fetch_add(1, Relaxed),
            program: program.clone(),
        })
    }

    /// The driver's handle; 0 on the CPU.
    #[must_use]
    pub fn handle(&self) -> EventHandle {
        self.event.handle()
    }

    /// Marks everything enqueued on `stream` so far. A later record moves the mark; waits already
    /// enqueued keep the one they saw.
    ///
    /// # Errors
    /// [`Error::OtherProgram`], or what the device returns.
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
        *self.marked.lock() = Mark { stamp: Some(stream.next_stamp()), clock };
        Ok(())
    }

    /// Makes later work of `stream` wait for the mark. The host does not wait. An event that was
    /// never recorded holds nothing up.
    ///
    /// # Errors
    /// [`Error::OtherProgram`], or what the device returns.
    pub fn wait(&self, stream: &Stream) -> Result<()> {
        self.same_program(stream)?;
        if capture::is_active()
            && let Some(captured) = capture::wait(&self.program.shared, self.number, &stream.state)
        {
            return captured;
        }
        let mark = self.tracked_mark();
        self.event.wait(&stream.state.stream)?;
        if let Some((tracker, mark)) = mark {
            tracker.add_wait(stream.id(), &mark.clock);
        }
        Ok(())
    }

    /// Whether the mark is reached; true where there is none.
    ///
    /// # Errors
    /// What the device returns.
    pub fn query(&self) -> Result<bool> {
        capture::refuse(&self.program.shared, ASKED)?;
        let mark = self.tracked_mark();
        let reached = self.event.query()?;
        if reached && let Some((tracker, mark)) = mark {
            tracker.mark_complete(&mark.clock);
        }
        Ok(reached)
    }

    /// Waits until the mark is reached.
    ///
    /// # Errors
    /// [`Error::Kernel`] where a kernel on the marked stream reported an error that was not yet returned;
    /// then it waits for the stream. Or what the device returns.
    pub fn synchronize(&self) -> Result<()> {
        capture::refuse(&self.program.shared, WAITED)?;
        let mark = self.mark();
        let wait = || Ok(self.event.synchronize()?);
        wait_tracked(self.program.shared.hazards.as_ref(), |_| mark.clock.clone(), wait)?;
        match mark.stamp.and_then(|mark| self.program.shared.manager.find(mark)) {
            Some(stream) => stream.check(),
            None => Ok(()),
        }
    }

    /// Milliseconds from `start`'s mark to this one. Both are timing events whose marks are reached.
    ///
    /// # Errors
    /// [`Error::OtherProgram`], or what the device returns.
    pub fn elapsed_ms_since(&self, start: &Event) -> Result<f32> {
        if !Arc::ptr_eq(&self.program, &start.program) {
            return Err(Error::OtherProgram { what: "the start event" });
        }
        capture::refuse(&self.program.shared, ASKED)?;
        Ok(self.event.elapsed_ms_since(&start.event)?)
    }

    fn mark(&self) -> Mark {
        self.marked.lock().clone()
    }

    /// The mark for whoever follows the order of work, where somebody does.
    fn tracked_mark(&self) -> Option<(&Tracker, Mark)> {
        self.program.shared.hazards.as_ref().map(|tracker| (tracker, self.mark()))
    }

    fn same_program(&self, stream: &Stream) -> Result<()> {
        if Arc::ptr_eq(&self.program, &stream.program) {
            Ok(())
        } else {
            Err(Error::OtherProgram { what: "the stream" })
        }
    }
}
