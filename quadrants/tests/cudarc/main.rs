//! Guarantees: contexts, streams and memory are shared with cudarc without copies; work of both on shared memory is
//! ordered in both directions; memory of cudarc is freed after its last use; what cannot be shared is a typed error.
//!
//! Each check runs in a child process with the simulator as the driver of both, with a schedule on which each missing
//! order has an effect, and with the race detector. It also runs on a GPU where there is one.

// The simulator's library is linked as a driver.
#![cfg(unix)]

mod memory;
mod objects;
mod views;

use std::{
    env::{
        self,
        consts::{DLL_PREFIX, DLL_SUFFIX},
    },
    path::PathBuf,
    process::Command,
    sync::Arc,
};

use cudarc::driver::CudaContext;
use quadrants::{self as qd, Program, Tensor, cudarc::SharedStream};

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// What a child is to check.
const CHECK: &str = "QUADRANTS_CUDARC_CHECK";

const N: usize = 256;

#[qd::kernel]
fn add(by: f32, x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] += by;
    }
}

#[qd::kernel]
fn sum_of(x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    for i in 0..y.len() {
        y[i] += x[i];
    }
}

/// A program on a context of cudarc, with a shared stream and another one of cudarc.
struct Scene {
    context: Arc<CudaContext>,
    program: Program,
    shared: SharedStream,
    other: Arc<cudarc::driver::CudaStream>,
}

impl Scene {
    fn new() -> Result<Self, Box<dyn std::error::Error>> {
        let context = driver(CudaContext::new(0))?;
        let program = qd::cudarc::open(&context)?;
        let shared = SharedStream::new(&program, driver(context.new_stream())?)?;
        let other = driver(context.new_stream())?;
        Ok(Self { context, program, shared, other })
    }
}

/// Errors of cudarc are errors of std only with a feature.
fn driver<T>(result: Result<T, cudarc::driver::DriverError>) -> qd::cudarc::Result<T> {
    Ok(result?)
}

fn simulated() -> bool {
    env::var_os(CHECK).is_some()
}

/// The simulator's library, which is built with the tests.
fn simulator() -> PathBuf {
    let library = format!("{DLL_PREFIX}quadrants_driver_sim{DLL_SUFFIX}");
    let library = env::current_exe().expect("a program").with_file_name(library);
    assert!(library.exists(), "{}", library.display());
    library
}

fn on_the_simulator(name: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let library = folder.path().join("libcuda.so");
    std::os::unix::fs::symlink(simulator(), &library).expect("a link");
    for seed in 0..4 {
        let mut child = Command::new(env::current_exe().expect("a program"));
        child.args([name, "--exact", "--nocapture", "--test-threads=1"]);
        child.env(CHECK, name).env("QUADRANTS_CACHE", "off").env("QUADRANTS_SIM_RACES", "1");
        child.env("LD_LIBRARY_PATH", folder.path()).env("QUADRANTS_CUDA_LIBRARY", &library);
        let schedule = if seed == 0 { "lazy" } else { "adversarial" };
        child.env("QUADRANTS_SIM_SCHEDULE", schedule).env("QUADRANTS_SIM_SEED", seed.to_string());
        let output = child.output().expect("it starts");
        let [out, err] =
            [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        assert!(output.status.success(), "{schedule} {seed}\n{out}{err}");
        assert!(out.contains("1 passed"), "{out}");
        assert!(!err.contains("race on"), "{schedule} {seed}\n{err}");
    }
}

fn run(name: &str, check: fn() -> Outcome) {
    if simulated() {
        return check().unwrap_or_else(|error| panic!("{error}"));
    }
    // Without hardware, the packed tests have no simulator.
    if env::var_os("QUADRANTS_TEST_DEVICE").is_none_or(|device| device != "hardware") {
        on_the_simulator(name);
    }
    // SAFETY: loading libcuda has no effects that the test depends on.
    if !unsafe { cudarc::driver::sys::is_culib_present() } || CudaContext::new(0).is_err() {
        return println!("skipped: no CUDA device, so only the simulator was used");
    }
    check().unwrap_or_else(|error| panic!("{error}"));
}

macro_rules! checks {
    ($($module:ident: $($name:ident)*;)*) => {$($(
        #[test]
        fn $name() {
            run(stringify!($name), $module::$name);
        }
    )*)*};
}

checks! {
    objects:
        contexts_are_compared
        streams_are_shared
        what_cannot_be_shared_is_refused;
    memory:
        a_slice_is_a_tensor
        a_tensor_waits_for_all_streams_of_cudarc
        a_slice_is_freed_after_its_last_use
        a_slice_may_be_dropped_on_any_thread
        cudarc_waits_for_what_was_done_in_a_view
        a_view_is_ordered_after_a_panic
        slices_without_events_follow_their_stream;
    views:
        tensors_are_views_of_cudarc
        other_streams_of_cudarc_may_use_views
        views_have_the_type_of_the_tensor
        captures_are_refused;
}
