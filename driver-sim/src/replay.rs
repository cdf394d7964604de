//! Trying a program under many seeds, and telling how to try a failing one again.

use std::{env, fmt::Debug, path::Path, sync::OnceLock, thread};

use crate::{schedule::Schedule, timeline::InWords, world::World};

/// So much of a failing schedule is printed: its end.
const LINES: usize = 200;

/// The seed that is to be tried again, whatever seeds the program chooses: `QUADRANTS_SIM_REPLAY`.
pub(crate) fn seed() -> Option<u64> {
    static SEED: OnceLock<Option<u64>> = OnceLock::new();
    *SEED.get_or_init(|| env::var("QUADRANTS_SIM_REPLAY").ok()?.parse().ok())
}

/// Prints the seed where its try does not come to an end.
struct Try {
    world: World,
    over: bool,
}

impl World {
    /// Tries `body` under each of the seeds, and then stops at the first that fails: by an error or a
    /// panic. That seed is printed with the schedule as it happened and a command that tries it again.
    ///
    /// First the body runs once eagerly: what it makes on its first run, pools and modules above all, is then
    /// there under every seed. What it leaves on its streams runs before the next seed.
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
            self.with(|state| {
                state.drain();
                state.schedule = schedule;
                state.set_seed(seed);
                state.timeline.clear();
            });
            let mut this = Try { world: self, over: false };
            let outcome = body(seed);
            this.over = outcome.is_ok();
            outcome
        };
        attempt(Schedule::Eager, 0)?;
        match seed() {
            Some(seed) => attempt(schedule, seed),
            None => seeds.into_iter().try_for_each(|seed| attempt(schedule, seed)),
        }
    }

    /// The operations that ran, in words: one line each, oldest first.
    #[must_use]
    pub fn timeline_text(self) -> String {
        InWords(&self.timeline(), &self.trace()).to_string()
    }

    /// A command that runs the current test again under the world's schedule and seed. Of a program that is
    /// no test of cargo's, the variables that make it so.
    #[must_use]
    pub fn replay_command(self) -> String {
        let (schedule, seed) = (self.schedule(), self.seed());
        let variables = format!("QUADRANTS_SIM_SCHEDULE={schedule} QUADRANTS_SIM_REPLAY={seed}");
        match cargo_test() {
            Some(test) => format!("{variables} {test}"),
            None => variables,
        }
    }

    pub(crate) fn print_failure(self) {
        let text = self.timeline_text();
        let skipped = text.lines().count().saturating_sub(LINES);
        eprintln!("simulated schedule ({}, seed {}):", self.schedule(), self.seed());
        if skipped > 0 {
            eprintln!("({skipped} operations before)");
        }
        text.lines().skip(skipped).for_each(|line| eprintln!("{line}"));
        eprintln!("again: {}", self.replay_command());
    }
}

impl Drop for Try {
    fn drop(&mut self) {
        if !self.over {
            self.world.print_failure();
        }
    }
}

/// The command of the test that this thread runs; cargo names its package, and the test harness its threads.
fn cargo_test() -> Option<String> {
    let package = env::var("CARGO_PKG_NAME").ok()?;
    let executable = env::current_exe().ok()?;
    let (target, _hash) = Path::new(&executable).file_stem()?.to_str()?.rsplit_once('-')?;
    let current = thread::current();
    let name = current.name().filter(|name| *name != "main");
    let name = name.map_or_else(String::new, |name| format!(" {name} -- --exact"));
    Some(format!("cargo test -p {package} --test {target}{name}"))
}
