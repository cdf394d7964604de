//! Phases of thread blocks, concurrent blocks of a region, and structs of tensors.

use quadrants::{self as qd, Error, Result, Tensor};
use quadrants_tests::{TestBackend, on_all_backends};

/// A tree reduction of each block of 64 elements.
#[qd::kernel]
fn halving_while(x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>) {
    qd::block_for(x.len() / 64, 64, |b| {
        let mut a = b.shared::<u32>(64);
        b.each(|t| a[t] = x[b.index() * 64 + t]);
        let mut half = 32;
        while half > 0 {
            b.each(|t| {
                if t < half {
                    a[t] += a[t + half];
                }
            });
            half /= 2;
        }
        b.each(|t| {
            if t == 0 {
                o[b.index()] = a[0];
            }
        });
    });
}

#[qd::kernel]
fn halving_for(x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>) {
    qd::block_for(x.len() / 64, 64, |b| {
        let mut a = b.shared::<u32>(64);
        b.each(|t| a[t] = x[b.index() * 64 + t]);
        for e in 0..6 {
            let half = 32 >> e;
            b.each(|t| {
                if t < half {
                    a[t] += a[t + half];
                }
            });
        }
        b.each(|t| {
            if t == 0 {
                o[b.index()] = a[0];
            }
        });
    });
}

#[qd::kernel]
fn halving_unrolled(x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>) {
    qd::block_for(x.len() / 8, 8, |b| {
        let mut a = b.shared::<u32>(8);
        b.each(|t| a[t] = x[b.index() * 8 + t]);
        b.each(|t| {
            if t < 4 {
                a[t] += a[t + 4];
            }
        });
        b.each(|t| {
            if t < 2 {
                a[t] += a[t + 2];
            }
        });
        b.each(|t| {
            if t < 1 {
                a[t] += a[t + 1];
            }
        });
        b.each(|t| {
            if t == 0 {
                o[b.index()] = a[0];
            }
        });
    });
}

/// The distance may be shorter than the number of threads that add.
#[qd::kernel]
fn halving_by(active: usize, half: usize, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>) {
    qd::block_for(x.len() / 64, 64, |b| {
        let mut a = b.shared::<u32>(64);
        b.each(|t| a[t] = x[b.index() * 64 + t]);
        b.each(|t| {
            if t < active && t + half < 64 {
                a[t] += a[t + half];
            }
        });
        b.each(|t| o[b.index() * 64 + t] = a[t]);
    });
}

/// Sorts each block of 64 elements by odd-even transposition.
#[qd::kernel]
fn odd_even(rounds: usize, a: &mut Tensor<u32, 1>) {
    qd::block_for(a.len() / 64, 64, |b| {
        let mut s = b.shared::<u32>(64);
        b.each(|t| s[t] = a[b.index() * 64 + t]);
        for round in 0..rounds {
            b.each(|t| {
                if t % 2 == round % 2 && t + 1 < 64 {
                    let (x, y) = (s[t], s[t + 1]);
                    if x > y {
                        s[t] = y;
                        s[t + 1] = x;
                    }
                }
            });
        }
        b.each(|t| a[b.index() * 64 + t] = s[t]);
    });
}

/// Sorts each block of 64 elements by a bitonic network.
#[qd::kernel]
fn bitonic(a: &mut Tensor<u32, 1>) {
    qd::block_for(a.len() / 64, 64, |b| {
        let mut s = b.shared::<u32>(64);
        b.each(|t| s[t] = a[b.index() * 64 + t]);
        let mut k = 2;
        while k <= 64 {
            let mut j = k / 2;
            while j > 0 {
                b.each(|t| {
                    let l = t ^ j;
                    if l > t {
                        let (x, y) = (s[t], s[l]);
                        if ((t & k) == 0) == (x > y) {
                            s[t] = y;
                            s[l] = x;
                        }
                    }
                });
                j /= 2;
            }
            k *= 2;
        }
        b.each(|t| a[b.index() * 64 + t] = s[t]);
    });
}

