//! Thread blocks: phases, shared arrays, and what is rejected.

use quadrants::{self as qd, Error, KernelErrorCause, Tensor};
use quadrants_tests::{TestBackend, on_all_backends};

const THREADS: usize = 32;

/// Reverses each tile; the last one may be short.
#[qd::kernel]
fn reverse_tiles(x: &Tensor<i32, 1>, y: &mut Tensor<i32, 1>) {
    qd::block_for(x.len().div_ceil(THREADS), THREADS, |b| {
        let mut tile = b.shared::<i32>(THREADS);
        let start = b.index() * THREADS;
        b.each(|t| {
            if start + t < x.len() {
                tile[t] = x[start + t];
            }
        });
        b.each(|t| {
            if start + t < y.len() {
                y[start + t] = tile[THREADS - 1 - t];
            }
        });
    });
}

/// The acceleration of each body by all others, tile by tile.
#[qd::kernel]
fn attract(n: usize, at: &Tensor<f32, 1>, acceleration: &mut Tensor<f32, 1>) {
    empty_func();
    qd::block_for(n / 64, 64, |b| {
        let mut tile = b.shared::<f32>(64);
        let mut sums = b.shared::<f32>(64);
        for k in 0..n / 64 {
            b.each(|t| tile[t] = at[k * 64 + t]);
            b.each(|t| {
                let own = at[b.index() * 64 + t];
                let mut sum = sums[t];
                for j in 0..tile.len() {
                    let away = tile[j] - own;
                    sum += away / (away * away + 0.5);
                }
                sums[t] = sum;
            });
        }
        b.each(|t| acceleration[b.index() * b.threads() + t] = sums[t]);
    });
}

/// A func without a body: its call is a serial statement before a block loop.
#[qd::func]
fn empty_func() {}

/// Sums of all elements up to each within its tile, by doubling distances.
#[qd::kernel]
fn scan_tiles(x: &Tensor<u64, 1>, y: &mut Tensor<u64, 1>) {
    let tiles = x.len() / 128;
    qd::block_for(tiles, 128, |b| {
        let mut from = b.shared::<u64>(128);
        let mut to = b.shared::<u64>(2 * THREADS + 64);
        b.each(|t| from[t] = x[b.index() * 128 + t]);
        let mut distance = 1;
        while distance < 128 {
            b.each(|t| {
                let before = if t >= distance { from[t - distance] } else { 0 };
                to[t] = from[t] + before;
            });
            b.each(|t| from[t] = to[t]);
            distance *= 2;
        }
        b.each(|t| y[b.index() * 128 + t] = from[t]);
    })
}

/// Counts into a histogram per block, and those into one.
#[qd::kernel]
fn histogram(x: &Tensor<u32, 1>, blocks: usize, bins: &mut Tensor<u32, 1>) {
    qd::block_for(blocks, 48, |b| {
        let mut own = b.shared::<u32>(16);
        let each = x.len().div_ceil(blocks);
        b.each(|t| {
            let mut at = b.index() * each + t;
            while at < x.len() && at < (b.index() + 1) * each {
                qd::atomic_add(&mut own[(x[at] % 16) as usize], 1);
                at += b.threads();
            }
        });
        b.each(|t| {
            if t < 16 && own[t] > 0 {
                qd::atomic_add(&mut bins[t], own[t]);
            }
        });
    });
}

/// The largest element of each tile, by a tree reduction.
#[qd::kernel]
fn largest(x: &Tensor<i64, 1>, y: &mut Tensor<i64, 1>) {
    qd::block_for(y.len(), 64, |b| {
        let mut tile = b.shared::<i64>(64);
        b.each(|t: usize| tile[t] = x[b.index() * 64 + t]);
        let mut half = 32;
        while half > 0 {
            b.each(|t| {
                if t < half {
                    // SAFETY: the two halves have nothing in common.
                    unsafe { tile[t] = tile[t].max(tile[t + half]) };
                }
            });
            half /= 2;
        }
        b.each(|t| {
            if t == 0 {
                y[b.index()] = tile[0];
            }
        });
    });
}

const TILE: usize = 16;

