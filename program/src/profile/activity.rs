//! The times of operations by the driver's profiling interface, such as CUPTI or roctracer, where the device has one.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use quadrants_rhi::{Activities, Current, Device, EventHandle, EventOptions, StreamHandle};

/// The number of the next call, in the whole process.
static CALLS: AtomicU64 = AtomicU64::new(1);

/// The event at time 0 of a session.
#[derive(Debug)]
pub(super) struct TimeBase {
    pub(super) event: EventHandle,
    /// The host's time of it.
    pub(super) at: Instant,
}

/// A recording by the profiling interface.
#[derive(Debug)]
pub(super) struct ActivityRecording {
    pub(super) activities: Arc<dyn Activities>,
    /// When the session's base event was complete, by the interface's clock.
    pub(super) origin: u64,
    /// The operation of each call.
    pub(super) calls: HashMap<u64, usize>,
}

/// A call that is being made.
#[derive(Debug)]
pub(super) struct CorrelatedCall {
    activities: Arc<dyn Activities>,
    number: u64,
}

impl CorrelatedCall {
    fn enter(activities: &Arc<dyn Activities>) -> Self {
        let number = CALLS.fetch_add(1, Relaxed);
        activities.enter(number);
        Self { activities: activities.clone(), number }
    }

    /// Ends the call. Returns its number.
    pub(super) fn leave(self) -> u64 {
        self.activities.leave();
        self.number
    }
}

impl ActivityRecording {
    /// Begins to record, if the device has a profiling interface that works. Returns the base event of the session, and
    /// what the timeline says about its times.
    pub(super) fn begin(device: &dyn Device) -> (Option<(Self, TimeBase)>, Option<String>) {
        let activities = match device.activities() {
            Ok(Some(activities)) => activities,
            Ok(None) => return (None, None),
            Err(error) => return (None, Some(format!("times are those of events: {error}"))),
        };
        if let Err(error) = activities.begin() {
            return (None, Some(format!("times are those of events: {error}")));
        }
        match Self::align(device, &activities) {
            Ok(Some((origin, base))) => {
                let note = format!("times are those of {}", activities.name());
                let this = Self { activities, origin, calls: HashMap::new() };
                (Some((this, base)), Some(note))
            }
            failed => {
                activities.end();
                let reason = failed.err().map_or_else(String::new, |error| format!(": {error}"));
                let name = activities.name();
                let note = format!("times are those of events: {name} recorded nothing{reason}");
                (None, Some(note))
            }
        }
    }

    /// Finds out when an event was complete, by the interface's clock: from a fill between it and another event.
    fn align(
        device: &dyn Device,
        activities: &Arc<dyn Activities>,
    ) -> quadrants_rhi::Result<Option<(u64, TimeBase)>> {
        const BYTES: usize = 256;
        /// How many fills are tried, and how long one may take: a host that is delayed after the event would give it a
        /// wrong time.
        const TRIES: u8 = 16;
        const MOST: Duration = Duration::from_micros(100);
        // SAFETY: until the guard is dropped, this thread only calls this device.
        let _current = unsafe { Current::enter(device)? };
        let memory = device.alloc(BYTES)?;
        let mut events = Vec::new();
        let aligned: quadrants_rhi::Result<Option<(u64, Instant)>> = (|| {
            for _ in 0..2 {
                events.push(device.create_event(EventOptions { timing: true })?);
            }
            let (stream, mut number) = (StreamHandle::DEFAULT, 0);
            let mut at = Instant::now();
            // The first fill also loads code.
            for value in 0..TRIES {
                let begin = Instant::now();
                // SAFETY: the memory has the bytes, and the events were created above.
                unsafe {
                    device.event_record(events[0], stream)?;
                    let call = CorrelatedCall::enter(activities);
                    let filled = device.fill_u8_async(memory, value, BYTES, stream);
                    number = call.leave();
                    filled?;
                    device.event_record(events[1], stream)?;
                    device.event_synchronize(events[1])?;
                }
                at = Instant::now();
                if value > 0 && at.duration_since(begin) < MOST {
                    break;
                }
            }
            // SAFETY: both events are recorded and complete.
            let between = unsafe { device.event_elapsed_ms(events[0], events[1])? };
            let taken = activities.take(&|call| call == number);
            let between = Duration::from_secs_f64(f64::from(between.max(0.0)) / 1e3);
            // The runtime may split a fill.
            let start = taken.iter().map(|part| part.start).min();
            let end = taken.iter().map(|part| part.end).max();
            Ok(start.zip(end).map(|(start, end)| {
                let middle = start.midpoint(end);
                let origin = middle.saturating_sub((between / 2).as_nanos() as u64);
                (origin, at.checked_sub(between).unwrap_or(at))
            }))
        })();
        // SAFETY: the fills are complete or were not enqueued, and nothing else uses the memory.
        let freed = unsafe { device.synchronize().and_then(|()| device.free(memory)) };
        let kept = usize::from(freed.is_ok() && matches!(aligned, Ok(Some(_))));
        for event in events.drain(kept.min(events.len())..) {
            // SAFETY: created above, and not used any more.
            drop(unsafe { device.destroy_event(event) });
        }
        freed?;
        let based = aligned?.zip(events.pop());
        Ok(based.map(|((origin, at), event)| (origin, TimeBase { event, at })))
    }

    pub(super) fn enter(&self) -> CorrelatedCall {
        CorrelatedCall::enter(&self.activities)
    }

    pub(super) fn push(&mut self, call: u64, operation: usize) {
        self.calls.insert(call, operation);
    }
}

impl Drop for ActivityRecording {
    fn drop(&mut self) {
        self.activities.end();
    }
}
