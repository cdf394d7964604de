//! Collectives: reductions, scans, shuffles and votes give the same bits on every backend.

use quadrants::{self as qd, Tensor};
use quadrants_tests::{TestBackend, on_all_backends};

/// Three full warps and one of four threads.
const THREADS: usize = 100;

/// The sum, the extremes and the mean deviation of each tile.
#[qd::kernel(strict)]
fn statistics(x: &Tensor<f32, 1>, y: &mut Tensor<f32, 2>) {
    qd::block_for(x.len() / THREADS, THREADS, |b| {
        let start = b.index() * THREADS;
        let sum = b.reduce_add(|t| x[start + t]);
        let least = b.reduce_min(|t| x[start + t]);
        let most = b.reduce_max(|t: usize| x[start + t]);
        let mean = sum / THREADS as f32;
        let deviation = b.reduce_add(|t| {
            let away = x[start + t] - mean;
            away.abs()
        });
        b.each(|t| {
            if t == 0 {
                y[[b.index(), 0]] = sum;
                y[[b.index(), 1]] = least;
                y[[b.index(), 2]] = most;
                y[[b.index(), 3]] = deviation;
            }
        });
    });
}

/// The elements that are not zero, each tile's moved together, and how many there are.
#[qd::kernel]
fn compact(x: &Tensor<i32, 1>, y: &mut Tensor<i32, 1>, counts: &mut Tensor<usize, 1>) {
    qd::block_for(x.len() / THREADS, THREADS, |b| {
        let mut kept = b.shared::<i32>(THREADS);
        let start = b.index() * THREADS;
        let before = b.exclusive_scan_add(|t| if x[start + t] != 0 { 1usize } else { 0 });
        let count = b.reduce_add(|t| (x[start + t] != 0) as usize);
        b.each(|t| {
            if x[start + t] != 0 {
                // SAFETY: each of these threads has a number of its own.
                unsafe { kept[before[t]] = x[start + t] };
            }
            if t == 0 {
                counts[b.index()] = count;
            }
        });
        b.each(|t| {
            if t < count {
                y[start + t] = kept[t];
            }
        });
    });
}

/// All scans of a tile, in strict floats and in integers that wrap.
#[qd::kernel(strict)]
fn scans(x: &Tensor<f64, 1>, k: &Tensor<i64, 1>, y: &mut Tensor<f64, 2>, l: &mut Tensor<i64, 2>) {
    qd::block_for(x.len() / THREADS, THREADS, |b| {
        let start = b.index() * THREADS;
        let sums = b.scan_add(|t| x[start + t] * 0.1);
        let sums_before = b.exclusive_scan_add(|t| x[start + t] * 0.1);
        let least = b.scan_min(|t| x[start + t]);
        let most_before = b.exclusive_scan_max(|t| x[start + t]);
        let wrapped = b.scan_add(|t| k[start + t]);
        let most = b.scan_max(|t| k[start + t]);
        let least_before = b.exclusive_scan_min(|t| k[start + t]);
        b.each(|t| {
            let at = start + t;
            y[[0, at]] = sums[t];
            y[[1, at]] = sums_before[t];
            y[[2, at]] = least[t];
            y[[3, at]] = most_before[t];
            l[[0, at]] = wrapped[t];
            l[[1, at]] = most[t];
            l[[2, at]] = least_before[t];
        });
    });
}

/// Five kinds of warp shuffles.
#[qd::kernel]
fn shuffles(x: &Tensor<i32, 1>, mask: usize, by: usize, y: &mut Tensor<i32, 2>) {
    qd::block_for(x.len() / THREADS, THREADS, |b| {
        let start = b.index() * THREADS;
        let crossed = b.shuffle_xor(|t| x[start + t], mask);
        let above = b.shuffle_up(|t| x[start + t], by);
        let below = b.shuffle_down(|t| x[start + t], by + 1);
        let turned = b.shuffle(|t| (x[start + t], 31 - t % 32));
        let first = b.shuffle(|t| {
            let value = x[start + t];
            (value > 0, 0)
        });
        b.each(|t| {
            let at = start + t;
            y[[0, at]] = crossed[t];
            y[[1, at]] = above[t];
            y[[2, at]] = below[t];
            y[[3, at]] = turned[t];
            y[[4, at]] = first[t] as i32;
        });
    });
}

