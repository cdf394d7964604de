//! CUPTI on a device, if the machine has one; the bytes of its records, which `records/tests.rs` reads, are printed.
//! And the simulator's, with functions that behave in other ways.

use std::{collections::HashSet, ffi::c_int};

use quadrants_driver_sim::{cupti_symbol, cupti_symbols};
use quadrants_rhi::{
    Device, EventOptions, Image, LaunchConfig, StreamHandle, activity::ActivityRecord,
};

use super::*;

/// The records of a run, by their kinds.
pub(super) static SEEN: std::sync::Mutex<Vec<Vec<u8>>> = std::sync::Mutex::new(Vec::new());

/// Counts to a number that is its argument.
const COUNT: &str = "
.version 6.5
.target sm_75
.address_size 64

.visible .entry count(.param .align 8 .b8 block[16])
{
    .reg .pred %more;
    .reg .b64 %address, %at, %most;

    ld.param.u64 %address, [block];
    ld.param.u64 %most, [block+8];
    mov.u64 %at, 0;
again:
    cvta.to.global.u64 %address, %address;
    st.volatile.global.u64 [%address], %at;
    add.u64 %at, %at, 1;
    setp.lt.u64 %more, %at, %most;
    @%more bra again;
    ret;
}
";

#[test]
fn a_device_records_kernels_copies_fills_and_nodes() {
    let Ok(device) = crate::driver().and_then(|driver| driver.open(0)) else { return };
    let device: Arc<dyn Device> = device;
    if device.info().simulated {
        return assert!(device.activities().is_ok_and(|none| none.is_none()));
    }
    let activities = match device.activities() {
        Ok(Some(activities)) => activities,
        other => return println!("no CUPTI: {other:?}"),
    };
    println!("{}", activities.name());
    check_conflict(&*activities);
    activities.begin().expect("no other profiler");
    let stream = StreamHandle::DEFAULT;
    let config = LaunchConfig::SERIAL;
    let call = |number: u64, enqueue: &dyn Fn() -> quadrants_rhi::Result<()>| {
        activities.enter(number);
        enqueue().expect("it is enqueued");
        activities.leave();
    };
    let bytes = vec![1u8; 1 << 20];
    // SAFETY: all handles and the memory are of this device and live until the end of the test, which waits.
    let by_event = unsafe {
        let memory = device.alloc(1 << 20).expect("memory");
        let module = device.load_module(&Image::Binary(COUNT.as_bytes())).expect("a module");
        let count = device.function(module, "count").expect("a function");
        let args = |most: u64| [memory.raw(), most];
        let graph = device.create_graph().expect("a graph");
        let first = device.add_kernel_node(graph, &[], count, &config, &args(100)).expect("a node");
        let copied = device.add_copy_node(graph, &[first], memory.offset(1024), memory, 512);
        let copied = [copied.expect("a node")];
        device.add_kernel_node(graph, &copied, count, &config, &args(4000)).expect("a node");
        let exec = device.instantiate_graph(graph).expect("an executable");
        device.launch(count, &config, &args(1), stream).expect("code is loaded");
        let events = [(); 2].map(|()| device.create_event(EventOptions { timing: true }));
        let events = events.map(|event| event.expect("an event"));
        device.synchronize().expect("it works");
        call(1, &|| device.fill_u8_async(memory, 0, 1 << 20, stream));
        call(2, &|| device.copy_htod_async(memory, bytes.as_ptr(), bytes.len(), stream));
        device.event_record(events[0], stream).expect("recorded");
        call(3, &|| device.launch(count, &config, &args(20_000), stream));
        device.event_record(events[1], stream).expect("recorded");
        call(4, &|| device.launch_graph(exec, stream));
        call(5, &|| device.launch_graph(exec, stream));
        device.synchronize().expect("it works");
        1e6 * f64::from(device.event_elapsed_ms(events[0], events[1]).expect("a time"))
    };
    let mut taken = activities.take(&|call| call < 6);
    activities.end();
    taken.sort_by_key(|activity| (activity.call, activity.node));
    for activity in &taken {
        println!("{activity:?}: {} ns", activity.end - activity.start);
    }
    println!("the kernel by events: {by_event} ns");
    for record in SEEN.lock().expect("a lock").iter() {
        println!("record {record:?}");
    }
    let of = |call: u64| -> Vec<Activity> {
        taken.iter().copied().filter(|activity| activity.call == call).collect()
    };
    assert_eq!([1, 2, 3, 4, 5].map(|call| of(call).len()), [1, 1, 1, 3, 3], "{taken:?}");
    let time = |activity: &Activity| (activity.end - activity.start) as f64;
    let kernel = time(&of(3)[0]);
    assert!(kernel < by_event && by_event < kernel + 20_000.0, "{kernel} {by_event}");
    for call in [4, 5] {
        let nodes = of(call);
        assert!(nodes.iter().all(|node| node.node != 0), "{nodes:?}");
        // In the order in which they were added, which is that of their dependencies.
        assert!(nodes[0].end <= nodes[1].start && nodes[1].end <= nodes[2].start, "{nodes:?}");
        assert!(time(&nodes[2]) > 10.0 * time(&nodes[0]), "{nodes:?}");
    }
}

