//! Devices over simulated worlds.

use std::{ffi::c_void, sync::Arc};

use quadrants_conformance::Subject;
use quadrants_driver_sim::{Schedule, World, WorldLease, hip_symbol, lease_world};
use quadrants_rhi_amdgpu::{
    driver_from_symbols,
    rhi::{Device, Driver, Result},
};

/// A world that must end without a report and with nothing left behind.
struct Clean(WorldLease);

impl Drop for Clean {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let reports: Vec<_> = self.0.reports().iter().map(ToString::to_string).collect();
        assert!(reports.is_empty(), "{reports:#?}");
        assert_eq!(self.0.live(), Default::default(), "something was left behind");
    }
}

/// The driver over the linked-in simulator, with some functions replaced or taken away.
pub(crate) fn driver_with(replaced: &[(&str, Option<*const c_void>)]) -> Result<Arc<dyn Driver>> {
    let resolve = |symbol: &str| {
        let replacement = replaced.iter().find(|(name, _)| *name == symbol);
        replacement.map_or_else(|| hip_symbol(symbol), |(_, function)| *function)
    };
    // SAFETY: the simulator's functions have the signatures of the driver's, and so have the replacements.
    unsafe { driver_from_symbols("the simulator", resolve) }
}

/// A device of a world.
pub(crate) fn open(world: &World) -> Arc<dyn Device> {
    driver_with(&[]).unwrap().open(world.ordinal()).unwrap()
}

/// What the suite runs on: a world of its own.
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
