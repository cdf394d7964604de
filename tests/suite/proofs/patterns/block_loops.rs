//! Loops of block-level code whose turns are checked one by one, and indices through funcs, tuples and tables.

use quadrants::{self as qd, Error, Result, Tensor};
use quadrants_tests::{TestBackend, on_all_backends};

/// An exclusive scan of each block of 64 elements by two sweeps over a tree.
#[qd::kernel]
fn scan(x: &mut Tensor<u32, 1>) {
    qd::block_for(x.len() / 64, 32, |b| {
        let mut s = b.shared::<u32>(64);
        b.each(|t| {
            s[t] = x[b.index() * 64 + t];
            s[t + 32] = x[b.index() * 64 + t + 32];
        });
        for level in 0..6 {
            let d = 1 << level;
            b.each(|t| {
                if t < 32 / d {
                    s[2 * d * (t + 1) - 1] += s[2 * d * t + d - 1];
                }
            });
        }
        b.each(|t| {
            if t == 0 {
                s[63] = 0;
            }
        });
        let mut d = 32;
        while d > 0 {
            b.each(|t| {
                if t < 32 / d {
                    let (left, right) = (2 * d * t + d - 1, 2 * d * (t + 1) - 1);
                    let sum = s[left];
                    s[left] = s[right];
                    s[right] += sum;
                }
            });
            d /= 2;
        }
        b.each(|t| {
            x[b.index() * 64 + t] = s[t];
            x[b.index() * 64 + t + 32] = s[t + 32];
        });
    });
}

/// The sum of each block of 64 elements; the threads that add are multiples of a power of two.
#[qd::kernel]
fn interleaved(x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>) {
    qd::block_for(x.len() / 64, 64, |b| {
        let mut s = b.shared::<u32>(64);
        b.each(|t| s[t] = x[b.index() * 64 + t]);
        let mut d = 1;
        while d < 64 {
            b.each(|t| {
                if t % (2 * d) == 0 {
                    s[t] += s[t + d];
                }
            });
            d *= 2;
        }
        b.each(|t| {
            if t == 0 {
                o[b.index()] = s[0];
            }
        });
    });
}

/// All steps of a Walsh–Hadamard transform of each block of 64 elements, as Stockham orders them.
#[qd::kernel]
fn stockham(x: &mut Tensor<u32, 1>) {
    qd::block_for(x.len() / 64, 32, |b| {
        let mut from = b.shared::<u32>(64);
        let mut to = b.shared::<u32>(64);
        b.each(|t| {
            from[t] = x[b.index() * 64 + t];
            from[t + 32] = x[b.index() * 64 + t + 32];
        });
        for stage in 0..6 {
            let p = 1 << stage;
            b.each(|t| {
                let k = t & (p - 1);
                let j = ((t - k) << 1) + k;
                to[j] = from[t].wrapping_add(from[t + 32]);
                to[j + p] = from[t].wrapping_sub(from[t + 32]);
            });
            b.each(|t| {
                from[t] = to[t];
                from[t + 32] = to[t + 32];
            });
        }
        b.each(|t| {
            x[b.index() * 64 + t] = from[t];
            x[b.index() * 64 + t + 32] = from[t + 32];
        });
    });
}

const SHIFTS: [i32; 5] = [0, 1, -1, 2, -2];

/// Populations move by the entries of a table, periodically.
#[qd::kernel]
fn stream(from: &Tensor<u32, 2>, to: &mut Tensor<u32, 2>) {
    for i in 0..from.shape()[1] {
        let n = from.shape()[1] as i32;
        for q in 0..5 {
            to[[q, (i as i32 + SHIFTS[q]).rem_euclid(n) as usize]] = from[[q, i]];
        }
    }
}

/// The table has an entry twice.
#[qd::kernel]
fn repeated(from: &Tensor<u32, 1>, to: &mut Tensor<u32, 1>) {
    let places = [0, 2, 0];
    for i in 0..from.len() {
        for q in 0..3 {
            to[places[q] * from.len() + i] = from[i];
        }
    }
}

#[qd::kernel]
fn placed(from: &Tensor<u32, 1>, to: &mut Tensor<u32, 1>) {
    let places = [0, 2, 1];
    for i in 0..from.len() {
        for q in 0..3 {
            to[places[q] * from.len() + i] = from[i] + q as u32;
        }
    }
}

#[qd::func]
fn bucket(key: u32) -> usize {
    (key % 8) as usize
}

#[qd::func]
fn cell(key: u32) -> [usize; 2] {
    [(key % 4) as usize, (key / 4 % 2) as usize]
}

#[qd::kernel]
fn through_a_func(keys: &Tensor<u32, 1>, count: &mut Tensor<u32, 1>, list: &mut Tensor<u32, 2>) {
    for i in 0..keys.len() {
        let c = bucket(keys[i]);
        let at = qd::atomic_add(&mut count[c], 1) as usize;
        if at < list.shape()[1] {
            list[[c, at]] = i as u32 + 1;
        }
    }
}

#[qd::kernel]
fn through_a_pair(keys: &Tensor<u32, 1>, count: &mut Tensor<u32, 2>, list: &mut Tensor<u32, 3>) {
    for i in 0..keys.len() {
        let [y, x] = cell(keys[i]);
        let at = qd::atomic_add(&mut count[[y, x]], 1) as usize;
        if at < list.shape()[2] {
            list[[y, x, at]] = i as u32 + 1;
        }
    }
}

