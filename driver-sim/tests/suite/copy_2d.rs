//! Copies of rows with gaps between them: what they access, and when.

use std::{
    ffi::{c_int, c_uint, c_void},
    ptr,
};

use quadrants_driver_sim::{
    self as sim, AccessKind, Code, InvalidAccess, OpKind, ReportKind, Schedule,
};
use quadrants_samples::generate::Rng;

use super::support::*;

functions! { sim::cuda_symbol:
    cuMemcpy2DAsync_v2(copy: *const Copy2d, stream: usize);
    cuStreamBeginCapture_v2(stream: usize, mode: c_uint);
    cuStreamEndCapture(stream: usize, graph: *mut usize);
}

/// `CUDA_MEMCPY2D`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Copy2d {
    src_x: usize,
    src_y: usize,
    src_kind: c_uint,
    src_host: *const c_void,
    src_device: u64,
    src_array: usize,
    src_pitch: usize,
    dst_x: usize,
    dst_y: usize,
    dst_kind: c_uint,
    dst_host: *mut c_void,
    dst_device: u64,
    dst_array: usize,
    dst_pitch: usize,
    width: usize,
    height: usize,
}

/// A shape: width, height, the pitch of the target and that of the source.
type Shape = (usize, usize, usize, usize);

fn within((dst, src): (u64, u64), (width, height, dst_pitch, src_pitch): Shape) -> Copy2d {
    Copy2d {
        src_x: 0,
        src_y: 0,
        src_kind: 2,
        src_host: ptr::null(),
        src_device: src,
        src_array: 0,
        src_pitch,
        dst_x: 0,
        dst_y: 0,
        dst_kind: 2,
        dst_host: ptr::null_mut(),
        dst_device: dst,
        dst_array: 0,
        dst_pitch,
        width,
        height,
    }
}

fn upload(dst: u64, src: *const u32, shape: Shape) -> Copy2d {
    Copy2d { src_kind: 1, src_host: src.cast(), ..within((dst, 0), shape) }
}

fn download(dst: *mut u32, src: u64, shape: Shape) -> Copy2d {
    Copy2d { dst_kind: 1, dst_host: dst.cast(), ..within((0, src), shape) }
}

fn copy(copy: Copy2d, stream: usize) -> c_int {
    cuMemcpy2DAsync_v2(&raw const copy, stream)
}

#[test]
fn pageable_rows_are_read_at_the_call_and_pinned_ones_when_the_copy_runs() {
    let gpu = Gpu::lazy();
    let (s, x, y) = (gpu.stream(), gpu.alloc(4), gpu.alloc(4));
    for memory in [x, y] {
        gpu.upload(memory, &[9; 4], s);
    }
    let mut pageable = vec![1, 2, 3, 4];
    let pinned = gpu.pinned(4);
    pinned.copy_from_slice(&pageable);
    // Words 0 and 2 to words 1 and 3.
    ok(copy(upload(x + 4, pageable.as_ptr(), (4, 2, 8, 8)), s));
    ok(copy(upload(y + 4, pinned.as_ptr(), (4, 2, 8, 8)), s));
    pageable.fill(7);
    pinned.fill(7);
    drop(pageable);
    assert_eq!(gpu.download(x, 4, s), [9, 1, 9, 3]);
    assert_eq!(gpu.download(y, 4, s), [9, 7, 9, 7]);
    assert!(gpu.world.reports().is_empty());
}

#[test]
fn pageable_targets_change_at_the_call_and_pinned_ones_when_the_copy_runs() {
    let gpu = Gpu::lazy();
    let (s, x) = (gpu.stream(), gpu.alloc(4));
    gpu.upload(x, &[1, 2, 3, 4], s);
    let pinned = gpu.pinned(4);
    ok(copy(download(pinned.as_mut_ptr(), x + 4, (4, 2, 8, 8)), s));
    assert_eq!(pinned, [0; 4], "nothing waited for the copy");
    let mut pageable = [8; 4];
    ok(copy(download(pageable.as_mut_ptr(), x, (4, 2, 12, 8)), s));
    assert_eq!((pageable, &*pinned), ([1, 8, 8, 3], &[2, 0, 4, 0][..]));
}

