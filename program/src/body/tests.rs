//! Hand-written bodies like those that the macro emits, at every level, in both forms, with small and large arguments.

use std::{
    panic::catch_unwind,
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
};

use quadrants_ir::abi::ErrorRecord;

use super::{
    Body, CheckedParts, Cx, Elements, Level, LoopAt, NativeBody, Run, TensorParam, WithCheckMode,
    gate,
};
use crate::{BoxError, KernelValue, Tensor, device_error::check, dsl::ndrange};

const PROVEN: Run = Run { result_word: 0, prints: false, checked: CheckedParts::NONE };
const CHECKED: Run = Run { checked: CheckedParts::ALL, ..PROVEN };

struct Saxpy;
struct Fill;
struct Panics;
struct Region;

// SAFETY: the tests run it with arguments of its parameters.
unsafe impl Body for Saxpy {
    const NAME: &'static str = "Saxpy";
    fn ir() -> Result<quadrants_ir::Kernel, BoxError> {
        Err("this body has no IR".into())
    }
    #[inline(always)]
    fn run<L: Level, const WIDE: usize>(cx: &Cx<'_, L>) {
        let mut args = cx.args();
        let a = gate::<true, _>(f32::from_scalars(&mut || args.word()));
        let x = gate::<true, _>(<Tensor<f32, 1>>::take(&mut args));
        let y = gate::<true, _>(<Tensor<f32, 1>>::take(&mut args));
        cx.par_for(
            LoopAt::range(0, 0),
            0..x.len(),
            5,
            #[inline(always)]
            move |([(begin, end)], chunk)| {
                let (x, y) =
                    (x.with_check_mode(chunk.check_mode), y.with_check_mode(chunk.check_mode));
                for i in begin..end {
                    let sum = y.element_ref(i).read() + a * x.element_ref(i).read();
                    y.element_ref(i).write(sum);
                }
            },
        );
        cx.finish(x.len());
    }
}

// SAFETY: the tests run it with arguments of its parameters.
unsafe impl Body for Fill {
    const NAME: &'static str = "Fill";
    fn ir() -> Result<quadrants_ir::Kernel, BoxError> {
        Err("this body has no IR".into())
    }
    #[inline(always)]
    fn run<L: Level, const WIDE: usize>(cx: &Cx<'_, L>) {
        let out = <Tensor<u32, 3>>::take(&mut cx.args());
        cx.nd_for(
            LoopAt::blocks(0),
            ndrange(out.shape()),
            1 << 16,
            #[inline(always)]
            move |([(b0, e0), (b1, e1), (b2, e2)], _)| {
                for i in b0..e0 {
                    for j in b1..e1 {
                        for k in b2..e2 {
                            let element = out.element_ref([i, j, k]);
                            element.write(element.read() + (i * 100 + j * 10 + k) as u32);
                        }
                    }
                }
            },
        );
    }
}

// SAFETY: the tests run it with arguments of its parameters.
unsafe impl Body for Panics {
    const NAME: &'static str = "Panics";
    fn ir() -> Result<quadrants_ir::Kernel, BoxError> {
        Err("this body has no IR".into())
    }
    #[inline(always)]
    fn run<L: Level, const WIDE: usize>(cx: &Cx<'_, L>) {
        let quietly = cx.args().word() != 0;
        cx.par_for(
            LoopAt::blocks(0),
            0..1_u64 << 20,
            1,
            #[inline(always)]
            move |([(begin, _)], _)| {
                check(!quietly, "fails");
                if begin == 0 {
                    std::panic::resume_unwind(Box::new("panics"));
                }
            },
        );
    }
}

// SAFETY: the tests run it with arguments of its parameters.
unsafe impl Body for Region {
    const NAME: &'static str = "Region";
    fn ir() -> Result<quadrants_ir::Kernel, BoxError> {
        Err("this body has no IR".into())
    }
    #[inline(always)]
    fn run<L: Level, const WIDE: usize>(cx: &Cx<'_, L>) {
        static RUNS: AtomicUsize = AtomicUsize::new(0);
        let first = cx.block(
            #[inline(always)]
            || {
                RUNS.fetch_add(1, SeqCst);
            },
        );
        let second = cx.block(
            #[inline(always)]
            || {
                RUNS.fetch_add(10, SeqCst);
            },
        );
        RUNS.store(0, SeqCst);
        cx.region(&[&first, &second], 1 << 30, 10);
        cx.finish(RUNS.load(SeqCst));
    }
}

