//! What a run of the tests prints at its end: the table, why tests were skipped, and what the result means.

use std::collections::{BTreeMap, BTreeSet};

use super::{BACKENDS, Backend, EXAMPLES, Run, SYSTEM};
use crate::totals::{TestOutcome, TestProgram, Totals};

/// A row of the table: its position, its name and the device.
type Row = (usize, String, String);

/// The results of all runs.
pub(super) struct TestReport {
    /// The package of each test program, by the program's file name.
    packages: BTreeMap<String, String>,
    table: BTreeMap<Row, Totals>,
    /// The names of failed tests, with their panic messages.
    failures: Vec<(String, Vec<String>)>,
    /// How many tests were skipped, by reason.
    skipped: BTreeMap<String, u64>,
}

impl TestReport {
    pub(super) fn new(packages: BTreeMap<String, String>) -> Self {
        let (table, failures, skipped) = Default::default();
        Self { packages, table, failures, skipped }
    }

    /// Adds the tests of programs that ran in `run`; `note` is added to the names of rows.
    pub(super) fn add(&mut self, programs: Vec<TestProgram>, run: &Run, note: &str) {
        for program in &programs {
            self.add_program(program, run, note);
            for reason in program.reasons.values() {
                *self.skipped.entry(without_details(reason)).or_default() += 1;
            }
            let failed = program.tests.iter().filter(|(_, ending)| **ending == TestOutcome::Failed);
            let name = file_name(&program.name);
            self.failures.extend(failed.map(|(test, _)| {
                let message = program.messages.get(test).cloned().unwrap_or_default();
                (format!("{test} ({name}{note})"), message)
            }));
        }
    }

    /// Adds a program's tests to the rows that they belong to.
    fn add_program(&mut self, program: &TestProgram, run: &Run, note: &str) {
        let package = program
            .name
            .strip_prefix("doc:")
            .map(|name| name.replace('_', "-"))
            .or_else(|| self.packages.get(&file_name(&program.name)).cloned())
            .unwrap_or_default();
        let of_package = BACKENDS.into_iter().find(|backend| package == backend.package);
        let per_backend = [SYSTEM, EXAMPLES].contains(&package.as_str());
        let mut rest = program.totals;
        for (name, ending) in &program.tests {
            let of_name = BACKENDS.into_iter().find(|b| per_backend && has_word(name, b.name));
            let Some(backend) = of_package.or(of_name) else { continue };
            let cell = self.table.entry(row(backend, run, note)).or_default();
            let (cell, rest) = match ending {
                TestOutcome::Passed => (&mut cell.passed, &mut rest.passed),
                TestOutcome::Failed => (&mut cell.failed, &mut rest.failed),
                TestOutcome::Skipped => (&mut cell.skipped, &mut rest.skipped),
            };
            if *rest > 0 {
                *cell += 1;
                *rest -= 1;
            }
        }
        if rest != Totals::default() {
            let row = match of_package {
                Some(backend) => row(backend, run, note),
                None => (BACKENDS.len(), format!("no device{note}"), "host".to_owned()),
            };
            self.table.entry(row).or_default().add(rest);
        }
    }

    /// Prints all of it, and gives the totals.
    pub(super) fn print(&self, runs: &[Run]) -> Totals {
        let widest = self.table.keys().map(|(_, name, _)| name.len()).max().unwrap_or(0).max(7);
        println!(
            "\n{:widest$}  {:10}  {:>6}  {:>6}  {:>7}",
            "backend", "device", "passed", "failed", "skipped"
        );
        for ((_, backend, device), totals) in &self.table {
            let Totals { passed, failed, skipped } = totals;
            println!("{backend:widest$}  {device:10}  {passed:>6}  {failed:>6}  {skipped:>7}");
        }
        println!();
        if !self.skipped.is_empty() {
            println!("skipped tests, by reason:");
            for (reason, count) in &self.skipped {
                println!("{count:>6}  {reason}");
            }
            println!();
        }
        // Once more, where a person looks first.
        for (failure, message) in &self.failures {
            println!("failed: {failure}");
            message.iter().for_each(|line| println!("    {line}"));
        }
        let mut totals = Totals::default();
        self.table.values().for_each(|row| totals.add(*row));
        println!("{}", self.conclusion(runs, totals));
        totals
    }

    /// What the result means: which backends ran on hardware, which on the simulator only, and whether their kernels
    /// were compiled by the real compiler.
    fn conclusion(&self, runs: &[Run], totals: Totals) -> String {
        let mut sentences = Vec::new();
        if totals.failed > 0 {
            sentences.push(format!("{} tests failed.", totals.failed));
        }
        for run in runs {
            for backend in &run.backends {
                sentences.push(self.meaning(*backend, run.device == "hardware"));
            }
        }
        let tested: BTreeSet<_> =
            runs.iter().flat_map(|run| &run.backends).map(|backend| backend.name).collect();
        let untested: Vec<_> =
            BACKENDS.iter().map(|b| b.name).filter(|name| !tested.contains(name)).collect();
        if !untested.is_empty() {
            sentences.push(format!("Not tested: {}.", untested.join(", ")));
        }
        sentences.join(" ")
    }

    fn meaning(&self, backend: Backend, hardware: bool) -> String {
        let name = backend.name;
        let Some(compiler) = backend.compiler else {
            return format!("{name}: tested on this processor.");
        };
        if hardware {
            return format!("{name}: tested on a GPU.");
        }
        let missing = format!("no {compiler}");
        let compiled = if self.skipped.keys().any(|reason| reason.contains(&missing)) {
            format!("{compiler} was not found, so that no kernel was compiled for a real GPU")
        } else {
            format!("{compiler} compiled kernels for real GPUs, and none ran")
        };
        format!("{name}: tested on the simulator only, no GPU was used; {compiled}.")
    }
}