/// Another profiler is an error with a reason, and afterwards recording works.
fn check_conflict(activities: &dyn Activities) {
    let Some(Ok(cupti)) = CUPTI.get() else { panic!("it is open") };
    let mut other: Subscriber = ptr::null_mut();
    // SAFETY: as in `Cupti::start`.
    unsafe { cupti.table.subscribe(&mut other, ignore, ptr::null_mut()) }.expect("the first");
    let error = activities.begin().expect_err("another profiler").to_string();
    println!("with another profiler: {error}");
    assert!(error.contains("another profiler is attached"), "{error}");
    // SAFETY: the subscriber of above.
    unsafe { cupti.table.unsubscribe(other) }.expect("it is subscribed");
}

#[test]
fn it_is_opened_once() {
    let names = [(); 2].map(|()| open(false).ok().flatten().map(|cupti| cupti.name().to_owned()));
    assert_eq!(names[0], names[1]);
}

/// CUPTI of the simulator, with some functions replaced or removed.
fn load(replaced: &[(&str, Option<*const c_void>)]) -> Result<Cupti> {
    let resolve = |symbol: &str| {
        let replacement = replaced.iter().find(|(name, _)| *name == symbol);
        replacement.map_or_else(|| cupti_symbol(symbol), |(_, function)| *function)
    };
    // SAFETY: the simulator's functions have the signatures of CUPTI's, and so have the replacements.
    unsafe { Cupti::load("the simulator", &resolve) }
}

#[test]
fn a_library_without_a_function_is_refused_with_its_name() {
    let simulated: HashSet<&str> = cupti_symbols().collect();
    for row in Table::SYMBOLS {
        assert!(simulated.contains(row.name), "the simulator lacks {}", row.name);
        match load(&[(row.name, None)]) {
            Err(Error::SymbolMissing { symbol, .. }) => assert_eq!(symbol, row.name),
            other => panic!("{}: {other:?}", row.name),
        }
    }
}

#[test]
fn the_versions_of_cuda_12_and_13_are_accepted() {
    unsafe extern "C" fn cuda_11(version: *mut u32) -> c_int {
        // SAFETY: the caller passes a place for the result.
        unsafe { *version = 17 };
        0
    }
    unsafe extern "C" fn cuda_12(version: *mut u32) -> c_int {
        // SAFETY: as above.
        unsafe { *version = 18 };
        0
    }
    unsafe extern "C" fn cuda_13(version: *mut u32) -> c_int {
        // SAFETY: as above.
        unsafe { *version = 130_001 };
        0
    }
    let version = |function: unsafe extern "C" fn(*mut u32) -> c_int| {
        load(&[("cuptiGetVersion", Some(function as *const c_void))])
    };
    assert_eq!(version(cuda_12).expect("accepted").name, "CUPTI, version 18");
    assert_eq!(version(cuda_13).expect("accepted").name, "CUPTI 13.0");
    let error = version(cuda_11).expect_err("too old");
    assert!(matches!(error, Error::DriverTooOld { .. }), "{error:?}");
    assert!(error.to_string().contains("version 17"), "{error}");
    assert!(error.to_string().contains("that of CUDA 12.0"), "{error}");
}

/// The number of activities that are read from a buffer of four kernels, and that of lost records.
fn read(cupti: &Cupti, bytes: usize) -> (usize, u64) {
    let mut words = [0u64; 4 * 26];
    for (number, record) in words.chunks_mut(26).enumerate() {
        record[0] = u64::from(records::KIND_KERNEL);
        (record[2], record[3]) = (10, 20);
        record[11] = (number as u64 + 1) << 32;
    }
    assert!(bytes <= size_of_val(&words));
    // SAFETY: the words have these bytes.
    unsafe { cupti.read(words.as_mut_ptr().cast(), bytes) };
    cupti.store.add((1..5).map(|id| ActivityRecord::Call { correlation: id, call: id }));
    (cupti.store.take(&|_| true).len(), cupti.take_lost())
}

#[test]
fn damaged_buffers_are_read_up_to_the_damage() {
    unsafe extern "C" fn backwards(buffer: usize, _: usize, record: *mut usize) -> c_int {
        // SAFETY: the caller passes a place for the result, which has the last one.
        unsafe { *record = if *record == 0 { buffer } else { *record - 208 } };
        0
    }
    unsafe extern "C" fn far(buffer: usize, _: usize, record: *mut usize) -> c_int {
        // SAFETY: as above.
        unsafe { *record = if *record == 0 { buffer } else { buffer + (1 << 30) } };
        0
    }
    let cupti = load(&[]).expect("all functions");
    assert_eq!((read(&cupti, 832), read(&cupti, 0)), ((4, 0), (0, 0)));
    // The bytes that are missing are behind the fields that are read, or before.
    assert_eq!((read(&cupti, 831), read(&cupti, 626)), ((4, 0), (3, 0)));
    for function in [backwards as *const c_void, far as *const c_void] {
        let cupti = load(&[("cuptiActivityGetNextRecord", Some(function))]);
        assert_eq!(read(&cupti.expect("all functions"), 832), (1, 1));
    }
}
