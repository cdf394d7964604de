//! Scatters: loops that combine into elements that each iteration chooses. The CPU combines long ones in private
//! copies.

use quadrants::{self as qd, Error, KernelErrorCause, Tensor};
use quadrants_tests::{
    TestBackend::{self, Cpu},
    on_all_backends,
};

use super::{Array, Same, differential, source};

source! { histograms;
    fn run(
        x: &Tensor<u32, 1>,
        counts: &mut Tensor<u32, 1>,
        sums: &mut Tensor<f64, 2>,
        least: &mut Tensor<i32, 1>,
        most: &mut Tensor<i64, 1>,
    ) {
        for i in 0..x.len() {
            let bin = x[i] as usize % counts.len();
            qd::atomic_add(&mut counts[bin], 1);
            if x[i] % 5 != 0 {
                // Exact in any order.
                qd::atomic_add(&mut sums[[bin, i % 3]], i as f64 * 0.5);
                qd::atomic_add(&mut sums[[bin, 0]], 0.25);
            }
            qd::atomic_min(&mut least[bin], 7 - i as i32);
            qd::atomic_max(&mut most[bin], (x[i] ^ i as u32) as i64);
        }
    }
}

source! { of_bits;
    fn run(
        x: &Tensor<u32, 2>,
        all: &mut Tensor<u32, 1>,
        any: &mut Tensor<u64, 1>,
        odd: &mut Tensor<i32, 1>,
        back: &mut Tensor<u16, 1>,
    ) {
        for (i, j) in qd::ndrange(x.shape()) {
            let value = x[[i, j]];
            qd::atomic_and(&mut all[value as usize % 9], value | 0xfff0_0000);
            let at = (i + j) % any.shape()[0];
            qd::atomic_or(&mut any[at], 1 << (value % 64));
            qd::atomic_xor(&mut odd[j % 5], value as i32);
        }
        for i in (1..x.shape()[0]).rev().step_by(2) {
            back[i / 2] = i as u16;
        }
        for i in (0..x.shape()[0]).step_by(2) {
            qd::atomic_xor(&mut odd[i % 3], i as i32);
        }
    }
}

/// Around the sizes from which chunks have private copies.
fn sizes(backend: TestBackend) -> &'static [usize] {
    if backend == Cpu { &[0, 1, 1023, 1024, 5000, 300_000] } else { &[0, 1, 300] }
}

fn numbers(n: usize) -> Vec<u32> {
    (0..n as u32).map(|k| k.wrapping_mul(2_654_435_761) >> 9).collect()
}

#[on_all_backends]
fn scatters_match_for_every_length(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    for &n in sizes(backend) {
        for bins in [1, 17, 256] {
            let x = Array::of(&numbers(n));
            let (counts, sums) = (Array::of(&vec![3; bins]), Array::zeros([bins, 3]));
            let (least, most) = (Array::of(&vec![5; bins]), Array::of(&vec![-1; bins]));
            differential!(&on.program, histograms [] [x] [counts, sums, least, most]);
        }
        for w in [1, 40] {
            let x = Array::new(&numbers(n / w * w), [n / w, w]);
            let (all, any) = (Array::of(&[u32::MAX; 9]), Array::of(&[0; 11]));
            let (odd, back) = (Array::of(&[1; 5]), Array::zeros([n / w]));
            differential!(&on.program, of_bits [] [x] [all, any, odd, back]);
        }
    }
    Ok(())
}

#[qd::kernel]
fn into_rows(x: &Tensor<u32, 1>, weights: &Tensor<f32, 1>, sums: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        qd::atomic_add(&mut sums[x[i] as usize], weights[i]);
    }
}

/// An index that is out of range is reported, and only its addition is left out.
#[on_all_backends]
fn an_index_out_of_range_of_a_scatter_is_reported(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let n = if backend == Cpu { 200_000 } else { 400 };
    let mut targets: Vec<u32> = (0..n).map(|k| k % 10).collect();
    targets[77] = 10;
    let x = on.program.tensor_from(&targets, [n as usize])?;
    let ones = on.program.tensor_from(&vec![1.0; n as usize], [n as usize])?;
    let mut sums = on.program.zeros([10])?;
    let launched = into_rows(&x, &ones, &mut sums).launch().and_then(|()| on.program.sync());
    let Err(Error::Kernel(error)) = launched else { panic!("reported: {launched:?}") };
    assert!(matches!(error.cause, KernelErrorCause::IndexOutOfRange { .. }), "{error}");
    let expected: Vec<f32> = (0..10).map(|k| (n / 10 - u32::from(k == 7)) as f32).collect();
    assert_eq!(sums.to_vec()?, expected);
    Ok(())
}

/// The CPU adds private copies in the order of their chunks, so identical launches give identical sums.
#[test]
fn float_scatters_of_identical_launches_are_identical() -> quadrants::Result<()> {
    let Some(on) = Cpu.open() else { return Ok(()) };
    let n = 400_000;
    let x = on.program.tensor_from(&numbers(n).iter().map(|x| x % 100).collect::<Vec<_>>(), [n])?;
    let weights: Vec<f32> = (0..n).map(|k| 1.0 / (k as f32 + 0.7)).collect();
    let weights = on.program.tensor_from(&weights, [n])?;
    let mut first = None;
    for _ in 0..20 {
        let mut sums = on.program.zeros([100])?;
        into_rows(&x, &weights, &mut sums).launch()?;
        let sums: Vec<u32> = sums.to_vec()?.into_iter().map(f32::to_bits).collect();
        assert_eq!(*first.get_or_insert_with(|| sums.clone()), sums);
    }
    Ok(())
}
