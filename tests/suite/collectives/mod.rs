//! Collective operations: their results, their order with other work, and what happens when they fail.

mod failures;
mod operations;
mod order;
mod random;

use std::time::Duration;

use quadrants::{
    Program, ProgramBuilder,
    collectives::{Communicator, CommunicatorBuilder},
};
use quadrants_driver_sim::WorldLease;
use quadrants_tests::{DevicePolicy, On, TestBackend};

/// Programs on several devices.
pub(crate) struct Ranks {
    pub(crate) builder: CommunicatorBuilder,
    pub(crate) on: Vec<On>,
}

impl Ranks {
    /// Programs on `count` devices, or on the CPU `count` programs. `None` where there are not as many.
    pub(crate) fn open(
        backend: TestBackend,
        count: usize,
        program: &ProgramBuilder,
    ) -> Option<Self> {
        let hardware =
            backend != TestBackend::Cpu && DevicePolicy::from_env() == DevicePolicy::Hardware;
        let builder = Communicator::builder().timeout(Duration::from_secs(60));
        if !hardware {
            let on: Option<Vec<_>> =
                (0..count).map(|_| backend.open_with(program.clone())).collect();
            let builder = match backend {
                TestBackend::Cpu => builder,
                _ => builder.library(backend.collective_library()),
            };
            return Some(Self { builder, on: on? });
        }
        // Also says so where the backend is not selected.
        backend.open_device()?;
        let available = backend.arch().driver().and_then(|driver| driver.device_count());
        if available.unwrap_or(0) < count {
            println!("skipped: there are no {count} {backend:?} devices");
            return None;
        }
        let open = |ordinal| {
            let device = backend.arch().device(ordinal);
            On { program: program.clone().open(device).expect("the device opens"), world: None }
        };
        Some(Self { builder, on: (0..count).map(open).collect() })
    }

    pub(crate) fn programs(&self) -> Vec<&Program> {
        self.on.iter().map(|on| &on.program).collect()
    }

    pub(crate) fn worlds(&self) -> impl Iterator<Item = &WorldLease> {
        self.on.iter().filter_map(|on| on.world.as_ref())
    }

    /// Calls `body` with the communicator of each rank, on a thread for each.
    pub(crate) fn on_threads<R: Send>(&self, body: impl Fn(&Communicator) -> R + Sync) -> Vec<R> {
        let (size, body) = (self.on.len(), &body);
        let id = self.builder.unique_id(&self.on[0].program).expect("a library");
        std::thread::scope(|scope| {
            let ranks = self.on.iter().enumerate();
            let start = |(rank, on): (usize, &'_ On)| {
                let (program, builder) = (on.program.clone(), self.builder.clone());
                scope.spawn(move || body(&builder.rank(&program, &id, rank, size).expect("joins")))
            };
            let threads: Vec<_> = ranks.map(start).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        })
    }
}
