//! Calls of ranks that do not match: an error on all ranks before the library is called, never a hang, and no write
//! outside of the tensors.

use std::time::{Duration, Instant};

use quadrants::{
    Program, Tensor,
    collectives::{Communicator, Error, Failure, Group, Mismatch, Reduction, Result},
};
use quadrants_driver_sim::Schedule;
use quadrants_samples::generate::Rng;
use quadrants_tests::{TestBackend, full_size, on_all_backends};

use super::{Join, Ranks, failure_of};

const RANKS: usize = 3;
/// The elements of a tensor.
const N: usize = 24;
/// The elements before and after it, which nothing writes.
const MARGIN: usize = 64;
const UNTOUCHED: i32 = -7;

/// An operation of a rank.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Step {
    AllReduce(usize, Reduction),
    AllReduceFloats(usize, Reduction),
    Reduce(usize, usize),
    Broadcast(usize, usize),
    AllGather(usize),
    ReduceScatter(usize),
    /// Each rank sends so many elements to the next one, and receives so many from the one before it.
    Shift(usize, usize),
    /// An all-reduce and a broadcast, in one group or one after the other.
    Two(usize, bool),
}

/// The tensors of a rank.
struct Tensors {
    from: Tensor<i32, 1>,
    to: Tensor<i32, 1>,
    floats: Tensor<f32, 1>,
}

impl Tensors {
    fn new(program: &Program) -> Result<Self> {
        let all = MARGIN + N + MARGIN;
        let (integers, floats) = (vec![UNTOUCHED; all], vec![UNTOUCHED as f32; all]);
        Ok(Self {
            from: program.tensor_from(&integers, [all])?,
            to: program.tensor_from(&integers, [all])?,
            floats: program.tensor_from(&floats, [all])?,
        })
    }

    fn enqueue(&mut self, comm: &Communicator, step: Step) -> Result<()> {
        let (rank, size) = (comm.rank(), comm.size());
        let (part, of) = (|count| MARGIN..MARGIN + count, Reduction::Max);
        match step {
            Step::AllReduce(count, of) => {
                let (from, mut to) =
                    (self.from.slice(part(count))?, self.to.slice_mut(part(count))?);
                comm.all_reduce(&*from, &mut *to, of)
            }
            Step::AllReduceFloats(count, of) => {
                comm.all_reduce_in_place(&mut *self.floats.slice_mut(part(count))?, of)
            }
            Step::Reduce(count, root) => {
                let (from, mut to) =
                    (self.from.slice(part(count))?, self.to.slice_mut(part(count))?);
                comm.reduce(&*from, &mut *to, of, root)
            }
            Step::Broadcast(count, root) => {
                comm.broadcast(&mut *self.to.slice_mut(part(count))?, root)
            }
            Step::AllGather(count) => {
                let from = self.from.slice(part(count))?;
                comm.all_gather(&*from, &mut *self.to.slice_mut(part(count * size))?)
            }
            Step::ReduceScatter(count) => {
                let from = self.from.slice(part(count * size))?;
                comm.reduce_scatter(&*from, &mut *self.to.slice_mut(part(count))?, of)
            }
            Step::Shift(sent, received) => {
                let (from, mut to) =
                    (self.from.slice(part(sent))?, self.to.slice_mut(part(received))?);
                let mut group = Group::new();
                group.send(comm, &from, (rank + 1) % size)?;
                group.receive(comm, &mut to, (rank + size - 1) % size)?;
                group.run()
            }
            Step::Two(count, grouped) => {
                let mut to = self.to.slice_mut(part(count))?;
                let mut floats = self.floats.slice_mut(part(count))?;
                if !grouped {
                    comm.all_reduce_in_place(&mut *to, of)?;
                    return comm.broadcast(&mut *floats, 0);
                }
                let mut group = Group::new();
                group.all_reduce_in_place(comm, &mut to, of)?.broadcast(comm, &mut floats, 0)?;
                group.run()
            }
        }
    }

