//! Scheduling: a scheduled kernel computes the same as the kernel that was written, and states its decisions.

use quadrants_ir::{abi::Form, schedule::schedule, *};

use quadrants_samples::{
    generate::{Rng, Style, generate},
    run::{Arg, Outcome, argument_block, run},
    shrink::{Sample, shrink},
};

const KERNELS: u64 = 4000;

/// Each decision is made for some of the random kernels, so that the comparison covers it.
#[test]
fn scheduled_random_kernels_compute_the_same() {
    let mut decisions = [0; 5];
    for seed in 1..=KERNELS {
        // Iterations of one loop are independent in these kernels.
        let (kernel, args) = generate(&mut Rng::new(seed), Style { exact: true, separate: true });
        let sample = (kernel, args);
        if let Some(form) = differs(&sample) {
            let differs = |sample: &Sample| differs(sample).is_some();
            let (kernel, args) = shrink(sample, |samples| samples.iter().position(differs));
            let simple = simplify(&offload(&kernel).unwrap());
            let scheduled = schedule(&simple, form);
            panic!(
                "seed {seed}\n{simple}\n{scheduled}\n{args:?}\n{:?}\nexpected {:?}\nfound {:?}",
                verify_offloaded(&scheduled),
                run(&simple, form, &args),
                run(&scheduled, form, &args)
            );
        }
        let simple = simplify(&offload(&sample.0).unwrap());
        for form in [Form::Proven, Form::Checked] {
            let scheduled = schedule(&simple, form);
            for schedule in scheduled.tasks.iter().map(|task| &task.schedule) {
                decisions[0] += usize::from(schedule.coarsening > 1);
                decisions[1] += schedule.reductions.len();
                decisions[2] += usize::from(schedule.privatized.is_some());
                decisions[3] += schedule.speculated.len();
            }
            decisions[4] += usize::from(scheduled.blocks != simple.blocks);
        }
    }
    assert!(decisions.iter().all(|count| *count > 0), "{decisions:?}");
}

/// The form in which the scheduled kernel is invalid or computes something else.
fn differs((kernel, args): &Sample) -> Option<Form> {
    let simple = simplify(&offload(kernel).unwrap());
    [Form::Checked, Form::Proven].into_iter().find(|form| {
        if *form == Form::Proven && !is_proven(&simple, args) {
            return false;
        }
        let scheduled = schedule(&simple, *form);
        verify_offloaded(&scheduled).is_err()
            || outcome(&simple, *form, args) != outcome(&scheduled, *form, args)
    })
}

/// What a launch leaves. Of an error, only that there was one: which iteration reports first is not specified.
fn outcome(kernel: &Offloaded, form: Form, args: &[Arg]) -> String {
    match run(kernel, form, args) {
        // Printed, all NaNs are equal: the bits of computed NaNs are unspecified.
        Ok(Outcome { tensors, results, error }) => {
            format!("{tensors:?} {results:?} {}", error.is_some())
        }
        Err(fault) => format!("{fault:?}"),
    }
}

fn is_proven(kernel: &Offloaded, args: &[Arg]) -> bool {
    let words = argument_block(kernel, args, &mut interp::SliceMemory::new());
    kernel.tasks().all(|(task, _)| launch_analysis::prove(kernel, task, &words))
}
