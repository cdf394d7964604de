//! Random numbers by cuRAND in a tensor: an estimate of π and moments of the normal distribution by kernels.
//!
//! Prints them beside those of the generator of quadrants, the times, and those of batches that cuRAND makes while a
//! kernel uses the batch before.

use std::f64::consts::PI;

use quadrants::{self as qd, Program, Tensor, writes};
use quadrants_library_examples::{
    Error, Result,
    curand::Generator,
    measure::{median, side_by_side},
};

/// The number of random numbers: half as many points.
const N: usize = 1 << 25;
const BATCHES: usize = 8;

/// The number of points in the quarter of a circle. `x` has the coordinates in pairs.
#[qd::kernel]
fn inside(x: &Tensor<f32, 1>, count: &mut Tensor<u64, 1>) {
    let mut sum = 0_u64;
    for i in 0..x.len() / 2 {
        let (a, b) = (x[2 * i], x[2 * i + 1]);
        if a * a + b * b <= 1.0 {
            sum += 1;
        }
    }
    count[0] += sum;
}

/// The sums of the first four powers.
#[qd::kernel]
fn powers(x: &Tensor<f32, 1>, sums: &mut Tensor<f64, 1>) {
    let mut first = 0.0;
    let mut second = 0.0;
    let mut third = 0.0;
    let mut fourth = 0.0;
    for i in 0..x.len() {
        let v = x[i] as f64;
        first += v;
        second += v * v;
        third += v * v * v;
        fourth += v * v * v * v;
    }
    sums[0] = first;
    sums[1] = second;
    sums[2] = third;
    sums[3] = fourth;
}

#[qd::kernel]
fn uniform(seed: u64, x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = qd::random_uniform(seed, i as u64, 0);
    }
}

#[qd::kernel]
fn normal(seed: u64, x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = qd::random_normal(seed, i as u64, 0);
    }
}

type Fill<'a> = &'a mut dyn FnMut(&mut Tensor<f32, 1>) -> Result<()>;

fn main() -> Result<()> {
    let program = Program::open(qd::Arch::Cuda)?;
    let mut x = program.zeros::<f32, 1>([N])?;
    // The closure runs with the program's context, which the generator belongs to from then on.
    let generator = program.foreign_on_current("create", [], [], |_| Generator::new(1234))??;
    let mut curand_uniform = |x: &mut Tensor<f32, 1>| -> Result<()> {
        let count = x.len();
        program.foreign_on_current("uniform", [], writes![x], |raw| {
            // SAFETY: the tensor has these elements and is borrowed for the call; all work is on the given stream,
            // which comes after earlier work of the generator.
            unsafe { generator.uniform(raw.stream, raw.writes[0].address, count) }
        })?
    };
    let mut curand_normal = |x: &mut Tensor<f32, 1>| -> Result<()> {
        let count = x.len();
        program.foreign_on_current("normal", [], writes![x], |raw| {
            // SAFETY: as above.
            unsafe { generator.normal(raw.stream, raw.writes[0].address, count) }
        })?
    };
    let mut own_uniform = |x: &mut Tensor<f32, 1>| -> Result<()> { Ok(uniform(1234, x).launch()?) };
    let mut own_normal = |x: &mut Tensor<f32, 1>| -> Result<()> { Ok(normal(1234, x).launch()?) };

    let mut count = program.zeros([1])?;
    let mut sums = program.zeros([4])?;
    let by: [(&str, Fill<'_>, Fill<'_>); 2] = [
        ("cuRAND", &mut curand_uniform, &mut curand_normal),
        ("kernel", &mut own_uniform, &mut own_normal),
    ];
    for (name, uniform, normal) in by {
        uniform(&mut x)?;
        count.fill(0)?;
        inside(&x, &mut count).launch()?;
        let points = (N / 2) as f64;
        let pi = 4.0 * count.get([0])? as f64 / points;
        // The standard deviation of the estimate.
        let deviation = (PI * (4.0 - PI) / points).sqrt();
        println!(
            "{name}: π is about {pi:.6}, wrong by {:.1} standard deviations",
            (pi - PI) / deviation
        );
        check("π", (pi - PI) / deviation)?;
        normal(&mut x)?;
        powers(&x, &mut sums).launch()?;
        let moments: Vec<f64> = sums.to_vec()?.iter().map(|sum| sum / N as f64).collect();
        println!("{name}: moments of the normal distribution {moments:.5?}, expected [0, 1, 0, 3]");
        // The variances of the powers.
        for ((moment, expected), variance) in
            moments.iter().zip([0.0, 1.0, 0.0, 3.0]).zip([1.0, 2.0, 15.0, 96.0])
        {
            check("moments", (moment - expected) / f64::sqrt(variance / N as f64))?;
        }
        let [of_uniform, of_normal] =
            [median(&program, || uniform(&mut x))?, median(&program, || normal(&mut x))?];
        println!("{name}: {N} numbers, uniform {of_uniform:.1?}, normal {of_normal:.1?}");
    }

    // Batches, each used while the next one is made.
    let mut next = program.zeros::<f32, 1>([N])?;
    curand_uniform(&mut x)?;
    let in_turn = median(&program, || {
        (0..BATCHES).try_for_each(|_| {
            curand_uniform(&mut next)?;
            Ok(inside(&x, &mut count).launch()?)
        })
    })?;
    let beside = median(&program, || {
        (0..BATCHES).try_for_each(|_| {
            side_by_side(
                &program,
                || curand_uniform(&mut next),
                || Ok(inside(&x, &mut count).launch()?),
            )?;
            std::mem::swap(&mut x, &mut next);
            Ok(())
        })
    })?;
    let ratio = beside.as_secs_f64() / in_turn.as_secs_f64();
    println!(
        "{BATCHES} batches: in turn {in_turn:.1?}, side by side {beside:.1?}, {ratio:.2} of that"
    );
    Ok(())
}

/// Refuses what is wrong by more than five standard deviations.
fn check(what: &'static str, deviations: f64) -> Result<()> {
    if deviations.abs() < 5.0 {
        return Ok(());
    }
    Err(Error::Different { what, difference: deviations })
}
