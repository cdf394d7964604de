//! The order of collective operations with launches, streams, regions and captures.

use quadrants::{
    Error as ProgramError, Hazards, Program,
    collectives::{Communicator, Error, Group, Reduction, Result},
};
use quadrants_driver_sim::Schedule;
use quadrants_tests::{TestBackend, on_all_backends, on_gpu_backends};

use super::Ranks;
use crate::common::{copy, saxpy, set};

const N: usize = 64;

/// Runs `body` on a thread per rank, with several schedules where the devices are simulated.
fn on_schedules(
    ranks: &Ranks,
    body: impl Fn(&Communicator, f32) -> Result<()> + Sync,
) -> Result<()> {
    let simulated = ranks.worlds().next().is_some();
    for seed in 0..if simulated { 24 } else { 4 } {
        for (rank, world) in ranks.worlds().enumerate() {
            let special = [Schedule::Adversarial, Schedule::Lazy, Schedule::Eager];
            world.set_schedule(*special.get(seed).unwrap_or(&Schedule::Random));
            world.set_seed((seed * 8 + rank) as u64);
        }
        let results = ranks.on_threads(|comm| body(comm, seed as f32));
        results.into_iter().collect::<Result<Vec<_>>>()?;
        for world in ranks.worlds() {
            assert_eq!((world.reports(), world.races()), (vec![], vec![]), "seed {seed}");
        }
    }
    Ok(())
}

#[on_all_backends]
fn an_operation_is_between_the_earlier_and_the_later_launches(backend: TestBackend) -> Result<()> {
    let builder = Program::builder().hazards(Hazards::Check);
    let Some(ranks) = Ranks::open(backend, 2, &builder) else { return Ok(()) };
    on_schedules(&ranks, |comm, value| {
        let program = comm.program();
        let (mut x, mut y) = (program.zeros::<f32, 1>([N])?, program.zeros::<f32, 1>([N])?);
        set(value + comm.rank() as f32, &mut x).launch()?;
        comm.all_reduce(&x, &mut y, Reduction::Sum)?;
        set(-1.0, &mut x).launch()?;
        saxpy(2.0, &x, &mut y).launch()?;
        comm.all_reduce_in_place(&mut y, Reduction::Max)?;
        assert_eq!(y.to_vec()?, [2.0 * value + 1.0 - 2.0; N]);
        Ok(())
    })
}

/// The current stream is that of the innermost scope.
#[on_all_backends]
fn an_operation_has_the_order_of_the_current_stream(backend: TestBackend) -> Result<()> {
    let builder = Program::builder().hazards(Hazards::Check);
    let Some(ranks) = Ranks::open(backend, 2, &builder) else { return Ok(()) };
    on_schedules(&ranks, |comm, value| {
        let program = comm.program();
        let (mut x, mut y) = (program.zeros::<f32, 1>([N])?, program.zeros::<f32, 1>([N])?);
        let stream = program.create_stream()?;
        stream.scope(|| {
            set(value, &mut x).launch()?;
            comm.all_reduce_in_place(&mut x, Reduction::Sum)?;
            copy(&x, &mut y).launch()?;
            Ok::<_, Error>(())
        })?;
        stream.synchronize()?;
        assert_eq!(y.to_vec()?, [2.0 * value; N]);
        Ok(())
    })
}

#[on_all_backends]
fn an_operation_runs_beside_a_launch_in_a_region(backend: TestBackend) -> Result<()> {
    let Some(ranks) = Ranks::open(backend, 3, &Program::builder()) else { return Ok(()) };
    on_schedules(&ranks, |comm, value| {
        let (program, rank, size) = (comm.program(), comm.rank(), comm.size());
        let mut field = program.zeros::<f32, 2>([4, N])?;
        let (before, next) = ((rank + size - 1) % size, (rank + 1) % size);
        for step in 0..3 {
            let (mut ghost, mut rest) = field.split_at_mut(1)?;
            let (mut edge, mut middle) = rest.split_at_mut(1)?;
            let (mut edge, mut middle) = (edge.flat_mut()?, middle.flat_mut()?);
            set(value + (rank + step) as f32, &mut edge).launch()?;
            let mut exchanged = Ok(());
            program.stream_parallel(|region| {
                region.block(|| {
                    let mut group = Group::new();
                    exchanged = group
                        .send(comm, &edge, next)
                        .and_then(|group| group.receive(comm, &mut ghost, before).map(drop))
                        .and_then(|()| group.run());
                    Ok(())
                })?;
                region.block(|| set(-value, &mut middle).launch())
            })?;
            exchanged?;
        }
        let values = field.to_vec()?;
        assert_eq!(values[..N], [value + (before + 2) as f32; N]);
        assert_eq!(values[N..2 * N], [value + (rank + 2) as f32; N]);
        assert_eq!(values[2 * N..], [-value; 2 * N]);
        Ok(())
    })
}

