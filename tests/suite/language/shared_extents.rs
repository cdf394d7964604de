//! Shared arrays whose extents are known only at the launch: the same results on every backend for each size, bounds
//! and races as for constant ones, and an error above the limit of the device.

use quadrants::{self as qd, Error, KernelErrorCause, KernelValue, Program, Tensor, Vector};
use quadrants_tests::{TestBackend, on_all_backends};

use crate::errors::kernel_error;

#[derive(Clone, Copy, Debug, PartialEq, KernelValue)]
struct Item {
    weight: f64,
    chosen: bool,
    place: Vector<f32, 3>,
}

#[qd::kernel]
fn reverse_rows(x: &Tensor<i32, 2>, y: &mut Tensor<i32, 2>) {
    let [rows, columns] = x.shape();
    qd::block_for(rows, 32, |b| {
        let mut tile = b.shared::<i32>(columns);
        let row = b.index();
        b.each(|t| {
            for k in (t..columns).step_by(32) {
                tile[k] = x[[row, k]];
            }
        });
        b.each(|t| {
            for k in (t..tile.len()).step_by(32) {
                y[[row, k]] = tile[columns - 1 - k];
            }
        });
    });
}

#[on_all_backends]
fn one_kernel_runs_with_several_sizes(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    for columns in [1, 31, 32, 100, 33, 0, 100, 3000] {
        let values: Vec<i32> = (0..5 * columns as i32).collect();
        let x = on.program.tensor_from(&values, [5, columns])?;
        let mut y = on.program.zeros([5, columns])?;
        // The second launch takes the decision of the first.
        for _ in 0..2 {
            reverse_rows(&x, &mut y).launch()?;
        }
        let mut expected = values;
        expected.chunks_mut(columns.max(1)).for_each(<[i32]>::reverse);
        assert_eq!(y.to_vec()?, expected);
    }
    Ok(())
}

const HALF: usize = 8;

/// Arrays of different alignments, dynamic and constant ones in turn.
#[qd::kernel]
fn several(n: usize, gap: u32, x: &Tensor<Item, 1>, sums: &mut Tensor<f64, 1>) {
    let odd = n + 1;
    qd::block_for(x.len() / 16, 16, |b| {
        let mut flags = b.shared::<bool>(n);
        let mut weights = b.shared::<f64>(odd * 2 - n);
        let mut fixed = b.shared::<u32>(16);
        let mut grid = b.shared_2d::<Vector<f32, 3>>([n / HALF, HALF]);
        let mut items = b.shared::<Item>(n.max(gap as usize));
        let mut counts = b.shared_2d::<u32>([3, x.len().min(4)]);
        let first = b.index() * 16;
        b.each(|t| {
            flags[t] = x[first + t].chosen;
            weights[t + 2] = x[first + t].weight;
            fixed[t] = t as u32 * gap;
            grid[[t / HALF, t % HALF]] = x[first + t].place;
            items[t] = x[first + t];
            qd::atomic_add(&mut counts[[t % 3, 1]], 1);
        });
        b.each(|t| {
            let other = 15 - t;
            let mut sum = weights[other + 2] + weights[0] + items[(t + 1) % 16].weight;
            if flags[other] != items[t].chosen {
                sum += 1000.0;
            }
            sum += grid[[other / HALF, other % HALF]].sum() as f64;
            sums[first + t] = sum + (fixed[other] + counts[[t % 3, 1]] + counts[[2, 0]]) as f64;
        });
    });
}

fn item(i: usize) -> Item {
    let x = i as f32;
    Item { weight: 0.5 * i as f64, chosen: i.is_multiple_of(3), place: Vector([x, 2.0 * x, -1.0]) }
}

#[on_all_backends]
fn arrays_of_all_alignments_are_apart(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let start: Vec<Item> = (0..48).map(item).collect();
    let x = on.program.tensor_from(&start, [48])?;
    for (n, gap) in [(16, 3), (17, 40), (23, 1), (100, 7)] {
        let mut sums = on.program.zeros([48])?;
        several(n, gap, &x, &mut sums).launch()?;
        let expected: Vec<f64> = (0..48)
            .map(|i| {
                let (first, t) = (i / 16 * 16, i % 16);
                let other = item(first + 15 - t);
                let mut sum = other.weight + item(first + (t + 1) % 16).weight;
                if other.chosen != item(i).chosen {
                    sum += 1000.0;
                }
                let count = if t % 3 == 0 { 6 } else { 5 };
                sum + f64::from(other.place.sum()) + ((15 - t) * gap as usize + count) as f64
            })
            .collect();
        assert_eq!(sums.to_vec()?, expected, "{n} {gap}");
    }
    Ok(())
}

