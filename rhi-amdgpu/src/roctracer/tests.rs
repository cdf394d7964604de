//! roctracer on the simulator, and with functions that behave in other ways.

use std::{collections::HashSet, ffi::c_int, sync::Arc, time::Duration};

use quadrants_driver_sim::{hip_symbol, lease_world, roctracer_symbol, roctracer_symbols};
use quadrants_rhi::{Device, EventOptions, StreamHandle, activity::ActivityRecord};

use super::*;

/// roctracer of the simulator, with some functions replaced or removed.
fn load(replaced: &[(&str, Option<*const c_void>)]) -> Result<Arc<Roctracer>> {
    let resolve = |symbol: &str| {
        let replacement = replaced.iter().find(|(name, _)| *name == symbol);
        replacement.map_or_else(|| roctracer_symbol(symbol), |(_, function)| *function)
    };
    // SAFETY: the simulator's functions have the signatures of roctracer's, and so have the replacements.
    unsafe { Roctracer::load("the simulator", &resolve) }
}

fn call(activities: &dyn Activities, number: u64, enqueue: impl FnOnce() -> Result<()>) {
    activities.enter(number);
    enqueue().expect("it is enqueued");
    activities.leave();
}

#[test]
fn the_simulator_records_copies_fills_and_nodes_for_one_profiler() {
    let world = lease_world();
    // SAFETY: the functions of the simulator have the signatures of the HIP runtime.
    let driver = unsafe { crate::driver_from_symbols("the simulator", hip_symbol) };
    let device = driver.expect("all functions").open(world.ordinal()).expect("a device");
    let [roctracer, other] = [(); 2].map(|()| load(&[]).expect("all functions"));
    assert_eq!(roctracer.name(), "roctracer 4.1");
    roctracer.begin().expect("no other profiler");
    let refused = other.begin().expect_err("another profiler").to_string();
    assert!(refused.contains("another profiler is attached"), "{refused}");
    assert!(refused.contains("roctracer_open_pool_expl"), "{refused}");

    let (stream, bytes) = (StreamHandle::DEFAULT, vec![1u8; 1 << 20]);
    // SAFETY: all handles and the memory are of this device and live until the end of the test, which waits.
    let by_event = unsafe {
        let memory = device.alloc(1 << 20).expect("memory");
        let graph = device.create_graph().expect("a graph");
        let first = device.add_copy_node(graph, &[], memory.offset(4096), memory, 64);
        let first = [first.expect("a node")];
        device.add_copy_node(graph, &first, memory, memory.offset(8192), 4096).expect("a node");
        let exec = device.instantiate_graph(graph).expect("an executable");
        let events = [(); 2].map(|()| device.create_event(EventOptions { timing: true }));
        let events = events.map(|event| event.expect("an event"));
        let fill = |bytes| device.fill_u8_async(memory, 0, bytes, stream);
        fill(64).expect("it belongs to no call");
        call(&*roctracer, 1, || fill(1 << 20));
        device.event_record(events[0], stream).expect("recorded");
        call(&*roctracer, 2, || {
            device.copy_htod_async(memory, bytes.as_ptr(), bytes.len(), stream)?;
            // The runtime records it as a barrier, which is no work.
            device.event_record(events[1], stream)
        });
        call(&*roctracer, 3, || device.launch_graph(exec, stream));
        call(&*roctracer, 4, || device.launch_graph(exec, stream));
        device.synchronize().expect("it works");
        let between = device.event_elapsed_ms(events[0], events[1]).expect("a time");
        device.destroy_graph_exec(exec).expect("destroyed");
        device.destroy_graph(graph).expect("destroyed");
        for event in events {
            device.destroy_event(event).expect("destroyed");
        }
        device.free(memory).expect("freed");
        (1e6 * between).round() as u64
    };
    let mut taken = roctracer.take(&|call| call < 4);
    taken.sort_by_key(|activity| (activity.call, activity.start));
    let found: Vec<(u64, u64)> = taken.iter().map(|a| (a.call, a.end - a.start)).collect();
    // 2 µs and 16 bytes per nanosecond, as in `driver-sim/src/op.rs`.
    let (large, small, middle) = (2000 + (1 << 16), 2004, 2256);
    assert_eq!(found, [(1, large), (2, large), (3, small), (3, middle)]);
    assert!(taken.iter().all(|activity| activity.node == 0), "{taken:?}");
    assert!(taken.windows(2).all(|pair| pair[0].end <= pair[1].start), "{taken:?}");
    // Between the events are the copy and a record.
    assert_eq!(by_event, large + 100);
    assert_eq!(roctracer.take(&|call| call < 4), []);
    assert_eq!(roctracer.take(&|_| true).len(), 2, "those of the last call");

    roctracer.end();
    // After the end, nothing is recorded; then it begins again in the pool that it has.
    record_fill(&*roctracer, &*device, 5);
    assert_eq!(roctracer.take(&|_| true), []);
    roctracer.begin().expect("it has the pool");
    record_fill(&*roctracer, &*device, 6);
    assert_eq!(roctracer.take(&|call| call == 6).len(), 1);
    assert_eq!(roctracer.take_lost(), 0);
    roctracer.end();
}

