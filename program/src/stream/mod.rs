//! The public types of streams and events.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use parking_lot::Mutex;
use quadrants_rhi::{EventHandle, EventOptions, StreamHandle, StreamOptions};
use quadrants_runtime as rt;

use crate::{
    Error, Result, Stream,
    hazards::{
        Clock,
        tracker::{Tracker, wait_tracked},
    },
    profile::origin,
    state::{ProgramInner, ProgramShared, StreamState, order::order_after},
    thread_state::{capture, current_stream, regions},
};

/// What [`capture::refuse`] names.
const HOST_WAIT: &str = "a wait of the host";
const QUERY: &str = "asking whether work is complete";

/// The number of events that this process has made.
static EVENTS: AtomicU64 = AtomicU64::new(1);

pub(crate) fn next_event_number() -> u64 {
    EVENTS.fetch_add(1, Relaxed)
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
    /// [`Error::Kernel`](crate::Error::Kernel) where a kernel on this stream reported an error that was not returned
    /// yet, or an error of the device.
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
        current_stream::with_scope(&self.program, &self.state, body)
    }

    /// Runs `enqueue`, which enqueues work on this stream, in the order of the thread's current stream: the work comes
    /// after all earlier work of the current stream, and before all of its later work. If this stream is the current
    /// one, that is so anyway. The host does not wait.
    ///
    /// The current stream is that of the innermost [`scope`](Self::scope) or block of a region, or else the default
    /// stream of the program.
    ///
    /// # Errors
    /// Those of `enqueue`, or an error of the device.
    pub fn in_current_order<R, E: From<Error>>(
        &self,
        enqueue: impl FnOnce() -> Result<R, E>,
    ) -> Result<R, E> {
        let current = current_stream::with_current_or_default(&self.program, Arc::clone);
        if Arc::ptr_eq(&current, &self.state) {
            return enqueue();
        }
        let shared = &self.program.shared;
        order(shared, &current, &self.state)?;
        let enqueued = regions::with_stream(shared, current.stream.id(), self.id(), enqueue);
        // Also after a failure: a part of the work may be enqueued.
        let ordered = order(shared, &self.state, &current);
        let enqueued = enqueued?;
        ordered?;
        Ok(enqueued)
    }

    pub(crate) fn create(program: &Arc<ProgramInner>, options: StreamOptions) -> Result<Self> {
        let stream = rt::Stream::new(&program.shared.context, options)?;
        Self::of(program, stream)
    }

    /// A stream of the user.
    pub(crate) fn of(program: &Arc<ProgramInner>, stream: Arc<rt::Stream>) -> Result<Self> {
        program.shared.has_streams.store(true, Relaxed);
        Ok(Self { state: StreamState::new(&program.shared, stream)?, program: program.clone() })
    }
}

/// Makes later work of `later` wait for all work of `earlier`.
fn order(shared: &ProgramShared, earlier: &StreamState, later: &StreamState) -> Result<()> {
    let captured = capture::with(shared, |recorder| {
        let event = next_event_number();
        recorder.record_event(event, earlier);
        recorder.wait_event(event, later)
    });
    if let Some(captured) = captured {
        return captured;
    }
    order_after(shared, later, [earlier.stream.newest()])?;
    // The wait is work of the stream: it is not complete before the other one's is.
    let _ = later.stream.next_stamp();
    Ok(())
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
            number: next_event_number(),
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
    /// [`Error::OtherProgram`](crate::Error::OtherProgram), or an error of the device.
    pub fn record(&self, stream: &Stream) -> Result<()> {
        self.program.check_same(&stream.program, "the stream")?;
        self.record_on(&stream.state)
    }

    pub(crate) fn record_on(&self, state: &StreamState) -> Result<()> {
        let captured = capture::with(&self.program.shared, |recorder| {
            recorder.record_event(self.number, state);
        });
        if captured.is_some() {
            return Ok(());
        }
        state.refuse_captured()?;
        let (tracker, stream) = (&self.program.shared.hazards, &state.stream);
        let clock = tracker.as_ref().map(|tracker| tracker.clock_of(stream)).unwrap_or_default();
        let _profiled = origin::enter(stream.id(), self.number);
        self.event.record(stream)?;
        *self.last_record.lock() = LastRecord { stamp: Some(stream.next_stamp()), clock };
        Ok(())
    }

    /// Makes later work of `stream` wait for the recorded work. The host does not wait. An event that was never
    /// recorded is complete.
    ///
    /// # Errors
    /// [`Error::OtherProgram`](crate::Error::OtherProgram), or an error of the device.
    pub fn wait(&self, stream: &Stream) -> Result<()> {
        self.program.check_same(&stream.program, "the stream")?;
        self.wait_on(&stream.state)
    }

    pub(crate) fn wait_on(&self, state: &StreamState) -> Result<()> {
        let captured =
            capture::with(&self.program.shared, |recorder| recorder.wait_event(self.number, state));
        if let Some(captured) = captured {
            return captured;
        }
        state.refuse_captured()?;
        let record = self.tracked_record();
        let _profiled = origin::enter(state.stream.id(), self.number);
        self.event.wait(&state.stream)?;
        if let Some((tracker, record)) = record {
            tracker.add_wait(state.stream.id(), &record.clock);
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
    /// [`Error::Kernel`](crate::Error::Kernel) where a kernel on the recorded stream reported an error that was not
    /// returned yet; then this waits for the whole stream. Or an error of the device.
    pub fn synchronize(&self) -> Result<()> {
        capture::refuse(&self.program.shared, HOST_WAIT)?;
        let record = self.last_record();
        self.wait_at_end()?;
        match record.stamp.and_then(|stamp| self.program.shared.manager.find(stamp)) {
            Some(stream) => {
                stream.print_complete();
                stream.check()
            }
            None => Ok(()),
        }
    }

    /// Waits until the recorded work is complete, without looking for errors of kernels; also during a capture.
    pub(crate) fn wait_at_end(&self) -> Result<()> {
        let (tracker, clock) = (self.program.shared.hazards.as_ref(), self.last_record().clock);
        wait_tracked(tracker, |_| clock, || Ok(self.event.synchronize()?))
    }

    /// Milliseconds from the record of `start` to the record of this event. Both must be timing events and complete.
    ///
    /// # Errors
    /// [`Error::OtherProgram`](crate::Error::OtherProgram), or an error of the device.
    pub fn elapsed_ms_since(&self, start: &Event) -> Result<f32> {
        self.program.check_same(&start.program, "the start event")?;
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
}
