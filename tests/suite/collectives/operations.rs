//! The results of all operations, on one thread with groups and on a thread for each rank.

use quadrants::{
    Hazards, Program, Tensor,
    collectives::{Communicator, Element, Error, Group, Reduction, Result},
    f16,
};
use quadrants_driver_sim::Schedule;
use quadrants_tests::{TestBackend, on_all_backends};

use super::Ranks;
use crate::common::set;

const N: usize = 12;

fn numbers(rank: usize) -> Vec<i32> {
    (0..N).map(|i| (rank * 100 + i) as i32).collect()
}

/// All operations of one rank, whose results are checked.
fn all_operations(comm: &Communicator) -> Result<()> {
    let (prog, rank, size) = (comm.program(), comm.rank(), comm.size());
    let x = prog.tensor_from(&numbers(rank), [3, 4])?;
    let mut y = prog.zeros::<i32, 1>([N])?;
    let of_all = |i: usize| (0..size).map(move |rank| (rank * 100 + i) as i32);
    let expect = |combine: &dyn Fn(usize) -> i32| (0..N).map(combine).collect::<Vec<_>>();
    comm.all_reduce(&x, &mut y, Reduction::Sum)?;
    assert_eq!(y.to_vec()?, expect(&|i| of_all(i).sum()));
    comm.all_reduce(&x, &mut y, Reduction::Product)?;
    assert_eq!(y.to_vec()?, expect(&|i| of_all(i).fold(1, i32::wrapping_mul)));
    comm.all_reduce(&x, &mut y, Reduction::Max)?;
    assert_eq!(y.to_vec()?, numbers(size - 1));
    comm.all_reduce(&x, &mut y, Reduction::Min)?;
    assert_eq!(y.to_vec()?, numbers(0));
    comm.all_reduce(&x, &mut y, Reduction::Mean)?;
    assert_eq!(y.to_vec()?, expect(&|i| of_all(i).sum::<i32>() / size as i32));
    y.copy_from(&*x.flat()?)?;
    comm.all_reduce_in_place(&mut y, Reduction::Sum)?;
    assert_eq!(y.to_vec()?, expect(&|i| of_all(i).sum()));
    let root = size - 1;
    comm.reduce(&x, &mut y, Reduction::Sum, root)?;
    if rank == root {
        assert_eq!(y.to_vec()?, expect(&|i| of_all(i).sum()));
    }
    let mut all = prog.zeros::<i32, 2>([size, N])?;
    comm.all_gather(&x, &mut all)?;
    assert_eq!(all.to_vec()?, (0..size).flat_map(numbers).collect::<Vec<_>>());
    let mut part = prog.zeros::<i32, 1>([N])?;
    comm.reduce_scatter(&all, &mut part, Reduction::Sum)?;
    let expected: Vec<_> = numbers(rank).iter().map(|x| x * size as i32).collect();
    assert_eq!(part.to_vec()?, expected);
    comm.broadcast(&mut part, 0)?;
    assert_eq!(part.to_vec()?[1], size as i32);
    // A ring, of slices.
    let (next, before) = ((rank + 1) % size, (rank + size - 1) % size);
    let mut group = Group::new();
    let (own, mut from) = (x.slice(1..)?, part.slice_mut(4..)?);
    group.send(comm, &own, next)?.receive(comm, &mut from, before)?;
    group.run()?;
    drop((own, from));
    assert_eq!(part.to_vec()?[4..], numbers(before)[4..]);
    Ok(())
}

#[on_all_backends]
fn every_operation_gives_its_result_on_a_thread_per_rank(
    backend: TestBackend,
    #[values(1, 2, 3, 4)] size: usize,
) -> Result<()> {
    let Some(ranks) = Ranks::open(backend, size, &Program::builder()) else { return Ok(()) };
    for (seed, schedule) in
        [Schedule::Adversarial, Schedule::Eager, Schedule::Random, Schedule::Random]
            .into_iter()
            .enumerate()
    {
        for world in ranks.worlds() {
            world.set_schedule(schedule);
            world.set_seed(seed as u64);
        }
        ranks.on_threads(all_operations).into_iter().collect::<Result<Vec<_>>>()?;
        if ranks.worlds().next().is_none() {
            break;
        }
    }
    for world in ranks.worlds() {
        assert_eq!((world.reports(), world.races()), (vec![], vec![]));
    }
    Ok(())
}

/// The sum and the mean of three ranks, whose elements are `1`, `2` and `4`.
fn sums<T: Element + PartialEq + std::fmt::Debug>(
    ranks: &Ranks,
    [one, two, four, seven]: [T; 4],
) -> Result<()> {
    let programs = ranks.programs();
    let comms = ranks.builder.all(&programs)?;
    let tensor = |(program, value): (&&Program, T)| program.tensor_from(&[value; N], [N]);
    let values = programs.iter().zip([one, two, four]);
    let mut tensors: Vec<Tensor<T, 1>> = values.map(tensor).collect::<quadrants::Result<_>>()?;
    let mut group = Group::new();
    for (comm, tensor) in comms.iter().zip(&mut tensors) {
        group.all_reduce_in_place(comm, tensor, Reduction::Sum)?;
    }
    group.run()?;
    for tensor in &tensors {
        assert_eq!(tensor.to_vec()?, [seven; N]);
    }
    Ok(())
}