/// A reason without what differs from test to test: searched paths, the name of a conformance case.
fn without_details(reason: &str) -> String {
    let reason = reason.split(" (").next().unwrap_or(reason);
    match reason.rsplit_once(" for ") {
        Some((start, case)) if case.contains("::") => start.to_owned(),
        _ => reason.to_owned(),
    }
}

pub(super) fn file_name(path: &str) -> String {
    path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned()
}

/// Whether a test's name contains the word, in any case: `backend_2_Cuda` contains `cuda`.
fn has_word(name: &str, word: &str) -> bool {
    name.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| part.eq_ignore_ascii_case(word))
}

fn row(backend: Backend, run: &Run, note: &str) -> Row {
    let position = BACKENDS.iter().position(|b| *b == backend).unwrap_or(BACKENDS.len());
    let device = match backend {
        _ if !run.includes(backend) => "not chosen",
        _ if !backend.is_gpu() => "host",
        _ => run.device,
    };
    (position, format!("{}{note}", backend.name), device.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn simulated(backends: &[Backend]) -> Run {
        Run { backends: backends.to_vec(), device: "simulated" }
    }

    #[test]
    fn programs_are_sorted_by_package_then_by_name() {
        let [cpu, cuda, _] = BACKENDS;
        let packages = [("suite-1", SYSTEM), ("suite-2", "quadrants-rhi-cuda"), ("lib", EXAMPLES)]
            .map(|(program, package)| (program.to_owned(), package.to_owned()))
            .into();
        let program = |name: &str, tests: &[(&str, TestOutcome)], totals| TestProgram {
            name: name.to_owned(),
            tests: tests.iter().map(|(name, ending)| ((*name).to_owned(), *ending)).collect(),
            reasons: BTreeMap::new(),
            messages: BTreeMap::new(),
            totals,
        };
        let system = program(
            "target/debug/deps/suite-1",
            &[
                ("saxpy::backend_1_Cpu", TestOutcome::Passed),
                ("saxpy::backend_2_Cuda", TestOutcome::Failed),
                ("saxpy::backend_3_AmdGpu", TestOutcome::Skipped),
                ("layers", TestOutcome::Passed),
            ],
            // One passed test more than there are names: it must not be lost.
            Totals { passed: 3, failed: 1, skipped: 1 },
        );
        let own = program(
            "suite-2",
            &[("conformance::copies", TestOutcome::Passed)],
            Totals { passed: 1, failed: 0, skipped: 0 },
        );
        let examples = program(
            "lib",
            &[
                ("smoke::tests::steps::backend_2_Cuda", TestOutcome::Passed),
                ("options", TestOutcome::Passed),
            ],
            Totals { passed: 2, failed: 0, skipped: 0 },
        );
        let mut report = TestReport::new(packages);
        report.add(vec![system, own, examples], &simulated(&[cpu, cuda]), "");
        let cell = |backend: &str, device: &str| {
            let found = report.table.iter().find(|((_, b, d), _)| b == backend && d == device);
            *found.unwrap_or_else(|| panic!("no cell {backend} {device} in {:?}", report.table)).1
        };
        assert_eq!(cell("cpu", "host"), Totals { passed: 1, failed: 0, skipped: 0 });
        assert_eq!(cell("cuda", "simulated"), Totals { passed: 2, failed: 1, skipped: 0 });
        assert_eq!(cell("amdgpu", "not chosen"), Totals { passed: 0, failed: 0, skipped: 1 });
        assert_eq!(cell("no device", "host"), Totals { passed: 3, failed: 0, skipped: 0 });
        assert_eq!(report.failures, [("saxpy::backend_2_Cuda (suite-1)".to_owned(), vec![])]);
    }

    #[test]
    fn skipped_tests_are_counted_by_reason_without_details() {
        let reasons = [
            ("a", "no NVRTC (searched /usr/lib; /opt)"),
            ("b", "no NVRTC (searched /usr/lib)"),
            ("c", "no device for memory::copies"),
        ];
        let program = TestProgram {
            name: "suite".to_owned(),
            tests: BTreeMap::new(),
            reasons: reasons.map(|(test, why)| (test.to_owned(), why.to_owned())).into(),
            messages: BTreeMap::new(),
            totals: Totals::default(),
        };
        let mut report = TestReport::new(BTreeMap::new());
        report.add(vec![program], &simulated(&BACKENDS), "");
        let expected = [("no NVRTC".to_owned(), 2), ("no device".to_owned(), 1)];
        assert_eq!(report.skipped, expected.into());
    }

    #[test]
    fn the_conclusion_says_what_ran_where() {
        let [cpu, cuda, amdgpu] = BACKENDS;
        let mut report = TestReport::new(BTreeMap::new());
        report.skipped.insert("no hipRTC".to_owned(), 3);
        let runs = [
            Run { backends: vec![cpu, cuda], device: "hardware" },
            Run { backends: vec![amdgpu], device: "simulated" },
        ];
        assert_eq!(
            report.conclusion(&runs, Totals::default()),
            "cpu: tested on this processor. cuda: tested on a GPU. amdgpu: tested on the simulator only, no GPU was used; \
             hipRTC was not found, so that no kernel was compiled for a real GPU."
        );
        let failed = Totals { passed: 1, failed: 2, skipped: 0 };
        assert_eq!(
            report.conclusion(&[simulated(&[cuda])], failed),
            "2 tests failed. cuda: tested on the simulator only, no GPU was used; NVRTC compiled kernels for real GPUs, \
             and none ran. Not tested: cpu, amdgpu."
        );
    }
}
