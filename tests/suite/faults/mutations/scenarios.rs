//! The scenarios in which a call is ignored. Wrong results are errors instead of panics, since there are hundreds.

use std::{
    error::Error,
    panic::{AssertUnwindSafe, catch_unwind},
};

use quadrants::{self as qd, Hazards, Program, Result, Stream, Tensor};

use crate::common::{copy, saxpy, set, three_blocks};

const N: usize = 64;
/// Longer than the chunks of a copy.
const LONG: usize = (9 << 20) / 4;

#[qd::kernel]
fn total(x: &Tensor<f32, 1>) -> f32 {
    x[0] + x[x.len() - 1]
}

pub(crate) type Outcome = std::result::Result<(), Box<dyn Error>>;
pub(crate) type Scenario = fn(&Program) -> Outcome;

fn check<T: PartialEq<U>, U>(found: T, expected: U) -> Outcome {
    if found == expected { Ok(()) } else { Err("a wrong answer".into()) }
}

/// Uses only the launch's own memory, which a stream may keep.
#[qd::kernel]
fn positive(x: i32) {
    assert!(x > 0);
}

/// Zeroed tensors, each used on `stream` right after its creation.
fn tensors<const K: usize>(program: &Program, stream: &Stream) -> Result<[Tensor<f32, 1>; K]> {
    positive(1).launch_on(stream)?;
    let one = |_| {
        let mut made = program.zeros([N])?;
        set(0.5, &mut made).launch_on(stream)?;
        Ok(made)
    };
    let made = (0..K).map(one).collect::<Result<Vec<_>>>()?;
    Ok(made.try_into().unwrap_or_else(|_| unreachable!("K were made")))
}

/// Unwinds with work in flight.
fn unwind(work: impl FnOnce() -> Result<()>) -> Outcome {
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        let outcome = work();
        std::panic::resume_unwind(Box::new(outcome))
    }));
    match unwound {
        Ok(()) => Err("no panic".into()),
        Err(payload) => match payload.downcast::<Result<()>>() {
            Ok(outcome) => Ok((*outcome)?),
            Err(_) => Err("another panic".into()),
        },
    }
}

/// The only scenario that first uses the objects created by opening a program.
pub(crate) const A_REPORT: &str = "a report";
pub(crate) const LONG_COPIES: &str = "long copies";