    /// Whether nothing was written outside.
    fn margins_are_untouched(&self, program: &Program) -> bool {
        // The first wait may return the failure.
        let _ = program.device_sync();
        let [before, after] = [0..MARGIN, MARGIN + N..MARGIN + N + MARGIN];
        [before, after].into_iter().all(|margin| {
            let to = self.to.slice(margin.clone()).and_then(|to| to.to_vec());
            let floats = self.floats.slice(margin).and_then(|floats| floats.to_vec());
            let (to, floats) =
                (to.expect("the device goes on"), floats.expect("the device goes on"));
            to == [UNTOUCHED; MARGIN] && floats == [UNTOUCHED as f32; MARGIN]
        })
    }
}

/// A step, and what it must not meet.
const PAIRS: [(Step, Step); 12] = [
    (Step::AllReduce(9, Reduction::Sum), Step::AllReduce(10, Reduction::Sum)),
    (Step::AllReduce(9, Reduction::Sum), Step::AllReduce(0, Reduction::Sum)),
    (Step::AllReduce(9, Reduction::Sum), Step::AllReduce(9, Reduction::Mean)),
    (Step::AllReduce(9, Reduction::Max), Step::AllReduceFloats(9, Reduction::Max)),
    (Step::AllReduce(9, Reduction::Max), Step::Reduce(9, 0)),
    (Step::Reduce(9, 0), Step::Reduce(9, 2)),
    (Step::Broadcast(9, 1), Step::Broadcast(9, 0)),
    (Step::AllGather(8), Step::AllGather(7)),
    (Step::ReduceScatter(7), Step::ReduceScatter(8)),
    (Step::ReduceScatter(7), Step::AllGather(7)),
    (Step::Two(9, true), Step::Two(9, false)),
    (Step::Shift(9, 9), Step::Shift(10, 9)),
];

/// What a rank's calls or its wait returned.
fn run(comm: &Communicator, steps: &[Step]) -> (Result<()>, bool) {
    let mut tensors = Tensors::new(comm.program()).expect("tensors");
    let done = steps.iter().try_for_each(|step| tensors.enqueue(comm, *step));
    let done = done.and_then(|()| Ok(comm.program().device_sync()?));
    (done, tensors.margins_are_untouched(comm.program()))
}

fn mismatch_of(error: &Error) -> Option<Mismatch> {
    let failure = match error {
        Error::Failed { failure, .. } | Error::Aborted { failure: Some(failure), .. } => failure,
        Error::Program(error) => failure_of(error)?,
        _ => return None,
    };
    match failure {
        Failure::Mismatch(mismatch) => Some(*mismatch),
        _ => None,
    }
}

/// Runs the steps of each rank, of which those of `wrong` do not match, and checks the errors.
fn check(ranks: &Ranks, steps: &[Vec<Step>], wrong: usize, join: Join) {
    let start = Instant::now();
    let done = ranks.connected(join, |comm| {
        // A rank may be late, and find the failure when it joins.
        let done = comm.and_then(|comm| {
            let (done, untouched) = run(&comm, &steps[comm.rank()]);
            assert!(untouched, "rank {}: {steps:?}", comm.rank());
            assert!(done.is_ok() || comm.is_aborted());
            done
        });
        done.err().map(|error| (mismatch_of(&error), error.to_string()))
    });
    let mut found = None;
    for (rank, done) in done.iter().enumerate() {
        match done {
            // A rank may have received what it waits for, and does not wait for no elements.
            None => {
                let waits = |step: &Step| !matches!(step, Step::Shift(..) | Step::AllReduce(0, _));
                assert!(!steps[rank].last().is_some_and(waits), "rank {rank}: {steps:?}");
            }
            Some((mismatch, text)) => {
                let mismatch = mismatch.unwrap_or_else(|| panic!("rank {rank}: {text}: {steps:?}"));
                assert_eq!(*found.get_or_insert(mismatch), mismatch, "one reason for all");
            }
        }
    }
    let found = found.expect("a mismatch");
    assert!([found.rank, found.other].contains(&wrong), "{found}: {steps:?}");
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}: {steps:?}", start.elapsed());
    for world in ranks.worlds() {
        // The library has no call that does not match.
        assert_eq!((world.reports(), world.races()), (vec![], vec![]), "{steps:?}");
    }
}

