//! Worlds for tests that run side by side.

use std::{
    ops::Deref,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use parking_lot::{Condvar, Mutex};

use crate::{
    race::Race,
    world::{World, count},
};

/// A world that nobody else [claims](claim). It is reset when it is claimed and when this is dropped.
#[derive(Debug)]
pub struct WorldLease {
    world: World,
    forbids_races: AtomicBool,
}

static CLAIMED: Mutex<Vec<u16>> = Mutex::new(Vec::new());
static GIVEN_BACK: Condvar = Condvar::new();

/// Takes a world for oneself, reset; waits while all are taken. For tests that run in parallel.
///
/// The highest ordinals come first, so that programs that open device 0 without asking are met late.
///
/// # Panics
/// Where no device is simulated at all.
#[must_use]
pub fn lease_world() -> WorldLease {
    assert!(count() > 0, "no device is simulated: QUADRANTS_SIM_DEVICES is 0");
    let mut claimed = CLAIMED.lock();
    loop {
        let free = (0..count() as u16).rev().find(|ordinal| !claimed.contains(ordinal));
        if let Some(ordinal) = free {
            claimed.push(ordinal);
            drop(claimed);
            let world = World { ordinal };
            world.reset();
            return WorldLease { world, forbids_races: AtomicBool::new(false) };
        }
        GIVEN_BACK.wait(&mut claimed);
    }
}

impl WorldLease {
    /// Looks for races, and panics when the claim is dropped where there were any.
    pub fn forbid_races(&self) {
        self.world.detect_races(true);
        self.forbids_races.store(true, Ordering::Relaxed);
    }

    /// Looks for races, but lets them be: for tests of programs that have some.
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
        self.world.reset();
        CLAIMED.lock().retain(|ordinal| *ordinal != self.world.ordinal);
        GIVEN_BACK.notify_one();
        if !races.is_empty() && !thread::panicking() {
            let races: Vec<String> = races.iter().map(Race::to_string).collect();
            panic!("{} races:\n{}", races.len(), races.join("\n"));
        }
    }
}