/// Every element is zero at first, in each block.
#[qd::kernel]
fn untouched(n: usize, sums: &mut Tensor<u64, 1>) {
    qd::block_for(sums.len(), 8, |b| {
        let mut a = b.shared::<u32>(n);
        let mut c = b.shared::<u64>(n + 1);
        b.each(|t| {
            if t == 0 {
                let mut sum = 0u64;
                for k in 0..n {
                    sum += a[k] as u64 + c[k + 1];
                }
                sums[b.index()] = sum;
            }
        });
        b.each(|t| {
            if t < n {
                a[t] = 5;
                c[t] = 7;
            }
        });
    });
}

#[on_all_backends]
fn dynamic_arrays_start_at_zero(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut sums = on.program.tensor_from(&[1; 300], [300])?;
    for n in [3, 500, 0, 7] {
        untouched(n, &mut sums).launch()?;
        assert_eq!(sums.to_vec()?, [0; 300]);
    }
    Ok(())
}

#[qd::kernel]
fn beyond(of: u32, n: usize, at: usize, out: &mut Tensor<f32, 1>) {
    qd::block_for(1, 8, |b| {
        let mut tile = b.shared::<f32>(n);
        let mut grid = b.shared_2d::<Vector<f32, 2>>([n, 3]);
        b.each(|t| {
            if of == 0 && t == 0 {
                tile[at] = 1.0;
            }
            if of == 1 && t == 0 {
                grid[[at, 1]][1] = 2.0;
            }
            if of == 2 && t == 3 {
                qd::atomic_max(&mut tile[at], 3.0);
            }
        });
        b.each(|t| {
            if t < n {
                out[t] = tile[t] + grid[[t, 1]].sum();
            }
        });
    });
}

#[on_all_backends]
fn an_index_at_the_extent_is_an_error(
    backend: TestBackend,
    #[values(0, 1, 2)] of: u32,
) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    for n in [8, 5, 2000, 0] {
        let mut out = on.program.zeros::<f32, 1>([8])?;
        if n > 0 {
            beyond(of, n, n - 1, &mut out).launch()?;
            let mut expected = [0.0; 8];
            if n <= 8 {
                expected[n - 1] = of as f32 + 1.0;
            }
            assert_eq!(out.to_vec()?, expected);
        }
        let error = kernel_error(beyond(of, n, n, &mut out).launch(), || on.program.sync());
        let (tensor, index, shape) = match of {
            1 => ("grid", vec![n, 1], vec![n, 3]),
            _ => ("tile", vec![n], vec![n]),
        };
        let [index, shape] = [index, shape].map(|all| all.into_iter().map(|n| n as u64).collect());
        assert_eq!(
            error.cause,
            KernelErrorCause::IndexOutOfRange { tensor: tensor.into(), index, shape }
        );
    }
    Ok(())
}

/// A large array, of which the ends are used.
#[qd::kernel]
fn ends(n: usize, out: &mut Tensor<u32, 1>) {
    qd::block_for(out.len() / 32, 32, |b| {
        let mut fixed = b.shared::<u32>(32);
        let mut tile = b.shared::<u32>(n);
        b.each(|t| {
            fixed[t] = 1;
            tile[n - 1 - t] = t as u32;
        });
        let total = b.reduce_add(|t| tile[n - 32 + t] + fixed[31 - t]);
        b.each(|t| out[b.index() * 32 + t] = total + tile[n - 1 - t] + tile[t]);
    });
}

#[on_all_backends]
fn more_than_the_device_has_is_an_error(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let limit = u64::from(on.program.device_info().max_shared_bytes);
    assert!(limit >= 48 << 10);
    let mut out = on.program.zeros::<u32, 1>([96])?;
    let expected: Vec<u32> = (0..96).map(|i| 496 + 32 + i % 32).collect();
    // The array of 128 bytes, and what the reduction needs: two numbers for each of 32 warps.
    let fixed = 128 + 256;
    let most = (limit - fixed) as usize / 4;
    for n in [64, 12 << 10, most, 100] {
        if n <= most {
            ends(n, &mut out).launch()?;
            assert_eq!(out.to_vec()?, expected, "{n}");
        }
    }
    for n in [most + 1, 1 << 30, usize::MAX / 2, usize::MAX - 3] {
        let refused = ends(n, &mut out).launch();
        let Err(Error::SharedMemory { kernel, bytes, limit: named, line }) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!((kernel.as_str(), named), ("ends", limit));
        // Whole vectors of 16 bytes.
        let dynamic = (n as u64).saturating_mul(4).saturating_add(15) / 16 * 16;
        assert_eq!(bytes, dynamic.saturating_add(fixed));
        assert!(line > 100);
        let text = ends(n, &mut out).launch().unwrap_err().to_string();
        assert!(text.contains(&format!("need {bytes} bytes per block")), "{text}");
        assert!(text.contains(&format!("the maximum of the device is {limit}")), "{text}");
    }
    // Nothing was launched, and the program goes on.
    assert_eq!(out.to_vec()?, expected);
    // A launch without blocks needs no memory.
    let mut none = on.program.zeros::<u32, 1>([0])?;
    ends(usize::MAX, &mut none).launch()
}

