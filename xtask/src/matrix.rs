//! `cargo xtask test`: all tests, with a table of backend and device, the reasons of skipped tests, and one sentence
//! that says what the result means.
//!
//! The workspace's tests are built once. They run once as they are, with documentation tests; at full size, as in CI,
//! the whole-system suite runs again with other settings (see [`PASSES`]). Without a GPU, the simulator replaces both
//! GPU drivers. Where one backend has hardware and another has not, a second run covers the other, so that no backend
//! changes its device unnoticed.

mod report;

use std::{collections::BTreeMap, process::Command};

use clap::ValueEnum;
use serde_json::Value;

use crate::{
    probe::hardware_in,
    shell::{self, TaskError, Workspace},
    test_bundle::{BuiltProgram, executables, library},
    totals::{TestOutputParser, Totals},
};
use report::TestReport;

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
    /// Hardware where there is some, else the simulator.
    Auto,
    /// Real devices only.
    Hardware,
    /// The driver simulator only.
    Simulated,
}

/// How many cases the long tests run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Size {
    /// Some of them: for work on a change.
    Quick,
    /// All of them: for CI.
    Full,
}

/// A backend as the tests name it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Backend {
    /// The name in `QUADRANTS_TEST_BACKENDS` and in the table.
    name: &'static str,
    /// The name that the attributes of `tests/macros` give to this backend's case of a test.
    case: &'static str,
    /// The package, whose tests concern this backend only.
    package: &'static str,
    /// The run-time compiler of its kernels.
    compiler: Option<&'static str>,
}

impl Backend {
    fn is_gpu(self) -> bool {
        self.compiler.is_some()
    }
}

/// The backends, in the order of the table.
const BACKENDS: [Backend; 3] = [
    Backend { name: "cpu", case: "backend_1_Cpu", package: "quadrants-rhi-cpu", compiler: None },
    Backend {
        name: "cuda",
        case: "backend_2_Cuda",
        package: "quadrants-rhi-cuda",
        compiler: Some("NVRTC"),
    },
    Backend {
        name: "amdgpu",
        case: "backend_3_AmdGpu",
        package: "quadrants-rhi-amdgpu",
        compiler: Some("hipRTC"),
    },
];

/// The facade crate, which programs with compile errors use.
const FACADE: &str = "quadrants";

/// The simulator, whose tests concern the GPU backends.
const SIMULATOR: &str = "quadrants-driver-sim";

/// The whole-system suite; its test names contain the backend.
const SYSTEM: &str = "quadrants-tests";

/// The example simulations; their test names contain the backend too.
pub(crate) const EXAMPLES: &str = "quadrants-examples";

/// Modules of the whole-system suite that run cargo or rustc and use no device.
pub(crate) const MODULES_THAT_NEED_RUST: [&str; 1] = ["workspace::"];

/// The test that lists this machine's devices.
const PROBE: &str = "drivers::hardware::devices_are_listed";

/// A run of the tests for backends that share a kind of device.
#[derive(PartialEq, Eq, Debug)]
struct Run {
    backends: Vec<Backend>,
    device: &'static str,
}

impl Run {
    fn includes(&self, backend: Backend) -> bool {
        self.backends.contains(&backend)
    }

    fn left_out(&self) -> impl Iterator<Item = Backend> {
        BACKENDS.into_iter().filter(|backend| !self.includes(*backend))
    }

    /// Packages whose tests concern none of the backends.
    fn excluded(&self) -> Vec<&'static str> {
        let mut packages: Vec<_> = self.left_out().map(|backend| backend.package).collect();
        if !self.backends.iter().any(|backend| backend.is_gpu()) {
            packages.push(SIMULATOR);
        }
        packages
    }

    fn backend_names(&self) -> String {
        self.backends.iter().map(|backend| backend.name).collect::<Vec<_>>().join(",")
    }
}