/// Transposes a matrix, tile by tile. A row of a tile has one extra element, so that a column spans as many
/// memory banks as a row.
#[qd::kernel]
fn transpose(x: &Tensor<f32, 2>, y: &mut Tensor<f32, 2>) {
    let [h, w] = x.shape();
    qd::block_for(h.div_ceil(TILE), TILE * TILE, |b| {
        let mut tile = b.shared_2d::<f32>([TILE, TILE + 1]);
        let top = b.index() * TILE;
        for k in 0..w.div_ceil(TILE) {
            let left = k * TILE;
            b.each(|t| {
                let (i, j) = (t / TILE, t % TILE);
                if top + i < h && left + j < w {
                    tile[[i, j]] = x[[top + i, left + j]];
                }
            });
            b.each(|t| {
                let (i, j) = (t / TILE, t % TILE);
                if left + i < w && top + j < h {
                    y[[left + i, top + j]] = tile[[j, i]];
                }
            });
        }
    });
}

/// Counts by two digits, and reads beside the counts where it is told to.
#[qd::kernel]
fn digits(x: &Tensor<u32, 1>, at: usize, y: &mut Tensor<u32, 2>) {
    qd::block_for(1, 32, |b| {
        let mut counts = b.shared_2d::<u32>([4, 8]);
        b.each(|t| {
            let mut k = t;
            while k < x.len() {
                qd::atomic_add(&mut counts[[(x[k] / 8 % 4) as usize, (x[k] % 8) as usize]], 1);
                k += b.threads();
            }
        });
        b.each(|t| counts[[t / 8, t % 8]] *= 2);
        b.each(|t| y[[t / 8, t % 8]] = counts[[t / 8, t % 8 + at]]);
    });
}
const DIGITS_LINE: u32 = line!() - 3;

/// The number of blocks comes from a tensor; other work runs concurrently.
#[qd::kernel]
fn beside(count: &Tensor<usize, 1>, a: &mut Tensor<u32, 1>, c: &mut Tensor<u32, 1>) {
    qd::stream_parallel(|| {
        let n = count[0];
        qd::block_for(n, 8, |b| {
            let mut flags = b.shared::<bool>(8);
            b.each(|t| flags[7 - t] = t % 2 == 0);
            b.each(|t| {
                if flags[t] {
                    a[b.index() * 8 + t] += 1;
                }
            });
        });
        for i in 0..a.len() {
            a[i] += 10;
        }
    });
    qd::stream_parallel(|| {
        qd::block_for(2, 1, |_| {});
        for i in 0..c.len() {
            c[i] += 1;
        }
    });
}

#[qd::kernel]
fn strided(by: usize, y: &mut Tensor<u32, 1>) {
    qd::block_for(2, 16, |b| {
        let mut tile = b.shared::<u32>(64);
        b.each(|t| tile[t * by] = t as u32);
        b.each(|t| {
            if b.index() == 0 {
                y[b.index() * 16 + t] = tile[t * by];
            }
        });
    });
}

/// Adjacent blocks write the same elements where the stride is too small.
#[qd::kernel]
fn spread(by: usize, y: &mut Tensor<u32, 1>) {
    qd::block_for(3, 16, |b| {
        b.each(|t| y[b.index() * by + t] = b.index() as u32);
    });
}

const BEYOND_LINE: u32 = line!() + 6;
#[qd::kernel]
fn beyond(offset: usize, y: &mut Tensor<u32, 1>) {
    qd::block_for(1, 16, |b| {
        let mut tile = b.shared::<u32>(24);
        b.each(|t| tile[t] = 7);
        b.each(|t| y[t] = tile[t + offset] + 1);
    });
}

const ASSERT_LINE: u32 = line!() + 5;
#[qd::kernel]
fn asserting(limit: u32, y: &mut Tensor<u32, 1>) {
    qd::block_for(2, 16, |b| {
        b.each(|t| {
            assert!(y[b.index() * 16 + t] < limit, "small");
        });
    });
}

fn numbers(n: usize) -> Vec<i32> {
    (0..n as i32).map(|k| k * 37 % 101 - 50).collect()
}

#[on_all_backends]
fn a_block_reverses_a_tile_in_shared_memory(
    backend: TestBackend,
    #[values(0, 1, 32, 1000, 4096)] n: usize,
) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = numbers(n);
    let mut y = on.program.zeros::<i32, 1>([n])?;
    reverse_tiles(&on.program.tensor_from(&x, [n])?, &mut y).launch()?;
    let expected = |k: usize| {
        let from = k / THREADS * THREADS + (THREADS - 1 - k % THREADS);
        x.get(from).copied().unwrap_or(0)
    };
    assert_eq!(y.to_vec()?, (0..n).map(expected).collect::<Vec<_>>());
    Ok(())
}

