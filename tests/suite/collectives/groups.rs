//! Groups that are not run, and what cannot be in a group or a communicator.

use quadrants::{
    Error as ProgramError, Program,
    collectives::{Communicator, Error, Group, Reduction, Result},
};
use quadrants_tests::{TestBackend, on_all_backends, on_gpu_backends};

use super::Ranks;

const N: usize = 12;

/// The errors of groups that were not run, as text.
fn not_run(program: &Program) -> Vec<String> {
    program.take_deferred_errors().iter().map(ToString::to_string).collect()
}

#[on_all_backends]
fn a_group_that_is_not_run_is_a_deferred_error(backend: TestBackend) -> Result<()> {
    let Some(ranks) = Ranks::open(backend, 1, &Program::builder()) else { return Ok(()) };
    let comms = ranks.builder.all(&ranks.programs())?;
    let (comm, program) = (&comms[0], ranks.programs()[0]);
    let mut x = program.tensor_from(&[3.0_f32; N], [N])?;
    let mut y = program.zeros::<f32, 1>([N])?;
    {
        let mut group = Group::new();
        group.broadcast(comm, &mut x, 0)?;
        group.all_reduce_in_place(comm, &mut y, Reduction::Sum)?;
    }
    let errors = not_run(program);
    assert_eq!(errors.len(), 1, "{errors:?}");
    let expected =
        "a group was dropped, and its 2 operations were not enqueued (the first is `broadcast` at ";
    assert!(errors[0].starts_with(expected) && errors[0].contains("groups.rs:"), "{errors:?}");
    assert!(errors[0].ends_with("call `run`"), "{errors:?}");
    // The communicator goes on.
    comm.all_reduce(&x, &mut y, Reduction::Sum)?;
    assert_eq!(y.to_vec()?, [3.0; N]);
    assert!(not_run(program).is_empty());
    Ok(())
}

#[on_all_backends]
fn a_group_that_is_not_run_says_so_once_at_most(backend: TestBackend) -> Result<()> {
    let Some(ranks) = Ranks::open(backend, 1, &Program::builder()) else { return Ok(()) };
    let comms = ranks.builder.all(&ranks.programs())?;
    let (comm, program) = (&comms[0], ranks.programs()[0]);
    drop(Group::new());
    Group::new().run()?;
    let (x, mut short) = (program.zeros::<f32, 1>([N])?, program.zeros::<f32, 1>([N - 1])?);
    // The error of an operation is returned already.
    let refused = |short: &mut _| -> Result<()> {
        let mut group = Group::new();
        group.send(comm, &x, 0)?.all_reduce(comm, &x, short, Reduction::Sum)?;
        group.run()
    };
    assert!(matches!(refused(&mut short).unwrap_err(), Error::Length { .. }));
    let refused = || -> Result<()> {
        let mut group = Group::new();
        group.send(comm, &x, 0)?.send(comm, &x, 1)?;
        group.run()
    };
    assert!(matches!(refused().unwrap_err(), Error::Rank { .. }));
    // A panic says more.
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut group = Group::new();
        group.send(comm, &x, 0).map(drop).expect("a rank");
        std::panic::resume_unwind(Box::new("on purpose"));
    }));
    assert!(panicked.is_err());
    // Nor is an error of `run`.
    comm.abort();
    let mut group = Group::new();
    group.all_reduce_in_place(comm, &mut short, Reduction::Sum)?;
    assert!(group.run().is_err());
    assert_eq!(not_run(program), Vec::<String>::new());
    Ok(())
}

#[on_all_backends]
fn a_scattered_tensor_has_equal_parts(backend: TestBackend) -> Result<()> {
    let Some(ranks) = Ranks::open(backend, 4, &Program::builder()) else { return Ok(()) };
    let comms = ranks.builder.all(&ranks.programs())?;
    let program = ranks.programs()[0];
    for length in [1, 2, 3, 5, 10, 11] {
        let x = program.zeros::<f32, 1>([length])?;
        let mut part = program.zeros::<f32, 1>([length / 4])?;
        let error = comms[0].reduce_scatter(&x, &mut part, Reduction::Sum).unwrap_err();
        assert!(matches!(error, Error::Parts { size: 4, from, .. } if from == length), "{error}");
    }
    Ok(())
}

#[on_all_backends]
fn an_operation_cannot_be_captured(backend: TestBackend) -> Result<()> {
    let Some(ranks) = Ranks::open(backend, 1, &Program::builder()) else { return Ok(()) };
    let comms = ranks.builder.all(&ranks.programs())?;
    let (comm, program) = (&comms[0], ranks.programs()[0]);
    let mut x = program.tensor_from(&[3.0_f32; N], [N])?;
    let mut refused = None;
    let graph = program.capture(|| {
        refused = comm.all_reduce_in_place(&mut x, Reduction::Sum).err();
        Ok(())
    });
    drop(graph);
    let Some(Error::Program(ProgramError::Capture { what: "all_reduce" })) = refused else {
        panic!("{refused:?}")
    };
    // It had no effect.
    comm.all_reduce_in_place(&mut x, Reduction::Sum)?;
    assert_eq!(x.to_vec()?, [3.0; N]);
    Ok(())
}

#[on_all_backends]
fn an_id_is_used_once(backend: TestBackend) -> Result<()> {
    let Some(ranks) = Ranks::open(backend, 1, &Program::builder()) else { return Ok(()) };
    let program = ranks.programs()[0];
    let id = ranks.builder.unique_id(program)?;
    let comm = ranks.builder.rank(program, &id, 0, 1)?;
    let error = ranks.builder.rank(program, &id, 0, 1).unwrap_err();
    assert!(matches!(error, Error::Joined { rank: 0 }), "{error}");
    let error = ranks.builder.rank(program, &id, 1, 2).unwrap_err();
    assert!(matches!(error, Error::Rank { rank: 1, size: 1 }), "{error}");
    let mut x = program.tensor_from(&[3.0_f32; N], [N])?;
    comm.all_reduce_in_place(&mut x, Reduction::Sum)?;
    assert_eq!(x.to_vec()?, [3.0; N]);
    Ok(())
}

/// Their operations are those of different libraries.
#[on_gpu_backends]
fn a_group_has_communicators_of_one_library(backend: TestBackend) -> Result<()> {
    let Some(ranks) = Ranks::open(backend, 1, &Program::builder()) else { return Ok(()) };
    let Some(other) = Ranks::open(TestBackend::Cpu, 1, &Program::builder()) else { return Ok(()) };
    let comms = ranks.builder.all(&ranks.programs())?;
    let others = Communicator::all(&other.programs())?;
    let mut x = ranks.programs()[0].zeros::<f32, 1>([N])?;
    let mut y = other.programs()[0].zeros::<f32, 1>([N])?;
    let mut group = Group::new();
    group.all_reduce_in_place(&comms[0], &mut x, Reduction::Sum)?;
    group.all_reduce_in_place(&others[0], &mut y, Reduction::Sum)?;
    let error = group.run().unwrap_err();
    assert!(matches!(error, Error::Backend { mixed: true, .. }), "{error}");
    assert!(!comms[0].is_aborted() && !others[0].is_aborted());
    Ok(())
}
