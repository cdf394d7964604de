//! Guarantees: every driver call may fail, and nothing that a drop cannot return is lost; every wait, record and
//! context switch that the library makes is needed.
//!
//! Each driver call of the scenarios fails once ([`once`]), fails because the device is lost ([`lost`]), or is ignored
//! ([`mutations`]).

mod lost;
pub(crate) mod mutations;
mod once;
mod scenario_env;
mod scenarios;

use quadrants::{Error, rhi, rhi::DriverError};
use quadrants_driver_sim::World;
use quadrants_tests::TestBackend;

/// The driver's error that an error comes from.
fn driver_error(error: &Error) -> Option<DriverError> {
    let mut at: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = at {
        if let Some(found) = error.downcast_ref::<DriverError>() {
            return Some(found.clone());
        }
        if let Some(found) = error.downcast_ref().and_then(rhi::Error::driver_error) {
            return Some(found.clone());
        }
        let runtime = match error.downcast_ref::<Error>() {
            Some(Error::Runtime(runtime)) => Some(runtime),
            _ => error.downcast_ref(),
        };
        match runtime {
            Some(quadrants_runtime::Error::Device(rhi)) => return rhi.driver_error().cloned(),
            Some(quadrants_runtime::Error::ContextLost { cause }) => {
                return cause.driver_error().cloned();
            }
            _ => at = error.source(),
        }
    }
    None
}

/// How often each function was called since `before`.
fn calls_since(world: World, before: &[(&'static str, u64)]) -> Vec<(&'static str, u64)> {
    let calls = world.all_calls().into_iter().map(|(call, after)| {
        let earlier = before.iter().find(|(other, _)| *other == call);
        (call, after - earlier.map_or(0, |(_, count)| *count))
    });
    calls.filter(|(_, count)| *count > 0).collect()
}

/// The current context (CUDA) or device (HIP) of this thread.
pub(crate) fn current(backend: TestBackend) -> usize {
    let symbol = match backend {
        TestBackend::Cuda => quadrants_driver_sim::cuda_symbol("cuCtxGetCurrent"),
        _ => quadrants_driver_sim::hip_symbol("hipGetDevice"),
    };
    let symbol = symbol.expect("the simulator exports it");
    let mut current = 0usize;
    // SAFETY: the function has this signature, and writes a pointer or an int, for which there is room.
    unsafe {
        let ask: extern "C" fn(*mut usize) -> i32 = std::mem::transmute(symbol);
        assert_eq!(ask(&raw mut current), 0);
    }
    current
}

/// Runs `walk` on its own thread: where restoring the current context fails, the thread keeps the wrong one.
fn apart<R: Send>(walk: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| scope.spawn(walk).join())
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
