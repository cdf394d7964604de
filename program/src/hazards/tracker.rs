//! The hazard tracker: the order of work on streams, and the conflicts of launches with the recorded uses of their
//! tensors.

use std::{
    collections::{HashMap, HashSet},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use parking_lot::Mutex;
use quadrants_rhi::StreamHandle;
use quadrants_runtime::{self as rt, AccessOrigin, Buffer, BufferUse, Stamp, StridedRange};
use smallvec::SmallVec;

use super::{Clock, Hazards};
use crate::{Error, Result, error::Hazard};

/// How many hazards [`Program::take_hazards`](crate::Program::take_hazards) holds; later ones are only logged.
const MAX_HAZARDS: usize = 1000;

/// Tracks the order of a program's work and the uses of its buffers, to find hazards.
///
/// Each stream has a vector clock of the work that its next work is ordered after. Events carry clocks from stream to
/// stream; host waits mark work as complete. Each buffer keeps its uses. A launch is checked against them before
/// anything is enqueued, and recorded among them afterwards. Borrows keep two threads from launching conflicting work
/// at the same time, so that no conflict is missed in between.
#[derive(Debug)]
pub(crate) struct Tracker {
    /// Never [`Hazards::Explicit`].
    policy: Hazards,
    /// Also guards the access histories of all buffers of the program.
    order: Mutex<StreamOrder>,
    reported: Mutex<Reported>,
    inserted_waits: AtomicU64,
}

#[derive(Debug, Default)]
struct StreamOrder {
    /// What the next work of each stream is ordered after, besides the stream's own earlier work. Indexed by the
    /// stream's number: numbers are small.
    clocks: Vec<Clock>,
    /// Work that is known to be complete.
    complete: Clock,
    /// Foreign streams: others may order them without this program.
    foreign: HashMap<u32, StreamHandle>,
    default: Option<u32>,
}

/// The hazards reported so far.
#[derive(Debug, Default)]
struct Reported {
    pairs: HashSet<[AccessOrigin; 2]>,
    hazards: Vec<Hazard>,
}

/// The clocks of streams before a wait for them: for each, its newest stamp and what that work is ordered after.
pub(crate) struct PendingWait(SmallVec<[(Stamp, Clock); 1]>);

/// Pairs of uses that conflict, the earlier one first.
pub(crate) type Conflicts = SmallVec<[(BufferUse, BufferUse); 1]>;

pub(crate) trait BufferUses {
    /// Passes each use to `visit`: the buffer, whether it is written, the launch and its parameter, and what computes
    /// the used bytes.
    fn each(&self, visit: impl FnMut(&Buffer, bool, AccessOrigin, &dyn Fn() -> StridedRange));
}

impl StreamOrder {
    fn clock(&self, stream: u32) -> Option<&Clock> {
        self.clocks.get(stream as usize)
    }

    /// Whether work at `stamp` is ordered before the next work of `stream`, whose clock is `own`.
    fn is_before(&self, stamp: Stamp, stream: u32, own: Option<&Clock>) -> bool {
        stamp.stream == stream
            || own.is_some_and(|own| own.covers(stamp))
            || self.complete.covers(stamp)
    }

    /// The clock that covers `newest`, the newest work of its stream, and all that it is ordered after.
    fn clock_of(&self, newest: Stamp) -> Clock {
        let mut clock = self.clock(newest.stream).cloned().unwrap_or_default();
        clock.raise(newest);
        clock
    }

    /// Whether the driver may order the two streams by itself: it orders blocking foreign streams with the default
    /// stream, and a foreign stream may be wrapped twice.
    fn may_be_ordered(&self, one: u32, other: u32) -> bool {
        let is_default = |stream| self.default == Some(stream);
        match (self.foreign.get(&one), self.foreign.get(&other)) {
            (Some(one), Some(other)) => one == other,
            (Some(_), None) => is_default(other),
            (None, Some(_)) => is_default(one),
            (None, None) => false,
        }
    }
}

impl PendingWait {
    /// All work that is complete after a wait that covered `completed`. A stream may have got more work since the
    /// clocks were read, whose dependencies are not known here; only the clock read before is joined.
    pub(crate) fn completed(&self, completed: impl IntoIterator<Item = Stamp>) -> Clock {
        let mut all = Clock::default();
        for stamp in completed {
            all.raise(stamp);
            for (newest, clock) in &self.0 {
                if newest.stream == stamp.stream && newest.sequence <= stamp.sequence {
                    all.join(clock);
                }
            }
        }
        all
    }
}

impl Tracker {
    /// None for [`Hazards::Explicit`].
    pub(crate) fn new(hazards: Hazards) -> Option<Self> {
        (hazards != Hazards::Explicit).then(|| Self {
            policy: hazards,
            order: Mutex::default(),
            reported: Mutex::default(),
            inserted_waits: AtomicU64::new(0),
        })
    }

    pub(crate) fn hazards(&self) -> Hazards {
        self.policy
    }

    pub(crate) fn take_hazards(&self) -> Vec<Hazard> {
        std::mem::take(&mut self.reported.lock().hazards)
    }

    pub(crate) fn inserted_waits(&self) -> u64 {
        self.inserted_waits.load(Relaxed)
    }

    /// Adds a stream. The order of the default stream and of foreign ones is not only this program's.
    pub(crate) fn add_stream(&self, stream: &rt::Stream) {
        let mut order = self.order.lock();
        match stream.origin() {
            rt::StreamOrigin::Owned => {}
            rt::StreamOrigin::Default => order.default = Some(stream.id()),
            rt::StreamOrigin::Foreign => {
                order.foreign.insert(stream.id(), stream.handle());
            }
        }
    }

    /// Removes a stream. A later stream may get its number.
    pub(crate) fn remove_stream(&self, stream: u32) {
        let mut order = self.order.lock();
        if let Some(clock) = order.clocks.get_mut(stream as usize) {
            *clock = Clock::default();
        }
        order.foreign.remove(&stream);
    }

    /// The clock that covers all work of a stream so far, and all that it is ordered after.
    pub(crate) fn clock_of(&self, stream: &rt::Stream) -> Clock {
        self.order.lock().clock_of(stream.newest())
    }

    /// Reads the clocks of streams before a wait for the work that is their newest: `newest`.
    pub(crate) fn begin_wait(&self, newest: impl IntoIterator<Item = Stamp>) -> PendingWait {
        let order = self.order.lock();
        PendingWait(newest.into_iter().map(|newest| (newest, order.clock_of(newest))).collect())
    }

    /// Orders the next work of `stream` after `clock`.
    pub(crate) fn add_wait(&self, stream: u32, clock: &Clock) {
        let (mut order, index) = (self.order.lock(), stream as usize);
        if order.clocks.len() <= index {
            order.clocks.resize_with(index + 1, Clock::default);
        }
        order.clocks[index].join(clock);
    }

    pub(crate) fn mark_complete(&self, clock: &Clock) {
        self.order.lock().complete.join(clock);
    }

    /// The earlier uses that conflict with those of a launch and have no order with it. `newest` is the newest stamp of
    /// the launch stream.
    pub(crate) fn conflicts(&self, launch: &impl BufferUses, newest: Stamp) -> Conflicts {
        let mut conflicts = Conflicts::new();
        let order = self.order.lock();
        let own = order.clock(newest.stream);
        launch.each(|buffer, writes, by, bytes| {
            let visit = |earlier: &BufferUse| {
                // The order is checked first: in most launches it decides.
                if (earlier.writes || writes) && !order.is_before(earlier.stamp, newest.stream, own)
                {
                    let later = BufferUse { stamp: newest, bytes: bytes(), writes, by };
                    if earlier.conflicts_with(&later) {
                        conflicts.push((earlier.clone(), later));
                    }
                }
            };
            // SAFETY: `order` is locked here and in `record_launch`, and a buffer belongs to one program.
            unsafe { buffer.access_history().each(visit) };
        });
        conflicts
    }

    /// Whether the driver may order the two streams by itself.
    pub(crate) fn may_be_ordered(&self, one: u32, other: u32) -> bool {
        self.order.lock().may_be_ordered(one, other)
    }

    /// Whether conflicts are resolved by waits, which are then counted.
    pub(crate) fn inserts_waits(&self) -> bool {
        self.policy == Hazards::Auto
    }

    pub(crate) fn count_inserted_waits(&self, count: u64) {
        self.inserted_waits.fetch_add(count, Relaxed);
    }

    /// Reports two uses that conflict, by their launches.
    ///
    /// # Errors
    /// [`Error::Hazard`] under [`Hazards::Check`].
    pub(crate) fn report(
        &self,
        by: [AccessOrigin; 2],
        hazard: impl FnOnce() -> Hazard,
    ) -> Result<()> {
        if self.policy == Hazards::Report && !self.reported.lock().pairs.insert(by) {
            return Ok(());
        }
        let hazard = hazard();
        if self.policy == Hazards::Check {
            return Err(Error::Hazard(Box::new(hazard)));
        }
        log(&hazard);
        let mut reported = self.reported.lock();
        if reported.hazards.len() < MAX_HAZARDS {
            reported.hazards.push(hazard);
        }
        Ok(())
    }

    /// Forgets the uses of a buffer: all later ones are ordered after them.
    pub(crate) fn forget(&self, buffer: &Buffer) {
        let _order = self.order.lock();
        // SAFETY: `order` is locked here and in the other users of the history.
        unsafe { buffer.access_history().clear() };
    }

    /// Records the uses of a launch. Called after it is enqueued, with its stamp.
    pub(crate) fn record_launch(&self, launch: &impl BufferUses, stamp: Stamp) {
        let order = self.order.lock();
        let own = order.clock(stamp.stream);
        launch.each(|buffer, writes, by, bytes| {
            // SAFETY: `order` is locked here and in `conflicts`, and a buffer belongs to one program.
            unsafe {
                buffer.access_history().put(
                    BufferUse { stamp, bytes: bytes(), writes, by },
                    |old| order.complete.covers(old),
                    |old| order.is_before(old, stamp.stream, own),
                );
            }
        });
    }
}

/// Logs a hazard, so that it is seen without a subscriber too. A standard error that is closed is no error.
fn log(hazard: &Hazard) {
    if tracing::dispatcher::has_been_set() {
        tracing::warn!("{hazard}");
    } else {
        // Tests capture what this macro prints, which panics where it cannot.
        let _ = catch_unwind(AssertUnwindSafe(|| eprintln!("warning: {hazard}")));
    }
}

/// Runs `wait`, a host wait for the work that `clock` covers, and marks that work as complete. The clock is read before
/// the wait.
pub(crate) fn wait_tracked<R>(
    tracker: Option<&Tracker>,
    clock: impl FnOnce(&Tracker) -> Clock,
    wait: impl FnOnce() -> Result<R>,
) -> Result<R> {
    let Some(tracker) = tracker else { return wait() };
    let clock = clock(tracker);
    let waited = wait()?;
    tracker.mark_complete(&clock);
    Ok(waited)
}