/// Rounds of averaging until no element of the tile changes by much, and the last votes of its warps.
#[qd::kernel]
fn settle(
    x: &Tensor<f32, 1>,
    y: &mut Tensor<f32, 1>,
    votes: &mut Tensor<u32, 1>,
    rounds: &mut Tensor<u32, 2>,
) {
    qd::block_for(x.len() / THREADS, THREADS, |b| {
        let mut tile = b.shared::<f32>(THREADS);
        let mut next = b.shared::<f32>(THREADS);
        let start = b.index() * THREADS;
        b.each(|t| tile[t] = x[start + t]);
        let mut count = 0;
        loop {
            let moves = b.any(|t| {
                let left = if t > 0 { tile[t - 1] } else { 0.0 };
                next[t] = 0.5 * (tile[t] + left);
                (next[t] - tile[t]).abs() > 0.01
            });
            if !moves {
                break;
            }
            b.each(|t| tile[t] = next[t]);
            count += 1;
        }
        let still = b.all(|t| tile[t].abs() < 1.0);
        let small = b.ballot(|t| tile[t] < 0.02);
        b.each(|t| {
            y[start + t] = tile[t];
            votes[start + t] = small[t];
            if t == 1 {
                rounds[[b.index(), 0]] = count;
                rounds[[b.index(), 1]] = still as u32;
            }
        });
    });
}

/// The largest block, and one of a single thread.
#[qd::kernel]
fn sizes(x: &Tensor<u32, 1>, y: &mut Tensor<u32, 1>) {
    qd::block_for(1, 1024, |b| {
        let sum = b.reduce_add(|t| x[t]);
        let sums = b.scan_add(|t| x[t]);
        b.each(|t| {
            if t == 1023 {
                y[0] = sum;
                y[1] = sums[t];
            }
        });
    });
    qd::block_for(1, 1, |b| {
        let sum = b.reduce_add(|t| x[t + 5]);
        let before = b.exclusive_scan_add(|t| x[t]);
        let all = b.ballot(|_| true);
        b.each(|t| {
            y[2] = sum;
            y[3] = before[t];
            y[4] = all[t];
        });
    });
}

fn floats(n: usize) -> Vec<f32> {
    (0..n).map(|k| ((k * 7919) % 1013) as f32 / 37.0 - 11.0).collect()
}

/// The tree in which a block's values are combined.
fn reduced<T: Copy>(values: &[T], combine: impl Fn(T, T) -> T + Copy) -> T {
    let tree = |values: &[T]| {
        let mut values = values.to_vec();
        for distance in [16, 8, 4, 2, 1] {
            for at in 0..distance {
                if at + distance < values.len() {
                    values[at] = combine(values[at], values[at + distance]);
                }
            }
        }
        values[0]
    };
    let warps: Vec<T> = values.chunks(32).map(tree).collect();
    tree(&warps)
}

