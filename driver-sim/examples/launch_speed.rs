//! Measures the simulator's own cost: nanoseconds per launch of an empty kernel, for each schedule, with a wait after
//! every thousand launches.

use std::{
    ffi::{c_char, c_int, c_uint, c_void},
    mem::transmute,
    ptr,
    time::Instant,
};

use quadrants_driver_sim::{self as sim, Schedule};
use quadrants_ir::{
    Offloaded, SimImage,
    abi::{Forms, Passing},
};
use quadrants_samples::Builder;

const LAUNCHES: u32 = 1_000_000;

macro_rules! function {
    ($name:ident($($ty:ty),* $(,)?)) => {{
        let address = sim::hip_symbol(stringify!($name)).expect(stringify!($name));
        // SAFETY: the C function has this signature.
        unsafe { transmute::<*const c_void, unsafe extern "C" fn($($ty),*) -> c_int>(address) }
    }};
}

fn main() {
    let set_device = function!(hipSetDevice(c_int));
    let synchronize = function!(hipStreamSynchronize(usize));
    let load = function!(hipModuleLoadData(*mut usize, *const u8));
    let find = function!(hipModuleGetFunction(*mut usize, usize, *const c_char));
    let launch = function!(
        hipModuleLaunchKernel(
            usize,
            c_uint,
            c_uint,
            c_uint,
            c_uint,
            c_uint,
            c_uint,
            c_uint,
            usize,
            *const *const u64,
            *mut *mut c_void,
        )
    );

    let image =
        SimImage { kernel: nothing(), forms: Forms::PROVEN, passing: Passing::Value }.encode();
    for schedule in [Schedule::Lazy, Schedule::Eager, Schedule::Random] {
        let world = sim::lease_world();
        world.set_schedule(schedule);
        let (mut module, mut function) = (0, 0);
        let args = [0u64; 3];
        let parameters = [args.as_ptr()];
        let start;
        // SAFETY: every pointer is to a local that outlives the calls, and the image is valid.
        unsafe {
            assert_eq!(set_device(world.ordinal() as c_int), 0);
            assert_eq!(load(&mut module, image.as_ptr()), 0);
            assert_eq!(find(&mut function, module, c"nothing_0".as_ptr()), 0);
            start = Instant::now();
            for i in 0..LAUNCHES {
                let (words, extra) = (parameters.as_ptr(), ptr::null_mut());
                assert_eq!(launch(function, 1, 1, 1, 1, 1, 1, 0, 0, words, extra), 0);
                if i % 1000 == 999 {
                    assert_eq!(synchronize(0), 0);
                }
            }
        }
        let ns = start.elapsed().as_nanos() / u128::from(LAUNCHES);
        println!("{schedule}: {ns} ns per launch, {} operations run", world.executed());
    }
}

/// A loop without iterations.
fn nothing() -> Offloaded {
    let mut b = Builder::new("nothing");
    let zero = b.constant(0u64);
    b.parallel_loop(&[("i", zero, zero)], |_, _| {});
    b.finish()
}