/// An argument block of `words` with an error record and one word of scratch memory.
fn block(record: &mut ErrorRecord, scratch: &mut u64, words: &[u64]) -> Vec<u64> {
    let head = [&raw mut *record as u64, &raw mut *scratch as u64, 9];
    head.iter().chain(words).copied().collect()
}

#[test]
fn every_level_computes_the_same() {
    for n in [0, 1, 1000, 1 << 20] {
        let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
        let mut y = vec![0.0; n];
        let (mut record, mut scratch) = (ErrorRecord::default(), 0);
        let words = [
            u64::from(0.5_f32.to_bits()),
            x.as_ptr() as u64,
            n as u64,
            y.as_mut_ptr() as u64,
            n as u64,
        ];
        let args = block(&mut record, &mut scratch, &words);
        let mut runs = 0;
        // SAFETY: the block is for `Saxpy`; all indices are in range; each run only adds.
        unsafe {
            NativeBody::of::<Saxpy>().run_each_level(&args, PROVEN, |_| runs += 1);
            NativeBody::of::<Saxpy>().run_each_level(&args, CHECKED, |_| runs += 1);
            NativeBody::of::<Saxpy>().run(&args, &[], CHECKED);
            NativeBody::of::<Saxpy>().run(&args, &[], PROVEN);
        }
        let factor = 0.5 * (runs + 2) as f32;
        assert!(runs >= 1 && y.iter().enumerate().all(|(i, v)| *v == factor * i as f32));
        assert_eq!((scratch, record.state), (n as u64, ErrorRecord::EMPTY));
    }
}

#[test]
fn the_checked_form_reports_out_of_range_accesses() {
    let (x, mut y) = (vec![1.0_f32; 8], vec![0.0_f32; 8]);
    let (mut record, mut scratch) = (ErrorRecord::default(), 0);
    let words = [u64::from(1.0_f32.to_bits()), x.as_ptr() as u64, 8, y.as_mut_ptr() as u64, 5];
    let args = block(&mut record, &mut scratch, &words);
    // SAFETY: the block is for `Saxpy`.
    unsafe { NativeBody::of::<Saxpy>().run(&args, &[], CHECKED) };
    assert_eq!(y, [1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
    assert_eq!((record.state, record.launch, record.count), (ErrorRecord::FULL, 9, 2));
    assert_eq!(record.values[..2], [5, 5]);
}

#[test]
fn tiles_cover_an_index_space_once() {
    for shape in [[1, 1, 1], [2, 3, 5], [40, 1, 7], [1, 1, 5000]] {
        let mut out = vec![0_u32; shape.iter().product()];
        let (mut record, mut scratch) = (ErrorRecord::default(), 0);
        let words = [out.as_mut_ptr() as u64, shape[0] as u64, shape[1] as u64, shape[2] as u64];
        let args = block(&mut record, &mut scratch, &words);
        // SAFETY: the block is for `Fill`, whose indices are in range.
        unsafe { NativeBody::of::<Fill>().run(&args, &[], PROVEN) };
        let expected = ndrange(shape).into_iter().map(|(i, j, k)| (i * 100 + j * 10 + k) as u32);
        assert!(out.iter().copied().eq(expected), "{shape:?}");
    }
}

#[test]
fn panics_reach_the_caller_and_assertions_the_record() {
    for (quietly, state) in [(false, ErrorRecord::EMPTY), (true, ErrorRecord::FULL)] {
        let (mut record, mut scratch) = (ErrorRecord::default(), 0);
        let args = block(&mut record, &mut scratch, &[u64::from(quietly)]);
        let outcome = catch_unwind(|| {
            // SAFETY: the block is for `Panics`.
            unsafe { NativeBody::of::<Panics>().run(&args, &[], PROVEN) };
        });
        assert_eq!(outcome.is_ok(), quietly);
        assert_eq!(record.state, state);
    }
}

#[test]
fn all_blocks_of_a_region_run() {
    let (mut record, mut scratch) = (ErrorRecord::default(), 0);
    let args = block(&mut record, &mut scratch, &[]);
    // SAFETY: the block is for `Region`.
    unsafe { NativeBody::of::<Region>().run(&args, &[], PROVEN) };
    assert_eq!(scratch, 11);
}