#[on_all_backends]
fn all_types_of_elements_are_combined(backend: TestBackend) -> Result<()> {
    let Some(ranks) = Ranks::open(backend, 3, &Program::builder()) else { return Ok(()) };
    sums(&ranks, [1_i8, 2, 4, 7])?;
    sums(&ranks, [1_u8, 2, 4, 7])?;
    sums(&ranks, [1_i32, 2, 4, 7])?;
    sums(&ranks, [1_u32, 2, 4, 7])?;
    sums(&ranks, [1_i64, 2, 4, 7])?;
    sums(&ranks, [1_u64, 2, 4, 7])?;
    sums(&ranks, [1.0_f32, 2.0, 4.0, 7.0])?;
    sums(&ranks, [1.0_f64, 2.0, 4.0, 7.0])?;
    sums(&ranks, [1.0, 2.0, 4.0, 7.0].map(f16::from_f32))
}

#[on_all_backends]
fn operations_of_several_ranks_are_one_group(backend: TestBackend) -> Result<()> {
    let builder = Program::builder().hazards(Hazards::Check);
    let Some(ranks) = Ranks::open(backend, 2, &builder) else { return Ok(()) };
    let comms = ranks.builder.all(&ranks.programs())?;
    let mut tensors: Vec<_> = ranks
        .programs()
        .iter()
        .map(|program| program.zeros::<f32, 1>([N]))
        .collect::<quadrants::Result<_>>()?;
    for round in 1..=5 {
        for (rank, tensor) in tensors.iter_mut().enumerate() {
            set((rank + round) as f32, tensor).launch()?;
        }
        let mut group = Group::new();
        for (comm, tensor) in comms.iter().zip(&mut tensors) {
            group.all_reduce_in_place(comm, tensor, Reduction::Sum)?;
        }
        group.run()?;
        // Not even the launch that follows waits on the host.
        for (rank, tensor) in tensors.iter_mut().enumerate() {
            assert_eq!(tensor.to_vec()?, [(2 * round + 1) as f32; N], "rank {rank}");
        }
    }
    Ok(())
}

#[on_all_backends]
fn lengths_and_ranks_are_checked(backend: TestBackend) -> Result<()> {
    let Some(ranks) = Ranks::open(backend, 2, &Program::builder()) else { return Ok(()) };
    let comms = ranks.builder.all(&ranks.programs())?;
    let (comm, program) = (&comms[0], ranks.programs()[0]);
    let x = program.zeros::<f32, 1>([6])?;
    let (mut five, mut twelve) = (program.zeros::<f32, 1>([5])?, program.zeros::<f32, 1>([12])?);
    let error = comm.all_reduce(&x, &mut five, Reduction::Sum).unwrap_err();
    assert!(matches!(error, Error::Length { from: 6, expected: 6, to: 5, .. }), "{error}");
    let error = comm.all_gather(&x, &mut five).unwrap_err();
    assert!(matches!(error, Error::Length { expected: 12, to: 5, .. }), "{error}");
    let error = comm.reduce_scatter(&x, &mut twelve, Reduction::Sum).unwrap_err();
    assert!(matches!(error, Error::Length { expected: 3, to: 12, .. }), "{error}");
    assert_eq!(
        comm.send(&x, 2).unwrap_err().to_string(),
        "rank 2 is not a rank of a communicator with 2 ranks; help: use a rank in 0..2"
    );
    let error = comm.broadcast(&mut five, 7).unwrap_err();
    assert!(matches!(error, Error::Rank { rank: 7, size: 2 }), "{error}");
    // Nothing of it was enqueued: both still work together.
    let mut y = ranks.programs()[1].zeros::<f32, 1>([5])?;
    let mut group = Group::new();
    group.broadcast(&comms[1], &mut y, 0)?.broadcast(comm, &mut five, 0)?;
    group.run()
}

#[on_all_backends]
fn a_tensor_of_another_program_is_refused(backend: TestBackend) -> Result<()> {
    let Some(ranks) = Ranks::open(backend, 2, &Program::builder()) else { return Ok(()) };
    let comms = ranks.builder.all(&ranks.programs())?;
    let mut x = ranks.programs()[1].zeros::<f32, 1>([N])?;
    let error = comms[0].all_reduce_in_place(&mut x, Reduction::Sum).unwrap_err();
    assert!(matches!(error, Error::Program(quadrants::Error::OtherProgram { .. })), "{error}");
    assert!(!comms[0].is_aborted(), "nothing was enqueued");
    Ok(())
}

#[on_all_backends]
fn an_operation_of_no_elements_does_nothing(backend: TestBackend) -> Result<()> {
    let Some(ranks) = Ranks::open(backend, 2, &Program::builder()) else { return Ok(()) };
    ranks
        .on_threads(|comm| {
            let mut x = comm.program().zeros::<f32, 1>([0])?;
            comm.all_reduce_in_place(&mut x, Reduction::Sum)?;
            assert!(x.to_vec()?.is_empty());
            Ok(())
        })
        .into_iter()
        .collect()
}
