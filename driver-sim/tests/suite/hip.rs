//! The exported functions of libamdhip64, and their differences from libcuda.

use std::{
    env,
    ffi::{c_char, c_int, c_uint, c_void},
    process::Command,
    ptr, thread,
};

use quadrants_driver_sim::{self as sim, Schedule};
use quadrants_ir::abi::Passing;

use super::{
    kernels::{self, add_args},
    support::{functions, get, ok},
};

functions! { sim::hip_symbol:
    hipInit(flags: c_uint);
    hipSetDevice(ordinal: c_int);
    hipGetDevice(ordinal: *mut c_int);
    hipGetDevicePropertiesR0600(properties: *mut u8, ordinal: c_int);
    hipDeviceSynchronize();
    hipMalloc(memory: *mut usize, bytes: usize);
    hipFree(memory: usize);
    hipMallocAsync(memory: *mut usize, bytes: usize, stream: usize);
    hipFreeAsync(memory: usize, stream: usize);
    hipHostMalloc(memory: *mut *mut u32, bytes: usize, flags: c_uint);
    hipHostFree(memory: *mut u32);
    hipMemcpyHtoDAsync(dst: usize, src: *const u32, bytes: usize, stream: usize);
    hipMemcpyDtoHAsync(dst: *mut u32, src: usize, bytes: usize, stream: usize);
    hipMemsetD32Async(dst: usize, value: c_int, words: usize, stream: usize);
    hipStreamCreateWithPriority(stream: *mut usize, flags: c_uint, priority: c_int);
    hipStreamDestroy(stream: usize);
    hipStreamQuery(stream: usize);
    hipStreamWaitEvent(stream: usize, event: usize, flags: c_uint);
    hipEventCreateWithFlags(event: *mut usize, flags: c_uint);
    hipEventRecord(event: usize, stream: usize);
    hipModuleLoadData(module: *mut usize, image: *const u8);
    hipModuleGetFunction(function: *mut usize, module: usize, name: *const c_char);
    hipModuleLaunchKernel(function: usize, gx: c_uint, gy: c_uint, gz: c_uint, bx: c_uint, by: c_uint, bz: c_uint, shared: c_uint, stream: usize, parameters: *const *const u64, extra: *mut *mut c_void);
    hipGraphCreate(graph: *mut usize, flags: c_uint);
    hipGraphAddKernelNode(node: *mut usize, graph: usize, dependencies: *const usize, count: usize, parameters: *const NodeParams);
    hipGraphInstantiateWithFlags(exec: *mut usize, graph: usize, flags: u64);
    hipGraphLaunch(exec: usize, stream: usize);
}

/// `hipKernelNodeParams`.
#[repr(C)]
pub(crate) struct NodeParams {
    block: [c_uint; 3],
    extra: *mut *mut c_void,
    function: usize,
    grid: [c_uint; 3],
    parameters: *const *const u64,
    shared_bytes: c_uint,
}

fn open(schedule: Schedule, seed: u64) -> sim::WorldLease {
    ok(hipInit(0));
    let world = sim::lease_world();
    world.set_schedule(schedule);
    world.set_seed(seed);
    ok(hipSetDevice(world.ordinal() as c_int));
    world
}

fn launch(function: usize, block: c_uint, args: &[u64], stream: usize) -> c_int {
    let parameters = [args.as_ptr()];
    let extra = ptr::null_mut();
    hipModuleLaunchKernel(function, 2, 1, 1, block, 1, 1, 0, stream, parameters.as_ptr(), extra)
}

#[test]
fn launches_copies_and_events_work_through_hip() {
    if !crate::selected::is_selected("amdgpu") {
        return;
    }
    for edge in [true, false] {
        let _world = open(Schedule::Lazy, 0);
        let image = kernels::image(&kernels::add(), Passing::Value);
        let module = get(|out| hipModuleLoadData(out, image.as_ptr()));
        let function = get(|out| hipModuleGetFunction(out, module, c"add_0".as_ptr()));
        let s = get(|out| hipStreamCreateWithPriority(out, 1, 0));
        let t = get(|out| hipStreamCreateWithPriority(out, 1, 0));
        let event = get(|out| hipEventCreateWithFlags(out, 2));
        let x = get(|out| hipMalloc(out, 16));
        ok(hipMemcpyHtoDAsync(x, [1, 2, 3, 4].as_ptr(), 16, 0));
        ok(hipDeviceSynchronize());
        let args = add_args(x as u64, x as u64, 4, 10);
        assert_eq!(launch(function, 2048, &args, s), 9, "HIP has a code of its own for shapes");
        ok(launch(function, 64, &args, s));
        ok(hipEventRecord(event, s));
        if edge {
            ok(hipStreamWaitEvent(t, event, 0));
        }
        let mut host = [0u32; 4];
        ok(hipMemcpyDtoHAsync(host.as_mut_ptr(), x, 16, t));
        assert_eq!(host[0], if edge { 11 } else { 1 });
        assert_eq!(hipStreamQuery(s), if edge { 0 } else { 600 });
        ok(hipStreamDestroy(s));
        ok(hipFree(0));
        ok(hipFree(x));
        ok(hipHostFree(ptr::null_mut()));
        assert_eq!(hipFree(x), 1);
    }
}