/// A pass over the whole-system suite with a variable set.
struct Pass {
    /// The variable with its value.
    set: (&'static str, &'static str),
    /// The name in the table.
    note: &'static str,
    /// The modules that run; none for all.
    modules: &'static [&'static str],
    /// The modules that do not run.
    skipped: &'static [&'static str],
}

/// The passes after the usual one, at full size.
const PASSES: [Pass; 2] = [
    Pass {
        set: ("QUADRANTS_ARGUMENT_LIMIT", "0"),
        note: ", arguments by buffer",
        modules: &[],
        // They set the limit themselves, or launch nothing.
        skipped: &[
            "faults::lost::",
            "faults::once::",
            "faults::mutations::",
            "differential::host_compiler::",
        ],
    },
    // The modules whose launches become graphs otherwise.
    Pass {
        set: ("QUADRANTS_GRAPHS", "off"),
        note: ", no graphs",
        modules: &[
            "errors::",
            "graphs::",
            "hazards::",
            "launch::threads::",
            "lifetimes::handles::",
            "memory::",
            "regions::",
            "streams::",
        ],
        skipped: &[],
    },
];

/// Runs the tests and prints the table, the reasons of skipped tests and the conclusion. Failed tests are in the
/// totals; an error means that tests could not run.
pub(crate) fn test(
    workspace: &Workspace,
    backend: BackendChoice,
    device: DeviceChoice,
    size: Size,
) -> Result<Totals, TaskError> {
    let selected = selected_backends(backend);
    let json = "--message-format=json-render-diagnostics";
    let mut build = workspace.cargo(["test", "--workspace", "--tests", "--no-run", json]);
    let messages = shell::read(&mut build)?;
    let (built, facade) = (executables(&messages)?, library(&messages, FACADE));
    let suite = find(&built, SYSTEM, "suite")?;
    let examples = find(&built, EXAMPLES, "quadrants_examples")?;

    let needs_probe = device != DeviceChoice::Simulated && selected.iter().any(|b| b.is_gpu());
    let hardware = if needs_probe { hardware_in(&shell::read(&mut probe(suite))?) } else { vec![] };
    let runs = plan(&selected, device, |backend| hardware.iter().any(|name| name == backend.name))?;
    for run in &runs {
        for backend in run.backends.iter().filter(|backend| backend.is_gpu()) {
            println!("{}: tests run on {}", backend.name, device_word(run.device));
        }
    }

    let packages: BTreeMap<String, String> = built
        .iter()
        .map(|b| (report::file_name(&b.path.to_string_lossy()), b.package.clone()))
        .collect();
    let mut report = TestReport::new(packages);
    let mut execute = |mut command: Command, listener: TestOutputParser, run: &Run, note: &str| {
        // By itself, a test would ask cargo for the library, which builds it again: other packages of the workspace
        // need other features of its dependencies.
        if let Some(facade) = &facade {
            command.env("QUADRANTS_TEST_LIBRARY", facade);
        }
        command.env("QUADRANTS_TEST_BACKENDS", run.backend_names());
        command.env("QUADRANTS_TEST_DEVICE", run.device);
        // Many tests expect panics; their backtraces would bury the messages of failed tests.
        command.env("RUST_BACKTRACE", "0");
        if size == Size::Full {
            command.env("QUADRANTS_TEST_FULL", "1");
        }
        follow(command, listener, &mut |programs| report.add(programs, run, note))
    };
    for (index, run) in runs.iter().enumerate() {
        if index == 0 {
            let mut tests = workspace.cargo(["test", "--no-fail-fast", "--workspace", "--tests"]);
            tests.args(run.excluded().iter().flat_map(|package| ["--exclude", package]));
            tests.args(["--", "--show-output"]).args(skip_args(run));
            execute(tests, TestOutputParser::default(), run, "")?;
            let mut docs = workspace.cargo(["test", "--no-fail-fast", "--workspace", "--doc"]);
            docs.args(run.excluded().iter().flat_map(|package| ["--exclude", package]));
            let without_examples = without_doc_tests(&workspace.members()?);
            docs.args(without_examples.iter().flat_map(|package| ["--exclude", package]));
            // With `--show-output`, rustdoc would build each example by itself, which takes four times as long.
            execute(docs, TestOutputParser::default(), run, "")?;
        } else {
            let own =
                built.iter().filter(|b| run.backends.iter().any(|of| of.package == b.package));
            for program in own.chain([suite, examples]) {
                let (command, listener) = direct(program, run);
                execute(command, listener, run, "")?;
            }
        }
    }
    let passes = match size {
        Size::Quick => &[][..],
        Size::Full => &PASSES,
    };
    for (pass, run) in passes.iter().flat_map(|pass| runs.iter().map(move |run| (pass, run))) {
        let (mut command, listener) = direct(suite, run);
        command.args(pass.modules).env(pass.set.0, pass.set.1);
        command.args(pass.skipped.iter().flat_map(|module| ["--skip", module]));
        execute(command, listener, run, pass.note)?;
    }
    Ok(report.print(&runs))
}

