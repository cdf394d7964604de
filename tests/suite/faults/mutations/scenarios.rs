//! The scenarios in which a call is ignored. Wrong results are errors instead of panics, since there are hundreds.

use std::{
    error::Error,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use quadrants::{self as qd, Hazards, Program, Result, Stream, Tensor};

use crate::common::{copy, saxpy, set, three_blocks};

const N: usize = 64;

static NUMBERS: AtomicU32 = AtomicU32::new(100);
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

/// Tensors, each used on `stream` right after its creation. Their first fills are known to be complete.
fn tensors<const K: usize>(program: &Program, stream: &Stream) -> Result<[Tensor<f32, 1>; K]> {
    positive(1).launch_on(stream)?;
    let one = |_| {
        let mut made = program.zeros([N])?;
        // Another number each time, which no memory of an earlier read holds.
        let number = NUMBERS.fetch_add(1, Relaxed) as f32;
        set(number, &mut made).launch_on(stream)?;
        assert_eq!(made.to_vec()?, [number; N]);
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
/// The only scenario in which uploads use the staging memory of earlier ones.
pub(crate) const FIRST_FILLS: &str = "first fills";
pub(crate) const LONG_COPIES: &str = "long copies";
/// The scenario in which new tensors could get the memory of dropped ones too early.
pub(crate) const MEMORY_AGAIN: &str = "memory used again";
/// A scenario that drops a tensor at work, and then makes none.
pub(crate) const COPIES: &str = "copies";

/// Scenarios whose tensors are dropped while streams use them, with no tensors afterwards.
pub(crate) const HOST_REGIONS: &str = "regions of the host";
pub(crate) const PINNED_MEMORY: &str = "pinned memory";

/// The scenarios by name, with their hazard policy.
pub(crate) const SCENARIOS: [(&str, Hazards, Scenario); 15] = [
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
    (HOST_REGIONS, Hazards::Report, |program| {
        let s = program.create_stream()?;
        let [mut x, mut a, mut b, mut c, mut out] = tensors(program, &s)?;
        for value in [1.0, 2.0] {
            let run = || {
                set(value, &mut x).launch()?;
                program.stream_parallel(|p| {
                    p.block(|| copy(&x, &mut a).launch())?;
                    p.block(|| b.copy_from(&x))?;
                    p.block(|| saxpy(1.0, &x, &mut c).launch())
                })?;
                // Behind the join: the blocks read `x`, and wrote the others.
                set(-1.0, &mut x).launch()?;
                saxpy(1.0, &a, &mut b).launch()?;
                saxpy(1.0, &b, &mut c).launch()
            };
            s.scope(run)?;
        }
        // Only the stream of the region uses it, so that nothing else waits for the blocks.
        copy(&c, &mut out).launch_on(&s)?;
        check(out.to_vec()?, vec![0.5 + 3.0 + 6.0; N])
    }),
    (PINNED_MEMORY, Hazards::Report, |program| {
        let (s1, s2) = (program.create_stream()?, program.create_stream()?);
        let [mut a, mut sum] = tensors(program, &s1)?;
        let [mut b] = tensors(program, &s2)?;
        let mut host = program.pinned(N)?;
        for value in [1.0_f32, 2.0] {
            // After the earlier copy has read it.
            host.as_mut_slice()?.fill(value);
            s1.scope(|| a.write_async(&host))?;
            saxpy(1.0, &a, &mut sum).launch_on(&s1)?;
        }
        set(7.0, &mut b).launch_on(&s2)?;
        // Overwrites the pinned memory after the copy on the other stream has read it.
        s2.scope(|| b.read_async(&mut host))?;
        check(host.as_slice()?, &[7.0; N][..])?;
        check(sum.to_vec()?, vec![3.5; N])?;
        // Dropped with a copy in flight.
        let mut other = program.pinned(N)?;
        s1.scope(|| a.read_async(&mut other))?;
        drop(other);
        Ok(())
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
    (COPIES, Hazards::Report, |program| {
        let mut a = program.tensor_from(&[1.0; N], [N])?;
        check(a.to_vec()?, [1.0; N])?;
        let b = program.tensor_from(&[2.0; N], [N])?;
        let s = program.create_stream()?;
        copy(&b, &mut a).launch_on(&s)?;
        a.write(&[3.0; N])?;
        let c = program.tensor_from(&[4.0; N], [N])?;
        check((a.to_vec()?, c.to_vec()?), (vec![3.0; N], vec![4.0; N]))?;
        set(5.0, &mut a).launch_on(&s)?;
        check(a.to_vec()?, [5.0; N])?;
        a.write(&[6.0; N])?;
        set(7.0, &mut a).launch_on(&s)?;
        a.fill(8.0)?;
        let mut d = program.zeros([N])?;
        copy(&a, &mut d).launch_on(&s)?;
        check((a.to_vec()?, d.to_vec()?), (vec![8.0; N], vec![8.0; N]))
    }),
    (FIRST_FILLS, Hazards::Report, |program| {
        let (s1, s2) = (program.create_stream()?, program.create_stream()?);
        let mut y = program.zeros::<f32, 1>([N])?;
        set(2.0, &mut y).launch_on(&s1)?;
        let x = program.tensor_from(&[1.0; N], [N])?;
        copy(&x, &mut y).launch_on(&s1)?;
        let mut z = program.zeros::<f32, 1>([N])?;
        saxpy(3.0, &x, &mut z).launch_on(&s2)?;
        check((y.to_vec()?, z.to_vec()?), (vec![1.0; N], vec![3.0; N]))?;
        // Freed without a use.
        drop((program.zeros::<f32, 1>([N])?, program.tensor_from(&[4.0; N], [N])?));
        // The staging memory of the first is used again.
        let uploads: [_; 8] = std::array::from_fn(|k| program.tensor_from(&[k as f32; N], [N]));
        z.write(&[8.0; N])?;
        let uploads = uploads.into_iter().collect::<Result<Vec<_>>>()?;
        for upload in &uploads {
            saxpy(1.0, upload, &mut z).launch_on(&s1)?;
        }
        check(z.to_vec()?, [36.0; N])?;
        // A host array is copied on the stream of its launch.
        for value in [9.0, 10.0] {
            copy(&*qd::host(&[value; N], [N])?, &mut z).launch_on(&s1)?;
        }
        saxpy(1.0, &x, &mut z).launch_on(&s1)?;
        z.write(&[11.0; N])?;
        copy(&z, &mut y).launch_on(&s2)?;
        check(y.to_vec()?, [11.0; N])
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
        // Now, because work may proceed at each driver call of the load.
        saxpy(1.0, &x, &mut y).prepare(program)?;
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
        set(3.0, &mut next).launch()?;
        check((y.to_vec()?, z.to_vec()?), (vec![2.5; N], vec![4.5; N]))?;
        check((next.to_vec()?, w.to_vec()?), (vec![3.0; N], vec![6.5; N]))
    }),
    (MEMORY_AGAIN, Hazards::Report, |program| {
        let (s1, s2, s3, s4) = (
            program.create_stream()?,
            program.create_stream()?,
            program.create_stream()?,
            program.create_stream()?,
        );
        let ([mut a], [mut b]) = (tensors(program, &s1)?, tensors(program, &s2)?);
        let [mut c] = tensors(program, &s3)?;
        for late in 0..3 {
            let [x] = tensors(program, &s4)?;
            s4.synchronize()?;
            // No two reads have the same numbers.
            let factors = [2.0, 20.0, 200.0];
            let outs = [&mut a, &mut b, &mut c];
            for ((out, factor), stream) in outs.into_iter().zip(factors).zip([&s1, &s2, &s3]) {
                saxpy(factor, &x, out).launch_on(stream)?;
            }
            drop(x);
            // One reader is at work.
            let outs = [&a, &b, &c];
            let expected = factors.map(|factor| [0.5 + factor / 2.0 * (late + 1) as f32; N]);
            for done in (0..3).filter(|k| *k != late) {
                check(outs[done].to_vec()?, expected[done])?;
            }
            let mut next = program.zeros([N])?;
            set(3.0, &mut next).launch_on(&s4)?;
            check(outs[late].to_vec()?, expected[late])?;
            check(next.to_vec()?, [3.0; N])?;
        }
        // Freed with a reader at work.
        let [x] = tensors(program, &s1)?;
        saxpy(2.0, &x, &mut a).launch_on(&s1)?;
        drop(x);
        program.trim_pools();
        let mut next = program.zeros([N])?;
        set(3.0, &mut next).launch_on(&s4)?;
        check((a.to_vec()?, next.to_vec()?), (vec![4.5; N], vec![3.0; N]))
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
