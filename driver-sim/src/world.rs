//! [`World`]: the controls of a simulated device.

use std::time::Duration;

use crate::{
    code::Code,
    collectives,
    counts::{CreatedCounts, LiveCounts},
    entry,
    fault::{Action, FaultTrigger},
    race::Race,
    report::Report,
    schedule::Schedule,
    state::WorldState,
    timeline::Timeline,
    trace::Trace,
    worlds::{self, exists, replay_seed},
};

/// A simulated device with its memory, streams, schedule, seed and faults. CUDA and HIP functions with the same ordinal
/// use the same world.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct World {
    pub(crate) ordinal: u16,
}

/// The world of a device ordinal. `None` if there is no such device.
#[must_use]
pub fn world(ordinal: usize) -> Option<World> {
    let ordinal = u16::try_from(ordinal).ok().filter(|&ordinal| exists(ordinal))?;
    Some(World { ordinal })
}

impl World {
    /// The device ordinal.
    #[must_use]
    pub fn ordinal(self) -> usize {
        usize::from(self.ordinal)
    }

    /// Resets the world: all handles become invalid, all memory is freed, counts and settings are initial.
    pub fn reset(self) {
        let (schedule, seed) = worlds::defaults();
        self.with(|state| state.reset(schedule, seed));
    }

    /// Sets the schedule.
    pub fn set_schedule(self, schedule: Schedule) {
        self.with(|state| state.schedule = schedule);
    }

    /// The schedule.
    #[must_use]
    pub fn schedule(self) -> Schedule {
        self.with(|state| state.schedule)
    }

    /// Sets the seed of all later random choices. `QUADRANTS_SIM_REPLAY` overrides it.
    pub fn set_seed(self, seed: u64) {
        self.with(|state| state.set_seed(replay_seed().unwrap_or(seed)));
    }

    /// The seed.
    #[must_use]
    pub fn seed(self) -> u64 {
        self.with(|state| state.seed)
    }

    /// Sets whether the device reports memory pools. Without them, stream-ordered allocation returns
    /// [`Code::NOT_SUPPORTED`].
    pub fn set_pools(self, pools: bool) {
        self.with(|state| state.pools = pools);
    }

    /// Sets the size of the device memory in bytes.
    pub fn set_memory_limit(self, bytes: usize) {
        self.with(|state| state.memory.limit = bytes);
    }

    /// Sets the limit of iterations and inner loop rounds of a launch, for modules that are loaded later. A launch
    /// above the limit loses the context.
    pub fn set_fuel(self, rounds: u64) {
        self.with(|state| state.fuel = rounds);
    }

    /// Sets how long a host wait lasts if it needs calls of other ranks of a communicator that are not made: 10
    /// seconds, unless this is called. Then it fails with [`Code::LAUNCH_TIMEOUT`]. The creation of a communicator
    /// waits three times as long.
    pub fn set_wait_limit(self, limit: Duration) {
        self.with(|state| state.wait_limit = limit);
    }

    /// Breaks the communicators of the ranks on this device, as if the connection to the others was lost: their
    /// asynchronous error becomes `ncclRemoteError`, and their pending and later calls never complete until they are
    /// aborted.
    pub fn break_communicators(self) {
        self.with(|state| state.break_ranks());
        collectives::changed();
    }

    /// The number of calls of a driver function for this device, including failed calls.
    #[must_use]
    pub fn calls(self, function: &str) -> u64 {
        let index = entry::names().iter().position(|name| *name == function);
        let count = |index: usize| self.with(|state| state.calls.get(index).copied());
        index.and_then(count).unwrap_or(0)
    }

    /// All functions that were called for this device, with the number of calls.
    #[must_use]
    pub fn all_calls(self) -> Vec<(&'static str, u64)> {
        let counts = self.with(|state| state.calls.clone());
        entry::names().into_iter().zip(counts).filter(|(_, count)| *count > 0).collect()
    }

