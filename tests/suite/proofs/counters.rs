//! Tickets of atomic counters: unique, unless a launch could overflow the counter's type, which is rejected.

use quadrants::{self as qd, CounterOverflow, Error, RaceReason, Result, Tensor};
use quadrants_tests::{TestBackend, on_all_backends};

/// The number of values of a 32-bit counter.
const ALL: u64 = 1 << 32;

/// A loop of up to `m` iterations that ends after `stop`.
#[qd::kernel]
fn inner(n: usize, m: u64, stop: u64, count: &mut Tensor<u32, 1>, out: &mut Tensor<u32, 1>) {
    for i in 0..n {
        for k in 0..m {
            if k >= stop {
                break;
            }
            let at = qd::atomic_add(&mut count[0], 1);
            out[at as usize] = i as u32;
        }
    }
}

#[qd::kernel]
fn inner_of_64_bits(
    n: usize,
    m: u64,
    stop: u64,
    count: &mut Tensor<u64, 1>,
    out: &mut Tensor<u32, 1>,
) {
    for i in 0..n {
        for k in 0..m {
            if k >= stop {
                break;
            }
            let at = qd::atomic_add(&mut count[0], 1);
            out[at as usize] = i as u32;
        }
    }
}

#[qd::kernel]
fn twice(n: usize, m: u64, stop: u64, count: &mut Tensor<i32, 1>, out: &mut Tensor<u32, 1>) {
    for i in 0..n {
        for k in 0..m {
            if k >= stop {
                break;
            }
            let at = qd::atomic_add(&mut count[0], 1);
            out[at as usize] = i as u32;
            for j in k..k + 2 {
                let at = qd::atomic_add(&mut count[0], 1);
                out[at as usize] = (j - k) as u32;
            }
        }
    }
}

#[qd::kernel]
fn inclusive(n: usize, m: u32, stop: u32, count: &mut Tensor<u32, 1>, out: &mut Tensor<u32, 1>) {
    for i in 0..n {
        for k in (0..=m).rev() {
            if k < m - stop {
                break;
            }
            let at = qd::atomic_add(&mut count[0], 1);
            out[at as usize] = i as u32;
        }
    }
}

#[qd::kernel]
fn endless(n: usize, stop: u32, count: &mut Tensor<u32, 1>, out: &mut Tensor<u32, 1>) {
    for i in 0..n {
        let mut k = 0;
        while k != stop {
            let at = qd::atomic_add(&mut count[0], 1);
            out[at as usize] = i as u32;
            k += 1;
        }
    }
}

#[qd::kernel]
fn of_data(most: u32, ends: &Tensor<u32, 1>, count: &mut Tensor<u32, 1>, out: &mut Tensor<u32, 1>) {
    for i in 0..ends.len() {
        let begin = ends[i] / 2;
        for _ in begin..ends[i].min(begin + most) {
            let at = qd::atomic_add(&mut count[0], 1);
            out[at as usize] = i as u32;
        }
    }
}

#[qd::kernel]
fn beside(m: u64, more: u64, stop: u64, count: &mut Tensor<u32, 1>, out: &mut Tensor<u32, 1>) {
    qd::stream_parallel(|| {
        for i in 0..2usize {
            for k in 0..m {
                if k >= stop {
                    break;
                }
                let at = qd::atomic_add(&mut count[0], 1);
                out[at as usize] = i as u32;
            }
        }
    });
    qd::stream_parallel(|| {
        for _i in 0..2usize {
            for k in 0..more {
                if k >= stop {
                    break;
                }
                qd::atomic_add(&mut count[0], 1);
            }
        }
    });
}

/// The first loop is over when the second begins.
#[qd::kernel]
fn behind(stop: u32, count: &mut Tensor<u32, 1>, out: &mut Tensor<u32, 1>) {
    for _i in 0..2usize {
        let mut k = 0;
        while k < stop {
            qd::atomic_add(&mut count[0], 1);
            k += 1;
        }
    }
    for i in 0..4usize {
        let at = qd::atomic_add(&mut count[0], 1);
        out[at as usize] = i as u32;
    }
}

/// A condition limits the lengths of the inner loops.
#[qd::kernel]
fn of_short_rows(
    most: u32,
    starts: &Tensor<u32, 1>,
    count: &mut Tensor<u32, 1>,
    out: &mut Tensor<u32, 1>,
) {
    for v in 0..starts.len() - 1 {
        if starts[v + 1] - starts[v] <= most {
            for e in starts[v]..starts[v + 1] {
                let at = qd::atomic_add(&mut count[0], 1);
                out[at as usize] = e;
            }
        }
    }
}

#[qd::kernel]
fn unless_long(
    most: u32,
    lengths: &Tensor<u32, 1>,
    count: &mut Tensor<u32, 1>,
    out: &mut Tensor<u32, 1>,
) {
    for v in 0..lengths.len() {
        let n = lengths[v] as usize;
        if n > most as usize {
            continue;
        }
        for e in 0..n {
            let at = qd::atomic_add(&mut count[0], 1);
            out[at as usize] = e as u32;
        }
    }
}

