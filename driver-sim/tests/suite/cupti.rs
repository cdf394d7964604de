//! The exported functions of libcupti: the subscriber, kinds, ids, buffers and records.

use std::{
    ffi::c_int,
    ptr,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use quadrants_driver_sim as sim;

use super::support::*;

type Requested = unsafe extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
type Completed = unsafe extern "C" fn(usize, u32, *mut u8, usize, usize);

functions! { sim::cupti_symbol:
    cuptiGetVersion(version: *mut u32);
    cuptiSubscribe(subscriber: *mut usize, callback: usize, data: usize);
    cuptiUnsubscribe(subscriber: usize);
    cuptiActivityRegisterCallbacks(requested: Option<Requested>, completed: Option<Completed>);
    cuptiActivityEnable(kind: u32);
    cuptiActivityDisable(kind: u32);
    cuptiActivityFlushAll(flags: u32);
    cuptiActivityGetNextRecord(buffer: *mut u8, valid: usize, record: *mut *mut u8);
    cuptiActivityGetNumDroppedRecords(context: usize, stream: u32, dropped: *mut usize);
    cuptiActivityPushExternalCorrelationId(kind: u32, id: u64);
    cuptiActivityPopExternalCorrelationId(kind: u32, last: *mut u64);
}

/// The size of the next buffer that the program gives, or 0 for none.
static SIZE: AtomicUsize = AtomicUsize::new(0);
/// The records of each buffer that came back.
static BUFFERS: Mutex<Vec<Vec<Vec<u8>>>> = Mutex::new(Vec::new());

unsafe extern "C" fn requested(buffer: *mut *mut u8, size: *mut usize, most: *mut usize) {
    let bytes = vec![0u64; SIZE.load(Relaxed) / 8].leak();
    // SAFETY: the caller passes places for the results.
    unsafe {
        *buffer = if bytes.is_empty() { ptr::null_mut() } else { bytes.as_mut_ptr().cast() };
        (*size, *most) = (8 * bytes.len(), 0);
    }
}

unsafe extern "C" fn completed(_: usize, _: u32, buffer: *mut u8, _: usize, valid: usize) {
    let mut record = ptr::null_mut();
    let mut starts = Vec::new();
    while cuptiActivityGetNextRecord(buffer, valid, &mut record) == 0 {
        starts.push(record.addr() - buffer.addr());
    }
    starts.push(valid);
    // SAFETY: the buffer has this many bytes.
    let bytes = unsafe { std::slice::from_raw_parts(buffer, valid) };
    let records = starts.windows(2).map(|pair| bytes[pair[0]..pair[1]].to_vec()).collect();
    BUFFERS.lock().unwrap().push(records);
}

fn taken() -> Vec<Vec<u8>> {
    ok(cuptiActivityFlushAll(0));
    std::mem::take(&mut *BUFFERS.lock().unwrap()).concat()
}

fn dropped() -> usize {
    get(|out| cuptiActivityGetNumDroppedRecords(0, 0, out))
}

fn half(record: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(record[at..at + 4].try_into().unwrap())
}

fn word(record: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(record[at..at + 8].try_into().unwrap())
}

/// The kinds and sizes of records.
fn kinds(records: &[Vec<u8>]) -> Vec<(u32, usize)> {
    records.iter().map(|record| (half(record, 0), record.len())).collect()
}

// One test, because CUPTI is of the process.
#[test]
fn calls_and_activities_are_recorded_with_ids() {
    let test = "suite::cupti::calls_and_activities_are_recorded_with_ids";
    if !crate::selected::is_selected("cuda") || !is_alone(test) {
        return;
    }
    const KINDS: [u32; 5] = [1, 2, 4, 10, 39];
    assert_eq!(get(cuptiGetVersion), 28);
    let subscriber = get(|out| cuptiSubscribe(out, 0, 0));
    assert_eq!(cuptiSubscribe(&mut 0, 0, 0), 39, "another profiler");
    ok(cuptiUnsubscribe(subscriber));
    assert_eq!(cuptiUnsubscribe(subscriber), 1);
    ok(cuptiSubscribe(&mut 0, 0, 0));
    assert_eq!(cuptiActivityRegisterCallbacks(Some(requested), None), 1);
    ok(cuptiActivityRegisterCallbacks(Some(requested), Some(completed)));
    assert_eq!((cuptiActivityEnable(3), cuptiActivityDisable(60)), (21, 21));
    assert_eq!(cuptiActivityPopExternalCorrelationId(3, &mut 0), 18);

    let gpu = Gpu::lazy();
    let (memory, stream) = (gpu.alloc(1 << 8), gpu.stream());
    let fill = || ok(cuMemsetD8Async(memory, 1, 1 << 10, stream));
    KINDS.into_iter().for_each(|kind| ok(cuptiActivityEnable(kind)));
    SIZE.store(4096, Relaxed);
    for (kind, id) in [(3, 30), (5, 50), (3, 31)] {
        ok(cuptiActivityPushExternalCorrelationId(kind, id));
    }
    fill();
    for (kind, id) in [(3, 31), (3, 30), (5, 50)] {
        assert_eq!(get(|out| cuptiActivityPopExternalCorrelationId(kind, out)), id);
    }
    // The fill has not run. The call has the last id of each kind.
    let records = taken();
    assert_eq!(kinds(&records), [(39, 24), (39, 24), (4, 40)]);
    let call = half(&records[2], 32);
    let ids: Vec<_> = records[..2].iter().map(|r| (half(r, 4), word(r, 8), half(r, 16))).collect();
    assert_eq!(ids, [(3, 31, call), (5, 50, call)]);
    ok(cuCtxSynchronize());
    let records = taken();
    assert_eq!(kinds(&records), [(2, 88), (4, 40)]);
    assert_eq!((half(&records[0], 44), word(&records[0], 64)), (call, 0));
    assert_eq!(word(&records[0], 24) - word(&records[0], 16), 2000 + 64);
    assert_eq!(dropped(), 0);

    // Two records of calls fit, and then a new buffer is needed. Without one, records are dropped and counted.
    SIZE.store(96, Relaxed);
    (0..5).for_each(|_| fill());
    let sizes: Vec<usize> = BUFFERS.lock().unwrap().iter().map(Vec::len).collect();
    assert_eq!((sizes, taken().len(), dropped()), (vec![2, 2], 5, 0));
    SIZE.store(0, Relaxed);
    (0..3).for_each(|_| fill());
    assert_eq!((taken().len(), dropped(), dropped()), (0, 3, 0));

    KINDS.into_iter().for_each(|kind| ok(cuptiActivityDisable(kind)));
    SIZE.store(4096, Relaxed);
    ok(cuCtxSynchronize());
    assert_eq!((taken().len(), dropped()), (0, 0), "nothing is recorded any more");
}
