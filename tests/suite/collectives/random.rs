//! Random sequences of launches and collective operations do what plain Rust does.

use quadrants::{
    Hazards, Program, Stream, Tensor,
    collectives::{Communicator, Error, Group, Reduction, Result},
};
use quadrants_driver_sim::Schedule;
use quadrants_samples::generate::Rng;
use quadrants_tests::{TestBackend, on_all_backends};

use super::Ranks;
use crate::common::{copy, saxpy, set};

const RANKS: usize = 3;
const TENSORS: usize = 3;
const STREAMS: usize = 3;
const STEPS: usize = 40;
/// The elements of a tensor: a multiple of the number of ranks.
const N: usize = 12;

/// A step of all ranks. The numbers are those of tensors.
#[derive(Clone, Copy, Debug)]
enum Step {
    Set(usize, f32),
    Saxpy(usize, usize),
    Copy(usize, usize),
    AllReduce(usize, usize),
    AllReduceInPlace(usize),
    Broadcast(usize, usize),
    /// Each rank receives the tensor of the one before it.
    Shift(usize, usize),
    ReduceScatter(usize, usize),
    AllGather(usize, usize),
}

/// The steps of a seed, each with the number of its stream; 0 is the default stream.
fn steps(seed: u64) -> Vec<(usize, Step)> {
    // All ranks have the same random numbers.
    let mut rng = Rng::new(seed);
    (0..STEPS)
        .map(|_| {
            let stream = rng.index(STREAMS);
            let one = rng.index(TENSORS);
            let other = (one + 1 + rng.index(TENSORS - 1)) % TENSORS;
            let step = match rng.index(9) {
                0 => Step::Set(one, rng.index(16) as f32),
                1 => Step::Saxpy(one, other),
                2 => Step::Copy(one, other),
                3 => Step::AllReduce(one, other),
                4 => Step::AllReduceInPlace(one),
                5 => Step::Broadcast(one, rng.index(RANKS)),
                6 => Step::Shift(one, other),
                7 => Step::ReduceScatter(one, other),
                _ => Step::AllGather(one, other),
            };
            (stream, step)
        })
        .collect()
}

/// The reduction of all steps keeps numbers small and exact.
const REDUCTION: Reduction = Reduction::Max;

/// What the steps do to the tensors of all ranks.
fn expected(steps: &[(usize, Step)]) -> Vec<Vec<Vec<f32>>> {
    let start = |rank: usize| {
        (0..TENSORS).map(|tensor| vec![(rank * 10 + tensor) as f32; N]).collect::<Vec<_>>()
    };
    let mut ranks: Vec<_> = (0..RANKS).map(start).collect();
    for (_, step) in steps {
        let before = ranks.clone();
        let largest = |tensor: usize, i: usize| {
            before.iter().map(|rank| rank[tensor][i]).fold(f32::MIN, f32::max)
        };
        for (rank, tensors) in ranks.iter_mut().enumerate() {
            let part = N / RANKS;
            match *step {
                Step::Set(x, value) => tensors[x] = vec![value + rank as f32; N],
                Step::Saxpy(x, y) => {
                    let by = tensors[x].clone();
                    tensors[y].iter_mut().zip(by).for_each(|(y, x)| *y -= x);
                }
                Step::Copy(x, y) => tensors[y] = tensors[x].clone(),
                Step::AllReduce(x, y) => tensors[y] = (0..N).map(|i| largest(x, i)).collect(),
                Step::AllReduceInPlace(x) => tensors[x] = (0..N).map(|i| largest(x, i)).collect(),
                Step::Broadcast(x, root) => tensors[x] = before[root][x].clone(),
                Step::Shift(x, y) => {
                    tensors[y] = before[(rank + RANKS - 1) % RANKS][x].clone();
                }
                Step::ReduceScatter(x, y) => {
                    let parts = tensors[y][..part].iter_mut().enumerate();
                    parts.for_each(|(i, y)| *y = largest(x, rank * part + i));
                }
                Step::AllGather(x, y) => {
                    for i in 0..N {
                        tensors[y][i] = before[i / part][x][i % part];
                    }
                }
            }
        }
    }
    ranks
}

