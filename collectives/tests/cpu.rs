//! Collective operations on the CPU: one thread with groups, and a thread for each rank.

use std::time::Duration;

use quadrants_collectives::{Communicator, Error, Failure, Group, Reduction, UniqueId};
use quadrants_program::{Opened, Program};

fn programs(n: usize) -> Vec<Program> {
    let open = |_| {
        let device = quadrants_rhi_cpu::driver().and_then(|driver| driver.open(0)).unwrap();
        Program::open(Opened { device, compiler: None }).unwrap()
    };
    (0..n).map(open).collect()
}

/// Runs `body` for each rank on a thread of its own.
fn on_threads<R: Send>(n: usize, body: impl Fn(Communicator) -> R + Sync) -> Vec<R> {
    let programs = programs(n);
    let builder = Communicator::builder().timeout(Duration::from_secs(20));
    let id: UniqueId = builder.unique_id(&programs[0]).unwrap();
    std::thread::scope(|scope| {
        let (body, builder) = (&body, &builder);
        let start = |(rank, program)| {
            scope.spawn(move || body(builder.rank(program, &id, rank, n).unwrap()))
        };
        let threads: Vec<_> = programs.iter().enumerate().map(start).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn every_operation_on_a_thread_per_rank() {
    for n in [1, 2, 3, 5] {
        let checked = on_threads(n, |comm| {
            let (prog, rank) = (comm.program(), comm.rank());
            let values: Vec<i32> = (0..6).map(|i| (rank * 10 + i) as i32).collect();
            let x = prog.tensor_from(&values, [2, 3]).unwrap();
            let mut y = prog.zeros::<i32, 1>([6]).unwrap();
            comm.all_reduce(&x, &mut y, Reduction::Sum).unwrap();
            let base = (n * (n - 1) / 2 * 10) as i32;
            let sums: Vec<i32> = (0..6).map(|i| base + i * n as i32).collect();
            assert_eq!(y.to_vec().unwrap(), sums);
            comm.all_reduce(&x, &mut y, Reduction::Max).unwrap();
            assert_eq!(y.to_vec().unwrap()[1], ((n - 1) * 10 + 1) as i32);
            comm.all_reduce(&x, &mut y, Reduction::Mean).unwrap();
            assert_eq!(y.to_vec().unwrap()[5], base / n as i32 + 5);
            comm.all_reduce_in_place(&mut y, Reduction::Min).unwrap();
            let mut all = prog.zeros::<i32, 2>([n, 6]).unwrap();
            comm.all_gather(&x, &mut all).unwrap();
            let all_values: Vec<i32> =
                (0..n).flat_map(|r| (0..6).map(move |i| (r * 10 + i) as i32)).collect();
            assert_eq!(all.to_vec().unwrap(), all_values);
            let mut part = prog.zeros::<i32, 1>([6]).unwrap();
            comm.reduce_scatter(&all, &mut part, Reduction::Sum).unwrap();
            let expected: Vec<i32> = (0..6).map(|i| (rank * 10 + i) as i32 * n as i32).collect();
            assert_eq!(part.to_vec().unwrap(), expected);
            comm.broadcast(&mut part, n - 1).unwrap();
            assert_eq!(part.to_vec().unwrap()[0], ((n - 1) * 10 * n) as i32);
            let mut total = prog.zeros::<i32, 2>([2, 3]).unwrap();
            comm.reduce(&x, &mut total, Reduction::Sum, 0).unwrap();
            if rank == 0 {
                assert_eq!(total.to_vec().unwrap(), sums);
            }
            let mut from_before = prog.zeros::<i32, 1>([6]).unwrap();
            let mut group = Group::new();
            group.send(&comm, &x, (rank + 1) % n).unwrap();
            group.receive(&comm, &mut from_before, (rank + n - 1) % n).unwrap();
            group.run().unwrap();
            assert_eq!(from_before.to_vec().unwrap()[0], ((rank + n - 1) % n * 10) as i32);
            1
        });
        assert_eq!(checked.len(), n);
    }
}

#[test]
fn one_thread_drives_all_ranks_with_groups() {
    let programs = programs(3);
    let ranks = Communicator::all(&programs.iter().collect::<Vec<_>>()).unwrap();
    let mut tensors: Vec<_> = programs
        .iter()
        .enumerate()
        .map(|(rank, prog)| prog.tensor_from(&[rank as f32 + 1.0; 4], [4]).unwrap())
        .collect();
    let mut group = Group::new();
    for (comm, tensor) in ranks.iter().zip(&mut tensors) {
        group.all_reduce_in_place(comm, tensor, Reduction::Product).unwrap();
    }
    group.run().unwrap();
    for tensor in &tensors {
        assert_eq!(tensor.to_vec().unwrap(), [6.0; 4]);
    }
}

#[test]
fn lengths_and_ranks_are_checked() {
    let programs = programs(2);
    let ranks = Communicator::all(&[&programs[0], &programs[1]]).unwrap();
    let x = programs[0].zeros::<f32, 1>([6]).unwrap();
    let mut y = programs[0].zeros::<f32, 1>([5]).unwrap();
    let wrong = ranks[0].all_reduce(&x, &mut y, Reduction::Sum).unwrap_err();
    assert!(matches!(wrong, Error::Length { from: 6, expected: 6, to: 5, .. }), "{wrong}");
    let wrong = ranks[0].all_gather(&x, &mut y).unwrap_err();
    assert!(matches!(wrong, Error::Length { expected: 12, to: 5, .. }), "{wrong}");
    let odd = programs[0].zeros::<f32, 1>([7]).unwrap();
    let mut three = programs[0].zeros::<f32, 1>([3]).unwrap();
    let wrong = ranks[0].reduce_scatter(&odd, &mut three, Reduction::Sum).unwrap_err();
    assert!(matches!(wrong, Error::Parts { size: 2, from: 7, .. }), "{wrong}");
    let wrong = ranks[0].send(&x, 2).unwrap_err();
    assert!(matches!(wrong, Error::Rank { rank: 2, size: 2 }), "{wrong}");
}

#[test]
fn an_operation_that_the_others_do_not_enqueue_fails_by_the_time_limit() {
    let programs = programs(2);
    let builder = Communicator::builder().timeout(Duration::from_millis(50));
    let ranks = builder.all(&[&programs[0], &programs[1]]).unwrap();
    let mut x = programs[0].zeros::<f32, 1>([4]).unwrap();
    let failed = ranks[0].all_reduce_in_place(&mut x, Reduction::Sum).unwrap_err();
    let Error::Failed { failure, .. } = &failed else { panic!("{failed}") };
    assert!(matches!(**failure, Failure::Timeout { .. }), "{failed}");
    assert!(ranks[0].is_aborted());
    let mut y = programs[1].zeros::<f32, 1>([4]).unwrap();
    assert!(ranks[1].all_reduce_in_place(&mut y, Reduction::Sum).is_err());
    assert!(matches!(
        ranks[0].all_reduce_in_place(&mut x, Reduction::Sum),
        Err(Error::Aborted { rank: 0, failure: Some(_) })
    ));
}

#[test]
fn different_operations_fail_on_all_ranks() {
    let errors = on_threads(2, |comm| {
        let mut x = comm.program().zeros::<f32, 1>([4 + comm.rank()]).unwrap();
        comm.all_reduce_in_place(&mut x, Reduction::Sum).unwrap_err().to_string()
    });
    for error in errors {
        assert!(error.contains("differ in collective operation 1: rank"), "{error}");
        assert!(error.contains("called `all_reduce` (5 elements of `f32`, Sum)"), "{error}");
    }
}
