//! Constructs that could be interpreted in two ways: evaluation order, constants declared later, macro names, and
//! indices of temporaries.

// The way the code is written is under test.
#![allow(clippy::all, clippy::pedantic, unused_variables)]

use quadrants::{self as qd, Tensor, Vector};
use quadrants_tests::{TestBackend, on_all_backends};

mod tables {
    pub(super) const TABLE: [u32; 3] = [5, 6, 7];
}

#[qd::kernel]
fn ordered(out: &mut Tensor<u32, 1>) {
    for i in 0..1 {
        let mut a = [0u32; 4];
        let mut j = 0;
        a[j] = {
            j = 1;
            8
        };
        a[j + 1] += {
            j = 2;
            3
        };
        out[i] = a[0] + 10 * a[1] + 100 * a[2] + 1000 * a[3];
        let mut v = Vector([1u32, 2]);
        let mut k = 0;
        v[k] *= {
            k = 1;
            7
        };
        out[i + 1] = v[0] + 10 * v[1];
        let mut n = 5;
        let mut counted = 0;
        for (_, _) in qd::ndrange((
            0..n,
            {
                n = 2;
                0
            }..1,
        )) {
            counted += n;
        }
        out[i + 2] = counted;
    }
}

const AWAY: u32 = 100;

#[qd::kernel]
fn declared_later(out: &mut Tensor<u32, 1>) {
    for i in 0..out.len() {
        let k = 1 + AWAY;
        const AWAY: u32 = 8;
        out[i] = k + {
            let inner = AWAY;
            const AWAY: u32 = 1000;
            inner
        };
    }
}

macro_rules! kernel_of {
    ($i:ident, $given:ident, $at:expr) => {
        #[qd::kernel]
        fn named_by_macros(out: &mut Tensor<u32, 1>) {
            for $i in 0..out.len() {
                let $given = $i + 8;
                let k = $i;
                out[$at] = 1 + $given as u32;
            }
        }
    };
}
kernel_of!(i, k, k);

#[qd::func]
fn made(from: u32) -> [u32; 2] {
    [from, from + 1]
}

#[qd::kernel]
fn unnamed(of: u32, k: usize, out: &mut Tensor<u32, 1>) {
    for i in 0..1 {
        if of == 0 {
            out[i] = made(5)[k];
        } else if of == 1 {
            out[i] = [10, 20, 30][k];
        } else {
            out[i] = tables::TABLE[k];
        }
    }
}

#[on_all_backends]
fn the_evaluation_order_is_that_of_rust(on: TestBackend) {
    let Some(on) = on.open() else { return };
    let mut out = on.program.zeros::<u32, 1>([3]).unwrap();
    ordered(&mut out).launch().unwrap();
    // `a[0] = 8`, where the index is evaluated after the value: `a[1] = 8`, and then `a[3] += 3`.
    assert_eq!(out.to_vec().unwrap(), [3080, 141, 10]);
}

#[on_all_backends]
fn constants_are_visible_in_their_whole_block(on: TestBackend) {
    let Some(on) = on.open() else { return };
    let mut out = on.program.zeros::<u32, 1>([1]).unwrap();
    declared_later(&mut out).launch().unwrap();
    assert_eq!((out.to_vec().unwrap(), AWAY), (vec![1009], 100));
}

#[on_all_backends]
fn raw_and_plain_identifiers_are_the_same_name(on: TestBackend) {
    let Some(on) = on.open() else { return };
    let mut out = on.program.zeros::<u32, 1>([3]).unwrap();
    named_by_macros(&mut out).launch().unwrap();
    assert_eq!(out.to_vec().unwrap(), [1, 2, 3]);
}

#[on_all_backends]
fn indices_of_temporaries_are_checked(on: TestBackend, #[values(0, 1, 2)] of: u32) {
    let Some(on) = on.open() else { return };
    let mut out = on.program.zeros::<u32, 1>([1]).unwrap();
    unnamed(of, 1, &mut out).launch().unwrap();
    assert_eq!(out.to_vec().unwrap(), [[6, 20, 6][of as usize]]);
    let failed = unnamed(of, 3, &mut out).launch().and_then(|()| on.program.sync());
    let error = failed.unwrap_err().to_string();
    assert!(error.contains("is out of range for its shape"), "{error}");
}

#[qd::kernel]
fn clamped(low: f32, high: f32, to: i32, x: &Tensor<f32, 1>, out: &mut Tensor<f32, 2>) {
    for i in 0..x.len() {
        out[[i, 0]] = x[i].clamp(low, high);
        out[[i, 1]] = f32::clamp(x[i], low, high);
        out[[i, 2]] = 5i32.clamp(7, to) as f32;
    }
}

#[qd::kernel]
fn rounded_up(by: u32, out: &mut Tensor<u32, 1>) {
    for i in 0..out.len() {
        assert!(u32::max(by, 1) < 100);
        out[i] = u32::div_ceil(7, by);
    }
}

#[qd::kernel]
fn apart_before_blocks(x: &mut Tensor<u32, 1>, y: &mut Tensor<u32, 1>) {
    let (a, b) = (2, 3);
    qd::stream_parallel(|| {
        for i in 0..x.len() {
            x[i] = a;
        }
    });
    qd::stream_parallel(|| {
        for i in 0..y.len() {
            y[i] = b;
        }
    });
}

#[on_all_backends]
fn clamp_with_reversed_bounds_matches_on_every_backend(on: TestBackend) {
    let Some(on) = on.open() else { return };
    let x = on.program.tensor_from(&[5.0f32], [1]).unwrap();
    let mut out = on.program.zeros::<f32, 2>([1, 3]).unwrap();
    clamped(7.0, 3.0, 3, &x, &mut out).launch().unwrap();
    assert_eq!(out.to_vec().unwrap(), [3.0; 3]);
    clamped(f32::NAN, 3.0, 9, &x, &mut out).launch().unwrap();
    assert_eq!(out.to_vec().unwrap(), [3.0, 3.0, 7.0]);
}

