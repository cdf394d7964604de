//! The top level of a kernel: serial statements, values that later loops need,
//! the kernel's result.

use quadrants::{self as qd, Error};
use quadrants_tests::{TestBackend, on_all_backends};

use super::{Array, Same, differential, source};

source! { serial;
    fn run(n: usize, x: &mut Tensor<f32, 1>, counts: &mut Tensor<i32, 1>) {
        x[0] = 2.0;
        x[1] += x[0] * 3.0;
        if n > 2 {
            x[2] = x[1] + 1.0;
        } else {
            counts[0] = -1;
        }
        for i in 3..x.len() {
            x[i] = i as f32;
        }
        let mut k = 0;
        while x[k] < 5.0 {
            k += 1;
        }
        counts[1] = k as i32;
        let old = qd::atomic_add(&mut counts[2], 4);
        counts[3] = old + counts[2];
        for i in 0..x.len() {
            x[i] *= 2.0;
        }
        counts[4] = x[x.len() - 1] as i32;
        assert!(counts[4] > 0, "positive");
    }
}

source! { temporaries;
    fn run(
        scale: f64,
        from: usize,
        to: usize,
        at: &Tensor<i32, 1>,
        flags: &Tensor<bool, 1>,
        x: &mut Tensor<f64, 1>,
        out: &mut Tensor<f64, 1>,
    ) {
        let first = x[0];
        let shift = at[0] as usize - from;
        let on = flags[1];
        let wide = (at[1] as u64 + shift as u64) * 3_000_000_000;
        let narrow = x[1] as f32 / 3.0;
        let double = first * scale;
        for i in 0..x.len() {
            x[i] = -1.0;
        }
        for i in from..to {
            out[i] = x[at[2] as usize] + first + double + if on { narrow as f64 } else { 0.0 };
        }
        let mut total = 0.0;
        let mut k = from;
        while k < to {
            total += out[k];
            k += 1;
        }
        let again = x[0];
        for i in 0..from {
            out[i] = total + wide as f64 + again;
        }
        for i in 0..out.len() {
            if i < (again + 3.0) as usize {
                out[i] += 0.5;
            }
        }
    }
}

macro_rules! results {
    ($($name:ident: $ty:ty;)*) => {$(
        source! { $name;
            fn run(x: &Tensor<$ty, 1>) -> $ty {
                let last = x[x.len() - 1];
                last
            }
        }
    )*};
}

results! {
    gives_f32: f32;
    gives_f64: f64;
    gives_i32: i32;
    gives_i64: i64;
    gives_u32: u32;
    gives_u64: u64;
    gives_usize: usize;
    gives_bool: bool;
}

source! { sum;
    fn run(power: i32, x: &Tensor<i32, 1>, total: &mut Tensor<i32, 1>) -> f64 {
        for i in 0..x.len() {
            qd::atomic_add(&mut total[0], x[i]);
        }
        let mean = total[0] as f64 / x.len() as f64;
        if mean > 10.0 { mean.powi(power) } else { -1.0 }
    }
}

source! { product;
    fn run(a: i32, b: u64, negative: bool) -> i64 {
        let product = a as i64 * b as i64;
        if negative { -product } else { product }
    }
}

source! { nothing;
    fn run(a: i32) {
        assert!(a < 10);
    }
}

#[on_all_backends]
fn serial_statements_run_in_source_order(
    backend: TestBackend,
    #[values(2, 3)] n: usize,
) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let (x, counts) = (Array::zeros([300]), Array::of(&[0, 0, 10, 0, 0]));
    differential!(&on.program, serial [n] [] [x, counts]);
    Ok(())
}

#[on_all_backends]
fn values_loaded_before_a_loop_are_passed_to_it(
    backend: TestBackend,
    #[values(false, true)] flag: bool,
) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let at = Array::of(&[25, 290, 7]);
    let flags = Array::of(&[!flag, flag]);
    let (x, out) = (Array::of(&[0.5; 40]), Array::zeros([300]));
    // Twice, so that the second launch finds other temporaries in the same memory.
    for scale in [2.0, -4.0] {
        let (x, out) = (x.clone(), out.clone());
        differential!(&on.program, temporaries [scale, 5, 290] [at, flags] [x, out] within 1e-12);
    }
    Ok(())
}

#[on_all_backends]
fn a_kernel_returns_a_value_of_every_type(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    macro_rules! run {
        ($name:ident, $values:expr) => {
            for value in $values {
                let x = Array::of(&[Default::default(), value]);
                differential!(&on.program, $name [] [x] []);
            }
        };
    }
    run!(gives_f32, [-1.5, f32::MAX, f32::NAN]);
    run!(gives_f64, [0.1, f64::NEG_INFINITY]);
    run!(gives_i32, [-5, i32::MIN]);
    run!(gives_i64, [-5, i64::MAX]);
    run!(gives_u32, [7, u32::MAX]);
    run!(gives_u64, [7, u64::MAX]);
    run!(gives_usize, [7, usize::MAX]);
    run!(gives_bool, [false, true]);
    let x = Array::of(&[10, 20, 30]);
    for power in [2, 3] {
        let total = Array::zeros([1]);
        differential!(&on.program, sum[power][x][total]);
    }
    Ok(())
}

#[on_all_backends]
fn a_kernel_without_tensors_needs_a_stream(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let no_program = |result: qd::Result<i64>| match result {
        Err(Error::NoProgram { kernel }) => assert_eq!(kernel, "run"),
        other => panic!("{other:?}"),
    };
    let launch = || product::device::run(-3, 5_000_000_000, true);
    let expected = product::host::run(-3, 5_000_000_000, true);
    let stream = on.program.create_stream()?;
    no_program(launch().launch());
    assert_eq!(launch().launch_on(&stream)?, expected);
    assert_eq!(launch().launch_on(on.program.default_stream())?, expected);
    assert_eq!(stream.scope(|| launch().launch())?, expected);
    no_program(launch().launch());
    nothing::host::run(1);
    nothing::device::run(9).launch_on(&stream)?;
    stream.synchronize()
}
