//! Every kernel gives the same bits on the CPU (rustc's body) and on the simulated GPUs (the interpreter
//! runs its IR).

// Clippy proposes methods that kernels do not have.
#![allow(clippy::manual_is_multiple_of, clippy::manual_clamp)]

use quadrants::{self as qd, Tensor};
use quadrants_tests::{
    TestBackend::{self, Cpu},
    on_all_backends, on_gpu_backends,
};

const N: usize = 257;
const SHIFT: u32 = 3;
const SCALE: f32 = 1.0 / 3.0;

#[qd::func]
fn blend(a: f32, b: f32, t: f32) -> f32 {
    let kept = 1.0 - t;
    a * kept + b * t
}

#[qd::func]
fn collatz(start: u32) -> u32 {
    let mut n = start;
    let mut steps = 0;
    while n > 1 {
        if n % 2 == 0 {
            n /= 2;
        } else {
            n = 3 * n + 1;
        }
        steps += 1;
    }
    steps
}

#[qd::kernel]
fn floats(t: f32, x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        let v = x[i];
        let root = v.abs().sqrt();
        let clipped = v.min(3.0).max(-2.5);
        y[i] = blend(root, clipped.floor() + v.ceil() - v.round(), t) * SCALE;
        y[i] += v.mul_add(2.0, -1.0) / (v * v + 0.5);
    }
}

#[qd::kernel]
fn integers(x: &Tensor<i32, 1>, y: &mut Tensor<i64, 1>) {
    for i in 0..x.len() {
        let v = x[i];
        let mixed = (v ^ 0x55) & !(v << SHIFT) | (v >> 2);
        let divided = v / (i as i32 % 7 + 1) - v % 5;
        y[i] = mixed as i64 * 1_000 + divided as i64 + (v as f32 * 1.5) as i64;
        y[i] += collatz(v as u32 % 1000 + 1) as i64;
    }
}

#[qd::kernel]
fn control(n: usize, y: &mut Tensor<u32, 1>) {
    let limit = n as u32 / 2;
    for i in 0..n {
        let mut sum = 0;
        for k in 0..i as u32 {
            if k > limit && k % 3 == 0 || k == 5 {
                continue;
            }
            if sum > 1_000 {
                break;
            }
            sum += k;
        }
        if i % 4 == 0 {
            continue;
        }
        y[i] = if sum > limit {
            sum - limit
        } else {
            let twice = 2 * sum;
            twice
        };
    }
}

#[qd::kernel]
fn shadows(a: i32, y: &mut Tensor<i32, 1>) {
    let a = a + 1;
    let b = a * 2;
    for i in 0..y.len() {
        let a = b + i as i32;
        let b = a - 1;
        y[i] = a * b;
    }
    let a = b - a;
    for i in 0..y.len() {
        y[i] += a;
    }
}

#[qd::kernel]
fn planes(a: &Tensor<f64, 2>, b: &mut Tensor<f64, 2>, c: &mut Tensor<f64, 3>) {
    let [h, w] = a.shape();
    for (i, j) in qd::ndrange((1..h - 1, 1..w - 1)) {
        b[[i, j]] = 0.25 * (a[[i - 1, j]] + a[[i + 1, j]] + a[[i, j - 1]] + a[[i, j + 1]]);
    }
    for (i, j, k) in qd::ndrange(c.shape()) {
        c[[i, j, k]] = b[[i, j]] * k as f64 - i as f64;
    }
}

#[qd::kernel]
fn counted(x: &Tensor<i32, 1>, y: &mut Tensor<i32, 1>) -> i32 {
    for i in 0..x.len() {
        qd::atomic_add(&mut y[0], x[i]);
        qd::atomic_min(&mut y[1], x[i]);
        qd::atomic_max(&mut y[2], x[i]);
    }
    let spread = y[2] - y[1];
    spread + y[0]
}

#[qd::kernel]
fn blocks(t: f32, x: &mut Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    let t = t + 0.5;
    qd::stream_parallel(|| {
        for i in 0..x.len() {
            x[i] = blend(x[i], i as f32, t);
        }
        for i in 0..x.len() {
            x[i] *= 0.5;
        }
    });
    let t = t * 2.0;
    qd::stream_parallel(|| {
        let n = y.len();
        for i in 0..n {
            y[i] = (n - i) as f32 * t;
        }
    })
}

