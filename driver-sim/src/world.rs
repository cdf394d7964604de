//! Worlds, and how a program under test controls one.

use std::{env, sync::OnceLock};

use parking_lot::Mutex;

use crate::{
    code::{Code, Result},
    counts::{CreatedCounts, LiveCounts},
    entry::{self, Guard},
    fault::{Action, When},
    race::Race,
    replay,
    report::Report,
    schedule::Schedule,
    state::State,
    timeline::Timeline,
    trace::Trace,
};

/// A simulated device with all that belongs to it. Both façades lead to the same world where they are
/// given the same ordinal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct World {
    pub(crate) ordinal: u16,
}

type Slot = OnceLock<Mutex<State>>;

static WORLDS: OnceLock<Box<[Slot]>> = OnceLock::new();

/// The most devices that can be simulated.
const MOST: usize = 4096;

/// The world of a device ordinal, where there is such a device.
#[must_use]
pub fn world(ordinal: usize) -> Option<World> {
    let ordinal = u16::try_from(ordinal).ok().filter(|&ordinal| exists(ordinal))?;
    Some(World { ordinal })
}

/// How many devices there are: `QUADRANTS_SIM_DEVICES`, or 64.
#[must_use]
pub fn count() -> usize {
    worlds().len()
}

pub(crate) fn exists(ordinal: u16) -> bool {
    usize::from(ordinal) < count()
}

/// Locks a world's state.
pub(crate) fn lock(ordinal: u16) -> Result<Guard> {
    let slot = worlds().get(usize::from(ordinal)).ok_or(Code::INVALID_DEVICE)?;
    let (schedule, seed) = defaults();
    Ok(slot.get_or_init(|| Mutex::new(State::new(ordinal, schedule, seed))).lock())
}

fn worlds() -> &'static [Slot] {
    WORLDS.get_or_init(|| {
        let devices = env::var("QUADRANTS_SIM_DEVICES").ok().and_then(|text| text.parse().ok());
        (0..devices.unwrap_or(64).min(MOST)).map(|_| Slot::new()).collect()
    })
}

/// The schedule and seed of a new world: `QUADRANTS_SIM_SCHEDULE` and `QUADRANTS_SIM_SEED`.
fn defaults() -> (Schedule, u64) {
    static DEFAULTS: OnceLock<(Schedule, u64)> = OnceLock::new();
    *DEFAULTS.get_or_init(|| {
        let schedule = env::var("QUADRANTS_SIM_SCHEDULE").ok();
        let seed = env::var("QUADRANTS_SIM_SEED").ok().and_then(|text| text.parse().ok());
        let schedule = schedule.and_then(|name| Schedule::from_name(&name)).unwrap_or_default();
        (schedule, replay::seed().or(seed).unwrap_or(0))
    })
}

impl World {
    /// The device ordinal.
    #[must_use]
    pub fn ordinal(self) -> usize {
        usize::from(self.ordinal)
    }

    /// Begins again: all handles are dead, all memory is gone, counts and settings are as at first.
    pub fn reset(self) {
        let (schedule, seed) = defaults();
        self.with(|state| state.reset(schedule, seed));
    }

    /// Chooses the schedule.
    pub fn set_schedule(self, schedule: Schedule) {
        self.with(|state| state.schedule = schedule);
    }

    /// The schedule.
    #[must_use]
    pub fn schedule(self) -> Schedule {
        self.with(|state| state.schedule)
    }

    /// Chooses the seed, from which all random choices follow from now on. `QUADRANTS_SIM_REPLAY` overrides
    /// it.
    pub fn set_seed(self, seed: u64) {
        self.with(|state| state.set_seed(replay::seed().unwrap_or(seed)));
    }

    /// The seed.
    #[must_use]
    pub fn seed(self) -> u64 {
        self.with(|state| state.seed)
    }

    /// Whether the device says from now on that it has memory pools. Without, allocating in stream
    /// order fails with [`Code::NOT_SUPPORTED`].
    pub fn set_pools(self, pools: bool) {
        self.with(|state| state.pools = pools);
    }

    /// How much memory the device has.
    pub fn set_memory_limit(self, bytes: usize) {
        self.with(|state| state.memory.limit = bytes);
    }

    /// How many iterations and rounds of inner loops a launch may go through before it is taken for
    /// endless and the context is lost; for modules loaded from now on.
    pub fn set_fuel(self, rounds: u64) {
        self.with(|state| state.fuel = rounds);
    }

    /// How often a driver function was called for this device; failed calls count too.
    #[must_use]
    pub fn calls(self, function: &str) -> u64 {
        let index = entry::names().iter().position(|name| *name == function);
        let count = |index: usize| self.with(|state| state.calls.get(index).copied());
        index.and_then(count).unwrap_or(0)
    }

