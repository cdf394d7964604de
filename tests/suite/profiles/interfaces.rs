//! The profiling interfaces of drivers, as the simulator has them: where the times of a profile come from.
//!
//! An interface is loaded once per process, so each case runs in a child. The simulator's library is its driver and its
//! profiling interface.

use std::{
    env::consts::{DLL_PREFIX, DLL_SUFFIX},
    ffi::{OsStr, c_int, c_void},
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use quadrants::{self as qd, Program, SpanKind, Timeline};
use quadrants_rhi_amdgpu::{
    ROCTRACER_VARIABLE,
    rhi::table::{Library, loaded_files},
};
use quadrants_rhi_cuda::CUPTI_VARIABLE;
use quadrants_tests::{TestBackend, on_gpu_backends};

use super::{N, blocks, check, scale, spans_of, track_of};
use crate::child;

/// The works of children.
pub(crate) const WORKS: &[child::Work] = &[
    ("a profile by an interface", profiled),
    ("a profile beside another profiler", beside_another),
];

/// A backend whose driver has a simulated profiling interface.
struct Interface {
    /// What the timeline calls it.
    name: &'static str,
    /// The variable that selects the driver.
    driver: &'static str,
    /// The variable that selects the interface.
    variable: &'static str,
    /// Whether its records have the nodes of graphs.
    has_nodes: bool,
    /// A function that it needs.
    function: &'static str,
}

const ROCTRACER: Interface = Interface {
    name: "roctracer 4.1",
    driver: quadrants_rhi_amdgpu::LIBRARY_VARIABLE,
    variable: ROCTRACER_VARIABLE,
    has_nodes: false,
    function: "roctracer_version_major",
};

const CUPTI: Interface = Interface {
    name: "CUPTI, version 28",
    driver: quadrants_rhi_cuda::LIBRARY_VARIABLE,
    variable: CUPTI_VARIABLE,
    has_nodes: true,
    function: "cuptiGetVersion",
};

impl Interface {
    fn of(backend: TestBackend) -> &'static Self {
        if backend == TestBackend::Cuda { &CUPTI } else { &ROCTRACER }
    }
}

/// The simulator's library.
fn simulator() -> PathBuf {
    let beside = std::env::current_exe().expect("a program");
    let library = beside.with_file_name(format!("{DLL_PREFIX}quadrants_driver_sim{DLL_SUFFIX}"));
    assert!(library.exists(), "{} is built with the tests", library.display());
    library
}

/// What a child prints of a timeline: its notes, and the spans of the device.
#[derive(Debug, Default, PartialEq, Eq)]
struct Printed {
    notes: Vec<String>,
    /// Of each span, in the order of the starts: kind, label, the track, and the duration in nanoseconds.
    spans: Vec<(String, u64)>,
    /// Whether the library of the interface was loaded before the profile, and after it.
    loaded: Vec<String>,
}

fn print(timeline: &Timeline) {
    for note in timeline.notes() {
        println!("note {note}");
    }
    for span in timeline.spans().iter().filter(|span| !span.kind.is_host()) {
        let track = track_of(timeline, span);
        let nodes = if span.has_node_times { ", nodes" } else { "" };
        let time = span.duration().as_nanos();
        println!("span {:?} {} {track:?}{nodes}: {time}", span.kind, span.label());
    }
}

/// Whether the file in this variable is mapped into the process.
fn print_loaded(interface: &Interface) {
    let named = std::env::var_os(interface.variable).unwrap_or_default();
    let is_loaded = loaded_files().any(|(_, file)| file.as_os_str() == named);
    println!("loaded {is_loaded}");
}