#[on_all_backends]
fn phases_repeat_in_a_loop(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let at: Vec<f32> = numbers(256).iter().map(|k| *k as f32 * 0.1).collect();
    let mut acceleration = on.program.zeros::<f32, 1>([256])?;
    attract(256, &on.program.tensor_from(&at, [256])?, &mut acceleration).launch()?;
    for (k, found) in acceleration.to_vec()?.into_iter().enumerate() {
        let away = at.iter().map(|other| f64::from(other - at[k]));
        let expected: f64 = away.map(|away| away / (away * away + 0.5)).sum();
        assert!((f64::from(found) - expected).abs() < 1e-3, "{k}: {found}, not {expected}");
    }
    Ok(())
}

#[on_all_backends]
fn a_block_scan_with_doubling_strides_computes_prefix_sums(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x: Vec<u64> = (0..512).map(|k| k * k % 97).collect();
    let mut y = on.program.zeros::<u64, 1>([512])?;
    scan_tiles(&on.program.tensor_from(&x, [512])?, &mut y).launch()?;
    let sums = x.chunks(128).flat_map(|tile| {
        tile.iter().scan(0, |sum, v| {
            *sum += v;
            Some(*sum)
        })
    });
    assert_eq!(y.to_vec()?, sums.collect::<Vec<_>>());
    Ok(())
}

#[on_all_backends]
fn block_histograms_sum_to_the_global_histogram(
    backend: TestBackend,
    #[values(1, 7, 200)] blocks: usize,
) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x: Vec<u32> = (0..3001).map(|k| k * k % 1009).collect();
    let mut bins = on.program.zeros::<u32, 1>([16])?;
    histogram(&on.program.tensor_from(&x, [x.len()])?, blocks, &mut bins).launch()?;
    let mut expected = [0; 16];
    x.iter().for_each(|v| expected[(v % 16) as usize] += 1);
    assert_eq!(bins.to_vec()?, expected);
    Ok(())
}

#[on_all_backends]
fn a_tree_reduction_asserted_by_unsafe_computes_the_maximum(
    backend: TestBackend,
) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x: Vec<i64> = (0..640).map(|k| k * 7919 % 1237 - 600).collect();
    let mut y = on.program.zeros::<i64, 1>([10])?;
    largest(&on.program.tensor_from(&x, [640])?, &mut y).launch()?;
    let expected: Vec<i64> = x.chunks(64).map(|tile| *tile.iter().max().unwrap()).collect();
    assert_eq!(y.to_vec()?, expected);
    Ok(())
}

#[on_all_backends]
fn block_loops_run_in_regions_and_with_device_bounds(
    backend: TestBackend,
    #[values(0, 1, 5)] n: usize,
) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let count = on.program.tensor_from(&[n], [1])?;
    let mut a = on.program.zeros::<u32, 1>([40])?;
    let mut c = on.program.zeros::<u32, 1>([9])?;
    beside(&count, &mut a, &mut c).launch()?;
    let expected: Vec<u32> = (0..40).map(|k| 10 + u32::from(k < 8 * n && k % 2 == 1)).collect();
    assert_eq!((a.to_vec()?, c.to_vec()?), (expected, vec![1; 9]));
    Ok(())
}