/// A test program that the build made.
/// The packages whose manifest says `doctest = false`, which `cargo test --doc` builds and runs all the same.
fn without_doc_tests(members: &[Value]) -> Vec<String> {
    let has_none = |member: &&Value| {
        let targets = member["targets"].as_array();
        targets.is_some_and(|targets| targets.iter().all(|target| target["doctest"] == false))
    };
    let names = members.iter().filter(has_none).filter_map(|member| member["name"].as_str());
    names.map(str::to_owned).collect()
}

fn find<'a>(
    built: &'a [BuiltProgram],
    package: &str,
    target: &str,
) -> Result<&'a BuiltProgram, TaskError> {
    let found = built.iter().find(|built| built.package == package && built.target == target);
    found.ok_or_else(|| TaskError::NotBuilt { what: format!("{target} of {package}") })
}

/// A test program without cargo: another selection of packages would build the workspace again with other features.
fn direct(program: &BuiltProgram, run: &Run) -> (Command, TestOutputParser) {
    let mut command = Command::new(&program.path);
    command.current_dir(&program.folder).env("CARGO_MANIFEST_DIR", &program.folder);
    // Cargo sets it; tests print commands with it.
    command.env("CARGO_PKG_NAME", &program.package);
    command.arg("--show-output").args(skip_args(run));
    command.args(MODULES_THAT_NEED_RUST.iter().flat_map(|module| ["--skip", module]));
    (command, TestOutputParser::of(&program.path.to_string_lossy()))
}

/// Leaves out the other backends' cases.
fn skip_args(run: &Run) -> Vec<&'static str> {
    run.left_out().flat_map(|backend| ["--skip", backend.case]).collect()
}

fn probe(suite: &BuiltProgram) -> Command {
    let mut probe = Command::new(&suite.path);
    probe.current_dir(&suite.folder).args(["--exact", PROBE, "--nocapture"]);
    // A simulator in the driver's place must not pass for hardware.
    probe.env_remove("QUADRANTS_CUDA_LIBRARY").env_remove("QUADRANTS_HIP_LIBRARY");
    probe
}

/// Runs tests, prints the relevant lines, and passes the results of each test program to `add`.
fn follow(
    mut command: Command,
    mut listener: TestOutputParser,
    add: &mut dyn FnMut(Vec<crate::totals::TestProgram>),
) -> Result<(), TaskError> {
    let step = shell::text(&command);
    let success = shell::follow(&mut command, |line| {
        if listener.line(line) {
            println!("{line}");
        }
    })?;
    let programs = listener.finished();
    let failed: u64 = programs.iter().map(|program| program.totals.failed).sum();
    if !success && failed == 0 {
        // A test program ended before it printed its totals, or did not build.
        return Err(TaskError::NoTests { step });
    }
    add(programs);
    Ok(())
}

fn selected_backends(choice: BackendChoice) -> Vec<Backend> {
    let [cpu, cuda, amdgpu] = BACKENDS;
    match choice {
        BackendChoice::Cpu => vec![cpu],
        BackendChoice::Cuda => vec![cuda],
        BackendChoice::Amdgpu => vec![amdgpu],
        BackendChoice::All => BACKENDS.to_vec(),
    }
}

