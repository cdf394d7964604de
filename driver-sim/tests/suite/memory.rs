//! Memory: allocation, initialization, frees, and when copies access the host.

use quadrants_driver_sim::{InvalidAccess, ReportKind, Schedule};

use super::support::*;

#[test]
fn fresh_memory_is_poison_and_reading_it_is_reported() {
    let gpu = Gpu::lazy();
    let x = gpu.alloc(4);
    gpu.upload(x + 4, &[1, 2], 0);
    assert_eq!(gpu.download(x + 4, 2, 0), [1, 2]);
    assert!(gpu.world.reports().is_empty());
    assert_eq!(gpu.download(x, 4, 0), [0xa5a5_a5a5, 1, 2, 0xa5a5_a5a5]);
    let reports = gpu.world.reports();
    assert_eq!(reports.len(), 1);
    assert_eq!(reports[0].kind, ReportKind::Uninitialized);
    assert_eq!(reports[0].address, x);
    assert_eq!(reports[0].allocated.unwrap().function, "cuMemAlloc_v2");
}

#[test]
fn copied_uninitialized_memory_is_reported_where_it_is_read() {
    let gpu = Gpu::lazy();
    let (x, y) = (gpu.alloc(4), gpu.alloc(4));
    gpu.upload(y, &[9; 4], 0);
    gpu.upload(x, &[1, 2], 0);
    ok(cuMemcpyDtoDAsync_v2(y, x, 16, 0));
    assert_eq!(gpu.download(y, 2, 0), [1, 2]);
    assert!(gpu.world.reports().is_empty());
    gpu.download(y + 8, 1, 0);
    assert_eq!(gpu.world.reports()[0].kind, ReportKind::Uninitialized);
}

#[test]
fn a_use_after_free_loses_the_context_and_names_allocation_and_free() {
    let gpu = Gpu::lazy();
    let (s, x) = (gpu.stream(), gpu.alloc(4));
    ok(cuMemsetD8Async(x, 1, 16, s));
    // The free waits for nothing, so the fill runs after it.
    ok(cuMemFree_v2(x));
    assert_eq!(cuStreamSynchronize(s), 700);
    let report = &gpu.world.reports()[0];
    assert_eq!(report.kind, ReportKind::Access(InvalidAccess::AfterFree));
    assert_eq!((report.address, report.stream), (x, s as u64));
    let text = report.to_string();
    for part in ["use after free", "fill of 16 bytes", "by cuMemAlloc_v2", "by cuMemFree_v2"] {
        assert!(text.contains(part), "{text}");
    }
    // From now on every call returns the error.
    assert_eq!(cuMemAlloc_v2(&mut 0, 4), 700);
    assert_eq!(cuStreamDestroy_v2(s), 700);
    assert_eq!(cuCtxSynchronize(), 700);
}

#[test]
fn copies_and_fills_of_zero_bytes_access_nothing() {
    let gpu = Gpu::lazy();
    gpu.upload(0, &[], 0);
    gpu.download(0, 0, 0);
    ok(cuMemcpyDtoDAsync_v2(0, 0, 0, 0));
    ok(cuMemsetD32Async(0, 0, 0, 0));
    ok(cuCtxSynchronize());
    assert!(gpu.world.reports().is_empty());
}

#[test]
fn accesses_outside_blocks_are_illegal() {
    let wrong: [fn(&Gpu, u64); 4] = [
        |_, x| ok(cuMemsetD8Async(x, 0, 17, 0)),
        |_, x| ok(cuMemsetD8Async(x - 4, 0, 4, 0)),
        |_, _| ok(cuMemsetD8Async(0, 0, 4, 0)),
        |gpu, x| {
            let host = gpu.pinned(1);
            ok(cuMemcpyHtoDAsync_v2(x, host.as_ptr(), 16, 0));
        },
    ];
    for (case, enqueue) in wrong.into_iter().enumerate() {
        let gpu = Gpu::lazy();
        let x = gpu.alloc(4);
        enqueue(&gpu, x);
        assert_eq!(cuCtxSynchronize(), 700, "case {case}");
        assert!(matches!(gpu.world.reports()[0].kind, ReportKind::Access(_)));
    }
}

