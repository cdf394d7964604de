//! Positions inside a thread block: tickets of shared counters, and prefix sums.

use quadrants::{self as qd, Error, Result, Tensor};
use quadrants_tests::{TestBackend, on_all_backends};

/// A list per block, in shared memory.
#[qd::kernel]
fn compacted_in_shared(x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>, counts: &mut Tensor<u32, 1>) {
    qd::block_for(x.len() / 32, 32, |b| {
        let mut count = b.shared::<u32>(1);
        let mut list = b.shared::<u32>(32);
        b.each(|t| {
            let value = x[b.index() * 32 + t];
            if value > 3 {
                let at = qd::atomic_add(&mut count[0], 1) as usize;
                list[at] = value;
            }
        });
        b.each(|t| {
            o[b.index() * 32 + t] = list[t];
            if t == 0 {
                counts[b.index()] = count[0];
            }
        });
    });
}

/// A list per block, in its part of a tensor. The counter is reset in each turn.
#[qd::kernel]
fn compacted_in_turns(turns: usize, pitch: usize, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 2>) {
    qd::block_for(o.shape()[0], 16, |b| {
        let mut count = b.shared::<u32>(1);
        for turn in 0..turns {
            b.each(|t| {
                if t == 0 {
                    count[0] = 0;
                }
            });
            b.each(|t| {
                let value = x[(b.index() * 16 + t + turn) % x.len()];
                if value > 3 {
                    let at = qd::atomic_add(&mut count[0], 1) as usize;
                    if at < pitch {
                        o[[b.index(), at]] = 1 + turn as u32;
                    }
                }
            });
        }
    });
}

/// A list per bin of the block.
#[qd::kernel]
fn binned(x: &Tensor<u32, 1>, sums: &mut Tensor<u32, 1>) {
    qd::block_for(x.len() / 32, 32, |b| {
        let mut count = b.shared::<u32>(4);
        let mut lists = b.shared_2d::<u32>([4, 32]);
        b.each(|t| {
            let value = x[b.index() * 32 + t];
            let bin = (value % 4) as usize;
            let at = qd::atomic_add(&mut count[bin], 1) as usize;
            lists[[bin, at]] = value;
        });
        b.each(|t| {
            if t < 4 {
                let mut sum = 0;
                for k in 0..count[t] as usize {
                    sum += lists[[t, k]];
                }
                sums[b.index() * 4 + t] = sum;
            }
        });
    });
}

/// Elements at prefix sums of conditions that are computed again.
#[qd::kernel]
fn compacted_by_scan(x: &Tensor<f32, 1>, o: &mut Tensor<f32, 1>) {
    qd::block_for(x.len() / 32, 32, |b| {
        let first = b.index() * 32;
        let before = b.exclusive_scan_add(|t| if x[first + t] > 0.5 { 1u32 } else { 0 });
        b.each(|t| {
            if x[first + t] > 0.5 {
                o[first + before[t] as usize] = x[first + t];
            }
        });
    });
}

/// As above, with an inclusive scan and flags in shared memory.
#[qd::kernel]
fn compacted_by_flags(x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>) {
    qd::block_for(x.len() / 32, 32, |b| {
        let first = b.index() * 32;
        let mut keep = b.shared::<u32>(32);
        b.each(|t| keep[t] = (x[first + t] > 3) as u32);
        let upto = b.scan_add(|t| keep[t].min(1));
        b.each(|t| {
            if keep[t] == 1 {
                o[first + upto[t] as usize - 1] = x[first + t];
            }
        });
    });
}