/// Two blocks of a region, each with dynamic arrays; one has its number of blocks from a tensor.
#[qd::kernel]
fn region(
    n: usize,
    counts: &Tensor<u32, 1>,
    x: &mut Tensor<u32, 2>,
    y: &mut Tensor<u32, 1>,
    z: &mut Tensor<u32, 1>,
) {
    let twice = 2 * n;
    qd::stream_parallel(|| {
        qd::block_for(x.shape()[0], 16, |b| {
            let mut tile = b.shared::<u32>(n);
            let row = b.index();
            b.each(|t| {
                for k in (t..n).step_by(16) {
                    tile[k] = x[[row, k]];
                }
            });
            b.each(|t| {
                for k in (t..n).step_by(16) {
                    x[[row, k]] = tile[n - 1 - k] + 1;
                }
            });
        });
    });
    qd::stream_parallel(|| {
        let more = twice + 1;
        qd::block_for(counts[0] as usize, 4, |b| {
            let mut tile = b.shared::<u32>(more);
            b.each(|t| tile[twice - t] = t as u32);
            b.each(|t| y[b.index() * 4 + t] = tile[twice - 3 + t] + twice as u32);
        });
        for i in 0..y.len() {
            y[i] += 1;
        }
    });
    qd::stream_parallel(|| {
        for i in 0..z.len() {
            z[i] += 1;
        }
    });
}

#[on_all_backends]
fn regions_repeat_with_changing_sizes(
    backend: TestBackend,
    #[values(false, true)] graphs: bool,
    #[values(None, Some(0))] limit: Option<usize>,
) -> qd::Result<()> {
    let builder = Program::builder().graphs(graphs);
    let builder = limit.into_iter().fold(builder, |builder, limit| builder.argument_limit(limit));
    let Some(on) = backend.open_with(builder) else { return Ok(()) };
    let program = &on.program;
    let counts = program.tensor_from(&[3], [1])?;
    let (mut y, mut z) = (program.zeros::<u32, 1>([12])?, program.zeros::<u32, 1>([40])?);
    for (round, n) in [4, 60, 60, 60, 60, 60, 9, 9, 360, 60].into_iter().enumerate() {
        let mut expected: Vec<u32> = (0..360).collect();
        let mut x = program.tensor_from(&expected, [360 / n, n])?;
        region(n, &counts, &mut x, &mut y, &mut z).launch()?;
        expected.chunks_mut(n).for_each(<[u32]>::reverse);
        expected.iter_mut().for_each(|x| *x += 1);
        assert_eq!(x.to_vec()?, expected, "round {round}");
        let of_y: Vec<u32> = (0..12).map(|i| 3 - i % 4 + 2 * n as u32 + 1).collect();
        assert_eq!(y.to_vec()?, of_y);
        assert_eq!(z.to_vec()?, [round as u32 + 1; 40]);
    }
    Ok(())
}

#[on_all_backends]
fn graphs_have_the_sizes_of_their_launches(
    backend: TestBackend,
    #[values(false, true)] graphs: bool,
) -> qd::Result<()> {
    let Some(on) = backend.open_with(Program::builder().graphs(graphs)) else { return Ok(()) };
    let program = &on.program;
    let values: Vec<i32> = (0..600).collect();
    let (a, b) = (program.tensor_from(&values, [2, 300])?, program.tensor_from(&values, [6, 100])?);
    let (mut ra, mut rb) = (program.zeros([2, 300])?, program.zeros([6, 100])?);
    let mut graph = program.capture(|| {
        reverse_rows(&a, &mut ra).launch()?;
        reverse_rows(&b, &mut rb).launch()
    })?;
    for _ in 0..3 {
        graph.launch()?;
    }
    let reversed = |columns| {
        let mut all = values.clone();
        all.chunks_mut(columns).for_each(<[i32]>::reverse);
        all
    };
    assert_eq!((ra.to_vec()?, rb.to_vec()?), (reversed(300), reversed(100)));
    Ok(())
}

