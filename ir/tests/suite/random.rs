//! Random kernels: the offloaded and interpreted kernel computes the same as the tree evaluator.

use quadrants_ir::{
    SimImage,
    abi::{Form, Passing},
    *,
};

use crate::evaluate::evaluate;
use quadrants_samples::{
    generate::{Rng, Style, generate},
    run::{Outcome, SampleArg, run},
    shrink::{Sample, shrink},
    sized,
};

/// At full size.
const KERNELS: u64 = 4000;

#[test]
fn the_interpreter_agrees_with_the_tree_evaluator() {
    let (mut errors, mut proven, mut tasks) = (0, 0, 0);
    let replayed: Option<u64> =
        std::env::var("QUADRANTS_TEST_SEED").ok().map(|seed| seed.parse().expect("a seed"));
    let seeds = replayed.map_or(1..=sized(KERNELS), |seed| seed..=seed);
    for seed in seeds {
        let _replay = Replay(seed);
        let (kernel, args) = generate(&mut Rng::new(seed), Style::default());
        let offloaded = offload(&kernel).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        verify_offloaded(&offloaded).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{offloaded}"));
        let expected = evaluate(&kernel, &args);
        let found = run(&offloaded, Form::Checked, &args).unwrap();
        if !same(&expected, &found) {
            // A shrunk kernel that no longer terminates counts as agreeing.
            let disagrees = |(kernel, args): &Sample| {
                let found = offload(kernel).ok().and_then(|k| run(&k, Form::Checked, args).ok());
                found.is_some_and(|found| !same(&evaluate(kernel, args), &found))
            };
            let (kernel, args) =
                shrink((kernel, args), |samples| samples.iter().position(disagrees));
            panic!(
                "seed {seed}\n{}\n{}\n{args:?}\nexpected {:?}\nfound {:?}",
                print(&kernel),
                offload(&kernel).unwrap(),
                evaluate(&kernel, &args),
                run(&offload(&kernel).unwrap(), Form::Checked, &args)
            );
        }
        errors += u32::from(expected.error.is_some());
        tasks += offloaded.tasks.len();
        if all_proven(&offloaded, &args) {
            proven += 1;
            let found = run(&offloaded, Form::Proven, &args).unwrap();
            assert!(same(&expected, &found), "seed {seed}, proven\n{offloaded}");
        }
    }
    if replayed.is_some() {
        return;
    }
    // The generator must cover these cases.
    assert!(errors > sized(KERNELS) as u32 / 20, "{errors} kernels raised errors");
    assert!(proven > sized(KERNELS) / 20, "{proven} kernels were proven");
    assert!(tasks > sized(KERNELS) as usize, "{tasks} tasks");
}

#[test]
fn random_kernels_survive_encoding() {
    for seed in 1..200 {
        let (kernel, _) = generate(&mut Rng::new(seed), Style::default());
        let kernel = offload(&kernel).unwrap();
        let image = SimImage { kernel, forms: Form::Checked.into(), passing: Passing::Value };
        assert_eq!(SimImage::decode(&image.encode()).unwrap(), image);
    }
}

/// On failure, prints how to rerun the kernel of this seed alone.
struct Replay(u64);

impl Drop for Replay {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!(
                "replay: QUADRANTS_TEST_SEED={} cargo test -p quadrants-ir --test suite random::interpreter",
                self.0
            );
        }
    }
}

fn all_proven(kernel: &Offloaded, args: &[SampleArg]) -> bool {
    let words =
        quadrants_samples::run::argument_block(kernel, args, &mut interp::SliceMemory::new());
    kernel.tasks().all(|(task, _)| launch_analysis::prove(kernel, task, &words))
}

/// Equality that treats all NaNs as equal.
fn same(a: &Outcome, b: &Outcome) -> bool {
    let value = |a: &Const, b: &Const| {
        let nan = |v: &Const| v.as_float().is_some_and(f64::is_nan);
        a == b || (a.ty() == b.ty() && nan(a) && nan(b))
    };
    let tensors = a.tensors.iter().flatten().zip(b.tensors.iter().flatten());
    a.error == b.error
        && tensors.into_iter().all(|(a, b)| value(a, b))
        && a.results.len() == b.results.len()
        && a.results.iter().zip(&b.results).all(|(a, b)| value(a, b))
}
