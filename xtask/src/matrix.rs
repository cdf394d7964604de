//! The per-backend test matrix: one `cargo test` of the workspace per kind of device, sorted into a table
//! of backend and device.
//!
//! A machine without a GPU needs one run: the simulator stands in for both GPU drivers. Where one backend
//! has hardware and the other has not, a second run covers the other, so that neither can fall back unseen.

use std::collections::BTreeMap;

use clap::ValueEnum;

use crate::{
    probe::Probe,
    shell::{self, Failure, Workspace},
    totals::{Ending, Listener, Program, Totals},
};

/// What `--backend` takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum BackendChoice {
    /// The processor.
    Cpu,
    /// NVIDIA GPUs, through libcuda.
    Cuda,
    /// AMD GPUs, through libamdhip64.
    Amdgpu,
    /// All three.
    All,
}

/// What `--device` takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum DeviceChoice {
    /// Hardware where there is one, else the simulator.
    Auto,
    /// Real devices only.
    Hardware,
    /// The driver simulator only.
    Simulated,
}

/// The backends, in the order of the table.
const BACKENDS: [&str; 3] = ["cpu", "cuda", "amdgpu"];

/// The whole-system suite, whose cases carry their backend in their names.
const SYSTEM: &str = "quadrants-tests";

/// The simulations, whose tests do so too.
pub(crate) const EXAMPLES: &str = "quadrants-examples";

/// Modules of the whole-system suite that ask cargo or rustc about the workspace and launch nothing.
pub(crate) const WITHOUT_DEVICE: [&str; 2] = ["invariants::", "ui::"];

/// A run of the suites for backends that share a kind of device.
#[derive(PartialEq, Eq, Debug)]
struct Run {
    backends: Vec<&'static str>,
    device: &'static str,
}

/// A pass over the whole-system suite.
#[derive(PartialEq, Eq, Debug)]
struct Pass {
    /// A variable of the environment with its value, and how the table names it.
    set: Option<(&'static str, &'static str, &'static str)>,
    /// The modules that it is for; none for all.
    modules: &'static [&'static str],
}

const AS_IS: Pass = Pass { set: None, modules: &[] };

/// The passes beside the usual one.
const PASSES: [Pass; 2] = [
    Pass { set: Some(("QUADRANTS_ARGUMENT_LIMIT", "0", "arguments by buffer")), modules: &[] },
    // Modules whose launches become graphs otherwise.
    Pass {
        set: Some(("QUADRANTS_GRAPHS", "off", "no graphs")),
        modules: &[
            "capture::",
            "errors::",
            "graphs::",
            "hazards::",
            "lifetimes::",
            "memory::",
            "order::",
            "regions::",
            "streams::",
            "threads::",
        ],
    },
];

/// Cells of the table: backend and device.
type Table = BTreeMap<(usize, String, String), Totals>;

/// Runs the matrix and prints its table. Failed tests are in the sums; an error means that tests could
/// not be run at all.
pub(crate) fn test(
    workspace: &Workspace,
    backend: BackendChoice,
    device: DeviceChoice,
) -> Result<Totals, Failure> {
    let mut probe = Probe::new(workspace);
    let runs = plan(&chosen(backend), device, |backend| probe.has_hardware(backend))?;
    for run in &runs {
        for backend in run.backends.iter().filter(|b| **b != "cpu") {
            println!("{backend}: tests run on {}", device_word(run.device));
        }
    }

    let mut table = Table::new();
    let mut failures = Vec::new();
    for (index, run) in runs.iter().enumerate() {
        let what = if index == 0 { Scope::Workspace } else { Scope::PerBackend };
        failures.extend(one_run(workspace, run, what, &AS_IS, &mut table)?);
    }
    for (pass, run) in PASSES.iter().flat_map(|pass| runs.iter().map(move |run| (pass, run))) {
        failures.extend(one_run(workspace, run, Scope::System, pass, &mut table)?);
    }
    print(&table);
    // Once more, where a person looks first.
    failures.iter().for_each(|failure| println!("failed: {failure}"));
    let mut sum = Totals::default();
    table.values().for_each(|totals| sum.add(*totals));
    Ok(sum)
}