/// The type limits the lengths.
#[qd::kernel]
fn of_narrow_lengths(
    lengths: &Tensor<u32, 1>,
    count: &mut Tensor<u32, 1>,
    out: &mut Tensor<u32, 1>,
) {
    for v in 0..lengths.len() {
        let n = lengths[v] as u8;
        for e in 0..n as usize {
            let at = qd::atomic_add(&mut count[0], 1);
            out[at as usize] = e as u32;
        }
    }
}

#[on_all_backends]
fn conditions_and_types_limit_the_length_of_a_loop_around_a_counter(
    backend: TestBackend,
) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let (mut count, mut out) = (on.program.zeros::<u32, 1>([1])?, on.program.zeros([100])?);
    let starts = on.program.tensor_from(&[0u32, 3, 5, 6], [4])?;
    let is_refused = |launched: Result<()>| match launched {
        Err(Error::Race { reason, .. }) => matches!(*reason, RaceReason::CounterOverflow(_)),
        _ => false,
    };
    of_short_rows(64, &starts, &mut count, &mut out).launch()?;
    of_short_rows(u32::MAX / 3, &starts, &mut count, &mut out).launch()?;
    assert!(is_refused(of_short_rows(u32::MAX / 2, &starts, &mut count, &mut out).launch()));
    unless_long(5, &starts, &mut count, &mut out).launch()?;
    assert!(is_refused(unless_long(u32::MAX / 2, &starts, &mut count, &mut out).launch()));
    of_narrow_lengths(&starts, &mut count, &mut out).launch()?;
    assert_eq!(count.to_vec()?, [6 + 6 + 8 + 14]);
    Ok(())
}

#[on_all_backends]
fn a_launch_that_may_overflow_an_atomic_counter_is_rejected(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut out = on.program.zeros::<u32, 1>([100])?;
    let mut count = on.program.zeros::<u32, 1>([1])?;
    let mut signed = on.program.zeros::<i32, 1>([1])?;
    let mut wide = on.program.zeros::<u64, 1>([1])?;
    let many = on.program.tensor_from(&[2u32, 3], [2])?;
    let three = on.program.tensor_from(&[2u32, 3, 4], [3])?;

    let refused = |launched: Result<()>, most: Option<u64>| {
        let Err(error @ Error::Race { .. }) = launched else { panic!("{launched:?}") };
        let message = error.to_string();
        assert!(message.contains("2^32") && message.contains("`count`"), "{message}");
        let Error::Race { tensor, reason, .. } = error else { panic!("{error:?}") };
        let RaceReason::CounterOverflow(CounterOverflow { bits, draws, .. }) = *reason else {
            panic!("{reason:?}")
        };
        assert_eq!((tensor.as_str(), bits, draws), ("out", 32, most.map(u128::from)));
    };
    refused(inner(2, ALL, 1, &mut count, &mut out).launch(), Some(2 * ALL));
    refused(inner(2, ALL / 2 + 1, 1, &mut count, &mut out).launch(), Some(ALL + 2));
    refused(twice(2, ALL / 6 + 1, 1, &mut signed, &mut out).launch(), Some(6 * (ALL / 6 + 1)));
    refused(inclusive(3, u32::MAX / 2, 1, &mut count, &mut out).launch(), Some(3 * ALL / 2));
    refused(endless(2, 1, &mut count, &mut out).launch(), None);
    let most = Some(3 * (ALL / 2 + 1));
    refused(of_data((1 << 31) + 1, &three, &mut count, &mut out).launch(), most);
    refused(beside(ALL / 4, ALL / 4 + 1, 1, &mut count, &mut out).launch(), Some(ALL + 2));
    assert_eq!((count.to_vec()?, signed.to_vec()?), (vec![0], vec![0]));

    inner(2, ALL / 2, 3, &mut count, &mut out).launch()?;
    // One iteration, which is in order.
    inner(1, u64::MAX, 3, &mut count, &mut out).launch()?;
    inclusive(2, u32::MAX / 2, 1, &mut count, &mut out).launch()?;
    endless(1, 1, &mut count, &mut out).launch()?;
    beside(ALL / 4, ALL / 4, 2, &mut count, &mut out).launch()?;
    behind(2, &mut count, &mut out).launch()?;
    of_data(100, &many, &mut count, &mut out).launch()?;
    // At most half of 2^32 each, because no end is above `u32::MAX`.
    of_data((1 << 31) + 1, &many, &mut count, &mut out).launch()?;
    assert_eq!(count.to_vec()?, [6 + 3 + 4 + 1 + 8 + 8 + 3 + 3]);
    twice(2, ALL / 6, 2, &mut signed, &mut out).launch()?;
    assert_eq!(signed.to_vec()?, [12]);
    inner_of_64_bits(2, u64::MAX, 3, &mut wide, &mut out).launch()?;
    assert_eq!(wide.to_vec()?, [6]);
    Ok(())
}