#[test]
fn only_the_rows_must_be_initialized_and_inside_of_memory() {
    let gpu = Gpu::lazy();
    let (x, y) = (gpu.alloc(5), gpu.alloc(5));
    for word in [0, 2, 4] {
        gpu.upload(x + 4 * word, &[word as u32], 0);
    }
    let mut host = [0; 3];
    ok(copy(download(host.as_mut_ptr(), x, (4, 3, 4, 8)), 0));
    assert_eq!(host, [0, 2, 4]);
    ok(copy(within((y, x), (4, 3, 8, 8)), 0));
    assert!(gpu.world.reports().is_empty(), "the last row has no bytes after it");
    assert_eq!(gpu.download(y, 1, 0), [0]);
    gpu.download(y + 4, 1, 0);
    let reports = gpu.world.reports();
    assert_eq!(reports.len(), 1);
    assert_eq!(reports[0].kind, ReportKind::Uninitialized, "the gaps were not copied");

    ok(copy(within((y, x), (4, 3, 8, 12)), 0));
    assert_eq!(cuCtxSynchronize(), 700, "the last row ends outside");
    let report = gpu.world.reports().pop().unwrap();
    assert_eq!(report.kind, ReportKind::Access(InvalidAccess::OutOfBounds));
    assert_eq!((report.address, report.bytes), (x + 24, 4));
    assert!(report.to_string().contains("copy of 3 rows of 4 bytes"), "{report}");
}

#[test]
fn pitches_are_checked_and_empty_copies_access_nothing() {
    let gpu = Gpu::lazy();
    let (x, y) = (gpu.alloc(64), gpu.alloc(64));
    for shape in [(8, 4, 7, 8), (8, 4, 8, 7), (8, 1, 0, 8), (1, 2, 1 << 31, 1)] {
        assert_eq!(copy(within((x, y), shape), 0), Code::INVALID_VALUE.0, "{shape:?}");
    }
    for shape in [(0, 4, 0, 0), (8, 0, 1, 1 << 40)] {
        ok(copy(within((0, 0), shape), 0));
        ok(copy(upload(0, ptr::null(), shape), 0));
        ok(copy(download(ptr::null_mut(), 0, shape), 0));
    }
    ok(cuCtxSynchronize());
    assert!(gpu.world.reports().is_empty());
}

#[test]
fn a_fault_makes_the_copy_fail_without_effect() {
    let gpu = Gpu::lazy();
    let (x, y) = (gpu.alloc(4), gpu.alloc(4));
    gpu.upload(x, &[1; 4], 0);
    gpu.upload(y, &[2; 4], 0);
    gpu.world.fail("cuMemcpy2DAsync_v2", 1, Code::OUT_OF_MEMORY);
    assert_eq!(copy(within((x, y), (4, 2, 8, 8)), 0), Code::OUT_OF_MEMORY.0);
    assert_eq!(gpu.download(x, 4, 0), [1; 4]);
    ok(copy(within((x, y), (4, 2, 8, 8)), 0));
    assert_eq!(gpu.download(x, 4, 0), [2, 1, 2, 1]);
}