/// The scatter of one step of a Stockham transform of 64 elements, `s` at a time.
#[qd::kernel]
fn stockham(log: u32, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>) {
    qd::block_for(x.len() / 64, 32, |b| {
        let mut s = b.shared::<u32>(64);
        b.each(|t| {
            let w = 1 << log;
            let at = t / w * w * 2 + t % w;
            s[at] = x[b.index() * 64 + t];
            s[at + w] = x[b.index() * 64 + t + 32];
        });
        b.each(|t| {
            o[b.index() * 64 + t] = s[t];
            o[b.index() * 64 + t + 32] = s[t + 32];
        });
    });
}

/// Each block writes a tile, whose elements its threads share; the columns of tiles are `stride` apart.
#[qd::kernel]
fn tiles(edge: usize, stride: usize, o: &mut Tensor<u32, 2>) {
    let [h, w] = o.shape();
    qd::block_for([h / edge, w / edge], 32, |b| {
        let [row, column] = b.index();
        b.each(|t| {
            for e in (t..edge * edge).step_by(32) {
                o[[row * edge + e / edge, column * stride + e % edge]] += 1;
            }
        });
    });
}

/// Two blocks of a region write parts of one tensor, left and right of an index.
#[qd::kernel]
fn parts(left: usize, right: usize, o: &mut Tensor<u32, 1>) {
    qd::stream_parallel(|| {
        for i in 0..o.len() {
            if i < left {
                o[i] = 1;
            }
        }
    });
    qd::stream_parallel(|| {
        for i in 0..o.len() {
            if i >= right {
                o[i] = 2;
            }
        }
    });
}

/// Two blocks of a region write residue classes.
#[qd::kernel]
fn classes(m: usize, r: usize, s: usize, o: &mut Tensor<u32, 1>) {
    qd::stream_parallel(|| {
        for i in 0..o.len() {
            if i % m == r {
                o[i] = 1;
            }
        }
    });
    qd::stream_parallel(|| {
        for i in 0..o.len() {
            if i % m == s {
                o[i] = 2;
            }
        }
    });
}

#[derive(qd::Tensors)]
struct Particles<'a> {
    x: &'a mut Tensor<u32, 1>,
    y: &'a mut Tensor<u32, 1>,
    cell: &'a Tensor<u32, 1>,
}

#[qd::func]
fn push(all: &mut Particles<'_>, i: usize, gap: usize) {
    all.x[2 * i] = all.cell[i];
    all.x[2 * i + gap] = all.cell[i] + 1;
    all.y[i] = all.x[2 * i];
}

#[qd::kernel]
fn fields(n: usize, gap: usize, all: &mut Particles<'_>) {
    for i in 0..n {
        push(all, i, gap);
    }
}

fn is_race(launched: &Result<()>) -> bool {
    matches!(launched, Err(Error::Race { .. }))
}