/// The sums of a block's scan, and those without each thread's own value.
fn scanned(values: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let doubling = |values: &[f64]| {
        let mut sums = values.to_vec();
        for distance in [1, 2, 4, 8, 16] {
            let before = sums.clone();
            for at in distance..sums.len() {
                sums[at] = before[at - distance] + before[at];
            }
        }
        sums
    };
    let warps: Vec<Vec<f64>> = values.chunks(32).map(doubling).collect();
    let totals = doubling(&warps.iter().map(|warp| *warp.last().unwrap()).collect::<Vec<_>>());
    let (mut sums, mut before) = (Vec::new(), Vec::new());
    for (at, warp) in warps.iter().enumerate() {
        for (lane, sum) in warp.iter().enumerate() {
            let own = lane.checked_sub(1).map(|lane| warp[lane]);
            let (of_all, of_own) = match at.checked_sub(1).map(|at| totals[at]) {
                Some(total) => (total + sum, own.map_or(total, |own| total + own)),
                None => (*sum, own.unwrap_or(0.0)),
            };
            sums.push(of_all);
            before.push(of_own);
        }
    }
    (sums, before)
}

#[on_all_backends]
fn block_reductions_use_one_order_on_every_backend(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = floats(5 * THREADS);
    let mut y = on.program.zeros::<f32, 2>([5, 4])?;
    statistics(&on.program.tensor_from(&x, [x.len()])?, &mut y).launch()?;
    for (tile, found) in x.chunks(THREADS).zip(y.to_vec()?.chunks(4)) {
        let sum = reduced(tile, |a, b| a + b);
        let mean = sum / THREADS as f32;
        let away: Vec<f32> = tile.iter().map(|x| (x - mean).abs()).collect();
        let expected =
            [sum, reduced(tile, f32::min), reduced(tile, f32::max), reduced(&away, |a, b| a + b)];
        assert_eq!(found, expected);
    }
    Ok(())
}

#[on_all_backends]
fn exclusive_scans_give_unique_offsets(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x: Vec<i32> = (0..3 * THREADS as i32).map(|k| k * k % 7 % 3).collect();
    let mut y = on.program.zeros::<i32, 1>([x.len()])?;
    let mut counts = on.program.zeros::<usize, 1>([3])?;
    compact(&on.program.tensor_from(&x, [x.len()])?, &mut y, &mut counts).launch()?;
    let (y, counts) = (y.to_vec()?, counts.to_vec()?);
    for (at, tile) in x.chunks(THREADS).enumerate() {
        let kept: Vec<i32> = tile.iter().copied().filter(|v| *v != 0).collect();
        assert_eq!(counts[at], kept.len());
        assert_eq!(y[at * THREADS..][..kept.len()], kept);
    }
    Ok(())
}

#[on_all_backends]
fn block_scans_use_one_order_on_every_backend(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let n = 2 * THREADS;
    let x: Vec<f64> = floats(n).into_iter().map(f64::from).collect();
    let k: Vec<i64> = (0..n as i64).map(|k| (k * 37 % 101 - 50) << 56).collect();
    let mut y = on.program.zeros::<f64, 2>([4, n])?;
    let mut l = on.program.zeros::<i64, 2>([3, n])?;
    let tensors = (on.program.tensor_from(&x, [n])?, on.program.tensor_from(&k, [n])?);
    scans(&tensors.0, &tensors.1, &mut y, &mut l).launch()?;
    let (y, l) = (y.to_vec()?, l.to_vec()?);
    for start in [0, THREADS] {
        let (x, k) = (&x[start..][..THREADS], &k[start..][..THREADS]);
        let tenths: Vec<f64> = x.iter().map(|x| x * 0.1).collect();
        let (sums, before) = scanned(&tenths);
        assert_eq!((&y[start..][..THREADS], &y[n + start..][..THREADS]), (&sums[..], &before[..]));
        for at in 0..THREADS {
            let place = start + at;
            assert_eq!(y[2 * n + place], x[..=at].iter().copied().fold(f64::INFINITY, f64::min));
            let most = x[..at].iter().copied().fold(f64::NEG_INFINITY, f64::max);
            assert_eq!(y[3 * n + place], most);
            let wrapped = k[..=at].iter().fold(0i64, |sum, k| sum.wrapping_add(*k));
            assert_eq!(l[place], wrapped);
            assert_eq!(l[n + place], *k[..=at].iter().max().unwrap());
            assert_eq!(l[2 * n + place], k[..at].iter().copied().min().unwrap_or(i64::MAX));
        }
    }
    Ok(())
}