/// Which packages a run covers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// All, with examples and documentation.
    Workspace,
    /// Those whose cases carry their backend in their names.
    PerBackend,
    /// The whole-system suite.
    System,
}

fn chosen(choice: BackendChoice) -> Vec<&'static str> {
    match choice {
        BackendChoice::Cpu => vec!["cpu"],
        BackendChoice::Cuda => vec!["cuda"],
        BackendChoice::Amdgpu => vec!["amdgpu"],
        BackendChoice::All => BACKENDS.to_vec(),
    }
}

/// The runs that cover `backends`. The processor joins the first: it is the same on every kind of device.
fn plan(
    backends: &[&'static str],
    device: DeviceChoice,
    mut has_hardware: impl FnMut(&str) -> Result<bool, Failure>,
) -> Result<Vec<Run>, Failure> {
    let mut hardware = Run { backends: Vec::new(), device: "hardware" };
    let mut simulated = Run { backends: Vec::new(), device: "simulated" };
    let mut missing = Vec::new();
    for backend in backends.iter().copied().filter(|b| *b != "cpu") {
        let real = device != DeviceChoice::Simulated && has_hardware(backend)?;
        if real {
            hardware.backends.push(backend);
        } else if device == DeviceChoice::Hardware {
            missing.push(backend);
        } else {
            simulated.backends.push(backend);
        }
    }
    if !missing.is_empty() {
        return Err(Failure::NoHardware { backends: missing.join(" and ") });
    }
    let mut runs: Vec<Run> =
        [hardware, simulated].into_iter().filter(|run| !run.backends.is_empty()).collect();
    if backends.contains(&"cpu") {
        match runs.first_mut() {
            Some(first) => first.backends.insert(0, "cpu"),
            None => runs.push(Run { backends: vec!["cpu"], device: "auto" }),
        }
    }
    Ok(runs)
}

/// Runs the tests of one run into the table, and gives the names of those that failed.
fn one_run(
    workspace: &Workspace,
    run: &Run,
    scope: Scope,
    pass: &Pass,
    table: &mut Table,
) -> Result<Vec<String>, Failure> {
    let selection: &[&str] = match scope {
        Scope::Workspace => &["--workspace"],
        Scope::PerBackend => {
            &["--package", SYSTEM, "--package", EXAMPLES, "--lib", "--test", "suite"]
        }
        Scope::System => &["--package", SYSTEM, "--test", "suite"],
    };
    let mut build =
        workspace.cargo(["test", "--no-run", "--message-format=json-render-diagnostics"]);
    build.args(selection);
    let packages = packages_of_programs(&shell::read(&mut build)?)?;

    let mut test = workspace.cargo(["test", "--no-fail-fast"]);
    test.args(selection).args(["--", "--show-output"]).args(pass.modules);
    test.env("QUADRANTS_TEST_BACKENDS", run.backends.join(","));
    test.env("QUADRANTS_TEST_DEVICE", run.device);
    if scope != Scope::Workspace {
        test.args(WITHOUT_DEVICE.iter().flat_map(|module| ["--skip", module]));
    }
    if let Some((variable, value, _)) = pass.set {
        test.env(variable, value);
    }
    let step = shell::text(&test);
    let mut listener = Listener::default();
    let success = shell::follow(&mut test, |line| {
        if listener.line(line) {
            println!("{line}");
        }
    })?;
    let programs = listener.finished();
    let failed: u64 = programs.iter().map(|program| program.totals.failed).sum();
    if !success && failed == 0 {
        // A test program that died before its sums, or did not build.
        return Err(Failure::NoTests { step });
    }
    let note = pass.set.map_or(String::new(), |(_, _, name)| format!(", {name}"));
    for program in &programs {
        sort_in(program, &packages, run, &note, table);
    }
    let failures = programs.iter().flat_map(|program| {
        let failed = program.tests.iter().filter(|(_, ending)| **ending == Ending::Failed);
        failed.map(|(test, _)| format!("{test} ({}{note})", file_name(&program.name)))
    });
    Ok(failures.collect())
}

/// The package of each test program that cargo built, by the program's file name.
fn packages_of_programs(messages: &str) -> Result<BTreeMap<String, String>, Failure> {
    let mut packages = BTreeMap::new();
    for line in messages.lines().filter(|line| line.starts_with('{')) {
        let message: serde_json::Value =
            serde_json::from_str(line).map_err(|source| Failure::Message { source })?;
        if let (Some(program), Some(package)) =
            (message["executable"].as_str(), message["package_id"].as_str())
        {
            packages.insert(file_name(program).to_owned(), package_name(package).to_owned());
        }
    }
    Ok(packages)
}

/// The name in a package id: `path+file:///…/rhi#quadrants-rhi@0.1.0` or, where folder and name are
/// equal, `path+file:///…/quadrants#0.1.0`.
pub(crate) fn package_name(id: &str) -> &str {
    let (path, rest) = id.rsplit_once('#').unwrap_or(("", id));
    match rest.split_once('@') {
        Some((name, _)) => name,
        None => file_name(path),
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Adds a program's tests to the cells that they belong to.
fn sort_in(
    program: &Program,
    packages: &BTreeMap<String, String>,
    run: &Run,
    note: &str,
    table: &mut Table,
) {
    let package = program
        .name
        .strip_prefix("doc:")
        .map(|name| name.replace('_', "-"))
        .or_else(|| packages.get(file_name(&program.name)).cloned())
        .unwrap_or_default();
    let of_package = BACKENDS.iter().find(|b| package == format!("quadrants-rhi-{b}")).copied();
    let per_backend = [SYSTEM, EXAMPLES].contains(&package.as_str());
    let mut rest = program.totals;
    for (name, ending) in &program.tests {
        let of_name = BACKENDS.iter().find(|b| per_backend && has_word(name, b)).copied();
        let Some(backend) = of_package.or(of_name) else { continue };
        let cell = table.entry(key(backend, run, note)).or_default();
        let (cell, rest) = match ending {
            Ending::Passed => (&mut cell.passed, &mut rest.passed),
            Ending::Failed => (&mut cell.failed, &mut rest.failed),
            Ending::Skipped => (&mut cell.skipped, &mut rest.skipped),
        };
        if *rest > 0 {
            *cell += 1;
            *rest -= 1;
        }
    }
    if rest != Totals::default() {
        let row = match of_package {
            Some(backend) => key(backend, run, note),
            None => (BACKENDS.len(), format!("no device{note}"), "host".to_owned()),
        };
        table.entry(row).or_default().add(rest);
    }
}

/// Whether a test's name has the word, as a whole, in any case: `case_2_cuda`, `Backend__Cuda`.
fn has_word(name: &str, word: &str) -> bool {
    name.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| part.eq_ignore_ascii_case(word))
}

/// The cell of a backend: its place in the table, its name and its device.
fn key(backend: &str, run: &Run, note: &str) -> (usize, String, String) {
    let place = BACKENDS.iter().position(|b| *b == backend).unwrap_or(BACKENDS.len());
    let device = match backend {
        _ if !run.backends.contains(&backend) => "not chosen",
        "cpu" => "host",
        _ => run.device,
    };
    (place, format!("{backend}{note}"), device.to_owned())
}

fn device_word(device: &str) -> &str {
    if device == "simulated" { "the driver simulator" } else { device }
}

fn print(table: &Table) {
    let widest = table.keys().map(|(_, backend, _)| backend.len()).max().unwrap_or(0).max(7);
    println!(
        "\n{:widest$}  {:10}  {:>6}  {:>6}  {:>7}",
        "backend", "device", "passed", "failed", "skipped"
    );
    for ((_, backend, device), totals) in table {
        let Totals { passed, failed, skipped } = totals;
        println!("{backend:widest$}  {device:10}  {passed:>6}  {failed:>6}  {skipped:>7}");
    }
    println!();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_hardware_one_simulated_run_covers_all() {
        let runs = plan(&BACKENDS, DeviceChoice::Auto, |_| Ok(false)).unwrap();
        assert_eq!(runs, [Run { backends: vec!["cpu", "cuda", "amdgpu"], device: "simulated" }]);
    }

    #[test]
    fn hardware_of_one_backend_makes_two_runs() {
        let runs = plan(&BACKENDS, DeviceChoice::Auto, |b| Ok(b == "cuda")).unwrap();
        assert_eq!(
            runs,
            [
                Run { backends: vec!["cpu", "cuda"], device: "hardware" },
                Run { backends: vec!["amdgpu"], device: "simulated" },
            ]
        );
    }

    #[test]
    fn asking_for_hardware_that_is_not_there_fails() {
        let error = plan(&BACKENDS, DeviceChoice::Hardware, |b| Ok(b == "cuda")).unwrap_err();
        assert!(error.to_string().contains("no hardware for amdgpu"), "{error}");
    }

    #[test]
    fn the_processor_alone_asks_no_driver() {
        let runs = plan(&["cpu"], DeviceChoice::Hardware, |_| panic!("asked")).unwrap();
        assert_eq!(runs, [Run { backends: vec!["cpu"], device: "auto" }]);
    }

    #[test]
    fn programs_are_sorted_by_package_then_by_name() {
        let run = Run { backends: vec!["cpu", "cuda"], device: "simulated" };
        let packages = [("suite-1", SYSTEM), ("suite-2", "quadrants-rhi-cuda"), ("lib", EXAMPLES)]
            .map(|(program, package)| (program.to_owned(), package.to_owned()))
            .into();
        let tests = |names: &[(&str, Ending)]| {
            names.iter().map(|(name, ending)| ((*name).to_owned(), *ending)).collect()
        };
        let mut table = Table::new();
        let system = Program {
            name: "target/debug/deps/suite-1".to_owned(),
            tests: tests(&[
                ("saxpy::case_1_cpu", Ending::Passed),
                ("saxpy::case_2_cuda", Ending::Failed),
                ("saxpy::case_3_amdgpu", Ending::Skipped),
                ("layers", Ending::Passed),
            ]),
            // One passed test more than there are names: it must not be lost.
            totals: Totals { passed: 3, failed: 1, skipped: 1 },
        };
        sort_in(&system, &packages, &run, "", &mut table);
        let own = Program {
            name: "suite-2".to_owned(),
            tests: tests(&[("conformance::copies", Ending::Passed)]),
            totals: Totals { passed: 1, failed: 0, skipped: 0 },
        };
        sort_in(&own, &packages, &run, "", &mut table);
        let examples = Program {
            name: "lib".to_owned(),
            tests: tests(&[
                ("smoke::tests::steps::case_2_Cuda", Ending::Passed),
                ("options", Ending::Passed),
            ]),
            totals: Totals { passed: 2, failed: 0, skipped: 0 },
        };
        sort_in(&examples, &packages, &run, "", &mut table);
        let cell = |backend: &str, device: &str| {
            let found = table.iter().find(|((_, b, d), _)| b == backend && d == device);
            *found.unwrap_or_else(|| panic!("no cell {backend} {device} in {table:?}")).1
        };
        assert_eq!(cell("cpu", "host"), Totals { passed: 1, failed: 0, skipped: 0 });
        assert_eq!(cell("cuda", "simulated"), Totals { passed: 2, failed: 1, skipped: 0 });
        assert_eq!(cell("amdgpu", "not chosen"), Totals { passed: 0, failed: 0, skipped: 1 });
        assert_eq!(cell("no device", "host"), Totals { passed: 3, failed: 0, skipped: 0 });
    }

    #[test]
    fn package_ids_of_both_forms_are_read() {
        assert_eq!(
            package_name("path+file:///w/rhi-cuda#quadrants-rhi-cuda@0.1.0"),
            "quadrants-rhi-cuda"
        );
        assert_eq!(package_name("path+file:///w/quadrants#0.1.0"), "quadrants");
    }
}