fn record_fill(activities: &dyn Activities, device: &dyn Device, number: u64) {
    let memory = device.alloc(64).expect("memory");
    // SAFETY: the memory has the bytes, and is freed after the fill.
    unsafe {
        call(activities, number, || device.fill_u8_async(memory, 1, 64, StreamHandle::DEFAULT));
        device.synchronize().expect("it works");
        device.free(memory).expect("freed");
    }
}

#[test]
fn a_library_without_a_function_is_refused_with_its_name() {
    let simulated: HashSet<&str> = roctracer_symbols().collect();
    for row in Table::SYMBOLS {
        assert!(simulated.contains(row.name), "the simulator lacks {}", row.name);
        let loaded = load(&[(row.name, None)]);
        match row.optional_since {
            Some(_) => assert!(loaded.is_ok()),
            None => match loaded {
                Err(Error::SymbolMissing { symbol, .. }) => assert_eq!(symbol, row.name),
                other => panic!("{}: {other:?}", row.name),
            },
        }
    }
}

#[test]
fn another_version_is_refused_with_its_number() {
    extern "C" fn five() -> c_int {
        5
    }
    let loaded = load(&[("roctracer_version_major", Some(five as *const c_void))]);
    let error = loaded.expect_err("another version");
    assert!(matches!(error, Error::Unsupported { .. }), "{error:?}");
    assert!(error.to_string().contains("version 5.1, and version 4 is needed"), "{error}");
}

/// A kernel's record of 64 bytes.
fn kernel(correlation: u64) -> [u64; 8] {
    [u64::from(DOMAIN_HIP_OPS), 0, correlation, 10, 20, 0, 0, 0]
}

/// The number of activities that are read from a buffer, and that of lost records.
fn read(roctracer: &Roctracer, words: &[u64], bytes: usize) -> (usize, u64) {
    assert!(bytes <= size_of_val(words));
    // SAFETY: the words have these bytes.
    unsafe { roctracer.read(words.as_ptr().cast(), bytes) };
    let calls = (1..9).map(|id| ActivityRecord::Call { correlation: id, call: id });
    roctracer.store.add(calls);
    (roctracer.store.take(&|_| true).len(), roctracer.take_lost())
}

#[test]
fn damaged_buffers_are_read_up_to_the_damage() {
    unsafe extern "C" fn backwards(record: usize, next: *mut usize) -> c_int {
        // SAFETY: the caller passes a place for the result.
        unsafe { *next = record - 64 };
        0
    }
    unsafe extern "C" fn far(record: usize, next: *mut usize) -> c_int {
        // SAFETY: as above.
        unsafe { *next = record + (1 << 30) };
        0
    }
    extern "C" fn fails(_: usize, _: *mut usize) -> c_int {
        -3
    }
    let words: Vec<u64> = (1..5).flat_map(kernel).collect();
    let next = |function| load(&[("roctracer_next_record", function)]).expect("it is optional");
    // As headers before version 4.1 compute it.
    for roctracer in [load(&[]).expect("all functions"), next(None)] {
        assert_eq!(read(&roctracer, &words, 256), (4, 0));
        assert_eq!(read(&roctracer, &words, 0), (0, 0));
        for (bytes, complete) in [(1, 0), (63, 0), (65, 1), (200, 3), (255, 3)] {
            assert_eq!(read(&roctracer, &words, bytes), (complete, 1), "{bytes} bytes");
        }
    }
    let [backwards, far, fails] =
        [backwards as *const c_void, far as *const c_void, fails as *const c_void]
            .map(|function| next(Some(function)));
    assert_eq!(read(&backwards, &words, 256), (1, 1));
    assert_eq!(read(&far, &words, 256), (1, 1));
    assert_eq!(read(&fails, &words, 256), (1, 0), "roctracer says that it was the last one");
}

#[test]
fn records_that_come_late_are_awaited() {
    let roctracer = load(&[]).expect("all functions");
    let activity = Activity { call: 0, node: 0, start: 10, end: 20 };
    let late = |correlation| ActivityRecord::Activity { correlation, activity };
    roctracer.store.add((1..4).map(|id| ActivityRecord::Call { correlation: id, call: id }));
    let taken = thread::scope(|scope| {
        scope.spawn(|| {
            for id in 1..3 {
                thread::sleep(Duration::from_millis(2));
                roctracer.store.add([late(id)]);
            }
        });
        // The call 3 has none, and is not awaited forever.
        roctracer.take(&|_| true)
    });
    assert_eq!(taken.len(), 2);
}

#[test]
fn statuses_have_the_names_of_the_header() {
    let roctracer = load(&[]).expect("all functions");
    // SAFETY: the domain does not exist, which the function checks.
    let error = unsafe { roctracer.table.disable(77) }.expect_err("no domain").to_string();
    assert!(error.contains("ROCTRACER_STATUS_ERROR_INVALID_DOMAIN_ID"), "{error}");
    let mut last = 9;
    // SAFETY: it writes the id; there is none.
    let error = unsafe { roctracer.table.pop_id(&mut last) }.expect_err("no id").to_string();
    assert!(error.contains("ROCTRACER_STATUS_ERROR_MISMATCHED_EXTERNAL_CORRELATION_ID"), "{error}");
    assert_eq!(last, 0);
}
