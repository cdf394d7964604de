//! Modules and launches.

use std::{
    ffi::{CStr, c_int, c_void},
    ptr,
};

use quadrants_driver_sim::{InvalidAccess, OpKind, ReportKind, Schedule};
use quadrants_ir::abi::Passing;

use super::{
    kernels::{self, add_args},
    support::*,
};

#[test]
fn a_launch_copies_its_arguments_at_the_call() {
    let gpu = Gpu::lazy();
    let (add, s, x) = (gpu.add(), gpu.stream(), gpu.alloc(3));
    gpu.upload(x, &[1, 2, 3], s);
    let mut args = add_args(x, x, 3, 10);
    ok(launch(add, &args, s));
    args[7] = 10_000;
    ok(launch(add, &args, s));
    args.fill(0);
    assert_eq!(gpu.download(x, 3, s), [10_011, 10_012, 10_013]);
    assert_eq!(gpu.world.trace().launches("add_0").count(), 2);
}

#[test]
fn an_argument_buffer_is_read_when_the_launch_runs() {
    let gpu = Gpu::lazy();
    let add = gpu.function(&kernels::add(), Passing::Buffer);
    let (s, t, x) = (gpu.stream(), gpu.stream(), gpu.alloc(2));
    let block = gpu.alloc(16);
    gpu.upload(x, &[1, 2], s);
    let write = |v, stream| {
        let words: Vec<u32> =
            add_args(x, x, 2, v).iter().flat_map(|&w| [w as u32, (w >> 32) as u32]).collect();
        gpu.upload(block, &words, stream);
    };
    write(10, s);
    ok(launch(add, &[block], s));
    // A second launch overwrites the arguments of the first one before it has run.
    write(1000, t);
    ok(cuStreamSynchronize(t));
    assert_eq!(gpu.download(x, 1, s), [11], "an upload on s itself came last");
    ok(launch(add, &[block], s));
    write(1000, t);
    ok(cuStreamSynchronize(t));
    assert_eq!(gpu.download(x, 1, s), [1011]);
    // A freed argument block is detected.
    ok(launch(add, &[block], s));
    ok(cuMemFree_v2(block));
    assert_eq!(cuStreamSynchronize(s), 700);
}

#[test]
fn kernels_access_pinned_memory() {
    let gpu = Gpu::lazy();
    let (add, s, x) = (gpu.add(), gpu.stream(), gpu.pinned(2));
    x.copy_from_slice(&[1, 2]);
    let address = x.as_ptr() as u64;
    ok(launch(add, &add_args(address, address, 2, 5), s));
    assert_eq!(x, [1, 2]);
    ok(cuStreamSynchronize(s));
    assert_eq!(x, [6, 7]);
}

#[test]
fn a_kernel_that_leaves_its_memory_loses_the_context() {
    let gpu = Gpu::lazy();
    let (add, s, x) = (gpu.add(), gpu.stream(), gpu.alloc(2));
    gpu.upload(x, &[1, 2], s);
    ok(launch(add, &add_args(x, x, 3, 5), s));
    assert_eq!(cuStreamSynchronize(s), 700);
    let report = &gpu.world.reports()[0];
    assert_eq!(report.kind, ReportKind::Access(InvalidAccess::OutOfBounds));
    assert_eq!((report.address, report.bytes), (x + 8, 4));
    assert!(report.to_string().contains("launch of add_0"), "{report}");
}

#[test]
fn a_launch_with_less_shared_memory_than_its_arrays_need_loses_the_context() {
    let gpu = Gpu::lazy();
    let dynamic = gpu.function(&kernels::dynamic(), Passing::Value);
    let launch = |n: u64, shared| {
        let args = [0, 0, 0, n];
        let parameters = [args.as_ptr()];
        let parameters = parameters.as_ptr();
        ok(cuLaunchKernel(dynamic, 1, 1, 1, 4, 1, 1, shared, 0, parameters, ptr::null_mut()));
        cuStreamSynchronize(0)
    };
    // Whole vectors of 16 bytes.
    assert_eq!(launch(5, 48), 0);
    assert_eq!(launch(4, 64), 0);
    assert_eq!(launch(5, 40), 700);
    let report = &gpu.world.reports()[0];
    assert_eq!((report.kind, report.bytes), (ReportKind::SharedMemory, 48));
}

#[test]
fn a_kernel_that_reads_uninitialized_memory_is_reported_once() {
    let gpu = Gpu::lazy();
    let (add, x, y) = (gpu.add(), gpu.alloc(8), gpu.alloc(8));
    ok(launch(add, &add_args(y, x, 8, 5), 0));
    ok(cuStreamSynchronize(0));
    let reports = gpu.world.reports();
    assert_eq!(reports.len(), 1);
    assert_eq!(reports[0].kind, ReportKind::Uninitialized);
}

