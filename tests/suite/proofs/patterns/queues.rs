//! Blocks that collect what their threads find, and append it to one list with one atomic addition.

use quadrants::{self as qd, Error, Result, Tensor};
use quadrants_tests::{TestBackend, on_all_backends};

/// Each thread keeps its place in the block's part of the list. `which` is a mistake, 0 is none.
#[qd::kernel]
fn by_places(which: u32, x: &Tensor<u32, 1>, count: &mut Tensor<u32, 1>, o: &mut Tensor<u32, 1>) {
    let n = x.len();
    qd::block_for(n.div_ceil(64), 64, |b| {
        let first = b.index() * 64;
        let mut found = b.shared::<u32>(1);
        let mut begin = b.shared::<u32>(1);
        let mut place = b.shared::<u32>(64);
        b.each(|t| {
            if first + t < n && x[first + t] > 3 {
                place[t] = qd::atomic_add(&mut found[0], 1);
            }
        });
        b.each(|t| {
            // 1: too few are reserved.
            let reserved = if which == 1 { found[0] / 2 } else { found[0] };
            if t == 0 {
                begin[0] = qd::atomic_add(&mut count[0], reserved);
            }
        });
        b.each(|t| {
            // 2: also threads without a place.
            if first + t < n && (x[first + t] > 3 || which == 2 && x[first + t] > 2) {
                // 3: places that are equal.
                let at = if which == 3 { place[t] / 2 } else { place[t] };
                o[(begin[0] + at) as usize] = x[first + t];
            }
        });
    });
}

/// The places change before they are used.
#[qd::kernel]
fn by_changed_places(
    by: u32,
    x: &Tensor<u32, 1>,
    count: &mut Tensor<u32, 1>,
    o: &mut Tensor<u32, 1>,
) {
    qd::block_for(x.len() / 64, 64, |b| {
        let first = b.index() * 64;
        let mut found = b.shared::<u32>(1);
        let mut begin = b.shared::<u32>(1);
        let mut place = b.shared::<u32>(64);
        b.each(|t| place[t] = qd::atomic_add(&mut found[0], 1));
        b.each(|t| {
            if t == 0 {
                begin[0] = qd::atomic_add(&mut count[0], found[0]);
            }
        });
        b.each(|t| place[t] /= by);
        b.each(|t| o[(begin[0] + place[t]) as usize] = x[first + t]);
    });
}

/// The counter is set back, so that its places are given twice and its value is not their number.
#[qd::kernel]
fn by_a_counter_that_is_set(
    x: &Tensor<u32, 1>,
    count: &mut Tensor<u32, 1>,
    o: &mut Tensor<u32, 1>,
) {
    qd::block_for(x.len() / 64, 64, |b| {
        let first = b.index() * 64;
        let mut found = b.shared::<u32>(1);
        let mut begin = b.shared::<u32>(1);
        let mut place = b.shared::<u32>(64);
        b.each(|t| place[t] = qd::atomic_add(&mut found[0], 1));
        b.each(|t| {
            if t == 1 {
                found[0] = 5;
            }
        });
        b.each(|t| {
            if t == 0 {
                begin[0] = qd::atomic_add(&mut count[0], found[0]);
            }
        });
        b.each(|t| o[(begin[0] + place[t]) as usize] = x[first + t]);
    });
}

/// The block's list is in shared memory. `more` is how many elements more than reserved are copied.
#[qd::kernel]
fn by_lists(more: u32, x: &Tensor<u32, 1>, count: &mut Tensor<u32, 1>, o: &mut Tensor<u32, 1>) {
    let n = x.len();
    qd::block_for(n.div_ceil(64), 64, |b| {
        let first = b.index() * 64;
        let mut found = b.shared::<u32>(1);
        let mut begin = b.shared::<u32>(1);
        let mut list = b.shared::<u32>(64);
        b.each(|t| {
            if first + t < n && x[first + t] > 3 {
                let at = qd::atomic_add(&mut found[0], 1);
                list[at as usize] = x[first + t];
            }
        });
        b.each(|t| {
            if t == 0 {
                begin[0] = qd::atomic_add(&mut count[0], found[0]);
            }
        });
        b.each(|t| {
            if (t as u32) < found[0] + more {
                o[begin[0] as usize + t] = list[t];
            }
        });
    });
}