    /// Every function that was called for this device, with how often.
    #[must_use]
    pub fn all_calls(self) -> Vec<(&'static str, u64)> {
        let counts = self.with(|state| state.calls.clone());
        entry::names().into_iter().zip(counts).filter(|(_, count)| *count > 0).collect()
    }

    /// The functions that were called for this device, in order: the first 65536.
    #[must_use]
    pub fn call_log(self) -> Vec<&'static str> {
        let names = entry::names();
        self.with(|state| {
            state.call_log.iter().filter_map(|at| names.get(*at as usize).copied()).collect()
        })
    }

    /// How many objects of each kind were created.
    #[must_use]
    pub fn creates(self) -> CreatedCounts {
        self.with(|state| state.creates)
    }

    /// What the program holds now.
    #[must_use]
    pub fn live(self) -> LiveCounts {
        self.with(|state| state.live())
    }

    /// What the program still held when the primary context was destroyed last.
    #[must_use]
    pub fn left_behind(self) -> LiveCounts {
        self.with(|state| state.left)
    }

    /// What was enqueued, with its edges.
    #[must_use]
    pub fn trace(self) -> Trace {
        self.with(|state| state.trace.snapshot())
    }

    /// A hash of the order in which operations ran, and of the calls at which they did: two runs of a
    /// program differ in it where their schedules did.
    #[must_use]
    pub fn schedule_hash(self) -> u64 {
        self.with(|state| state.schedule_hash)
    }

    /// How many operations ran.
    #[must_use]
    pub fn executed(self) -> u64 {
        self.with(|state| state.executed)
    }

    /// What was found wrong so far.
    #[must_use]
    pub fn reports(self) -> Vec<Report> {
        self.with(|state| state.reports.clone())
    }

    /// Turns the race detector on or off; it is off unless `QUADRANTS_SIM_RACES` is 1, and then prints each
    /// race when it is found. What was enqueued before races with nothing.
    pub fn detect_races(self, on: bool) {
        self.with(|state| state.detect_races(on));
    }

    /// The races found so far.
    #[must_use]
    pub fn races(self) -> Vec<Race> {
        self.with(|state| state.detector.races().to_vec())
    }

    /// Why the context is lost, where it is.
    #[must_use]
    pub fn lost(self) -> Option<Code> {
        self.with(|state| state.lost)
    }

    /// Makes the `nth` call of a function from now on (the first is 1) return `code` and do nothing.
    pub fn fail(self, function: &'static str, nth: u64, code: Code) {
        self.arm(Some(function), nth, Action::Fail(code));
    }

    /// Makes the `nth` call of any function from now on return `code` and do nothing.
    pub fn fail_any(self, nth: u64, code: Code) {
        self.arm(None, nth, Action::Fail(code));
    }

    /// Makes each call of a function, or of any, fail with this probability, by the seed.
    pub fn fail_often(self, function: Option<&'static str>, probability: f64, code: Code) {
        let (when, action) = (When::Often(probability), Action::Fail(code));
        self.with(|state| state.faults.arm(function, when, action));
    }

    /// Loses the device at the `nth` call of a function, or of any, from now on: it and all later calls return
    /// `code`.
    pub fn lose(self, function: Option<&'static str>, nth: u64, code: Code) {
        self.arm(function, nth, Action::Lose(code));
    }

    /// Takes back all faults that have not struck.
    pub fn disarm_faults(self) {
        self.with(|state| state.faults.disarm());
    }

    /// Makes the `nth` call of a function from now on (the first is 1) succeed and do nothing.
    pub fn ignore(self, function: &'static str, nth: u64) {
        self.arm(Some(function), nth, Action::Ignore);
    }

    /// How many faults have not struck yet.
    #[must_use]
    pub fn armed_faults(self) -> usize {
        self.with(|state| state.faults.armed())
    }

    /// What ran when.
    #[must_use]
    pub fn timeline(self) -> Timeline {
        self.with(|state| state.timeline.clone())
    }

    /// The streams, by their handles, whose last operation has not run and is waited for by no other stream. A
    /// free that is the last one does not count.
    #[must_use]
    pub fn unjoined(self) -> Vec<u64> {
        self.with(|state| state.unjoined())
    }

    fn arm(self, function: Option<&'static str>, nth: u64, action: Action) {
        let when = When::After(nth.saturating_sub(1));
        self.with(|state| state.faults.arm(function, when, action));
    }

    pub(crate) fn with<T>(self, action: impl FnOnce(&mut State) -> T) -> T {
        // A `World` is made for devices that exist only.
        let slot = &worlds()[usize::from(self.ordinal)];
        let (schedule, seed) = defaults();
        let state = slot.get_or_init(|| Mutex::new(State::new(self.ordinal, schedule, seed)));
        action(&mut state.lock())
    }
}