/// One pass of a radix sort in each block: elements with a clear bit, then those with a set one.
#[qd::kernel]
fn split(bit: u32, a: &mut Tensor<u32, 1>) {
    qd::block_for(a.len() / 64, 64, |b| {
        let first = b.index() * 64;
        let mut s = b.shared::<u32>(64);
        let mut sorted = b.shared::<u32>(64);
        b.each(|t| s[t] = a[first + t]);
        let zeros = b.exclusive_scan_add(|t| 1 - (s[t] >> bit & 1));
        let total = b.reduce_add(|t| 1 - (s[t] >> bit & 1));
        b.each(|t| {
            let at = if s[t] >> bit & 1 == 0 { zeros[t] } else { total + t as u32 - zeros[t] };
            sorted[at as usize] = s[t];
        });
        b.each(|t| a[first + t] = sorted[t]);
    });
}

/// As above, for several bits.
#[qd::kernel]
fn radix_sort(bits: u32, a: &mut Tensor<u32, 1>) {
    qd::block_for(a.len() / 64, 64, |b| {
        let first = b.index() * 64;
        let mut s = b.shared::<u32>(64);
        let mut sorted = b.shared::<u32>(64);
        b.each(|t| s[t] = a[first + t]);
        for bit in 0..bits {
            let zeros = b.exclusive_scan_add(|t| 1 - (s[t] >> bit & 1));
            let total = b.reduce_add(|t| 1 - (s[t] >> bit & 1));
            b.each(|t| {
                let at = if s[t] >> bit & 1 == 0 { zeros[t] } else { total + t as u32 - zeros[t] };
                sorted[at as usize] = s[t];
            });
            b.each(|t| s[t] = sorted[t]);
        }
        b.each(|t| a[first + t] = s[t]);
    });
}

/// Each thread has up to `most` elements.
#[qd::kernel]
fn expanded(most: u32, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 2>) {
    qd::block_for(x.len() / 16, 16, |b| {
        let first = b.index() * 16;
        let before = b.exclusive_scan_add(|t| x[first + t].min(4));
        b.each(|t| {
            for k in 0..x[first + t].min(most) {
                o[[b.index(), (before[t] + k) as usize]] = x[first + t];
            }
        });
    });
}

/// Keeps positive numbers: each block reserves its part of the list by one addition. With `more`, parts overlap.
#[qd::kernel]
fn compacted_by_blocks(
    more: u32,
    x: &Tensor<f32, 1>,
    count: &mut Tensor<u32, 1>,
    o: &mut Tensor<f32, 1>,
) {
    let n = x.len();
    qd::block_for(n.div_ceil(128), 128, |b| {
        let first = b.index() * 128;
        let mut begin = b.shared::<u32>(1);
        let before = b.exclusive_scan_add(|t| (first + t < n && x[first + t] > 0.0) as u32);
        let all = b.reduce_add(|t| (first + t < n && x[first + t] > 0.0) as u32);
        b.each(|t| {
            if t == 0 {
                begin[0] = qd::atomic_add(&mut count[0], all);
            }
        });
        b.each(|t| {
            if first + t < n && x[first + t] > 0.0 {
                o[(begin[0] + before[t] + more * t as u32) as usize] = x[first + t];
            }
        });
    });
}

/// What must be refused: `which` chooses an access.
#[qd::kernel]
fn colliding(which: u32, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>) {
    qd::block_for(x.len() / 32, 32, |b| {
        let first = b.index() * 32;
        let mut count = b.shared::<u32>(2);
        let mut list = b.shared::<u32>(64);
        let before = b.exclusive_scan_add(|t| if x[first + t] > 3 { 1u32 } else { 0 });
        b.each(|t| {
            // Tickets of two counters in one list.
            let at = qd::atomic_add(&mut count[if which == 0 { t % 2 } else { 0 }], 1) as usize;
            // One element more than was reserved.
            let more = if which == 1 { t % 2 } else { 0 };
            list[at + more] = x[first + t];
        });
        b.each(|t| {
            // The lists of two blocks, and a prefix sum of a thread that gives zero.
            let base = if which == 2 { 0 } else { first };
            if x[first + t] > 3 || which == 3 {
                o[base + before[t] as usize] = list[t];
            }
        });
    });
}