#[test]
fn invalid_shapes_are_errors() {
    let gpu = Gpu::lazy();
    let nothing = gpu.function(&kernels::nothing(), Passing::Value);
    let args = [0u64; 3];
    let parameters = [args.as_ptr()];
    let try_shape = |[gx, gy, gz, bx, by, bz]: [u32; 6], shared| {
        let parameters = parameters.as_ptr();
        cuLaunchKernel(nothing, gx, gy, gz, bx, by, bz, shared, 0, parameters, ptr::null_mut())
    };
    assert_eq!(try_shape([1, 1, 1, 1024, 1, 1], 0), 0);
    assert_eq!(try_shape([1, 1, 1, 32, 32, 1], 0), 0);
    assert_eq!(try_shape([0, 1, 1, 32, 1, 1], 0), 1);
    assert_eq!(try_shape([1, 1, 1, 32, 0, 1], 0), 1);
    assert_eq!(try_shape([1, 1, 1, 1025, 1, 1], 0), 1);
    assert_eq!(try_shape([1, 1, 1, 32, 33, 1], 0), 1);
    assert_eq!(try_shape([1, 65_536, 1, 32, 1, 1], 0), 1);
    assert_eq!(try_shape([1, 1, 1, 32, 1, 1], 1 << 20), 1);
    // More shared memory than on all devices needs an attribute of the function.
    assert_eq!(try_shape([1, 1, 1, 32, 1, 1], (48 << 10) + 4), 1);
    assert_eq!(cuFuncSetAttribute(nothing, 8, (227 << 10) + 1), 1);
    assert_eq!(cuFuncSetAttribute(nothing, 8, -1), 1);
    ok(cuFuncSetAttribute(nothing, 8, 100 << 10));
    assert_eq!(try_shape([1, 1, 1, 32, 1, 1], 100 << 10), 0);
    assert_eq!(try_shape([1, 1, 1, 32, 1, 1], (100 << 10) + 4), 1);
    let no_parameters = ptr::null();
    assert_eq!(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, 0, no_parameters, ptr::null_mut()), 1);
    ok(cuCtxSynchronize());
    assert_eq!(gpu.world.executed(), 3);
}

#[test]
fn only_images_load_and_the_log_has_the_reason() {
    let gpu = Gpu::lazy();
    let mut junk = b"// PTX or so".to_vec();
    junk.resize(76, 0);
    let mut damaged = kernels::image(&kernels::add(), Passing::Value);
    let end = damaged.len();
    damaged[30..end].fill(0xff);
    for image in [junk, damaged] {
        let mut log = [1u8; 100];
        let mut options: [c_int; 2] = [5, 6];
        let mut values = [log.as_mut_ptr().cast::<c_void>(), ptr::without_provenance_mut(100)];
        let mut module = 0;
        let code = cuModuleLoadDataEx(
            &mut module,
            image.as_ptr(),
            2,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        );
        assert_eq!(code, 200);
        let text = CStr::from_bytes_until_nul(&log).unwrap().to_str().unwrap();
        assert!(text.contains("simulator image"), "{text}");
    }
    assert_eq!(gpu.world.live().modules, 0);
    let image = kernels::image(&kernels::add(), Passing::Value);
    let module =
        get(|out| cuModuleLoadDataEx(out, image.as_ptr(), 0, ptr::null_mut(), ptr::null_mut()));
    assert_eq!(cuModuleGetFunction(&mut 0, module, c"add_1".as_ptr()), 500);
    assert_eq!(gpu.world.creates().modules, 1);
}

#[test]
fn unloading_a_module_invalidates_its_functions() {
    let gpu = Gpu::lazy();
    let image = kernels::image(&kernels::nothing(), Passing::Value);
    let module =
        get(|out| cuModuleLoadDataEx(out, image.as_ptr(), 0, ptr::null_mut(), ptr::null_mut()));
    let function = gpu.function_of(module, "nothing_0");
    ok(launch(function, &[0; 3], 0));
    ok(cuModuleUnload(module));
    assert_eq!(cuModuleUnload(module), 400);
    assert_eq!(launch(function, &[0; 3], 0), 400);
    // The launch that had not run yet runs after the unload.
    assert_eq!(cuCtxSynchronize(), 719);
    assert_eq!(gpu.world.reports()[0].kind, ReportKind::Unloaded);
}

#[test]
fn calls_and_creations_are_counted_per_world() {
    let gpu = Gpu::lazy();
    let nothing = gpu.function(&kernels::nothing(), Passing::Value);
    let before = gpu.world.creates();
    for _ in 0..7 {
        ok(launch(nothing, &[0; 3], 0));
    }
    assert_eq!(gpu.world.calls("cuLaunchKernel"), 7);
    assert_eq!(gpu.world.calls("cuGraphLaunch"), 0);
    assert_eq!(gpu.world.creates(), before);
    let all = gpu.world.all_calls();
    assert!(all.contains(&("cuLaunchKernel", 7)) && all.contains(&("cuModuleLoadDataEx", 1)));
    let kinds: Vec<OpKind> =
        gpu.world.trace().records().iter().map(|record| record.kind.clone()).collect();
    assert_eq!(kinds, vec![OpKind::Launch("nothing_0".into()); 7]);
}

#[test]
fn an_endless_launch_is_aborted() {
    let gpu = Gpu::lazy();
    gpu.world.set_fuel(100);
    let (add, x) = (gpu.add(), gpu.alloc(200));
    gpu.upload(x, &[0; 200], 0);
    ok(launch(add, &add_args(x, x, 100, 1), 0));
    ok(cuCtxSynchronize());
    ok(launch(add, &add_args(x, x, 101, 1), 0));
    assert_eq!(cuCtxSynchronize(), 719);
    assert_eq!(gpu.world.reports()[0].kind, ReportKind::Endless);
}

#[test]
fn a_race_within_a_kernel_shows_on_some_seed() {
    // Element i takes the value of element i - 1: in order, all elements become the first one.
    let run = |schedule, seed| {
        let gpu = Gpu::open(schedule, seed);
        let (add, x) = (gpu.add(), gpu.alloc(64));
        gpu.upload(x, &std::array::from_fn::<u32, 64, _>(|i| i as u32), 0);
        ok(launch(add, &add_args(x + 4, x, 63, 0), 0));
        gpu.download(x, 64, 0)
    };
    assert_eq!(run(Schedule::Lazy, 0), [0; 64]);
    let wrong = (0..100).filter(|&seed| run(Schedule::Random, seed) != [0; 64]).count();
    assert!((20..100).contains(&wrong), "{wrong}");
}
