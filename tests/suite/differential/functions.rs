//! The accuracy of math functions whose last bits differ between devices.

use quadrants::ir::{
    Const,
    MathFn::{self, *},
    ScalarType,
    abi::{Form, Forms, Passing},
    offload,
};
use quadrants_samples::{Builder, F32, F64, U64, case::Case, generate::Rng, run::SampleArg};
use quadrants_tests::{TestBackend, on_gpu_backends};

use super::{Trial, device::OnDevice};

/// The functions, and how many units in the last place they may be off: what CUDA's manual says of the worse of the
/// two types, and one for the processor's own error.
const FUNCTIONS: [(MathFn, u64); 20] = [
    (Sin, 3),
    (Cos, 3),
    (Tan, 5),
    (Exp, 3),
    (Ln, 2),
    (Exp2, 3),
    (Log2, 2),
    (Log10, 3),
    (Cbrt, 2),
    (Asin, 5),
    (Acos, 3),
    (Atan, 3),
    (Sinh, 4),
    (Cosh, 3),
    (Tanh, 3),
    (ExpM1, 2),
    (Ln1p, 2),
    (Powf, 10),
    (Atan2, 4),
    (Hypot, 4),
];
const VALUES: u64 = 2000;

#[on_gpu_backends]
fn math_functions_are_within_their_documented_error(backend: TestBackend) {
    let Some((_world, opened)) = backend.open_device() else { return };
    let on = OnDevice::new(opened);
    let mut worst = Vec::new();
    for ((function, limit), seed) in FUNCTIONS.into_iter().zip(1..) {
        for ty in [F32, F64] {
            let mut rng = Rng::new(seed);
            let mut values = || (0..VALUES).map(|_| value(&mut rng, ty)).collect::<Vec<_>>();
            let (x, y) = (values(), values());
            let (expected, found) = compute(&on, function, ty, &x, &y);
            let pairs = expected.iter().zip(&found).zip(x.iter().zip(&y));
            let (off, at) = pairs
                .map(|((e, f), at)| (distance(*e, *f), at))
                .max_by_key(|p| p.0)
                .expect("values");
            assert!(off <= limit, "{function:?} of {ty} at {at:?} is {off} units off");
            worst.push(format!("{}({ty}) {off}", function.name()));
        }
    }
    println!("units off at most: {}", worst.join(", "));
}

/// The results of interpreter and device for `function(x, y)`.
fn compute(
    on: &OnDevice,
    function: MathFn,
    ty: ScalarType,
    x: &[Const],
    y: &[Const],
) -> (Vec<Const>, Vec<Const>) {
    let mut m = Builder::new(function.name());
    let [left, right, out] = ["x", "y", "out"].map(|name| m.tensor(name, ty, 1));
    let (zero, len) = (m.constant(0u64), m.dim(out, 0));
    let i = m.local("i", U64);
    let at = m.read(i);
    let [a, b] = [left, right].map(|tensor| {
        let value = m.load(tensor, &[at]);
        let local = m.local("value", ty);
        (quadrants::ir::Stmt::Let { local, value }, m.read(local))
    });
    let args = [a.1, b.1];
    let value = m.math(function, &args[..function.arity()]);
    let store = m.store(out, &[at], value);
    let body = m.parallel(&[(i, zero, len)], vec![a.0, b.0, store]);
    m.kernel.body.push(body);
    let kernel = offload(&m.kernel).expect("a valid kernel");
    let tensor =
        |elements: &[Const]| SampleArg::Tensor { shape: vec![VALUES], elements: elements.to_vec() };
    let mut case = Case::with(&kernel, &[tensor(x), tensor(y), tensor(x)]);
    case.large = true;
    let expected = case.interpret(Form::Checked).expect("it ends");
    let trial = Trial { case, forms: Forms::CHECKED, passing: Passing::Value, expected };
    let found = on.run(&trial).unwrap_or_else(|said| panic!("{function:?}: {said}"));
    let last = |buffers: &[Vec<u8>]| {
        let bytes = buffers.last().expect("tensors").chunks_exact(ty.size());
        let word =
            |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        bytes.map(|bytes| Const::from_bits(ty, word(bytes))).collect()
    };
    (last(&trial.expected), last(&found))
}

/// Mostly in the usual range of arguments.
fn value(rng: &mut Rng, ty: ScalarType) -> Const {
    let steps = rng.below(4001) as f64 - 2000.0;
    let value = steps * rng.pick(&[1e-5, 1e-3, 1e-3, 1e-2, 1e-2, 1.0]);
    match ty {
        F32 => (value as f32).into(),
        _ => value.into(),
    }
}

/// How many floats lie between two, one of them counted; none between NaNs, and all between one and a number.
fn distance(left: Const, right: Const) -> u64 {
    let is_nan = |value: Const| value.as_float().is_some_and(f64::is_nan);
    if is_nan(left) || is_nan(right) {
        return if is_nan(left) && is_nan(right) { 0 } else { u64::MAX };
    }
    // Floats as numbers in their order.
    let ordered = |value: Const| {
        let sign = 1u64 << (8 * value.ty().size() - 1);
        let magnitude = (value.bits() & (sign - 1)) as i64;
        if value.bits() & sign == 0 { magnitude } else { -magnitude }
    };
    ordered(left).abs_diff(ordered(right))
}

#[test]
fn ulp_distances_are_counted_across_zero() {
    let between = |a: f32, b: f32| distance(a.into(), b.into());
    assert_eq!(between(1.0, 1.0), 0);
    assert_eq!(between(1.0, 1.0 + f32::EPSILON), 1);
    assert_eq!(between(0.0, -0.0), 0);
    assert_eq!(between(f32::from_bits(1), -f32::from_bits(1)), 2);
    assert_eq!(between(f32::NAN, 1.0), u64::MAX);
}