#[on_all_backends]
fn races_of_block_loops_are_decided_per_launch(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut y = on.program.zeros::<u32, 1>([64])?;
    strided(3, &mut y).launch()?;
    assert_eq!(y.to_vec()?[..16], (0..16).collect::<Vec<u32>>());
    let refused = strided(0, &mut y).launch();
    let Err(Error::Race { tensor, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!(tensor, "tile");
    spread(16, &mut y).launch()?;
    assert_eq!(y.to_vec()?[..48], [[0; 16], [1; 16], [2; 16]].concat());
    let refused = spread(15, &mut y).launch();
    let Err(Error::Race { tensor, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!(tensor, "y");
    Ok(())
}

#[on_all_backends]
fn errors_of_phases_are_reported(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut y = on.program.zeros::<u32, 1>([32])?;
    beyond(0, &mut y).launch()?;
    assert_eq!(y.to_vec()?[..16], [8; 16]);
    let failed = beyond_of(&on.program, &mut y);
    let Err(Error::Kernel(error)) = failed else { panic!("{failed:?}") };
    let cause = KernelErrorCause::IndexOutOfRange {
        tensor: "tile".into(),
        index: vec![24],
        shape: vec![24],
    };
    assert_eq!((&error.cause, error.line), (&cause, BEYOND_LINE));
    asserting(9, &mut y).launch()?;
    on.program.sync()?;
    let failed = asserting(8, &mut y).launch().and_then(|()| on.program.sync());
    let Err(Error::Kernel(error)) = failed else { panic!("{failed:?}") };
    let cause = KernelErrorCause::Assert { message: "small".into() };
    assert_eq!((&error.cause, error.line), (&cause, ASSERT_LINE));
    Ok(())
}

fn beyond_of(program: &qd::Program, y: &mut Tensor<u32, 1>) -> qd::Result<()> {
    beyond(9, y).launch()?;
    program.sync()
}

#[on_all_backends]
fn shared_tiles_transpose_a_matrix(
    backend: TestBackend,
    #[values([16, 16], [1, 40], [33, 50])] shape: [usize; 2],
) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let [h, w] = shape;
    let x: Vec<f32> = (0..h * w).map(|k| k as f32).collect();
    let mut y = on.program.zeros::<f32, 2>([w, h])?;
    transpose(&on.program.tensor_from(&x, shape)?, &mut y).launch()?;
    let expected: Vec<f32> = (0..w * h).map(|k| x[k % h * w + k / h]).collect();
    assert_eq!(y.to_vec()?, expected);
    Ok(())
}

#[on_all_backends]
fn indices_of_shared_arrays_are_checked(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x: Vec<u32> = (0..500).map(|k| k * k % 61).collect();
    let tensor = on.program.tensor_from(&x, [x.len()])?;
    let mut y = on.program.zeros::<u32, 2>([4, 8])?;
    digits(&tensor, 0, &mut y).launch()?;
    let mut expected = [0; 32];
    x.iter().for_each(|v| expected[(v % 32) as usize] += 2);
    assert_eq!(y.to_vec()?, expected);
    // Column 8 is out of bounds, although the memory behind it exists.
    let failed = digits(&tensor, 1, &mut y).launch().and_then(|()| on.program.sync());
    let Err(Error::Kernel(error)) = failed else { panic!("{failed:?}") };
    let KernelErrorCause::IndexOutOfRange { tensor, index, shape } = &error.cause else {
        panic!("{error:?}")
    };
    assert_eq!(
        (&tensor[..], index[1], &shape[..], error.line),
        ("counts", 8, &[4, 8][..], DIGITS_LINE)
    );
    Ok(())
}

const WEIGHTS: [u32; 3] = [5, 6, 7];

/// Values computed between phases may index where they are proven in bounds.
#[qd::kernel]
fn weighted(weights: &Tensor<u32, 1>, out: &mut Tensor<u32, 1>) {
    qd::block_for(4, 8, |b| {
        let own = [10, 20, 30];
        let constant = WEIGHTS[b.index() % 3];
        let local = own[b.index() % 3];
        b.each(|t| {
            if t < 3 {
                out[b.index() * 8 + t] = constant + local;
            }
        });
        let read = weights[b.index() % 3];
        b.each(|t| {
            if t >= 3 {
                out[b.index() * 8 + t] = read;
            }
        });
    });
}

#[on_all_backends]
fn block_indices_are_available_between_phases(on: TestBackend) {
    let Some(on) = on.open() else { return };
    let weights = on.program.tensor_from(&[1u32, 2, 3], [3]).unwrap();
    let mut out = on.program.zeros::<u32, 1>([32]).unwrap();
    weighted(&weights, &mut out).launch().unwrap();
    let out = out.to_vec().unwrap();
    for (at, value) in out.into_iter().enumerate() {
        let (block, thread) = (at / 8, at % 8);
        let expected = match thread < 3 {
            true => [15, 26, 37][block % 3],
            false => [1, 2, 3][block % 3],
        };
        assert_eq!(value, expected, "{block} {thread}");
    }
}

/// Transposes a matrix, one tile per block; tiles at the edges are partial.
#[qd::kernel]
fn transpose_in_grid(x: &Tensor<i32, 2>, y: &mut Tensor<i32, 2>) {
    let [h, w] = x.shape();
    qd::block_for([h.div_ceil(TILE), w.div_ceil(TILE)], TILE * TILE / 4, |b| {
        let mut tile = b.shared_2d::<i32>([TILE, TILE + 1]);
        let [row, column] = b.index();
        let (top, left) = (row * TILE, column * TILE);
        b.each(|t| {
            let (i, j) = (t / TILE, t % TILE);
            for k in 0..4 {
                if top + i + TILE / 4 * k < h && left + j < w {
                    tile[[i + TILE / 4 * k, j]] = x[[top + i + TILE / 4 * k, left + j]];
                }
            }
        });
        b.each(|t| {
            let (i, j) = (t / TILE, t % TILE);
            for k in 0..4 {
                if left + i + TILE / 4 * k < w && top + j < h {
                    y[[left + i + TILE / 4 * k, top + j]] = tile[[j, i + TILE / 4 * k]];
                }
            }
        });
    });
}

/// The same of whole tiles, each filled before anything of it is read.
#[qd::kernel]
fn transpose_whole_tiles(x: &Tensor<i32, 2>, y: &mut Tensor<i32, 2>) {
    let [h, w] = x.shape();
    qd::block_for([h / TILE, w / TILE], TILE * TILE / 4, |b| {
        let mut tile = b.shared_2d::<i32>([TILE, TILE + 1]);
        let [row, column] = b.index();
        b.each(|t| {
            for k in 0..4 {
                tile[[t / TILE + TILE / 4 * k, t % TILE]] =
                    x[[row * TILE + t / TILE + TILE / 4 * k, column * TILE + t % TILE]];
            }
        });
        b.each(|t| {
            for k in 0..4 {
                y[[column * TILE + t / TILE + TILE / 4 * k, row * TILE + t % TILE]] =
                    tile[[t % TILE, t / TILE + TILE / 4 * k]];
            }
        });
    });
}

#[on_all_backends]
fn a_two_dimensional_grid_transposes_a_matrix(
    backend: TestBackend,
    #[values([16, 16], [48, 32], [1, 40], [33, 50], [0, 7])] shape: [usize; 2],
) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let [h, w] = shape;
    let x: Vec<i32> = (0..h * w).map(|k| k as i32 * 7 - 300).collect();
    let expected: Vec<i32> = (0..w * h).map(|k| x[k % h * w + k / h]).collect();
    let x = on.program.tensor_from(&x, shape)?;
    let mut y = on.program.zeros::<i32, 2>([w, h])?;
    transpose_in_grid(&x, &mut y).launch()?;
    assert_eq!(y.to_vec()?, expected);
    if [h % TILE, w % TILE] == [0, 0] {
        let mut y = on.program.zeros::<i32, 2>([w, h])?;
        transpose_whole_tiles(&x, &mut y).launch()?;
        assert_eq!(y.to_vec()?, expected);
    }
    Ok(())
}

/// Blocks in three dimensions, one of them of one number, and their numbers in every way to write them.
#[allow(unused_parens)]
#[qd::kernel]
fn numbers_in_grids(n: usize, all: &mut Tensor<u64, 4>, line: &mut Tensor<u64, 2>) {
    qd::block_for([2, n, n + 1], 8, |b| {
        let [_, row, _] = b.index();
        let sum = b.reduce_add(|t| t as u64);
        b.each(|t| {
            let at = b.index();
            all[[at[0], row, b.index()[2], t]] =
                (at[0] * 1000 + b.index()[1] * 100 + at[2] * 10 + b.threads()) as u64 + sum;
        });
    });
    qd::block_for(([n]), 8, |b| {
        let own = b.index()[0];
        b.each(|t| line[[own, t]] = (own * b.threads() + t) as u64);
    });
}

#[on_all_backends]
fn blocks_know_their_index_in_the_grid(
    backend: TestBackend,
    #[values(0, 1, 3)] n: usize,
) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut all = on.program.zeros::<u64, 4>([2, n, n + 1, 8])?;
    let mut line = on.program.zeros::<u64, 2>([n, 8])?;
    numbers_in_grids(n, &mut all, &mut line).launch()?;
    let number = |at: usize| {
        let block = at / 8;
        let [plane, row, column] = [block / (n + 1) / n, block / (n + 1) % n, block % (n + 1)];
        (plane * 1000 + row * 100 + column * 10 + 8 + 28) as u64
    };
    let expected: Vec<u64> = (0..2 * n * (n + 1) * 8).map(number).collect();
    assert_eq!(all.to_vec()?, expected);
    assert_eq!(line.to_vec()?, (0..8 * n as u64).collect::<Vec<_>>());
    Ok(())
}