/// A counter of a tensor: blocks share it, so that its tickets differ in all of them.
#[qd::kernel]
fn reserved_by_blocks(n: usize, count: &mut Tensor<u32, 1>, o: &mut Tensor<u32, 1>) {
    qd::block_for(n, 32, |b| {
        b.each(|t| {
            let at = qd::atomic_add(&mut count[0], 1) as usize;
            o[at] = (b.index() * 32 + t) as u32 + 1;
        });
    });
}

/// Parts of a tensor, which overlap if they are longer than their distance.
#[qd::kernel]
fn parts(blocks: usize, pitch: usize, most: usize, o: &mut Tensor<u32, 1>) {
    qd::block_for(blocks, 32, |b| {
        let mut count = b.shared::<u32>(1);
        b.each(|t| {
            let at = qd::atomic_add(&mut count[0], 1) as usize;
            if at < most {
                o[b.index() * pitch + at] = t as u32 + 1;
            }
        });
    });
}

/// Flags that change between the sum and its use.
#[qd::kernel]
fn stale_flags(change: u32, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>) {
    qd::block_for(x.len() / 32, 32, |b| {
        let first = b.index() * 32;
        let mut keep = b.shared::<u32>(32);
        b.each(|t| keep[t] = (x[first + t] > 3) as u32);
        let before = b.exclusive_scan_add(|t| keep[t].min(1));
        if change == 1 {
            b.each(|t| keep[t] = 1);
        }
        b.each(|t| {
            if keep[t] == 1 {
                o[first + before[t] as usize] = x[first + t];
            }
        });
    });
}

/// One thread stores where the block's part begins, unless a jump leaves the code before.
#[qd::kernel]
#[expect(
    clippy::never_loop,
    clippy::collapsible_if,
    reason = "jumps out of nested branches are the point"
)]
fn skipped(limit: u32, x: &Tensor<u32, 1>, count: &mut Tensor<u32, 1>, o: &mut Tensor<u32, 1>) {
    qd::block_for(x.len() / 32, 32, |b| {
        let mut begin = b.shared::<u32>(1);
        b.each(|t| {
            loop {
                if x[0] > limit {
                    if x[1] > limit {
                        break;
                    }
                }
                if t == 0 {
                    begin[0] = qd::atomic_add(&mut count[0], 32);
                }
                break;
            }
        });
        b.each(|t| o[begin[0] as usize + t] = 1);
    });
}

/// As above; the jump is in a loop of its own, and leads to its end.
#[qd::kernel]
fn not_skipped(limit: u32, x: &Tensor<u32, 1>, count: &mut Tensor<u32, 1>, o: &mut Tensor<u32, 1>) {
    qd::block_for(x.len() / 32, 32, |b| {
        let mut begin = b.shared::<u32>(1);
        let mut sum = b.shared::<u32>(32);
        b.each(|t| {
            for k in 0..x.len() {
                if x[k] > limit {
                    break;
                }
                sum[t] += x[k];
            }
            if t == 0 {
                begin[0] = qd::atomic_add(&mut count[0], 32);
            }
        });
        b.each(|t| o[begin[0] as usize + t] = sum[t]);
    });
}

fn numbers(count: u32) -> Vec<u32> {
    (0..count).map(|i| i * 7 % 11 + i % 3).collect()
}

