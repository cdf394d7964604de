//! Broken drivers: missing functions are typed errors, and wrong functions fail the conformance suite.

use std::{
    ffi::{c_int, c_uint, c_void},
    path::Path,
};

use quadrants_conformance::{CASES, Subject};
use quadrants_driver_sim::{CudaVersion, Schedule, cuda_symbol, lease_world};
use quadrants_rhi_cuda::{
    driver_from_path, driver_from_symbols,
    rhi::{DriverErrorKind, Error},
    symbols,
};

use crate::support::driver_with;

extern "C" fn no_device(_flags: c_uint) -> c_int {
    100
}

extern "C" fn version_10_2(version: *mut c_int) -> c_int {
    // SAFETY: the caller passes a pointer to the number.
    unsafe { *version = 10_020 };
    0
}

extern "C" fn ignored() -> c_int {
    0
}

extern "C" fn ignored_handle(_: *mut c_void) -> c_int {
    0
}

extern "C" fn not_ready(_: *mut c_void) -> c_int {
    600
}

extern "C" fn ignored_wait(_stream: *mut c_void, _event: *mut c_void, _flags: c_uint) -> c_int {
    0
}

extern "C" fn ignored_fill(_: u64, _value: u8, _bytes: usize, _stream: *mut c_void) -> c_int {
    0
}

extern "C" fn ignored_word_fill(_: u64, _value: u32, _n: usize, _stream: *mut c_void) -> c_int {
    0
}

extern "C" fn ignored_copy(_: u64, _: u64, _bytes: usize, _stream: *mut c_void) -> c_int {
    0
}

#[test]
fn the_simulator_has_every_function() {
    if !crate::selected::is_selected("cuda") {
        return;
    }
    let missing: Vec<_> =
        symbols().iter().map(|s| s.name).filter(|name| cuda_symbol(name).is_none()).collect();
    assert!(
        missing.is_empty(),
        "the driver table has rows that the simulator lacks: {missing:?}; add them to a `facade!` list in \
         driver-sim/src/cuda/"
    );
}

/// The versions of optional rows and the simulator's list of later functions are the same.
#[test]
fn the_simulator_has_the_versions_of_the_rows() {
    if !crate::selected::is_selected("cuda") {
        return;
    }
    let number = |text: &str| {
        let (major, minor) = text.split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    };
    let oldest = CudaVersion::ALL[0].number();
    for row in symbols().iter().filter(|row| row.name != "quadrants_sim_version") {
        let since = row.optional_since.map(|text| {
            let since = text.split(", until ").next().and_then(number);
            since.unwrap_or_else(|| panic!("{text} of {} is not a version", row.name))
        });
        assert_eq!(
            CudaVersion::introduced(row.name),
            since.filter(|since| *since > oldest),
            "{}: the driver table and driver-sim/src/driver_version.rs differ",
            row.name
        );
    }
}

#[test]
fn missing_library_function_device_and_old_driver_are_distinct_errors() {
    if !crate::selected::is_selected("cuda") {
        return;
    }
    let error = driver_from_path(Path::new("/nonexistent/libcuda.so")).unwrap_err();
    assert!(
        matches!(&error, Error::LibraryNotFound { backend: "cuda", tried, .. } if tried.len() == 1)
    );
    assert!(error.to_string().contains("set QUADRANTS_CUDA_LIBRARY to"), "{error}");

    // SAFETY: nothing is called.
    let error = unsafe { driver_from_symbols("an empty library", |_| None) }.unwrap_err();
    assert!(matches!(error, Error::SymbolMissing { symbol: "cuInit", since: None, .. }));

    let old = driver_with(&[("cuDriverGetVersion", Some(version_10_2 as *const c_void))]);
    let error = old.unwrap_err();
    assert!(matches!(&error, Error::DriverTooOld { found, .. } if found == "10.2"), "{error}");

    let empty = driver_with(&[("cuInit", Some(no_device as *const c_void))]).unwrap();
    assert_eq!(empty.device_count().unwrap(), 0);
    let error = empty.open(0).unwrap_err();
    assert!(matches!(error, Error::NoDevice { backend: "cuda", .. }), "{error}");
    assert_eq!(error.driver_error().unwrap().kind, DriverErrorKind::NoDevice);
}

