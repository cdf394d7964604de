//! Runs a program under many seeds, and prints how to repeat a failing run.

use std::{env, fmt::Debug, mem::replace, path::Path, thread};

use crate::{
    peer,
    schedule::Schedule,
    timeline::{Timeline, TimelineDisplay},
    world::World,
    worlds::replay_seed,
};

/// The largest number of lines of a failing schedule that are printed, from its end.
const LINES: usize = 200;

/// Prints the seed if a run panics.
struct ReplayGuard {
    world: World,
    over: bool,
}

impl World {
    /// Runs `body` with each of the seeds and stops at the first failure: an error or a panic. Prints the failing seed
    /// with its schedule and a command that repeats the run.
    ///
    /// The body first runs once with the eager schedule, so that pools and modules that its first run creates exist for
    /// every seed. Pending work runs before the next seed.
    ///
    /// # Errors
    /// The first error of the body.
    pub fn explore<E: Debug>(
        self,
        schedule: Schedule,
        seeds: impl IntoIterator<Item = u64>,
        mut body: impl FnMut(u64) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut attempt = |schedule: Schedule, seed: u64| {
            peer::drain(self.ordinal);
            self.with(|state| {
                state.schedule = schedule;
                state.set_seed(seed);
                state.timeline = Timeline::default();
            });
            let mut this = ReplayGuard { world: self, over: false };
            let outcome = body(seed);
            this.over = outcome.is_ok();
            outcome
        };
        attempt(Schedule::Eager, 0)?;
        match replay_seed() {
            Some(seed) => attempt(schedule, seed),
            None => seeds.into_iter().try_for_each(|seed| attempt(schedule, seed)),
        }
    }

    /// The operations that ran, one per line, oldest first.
    #[must_use]
    pub fn timeline_text(self) -> String {
        TimelineDisplay(&self.timeline(), &self.trace()).to_string()
    }

    /// A command that repeats the current test with the world's schedule and seed. For a program that is not a cargo
    /// test, the environment variables that do so.
    #[must_use]
    pub fn replay_command(self) -> String {
        let (schedule, seed) = (self.schedule(), self.seed());
        let variables = format!("QUADRANTS_SIM_SCHEDULE={schedule} QUADRANTS_SIM_REPLAY={seed}");
        match cargo_test() {
            Some(test) => format!("{variables} {test}"),
            None => variables,
        }
    }

    /// Prints the schedule once: a panic passes through [`explore`](Self::explore) and then through the lease.
    pub(crate) fn print_failure(self) {
        if self.with(|state| replace(&mut state.is_schedule_printed, true)) {
            return;
        }
        let text = self.timeline_text();
        let skipped = text.lines().count().saturating_sub(LINES);
        eprintln!("simulated schedule ({}, seed {}):", self.schedule(), self.seed());
        if skipped > 0 {
            eprintln!("({skipped} operations before)");
        }
        text.lines().skip(skipped).for_each(|line| eprintln!("{line}"));
        eprintln!("to repeat: {}", self.replay_command());
    }
}

impl Drop for ReplayGuard {
    fn drop(&mut self) {
        if !self.over {
            self.world.print_failure();
        }
    }
}

/// The command of the test that runs on this thread: cargo names its package, and the test harness its threads.
fn cargo_test() -> Option<String> {
    let package = env::var("CARGO_PKG_NAME").ok()?;
    let executable = env::current_exe().ok()?;
    let (target, _hash) = Path::new(&executable).file_stem()?.to_str()?.rsplit_once('-')?;
    let current = thread::current();
    let name = current.name().filter(|name| *name != "main");
    let name = name.map_or_else(String::new, |name| format!(" {name} -- --exact"));
    Some(format!("cargo test -p {package} --test {target}{name}"))
}
