//! CUPTI on a device, if the machine has one. The bytes of its records, which `records/tests.rs` reads, are printed.

use std::{ptr, sync::Arc};

use quadrants_rhi::{
    Activities, Activity, Device, EventOptions, Image, LaunchConfig, StreamHandle,
};

use super::{CUPTI, Subscriber, ignore, open};

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
    let Some(Ok(Some(cupti))) = CUPTI.get() else { panic!("it is open") };
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
    let names = [(); 2].map(|()| open().ok().flatten().map(|cupti| cupti.name().to_owned()));
    assert_eq!(names[0], names[1]);
}
