//! Hazards: launches on different streams that use the same bytes, one of them writing, with nothing that orders them.
//!
//! Each stream has a vector clock of the work that its next work comes behind; events carry clocks from stream to
//! stream, waits of the host say what is over. A tensor's memory keeps its uses. A launch is held against them before
//! anything is enqueued, and put among them behind it. Borrows keep two threads from launching a conflict at the
//! same time, so that nothing is missed in between.

mod clock;

use std::{
    collections::{HashMap, HashSet},
    fmt,
    ops::Range,
    panic::Location,
    str::FromStr,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use parking_lot::Mutex;
use quadrants_rhi::{StreamHandle, environment};
use quadrants_runtime::{self as rt, Buffer, Origin, Stamp, Use};
use smallvec::SmallVec;

pub(crate) use clock::Clock;

use crate::{
    Error, Result,
    launch::{arguments::TensorArg, context::TensorParam},
    program::ProgramShared,
    stream::StreamState,
};

/// The environment variable that says what a program does about hazards, where its builder does not:
/// `explicit`, `report`, `check` or `auto`.
pub const HAZARDS_VARIABLE: &str = "QUADRANTS_HAZARDS";

/// So many hazards are kept for [`Program::take_hazards`](crate::Program::take_hazards); later ones are only logged.
const KEPT: usize = 1000;

/// What a program does about hazards: launches on different streams that use the same bytes, one of them writing, with
/// nothing that orders them.
///
/// Events order streams, and so do waits of the host for a stream, an event, the device or a tensor's elements.
///
/// A kernel is taken to use all elements of a tensor, or of the part of one that it is given: of structs those fields alone
/// that it names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Hazards {
    /// Nothing: streams are the user's to order. The default where debug assertions are off.
    Explicit,
    /// Says so once for each pair of launches, by `tracing::warn!` and [`Program::take_hazards`](crate::Program::take_hazards).
    /// The default where debug assertions are on.
    Report,
    /// Refuses the later launch with [`Error::Hazard`].
    Check,
    /// Makes the later launch's stream wait for what the other has been given so far, and counts that
    /// ([`Program::inserted_waits`](crate::Program::inserted_waits)).
    Auto,
}

/// Two launches that use the same bytes, one of them writing, with nothing that orders them.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Hazard {
    /// The launch that was submitted first.
    pub earlier: HazardUse,
    /// The launch that was submitted later.
    pub later: HazardUse,
}

/// One launch's part in a [`Hazard`].
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct HazardUse {
    /// The kernel.
    pub kernel: String,
    /// The tensor parameter.
    pub parameter: String,
    /// Whether it writes what the parameter stands for.
    pub writes: bool,
    /// The bytes of the tensor's memory, from the first to the last.
    pub bytes: Range<usize>,
    /// The number of the stream, as [`Stream::id`](crate::Stream::id) gives it.
    pub stream: u32,
    /// Where the launch is written.
    pub at: &'static Location<'static>,
}

impl Default for Hazards {
    fn default() -> Self {
        if cfg!(debug_assertions) { Self::Report } else { Self::Explicit }
    }
}

impl FromStr for Hazards {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Ok(match name {
            "explicit" => Self::Explicit,
            "report" => Self::Report,
            "check" => Self::Check,
            "auto" => Self::Auto,
            _ => return Err(Error::UnknownHazards { name: name.to_owned() }),
        })
    }
}

impl Hazards {
    /// What the environment says, or the default.
    pub(crate) fn from_env() -> Result<Self> {
        match environment::text(HAZARDS_VARIABLE)? {
            Some(name) => name.parse(),
            None => Ok(Self::default()),
        }
    }
}

impl fmt::Display for Hazard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let does = |one: &HazardUse| if one.writes { "writes" } else { "reads" };
        let Self { earlier, later } = self;
        write!(
            f,
            "`{}` on stream {} ({}) {} `{}`, and nothing orders it behind `{}` on stream {} ({}), which {} the same \
             memory as `{}`: record an event there and make stream {} wait for it",
            later.kernel,
            later.stream,
            later.at,
            does(later),
            later.parameter,
            earlier.kernel,
            earlier.stream,
            earlier.at,
            does(earlier),
            earlier.parameter,
            later.stream,
        )
    }
}

