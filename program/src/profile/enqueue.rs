//! Operations of a recording: the events around each, its call at the profiling interface, and the reading of times.

use std::time::Instant;

use quadrants_rhi::{EventHandle, EventOptions, StreamHandle};

use super::{
    activity::{ActivityRecording, CorrelatedCall},
    device::RecordingDevice,
    origin::{self, OriginGuard},
    session::{ForeignNames, OperationDetails, RecordedOperation, Session, UntimedOperation},
};

/// How many operations may be pending before their times are read.
const PENDING: usize = 4096;

/// An operation that is about to be enqueued.
pub(super) struct Begun {
    /// The begin of the session, which identifies it.
    session: Instant,
    track: usize,
    events: Option<(EventHandle, EventHandle)>,
    /// The call at the profiling interface.
    call: Option<CorrelatedCall>,
    at: Instant,
}

/// A foreign operation that is being enqueued. Its drop records it, also where the other code panics.
pub(crate) struct ForeignGuard<'a> {
    device: &'a RecordingDevice,
    stream: StreamHandle,
    names: ForeignNames,
    begun: Option<Begun>,
    _origin: OriginGuard,
}

impl Drop for ForeignGuard<'_> {
    fn drop(&mut self) {
        if let Some(begun) = self.begun.take() {
            let what = |_: &Session| OperationDetails::Foreign(self.names);
            self.device.end_operation(begun, self.stream, true, what);
        }
    }
}

impl RecordingDevice {
    /// Records what other code enqueues on a stream until the guard is dropped.
    pub(crate) fn foreign(
        &self,
        (id, stream): (u32, StreamHandle),
        names: ForeignNames,
    ) -> ForeignGuard<'_> {
        let origin = origin::enter(id, 0);
        let begun = self.begin_operation(stream, true);
        ForeignGuard { device: self, stream, names, begun, _origin: origin }
    }

    pub(super) fn begin_operation(&self, stream: StreamHandle, by_events: bool) -> Option<Begun> {
        let (began, track) = self.track(stream)?;
        let (events, is_exact) = {
            let mut session = self.session.lock();
            let session = session.as_mut().filter(|session| session.began == began)?;
            if !session.has_room() {
                return None;
            }
            let is_exact = session.exact.is_some();
            let needs_events = self.asynchronous && (by_events || !is_exact);
            let mut event = || session.idle_events.pop();
            (needs_events.then(|| [event(), event()]), is_exact)
        };
        let begun = |events| {
            let call = if is_exact { self.enter_call() } else { None };
            Some(Begun { session: began, track, events, call, at: Instant::now() })
        };
        let Some(events) = events else { return begun(None) };
        let mut made = events.map(|event| {
            event.or_else(|| self.inner.create_event(EventOptions { timing: true }).ok())
        });
        if let [Some(start), Some(end)] = made {
            // SAFETY: the recording owns the event; the caller of the operation guarantees the stream.
            if unsafe { self.inner.event_record(start, stream) }.is_ok() {
                return begun(Some((start, end)));
            }
        }
        // Without events the operation is recorded, but has no times.
        self.give_back(made.iter_mut().filter_map(Option::take));
        begun(None)
    }

    fn enter_call(&self) -> Option<CorrelatedCall> {
        self.session.lock().as_ref()?.exact.as_ref().map(ActivityRecording::enter)
    }

    fn give_back(&self, events: impl Iterator<Item = EventHandle>) {
        let mut locked = self.session.lock();
        if let Some(session) = &mut *locked {
            session.idle_events.extend(events);
            return;
        }
        drop(locked);
        self.destroy(events);
    }

    pub(super) fn end_operation(
        &self,
        begun: Begun,
        stream: StreamHandle,
        enqueued: bool,
        what: impl FnOnce(&Session) -> OperationDetails,
    ) {
        let ended = Instant::now();
        let call = begun.call.map(CorrelatedCall::leave);
        let timed = match begun.events {
            // SAFETY: as in `begin_operation`.
            Some((_, end)) => enqueued && unsafe { self.inner.event_record(end, stream) }.is_ok(),
            None => false,
        };
        let both = |(start, end): (EventHandle, EventHandle)| [start, end];
        let is_full = {
            let mut locked = self.session.lock();
            let Some(session) = locked.as_mut().filter(|session| session.began == begun.session)
            else {
                drop(locked);
                return self.destroy(begun.events.into_iter().flat_map(both));
            };
            if !enqueued {
                session.idle_events.extend(begun.events.into_iter().flat_map(both));
                return;
            }
            let since = |at: Instant| at.saturating_duration_since(session.began);
            let submitted = since(begun.at);
            let times = (!self.asynchronous)
                .then(|| (submitted.as_nanos() as f64, since(ended).as_nanos() as f64));
            let what = what(session);
            let operation =
                session.push(RecordedOperation { what, track: begun.track, times, submitted });
            if let (Some(exact), Some(call)) = (&mut session.exact, call) {
                exact.push(call, operation);
            }
            match begun.events {
                Some(events) if timed => {
                    session.pending.push_back(UntimedOperation {
                        operation,
                        track: begun.track,
                        events,
                    });
                }
                events => session.idle_events.extend(events.into_iter().flat_map(both)),
            }
            session.pending.len() > PENDING && !session.is_reading
        };
        if is_full {
            while self.read_times(PENDING / 2) {}
        }
    }

    /// Reads the times of the oldest pending operation, where more than `keep` are pending. Waits for it where twice as
    /// many are as is usual. Returns whether there may be another.
    pub(super) fn read_times(&self, keep: usize) -> bool {
        let (began, pending, from, must_wait) = {
            let mut session = self.session.lock();
            let Some(session) = session.as_mut() else { return false };
            if session.pending.len() <= keep || std::mem::replace(&mut session.is_reading, true) {
                return false;
            }
            let Some(pending) = session.pending.pop_front() else { return false };
            let base = session.base.map(|base| (base, 0.0));
            let must_wait = session.pending.len() > 2 * PENDING;
            let from = session.tracks[pending.track].anchor.or(base);
            (session.began, pending, from, must_wait)
        };
        let (start, end) = pending.events;
        // SAFETY: the recording owns the events.
        let complete = unsafe {
            match must_wait {
                true => self.inner.event_synchronize(end).map(|()| true),
                false => self.inner.event_query(end),
            }
        };
        // SAFETY: as above.
        let elapsed = |from, to| unsafe { self.inner.event_elapsed_ms(from, to) };
        let read = || {
            let (event, time) = from?;
            let started = time + 1e6 * f64::from(elapsed(event, start).ok()?);
            Some((started, started + 1e6 * f64::from(elapsed(start, end).ok()?)))
        };
        let times = if matches!(complete, Ok(true)) { read() } else { None };
        let mut locked = self.session.lock();
        let Some(session) = locked.as_mut().filter(|session| session.began == began) else {
            drop(locked);
            self.destroy([start, end]);
            return false;
        };
        session.is_reading = false;
        if matches!(complete, Ok(false)) {
            session.pending.push_front(pending);
            return false;
        }
        session.idle_events.push(end);
        match times {
            Some((started, ended)) => {
                session.operations[pending.operation].times = Some((started, ended.max(started)));
                let before = session.tracks[pending.track].anchor.replace((start, started));
                session.idle_events.extend(before.map(|(event, _)| event));
            }
            None => session.idle_events.push(start),
        }
        true
    }
}