fn schedule(ranks: &Ranks, seed: u64) {
    for (rank, world) in ranks.worlds().enumerate() {
        let special = [Schedule::Adversarial, Schedule::Lazy, Schedule::Eager];
        world.set_schedule(*special.get(seed as usize % 5).unwrap_or(&Schedule::Random));
        world.set_seed(seed * 8 + rank as u64);
    }
}

#[on_all_backends]
fn a_mismatch_is_an_error_on_all_ranks(
    backend: TestBackend,
    #[values(0, 1, 2)] wrong: usize,
    #[values(Join::Id, Join::Processes)] join: Join,
) -> Result<()> {
    let Some(ranks) = Ranks::open(backend, RANKS, &Program::builder()) else { return Ok(()) };
    let simulated = ranks.worlds().next().is_some();
    for (number, (good, bad)) in PAIRS.into_iter().enumerate() {
        for at in 0..3 {
            // Of the positions, a quick run tests one, another for each rank. Groups of real devices are slow to make.
            let is_slow = !simulated && backend != TestBackend::Cpu;
            if (is_slow || !full_size()) && at != (number + wrong) % 3 {
                continue;
            }
            schedule(&ranks, (number * 3 + at) as u64);
            let mut steps = vec![vec![Step::Broadcast(3, 0), Step::AllGather(2)]; RANKS];
            for (rank, steps) in steps.iter_mut().enumerate() {
                steps.insert(at, if rank == wrong { bad } else { good });
            }
            check(&ranks, &steps, wrong, join);
        }
    }
    Ok(())
}

fn random_step(rng: &mut Rng) -> Step {
    let (count, root) = (1 + rng.index(N - 1), rng.index(RANKS));
    let part = 1 + count / RANKS % 7;
    match rng.index(8) {
        0 => Step::AllReduce(count, Reduction::Sum),
        1 => Step::AllReduceFloats(count, Reduction::Max),
        2 => Step::Reduce(count, root),
        3 => Step::Broadcast(count, root),
        4 => Step::AllGather(part),
        5 => Step::ReduceScatter(part),
        6 => Step::Shift(count, count),
        _ => Step::Two(count, true),
    }
}

/// A step that does not match.
fn altered(step: Step, rng: &mut Rng) -> Step {
    let other = |count: usize| if count < N { count + 1 } else { count - 1 };
    match (step, rng.index(2)) {
        (Step::AllReduce(count, of), 0) => Step::AllReduce(other(count), of),
        (Step::AllReduce(count, _), _) => Step::AllReduce(count, Reduction::Product),
        (Step::AllReduceFloats(count, of), 0) => Step::AllReduceFloats(other(count), of),
        (Step::AllReduceFloats(count, of), _) => Step::AllReduce(count, of),
        (Step::Reduce(count, root), 0) => Step::Reduce(other(count), root),
        (Step::Reduce(count, root), _) => Step::Reduce(count, (root + 1) % RANKS),
        (Step::Broadcast(count, root), 0) => Step::Broadcast(other(count), root),
        (Step::Broadcast(count, root), _) => Step::Broadcast(count, (root + 2) % RANKS),
        (Step::AllGather(count), 0) => Step::AllGather(if count == 8 { 7 } else { count + 1 }),
        (Step::AllGather(count), _) => Step::ReduceScatter(count),
        (Step::ReduceScatter(count), 0) => {
            Step::ReduceScatter(if count == 8 { 7 } else { count + 1 })
        }
        (Step::ReduceScatter(count), _) => Step::AllReduce(count, Reduction::Max),
        (Step::Shift(sent, received), 0) => Step::Shift(other(sent), received),
        (Step::Shift(sent, received), _) => Step::Shift(sent, other(received)),
        (Step::Two(count, grouped), 0) => Step::Two(other(count), grouped),
        (Step::Two(count, grouped), _) => Step::Two(count, !grouped),
    }
}