    /// The first 65536 calls for this device, in order.
    #[must_use]
    pub fn call_log(self) -> Vec<&'static str> {
        let names = entry::names();
        self.with(|state| {
            state.call_log.iter().filter_map(|at| names.get(*at as usize).copied()).collect()
        })
    }

    /// The number of created objects of each kind.
    #[must_use]
    pub fn creates(self) -> CreatedCounts {
        self.with(|state| state.creates)
    }

    /// The number of existing objects of each kind.
    #[must_use]
    pub fn live(self) -> LiveCounts {
        self.with(|state| state.live())
    }

    /// The objects that existed when the primary context was last destroyed.
    #[must_use]
    pub fn left_behind(self) -> LiveCounts {
        self.with(|state| state.left)
    }

    /// The enqueued operations with their dependencies.
    #[must_use]
    pub fn trace(self) -> Trace {
        self.with(|state| state.trace.snapshot())
    }

    /// A hash of the order in which operations ran and of the calls during which they ran. Equal for equal schedules.
    #[must_use]
    pub fn schedule_hash(self) -> u64 {
        self.with(|state| state.schedule_hash)
    }

    /// The number of operations that ran.
    #[must_use]
    pub fn executed(self) -> u64 {
        self.with(|state| state.executed)
    }

    /// The errors that were detected so far.
    #[must_use]
    pub fn reports(self) -> Vec<Report> {
        self.with(|state| state.reports.clone())
    }

    /// Turns the race detector on or off. With `QUADRANTS_SIM_RACES=1` it is on from the start and prints each race.
    /// Operations that were enqueued before are not part of any race.
    pub fn detect_races(self, on: bool) {
        self.with(|state| state.detect_races(on));
    }

    /// The races that were detected so far.
    #[must_use]
    pub fn races(self) -> Vec<Race> {
        self.with(|state| state.detector.races.clone())
    }

    /// The code that lost the context. `None` if it is not lost.
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

    /// Makes each call of a function, or of any, fail with this probability, chosen by the seed.
    pub fn fail_often(self, function: Option<&'static str>, probability: f64, code: Code) {
        let (when, action) = (FaultTrigger::Often(probability), Action::Fail(code));
        self.with(|state| state.faults.arm(function, when, action));
    }

    /// Loses the device at the `nth` call of a function, or of any, from now on: this call and all later ones return
    /// `code`.
    pub fn lose(self, function: Option<&'static str>, nth: u64, code: Code) {
        self.arm(function, nth, Action::Lose(code));
    }

    /// Removes all faults that have not occurred.
    pub fn disarm_faults(self) {
        self.with(|state| state.faults.armed.clear());
    }

    /// Makes the `nth` call of a function from now on (the first is 1) return success and do nothing.
    pub fn ignore(self, function: &'static str, nth: u64) {
        self.arm(Some(function), nth, Action::Ignore);
    }

    /// The number of faults that have not occurred yet.
    #[must_use]
    pub fn armed_faults(self) -> usize {
        self.with(|state| state.faults.armed.len())
    }

    /// The operations in the order in which they ran.
    #[must_use]
    pub fn timeline(self) -> Timeline {
        self.with(|state| state.timeline.clone())
    }

    /// The handles of the streams whose last operation is pending, is not a free, and has no other stream waiting for
    /// it.
    #[must_use]
    pub fn unjoined(self) -> Vec<u64> {
        self.with(|state| state.unjoined())
    }

    fn arm(self, function: Option<&'static str>, nth: u64, action: Action) {
        let when = FaultTrigger::After(nth.saturating_sub(1));
        self.with(|state| state.faults.arm(function, when, action));
    }

    pub(crate) fn with<T>(self, action: impl FnOnce(&mut WorldState) -> T) -> T {
        action(
            &mut worlds::lock(self.ordinal).expect("a `World` is only made for an existing device"),
        )
    }
}