/// Threads `t` write `tile[stride * t % n]`.
#[qd::kernel]
fn strided(stride: usize, n: usize, out: &mut Tensor<u32, 1>) {
    qd::block_for(1, 8, |b| {
        let mut tile = b.shared::<u32>(n);
        b.each(|t| tile[stride * t] = t as u32);
        b.each(|t| out[t] = tile[stride * t]);
    });
}

/// A rotation of the array: no two threads write one element only if the array is not shorter than the block.
#[qd::kernel]
fn rotated(by: usize, len: usize, out: &mut Tensor<u32, 1>) {
    qd::block_for(1, 8, |b| {
        let mut tile = b.shared::<u32>(len);
        b.each(|t| tile[(t + by) % len] = t as u32);
        b.each(|t| out[t] = tile[t]);
    });
}

#[on_all_backends]
fn the_race_check_knows_the_extent(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut out = on.program.zeros::<u32, 1>([8])?;
    strided(3, 22, &mut out).launch()?;
    assert_eq!(out.to_vec()?, [0, 1, 2, 3, 4, 5, 6, 7]);
    let raced = strided(0, 22, &mut out).launch();
    let Err(Error::Race { tensor, .. }) = raced else { panic!("{raced:?}") };
    assert_eq!(tensor, "tile");
    // Every index but 0 is out of range, so no two threads meet.
    let failed = kernel_error(strided(4, 1, &mut out).launch(), || on.program.sync());
    assert!(matches!(failed.cause, KernelErrorCause::IndexOutOfRange { .. }), "{failed:?}");
    rotated(3, 8, &mut out).launch()?;
    assert_eq!(out.to_vec()?, [5, 6, 7, 0, 1, 2, 3, 4]);
    let raced = rotated(3, 7, &mut out).launch();
    assert!(matches!(&raced, Err(Error::Race { tensor, .. }) if tensor == "tile"), "{raced:?}");
    Ok(())
}

/// Extents by each operation that the host evaluates.
#[qd::kernel]
fn operations(n: usize, signed: i32, small: u8, x: &Tensor<u32, 2>, lens: &mut Tensor<u64, 1>) {
    let shape = x.shape();
    let [h, w] = x.shape();
    let third = (n + 1) / 3;
    qd::block_for(1, 1, |b| {
        let mut a = b.shared::<u32>(third + n % 7);
        let mut c = b.shared::<u32>(signed as usize + small as usize);
        let mut d = b.shared::<u32>(n.saturating_sub(5).min(shape[1]).max(x.shape()[0]));
        let mut e = b.shared_2d::<u32>([n.div_ceil(4), w - h]);
        let mut f = b.shared::<u32>((h << 2 | 1) ^ (w & 6) + n.next_multiple_of(8));
        b.each(|t| {
            a[third] = 1;
            c[t] = 1;
            d[t] = 1;
            e[[t, t]] = 1;
            f[t] = 1;
            lens[0] = a.len() as u64;
            lens[1] = c.len() as u64;
            lens[2] = d.len() as u64;
            lens[3] = e.len() as u64;
            lens[4] = f.len() as u64;
        });
    });
}

#[on_all_backends]
fn extents_are_expressions(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    for (n, signed, small, h, w) in [(10, 3, 200, 2, 9), (37, 1, 0, 5, 6)] {
        let x = on.program.zeros::<u32, 2>([h, w])?;
        let mut lens = on.program.zeros::<u64, 1>([5])?;
        operations(n, signed, small, &x, &mut lens).launch()?;
        let expected = [
            (n + 1) / 3 + n % 7,
            signed as usize + usize::from(small),
            n.saturating_sub(5).min(w).max(h),
            n.div_ceil(4) * (w - h),
            (h << 2 | 1) ^ ((w & 6) + n.next_multiple_of(8)),
        ];
        assert_eq!(lens.to_vec()?, expected.map(|len| len as u64));
    }
    // A negative number is a huge extent.
    let x = on.program.zeros::<u32, 2>([2, 9])?;
    let mut lens = on.program.zeros::<u64, 1>([5])?;
    let refused = operations(10, -1, 0, &x, &mut lens).launch();
    assert!(matches!(refused, Err(Error::SharedMemory { .. })), "{refused:?}");
    Ok(())
}
