//! Devices on simulated worlds.

use std::{
    ffi::{c_int, c_void},
    sync::Arc,
};

use quadrants_conformance::Subject;
use quadrants_driver_sim::{Schedule, World, WorldLease, cuda_symbol, lease_world};
use quadrants_rhi_cuda::{
    driver_from_symbols,
    rhi::{Device, Driver, Result},
    symbols,
};

/// A world that must have no reports and no live objects when it is dropped.
struct Clean(WorldLease);

impl Drop for Clean {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let reports: Vec<_> = self.0.reports().iter().map(ToString::to_string).collect();
        assert!(reports.is_empty(), "{reports:#?}");
        assert_eq!(self.0.live(), Default::default(), "objects were not destroyed");
    }
}

/// The driver on the linked-in simulator, with some functions replaced or removed.
///
/// Required functions that the simulator lacks return "not supported", so that only the test
/// `the_simulator_has_every_function` and the tests that call them fail.
pub(crate) fn driver_with(replaced: &[(&str, Option<*const c_void>)]) -> Result<Arc<dyn Driver>> {
    let resolve = |symbol: &str| {
        let replacement = replaced.iter().find(|(name, _)| *name == symbol);
        replacement.map_or_else(|| simulated(symbol), |(_, function)| *function)
    };
    // SAFETY: the simulator's functions and the replacements have the signatures of the driver's.
    unsafe { driver_from_symbols("the simulator", resolve) }
}

fn simulated(symbol: &str) -> Option<*const c_void> {
    extern "C" fn not_supported() -> c_int {
        801
    }
    let required = || symbols().iter().any(|s| s.name == symbol && s.optional_since.is_none());
    cuda_symbol(symbol).or_else(|| required().then_some(not_supported as *const c_void))
}

/// Opens the device of a world.
pub(crate) fn open(world: &World) -> Arc<dyn Device> {
    driver_with(&[]).unwrap().open(world.ordinal()).unwrap()
}

/// The subject of one conformance case: a device on its own world.
pub(crate) fn subject(schedule: Schedule, seed: u64) -> Subject {
    let world = lease_world();
    world.set_schedule(schedule);
    world.set_seed(seed);
    let device = open(&world);
    Subject {
        device,
        add: Some(crate::simulated::add_kernel()),
        keep: Some(Arc::new(Clean(world))),
    }
}