/// The runs that cover `backends`. The CPU joins the first run: it is the same for every kind of device.
fn plan(
    backends: &[Backend],
    device: DeviceChoice,
    has_hardware: impl Fn(Backend) -> bool,
) -> Result<Vec<Run>, TaskError> {
    let mut hardware = Run { backends: Vec::new(), device: "hardware" };
    let mut simulated = Run { backends: Vec::new(), device: "simulated" };
    let mut missing = Vec::new();
    for backend in backends.iter().copied().filter(|backend| backend.is_gpu()) {
        if device != DeviceChoice::Simulated && has_hardware(backend) {
            hardware.backends.push(backend);
        } else if device == DeviceChoice::Hardware {
            missing.push(backend.name);
        } else {
            simulated.backends.push(backend);
        }
    }
    if !missing.is_empty() {
        return Err(TaskError::NoHardware { backends: missing.join(" and ") });
    }
    let mut runs: Vec<Run> =
        [hardware, simulated].into_iter().filter(|run| !run.backends.is_empty()).collect();
    if let Some(cpu) = backends.iter().copied().find(|backend| !backend.is_gpu()) {
        match runs.first_mut() {
            Some(first) => first.backends.insert(0, cpu),
            None => runs.push(Run { backends: vec![cpu], device: "auto" }),
        }
    }
    Ok(runs)
}

fn device_word(device: &str) -> &str {
    if device == "simulated" { "the driver simulator" } else { device }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const CPU: Backend = BACKENDS[0];
    const CUDA: Backend = BACKENDS[1];
    const AMDGPU: Backend = BACKENDS[2];

    #[test]
    fn without_hardware_one_simulated_run_covers_all() {
        let runs = plan(&BACKENDS, DeviceChoice::Auto, |_| false).unwrap();
        assert_eq!(runs, [Run { backends: BACKENDS.to_vec(), device: "simulated" }]);
    }

    #[test]
    fn hardware_of_one_backend_makes_two_runs() {
        let runs = plan(&BACKENDS, DeviceChoice::Auto, |b| b == CUDA).unwrap();
        assert_eq!(
            runs,
            [
                Run { backends: vec![CPU, CUDA], device: "hardware" },
                Run { backends: vec![AMDGPU], device: "simulated" },
            ]
        );
    }

    #[test]
    fn missing_hardware_is_an_error_where_hardware_is_required() {
        let error = plan(&BACKENDS, DeviceChoice::Hardware, |b| b == CUDA).unwrap_err();
        assert!(error.to_string().contains("no hardware for amdgpu"), "{error}");
    }

    #[test]
    fn the_cpu_alone_needs_no_driver() {
        let runs = plan(&[CPU], DeviceChoice::Hardware, |_| panic!("called")).unwrap();
        assert_eq!(runs, [Run { backends: vec![CPU], device: "auto" }]);
    }

    #[test]
    fn packages_without_documented_targets_have_no_doc_tests() {
        let package = |name, doctests: &[bool]| {
            let targets: Vec<_> = doctests.iter().map(|d| json!({ "doctest": d })).collect();
            json!({ "name": name, "targets": targets })
        };
        let members = [package("bench", &[false, false]), package("ir", &[false, true])];
        assert_eq!(without_doc_tests(&members), ["bench"]);
    }

    #[test]
    fn a_run_of_one_backend_leaves_out_the_others() {
        let run = Run { backends: vec![AMDGPU], device: "simulated" };
        assert_eq!(run.excluded(), ["quadrants-rhi-cpu", "quadrants-rhi-cuda"]);
        assert_eq!(skip_args(&run), ["--skip", "backend_1_Cpu", "--skip", "backend_2_Cuda"]);
        let run = Run { backends: vec![CPU], device: "auto" };
        assert_eq!(run.excluded(), ["quadrants-rhi-cuda", "quadrants-rhi-amdgpu", SIMULATOR]);
    }
}
