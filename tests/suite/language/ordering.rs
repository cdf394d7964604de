//! `Ordering` in kernels: `total_cmp` of floats, `cmp` of integers, and the methods of `Ordering`.

use std::cmp::Ordering;

use quadrants_tests::{TestBackend, on_all_backends};

use super::{Array, Same, differential, source};

source! { floats;
    fn run(x: &Tensor<f32, 1>, y: &Tensor<f64, 1>, out: &mut Tensor<i32, 2>, least: &mut Tensor<f32, 1>) {
        for (i, j) in qd::ndrange([x.len(), x.len()]) {
            let order = x[i].total_cmp(&x[j]);
            out[[i, j]] = match order {
                Ordering::Less => -1,
                Ordering::Equal => 0,
                Ordering::Greater => 1,
            };
            if y[i].total_cmp(&-y[j]).then(order).is_lt() {
                out[[i, j]] += 10;
            }
            if y[i].total_cmp(&y[j]) == Ordering::Greater {
                out[[i, j]] += 100;
            }
        }
        for i in 0..least.len() {
            let mut first = x[0];
            for k in 0..i {
                if x[k].total_cmp(&first).reverse().is_gt() {
                    first = x[k];
                }
            }
            least[i] = first;
        }
    }
}

source! { integers;
    fn run(x: &Tensor<i8, 1>, y: &Tensor<u64, 1>, out: &mut Tensor<u32, 2>) {
        for (i, j) in qd::ndrange([x.len(), x.len()]) {
            let order = x[i].cmp(&x[j]);
            let mut bits = order.is_eq() as u32 + 2 * order.is_ne() as u32;
            bits += 4 * order.is_lt() as u32 + 8 * order.is_gt() as u32;
            bits += 16 * order.is_le() as u32 + 32 * order.is_ge() as u32;
            let other = y[i].cmp(&y[j]);
            bits += if other == Ordering::Less { 64 } else { 0 };
            bits += ((order as i32) + 1) as u32 * 128;
            out[[i, j]] = bits;
        }
    }
}

source! { result;
    fn run(a: i64, b: i64, x: f32) -> (Ordering, Ordering) {
        (a.cmp(&b), x.total_cmp(&0.0).then(Ordering::Less))
    }
}

#[on_all_backends]
fn orders_are_those_of_std(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x =
        [0.0f32, -0.0, 1.0, -1.0, f32::INFINITY, f32::NEG_INFINITY, 1e-45, -1e-45, 3.5, f32::NAN];
    let y = x.map(|x| f64::from(x) * 0.5);
    let (x, y) = (Array::of(&x), Array::of(&y));
    let (out, least) = (Array::zeros([10, 10]), Array::zeros([9]));
    differential!(&on.program, floats [] [x, y] [out, least]);
    let x = Array::of(&[0i8, -1, 127, -128, 5, 5]);
    let y = Array::of(&[0u64, u64::MAX, 1 << 63, 7, 7, 8]);
    let out = Array::zeros([6, 6]);
    differential!(&on.program, integers [] [x, y] [out]);
    for (a, b, x) in [(1, 2, 0.0), (2, 1, -0.0), (i64::MIN, i64::MAX, f32::NAN), (3, 3, 1.0)] {
        let found = result::device::run(a, b, x).launch_on(on.program.default_stream())?;
        assert_eq!(found, result::host::run(a, b, x));
    }
    Ok(())
}
