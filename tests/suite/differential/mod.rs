//! Differential tests: random kernels, compiled as C++ by the host's compiler and for devices, must match the IR
//! interpreter. A failing kernel is shrunk and printed with the command that runs it alone.
//!
//! `QUADRANTS_TEST_SEED` selects one kernel, and `QUADRANTS_TEST_KERNELS` is the number of kernels.

mod device;
mod functions;
mod host_compiler;

use std::{
    env,
    fmt::Display,
    ops::Range,
    str::FromStr,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use quadrants::ir::{
    Kernel, Offloaded, TaskId,
    abi::{Forms, Passing},
    launch_analysis::LaunchAnalysis,
    offload, print,
    schedule::schedule,
    simplify,
};
use quadrants_samples::{
    case::Case,
    generate::{Rng, Style, generate},
    shrink::{Sample, shrink},
};

/// The name of a kernel: its number, so that many fit into one program.
fn named(kernel: &Kernel, number: impl Display) -> Kernel {
    Kernel { name: format!("random_{number}"), ..kernel.clone() }
}

/// The kernel of a seed. Iterations of odd ones can run in any order.
fn draw(seed: u64, exact: bool) -> (Sample, Style) {
    let style = Style { exact, separate: seed % 2 == 1 };
    let (kernel, args) = generate(&mut Rng::new(seed), style);
    ((named(&kernel, seed), args), style)
}

/// Compiles and runs kernels in batches.
trait CompiledSide: Sync {
    /// Whether it accepts only simplified kernels.
    fn wants_simple(&self) -> bool {
        false
    }

    /// For each trial: how its result differs from the interpreter's, if it does.
    fn judge(&self, trials: &[Trial<'_>]) -> Vec<Option<String>>;
}

/// A kernel in one form with arguments, and the expected buffers.
struct Trial<'a> {
    case: Case<'a>,
    forms: Forms,
    passing: Passing,
    expected: Vec<Vec<u8>>,
}

/// What a sample was offloaded to, in each form that it can run in: the name of the proven one is another, so that
/// both stand in one program.
struct Kernels {
    checked: Offloaded,
    proven: Option<(Offloaded, Forms)>,
}

impl Kernels {
    /// Half of the kernels are simplified and scheduled, as those of a program are. Scheduling reorders iterations.
    fn new(sample: &Sample, style: Style, compiled: &dyn CompiledSide) -> Self {
        let mut checked = offload(&sample.0).expect("a valid kernel");
        if style.separate || compiled.wants_simple() {
            checked = simplify(&checked);
        }
        let plan = LaunchAnalysis::new(&checked);
        let words = Case::with(&checked, &sample.1).words;
        let mut forms = plan.forms(&words);
        // Some of the kernels that can have 32-bit indices have 64-bit indices.
        if forms == Forms::NARROW && checked.exprs.len().is_multiple_of(4) {
            forms = Forms::PROVEN;
        }
        let scheduled = |forms| match style.separate {
            true => schedule(&checked, forms),
            false => checked.clone(),
        };
        let name = format!("{}_proven", checked.name);
        let proven = forms.is_proven().then(|| (Offloaded { name, ..scheduled(forms) }, forms));
        let checked = scheduled(Forms::CHECKED);
        Self { checked, proven }
    }

    /// None of a kernel that has no end, as a smaller one may.
    fn trials(&self, sample: &Sample, style: Style) -> Vec<Trial<'_>> {
        let by_value = sample.0.exprs.len().is_multiple_of(2);
        let passings = [Passing::Value, Passing::Buffer];
        let checked = (&self.checked, Forms::CHECKED, passings[usize::from(by_value)]);
        let proven = self.proven.iter();
        let proven =
            proven.map(|(kernel, forms)| (kernel, *forms, passings[usize::from(!by_value)]));
        let trial = |(kernel, forms, passing): (_, Forms, _)| {
            let mut case = Case::with(kernel, &sample.1);
            case.large = style.separate;
            case.any_error = style.separate;
            let expected = case.interpret(forms.of(TaskId::new(0))).ok()?;
            Some(Trial { case, forms, passing, expected })
        };
        [checked].into_iter().chain(proven).filter_map(trial).collect()
    }
}

/// Judges all kernels of these seeds, some at a time, and panics with the smallest that fails. Gives how many ran
/// in which form.
fn all(compiled: &dyn CompiledSide, seeds: Range<u64>, exact: bool, test: &str) -> [u64; 2] {
    const AT_ONCE: u64 = 100;
    let next = AtomicU64::new(seeds.start);
    let counts = [const { AtomicU64::new(0) }; 2];
    let failed = Mutex::new(None);
    let work = || {
        loop {
            let from = next.fetch_add(AT_ONCE, Ordering::Relaxed);
            if from >= seeds.end || failed.lock().is_ok_and(|failed| failed.is_some()) {
                return;
            }
            let samples: Vec<_> =
                (from..seeds.end.min(from + AT_ONCE)).map(|seed| draw(seed, exact)).collect();
            let kernels: Vec<Kernels> = samples
                .iter()
                .map(|(sample, style)| Kernels::new(sample, *style, compiled))
                .collect();
            let mut trials = Vec::new();
            let mut seed_of = Vec::new();
            for ((kernels, (sample, style)), seed) in kernels.iter().zip(&samples).zip(from..) {
                for trial in kernels.trials(sample, *style) {
                    counts[usize::from(trial.forms.is_proven())].fetch_add(1, Ordering::Relaxed);
                    trials.push(trial);
                    seed_of.push(seed);
                }
            }
            let verdicts = compiled.judge(&trials);
            if let Some(at) = verdicts.iter().position(Option::is_some) {
                let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                failed.get_or_insert(seed_of[at]);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    if let Some(seed) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        let (sample, style) = draw(seed, exact);
        explain(compiled, sample, style, seed, test);
    }
    counts.map(AtomicU64::into_inner)
}

/// Makes a sample that fails smaller, and says all about it.
fn explain(compiled: &dyn CompiledSide, sample: Sample, style: Style, seed: u64, test: &str) -> ! {
    let first_bad = |samples: &[Sample]| {
        let samples: Vec<Sample> = samples
            .iter()
            .zip(0..)
            .map(|((kernel, args), number): (_, u32)| (named(kernel, number), args.clone()))
            .collect();
        let kernels: Vec<Kernels> =
            samples.iter().map(|sample| Kernels::new(sample, style, compiled)).collect();
        let mut trials = Vec::new();
        let mut of = Vec::new();
        for (at, (kernels, sample)) in kernels.iter().zip(&samples).enumerate() {
            for trial in kernels.trials(sample, style) {
                trials.push(trial);
                of.push(at);
            }
        }
        let verdicts = compiled.judge(&trials);
        verdicts.iter().position(Option::is_some).map(|at| of[at])
    };
    let (kernel, args) = shrink(sample, first_bad);
    let sample = (kernel, args);
    let kernels = Kernels::new(&sample, style, compiled);
    let trials = kernels.trials(&sample, style);
    let verdicts = compiled.judge(&trials);
    let said: Vec<String> = trials
        .iter()
        .zip(verdicts)
        .filter_map(|(trial, verdict)| {
            Some(format!("{:?}, {:?}: {}", trial.forms, trial.passing, verdict?))
        })
        .collect();
    panic!(
        "seed {seed}, made smaller:\n{}\n{}\n{:?}\n{}\nthis seed alone: QUADRANTS_TEST_SEED={seed} cargo test -p quadrants-tests --test suite {test}",
        print(&sample.0),
        kernels.checked,
        sample.1,
        said.join("\n")
    )
}

/// The seeds of a run: one alone, or so many; few where only the launcher's limit of arguments is another, which is
/// above all this.
fn seeds(many: u64) -> Range<u64> {
    let many = match env::var_os("QUADRANTS_ARGUMENT_LIMIT") {
        Some(_) => many / 50,
        None => many,
    };
    match (number("QUADRANTS_TEST_SEED"), number("QUADRANTS_TEST_KERNELS")) {
        (Some(seed), _) => seed..seed + 1,
        (None, many_asked) => 1..1 + many_asked.unwrap_or(many),
    }
}

fn number<T: FromStr>(variable: &str) -> Option<T> {
    env::var(variable).ok().and_then(|value| value.parse().ok())
}
