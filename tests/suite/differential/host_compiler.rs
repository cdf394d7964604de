//! GPU source text compiled by the host's C++ compiler: tests the code generator on machines without a GPU.

use std::sync::Arc;

use quadrants::codegen::{CompileRequest, Compiler};
use quadrants_samples::host_program::{Checks, HostProgram, HostText};
use quadrants_tests::{
    TestBackend::{self, AmdGpu, Cuda},
    full_size,
};
use rstest::rstest;

use super::{CompiledSide, Trial, all, seeds};

/// How many kernels of CUDA text a run of CI compiles.
const KERNELS: u64 = 1200;

/// How many kernels a quick run compiles: the same share of each case.
const QUICK_SHARE: u64 = 30;

struct Host {
    compiler: Arc<dyn Compiler>,
}

#[rstest]
#[case(Cuda, KERNELS)]
// HIP text differs from CUDA text only in its atomics.
#[case(AmdGpu, KERNELS / 5)]
fn random_kernels_through_the_host_compiler_match_the_interpreter(
    #[case] backend: TestBackend,
    #[case] kernels: u64,
) {
    if HostProgram::build(&[], Checks::None).expect("an empty program").is_none() {
        println!("skipped: no C++ compiler");
        return;
    }
    let (_world, opened) = backend.simulated_device();
    let host = Host { compiler: opened.compiler.expect("text is compiled") };
    let kernels = if full_size() { kernels } else { kernels / QUICK_SHARE };
    let [checked, proven] = all(&host, seeds(kernels), false, "compiled::host");
    println!("{checked} kernels checked, {proven} of them also proven");
    // The generator reaches both forms.
    assert!(checked < KERNELS || proven > checked / 20);
}

impl CompiledSide for Host {
    fn judge(&self, trials: &[Trial<'_>]) -> Vec<Option<String>> {
        let texts: Vec<_> = trials
            .iter()
            .map(|trial| {
                let kernel = trial.case.kernel;
                let request = CompileRequest::new("any", trial.forms, trial.passing);
                let text = self.compiler.text(kernel, &request).expect("a text").text;
                HostText { kernel, text, passing: trial.passing }
            })
            .collect();
        let program = match HostProgram::build(&texts, Checks::None) {
            Ok(program) => program.expect("the compiler is still there"),
            // Find the kernel that does not compile.
            Err(_) if trials.len() > 1 => {
                let each = trials.chunks(trials.len().div_ceil(8));
                return each.flat_map(|part| self.judge(part)).collect();
            }
            Err(said) => return vec![Some(said)],
        };
        let cases: Vec<_> = trials.iter().map(|trial| &trial.case).enumerate().collect();
        let ran = program.run(&cases).expect("the program starts");
        let mut outputs = ran.outputs.iter();
        let mut judge = |trial: &Trial<'_>| {
            let found = outputs.next().map(Vec::as_slice);
            trial.case.disagreement(&trial.expected, found)
        };
        trials.iter().map(&mut judge).collect()
    }
}