/// Follows the order of a program's work, where hazards are of interest.
#[derive(Debug)]
pub(crate) struct Tracker {
    /// Never [`Hazards::Explicit`].
    policy: Hazards,
    /// Also guards the uses of all buffers of the program.
    order: Mutex<Order>,
    told: Mutex<Told>,
    inserted: AtomicU64,
}

#[derive(Debug, Default)]
struct Order {
    /// What the next work of each stream comes behind, its own earlier work apart; by number, as numbers are small.
    streams: Vec<Clock>,
    /// What is over.
    complete: Clock,
    /// Streams whose order is not ours alone to know.
    foreign: HashMap<u32, StreamHandle>,
    default: Option<u32>,
}

#[derive(Debug, Default)]
struct Told {
    pairs: HashSet<[Origin; 2]>,
    hazards: Vec<Hazard>,
}

/// What the newest work of some streams comes behind.
pub(crate) struct Before(SmallVec<[(Stamp, Clock); 1]>);

/// How a launch uses its arguments.
#[derive(Clone, Copy)]
pub(crate) struct LaunchUses<'a> {
    pub(crate) kernel: u32,
    /// What the tensors are given for, in order.
    pub(crate) params: &'a [TensorParam],
    pub(crate) tensors: &'a [TensorArg<'a>],
    pub(crate) at: &'static Location<'static>,
}

impl<'a> LaunchUses<'a> {
    #[inline]
    fn each(&self, mut see: impl FnMut(&TensorArg<'a>, &Buffer, bool, Origin)) {
        for (tensor, param) in self.tensors.iter().zip(self.params) {
            if let (Some(core), Some(writes)) = (tensor.core(), param.touch) {
                let by = Origin { kernel: self.kernel, parameter: param.number, at: self.at };
                see(tensor, &core.buffer, writes, by);
            }
        }
    }
}

impl Order {
    fn of(&self, stream: u32) -> Option<&Clock> {
        self.streams.get(stream as usize)
    }

    /// Whether work at `stamp` comes before the next work of `stream`.
    fn is_before(&self, stamp: Stamp, stream: u32, own: Option<&Clock>) -> bool {
        stamp.stream == stream
            || own.is_some_and(|own| own.covers(stamp))
            || self.complete.covers(stamp)
    }

    /// All work up to now, `newest` the last of its stream.
    fn up_to(&self, newest: Stamp) -> Clock {
        let mut clock = self.of(newest.stream).cloned().unwrap_or_default();
        clock.raise(newest);
        clock
    }