#[qd::kernel]
fn of_elements(cells: &Tensor<[u32; 2], 1>, count: &mut Tensor<u32, 2>, list: &mut Tensor<u32, 3>) {
    for i in 0..cells.len() {
        let [y, x] = cells[i];
        let at = qd::atomic_add(&mut count[[y as usize, x as usize]], 1) as usize;
        if at < list.shape()[2] {
            list[[y as usize, x as usize, at]] = i as u32 + 1;
        }
    }
}

/// The turn's number is an argument, so that no turn is known: the launch proves what it can.
#[qd::kernel]
fn strides(begin: usize, end: usize, o: &mut Tensor<u32, 1>) {
    qd::block_for(o.len() / 64, 16, |b| {
        let mut s = b.shared::<u32>(64);
        for d in begin..end {
            b.each(|t| s[t * d] = 1);
        }
        b.each(|t| o[b.index() * 64 + t] = s[t]);
    });
}

#[on_all_backends]
fn turns_of_block_level_loops_are_checked_one_by_one(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let values: Vec<u32> = (0..256).map(|i| i * 7919 % 251).collect();
    let mut x = on.program.tensor_from(&values, [256])?;
    let mut o = on.program.zeros::<u32, 1>([4])?;
    interleaved(&x, &mut o).launch()?;
    assert_eq!(o.to_vec()?, values.chunks(64).map(|c| c.iter().sum()).collect::<Vec<u32>>());
    scan(&mut x).launch()?;
    let mut expected = values.clone();
    for block in expected.chunks_mut(64) {
        let mut sum = 0;
        for value in block {
            sum += std::mem::replace(value, sum);
        }
    }
    assert_eq!(x.to_vec()?, expected);

    let mut x = on.program.tensor_from(&values, [256])?;
    stockham(&mut x).launch()?;
    let mut expected = values.clone();
    for block in expected.chunks_mut(64) {
        for stage in 0..6 {
            let before = block.to_vec();
            let p = 1 << stage;
            for t in 0..32 {
                let j = t / p * p * 2 + t % p;
                block[j] = before[t].wrapping_add(before[t + 32]);
                block[j + p] = before[t].wrapping_sub(before[t + 32]);
            }
        }
    }
    assert_eq!(x.to_vec()?, expected);

    let mut o = on.program.zeros::<u32, 1>([64])?;
    strides(1, 4, &mut o).launch()?;
    let launched = strides(0, 4, &mut o).launch();
    assert!(matches!(launched, Err(Error::Race { .. })), "{launched:?}");
    Ok(())
}

#[on_all_backends]
fn tables_of_constants_may_be_in_indices(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    for n in [5, 6, 40] {
        let values: Vec<u32> = (0..5 * n as u32).collect();
        let from = on.program.tensor_from(&values, [5, n])?;
        let mut to = on.program.zeros::<u32, 2>([5, n])?;
        stream(&from, &mut to).launch()?;
        let mut expected = vec![0; 5 * n];
        for (q, shift) in SHIFTS.into_iter().enumerate() {
            for i in 0..n {
                let at = (i as i32 + shift).rem_euclid(n as i32) as usize;
                expected[q * n + at] = values[q * n + i];
            }
        }
        assert_eq!(to.to_vec()?, expected, "{n}");
        let row = on.program.tensor_from(&values[..n], [n])?;
        let mut three = on.program.zeros::<u32, 1>([3 * n])?;
        placed(&row, &mut three).launch()?;
        let of = |at: usize| values[at % n] + [0, 2, 1][at / n];
        assert_eq!(three.to_vec()?, (0..3 * n).map(of).collect::<Vec<u32>>());
        // An iteration may write its own element twice.
        repeated(&row, &mut three).launch()?;
    }
    Ok(())
}

#[on_all_backends]
fn cells_of_tickets_may_come_from_funcs_and_elements(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let keys: Vec<u32> = (0..100).map(|i| i * 37 % 91).collect();
    let sorted = |list: &[u32], width: usize| {
        let lists = list.chunks(width).map(|list| {
            let mut list: Vec<u32> = list.iter().copied().filter(|at| *at > 0).collect();
            list.sort_unstable();
            list
        });
        lists.collect::<Vec<_>>()
    };
    let expected = |of: &dyn Fn(u32) -> usize| {
        let mut lists = vec![Vec::new(); 8];
        for (i, key) in keys.iter().enumerate() {
            lists[of(*key)].push(i as u32 + 1);
        }
        lists
    };
    let x = on.program.tensor_from(&keys, [100])?;
    let mut count = on.program.zeros::<u32, 1>([8])?;
    let mut list = on.program.zeros::<u32, 2>([8, 64])?;
    through_a_func(&x, &mut count, &mut list).launch()?;
    assert_eq!(sorted(&list.to_vec()?, 64), expected(&|key| key as usize % 8));
    let of_pair = |key: u32| (key % 4 * 2 + key / 4 % 2) as usize;
    let mut count = on.program.zeros::<u32, 2>([4, 2])?;
    let mut list = on.program.zeros::<u32, 3>([4, 2, 64])?;
    through_a_pair(&x, &mut count, &mut list).launch()?;
    assert_eq!(sorted(&list.to_vec()?, 64), expected(&of_pair));
    let cells: Vec<[u32; 2]> = keys.iter().map(|key| [key % 4, key / 4 % 2]).collect();
    let cells = on.program.tensor_from(&cells, [100])?;
    count.fill(0)?;
    list.fill(0)?;
    of_elements(&cells, &mut count, &mut list).launch()?;
    assert_eq!(sorted(&list.to_vec()?, 64), expected(&of_pair));
    Ok(())
}