#[on_all_backends]
fn blocks_that_conflict_with_an_operation_are_refused(backend: TestBackend) -> Result<()> {
    let Some(ranks) = Ranks::open(backend, 1, &Program::builder()) else { return Ok(()) };
    let comms = ranks.builder.all(&ranks.programs())?;
    let program = ranks.programs()[0];
    let (mut x, mut y) = (program.zeros::<f32, 1>([N])?, program.zeros::<f32, 1>([N])?);
    let mut refused = None;
    program.stream_parallel(|region| {
        region.block(|| set(1.0, &mut x).launch())?;
        region.block(|| {
            refused = comms[0].all_reduce(&x, &mut y, Reduction::Sum).err();
            Ok(())
        })
    })?;
    let Some(Error::Program(ProgramError::RegionConflict(conflict))) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(conflict.later.kernel, "all_reduce");
    assert!(conflict.later.at.file().ends_with("order.rs"), "{}", conflict.later.at);
    Ok(())
}

/// The mistake that the halo exchange must not make: the exchange on a stream that nothing orders.
#[on_gpu_backends]
fn an_operation_on_a_stream_without_order_is_a_hazard(backend: TestBackend) -> Result<()> {
    let builder = Program::builder().hazards(Hazards::Check);
    let Some(ranks) = Ranks::open(backend, 2, &builder) else { return Ok(()) };
    let refused = ranks.on_threads(|comm| {
        let program = comm.program();
        let (mut x, stream) = (program.zeros::<f32, 1>([N])?, program.create_stream()?);
        set(1.0, &mut x).launch()?;
        let refused = stream.scope(|| comm.all_reduce_in_place(&mut x, Reduction::Sum));
        // Nothing was enqueued on either rank.
        comm.all_reduce_in_place(&mut x, Reduction::Sum)?;
        assert_eq!(x.to_vec()?, [2.0; N]);
        Ok::<_, Error>(refused.map_err(|error| error.to_string()))
    });
    for refused in refused {
        let message = refused?.unwrap_err();
        assert!(message.contains("all_reduce") && message.contains("`set`"), "{message}");
    }
    Ok(())
}

/// The simulator finds the same mistake by itself.
#[on_gpu_backends]
fn an_operation_on_a_stream_without_order_races_in_the_simulator(
    backend: TestBackend,
) -> Result<()> {
    let builder = Program::builder().hazards(Hazards::Explicit);
    let Some(ranks) = Ranks::open(backend, 2, &builder) else { return Ok(()) };
    if ranks.worlds().next().is_none() {
        return Ok(());
    }
    ranks.on.iter().for_each(quadrants_tests::On::allow_races);
    ranks
        .on_threads(|comm| {
            let program = comm.program();
            let (mut x, stream) = (program.zeros::<f32, 1>([N])?, program.create_stream()?);
            set(1.0, &mut x).launch()?;
            stream.scope(|| comm.all_reduce_in_place(&mut x, Reduction::Sum))?;
            program.device_sync()?;
            Ok(())
        })
        .into_iter()
        .collect::<Result<Vec<_>>>()?;
    for world in ranks.worlds() {
        let races = world.races();
        assert!(!races.is_empty(), "{:?}", world.ordinal());
        assert!(races[0].to_string().contains("ncclAllReduce"), "{}", races[0]);
    }
    Ok(())
}

#[on_all_backends]
fn memory_is_freed_after_the_operation_that_uses_it(backend: TestBackend) -> Result<()> {
    let Some(ranks) = Ranks::open(backend, 2, &Program::builder()) else { return Ok(()) };
    on_schedules(&ranks, |comm, value| {
        let program = comm.program();
        let mut sum = program.zeros::<f32, 1>([N])?;
        {
            let x = program.tensor_from(&[value; N], [N])?;
            comm.all_reduce(&x, &mut sum, Reduction::Sum)?;
        }
        let other = program.tensor_from(&[-1.0; N], [N])?;
        assert_eq!(sum.to_vec()?, [2.0 * value; N]);
        assert_eq!(other.to_vec()?, [-1.0; N]);
        Ok(())
    })
}