#[on_all_backends]
fn an_altered_call_in_a_random_sequence_is_an_error(
    backend: TestBackend,
    #[values(Join::Id, Join::Processes)] join: Join,
) -> Result<()> {
    let Some(ranks) = Ranks::open(backend, RANKS, &Program::builder()) else { return Ok(()) };
    let simulated = ranks.worlds().next().is_some();
    let is_slow = !simulated && backend != TestBackend::Cpu;
    for seed in 0..if is_slow {
        12
    } else if full_size() {
        60
    } else {
        24
    } {
        schedule(&ranks, seed);
        let mut rng = Rng::new(seed);
        let all: Vec<Step> = (0..8).map(|_| random_step(&mut rng)).collect();
        let mut steps = vec![all; RANKS];
        let (wrong, at) = (rng.index(RANKS), rng.index(8));
        steps[wrong][at] = altered(steps[wrong][at], &mut rng);
        check(&ranks, &steps, wrong, join);
    }
    Ok(())
}

/// Without the alteration, the sequences work.
#[on_all_backends]
fn random_sequences_of_processes_match(
    backend: TestBackend,
    #[values(Join::Processes, Join::Unchecked)] join: Join,
) -> Result<()> {
    let Some(ranks) = Ranks::open(backend, RANKS, &Program::builder()) else { return Ok(()) };
    for seed in 0..10 {
        schedule(&ranks, seed);
        let mut rng = Rng::new(seed);
        let steps: Vec<Step> = (0..20).map(|_| random_step(&mut rng)).collect();
        for (done, untouched) in ranks.connected(join, |comm| run(&comm.expect("joins"), &steps)) {
            done?;
            assert!(untouched);
        }
    }
    Ok(())
}

/// One thread with all ranks: nothing at all is enqueued.
#[on_all_backends]
fn a_mismatch_inside_a_group_enqueues_nothing(backend: TestBackend) -> Result<()> {
    let Some(ranks) = Ranks::open(backend, 2, &Program::builder()) else { return Ok(()) };
    let (programs, start) = (ranks.programs(), Instant::now());
    for transfer in [false, true] {
        let comms = ranks.builder.all(&programs)?;
        let mut x = programs[0].tensor_from(&[1.0_f32; N], [N])?;
        let mut y = programs[1].tensor_from(&[2.0_f32; N + 1], [N + 1])?;
        let mut group = Group::new();
        if transfer {
            group.send(&comms[0], &x, 1)?.receive(&comms[1], &mut y, 0)?;
        } else {
            group.all_reduce_in_place(&comms[0], &mut x, Reduction::Sum)?;
            group.all_reduce_in_place(&comms[1], &mut y, Reduction::Sum)?;
        }
        let error = group.run().unwrap_err();
        let found = mismatch_of(&error).expect("a mismatch");
        assert_eq!((found.rank + found.other, found.number), (1, 1), "{error}");
        assert_eq!(found.call.count() + found.other_call.count(), 2 * N + 1);
        assert_eq!((x.to_vec()?, y.to_vec()?), (vec![1.0; N], vec![2.0; N + 1]));
        assert!(comms.iter().all(Communicator::is_aborted));
        for comm in &comms {
            let mut z = comm.program().zeros::<f32, 1>([N])?;
            let error = comm.all_reduce_in_place(&mut z, Reduction::Sum).unwrap_err();
            assert!(matches!(error, Error::Aborted { .. }), "{error}");
            assert_eq!(mismatch_of(&error), Some(found));
        }
    }
    assert!(start.elapsed() < Duration::from_secs(20));
    Ok(())
}

#[on_all_backends]
fn the_error_names_the_ranks_and_their_calls(backend: TestBackend) -> Result<()> {
    let Some(ranks) = Ranks::open(backend, 2, &Program::builder()) else { return Ok(()) };
    let mut done = ranks.on_threads(|comm| {
        let mut x = comm.program().zeros::<f32, 1>([N])?;
        comm.all_reduce_in_place(&mut x, Reduction::Sum)?;
        comm.broadcast(&mut x, comm.rank())?;
        comm.program().sync()?;
        Ok::<_, Error>(())
    });
    let error = done.remove(0).unwrap_err().to_string();
    let calls = [0, 1].map(|rank| {
        format!("rank {rank} called `broadcast` of root {rank} ({N} elements of `f32`)")
    });
    assert!(error.contains("differ in collective operation 2"), "{error}");
    assert!(calls.iter().all(|call| error.contains(call)), "{error}");
    Ok(())
}
