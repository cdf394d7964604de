//! Stream-ordered memory: reused as soon as stream order allows, and not before.

use quadrants_driver_sim::{InvalidAccess, ReportKind, Schedule};

use super::{kernels::add_args, support::*};

const BYTES: usize = 64;

fn alloc(stream: usize) -> u64 {
    get(|out| cuMemAllocAsync(out, BYTES, stream))
}

fn fill(x: u64, value: u32, stream: usize) {
    ok(cuMemsetD32Async(x, value, BYTES / 4, stream));
}

#[test]
fn a_stream_reuses_memory_at_once_and_the_old_bytes_are_lost() {
    let gpu = Gpu::lazy();
    let s = gpu.stream();
    let x = alloc(s);
    fill(x, 7, s);
    ok(cuMemFreeAsync(x, s));
    let y = alloc(s);
    assert_eq!(x, y);
    assert_eq!(gpu.download(y, 1, s), [0xa5a5_a5a5]);
    assert_eq!(gpu.world.reports()[0].kind, ReportKind::Uninitialized);
}

#[test]
fn another_stream_reuses_only_after_the_free() {
    let gpu = Gpu::lazy();
    let (s, t, event) = (gpu.stream(), gpu.stream(), gpu.event());
    let x = alloc(s);
    fill(x, 7, s);
    ok(cuMemFreeAsync(x, s));
    let other = alloc(t);
    assert_ne!(other, x, "the free has not run, and t is not ordered after it");
    ok(cuEventRecord(event, s));
    ok(cuStreamWaitEvent(t, event, 0));
    assert_eq!(alloc(t), x, "t is ordered after the free");
    // After the free has run, every stream may reuse the block.
    ok(cuMemFreeAsync(other, t));
    ok(cuStreamSynchronize(t));
    assert_eq!(alloc(s), other);
}

#[test]
fn memory_freed_before_a_reader_is_an_error() {
    let gpu = Gpu::lazy();
    let (s, t, event, out) = (gpu.stream(), gpu.stream(), gpu.event(), gpu.alloc(BYTES / 4));
    let x = alloc(s);
    fill(x, 7, s);
    ok(cuEventRecord(event, s));
    ok(cuStreamWaitEvent(t, event, 0));
    ok(cuMemcpyDtoDAsync_v2(out, x, BYTES, t));
    // The free is not ordered after the read on t, and the memory is reused at once.
    ok(cuMemFreeAsync(x, s));
    let y = alloc(s);
    fill(y, 1000, s);
    ok(cuStreamSynchronize(s));
    assert_eq!(gpu.download(out, 1, t), [1000]);

    // With the dependency, the result is correct on every seed.
    for seed in 0..200 {
        let gpu = Gpu::open(Schedule::Random, seed);
        let (s, t, out) = (gpu.stream(), gpu.stream(), gpu.alloc(BYTES / 4));
        let (written, read) = (gpu.event(), gpu.event());
        let x = alloc(s);
        fill(x, 7, s);
        ok(cuEventRecord(written, s));
        ok(cuStreamWaitEvent(t, written, 0));
        ok(cuMemcpyDtoDAsync_v2(out, x, BYTES, t));
        ok(cuEventRecord(read, t));
        ok(cuStreamWaitEvent(s, read, 0));
        ok(cuMemFreeAsync(x, s));
        fill(alloc(s), 1000, s);
        ok(cuStreamSynchronize(s));
        assert_eq!(gpu.download(out, 1, t), [7], "seed {seed}");
        assert!(gpu.world.reports().is_empty());
    }
}

#[test]
fn a_use_on_a_stream_that_does_not_wait_for_the_allocation_is_reported() {
    let gpu = Gpu::lazy();
    let (s, t) = (gpu.stream(), gpu.stream());
    let x = alloc(s);
    fill(x, 7, t);
    assert_eq!(cuStreamSynchronize(t), 700);
    assert_eq!(gpu.world.reports()[0].kind, ReportKind::Access(InvalidAccess::BeforeAlloc));
}

#[test]
fn a_use_after_a_stream_ordered_free_is_reported() {
    let gpu = Gpu::lazy();
    let s = gpu.stream();
    let x = alloc(s);
    ok(cuMemFreeAsync(x, s));
    assert_eq!(cuMemFreeAsync(x, s), 1, "freed twice");
    fill(x, 7, s);
    assert_eq!(cuStreamSynchronize(s), 700);
    let reports = gpu.world.reports();
    assert_eq!(reports[1].kind, ReportKind::Access(InvalidAccess::AfterFree));
    assert_eq!(reports[1].freed.unwrap().stream, Some(s as u64));
}

#[test]
fn recently_accessed_memory_is_checked_like_other_memory() {
    let gpu = Gpu::lazy();
    let (add, s) = (gpu.add(), gpu.stream());
    let x = alloc(s);
    fill(x, 7, s);
    let args = add_args(x, x, BYTES as u64 / 4, 1);
    ok(launch(add, &args, s));
    ok(cuMemFreeAsync(x, s));
    // The next allocation uses the same block with a smaller size.
    assert_eq!(x, get(|out| cuMemAllocAsync(out, BYTES / 2, s)));
    ok(cuMemsetD32Async(x, 7, BYTES / 8, s));
    ok(cuStreamSynchronize(s));
    ok(launch(add, &args, s));
    assert_eq!(cuStreamSynchronize(s), 700);
    let report = &gpu.world.reports()[0];
    assert_eq!(report.kind, ReportKind::Access(InvalidAccess::OutOfBounds));
    assert_eq!(report.address, x + BYTES as u64 / 2);
}

#[test]
fn pools_can_be_missing() {
    let gpu = Gpu::lazy();
    let supported = || get(|out| cuDeviceGetAttribute(out, 115, gpu.device()));
    assert_eq!(supported(), 1);
    let pool = get(|out| cuDeviceGetDefaultMemPool(out, gpu.device()));
    let mut threshold = u64::MAX;
    ok(cuMemPoolSetAttribute(pool, 4, (&raw mut threshold).cast()));
    assert_eq!(cuMemPoolSetAttribute(0, 4, std::ptr::null_mut()), 1);
    gpu.world.set_pools(false);
    assert_eq!(supported(), 0);
    assert_eq!(cuMemAllocAsync(&mut 0, 64, 0), 801);
    assert_eq!(cuDeviceGetDefaultMemPool(&mut 0, gpu.device()), 801);
}

#[test]
fn live_memory_of_the_pool_is_counted() {
    let gpu = Gpu::lazy();
    let x = alloc(0);
    assert_eq!((gpu.world.live().blocks, gpu.world.live().bytes), (1, BYTES));
    ok(cuMemFreeAsync(x, 0));
    let y: u64 = get(|out| cuMemAllocAsync(out, 10, 0));
    assert_eq!((gpu.world.live().blocks, gpu.world.live().bytes), (1, 10));
    // The block is larger than the requested size; the rest is out of bounds.
    assert_eq!(x, y);
    ok(cuMemsetD8Async(y, 0, 11, 0));
    assert_eq!(cuStreamSynchronize(0), 700);
    assert_eq!(gpu.world.creates().stream_allocations, 2);
}
