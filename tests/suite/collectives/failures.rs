//! Failures of collective operations: typed errors, and never a hang.

use std::time::{Duration, Instant};

use quadrants::{
    Program, Severity,
    collectives::{Communicator, Error, Failure, Group, Reduction, Result},
};
use quadrants_driver_sim::Code;
use quadrants_tests::{TestBackend, on_all_backends, on_gpu_backends};

use super::{Ranks, failure_of};
use crate::common::set;

const N: usize = 16;

#[on_all_backends]
fn an_operation_that_another_rank_does_not_enqueue_ends_by_the_time_limit(
    backend: TestBackend,
) -> Result<()> {
    let Some(mut ranks) = Ranks::open(backend, 2, &Program::builder()) else { return Ok(()) };
    // NCCL takes a second to join.
    let hardware = ranks.worlds().next().is_none() && backend != TestBackend::Cpu;
    let timeout = if hardware { 5000 } else { 300 };
    ranks.builder = ranks.builder.timeout(Duration::from_millis(timeout));
    let comms = ranks.builder.all(&ranks.programs())?;
    let program = ranks.programs()[0];
    let start = Instant::now();
    let mut x = program.zeros::<f32, 1>([N])?;
    // The operation or the wait for it fails: a library may wait for the other rank in either.
    let failed = match comms[0].all_reduce_in_place(&mut x, Reduction::Sum) {
        Ok(()) => {
            let error = program.sync().unwrap_err();
            assert_eq!(error.severity(), Severity::LostData);
            matches!(failure_of(&error), Some(Failure::Timeout { .. }))
        }
        Err(Error::Failed { failure, .. }) => matches!(*failure, Failure::Timeout { .. }),
        Err(other) => panic!("{other}"),
    };
    assert!(failed);
    assert!(start.elapsed() < Duration::from_secs(20));
    assert!(comms[0].is_aborted());
    // The device goes on.
    set(3.0, &mut x).launch()?;
    assert_eq!(x.to_vec()?, [3.0; N]);
    let error = comms[0].all_reduce_in_place(&mut x, Reduction::Sum).unwrap_err();
    assert!(matches!(error, Error::Aborted { rank: 0, failure: Some(_) }), "{error}");
    assert!(error.to_string().contains("make another one"), "{error}");
    Ok(())
}

#[on_all_backends]
fn an_aborted_communicator_refuses_operations(backend: TestBackend) -> Result<()> {
    let Some(ranks) = Ranks::open(backend, 1, &Program::builder()) else { return Ok(()) };
    let comms = ranks.builder.all(&ranks.programs())?;
    let mut x = ranks.programs()[0].zeros::<f32, 1>([N])?;
    comms[0].all_reduce_in_place(&mut x, Reduction::Sum)?;
    comms[0].abort();
    comms[0].abort();
    let error = comms[0].all_reduce_in_place(&mut x, Reduction::Sum).unwrap_err();
    assert!(matches!(error, Error::Aborted { rank: 0, failure: None }), "{error}");
    drop(comms);
    // Another one works.
    let comms = ranks.builder.all(&ranks.programs())?;
    comms[0].all_reduce_in_place(&mut x, Reduction::Sum)?;
    assert_eq!(x.to_vec()?, [0.0; N]);
    Ok(())
}

#[on_all_backends]
fn waits_go_on_after_another_thread_aborts(
    backend: TestBackend,
    #[values(0, 1)] aborted: usize,
) -> Result<()> {
    let Some(ranks) = Ranks::open(backend, 2, &Program::builder()) else { return Ok(()) };
    let comms = ranks.builder.all(&ranks.programs())?;
    let program = ranks.programs()[0];
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let mut x = program.zeros::<f32, 1>([N])?;
            comms[0].all_reduce_in_place(&mut x, Reduction::Sum)?;
            program.sync()?;
            // The abort of this rank is no failure for its waits.
            comms[0].all_reduce_in_place(&mut x, Reduction::Sum)
        });
        std::thread::sleep(Duration::from_millis(100));
        // The rank that waits fails with the one that is aborted.
        comms[aborted].abort();
        let error = waiting.join().expect("no panic").unwrap_err();
        if aborted == 1 {
            assert!(error.to_string().contains("rank 1 was aborted"), "{error}");
        }
        assert!(comms.iter().all(Communicator::is_aborted));
        Ok(())
    })
}

/// Whether the library reported a failure, of this rank or of another one.
fn is_reported(failure: &Failure) -> bool {
    match failure {
        Failure::Async { .. } => true,
        Failure::PeerAborted { failure: Some(failure), .. } => is_reported(failure),
        _ => false,
    }
}

/// What the library reports after an operation was enqueued is returned by the wait, and by later operations.
#[on_gpu_backends]
fn a_failure_that_the_library_reports_is_returned_by_the_wait(backend: TestBackend) -> Result<()> {
    let Some(ranks) = Ranks::open(backend, 2, &Program::builder()) else { return Ok(()) };
    if ranks.worlds().next().is_none() {
        return Ok(());
    }
    let comms = ranks.builder.all(&ranks.programs())?;
    let mut tensors: Vec<_> = ranks
        .programs()
        .iter()
        .map(|program| program.zeros::<f32, 1>([N]))
        .collect::<quadrants::Result<_>>()?;
    ranks.worlds().for_each(|world| world.break_communicators());
    let mut group = Group::new();
    for (comm, tensor) in comms.iter().zip(&mut tensors) {
        group.all_reduce_in_place(comm, tensor, Reduction::Sum)?;
    }
    let enqueued = group.run();
    let failed = match &enqueued {
        Ok(()) => match tensors[0].to_vec() {
            Err(error) => failure_of(&error).is_some_and(is_reported),
            Ok(_) => false,
        },
        Err(Error::Failed { failure, .. }) => is_reported(failure),
        Err(_) => false,
    };
    assert!(failed, "{enqueued:?}");
    for (comm, program) in comms.iter().zip(ranks.programs()) {
        let _ = program.sync();
        assert!(comm.is_aborted());
    }
    Ok(())
}

/// Each call of the library fails once: a typed error, and a communicator of which nothing is left.
#[on_gpu_backends]
fn a_failed_call_is_an_error_and_leaves_nothing(
    backend: TestBackend,
    #[values("ncclAllReduce", "ncclGroupEnd", "ncclGroupStart", "ncclCommInitRankConfig")]
    function: &'static str,
) -> Result<()> {
    let Some(ranks) = Ranks::open(backend, 2, &Program::builder()) else { return Ok(()) };
    if ranks.worlds().next().is_none() {
        return Ok(());
    }
    let run = || -> Result<()> {
        let comms = ranks.builder.all(&ranks.programs())?;
        let mut tensors: Vec<_> = ranks
            .programs()
            .iter()
            .map(|program| program.zeros::<f32, 1>([N]))
            .collect::<quadrants::Result<_>>()?;
        let mut group = Group::new();
        for (comm, tensor) in comms.iter().zip(&mut tensors) {
            group.all_reduce_in_place(comm, tensor, Reduction::Sum)?;
        }
        group.run()?;
        ranks.programs().iter().try_for_each(|program| Ok(program.device_sync()?))
    };
    for world in ranks.worlds() {
        world.fail(function, 1, Code(3));
    }
    let failed = run();
    assert!(matches!(&failed, Err(Error::Failed { .. })), "{function}: {failed:?}");
    assert!(failed.unwrap_err().to_string().contains("ncclInternalError"));
    ranks.worlds().for_each(|world| world.disarm_faults());
    for world in ranks.worlds() {
        assert_eq!(world.live().communicators, 0, "{function}");
    }
    run()
}