#[on_all_backends]
fn tickets_of_shared_counters_are_positions(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let prog = &on.program;
    let values = numbers(96);
    let x = prog.tensor_from(&values, [96])?;
    let (mut o, mut counts) = (prog.zeros([96])?, prog.zeros([3])?);
    compacted_in_shared(&x, &mut o, &mut counts).launch()?;
    let (found, counts) = (o.to_vec()?, counts.to_vec()?);
    for (block, part) in values.chunks(32).enumerate() {
        let mut expected: Vec<u32> = part.iter().copied().filter(|value| *value > 3).collect();
        let count = counts[block] as usize;
        let mut list = found[block * 32..][..count].to_vec();
        expected.sort_unstable();
        list.sort_unstable();
        assert_eq!(list, expected);
    }
    let mut o = prog.zeros([3, 16])?;
    compacted_in_turns(20, 16, &x, &mut o).launch()?;
    compacted_in_turns(3, 5, &x, &mut o).launch()?;
    assert!(o.to_vec()?.contains(&3));
    let mut sums = prog.zeros([12])?;
    binned(&x, &mut sums).launch()?;
    let of_bin = |at: usize| {
        let part = values[at / 4 * 32..][..32].iter();
        part.filter(|value| **value as usize % 4 == at % 4).sum::<u32>()
    };
    assert_eq!(sums.to_vec()?, (0..12).map(of_bin).collect::<Vec<_>>());
    let (mut count, mut o) = (prog.zeros([1])?, prog.zeros([64])?);
    reserved_by_blocks(2, &mut count, &mut o).launch()?;
    let mut all = o.to_vec()?;
    all.sort_unstable();
    assert_eq!(all, (1..=64).collect::<Vec<u32>>());
    Ok(())
}

#[on_all_backends]
fn prefix_sums_are_positions(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let prog = &on.program;
    let values = numbers(128);
    let compacted = |keep: &dyn Fn(u32) -> bool| {
        let mut all = vec![0; values.len()];
        for (at, part) in values.chunks(32).enumerate() {
            let kept = part.iter().copied().filter(|value| keep(*value));
            all[at * 32..].iter_mut().zip(kept).for_each(|(to, value)| *to = value);
        }
        all
    };
    let floats: Vec<f32> = values.iter().map(|value| *value as f32 / 8.0).collect();
    let (x, mut o) = (prog.tensor_from(&floats, [128])?, prog.zeros([128])?);
    compacted_by_scan(&x, &mut o).launch()?;
    let found: Vec<u32> = o.to_vec()?.iter().map(|value| (value * 8.0) as u32).collect();
    assert_eq!(found, compacted(&|value| value > 4));
    let (x, mut o) = (prog.tensor_from(&values, [128])?, prog.zeros([128])?);
    compacted_by_flags(&x, &mut o).launch()?;
    assert_eq!(o.to_vec()?, compacted(&|value| value > 3));
    let mut a = prog.tensor_from(&values, [128])?;
    split(1, &mut a).launch()?;
    let mut expected = values.clone();
    expected.chunks_mut(64).for_each(|part| part.sort_by_key(|value| value >> 1 & 1));
    assert_eq!(a.to_vec()?, expected);
    let mut a = prog.tensor_from(&values, [128])?;
    radix_sort(4, &mut a).launch()?;
    let mut expected = values.clone();
    expected.chunks_mut(64).for_each(<[u32]>::sort_unstable);
    assert_eq!(a.to_vec()?, expected);
    let mut o = prog.zeros([8, 64])?;
    expanded(4, &x, &mut o).launch()?;
    expanded(3, &x, &mut o).launch()?;
    assert!(matches!(expanded(5, &x, &mut o).launch(), Err(Error::Race { .. })));
    Ok(())
}

#[on_all_backends]
fn blocks_reserve_parts_of_a_list(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let prog = &on.program;
    let values: Vec<f32> = (0..700).map(|i| (i * 7 % 11) as f32 - 5.0).collect();
    let x = prog.tensor_from(&values, [700])?;
    let (mut count, mut o) = (prog.zeros([1])?, prog.zeros([700])?);
    compacted_by_blocks(0, &x, &mut count, &mut o).launch()?;
    let mut expected: Vec<f32> = values.into_iter().filter(|value| *value > 0.0).collect();
    assert_eq!(count.to_vec()?, [expected.len() as u32]);
    let mut found = o.to_vec()?[..expected.len()].to_vec();
    expected.sort_by(f32::total_cmp);
    found.sort_by(f32::total_cmp);
    assert_eq!(found, expected);
    let launched = compacted_by_blocks(1, &x, &mut count, &mut o).launch();
    assert!(matches!(launched, Err(Error::Race { .. })), "{launched:?}");
    Ok(())
}