/// As above, with up to two elements per thread, and a loop that copies them.
#[qd::kernel]
fn by_long_lists(
    step: usize,
    x: &Tensor<u32, 1>,
    count: &mut Tensor<u32, 1>,
    o: &mut Tensor<u32, 1>,
) {
    qd::block_for(x.len() / 64, 64, |b| {
        let first = b.index() * 64;
        let mut found = b.shared::<u32>(1);
        let mut begin = b.shared::<u32>(1);
        let mut list = b.shared::<u32>(128);
        b.each(|t| {
            let value = x[first + t];
            let at = qd::atomic_add(&mut found[0], value % 3) as usize;
            for k in 0..(value % 3) as usize {
                list[at + k] = value;
            }
        });
        b.each(|t| {
            if t == 0 {
                begin[0] = qd::atomic_add(&mut count[0], found[0]);
            }
        });
        b.each(|t| {
            for k in (t..found[0] as usize).step_by(step) {
                o[begin[0] as usize + k] = list[k];
            }
        });
    });
}

/// The amounts may overflow the block's counter, and a loop may add more often than there are threads.
#[qd::kernel]
fn by_large_amounts(
    times: u32,
    most: u32,
    x: &Tensor<u32, 1>,
    count: &mut Tensor<u32, 1>,
    o: &mut Tensor<u32, 1>,
) {
    qd::block_for(x.len() / 64, 64, |b| {
        let first = b.index() * 64;
        let mut found = b.shared::<u32>(1);
        let mut begin = b.shared::<u32>(1);
        let mut place = b.shared::<u32>(64);
        b.each(|t| place[t] = qd::atomic_add(&mut found[0], x[first + t].min(most)));
        b.each(|_t| {
            for _ in 0..times {
                qd::atomic_add(&mut found[0], 1 << 25);
            }
        });
        b.each(|t| {
            if t == 0 {
                begin[0] = qd::atomic_add(&mut count[0], found[0]);
            }
        });
        b.each(|t| {
            if x[first + t].min(most) > 0 {
                o[(begin[0] + place[t]) as usize] = x[first + t];
            }
        });
    });
}

/// A signed counter also counts down.
#[qd::kernel]
fn by_signed_amounts(
    by: i32,
    x: &Tensor<u32, 1>,
    count: &mut Tensor<i32, 1>,
    o: &mut Tensor<u32, 1>,
) {
    qd::block_for(x.len() / 64, 64, |b| {
        let first = b.index() * 64;
        let mut found = b.shared::<i32>(1);
        let mut begin = b.shared::<i32>(1);
        let mut place = b.shared::<i32>(64);
        b.each(|t| place[t] = qd::atomic_add(&mut found[0], 1));
        b.each(|t| {
            if t == 5 {
                qd::atomic_add(&mut found[0], by);
            }
        });
        b.each(|t| {
            if t == 0 {
                begin[0] = qd::atomic_add(&mut count[0], found[0]);
            }
        });
        b.each(|t| o[(begin[0] + place[t]) as usize] = x[first + t]);
    });
}

/// The counter and the begin are elements of one array, which thread 0 sets to zero before. `which` is a mistake, 0 is
/// none.
#[qd::kernel]
fn by_one_array(
    which: u32,
    x: &Tensor<u32, 1>,
    count: &mut Tensor<i32, 1>,
    o: &mut Tensor<u32, 1>,
) {
    const FOUND: usize = 0;
    const BEGIN: usize = 1;
    let n = x.len();
    qd::block_for(n.div_ceil(64), 64, |b| {
        let first = b.index() * 64;
        let mut shared = b.shared::<i32>(2);
        let mut place = b.shared::<i32>(64);
        b.each(|t| {
            if t == 0 {
                shared[FOUND] = 0;
                shared[BEGIN] = 0;
            }
        });
        b.each(|t| {
            if first + t < n && x[first + t] > 3 {
                place[t] = qd::atomic_add(&mut shared[FOUND], 1);
            }
        });
        b.each(|t| {
            // 1: too few are reserved.
            let reserved = if which == 1 { shared[FOUND] - 1 } else { shared[FOUND] };
            if t == 0 {
                shared[BEGIN] = qd::atomic_add(&mut count[0], reserved);
            }
        });
        b.each(|t| {
            // 2: also threads without a place.
            if first + t < n && (x[first + t] > 3 || which == 2 && x[first + t] > 2) {
                // 3: the number of all in place of the begin.
                let begin = if which == 3 { shared[FOUND] } else { shared[BEGIN] };
                o[(begin + place[t]) as usize] = x[first + t];
            }
        });
    });
}