#[on_all_backends]
fn associated_functions_divide_like_methods(on: TestBackend) {
    let Some(on) = on.open() else { return };
    let mut out = on.program.zeros::<u32, 1>([1]).unwrap();
    rounded_up(2, &mut out).launch().unwrap();
    assert_eq!(out.to_vec().unwrap(), [4]);
    let failed = |by, out: &mut Tensor<u32, 1>| {
        let launched = rounded_up(by, out).launch().and_then(|()| on.program.sync());
        launched.unwrap_err().to_string()
    };
    let zero = failed(0, &mut out);
    assert!(zero.contains("by zero"), "{zero}");
    let large = failed(100, &mut out);
    assert!(large.contains("u32::max(by, 1) < 100"), "{large}");
}

#[on_all_backends]
fn bindings_destructured_before_a_block_are_visible_in_it(on: TestBackend) {
    let Some(on) = on.open() else { return };
    let [mut x, mut y] = [(); 2].map(|()| on.program.zeros::<u32, 1>([1]).unwrap());
    apart_before_blocks(&mut x, &mut y).launch().unwrap();
    assert_eq!((x.to_vec().unwrap(), y.to_vec().unwrap()), (vec![2], vec![3]));
}

trait Elsewhere: Sized {
    fn place(self) -> usize {
        8
    }
    fn made() -> usize {
        8
    }
}

#[derive(Clone, Copy, qd::KernelValue)]
struct Spot(usize);

impl Elsewhere for Spot {}

#[qd::func]
impl Spot {
    fn place(&self) -> usize {
        self.0
    }

    fn next(&self) -> usize {
        let this = 7;
        let this_ = this - 6;
        self.place() + this_
    }
}

#[qd::func]
trait Making {
    fn made() -> u32;
    fn twice(&self, by: u32) -> u32;
}

#[derive(Clone, Copy, qd::KernelValue)]
struct Maker(u32);

impl Maker {
    fn made() -> u32 {
        100
    }
    fn twice(self, _by: u32) -> u32 {
        100
    }
}

#[qd::func]
impl Making for Maker {
    fn made() -> u32 {
        3
    }

    fn twice(&self, by: u32) -> u32 {
        2 * self.0 * by
    }
}

#[qd::func]
fn through<T: Making>(maker: T) -> u32 {
    T::made() + maker.twice(1)
}

mod far {
    use quadrants as qd;

    #[qd::func]
    pub(super) fn shifted(i: usize) -> usize {
        i
    }
}
use far::*;

fn shifted(i: usize) -> usize {
    i + 8
}

#[qd::func]
fn by_way_of_a_func(i: usize) -> usize {
    shifted(i)
}

#[qd::kernel]
fn of_two_names(out: &mut Tensor<u32, 1>) {
    for i in 0..1 {
        let spot = Spot(i);
        let maker = Maker(5);
        out[spot.place()] = Maker::made();
        out[spot.next()] = maker.twice(2);
        out[shifted(i) + 2] = through(maker);
        out[by_way_of_a_func(i) + 3] = 4;
    }
}

#[on_all_backends]
fn a_func_call_never_resolves_to_another_item_of_its_name(on: TestBackend) {
    let Some(on) = on.open() else { return };
    let mut out = on.program.zeros::<u32, 1>([4]).unwrap();
    of_two_names(&mut out).launch().unwrap();
    assert_eq!(out.to_vec().unwrap(), [3, 20, 13, 4]);
    // Outside of kernels, methods are Rust's; a func is the same everywhere.
    assert_eq!((Spot(1).place(), Spot(1).next(), Maker::made()), (8, 2, 100));
    assert_eq!((Maker(1).twice(1), shifted(1), by_way_of_a_func(1)), (100, 9, 1));
    assert_eq!(<Spot as Elsewhere>::made(), 8);
}

#[qd::kernel]
fn narrowed(to: usize, out: &mut Tensor<u32, 1>) {
    for i in 0..1 {
        let a = [1u32; 130];
        let mut sum = 0;
        for k in 0..130 {
            if k < to {
                sum += a[k as i8 as usize];
            }
        }
        out[i] = sum;
    }
}

#[on_all_backends]
fn indices_truncated_by_a_narrow_type_are_checked(on: TestBackend) {
    let Some(on) = on.open() else { return };
    let mut out = on.program.zeros::<u32, 1>([1]).unwrap();
    narrowed(128, &mut out).launch().unwrap();
    assert_eq!(out.to_vec().unwrap(), [128]);
    let failed = narrowed(129, &mut out).launch().and_then(|()| on.program.sync());
    let error = failed.unwrap_err().to_string();
    assert!(error.contains("is out of range for its shape"), "{error}");
}

macro_rules! products {
    ($sum:expr, $number:literal, $of:ty) => {
        #[qd::kernel]
        fn products(out: &mut Tensor<i32, 1>) {
            for i in 0..out.len() {
                out[i] = 2 * $sum - ($sum) % 3 + $sum / $number + (-$sum as $of).pow(2);
            }
        }
    };
}
products!(1 + 3, -2, i32);

#[on_all_backends]
fn a_macro_argument_is_one_operand(on: TestBackend) {
    let Some(on) = on.open() else { return };
    let mut out = on.program.zeros::<i32, 1>([1]).unwrap();
    products(&mut out).launch().unwrap();
    assert_eq!(out.to_vec().unwrap(), [8 - 1 - 2 + 16]);
}