fn profiled(backend: TestBackend) -> qd::Result<()> {
    let program = Program::open(backend.arch())?;
    let (one, two) = (program.create_stream()?, program.create_stream()?);
    let [mut x, mut y] =
        [(); 2].map(|()| program.tensor_from(&[1.0f32; N], [N]).expect("a tensor"));
    let [mut a, mut b] = [(); 2].map(|()| program.zeros::<f32, 1>([N]).expect("a tensor"));
    let mut chain = program.capture(|| {
        scale(2.0, &mut x).launch()?;
        scale(2.0, &mut x).launch()
    })?;
    let mut fork = program.capture(|| blocks(&mut a, &mut b).launch())?;
    let mut z = program.zeros::<f32, 1>([4 * N])?;
    // Before the profile, as launches on the fast path.
    for _ in 0..3 {
        scale(1.0, &mut z).launch_on(&one)?;
    }
    // Ends the line of the test's name.
    println!();
    print_loaded(Interface::of(backend));
    let (result, timeline) = program.profile(|| {
        for _ in 0..2 {
            scale(2.0, &mut y).launch_on(&one)?;
            scale(1.0, &mut z).launch_on(&two)?;
        }
        let large = program.zeros::<f32, 1>([16 * N])?;
        let copied = program.tensor_from(&[3.0f32; N], [N])?;
        chain.launch()?;
        fork.launch()?;
        chain.launch()?;
        Ok::<_, qd::Error>((large.to_vec()?[0], copied.to_vec()?[0]))
    })?;
    assert_eq!(result?, (0.0, 3.0));
    print_loaded(Interface::of(backend));
    check(&timeline);
    print(&timeline);
    assert_eq!(y.to_vec()?[0], 4.0);
    // After the profile, everything is as before.
    scale(0.5, &mut y).launch_on(&one)?;
    assert_eq!((y.to_vec()?[0], x.to_vec()?[0]), (2.0, 16.0));
    let (_, again) = program.profile(|| scale(0.5, &mut y).launch_on(&one))?;
    check(&again);
    assert_eq!(again.notes(), timeline.notes());
    assert_eq!(spans_of(&again, SpanKind::Task).count(), 1);
    Ok(())
}

/// Takes the interface as another profiler does, and then profiles.
fn beside_another(backend: TestBackend) -> qd::Result<()> {
    unsafe extern "C" fn ignore(_: *const u8, _: *const u8, _: *mut c_void) {}
    let variable = Interface::of(backend).variable;
    let path = std::env::var_os(variable).expect("the child's variable");
    // SAFETY: it is the simulator's library.
    let library = unsafe { Library::open("another profiler", &[path], variable) }?;
    let function = |name| library.resolve(name).expect("a function");
    let ignore = ignore as unsafe extern "C" fn(_, _, _) as usize;
    let taken = if backend == TestBackend::Cuda {
        // SAFETY: the C signature of the function. It writes an address, and calls nothing back.
        unsafe {
            let subscribe: unsafe extern "C" fn(*mut usize, usize, usize) -> c_int =
                std::mem::transmute(function("cuptiSubscribe"));
            subscribe(&mut 0, ignore, 0)
        }
    } else {
        // Mode, size, allocator and its argument, callback and its argument.
        let properties = [0usize, 1 << 16, 0, 0, ignore, 0];
        // SAFETY: the C signature of the function, which copies the properties.
        unsafe {
            let open: unsafe extern "C" fn(*const usize, *mut *mut c_void) -> c_int =
                std::mem::transmute(function("roctracer_open_pool_expl"));
            open(properties.as_ptr(), std::ptr::null_mut())
        }
    };
    assert_eq!(taken, 0);
    profiled(backend)
}

/// Runs a work with the simulator as the driver, and with this library as its profiling interface.
fn run(
    (backend, interface): (TestBackend, &Interface),
    work: &str,
    library: &Path,
    schedule: &str,
) -> Printed {
    let driver = simulator();
    let environment = [
        (interface.driver, driver.as_os_str()),
        (interface.variable, library.as_os_str()),
        ("QUADRANTS_SIM_SCHEDULE", OsStr::new(schedule)),
    ];
    let output = child::output_in(work, backend, Duration::from_secs(120), &environment);
    let [text, told] =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(output.status.success(), "{text}{told}");
    let mut printed = Printed::default();
    for line in text.lines() {
        if let Some(note) = line.strip_prefix("note ") {
            printed.notes.push(note.to_owned());
        } else if let Some(loaded) = line.strip_prefix("loaded ") {
            printed.loaded.push(loaded.to_owned());
        } else if let Some((span, time)) =
            line.strip_prefix("span ").and_then(|span| span.rsplit_once(": "))
        {
            printed.spans.push((span.to_owned(), time.parse().expect("nanoseconds")));
        }
    }
    printed
}