#[test]
fn an_ordinal_that_is_too_large_is_an_error() {
    if !crate::selected::is_selected("cuda") {
        return;
    }
    let driver = driver_with(&[]).unwrap();
    let count = driver.device_count().unwrap();
    let error = driver.open(count).unwrap_err();
    assert!(
        matches!(error, Error::DeviceOrdinal { count: c, ordinal: o, .. } if (o, c) == (count, count))
    );
}

#[test]
fn a_missing_optional_function_fails_only_its_operation() {
    if !crate::selected::is_selected("cuda") {
        return;
    }
    let world = lease_world();
    let lacks = [("cuGraphAddKernelNode_v2", None), ("cuGraphAddKernelNode", None)];
    let driver = driver_with(&lacks).unwrap();
    let device = driver.open(world.ordinal()).unwrap();
    assert!(!device.capabilities().graphs);
    // SAFETY: the function is missing, so no handle is used.
    let error = unsafe {
        device.add_kernel_node(
            Default::default(),
            &[],
            Default::default(),
            &quadrants_rhi_cuda::rhi::LaunchConfig::SERIAL,
            &[],
        )
    };
    let error = error.unwrap_err();
    assert!(matches!(error, Error::SymbolMissing { since: Some("10.0"), .. }), "{error}");
    device.synchronize().unwrap();
}

/// Each function is replaced by one that returns success and does nothing (or the opposite); the listed cases fail.
#[test]
fn the_suite_detects_functions_that_do_nothing() {
    if !crate::selected::is_selected("cuda") {
        return;
    }
    let lies: [(&str, *const c_void, &[&str]); 8] = [
        (
            "cuStreamWaitEvent",
            ignored_wait as *const c_void,
            &[
                "ordering::a_consumer_waits_for_its_producer",
                "ordering::a_wait_keeps_the_record_it_was_made_for",
                "ordering::a_wait_outlives_its_event",
                "ordering::two_streams_hand_a_buffer_back_and_forth",
                "ordering::a_fork_and_a_join_order_all_branches",
            ],
        ),
        (
            "cuStreamSynchronize",
            ignored_handle as *const c_void,
            &["memory::pinned_memory_is_zeroed_and_separate"],
        ),
        (
            "cuCtxSynchronize",
            ignored as *const c_void,
            &["streams::synchronizing_the_device_waits_for_all_streams"],
        ),
        (
            "cuEventSynchronize",
            ignored_handle as *const c_void,
            &["events::waiting_for_an_event_waits_for_its_work"],
        ),
        (
            "cuEventQuery",
            not_ready as *const c_void,
            &["events::an_event_never_recorded_is_complete"],
        ),
        (
            "cuMemsetD8Async",
            ignored_fill as *const c_void,
            &[
                "memory::fills_write_exactly_their_range",
                "memory::memory_allocated_in_stream_order_works",
            ],
        ),
        (
            "cuMemsetD32Async",
            ignored_word_fill as *const c_void,
            &[
                "memory::fills_write_exactly_their_range",
                "launches::launches_of_a_stream_run_in_order",
            ],
        ),
        (
            "cuMemcpyDtoDAsync_v2",
            ignored_copy as *const c_void,
            &["memory::a_copy_within_the_device_copies"],
        ),
    ];
    for (symbol, lie, noticed_by) in lies {
        for name in noticed_by {
            let case = CASES.iter().find(|case| case.name == *name).unwrap();
            let noticed = [(Schedule::Lazy, 0), (Schedule::Random, 1), (Schedule::Random, 2)]
                .into_iter()
                .any(|(schedule, seed)| {
                    let world = lease_world();
                    world.set_schedule(schedule);
                    world.set_seed(seed);
                    let driver = driver_with(&[(symbol, Some(lie))]).unwrap();
                    let device = driver.open(world.ordinal()).unwrap();
                    let add = Some(crate::simulated::add_kernel());
                    (case.run)(&Subject { device, add, keep: None }).is_err()
                });
            assert!(noticed, "{name} passes on a driver whose {symbol} lies");
        }
    }
}
