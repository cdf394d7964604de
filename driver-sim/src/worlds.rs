//! The states of all worlds, and their settings from the environment.

use std::{env, sync::OnceLock};

use parking_lot::{Mutex, MutexGuard};

use crate::{
    code::{Code, Result},
    schedule::Schedule,
    state::WorldState,
};

/// A locked world.
pub(crate) type WorldGuard = MutexGuard<'static, WorldState>;

type LazyWorld = OnceLock<Mutex<WorldState>>;

static WORLDS: OnceLock<Box<[LazyWorld]>> = OnceLock::new();

const MAX_DEVICES: usize = 4096;

/// The number of devices: `QUADRANTS_SIM_DEVICES`, or 64.
#[must_use]
pub fn count() -> usize {
    worlds().len()
}

pub(crate) fn exists(ordinal: u16) -> bool {
    usize::from(ordinal) < count()
}

pub(crate) fn lock(ordinal: u16) -> Result<WorldGuard> {
    let world = worlds().get(usize::from(ordinal)).ok_or(Code::INVALID_DEVICE)?;
    let (schedule, seed) = defaults();
    Ok(world.get_or_init(|| Mutex::new(WorldState::new(ordinal, schedule, seed))).lock())
}

fn worlds() -> &'static [LazyWorld] {
    WORLDS.get_or_init(|| {
        let devices = setting("QUADRANTS_SIM_DEVICES", "a number", |text| text.parse().ok());
        (0..devices.unwrap_or(64).min(MAX_DEVICES)).map(|_| LazyWorld::new()).collect()
    })
}

/// The schedule and seed of a new world: `QUADRANTS_SIM_SCHEDULE` and `QUADRANTS_SIM_SEED`.
pub(crate) fn defaults() -> (Schedule, u64) {
    static DEFAULTS: OnceLock<(Schedule, u64)> = OnceLock::new();
    *DEFAULTS.get_or_init(|| {
        let names = "lazy, eager, random or adversarial";
        let schedule = setting("QUADRANTS_SIM_SCHEDULE", names, Schedule::from_name);
        let seed = setting("QUADRANTS_SIM_SEED", "a number", |text| text.parse().ok());
        (schedule.unwrap_or_default(), replay_seed().or(seed).unwrap_or(0))
    })
}

/// The seed to repeat, which overrides the seeds of the program: `QUADRANTS_SIM_REPLAY`.
pub(crate) fn replay_seed() -> Option<u64> {
    static SEED: OnceLock<Option<u64>> = OnceLock::new();
    *SEED.get_or_init(|| setting("QUADRANTS_SIM_REPLAY", "a number", |text| text.parse().ok()))
}

/// The value of an environment variable. A driver has no way to reject one that is wrong, so it is reported.
fn setting<T>(variable: &str, expected: &str, parse: impl FnOnce(&str) -> Option<T>) -> Option<T> {
    let value = env::var_os(variable).filter(|value| !value.is_empty())?;
    let parsed = value.to_str().and_then(parse);
    if parsed.is_none() {
        eprintln!(
            "quadrants simulator: {variable} is {value:?} and is ignored; expected {expected}"
        );
    }
    parsed
}