#[on_all_backends]
#[case(1, 1)]
#[case(16, 5)]
#[case(31, 0)]
#[case(32, 31)]
#[case(usize::MAX, usize::MAX - 1)]
fn warp_shuffles_match_plain_rust(
    backend: TestBackend,
    #[case] mask: usize,
    #[case] by: usize,
) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let n = 2 * THREADS;
    let x: Vec<i32> = (0..n as i32).map(|k| k * 7919 % 1013 - 500).collect();
    let mut y = on.program.zeros::<i32, 2>([5, n])?;
    shuffles(&on.program.tensor_from(&x, [n])?, mask, by, &mut y).launch()?;
    let y = y.to_vec()?;
    for at in 0..n {
        let (start, t) = (at / THREADS * THREADS, at % THREADS);
        let (warp, lane) = (t / 32 * 32, t % 32);
        let of = |from: Option<usize>| {
            let there = from.filter(|from| *from < 32 && warp + from < THREADS);
            x[start + warp + there.unwrap_or(lane)]
        };
        let expected = [
            of(Some(lane ^ mask)),
            of(lane.checked_sub(by)),
            of(lane.checked_add(by + 1)),
            of(Some(31 - lane)),
            i32::from(x[start + warp] > 0),
        ];
        let found: [i32; 5] = std::array::from_fn(|row| y[row * n + at]);
        assert_eq!(found, expected, "thread {t} of the block at {start}");
    }
    Ok(())
}

#[on_all_backends]
fn a_block_vote_ends_a_loop_for_all_threads(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x: Vec<f32> = (0..2 * THREADS).map(|k| if k % 90 == 0 { 0.5 } else { 0.0 }).collect();
    let mut y = on.program.zeros::<f32, 1>([x.len()])?;
    let mut votes = on.program.zeros::<u32, 1>([x.len()])?;
    let mut rounds = on.program.zeros::<u32, 2>([2, 2])?;
    let x_on = on.program.tensor_from(&x, [x.len()])?;
    settle(&x_on, &mut y, &mut votes, &mut rounds).launch()?;
    let (y, votes, rounds) = (y.to_vec()?, votes.to_vec()?, rounds.to_vec()?);
    for (at, tile) in x.chunks(THREADS).enumerate() {
        let (mut tile, mut count) = (tile.to_vec(), 0);
        loop {
            let left = |t: usize| if t > 0 { tile[t - 1] } else { 0.0 };
            let next: Vec<f32> = (0..THREADS).map(|t| 0.5 * (tile[t] + left(t))).collect();
            if !next.iter().zip(&tile).any(|(next, now)| (next - now).abs() > 0.01) {
                break;
            }
            (tile, count) = (next, count + 1);
        }
        assert_eq!(y[at * THREADS..][..THREADS], tile);
        let of_warps = tile.chunks(32).flat_map(|warp| {
            let bits = warp.iter().map(|v| u32::from(*v < 0.02)).enumerate();
            vec![bits.fold(0, |all, (lane, bit)| all | bit << lane); warp.len()]
        });
        assert_eq!(votes[at * THREADS..][..THREADS], of_warps.collect::<Vec<_>>());
        assert_eq!(rounds[2 * at..][..2], [count, 1]);
        assert!(count > 3, "the loop ran");
    }
    Ok(())
}

#[on_all_backends]
fn collectives_work_for_every_block_size(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x: Vec<u32> = (0..1024).map(|k| k * k).collect();
    let mut y = on.program.zeros::<u32, 1>([5])?;
    sizes(&on.program.tensor_from(&x, [1024])?, &mut y).launch()?;
    let sum = x.iter().sum();
    assert_eq!(y.to_vec()?, [sum, sum, 25, 0, 1]);
    Ok(())
}