/// As [`by_one_array`], but the total is in the place of the begin.
#[qd::kernel]
fn by_one_element(x: &Tensor<u32, 1>, count: &mut Tensor<i32, 1>, o: &mut Tensor<u32, 1>) {
    qd::block_for(x.len() / 64, 64, |b| {
        let first = b.index() * 64;
        let mut shared = b.shared::<i32>(2);
        let mut place = b.shared::<i32>(64);
        b.each(|t| place[t] = qd::atomic_add(&mut shared[0], 1));
        b.each(|t| {
            if t == 0 {
                shared[0] = qd::atomic_add(&mut count[0], shared[0]);
            }
        });
        b.each(|t| {
            if t == 0 {
                shared[0] = 5;
            }
        });
        b.each(|t| o[(shared[0] + place[t]) as usize] = x[first + t]);
    });
}

/// Each iteration reserves as many elements as it needs, by a signed counter. Without a limit, the amount may be
/// negative.
#[qd::kernel]
fn by_signed_lengths(
    limit: bool,
    lengths: &Tensor<i32, 1>,
    count: &mut Tensor<i32, 1>,
    o: &mut Tensor<u32, 1>,
) {
    for i in 0..lengths.len() {
        let n = if limit { lengths[i].clamp(0, 8) } else { lengths[i].min(8) };
        let first = qd::atomic_add(&mut count[0], n);
        for k in 0..n {
            o[(first + k) as usize] = i as u32;
        }
    }
}

/// As above, under a condition.
#[qd::kernel]
fn by_positive_lengths(
    least: i32,
    lengths: &Tensor<i32, 1>,
    count: &mut Tensor<i32, 1>,
    o: &mut Tensor<u32, 1>,
) {
    for i in 0..lengths.len() {
        let n = lengths[i];
        if n >= least && n < 8 {
            let first = qd::atomic_add(&mut count[0], n);
            for k in 0..n {
                o[(first + k) as usize] = i as u32;
            }
        }
    }
}

#[on_all_backends]
fn blocks_append_by_signed_counters_in_one_array(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let prog = &on.program;
    let values: Vec<u32> = (0..300).map(|i| i * 7 % 11 + i % 3).collect();
    let x = prog.tensor_from(&values, [300])?;
    let mut expected: Vec<u32> = values.iter().copied().filter(|value| *value > 3).collect();
    expected.sort_unstable();
    let (mut count, mut o) = (prog.zeros([1])?, prog.zeros([600])?);
    let found = |count: &mut Tensor<i32, 1>, o: &mut Tensor<u32, 1>| -> Result<Vec<u32>> {
        let mut found = o.to_vec()?[..count.to_vec()?[0] as usize].to_vec();
        found.sort_unstable();
        count.fill(0)?;
        Ok(found)
    };
    by_one_array(0, &x, &mut count, &mut o).launch()?;
    assert_eq!(found(&mut count, &mut o)?, expected);
    for which in 1..4 {
        let launched = by_one_array(which, &x, &mut count, &mut o).launch();
        assert!(matches!(launched, Err(Error::Race { .. })), "{which}: {launched:?}");
    }
    let launched = by_one_element(&x, &mut count, &mut o).launch();
    assert!(matches!(launched, Err(Error::Race { .. })), "{launched:?}");
    let lengths: Vec<i32> = (0..50).map(|i| i % 5 - 1).collect();
    let lengths = prog.tensor_from(&lengths, [50])?;
    let mut expected: Vec<u32> =
        (0..50).flat_map(|i| std::iter::repeat_n(i, (i as usize % 5).saturating_sub(1))).collect();
    expected.sort_unstable();
    by_signed_lengths(true, &lengths, &mut count, &mut o).launch()?;
    assert_eq!(found(&mut count, &mut o)?, expected);
    by_positive_lengths(0, &lengths, &mut count, &mut o).launch()?;
    assert_eq!(found(&mut count, &mut o)?, expected);
    for launched in [
        by_signed_lengths(false, &lengths, &mut count, &mut o).launch(),
        by_positive_lengths(-1, &lengths, &mut count, &mut o).launch(),
    ] {
        let Err(error @ Error::Race { .. }) = launched else { panic!("{launched:?}") };
        assert!(error.to_string().contains("may be negative"), "{error}");
    }
    Ok(())
}