/// The spans that are not of nodes, with the times that events have without the 100 ns of the event behind.
fn without_events(printed: &Printed, is_exact: impl Fn(&str) -> bool) -> Vec<(String, u64)> {
    let is_node = |span: &str| span.contains("Nodes(");
    let mut spans: Vec<(String, u64)> = printed
        .spans
        .iter()
        .filter(|(span, _)| !is_node(span))
        .map(|(span, time)| {
            let time = if is_exact(span) { *time } else { time - 100 };
            (span.replace(", nodes", ""), time)
        })
        .collect();
    spans.sort();
    spans
}

#[on_gpu_backends]
fn times_are_those_of_the_interface(backend: TestBackend) {
    if backend.open_simulated().is_none() {
        return;
    }
    let interface = Interface::of(backend);
    let test = (backend, interface);
    let by_events = run(test, "a profile by an interface", Path::new("off"), "lazy");
    assert_eq!(by_events.notes, [""; 0], "it is turned off");
    for schedule in ["lazy", "eager", "random", "adversarial"] {
        let exact = run(test, "a profile by an interface", &simulator(), schedule);
        assert_eq!(exact.notes, [format!("times are those of {}", interface.name)]);
        // Allocations and frees have the times of events; a graph is from its first node to its last.
        let is_exact = |span: &str| !span.starts_with("Allocation") && !span.starts_with("Free");
        let is_graph = |(span, _): &(String, u64)| span.starts_with("Graph");
        let [mut found, mut expected] =
            [without_events(&exact, is_exact), without_events(&by_events, |_| false)];
        let [graphs, by_event] = [&mut found, &mut expected]
            .map(|spans| spans.extract_if(.., |span| is_graph(span)).collect::<Vec<_>>());
        assert_eq!(found, expected, "{schedule}");
        assert_eq!(graphs.len(), 3, "{exact:?}");
        for ((graph, time), (other, most)) in graphs.iter().zip(&by_event) {
            assert!(graph == other && time < most && *time > most / 2, "{graphs:?} {by_event:?}");
        }
        // The nodes of the chain are known, since they run one after the other. Those of the fork are only if the
        // records have their numbers.
        let nodes = |printed: &Printed| -> Vec<(String, u64)> {
            let of_chain = |span: &str| interface.has_nodes || span.contains("scale");
            let nodes = printed.spans.iter();
            let mut nodes: Vec<_> = nodes
                .filter(|(span, _)| span.contains("Nodes(") && of_chain(span))
                .cloned()
                .collect();
            nodes.sort();
            nodes
        };
        assert_eq!(nodes(&exact), nodes(&by_events), "{schedule}");
        let known = exact.spans.iter().filter(|(span, _)| span.contains(", nodes")).count();
        assert_eq!(known, if interface.has_nodes { 3 } else { 2 }, "{exact:?}");
        assert!(!exact.spans.iter().any(|(span, _)| {
            !interface.has_nodes && span.contains("blocks") && span.contains("Nodes(")
        }));
    }
}

#[on_gpu_backends]
fn without_the_interface_the_reason_is_in_the_timeline(backend: TestBackend) {
    if backend.open_simulated().is_none() {
        return;
    }
    let interface = Interface::of(backend);
    let test = (backend, interface);
    let work = "a profile by an interface";
    let by_events = run(test, work, Path::new("off"), "lazy");
    let refused = |work: &str, library: &Path, reason: &str| {
        let printed = run(test, work, library, "lazy");
        let [note] = &printed.notes[..] else { panic!("a note is expected: {printed:?}") };
        assert!(note.starts_with("times are those of events: "), "{note}");
        assert!(note.contains(reason), "`{reason}` is not in `{note}`");
        assert_eq!(printed.spans, by_events.spans, "{note}");
        printed.loaded
    };
    let missing = Path::new("/nonexistent/library.so");
    refused(work, missing, "(tried /nonexistent/library.so)");
    refused(work, missing, interface.variable);
    let lacks = format!("libc.so.6 does not export {}", interface.function);
    refused(work, Path::new("libc.so.6"), &lacks);
    let another = "a profile beside another profiler";
    refused(another, &simulator(), "another profiler is attached");

    // A library that belongs to another runtime in the process. It is loaded by the profile, not before.
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().canonicalize().expect("a path").join("another.so");
    fs::copy(simulator(), &copy).expect("a copy");
    let nothing = format!("{} recorded nothing", interface.name);
    assert_eq!(refused(work, &copy, &nothing), ["false", "true"]);
}