#[on_all_backends]
fn positions_that_may_be_equal_are_refused(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let prog = &on.program;
    let x = prog.tensor_from(&numbers(96), [96])?;
    let mut o = prog.zeros([96])?;
    colliding(4, &x, &mut o).launch()?;
    for which in 0..4 {
        let launched = colliding(which, &x, &mut o).launch();
        assert!(matches!(launched, Err(Error::Race { .. })), "{which}: {launched:?}");
    }
    parts(1, 0, 32, &mut o).launch()?;
    parts(3, 32, 32, &mut o).launch()?;
    let launched = parts(3, 31, 32, &mut o).launch();
    assert!(matches!(launched, Err(Error::Race { .. })), "{launched:?}");
    let mut count = prog.zeros([1])?;
    not_skipped(3, &x, &mut count, &mut o).launch()?;
    let launched = skipped(3, &x, &mut count, &mut o).launch();
    assert!(matches!(launched, Err(Error::Race { .. })), "{launched:?}");
    let launched = stale_flags(1, &x, &mut o).launch();
    assert!(matches!(launched, Err(Error::Race { .. })), "{launched:?}");
    Ok(())
}

/// A radix sort in each block. The flags are in shared memory, so that their values are known by what is stored there.
#[qd::kernel]
fn sorted_by_flags(bits: u32, a: &mut Tensor<u32, 1>) {
    qd::block_for(a.len() / 64, 64, |b| {
        let first = b.index() * 64;
        let mut key = b.shared::<u32>(64);
        let mut before = b.shared::<u32>(64);
        let mut flag = b.shared::<u32>(64);
        b.each(|t| key[t] = a[first + t]);
        for bit in 0..bits {
            b.each(|t| flag[t] = key[t] >> bit & 1);
            let sum = b.exclusive_scan_add(|t| flag[t]);
            let ones = b.reduce_add(|t| flag[t]);
            b.each(|t| before[t] = key[t]);
            b.each(|t| {
                let at = if flag[t] == 1 { 64 - ones + sum[t] } else { t as u32 - sum[t] };
                key[at as usize] = before[t];
            });
        }
        b.each(|t| a[first + t] = key[t]);
    });
}

/// As one pass of it, with flags of which `which` says how large they may be: 1 for 0, else more.
#[qd::kernel]
fn by_larger_flags(which: u32, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>) {
    qd::block_for(1, 32, |b| {
        let mut flag = b.shared::<u32>(32);
        let mut copy = b.shared::<u32>(32);
        b.each(|t| {
            flag[t] = x[t] & 1;
            copy[t] = flag[t] + 1;
            if which == 1 {
                flag[t] = copy[t];
            }
            if which == 2 {
                flag[t] = x[t] & 3;
            }
            if which == 3 {
                qd::atomic_add(&mut flag[t / 2], 1);
            }
        });
        let sum = b.exclusive_scan_add(|t| flag[t]);
        let total = b.reduce_add(|t| flag[t]);
        b.each(|t| {
            let at = if flag[t] == 1 { sum[t] } else { total + t as u32 - sum[t] };
            o[at as usize] = x[t];
        });
    });
}

#[on_all_backends]
fn flags_in_shared_memory_split_a_block(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let values: Vec<u32> = numbers(128).iter().map(|value| value * 3 % 16).collect();
    let mut a = on.program.tensor_from(&values, [128])?;
    sorted_by_flags(4, &mut a).launch()?;
    let mut expected = values.clone();
    expected.chunks_mut(64).for_each(<[u32]>::sort_unstable);
    assert_eq!(a.to_vec()?, expected);
    let mut o = on.program.zeros([128])?;
    for which in 1..4 {
        let launched = by_larger_flags(which, &a, &mut o).launch();
        assert!(matches!(launched, Err(Error::Race { .. })), "{which}: {launched:?}");
    }
    Ok(())
}
