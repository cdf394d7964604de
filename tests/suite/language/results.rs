//! Results of kernels: numbers, tuples, arrays, structs and enums; `return` from the serial code of a kernel.

use quadrants::{self as qd, Error, KernelValue, Matrix, Vector};
use quadrants_tests::{TestBackend, on_all_backends};

use super::{Array, Same, differential, source};

/// What a search found.
#[derive(Clone, Copy, Debug, PartialEq, KernelValue)]
struct Found {
    at: u64,
    value: f32,
    kind: Kind,
    extent: Vector<f32, 2>,
}

#[derive(Clone, Copy, Debug, PartialEq, KernelValue)]
enum Kind {
    None,
    Small,
    Large,
}

#[derive(Clone, Copy, Debug, PartialEq, KernelValue)]
struct Nothing {}

impl Same for Found {
    fn same(&self, other: &Self, _: f64) -> bool {
        self == other
    }
}

impl<A: Same, B: Same, C: Same> Same for (A, B, C) {
    fn same(&self, other: &Self, tolerance: f64) -> bool {
        self.0.same(&other.0, tolerance)
            && self.1.same(&other.1, tolerance)
            && self.2.same(&other.2, tolerance)
    }
}

source! { statistics;
    fn run(x: &Tensor<f32, 1>) -> (f32, bool, i8) {
        let (mut sum, mut negatives) = (0.0, 0_i8);
        let mut i = 0;
        while i < x.len() {
            sum += x[i];
            negatives -= (x[i] < 0.0) as i8;
            i += 1;
        }
        (sum, sum > 10.0, negatives)
    }
}

source! { found;
    fn run(limit: f32, x: &Tensor<f32, 1>) -> Found {
        let none = Found { at: 0, value: 0.0, kind: Kind::None, extent: Vector([limit, -1.0]) };
        if x.len() == 3 {
            return none;
        }
        let mut i = 0;
        while i < x.len() {
            if x[i] > limit {
                let kind = if x[i] > 8.0 { Kind::Large } else { Kind::Small };
                return Found { at: i as u64, value: x[i], kind, ..none };
            }
            i += 1;
        }
        Found { at: x.len() as u64, ..none }
    }
}

source! { after_loops;
    fn run(limit: i32, x: &Tensor<i32, 1>, out: &mut Tensor<i32, 1>) -> i32 {
        for i in 0..x.len() {
            out[i] = x[i] * 2;
        }
        let first = out[0];
        let mut k = 0;
        loop {
            if k == x.len() {
                return -1;
            }
            if out[k] > limit {
                break;
            }
            k += 1;
        }
        out[k] = if k > 4 { return first } else { 77 };
        k as i32
    }
}

#[qd::kernel]
fn stops(limit: i32, out: &mut qd::Tensor<i32, 1>) {
    for i in 0..out.len() {
        out[i] = i as i32;
    }
    if limit < 0 {
        return;
    }
    out[0] = 10;
    #[qd::serial]
    for i in 1..out.len() {
        if i as i32 > limit {
            return;
        }
        out[i] = 20;
    }
    out[0] = 30;
}

#[qd::kernel]
fn nothing(out: &mut qd::Tensor<i32, 1>) -> Nothing {
    for i in 0..out.len() {
        out[i] = 5;
    }
    Nothing {}
}

#[qd::kernel]
fn aggregates(x: f32, flag: bool) -> ([Matrix<f32, 2, 2>; 2], (u16, bool)) {
    let a = Matrix([[x, 1.0], [2.0, 3.0]]);
    ([a, a * 2.0], (if flag { 7 } else { 9 }, !flag))
}

#[on_all_backends]
fn kernels_return_aggregates(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = Array::of(&[1.5, -2.0, 9.25, -3.5, 7.0]);
    differential!(&on.program, statistics[][x][]);
    for limit in [-5.0, 2.0, 8.5, 20.0] {
        differential!(&on.program, found[limit][x][]);
    }
    differential!(&on.program, found[0.0][Array::of(&[1.0, 2.0, 3.0])][]);
    let mut out = on.program.zeros([3])?;
    assert_eq!(nothing(&mut out).launch()?, Nothing {});
    assert_eq!(out.to_vec()?, [5; 3]);
    let a = Matrix([[4.0, 1.0], [2.0, 3.0]]);
    let expected = ([a, a * 2.0], (7, false));
    on.program.default_stream().scope(|| {
        assert_eq!(aggregates(4.0, true).launch()?, expected);
        qd::Result::Ok(())
    })
}

#[on_all_backends]
fn serial_code_of_a_kernel_may_return(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = Array::of(&[1, 2, 3, 4, 5, 6, 7]);
    for limit in [0, 7, 11, 100] {
        let out = Array::<i32, 1>::zeros([x.len()]);
        differential!(&on.program, after_loops[limit][x][out]);
    }
    for (limit, expected) in
        [(-1, [0, 1, 2, 3]), (1, [10, 20, 2, 3]), (9, [30, 20, 20, 20]), (0, [10, 1, 2, 3])]
    {
        let mut out = on.program.zeros([4])?;
        stops(limit, &mut out).launch()?;
        assert_eq!(out.to_vec()?, expected, "{limit}");
    }
    Ok(())
}

#[on_all_backends]
fn a_result_of_another_aggregate_is_rejected(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let b = qd::builder::KernelBuilder::new("one");
    let x = b.param_tensor("x", qd::ir::ScalarType::F32, 1);
    b.return_(x.load(0u64));
    let one = qd::Kernel::new(b.build().expect("a valid kernel"))?;
    let x = on.program.tensor_from(&[2.5f32], [1])?;
    let error = one.call::<(f32, f32)>().arg(&x).launch().expect_err("one number");
    assert!(matches!(&error, Error::ResultType { asked, .. } if asked == "(f32, f32)"), "{error}");
    assert_eq!(one.call::<Vector<f32, 1>>().arg(&x).launch()?, Vector([2.5]));
    Ok(())
}