/// The scenarios by name, with their hazard policy.
pub(crate) const SCENARIOS: [(&str, Hazards, Scenario); 11] = [
    (A_REPORT, Hazards::Report, |program| {
        let s = program.create_stream()?;
        positive(0).launch_on(&s)?;
        check(s.synchronize().is_err(), true)
    }),
    ("streams and events", Hazards::Report, |program| {
        let (s1, s2) = (program.create_stream()?, program.create_stream()?);
        let done = program.create_event()?;
        let [mut a, mut b] = tensors(program, &s1)?;
        for value in [1.0, 2.0] {
            set(value, &mut a).launch_on(&s1)?;
            done.record(&s1)?;
            done.wait(&s2)?;
            copy(&a, &mut b).launch_on(&s2)?;
            done.record(&s2)?;
            done.wait(&s1)?;
        }
        set(3.0, &mut a).launch_on(&s1)?;
        done.synchronize()?;
        check(done.query()? && s2.query()?, true)?;
        s1.synchronize()?;
        check(s1.query()?, true)?;
        set(4.0, &mut b).launch()?;
        program.sync()?;
        check(program.default_stream().query()?, true)?;
        set(5.0, &mut a).launch_on(&s2)?;
        program.device_sync()?;
        check(s2.query()?, true)?;
        check((a.to_vec()?, b.to_vec()?), (vec![5.0; N], vec![4.0; N]))
    }),
    ("regions", Hazards::Report, |program| {
        let s = program.create_stream()?;
        let [mut a, mut b, mut c, mut d] = tensors(program, &s)?;
        for _ in 0..2 {
            set(1.0, &mut a).launch_on(&s)?;
            set(2.0, &mut b).launch_on(&s)?;
            set(3.0, &mut c).launch_on(&s)?;
            three_blocks(&mut a, &mut b, &mut c).launch_on(&s)?;
            // Each block runs on another stream than before.
            three_blocks(&mut b, &mut c, &mut a).launch_on(&s)?;
            for (x, value) in [(&a, 9.0), (&b, 12.0), (&c, 11.0)] {
                copy(x, &mut d).launch_on(&s)?;
                check(d.to_vec()?, [value; N])?;
            }
        }
        copy(&c, &mut d).launch_on(&s)?;
        s.destroy()?;
        set(1.0, &mut b).launch()?;
        set(2.0, &mut c).launch()?;
        three_blocks(&mut a, &mut b, &mut c).launch()?;
        check((c.to_vec()?, b.to_vec()?), (vec![7.0; N], vec![4.0; N]))?;
        check(a.to_vec()?, [20.0; N])
    }),
    ("values", Hazards::Report, |program| {
        let s = program.create_stream()?;
        let [mut a] = tensors(program, &s)?;
        for (value, on) in [(1.0, &s), (2.0, program.default_stream()), (3.0, &s)] {
            set(value, &mut a).launch_on(on)?;
            check(total(&a).launch_on(on)?, 2.0 * value)?;
        }
        Ok(())
    }),
    ("copies", Hazards::Report, |program| {
        let mut a = program.tensor_from(&[1.0; N], [N])?;
        check(a.to_vec()?, [1.0; N])?;
        let b = program.tensor_from(&[2.0; N], [N])?;
        let s = program.create_stream()?;
        copy(&b, &mut a).launch_on(&s)?;
        a.copy_from(&[3.0; N])?;
        let c = program.tensor_from(&[4.0; N], [N])?;
        check((a.to_vec()?, c.to_vec()?), (vec![3.0; N], vec![4.0; N]))?;
        set(5.0, &mut a).launch_on(&s)?;
        check(a.to_vec()?, [5.0; N])?;
        a.copy_from(&[6.0; N])?;
        set(7.0, &mut a).launch_on(&s)?;
        a.fill(8.0)?;
        copy(&a, &mut program.zeros([N])?).launch_on(&s)?;
        check(a.to_vec()?, [8.0; N])
    }),
    (LONG_COPIES, Hazards::Report, |program| {
        let values: Vec<u32> = (0..LONG as u32).collect();
        let a = program.tensor_from(&values, [LONG])?;
        check(a.to_vec()? == values, true)
    }),
    ("drops under readers", Hazards::Report, |program| {
        let (s1, s2, s3) =
            (program.create_stream()?, program.create_stream()?, program.create_stream()?);
        let [mut x, mut w] = tensors(program, &s1)?;
        let ([mut y], [mut z]) = (tensors(program, &s2)?, tensors(program, &s3)?);
        let done = program.create_event()?;
        set(2.0, &mut x).launch_on(&s1)?;
        done.record(&s1)?;
        for s in [&s2, &s3] {
            done.wait(s)?;
        }
        saxpy(1.0, &x, &mut y).launch_on(&s2)?;
        saxpy(2.0, &x, &mut z).launch_on(&s3)?;
        saxpy(3.0, &x, &mut w).launch_on(&s1)?;
        drop(x);
        // In the memory of the dropped one.
        let mut next = program.zeros([N])?;
        set(3.0, &mut next).launch_on(&s1)?;
        check((y.to_vec()?, z.to_vec()?), (vec![2.5; N], vec![4.5; N]))?;
        check((next.to_vec()?, w.to_vec()?), (vec![3.0; N], vec![6.5; N]))
    }),
    ("streams dropped at work", Hazards::Report, |program| {
        let s = program.create_stream()?;
        let [mut a, mut b] = tensors(program, &s)?;
        set(1.0, &mut a).launch_on(&s)?;
        drop(s);
        check(a.to_vec()?, [1.0; N])?;
        let s = program.create_stream()?;
        set(2.0, &mut a).launch_on(&s)?;
        s.destroy()?;
        copy(&a, &mut b).launch()?;
        program.sync()?;
        let s = program.create_stream()?;
        set(3.0, &mut a).launch_on(&s)?;
        drop((s, a));
        let next = program.tensor_from(&[4.0; N], [N])?;
        check((b.to_vec()?, next.to_vec()?), (vec![2.0; N], vec![4.0; N]))
    }),
    ("streams dropped by panics", Hazards::Report, |program| {
        let [mut a] = tensors(program, program.default_stream())?;
        program.sync()?;
        unwind(|| {
            let mut gone = program.zeros::<f32, 1>([N])?;
            let stream = program.create_stream()?;
            set(3.0, &mut gone).launch_on(&stream)?;
            set(4.0, &mut a).launch_on(&stream)
        })?;
        let mut next = program.zeros::<f32, 1>([N])?;
        check(a.to_vec()?, [4.0; N])?;
        // In flight when the program ends.
        unwind(|| set(1.0, &mut next).launch_on(&program.create_stream()?))
    }),
    ("many launches in flight", Hazards::Report, |program| {
        let s = program.create_stream()?;
        let [mut a] = tensors(program, &s)?;
        let [mut b] = tensors(program, program.default_stream())?;
        for value in 0..20 {
            set(value as f32, &mut a).launch_on(&s)?;
            set(value as f32, &mut b).launch()?;
        }
        check((a.to_vec()?, b.to_vec()?), (vec![19.0; N], vec![19.0; N]))
    }),
    ("waits that are inserted", Hazards::Auto, |program| {
        let (s1, s2) = (program.create_stream()?, program.create_stream()?);
        let [mut a] = tensors(program, &s1)?;
        let [mut b] = tensors(program, &s2)?;
        for value in [1.0, 2.0] {
            set(value, &mut a).launch_on(&s1)?;
            copy(&a, &mut b).launch_on(&s2)?;
        }
        set(3.0, &mut a).launch_on(&s1)?;
        set(6.0, &mut b).launch_on(&s2)?;
        check((b.to_vec()?, a.to_vec()?), (vec![6.0; N], vec![3.0; N]))
    }),
];