#[test]
fn the_current_device_is_per_thread() {
    if !crate::selected::is_selected("amdgpu") {
        return;
    }
    let world = open(Schedule::Lazy, 0);
    let ordinal = world.ordinal() as c_int;
    assert_eq!(get(hipGetDevice), ordinal);
    thread::scope(|scope| {
        scope.spawn(|| {
            assert_eq!(get(hipGetDevice), 0);
            assert_eq!(hipSetDevice(-1), 101);
        });
    });
    let stream = get(|out| hipStreamCreateWithPriority(out, 1, 0));
    let other = sim::lease_world();
    ok(hipSetDevice(other.ordinal() as c_int));
    assert_eq!(hipMemsetD32Async(0, 0, 1, stream), 400, "a stream of another device");
    ok(hipStreamQuery(stream));
}

#[test]
fn the_properties_name_the_architecture_and_keep_to_the_struct() {
    if !crate::selected::is_selected("amdgpu") {
        return;
    }
    let world = open(Schedule::Lazy, 0);
    let mut properties = [0xeeu8; 4096];
    ok(hipGetDevicePropertiesR0600(properties.as_mut_ptr(), world.ordinal() as c_int));
    assert!(properties.starts_with(b"Simulated HIP device\0"));
    assert!(properties[1160..].starts_with(b"gfx90a:sramecc+:xnack-\0"));
    assert!(properties[1472..].iter().all(|&byte| byte == 0xee));
}

#[test]
fn pools_and_pinned_memory_work_through_hip() {
    if !crate::selected::is_selected("amdgpu") {
        return;
    }
    let world = open(Schedule::Lazy, 0);
    let s = get(|out| hipStreamCreateWithPriority(out, 1, 0));
    let x = get(|out| hipMallocAsync(out, 8, s));
    ok(hipMemsetD32Async(x, -1, 2, s));
    let mut pinned = ptr::null_mut();
    ok(hipHostMalloc(&mut pinned, 8, 0));
    ok(hipMemcpyDtoHAsync(pinned, x, 8, s));
    ok(hipFreeAsync(x, s));
    assert_eq!(get(|out| hipMallocAsync(out, 8, s)), x);
    ok(hipDeviceSynchronize());
    // SAFETY: pinned memory of two words, written by a copy that was waited for.
    assert_eq!(unsafe { *pinned.cast::<[u32; 2]>() }, [u32::MAX; 2]);
    ok(hipHostFree(pinned));
    assert_eq!(world.live().pinned, 0);
    assert!(world.reports().is_empty());
}

#[test]
fn graphs_use_the_struct_layout_of_hip() {
    if !crate::selected::is_selected("amdgpu") {
        return;
    }
    let world = open(Schedule::Lazy, 0);
    let image = kernels::image(&kernels::add(), Passing::Value);
    let module = get(|out| hipModuleLoadData(out, image.as_ptr()));
    let function = get(|out| hipModuleGetFunction(out, module, c"add_0".as_ptr()));
    let x = get(|out| hipMalloc(out, 4));
    ok(hipMemsetD32Async(x, 5, 1, 0));
    let graph = get(|out| hipGraphCreate(out, 0));
    let args = add_args(x as u64, x as u64, 1, 2);
    let words = [args.as_ptr()];
    let params = NodeParams {
        block: [64, 1, 1],
        extra: ptr::null_mut(),
        function,
        grid: [1, 1, 1],
        parameters: words.as_ptr(),
        shared_bytes: 0,
    };
    get(|out| hipGraphAddKernelNode(out, graph, ptr::null(), 0, &params));
    let exec = get(|out| hipGraphInstantiateWithFlags(out, graph, 0));
    ok(hipGraphLaunch(exec, 0));
    let mut host = [0];
    ok(hipMemcpyDtoHAsync(host.as_mut_ptr(), x, 4, 0));
    assert_eq!(host, [7]);
    assert_eq!(world.calls("hipGraphLaunch"), 1);
}