/// The results of all kernels above, as bits.
fn everything(program: &qd::Program) -> qd::Result<Vec<u64>> {
    let reals: Vec<f32> = (0..N).map(|i| i as f32 * 0.37 - 40.0).collect();
    let ints: Vec<i32> = (0..N as i32).map(|i| i.wrapping_mul(7_919) - 60_000).collect();
    let mut bits = Vec::new();

    let mut x = program.tensor_from(&reals, [N])?;
    let mut y = program.zeros::<f32, 1>([N])?;
    floats(0.3, &x, &mut y).launch()?;
    bits.extend(y.to_vec()?.iter().map(|v| u64::from(v.to_bits())));

    let i = program.tensor_from(&ints, [N])?;
    let mut wide = program.zeros::<i64, 1>([N])?;
    integers(&i, &mut wide).launch()?;
    bits.extend(wide.to_vec()?.iter().map(|v| *v as u64));

    let mut counts = program.zeros::<u32, 1>([N])?;
    control(N, &mut counts).launch()?;
    bits.extend(counts.to_vec()?.iter().map(|v| u64::from(*v)));

    let mut small = program.zeros::<i32, 1>([9])?;
    shadows(4, &mut small).launch()?;
    bits.extend(small.to_vec()?.iter().map(|v| *v as u64));

    let field: Vec<f64> = (0..12 * 17).map(|i| f64::from(i * i % 101)).collect();
    let a = program.tensor_from(&field, [12, 17])?;
    let mut b = program.zeros::<f64, 2>([12, 17])?;
    let mut c = program.zeros::<f64, 3>([12, 17, 3])?;
    planes(&a, &mut b, &mut c).launch()?;
    bits.extend(c.to_vec()?.iter().map(|v| v.to_bits()));

    let mut three = program.tensor_from(&[0, i32::MAX, i32::MIN], [3])?;
    bits.push(counted(&i, &mut three).launch()? as u64);
    bits.extend(three.to_vec()?.iter().map(|v| *v as u64));

    blocks(0.1, &mut x, &mut y).launch()?;
    bits.extend(x.to_vec()?.iter().chain(&y.to_vec()?).map(|v| u64::from(v.to_bits())));
    Ok(bits)
}

#[on_gpu_backends]
fn every_backend_computes_the_same_bits(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let Some(cpu) = Cpu.open() else { return Ok(()) };
    let expected = everything(&cpu.program)?;
    assert_eq!(everything(&on.program)?, expected);
    Ok(())
}

#[on_all_backends]
fn device_errors_name_their_source_location(backend: TestBackend) -> qd::Result<()> {
    use qd::KernelErrorCause::{Assert, DivideByZero, IndexOutOfRange};

    #[qd::kernel]
    fn guarded(divisor: i32, ahead: usize, x: &Tensor<i32, 1>, y: &mut Tensor<i32, 1>) {
        for i in 0..x.len() {
            assert!(x[i] < 100, "too large");
            y[i] = x[i + ahead] / divisor;
        }
    }
    let line = line!() - 4;

    let Some(on) = backend.open() else { return Ok(()) };
    let run = |elements: &[i32], divisor, ahead| {
        let x = on.program.tensor_from(elements, [elements.len()]).unwrap();
        let mut y = on.program.zeros([elements.len()]).unwrap();
        let launched =
            guarded(divisor, ahead, &x, &mut y).launch().and_then(|()| on.program.sync());
        match launched {
            Err(qd::Error::Kernel(error)) => Some((error.line, error.cause)),
            other => other.map(|()| None).unwrap(),
        }
    };
    assert!(run(&[1, 2, 3], 2, 0).is_none());
    let (at, cause) = run(&[1, 2, 3], 2, 1).expect("out of range");
    assert_eq!(at, line + 1);
    assert!(matches!(cause, IndexOutOfRange { tensor, index, shape }
        if tensor == "x" && index == [3] && shape == [3]));
    let (at, cause) = run(&[1, 200, 3], 2, 0).expect("an assertion fails");
    assert_eq!(at, line);
    assert!(matches!(cause, Assert { message } if message == "too large"));
    let (at, cause) = run(&[1, 2, 3], 0, 0).expect("division by zero");
    assert_eq!(at, line + 1);
    assert!(matches!(cause, DivideByZero));
    Ok(())
}
