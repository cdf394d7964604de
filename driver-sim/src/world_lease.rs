//! Exclusive leases of worlds, for tests that run in parallel.

use std::{
    ops::Deref,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use parking_lot::{Condvar, Mutex};

use crate::{race::Race, world::World, worlds::count};

/// An exclusive lease of a world. The world is reset when it is leased, and when the lease is dropped, unless a context
/// outlives it.
#[derive(Debug)]
pub struct WorldLease {
    world: World,
    forbids_races: AtomicBool,
}

static LEASED: Mutex<Vec<u16>> = Mutex::new(Vec::new());
static RETURNED: Condvar = Condvar::new();

/// Leases a world and resets it. Waits while all worlds are leased.
///
/// The highest ordinals are leased first, because programs without a lease usually open device 0.
///
/// # Panics
/// If no device is simulated.
#[must_use]
pub fn lease_world() -> WorldLease {
    assert!(count() > 0, "no device is simulated: QUADRANTS_SIM_DEVICES is 0");
    let mut leased = LEASED.lock();
    loop {
        let mut free = (0..count() as u16).rev().filter(|ordinal| !leased.contains(ordinal));
        // A context that outlives its lease is released later, and must not be that of another one.
        let mut unused =
            free.clone().filter(|ordinal| World { ordinal: *ordinal }.live().context_refs == 0);
        if let Some(ordinal) = unused.next().or_else(|| free.next()) {
            leased.push(ordinal);
            drop(leased);
            let world = World { ordinal };
            world.reset();
            return WorldLease { world, forbids_races: AtomicBool::new(false) };
        }
        RETURNED.wait(&mut leased);
    }
}

impl WorldLease {
    /// Detects races. The drop of the lease panics if there were any.
    pub fn forbid_races(&self) {
        self.world.detect_races(true);
        self.forbids_races.store(true, Ordering::Relaxed);
    }

    /// Does not panic because of races, for tests of programs with races.
    pub fn allow_races(&self) {
        self.forbids_races.store(false, Ordering::Relaxed);
    }
}

impl Deref for WorldLease {
    type Target = World;
    fn deref(&self) -> &World {
        &self.world
    }
}

impl Drop for WorldLease {
    fn drop(&mut self) {
        let races = match self.forbids_races.load(Ordering::Relaxed) {
            true => self.world.races(),
            false => Vec::new(),
        };
        if thread::panicking() || !races.is_empty() {
            self.world.print_failure();
        }
        // Otherwise the next lease resets it.
        if self.world.live().context_refs == 0 {
            self.world.reset();
        }
        LEASED.lock().retain(|ordinal| *ordinal != self.world.ordinal);
        RETURNED.notify_one();
        if !races.is_empty() && !thread::panicking() {
            let races: Vec<String> = races.iter().map(Race::to_string).collect();
            panic!("{} races:\n{}", races.len(), races.join("\n"));
        }
    }
}