#[test]
fn invalid_frees_are_errors_and_reported() {
    let gpu = Gpu::lazy();
    let x = gpu.alloc(4);
    assert_eq!(cuMemFree_v2(x + 4), 1);
    ok(cuMemFree_v2(x));
    assert_eq!(cuMemFree_v2(x), 1);
    assert_eq!(cuMemFreeAsync(x, 0), 1);
    assert_eq!(cuMemFreeHost(std::ptr::null_mut()), 1);
    let reports = gpu.world.reports();
    assert_eq!(reports.len(), 4);
    assert!(reports.iter().all(|report| report.kind == ReportKind::BadFree));
    assert_eq!(cuMemAlloc_v2(&mut 0, 0), 1);
    assert_eq!(gpu.world.live().blocks, 0);
}

#[test]
fn pageable_sources_are_read_at_the_call_and_pinned_ones_when_the_copy_runs() {
    let gpu = Gpu::lazy();
    let (s, x, y) = (gpu.stream(), gpu.alloc(2), gpu.alloc(2));
    let mut pageable = vec![1, 2];
    let pinned = gpu.pinned(2);
    pinned.copy_from_slice(&[1, 2]);
    gpu.upload(x, &pageable, s);
    gpu.upload(y, pinned, s);
    pageable.fill(7);
    pinned.fill(7);
    drop(pageable);
    assert_eq!(gpu.download(x, 2, s), [1, 2]);
    assert_eq!(gpu.download(y, 2, s), [7, 7]);
}

#[test]
fn pinned_targets_change_when_the_copy_runs_and_pageable_ones_at_the_call() {
    let gpu = Gpu::lazy();
    let (s, x) = (gpu.stream(), gpu.alloc(2));
    gpu.upload(x, &[3, 4], s);
    let pinned = gpu.pinned(2);
    ok(cuMemcpyDtoHAsync_v2(pinned.as_mut_ptr(), x, 8, s));
    assert_eq!(pinned, [0, 0], "nothing waited for the copy");
    assert_eq!(gpu.download(x, 2, s), [3, 4]);
    assert_eq!(pinned, [3, 4]);
    let landed = (0..50).filter(|&seed| {
        let gpu = Gpu::open(Schedule::Random, seed);
        let (s, x, pinned) = (gpu.stream(), gpu.alloc(1), gpu.pinned(1));
        gpu.upload(x, &[5], s);
        ok(cuMemcpyDtoHAsync_v2(pinned.as_mut_ptr(), x, 4, s));
        let mut free = 0;
        ok(cuMemGetInfo_v2(&mut free, &mut 0));
        ok(cuMemGetInfo_v2(&mut free, &mut 0));
        pinned[0] == 5
    });
    let landed = landed.count();
    assert!((1..50).contains(&landed), "early on {landed} of 50 seeds");
}

#[test]
fn pinned_memory_freed_before_a_copy_is_reported() {
    let gpu = Gpu::lazy();
    let (s, x) = (gpu.stream(), gpu.alloc(2));
    gpu.upload(x, &[3, 4], s);
    let pinned = gpu.pinned(2).as_mut_ptr();
    ok(cuMemcpyDtoHAsync_v2(pinned, x, 8, s));
    ok(cuMemFreeHost(pinned));
    assert_eq!(cuStreamSynchronize(s), 700);
    assert_eq!(gpu.world.reports()[0].kind, ReportKind::Access(InvalidAccess::AfterFree));
}

#[test]
fn memory_is_limited_and_frees_return_it() {
    let gpu = Gpu::lazy();
    gpu.world.set_memory_limit(1 << 20);
    assert_eq!(cuMemAlloc_v2(&mut 0, usize::MAX), 2);
    assert_eq!(cuMemAlloc_v2(&mut 0, (1 << 20) + 1), 2);
    let pooled: u64 = get(|out| cuMemAllocAsync(out, 1 << 20, 0));
    assert_eq!(cuMemAlloc_v2(&mut 0, 1024), 2);
    ok(cuMemFreeAsync(pooled, 0));
    ok(cuStreamSynchronize(0));
    // Memory of the pool is released when another allocation needs it.
    let x = gpu.alloc(256);
    let (mut free, mut total) = (0, 0);
    ok(cuMemGetInfo_v2(&mut free, &mut total));
    assert_eq!((free, total), ((1 << 20) - 1024, 1 << 20));
    ok(cuMemFree_v2(x));
    assert_eq!(gpu.world.live().bytes, 0);
}