    /// Whether the driver may order the two without us: blocking streams of others with the default stream, and two
    /// names of one stream.
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

impl Before {
    /// All that comes before, where a wait was for the work up to `over`: of a stream that had been given more by then,
    /// because others had waited for so much meanwhile, no more than that.
    fn with(&self, over: impl IntoIterator<Item = Stamp>) -> Clock {
        let mut all = Clock::default();
        for stamp in over {
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
    /// None where hazards are not looked for.
    pub(crate) fn new(hazards: Hazards) -> Option<Self> {
        (hazards != Hazards::Explicit).then(|| Self {
            policy: hazards,
            order: Mutex::default(),
            told: Mutex::default(),
            inserted: AtomicU64::new(0),
        })
    }

    pub(crate) fn hazards(&self) -> Hazards {
        self.policy
    }

    pub(crate) fn take_hazards(&self) -> Vec<Hazard> {
        std::mem::take(&mut self.told.lock().hazards)
    }

    pub(crate) fn inserted_waits(&self) -> u64 {
        self.inserted.load(Relaxed)
    }

    /// A stream begins; the default one's and foreign ones' order is not ours alone.
    pub(crate) fn begin(&self, stream: &rt::Stream) {
        let mut order = self.order.lock();
        match stream.origin() {
            rt::StreamOrigin::Owned => {}
            rt::StreamOrigin::Default => order.default = Some(stream.id()),
            rt::StreamOrigin::Foreign => {
                order.foreign.insert(stream.id(), stream.handle());
            }
        }
    }

    /// A stream ends; its number may go to another.
    pub(crate) fn end(&self, stream: u32) {
        let mut order = self.order.lock();
        if let Some(clock) = order.streams.get_mut(stream as usize) {
            *clock = Clock::default();
        }
        order.foreign.remove(&stream);
    }

    /// All work of a stream up to now, and what comes before it.
    pub(crate) fn up_to(&self, stream: &rt::Stream) -> Clock {
        self.order.lock().up_to(stream.newest())
    }

    /// What the work up to now of the streams of `stamps` comes behind, before somebody waits for it.
    pub(crate) fn before_a_wait(
        &self,
        shared: &ProgramShared,
        stamps: impl IntoIterator<Item = Stamp>,
    ) -> Before {
        let newest = |stamp| shared.manager.find(stamp).map_or(stamp, |live| live.stream.newest());
        let newest: SmallVec<[Stamp; 4]> = stamps.into_iter().map(newest).collect();
        let order = self.order.lock();
        Before(newest.into_iter().map(|newest| (newest, order.up_to(newest))).collect())
    }

    /// The next work of `stream` comes behind.
    pub(crate) fn waits(&self, stream: u32, clock: &Clock) {
        let (mut order, at) = (self.order.lock(), stream as usize);
        if order.streams.len() <= at {
            order.streams.resize_with(at + 1, Clock::default);
        }
        order.streams[at].join(clock);
    }

    /// It is over.
    pub(crate) fn over(&self, clock: &Clock) {
        self.order.lock().complete.join(clock);
    }

    /// Holds a launch against what was launched before it.
    ///
    /// # Errors
    /// [`Error::Hazard`] where hazards are refused; why a wait could not be inserted.
    pub(crate) fn before(
        &self,
        shared: &ProgramShared,
        launch: &LaunchUses<'_>,
        stream: &StreamState,
    ) -> Result<()> {
        let mut found = SmallVec::<[(Use, Use); 1]>::new();
        let newest = stream.stream.newest();
        {
            let order = self.order.lock();
            let own = order.of(newest.stream);
            launch.each(|tensor, buffer, writes, by| {
                let see = |earlier: &Use| {
                    // The order first: it is what most launches have.
                    if (earlier.writes || writes)
                        && !order.is_before(earlier.stamp, newest.stream, own)
                    {
                        let later = Use { stamp: newest, bytes: tensor.bytes(), writes, by };
                        if earlier.conflicts_with(&later) {
                            found.push((earlier.clone(), later));
                        }
                    }
                };
                // SAFETY: `order` is locked here and in `after`, and a buffer is of one program.
                unsafe { buffer.uses().each(see) };
            });
        }
        if found.is_empty() { Ok(()) } else { self.found(shared, &found, stream) }
    }

    #[cold]
    fn found(
        &self,
        shared: &ProgramShared,
        found: &[(Use, Use)],
        stream: &StreamState,
    ) -> Result<()> {
        if self.policy == Hazards::Auto {
            return self.order_after(shared, found, stream);
        }
        for (earlier, later) in found {
            if !self.order.lock().may_be_ordered(earlier.stamp.stream, later.stamp.stream) {
                self.tell(shared, earlier, later)?;
            }
        }
        Ok(())
    }

    /// Two launches of a graph conflict, and nothing orders them: whether an edge has to.
    ///
    /// # Errors
    /// [`Error::Hazard`] where hazards are refused.
    pub(crate) fn unordered(
        &self,
        shared: &ProgramShared,
        earlier: &Use,
        later: &Use,
    ) -> Result<bool> {
        if self.policy == Hazards::Auto {
            self.inserted.fetch_add(1, Relaxed);
            return Ok(true);
        }
        self.tell(shared, earlier, later)?;
        Ok(false)
    }

    fn tell(&self, shared: &ProgramShared, earlier: &Use, later: &Use) -> Result<()> {
        let pair = [earlier.by, later.by];
        if self.policy == Hazards::Report && !self.told.lock().pairs.insert(pair) {
            return Ok(());
        }
        let hazard = Hazard { earlier: describe(shared, earlier), later: describe(shared, later) };
        if self.policy == Hazards::Check {
            return Err(Error::Hazard(Box::new(hazard)));
        }
        tracing::warn!("{hazard}");
        let mut told = self.told.lock();
        if told.hazards.len() < KEPT {
            told.hazards.push(hazard);
        }
        Ok(())
    }

    fn order_after(
        &self,
        shared: &ProgramShared,
        found: &[(Use, Use)],
        stream: &StreamState,
    ) -> Result<()> {
        let mut stamps = Clock::default();
        found.iter().for_each(|(earlier, _)| stamps.raise(earlier.stamp));
        order_after(shared, stream, stamps.stamps())?;
        self.inserted.fetch_add(stamps.stamps().count() as u64, Relaxed);
        Ok(())
    }

    /// Notes what a launch uses, behind it.
    pub(crate) fn after(&self, launch: &LaunchUses<'_>, stamp: Stamp) {
        let order = self.order.lock();
        let own = order.of(stamp.stream);
        launch.each(|tensor, buffer, writes, by| {
            // SAFETY: `order` is locked here and in `before`, and a buffer is of one program.
            unsafe {
                buffer.uses().put(
                    Use { stamp, bytes: tensor.bytes(), writes, by },
                    |old| order.complete.covers(old),
                    |old| order.is_before(old, stamp.stream, own),
                );
            }
        });
    }
}

fn describe(shared: &ProgramShared, one: &Use) -> HazardUse {
    let (kernel, parameter) = shared.launcher.names(one.by.kernel, one.by.parameter);
    HazardUse {
        kernel,
        parameter,
        writes: one.writes,
        bytes: one.bytes.hull(),
        stream: one.stamp.stream,
        at: one.by.at,
    }
}

/// Makes a stream wait for the work behind `stamps`.
pub(crate) fn order_after(
    shared: &ProgramShared,
    stream: &StreamState,
    stamps: impl IntoIterator<Item = Stamp>,
) -> Result<()> {
    let stamps: SmallVec<[Stamp; 4]> = stamps.into_iter().collect();
    let tracker = shared.hazards.as_ref();
    let before = tracker.map(|tracker| tracker.before_a_wait(shared, stamps.iter().copied()));
    // SAFETY: the stream is live as long as its state.
    let over = unsafe { shared.context.order_after(stream.stream.handle(), stamps)? };
    if let (Some(tracker), Some(before)) = (tracker, before) {
        tracker.waits(stream.stream.id(), &before.with(over));
    }
    Ok(())
}

/// Runs what waits for work, and where it has, notes that the work is over that `up_to` names before.
pub(crate) fn waiting<R>(
    shared: &ProgramShared,
    up_to: impl FnOnce(&Tracker) -> Clock,
    wait: impl FnOnce() -> Result<R>,
) -> Result<R> {
    let Some(tracker) = &shared.hazards else { return wait() };
    let clock = up_to(tracker);
    let waited = wait()?;
    tracker.over(&clock);
    Ok(waited)
}

/// Runs what waits for the work behind `stamps`, as far as it says, and notes that this is over.
pub(crate) fn waiting_behind(
    shared: &ProgramShared,
    stamps: impl IntoIterator<Item = Stamp>,
    wait: impl FnOnce() -> Result<rt::Completed>,
) -> Result<()> {
    let Some(tracker) = &shared.hazards else { return wait().map(drop) };
    let before = tracker.before_a_wait(shared, stamps);
    let over = wait()?;
    tracker.over(&before.with(over));
    Ok(())
}