#[on_all_backends]
fn blocks_append_to_a_list(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let prog = &on.program;
    let values: Vec<u32> = (0..300).map(|i| i * 7 % 11 + i % 3).collect();
    let x = prog.tensor_from(&values, [300])?;
    let mut expected: Vec<u32> = values.iter().copied().filter(|value| *value > 3).collect();
    expected.sort_unstable();
    let (mut count, mut o) = (prog.zeros([1])?, prog.zeros([600])?);
    let found = |count: &mut Tensor<u32, 1>, o: &mut Tensor<u32, 1>| -> Result<Vec<u32>> {
        let mut found = o.to_vec()?[..count.to_vec()?[0] as usize].to_vec();
        found.sort_unstable();
        count.fill(0)?;
        o.fill(0)?;
        Ok(found)
    };
    by_places(0, &x, &mut count, &mut o).launch()?;
    assert_eq!(found(&mut count, &mut o)?, expected);
    by_lists(0, &x, &mut count, &mut o).launch()?;
    assert_eq!(found(&mut count, &mut o)?, expected);
    let x = prog.tensor_from(&values[..256], [256])?;
    by_long_lists(64, &x, &mut count, &mut o).launch()?;
    let repeated = |value: &u32| std::iter::repeat_n(*value, *value as usize % 3);
    let mut expected: Vec<u32> = values[..256].iter().flat_map(repeated).collect();
    expected.sort_unstable();
    assert_eq!(found(&mut count, &mut o)?, expected);
    Ok(())
}

#[on_all_backends]
fn parts_of_a_list_that_may_overlap_are_refused(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let prog = &on.program;
    let x = prog.tensor_from(&(0..256).collect::<Vec<u32>>(), [256])?;
    let (mut count, mut o) = (prog.zeros([1])?, prog.zeros([600])?);
    for which in 1..4 {
        let launched = by_places(which, &x, &mut count, &mut o).launch();
        assert!(matches!(launched, Err(Error::Race { .. })), "{which}: {launched:?}");
    }
    let launched = by_changed_places(2, &x, &mut count, &mut o).launch();
    assert!(matches!(launched, Err(Error::Race { .. })), "{launched:?}");
    let launched = by_a_counter_that_is_set(&x, &mut count, &mut o).launch();
    assert!(matches!(launched, Err(Error::Race { .. })), "{launched:?}");
    let launched = by_lists(1, &x, &mut count, &mut o).launch();
    assert!(matches!(launched, Err(Error::Race { .. })), "{launched:?}");
    let launched = by_large_amounts(0, u32::MAX, &x, &mut count, &mut o).launch();
    assert!(matches!(launched, Err(Error::Race { .. })), "{launched:?}");
    let launched = by_large_amounts(2, 1, &x, &mut count, &mut o).launch();
    assert!(matches!(launched, Err(Error::Race { .. })), "{launched:?}");
    let mut signed = prog.zeros([1])?;
    let launched = by_signed_amounts(-3, &x, &mut signed, &mut o).launch();
    assert!(matches!(launched, Err(Error::Race { .. })), "{launched:?}");
    let launched = by_long_lists(63, &x, &mut count, &mut o).launch();
    assert!(matches!(launched, Err(Error::Race { .. })), "{launched:?}");
    Ok(())
}