#[test]
fn versions_have_their_own_codes_for_shapes() {
    if !crate::selected::is_selected("amdgpu") {
        return;
    }
    use sim::RocmVersion::{V5_1, V5_7, V6_4, V7_0};
    type Launch = unsafe extern "C" fn(
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
    ) -> c_int;
    let _world = open(Schedule::Lazy, 0);
    let image = kernels::image(&kernels::add(), Passing::Value);
    let module = get(|out| hipModuleLoadData(out, image.as_ptr()));
    let function = get(|out| hipModuleGetFunction(out, module, c"add_0".as_ptr()));
    let x = get(|out| hipMalloc(out, 16));
    ok(hipMemsetD32Async(x, 0, 4, 0));
    let args = add_args(x as u64, x as u64, 4, 10);
    let parameters = [args.as_ptr()];
    for (release, too_many) in [(V5_1, 1), (V5_7, 1), (V6_4, 1), (V7_0, 9)] {
        let launch = release.symbol("hipModuleLaunchKernel").expect("every release launches");
        // SAFETY: the function has this signature.
        let launch: Launch = unsafe { std::mem::transmute(launch) };
        let launch = |grid, block| {
            let extra = ptr::null_mut();
            // SAFETY: the words are the function's argument block, and live until the call returns.
            unsafe { launch(function, grid, 1, 1, block, 1, 1, 0, 0, parameters.as_ptr(), extra) }
        };
        assert_eq!(
            [launch(1, 64), launch(1, 2048), launch(0, 64)],
            [0, too_many, 1],
            "{release:?}"
        );
    }
}

/// 2^32 threads on an axis are an error, in every version and also in graphs.
#[test]
fn an_axis_has_fewer_threads_than_32_bits_count() {
    if !crate::selected::is_selected("amdgpu") {
        return;
    }
    use sim::RocmVersion::{V5_1, V6_4, V7_0};
    type Launch = unsafe extern "C" fn(
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
    ) -> c_int;
    let _world = open(Schedule::Lazy, 0);
    let image = kernels::image(&kernels::nothing(), Passing::Value);
    let module = get(|out| hipModuleLoadData(out, image.as_ptr()));
    let function = get(|out| hipModuleGetFunction(out, module, c"nothing_0".as_ptr()));
    let args = [0u64; 3];
    let parameters = [args.as_ptr()];
    for release in [V5_1, V6_4, V7_0] {
        let symbol = release.symbol("hipModuleLaunchKernel").expect("every release has that");
        // SAFETY: the function has this signature.
        let launch: Launch = unsafe { std::mem::transmute(symbol) };
        let shaped = |grid: [c_uint; 3], block: [c_uint; 3]| {
            let ([gx, gy, gz], [bx, by, bz]) = (grid, block);
            let (parameters, extra) = (parameters.as_ptr(), ptr::null_mut());
            // SAFETY: the function takes this number of words.
            unsafe { launch(function, gx, gy, gz, bx, by, bz, 0, 0, parameters, extra) }
        };
        assert_eq!(shaped([(1 << 24) - 1, 1, 1], [256, 1, 1]), 0, "{release:?}");
        assert_eq!(shaped([1 << 24, 1, 1], [256, 1, 1]), 9, "{release:?}");
        assert_eq!(shaped([i32::MAX as u32, 1, 1], [4, 1, 1]), 9, "{release:?}");
        assert_eq!(shaped([1, 65_535, 1], [1, 1024, 1]), 0, "{release:?}");
    }
    let graph = get(|out| hipGraphCreate(out, 0));
    let mut node = NodeParams {
        block: [256, 1, 1],
        extra: ptr::null_mut(),
        function,
        grid: [1 << 24, 1, 1],
        parameters: parameters.as_ptr(),
        shared_bytes: 0,
    };
    let mut made = 0;
    assert_eq!(hipGraphAddKernelNode(&mut made, graph, ptr::null(), 0, &node), 9);
    node.grid[0] -= 1;
    ok(hipGraphAddKernelNode(&mut made, graph, ptr::null(), 0, &node));
}

#[test]
fn without_a_device_rocm_5_has_its_own_code() {
    if !crate::selected::is_selected("amdgpu") {
        return;
    }
    use sim::RocmVersion::{V5_1, V5_7, V6_4, V7_0};
    const DEVICES: &str = "QUADRANTS_SIM_DEVICES";
    if env::var(DEVICES).as_deref() != Ok("0") {
        // The number of devices depends on the environment.
        let test = "suite::hip::without_a_device_rocm_5_has_its_own_code";
        let mut again = Command::new(env::current_exe().unwrap());
        let output = again.args([test, "--exact"]).env(DEVICES, "0").output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
        return;
    }
    for (release, code) in [(V5_1, 101), (V5_7, 101), (V6_4, 100), (V7_0, 100)] {
        let init = release.symbol("hipInit").expect("every release has that");
        // SAFETY: the function has this signature, and every number is a valid argument.
        let answer = unsafe {
            let init: unsafe extern "C" fn(c_uint) -> c_int = std::mem::transmute(init);
            init(0)
        };
        assert_eq!(answer, code, "{release:?}");
    }
}