/// Two of the tensors.
fn two(
    tensors: &mut [Tensor<f32, 1>],
    x: usize,
    y: usize,
) -> (&Tensor<f32, 1>, &mut Tensor<f32, 1>) {
    let [x, y] = tensors.get_disjoint_mut([x, y]).expect("two tensors");
    (x, y)
}

fn enqueue(comm: &Communicator, tensors: &mut [Tensor<f32, 1>], step: Step) -> Result<()> {
    let (rank, part) = (comm.rank(), N / RANKS);
    match step {
        Step::Set(x, value) => set(value + rank as f32, &mut tensors[x]).launch()?,
        Step::Saxpy(x, y) => {
            let (x, y) = two(tensors, x, y);
            saxpy(-1.0, x, y).launch()?;
        }
        Step::Copy(x, y) => {
            let (x, y) = two(tensors, x, y);
            copy(x, y).launch()?;
        }
        Step::AllReduce(x, y) => {
            let (x, y) = two(tensors, x, y);
            comm.all_reduce(x, y, REDUCTION)?;
        }
        Step::AllReduceInPlace(x) => comm.all_reduce_in_place(&mut tensors[x], REDUCTION)?,
        Step::Broadcast(x, root) => comm.broadcast(&mut tensors[x], root)?,
        Step::Shift(x, y) => {
            let (x, y) = two(tensors, x, y);
            let mut group = Group::new();
            group.send(comm, x, (rank + 1) % RANKS)?;
            group.receive(comm, y, (rank + RANKS - 1) % RANKS)?;
            group.run()?;
        }
        Step::ReduceScatter(x, y) => {
            let (x, y) = two(tensors, x, y);
            comm.reduce_scatter(x, &mut *y.slice_mut(..part)?, REDUCTION)?;
        }
        Step::AllGather(x, y) => {
            let (x, y) = two(tensors, x, y);
            comm.all_gather(&*x.slice(..part)?, y)?;
        }
    }
    Ok(())
}

#[on_all_backends]
fn random_sequences_match_plain_rust(
    backend: TestBackend,
    #[values(false, true)] several_streams: bool,
) -> Result<()> {
    // Launches on several streams of a device are ordered by it.
    let hazards = if several_streams { Hazards::Auto } else { Hazards::Check };
    let builder = Program::builder().hazards(hazards);
    let Some(ranks) = Ranks::open(backend, RANKS, &builder) else { return Ok(()) };
    let simulated = ranks.worlds().next().is_some();
    for seed in 0..if simulated { 30 } else { 10 } {
        for (rank, world) in ranks.worlds().enumerate() {
            let special = [Schedule::Adversarial, Schedule::Lazy, Schedule::Eager];
            world.set_schedule(*special.get(seed as usize).unwrap_or(&Schedule::Random));
            world.set_seed(seed * 8 + rank as u64);
        }
        let steps = steps(seed);
        let expected = expected(&steps);
        let found = ranks.on_threads(|comm| -> Result<Vec<Vec<f32>>> {
            let (program, rank) = (comm.program(), comm.rank());
            let streams: Vec<Stream> =
                (1..STREAMS).map(|_| program.create_stream()).collect::<quadrants::Result<_>>()?;
            let start = |tensor| program.tensor_from(&[(rank * 10 + tensor) as f32; N], [N]);
            let mut tensors =
                (0..TENSORS).map(start).collect::<quadrants::Result<Vec<Tensor<f32, 1>>>>()?;
            for (stream, step) in &steps {
                match streams.get(stream.wrapping_sub(1)).filter(|_| several_streams) {
                    Some(stream) => stream.scope(|| enqueue(comm, &mut tensors, *step))?,
                    None => enqueue(comm, &mut tensors, *step)?,
                }
            }
            tensors.iter().map(|tensor| tensor.to_vec().map_err(Error::from)).collect()
        });
        for (rank, (found, expected)) in found.into_iter().zip(&expected).enumerate() {
            assert_eq!(&found?, expected, "seed {seed}, rank {rank}: {steps:?}");
        }
        for world in ranks.worlds() {
            assert_eq!((world.reports(), world.races()), (vec![], vec![]), "seed {seed}");
        }
    }
    Ok(())
}
