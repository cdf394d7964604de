//! The exported functions of libroctracer64: pools, domains, ids and records.

use std::{
    ffi::{c_int, c_uint, c_void},
    ptr,
    sync::Mutex,
};

use quadrants_driver_sim::{self as sim};

use super::support::{functions, get, is_alone, ok};

functions! { sim::roctracer_symbol:
    roctracer_version_major();
    roctracer_version_minor();
    roctracer_open_pool_expl(properties: *const Properties, pool: *mut usize);
    roctracer_enable_domain_activity_expl(domain: u32, pool: usize);
    roctracer_disable_domain_activity(domain: u32);
    roctracer_flush_activity_expl(pool: usize);
    roctracer_next_record(record: usize, next: *mut usize);
    roctracer_activity_push_external_correlation_id(id: u64);
    roctracer_activity_pop_external_correlation_id(last: *mut u64);
}

functions! { sim::hip_symbol:
    hipInit(flags: c_uint);
    hipSetDevice(ordinal: c_int);
    hipMalloc(memory: *mut usize, bytes: usize);
    hipMemsetD8Async(dst: usize, value: u8, bytes: usize, stream: usize);
    hipDeviceSynchronize();
}

/// `roctracer_properties_t`.
#[repr(C)]
pub(crate) struct Properties {
    mode: u32,
    buffer_size: usize,
    allocator: [usize; 2],
    callback: Option<unsafe extern "C" fn(*const [u64; 8], *const [u64; 8], *mut c_void)>,
    argument: *mut c_void,
}

/// The buffers that were passed on: each has records of eight words.
static BUFFERS: Mutex<Vec<Vec<[u64; 8]>>> = Mutex::new(Vec::new());

unsafe extern "C" fn keep(begin: *const [u64; 8], end: *const [u64; 8], argument: *mut c_void) {
    assert_eq!(argument.addr(), 77);
    // SAFETY: the records are between the addresses.
    let records = unsafe { std::slice::from_raw_parts(begin, end.offset_from_unsigned(begin)) };
    BUFFERS.lock().unwrap().push(records.to_vec());
}

/// The domain, the operation and the correlation id of a record.
fn head(record: &[u64; 8]) -> (u64, u64, u64) {
    (record[0] & 0xffff_ffff, record[1] & 0xffff_ffff, record[2])
}

// One test, because pools are of the process.
#[test]
fn calls_and_activities_are_recorded_with_ids() {
    let test = "suite::roctracer::calls_and_activities_are_recorded_with_ids";
    if !crate::selected::is_selected("amdgpu") || !is_alone(test) {
        return;
    }
    let argument = ptr::without_provenance_mut(77);
    let properties = |callback, records: usize| Properties {
        mode: 0,
        buffer_size: 64 * records,
        allocator: [0; 2],
        callback,
        argument,
    };
    assert_eq!((roctracer_version_major(), roctracer_version_minor()), (4, 1));
    assert_eq!(roctracer_enable_domain_activity_expl(2, 0), -4, "there is no default pool");
    assert_eq!(roctracer_flush_activity_expl(0), -4);
    assert_eq!(roctracer_open_pool_expl(&properties(None, 4), ptr::null_mut()), -3);
    ok(roctracer_open_pool_expl(&properties(Some(keep), 4), ptr::null_mut()));
    let again = properties(Some(keep), 4);
    assert_eq!(roctracer_open_pool_expl(&again, ptr::null_mut()), -5, "another profiler");
    let own = get(|out| roctracer_open_pool_expl(&properties(Some(keep), 4), out));
    assert_ne!(own, 0);
    for domain in [0, 5, 99] {
        assert_eq!(roctracer_enable_domain_activity_expl(domain, 0), -2, "{domain}");
    }
    assert_eq!(roctracer_enable_domain_activity_expl(2, 1 << 20), -3, "no such pool");
    assert_eq!(get(|out| roctracer_next_record(1024, out)), 1088);
    let mut last = 9;
    assert_eq!((roctracer_activity_pop_external_correlation_id(&mut last), last), (-7, 0));

    ok(hipInit(0));
    let world = sim::lease_world();
    ok(hipSetDevice(world.ordinal() as c_int));
    let memory = get(|out| hipMalloc(out, 1 << 10));
    let fill = || ok(hipMemsetD8Async(memory, 1, 1 << 10, 0));
    fill();
    for domain in [2, 3] {
        ok(roctracer_enable_domain_activity_expl(domain, 0));
    }
    ok(roctracer_activity_push_external_correlation_id(40));
    ok(roctracer_activity_push_external_correlation_id(50));
    fill();
    ok(roctracer_activity_pop_external_correlation_id(&mut last));
    assert_eq!(last, 50);
    ok(roctracer_activity_pop_external_correlation_id(ptr::null_mut()));
    assert!(BUFFERS.lock().unwrap().is_empty(), "nothing is full");
    ok(roctracer_flush_activity_expl(0));
    // The fill before it was recorded has not run. This one has not run either, so it is recorded as a call only.
    let taken = std::mem::take(&mut *BUFFERS.lock().unwrap()).concat();
    let [id, call] = taken[..] else { panic!("{taken:?}") };
    let correlation = id[2];
    assert_eq!((head(&id), head(&call)), ((5, 1, correlation), (3, 0, correlation)));
    assert_eq!(id[5], 50, "the innermost id");

    // A call without an id, and the record of the fill, which is complete now.
    ok(hipDeviceSynchronize());
    ok(roctracer_flush_activity_expl(0));
    let taken = std::mem::take(&mut *BUFFERS.lock().unwrap()).concat();
    let [fill_record, wait] = taken[..] else { panic!("{taken:?}") };
    assert_eq!(head(&fill_record), (2, 1, correlation));
    assert_eq!(fill_record[4] - fill_record[3], 2000 + 64, "16 bytes per nanosecond");
    assert_eq!((head(&wait).0, wait[2] > correlation), (3, true));

    // A pool of four records is passed on when it is full.
    (0..5).for_each(|_| fill());
    let sizes: Vec<usize> = BUFFERS.lock().unwrap().iter().map(Vec::len).collect();
    assert_eq!(sizes, [4]);
    for domain in [2, 3] {
        ok(roctracer_disable_domain_activity(domain));
    }
    ok(roctracer_flush_activity_expl(0));
    BUFFERS.lock().unwrap().clear();
    fill();
    ok(hipDeviceSynchronize());
    ok(roctracer_flush_activity_expl(0));
    assert!(BUFFERS.lock().unwrap().is_empty(), "nothing is recorded any more");
}