#[on_all_backends]
fn threads_of_a_block_may_halve_sort_and_scatter_in_place(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let values: Vec<u32> = (0..256).map(|i| i * 7919 % 251).collect();
    let x = on.program.tensor_from(&values, [256])?;
    let sums = |width: usize| values.chunks(width).map(|c| c.iter().sum()).collect::<Vec<u32>>();
    let mut o = on.program.zeros::<u32, 1>([4])?;
    halving_while(&x, &mut o).launch()?;
    assert_eq!(o.to_vec()?, sums(64));
    o.fill(0)?;
    halving_for(&x, &mut o).launch()?;
    assert_eq!(o.to_vec()?, sums(64));
    let mut o = on.program.zeros::<u32, 1>([32])?;
    halving_unrolled(&x, &mut o).launch()?;
    assert_eq!(o.to_vec()?, sums(8));
    let mut o = on.program.zeros::<u32, 1>([256])?;
    for active in [0, 1, 15, 16, 17, 40, 64] {
        for half in [0, 1, 16, 32, 63, 64] {
            // Thread `half` writes what thread 0 reads.
            let reads_written = half > 0 && half < active.min(64 - half);
            let launched = halving_by(active, half, &x, &mut o).launch();
            let runs = !is_race(&launched);
            assert_eq!(runs, !reads_written, "{active} {half}");
            if !runs {
                continue;
            }
            launched?;
            let add = |at: usize| {
                let t = at % 64;
                let more = if t < active && t + half < 64 { values[at + half] } else { 0 };
                values[at] + more
            };
            assert_eq!(o.to_vec()?, (0..256).map(add).collect::<Vec<u32>>(), "{active} {half}");
        }
    }
    let mut sorted = values.clone();
    sorted.chunks_mut(64).for_each(<[u32]>::sort_unstable);
    let mut a = on.program.tensor_from(&values, [256])?;
    odd_even(64, &mut a).launch()?;
    assert_eq!(a.to_vec()?, sorted);
    let mut a = on.program.tensor_from(&values, [256])?;
    bitonic(&mut a).launch()?;
    assert_eq!(a.to_vec()?, sorted);
    for log in 0..6 {
        stockham(log, &x, &mut o).launch()?;
        let w = 1 << log;
        let mut expected = vec![0; 256];
        for block in 0..4 {
            for t in 0..32 {
                let at = block * 64 + t / w * w * 2 + t % w;
                expected[at] = values[block * 64 + t];
                expected[at + w] = values[block * 64 + t + 32];
            }
        }
        assert_eq!(o.to_vec()?, expected, "{log}");
    }
    Ok(())
}

#[on_all_backends]
fn blocks_may_write_tiles_with_any_edge(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    for edge in 2..=20 {
        let mut o = on.program.zeros::<u32, 2>([2 * edge + 1, 3 * edge])?;
        tiles(edge, edge, &mut o).launch()?;
        let of = |i: usize| u32::from(i / (3 * edge) < 2 * edge);
        assert_eq!(o.to_vec()?, (0..o.len()).map(of).collect::<Vec<u32>>(), "{edge}");
        let launched = tiles(edge, edge - 1, &mut o).launch();
        assert!(is_race(&launched), "{edge}: {launched:?}");
    }
    Ok(())
}

#[on_all_backends]
fn concurrent_blocks_may_write_parts_of_one_tensor(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let mut o = on.program.zeros::<u32, 1>([20])?;
    for left in [0, 1, 9, 10, 20, 30] {
        for right in [0, 1, 9, 10, 11, 20, 30] {
            o.fill(0)?;
            let launched = parts(left, right, &mut o).launch();
            assert_eq!(is_race(&launched), left.min(20) > right, "{left} {right}: {launched:?}");
            if launched.is_ok() {
                let of = |i| if i < left { 1 } else { 2 * u32::from(i >= right) };
                assert_eq!(o.to_vec()?, (0..20).map(of).collect::<Vec<u32>>());
            }
        }
    }
    for m in 1..4 {
        for (r, s) in [(0, 1), (1, 1), (2, 0), (3, 3), (0, 0)] {
            o.fill(0)?;
            let launched = classes(m, r, s, &mut o).launch();
            assert_eq!(is_race(&launched), r == s && r < m, "{m} {r} {s}: {launched:?}");
            if launched.is_ok() {
                let of = |i| if i % m == r { 1 } else { 2 * u32::from(i % m == s) };
                assert_eq!(o.to_vec()?, (0..20).map(of).collect::<Vec<u32>>());
            }
        }
    }
    Ok(())
}

#[on_all_backends]
fn funcs_may_write_fields_of_a_struct_of_tensors(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let mut x = on.program.zeros::<u32, 1>([24])?;
    let mut y = on.program.zeros::<u32, 1>([10])?;
    let cell = on.program.tensor_from(&[4u32, 2, 7, 5, 1, 9, 3, 8, 6, 0], [10])?;
    let mut all = Particles { x: &mut x, y: &mut y, cell: &cell };
    fields(10, 1, &mut all).launch()?;
    let launched = fields(10, 2, &mut all).launch();
    assert!(is_race(&launched), "{launched:?}");
    fields(10, 3, &mut all).launch()?;
    fields(1, 2, &mut all).launch()?;
    assert_eq!(y.to_vec()?, cell.to_vec()?);
    Ok(())
}
