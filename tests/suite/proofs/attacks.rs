//! Launches with colliding iterations that a less careful analysis would accept.

use quadrants::{self as qd, Error, Result, Tensor};
use quadrants_tests::{TestBackend, on_all_backends};

/// The pointer is past 127 where the loop variable, less its first value, no longer fits its type.
#[qd::kernel]
#[allow(clippy::explicit_counter_loop)] // the pointer is what is tested
fn a_long_loop_of_a_short_type(n: u32, m: usize, o: &mut Tensor<u32, 1>) {
    for i in 0..n {
        let mut at = 0_usize;
        for k in -128_i8..127 {
            if k >= 0 && at < m {
                o[at] = i;
            }
            at += 1;
        }
    }
}

/// The pointer starts again after 255, the last value of its type, if `end` is beyond 252.
#[qd::func]
fn stores_behind_a_pointer(i: u8, end: u8, o: &mut Tensor<u32, 1>) {
    let mut at = i;
    let mut count = 0_u32;
    while at < end {
        if count == 100 {
            break;
        }
        o[at as usize] = i as u32;
        at += 3;
        count += 1;
    }
}

#[qd::kernel]
fn a_pointer_that_starts_again(n: u8, end: u8, o: &mut Tensor<u32, 1>) {
    for i in 0..n {
        stores_behind_a_pointer(i, end, o);
    }
}

#[qd::func]
fn store_at_a_multiple(i: usize, w: usize, o: &mut Tensor<u32, 1>) {
    o[i * w] = i as u32;
}

/// The second loop reads another value of `w` than the first.
#[qd::kernel]
fn a_width_that_changes(n: usize, m: usize, o: &mut Tensor<u32, 1>) {
    let mut w = m / 2;
    for i in 0..n {
        store_at_a_multiple(i, w, o);
    }
    w = m / 8;
    for i in 0..n {
        store_at_a_multiple(i, w, o);
    }
}

/// Division rounds towards zero, a shift rounds down.
#[qd::kernel]
fn rounding(n: i32, m: i32, o: &mut Tensor<i32, 1>) {
    for i in -3..n {
        if i / 4 != i >> 2 && i * m == 0 {
            o[0] = i;
        }
    }
}

/// Another block's addition lets the counter overflow between two tickets.
#[qd::kernel]
fn additions_beside_a_store(by: u32, count: &mut Tensor<u32, 1>, o: &mut Tensor<u32, 1>) {
    qd::stream_parallel(|| {
        for i in 0..2_u32 {
            let at = qd::atomic_add(&mut count[0], 1);
            o[at as usize] = i;
        }
        for _i in 0..2_usize {
            qd::atomic_add(&mut count[1], 1);
        }
        for i in 0..1_u32 {
            count[1] = i;
        }
    });
    qd::stream_parallel(|| {
        for _i in 0..1_usize {
            qd::atomic_add(&mut count[0], by);
        }
    });
}

/// A ticket that only a condition depends on.
#[qd::kernel]
fn first_ticket(n: u32, m: u32, by: u32, count: &mut Tensor<u32, 1>, o: &mut Tensor<u32, 1>) {
    for i in 0..n {
        let ticket = qd::atomic_add(&mut count[0], by);
        if ticket == 0 && i * m == 0 {
            o[0] = i;
        }
    }
}

#[qd::func]
fn store_at_three(at: [usize; 3], first: usize, o: &mut Tensor<u32, 3>) {
    let [i, j, k] = at;
    o[[i - first, j - first, ((k - first) & 3) ^ 1]] = k as u32;
}

/// The variables have 144 bits together.
#[qd::kernel]
fn many_bits(first: usize, o: &mut Tensor<u32, 3>) {
    for (i, j, k) in qd::ndrange([first..first + 2, first..first + 2, first..first + 6]) {
        store_at_three([i, j, k], first, o);
    }
}

#[qd::func]
fn store_at_magnitude(i: usize, o: &mut Tensor<u32, 1>) {
    let sign = (i as i8) as i32 >> 7;
    o[(sign ^ i as i32) as usize & 255] = i as u32;
}

/// A cast to eight bits repeats the sign in the higher bits.
#[qd::kernel]
fn signs_of_bytes(n: usize, o: &mut Tensor<u32, 1>) {
    for i in 0..n {
        store_at_magnitude(i, o);
    }
}

#[on_all_backends]
fn colliding_iterations_are_found_whatever_rounds_or_wraps(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let mut o = on.program.zeros::<u32, 1>([300])?;
    let mut signed = on.program.zeros::<i32, 1>([4])?;
    let mut count = on.program.zeros::<u32, 1>([2])?;
    let mut cube = on.program.zeros::<u32, 3>([2, 2, 4])?;
    let launches = [
        signs_of_bytes(256, &mut o).launch(),
        many_bits(1 << 47, &mut cube).launch(),
        a_long_loop_of_a_short_type(3, 300, &mut o).launch(),
        a_pointer_that_starts_again(3, 255, &mut o).launch(),
        a_width_that_changes(3, 6, &mut o).launch(),
        rounding(3, 0, &mut signed).launch(),
        additions_beside_a_store(u32::MAX, &mut count, &mut o).launch(),
        first_ticket(5, 0, 1 << 31, &mut count, &mut o).launch(),
        first_ticket(5, 0, 0, &mut count, &mut o).launch(),
    ];
    for launched in launches {
        assert!(matches!(launched, Err(Error::Race { .. })), "{launched:?}");
    }
    additions_beside_a_store(7, &mut count, &mut o).launch()?;
    assert_eq!(count.to_vec()?[0], 9);
    first_ticket(5, 0, 1, &mut count, &mut o).launch()?;
    Ok(())
}