#[test]
fn a_captured_copy_is_a_node_unless_its_host_memory_is_pageable() {
    let gpu = Gpu::lazy();
    let (s, x, y) = (gpu.stream(), gpu.alloc(4), gpu.alloc(4));
    gpu.upload(x, &[1, 2, 3, 4], s);
    gpu.upload(y, &[0; 4], s);
    ok(cuStreamSynchronize(s));
    ok(cuStreamBeginCapture_v2(s, 2));
    ok(copy(within((y, x), (4, 2, 8, 8)), s));
    let graph = get(|out| cuStreamEndCapture(s, out));
    assert_eq!(gpu.download(y, 4, 0), [0; 4], "it did not run");
    let exec = get(|out| cuGraphInstantiateWithFlags(out, graph, 0));
    ok(cuGraphLaunch(exec, s));
    assert_eq!(gpu.download(y, 4, s), [1, 0, 3, 0]);

    let host = [0; 4];
    ok(cuStreamBeginCapture_v2(s, 2));
    let refused = copy(upload(y, host.as_ptr(), (4, 2, 8, 8)), s);
    assert_eq!(refused, Code::STREAM_CAPTURE_UNSUPPORTED.0);
}

#[test]
fn columns_that_do_not_meet_are_no_race_and_one_byte_is() {
    for schedule in [Schedule::Lazy, Schedule::Eager, Schedule::Random, Schedule::Adversarial] {
        let gpu = Gpu::open(schedule, 3);
        gpu.world.detect_races(true);
        let (x, y, z) = (gpu.alloc(64), gpu.alloc(64), gpu.alloc(64));
        for memory in [x, y, z] {
            ok(cuMemsetD32Async(memory, memory as u32, 64, 0));
        }
        ok(cuStreamSynchronize(0));
        let (s, t) = (gpu.stream(), gpu.stream());
        // Columns of 8 bytes of 16 rows of 16 bytes.
        ok(copy(within((x, y), (8, 16, 16, 16)), s));
        ok(copy(within((x + 8, z), (8, 16, 16, 16)), t));
        ok(cuCtxSynchronize());
        assert!(gpu.world.races().is_empty(), "{schedule:?}: {:?}", gpu.world.races());
        // The second one begins with the last byte of the first.
        ok(copy(within((x, y), (8, 16, 16, 16)), s));
        ok(copy(within((x + 7, z), (8, 15, 16, 16)), t));
        ok(cuCtxSynchronize());
        let races = gpu.world.races();
        assert_eq!(races.len(), 1, "{schedule:?}: {races:?}");
        assert_eq!((races[0].address, races[0].bytes), (x + 7, 15));
        for side in [&races[0].first, &races[0].second] {
            assert_eq!((&side.kind, side.access), (&OpKind::CopyDtod, AccessKind::Write));
        }
    }
}

/// A random copy within a memory of `BYTES` bytes for each of the two sides, or from the host.
#[derive(Clone, Copy, Debug)]
struct RandomCopy {
    stream: usize,
    /// Of two memories, and the offset in it.
    dst: (usize, usize),
    /// None: from the host.
    src: Option<usize>,
    shape: Shape,
}

const BYTES: usize = 192;

impl RandomCopy {
    fn new(random: &mut Rng) -> Self {
        let mut below = |bound| random.index(bound);
        let (width, height) = (1 + below(9), 1 + below(6));
        let mut side = || {
            let pitch = width + below(24);
            (pitch, below(BYTES - (height - 1) * pitch - width + 1))
        };
        let ((dst_pitch, dst), (src_pitch, src)) = (side(), side());
        let src = (below(4) > 0).then_some(src);
        let shape = (width, height, dst_pitch, src_pitch);
        Self { stream: below(3), dst: (below(2), dst), src, shape }
    }

    /// The memory, and the offsets of the bytes in it, of its writes and of its reads.
    fn writes(&self) -> (usize, Vec<usize>) {
        let (width, height, pitch, _) = self.shape;
        (self.dst.0, rows(self.dst.1, width, height, pitch))
    }

    fn reads(&self) -> (usize, Vec<usize>) {
        let (width, height, _, pitch) = self.shape;
        (1 - self.dst.0, self.src.map_or(Vec::new(), |src| rows(src, width, height, pitch)))
    }

