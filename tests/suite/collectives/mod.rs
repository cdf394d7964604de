//! Collective operations: their results, their order with other work, and what happens when they fail.

mod failures;
mod groups;
mod libraries;
mod mismatch;
mod operations;
mod order;
pub(crate) mod processes;
mod random;

use std::{
    error::Error as _,
    net::{Ipv4Addr, TcpListener},
    sync::Arc,
    time::Duration,
};

use quadrants::{
    Error as ProgramError, Program, ProgramBuilder,
    collectives::{
        Communicator, CommunicatorBuilder, Failure, Result,
        bootstrap::{ProcessGroup, RankConfig, Secret},
    },
};
use quadrants_driver_sim::WorldLease;
use quadrants_tests::{DevicePolicy, On, TestBackend};

/// How the ranks find each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Join {
    /// By an id, in one process.
    Id,
    /// As processes do. Rank 0 compares their calls.
    Processes,
    /// As processes do, whose calls nothing compares.
    Unchecked,
}

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
        self.connected(Join::Id, |comm| body(&comm.expect("joins")))
    }

    /// Calls `body` with the communicator of each rank or why it was not created, on a thread for each.
    pub(crate) fn connected<R: Send>(
        &self,
        join: Join,
        body: impl Fn(Result<Communicator>) -> R + Sync,
    ) -> Vec<R> {
        self.connected_by(join, |_| &self.builder, body)
    }

    /// As [`connected`](Self::connected), with a builder for each rank.
    pub(crate) fn connected_by<'a, R: Send>(
        &'a self,
        join: Join,
        builder: impl Fn(usize) -> &'a CommunicatorBuilder + Sync,
        body: impl Fn(Result<Communicator>) -> R + Sync,
    ) -> Vec<R> {
        if join == Join::Id {
            let id = builder(0).unique_id(&self.on[0].program).expect("a library");
            return self.at_once(|rank, on| {
                body(builder(rank).rank(&on.program, &id, rank, self.on.len()))
            });
        }
        self.in_group(|on, processes| {
            let builder = builder(processes.rank());
            body(match join {
                // SAFETY: the calls of tests without a comparison match.
                Join::Unchecked => unsafe { builder.join_unchecked(&on.program, processes) },
                _ => builder.join(&on.program, processes),
            })
        })
    }

    /// Calls `body` with a member of one process group for each rank, on a thread for each.
    pub(crate) fn in_group<R: Send>(
        &self,
        body: impl Fn(&On, &Arc<ProcessGroup>) -> R + Sync,
    ) -> Vec<R> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let port = listener.local_addr().expect("a port").port();
        drop(listener);
        self.at_once(|rank, on| {
            let mut config = RankConfig::new(rank, self.on.len(), "127.0.0.1", port);
            config.secret = Secret::new("of the tests");
            config.timeout = Duration::from_secs(60);
            body(on, &Arc::new(ProcessGroup::join(&config).expect("joins")))
        })
    }

    fn at_once<R: Send>(&self, start: impl Fn(usize, &On) -> R + Sync) -> Vec<R> {
        std::thread::scope(|scope| {
            let start = &start;
            let threads = self.on.iter().enumerate();
            let threads = threads.map(|(rank, on)| scope.spawn(move || start(rank, on)));
            let threads: Vec<_> = threads.collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        })
    }
}

/// The failure of a communicator that a host wait returned.
pub(crate) fn failure_of(error: &ProgramError) -> Option<&Failure> {
    let mut source = error.source();
    while let Some(error) = source {
        if let Some(failure) = error.downcast_ref::<Failure>() {
            return Some(failure);
        }
        source = error.source();
    }
    None
}
