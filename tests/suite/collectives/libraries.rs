//! Ranks with different libraries: an error on all ranks that names both, before any of them calls its library.

use std::{
    ffi::{c_int, c_void},
    time::{Duration, Instant},
};

use quadrants::collectives::{
    Communicator, CommunicatorBuilder, Error, Failure, Library, LibraryMismatch, Reduction, Result,
};
use quadrants_driver_sim::collective_symbol;
use quadrants_tests::{TestBackend, on_gpu_backends};

use super::{Join, Ranks};

/// A version that is not the simulator's.
extern "C" fn other_version(version: *mut c_int) -> c_int {
    // SAFETY: the caller passes a pointer to the number.
    unsafe { *version = 21_703 };
    0
}

fn other_library() -> Library {
    let resolve = |name: &str| match name {
        "ncclGetVersion" => Some(other_version as *const c_void),
        name => collective_symbol(name),
    };
    // SAFETY: the functions are the simulator's, except one, which has its signature.
    unsafe { Library::from_symbols("another one", resolve) }.expect("a library")
}

fn mismatch(created: Result<Communicator>) -> LibraryMismatch {
    let Err(Error::Failed { failure, .. }) = &created else { panic!("{created:?}") };
    let Failure::Libraries(mismatch) = &**failure else { panic!("{failure}") };
    mismatch.clone()
}

#[on_gpu_backends]
fn different_versions_cannot_be_joined(backend: TestBackend) {
    for join in [Join::Id, Join::Processes, Join::Unchecked] {
        let Some(ranks) = Ranks::open(backend, 3, &Default::default()) else { return };
        if ranks.worlds().count() == 0 {
            println!("skipped: there is one library on hardware");
            return;
        }
        let other = ranks.builder.clone().library(other_library());
        let start = Instant::now();
        let builder =
            |rank| -> &CommunicatorBuilder { if rank == 1 { &other } else { &ranks.builder } };
        let found = ranks.connected_by(join, builder, mismatch);
        assert!(start.elapsed() < Duration::from_secs(20), "{join:?}: {:?}", start.elapsed());
        for found in &found {
            let own = backend.collective_library().version();
            let (name, versions) = (
                found.library.split(' ').next().unwrap_or(""),
                [(found.rank, &found.library), (found.other, &found.other_library)],
            );
            assert_eq!(name, if backend == TestBackend::Cuda { "NCCL" } else { "RCCL" });
            for (rank, library) in versions {
                let version = if rank == 1 { "2.17.3" } else { &own };
                assert_eq!(*library, format!("{name} {version}"), "{join:?}: {found}");
            }
            assert!([found.rank, found.other].contains(&1), "{join:?}: {found}");
        }
        assert!(found.iter().all(|other| *other == found[0]), "{join:?}: {found:?}");
        if join != Join::Id {
            // In one process, those that came first wait in the library for the others.
            let calls: u64 =
                ranks.worlds().map(|world| world.calls("ncclCommInitRankConfig")).sum();
            assert_eq!(calls, 0, "{join:?}");
        }
    }
}

#[on_gpu_backends]
fn devices_are_not_joined_with_the_cpu(backend: TestBackend) {
    let Some(mut ranks) = Ranks::open(backend, 1, &Default::default()) else { return };
    let Some(cpu) = TestBackend::Cpu.open() else { return };
    ranks.on.push(cpu);
    for found in ranks.connected(Join::Processes, mismatch) {
        assert_eq!((found.rank, &found.library[..]), (1, "the CPU's own operations"));
        assert!(found.other_library.contains("CCL "), "{found}");
    }
}

/// A rank without a library says so; a communicator of the rest is possible after that.
#[on_gpu_backends]
fn the_same_processes_join_after_a_refusal(backend: TestBackend) {
    let Some(ranks) = Ranks::open(backend, 2, &Default::default()) else { return };
    if ranks.worlds().count() == 0 {
        println!("skipped: there is one library on hardware");
        return;
    }
    let other = ranks.builder.clone().library(other_library());
    ranks.in_group(|on, processes| {
        let first = if processes.rank() == 1 { &other } else { &ranks.builder };
        mismatch(first.join(&on.program, processes));
        let comm = ranks.builder.join(&on.program, processes).expect("joins");
        let mut x = on.program.tensor_from(&[comm.rank() as i32 + 1], [1]).expect("memory");
        comm.all_reduce_in_place(&mut x, Reduction::Sum).expect("matches");
        assert_eq!(x.to_vec().expect("complete"), [3]);
    });
}