    fn conflicts(&self, other: &Self) -> bool {
        let meet = |(a, of_a): (usize, Vec<usize>), (b, of_b): (usize, Vec<usize>)| {
            a == b && of_a.iter().any(|at| of_b.contains(at))
        };
        meet(self.writes(), other.writes())
            || meet(self.writes(), other.reads())
            || meet(self.reads(), other.writes())
    }
}

fn rows(first: usize, width: usize, height: usize, pitch: usize) -> Vec<usize> {
    (0..height * width).map(|at| first + at / width * pitch + at % width).collect()
}

/// Random copies on three streams with random edges: the detector finds a race exactly where two copies that are not
/// ordered share a byte, and without one the contents are those of the copies one after the other.
#[test]
fn random_copies_race_exactly_where_unordered_rows_meet() {
    let (mut raced, mut clean) = (0, 0);
    for seed in 0..400 {
        let mut random = Rng::new(seed);
        let schedule = [Schedule::Adversarial, Schedule::Random, Schedule::Lazy][seed as usize % 3];
        let gpu = Gpu::open(schedule, seed);
        gpu.world.detect_races(true);
        let (memories, host) = ([gpu.alloc(BYTES / 4), gpu.alloc(BYTES / 4)], [0x5a_u8; BYTES]);
        let mut expected: [Vec<u8>; 2] =
            std::array::from_fn(|of| (0..BYTES).map(|at| (at * 7 + of * 31) as u8).collect());
        for (memory, bytes) in memories.iter().zip(&expected) {
            ok(cuMemcpyHtoDAsync_v2(*memory, bytes.as_ptr().cast(), BYTES, 0));
        }
        ok(cuStreamSynchronize(0));
        let streams = [(); 3].map(|()| gpu.stream());
        // What the next operation of each stream comes after: a bit for each copy.
        let mut after = [0_u64; 3];
        let mut copies: Vec<RandomCopy> = Vec::new();
        let mut races = false;
        for number in 0..2 + random.index(8) {
            let next = RandomCopy::new(&mut random);
            for _ in 0..random.below(3) {
                let from = random.index(3);
                let event = gpu.event();
                ok(cuEventRecord(event, streams[from]));
                ok(cuStreamWaitEvent(streams[next.stream], event, 0));
                after[next.stream] |= after[from];
            }
            let unordered = |(of, _): &(usize, &RandomCopy)| after[next.stream] >> of & 1 == 0;
            races |= copies
                .iter()
                .enumerate()
                .filter(unordered)
                .any(|(_, earlier)| earlier.conflicts(&next));
            after[next.stream] |= 1 << number;
            let (to, offset) = next.dst;
            let dst = memories[to] + offset as u64;
            let call = match next.src {
                Some(src) => within((dst, memories[1 - to] + src as u64), next.shape),
                None => upload(dst, host.as_ptr().cast(), next.shape),
            };
            ok(copy(call, streams[next.stream]));
            let read = match next.src {
                Some(_) => next.reads().1.iter().map(|at| expected[1 - to][*at]).collect(),
                None => vec![0x5a; next.shape.0 * next.shape.1],
            };
            next.writes().1.iter().zip(read).for_each(|(at, byte)| expected[to][*at] = byte);
            copies.push(next);
        }
        ok(cuCtxSynchronize());
        let found = gpu.world.races();
        assert_eq!(!found.is_empty(), races, "seed {seed}: {found:?}\n{copies:#?}");
        if races {
            raced += 1;
            continue;
        }
        clean += 1;
        for (memory, bytes) in memories.iter().zip(&expected) {
            let mut host = vec![0; BYTES];
            ok(cuMemcpyDtoHAsync_v2(host.as_mut_ptr().cast(), *memory, BYTES, 0));
            assert_eq!(host, *bytes, "seed {seed}: {copies:#?}");
        }
    }
    assert!(raced > 50 && clean > 50, "{raced} with and {clean} without a race");
}
