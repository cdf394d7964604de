//! Tensors that the threads of a block exchange values through: barriers order the phases of a block, and nothing
//! orders two blocks.

use quadrants::{self as qd, Error, Result, Tensor};
use quadrants_tests::{TestBackend, on_all_backends};

/// Reverses the elements of each block, through a tensor.
#[qd::kernel]
fn reversed(x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>, p: &mut Tensor<u32, 1>) {
    qd::block_for(x.len() / 32, 32, |b| {
        let first = b.index() * 32;
        b.each(|t| o[first + t] = x[first + t]);
        b.each(|t| p[first + t] = o[first + 31 - t]);
    });
}

/// Sorts the elements of each block in place, in rounds of neighbours.
#[qd::kernel]
fn sorted(x: &mut Tensor<u32, 1>, rounds: usize) {
    qd::block_for(x.len() / 32, 32, |b| {
        let first = b.index() * 32;
        for round in 0..rounds {
            b.each(|t| {
                if t % 2 == round % 2 && t < 31 {
                    let (left, right) = (x[first + t], x[first + t + 1]);
                    x[first + t] = left.min(right);
                    x[first + t + 1] = left.max(right);
                }
            });
        }
    });
}

/// Sums of growing distances, in two tensors by turns.
#[qd::kernel]
fn scanned(x: &mut Tensor<u32, 2>, y: &mut Tensor<u32, 2>) {
    qd::block_for(x.shape()[0], 32, |b| {
        let row = b.index();
        for stage in 0..5 {
            let d = 1 << stage;
            b.each(|t| {
                y[[row, t]] = if t >= d { x[[row, t]] + x[[row, t - d]] } else { x[[row, t]] };
            });
            b.each(|t| x[[row, t]] = y[[row, t]]);
        }
    });
}

/// Each thread reads one element of another thread again and again, while that one changes it: in phases of one turn
/// and in turns.
#[qd::kernel]
fn reread(turns: usize, o: &mut Tensor<u32, 1>, p: &mut Tensor<u32, 1>) {
    qd::block_for(p.len() / 32, 32, |b| {
        let first = b.index() * 32;
        b.each(|t| o[first + t] = t as u32);
        b.each(|t| p[first + t] = o[first + 31 - t]);
        b.each(|t| o[first + t] += 100);
        b.each(|t| p[first + t] = 3 * p[first + t] + o[first + 31 - t]);
        for _ in 0..turns {
            b.each(|t| p[first + t] += o[first + 31 - t] + o[first + 7]);
            b.each(|t| o[first + t] *= 2);
        }
    });
}

/// Each block writes `width` elements apart from the next one. In the next phase, each thread reads an element at an
/// offset from its own.
#[qd::kernel]
fn shifted(width: usize, offset: usize, o: &mut Tensor<u32, 1>, p: &mut Tensor<u32, 1>) {
    qd::block_for(4, 32, |b| {
        b.each(|t| o[b.index() * width + t] = (b.index() * 100 + t) as u32);
        b.each(|t| {
            if t + offset < width {
                p[b.index() * 32 + t] = o[b.index() * width + t + offset];
            }
        });
    });
}

/// The same without the condition: the last threads read the next block's elements.
#[qd::kernel]
fn overlapping(offset: usize, o: &mut Tensor<u32, 1>, p: &mut Tensor<u32, 1>) {
    qd::block_for(4, 32, |b| {
        b.each(|t| o[b.index() * 32 + t] = t as u32);
        b.each(|t| {
            if b.index() * 32 + t + offset < o.len() {
                p[b.index() * 32 + t] = o[b.index() * 32 + t + offset];
            }
        });
    });
}

/// Each turn is for another part of the tensor, which may be that of another block.
#[qd::kernel]
fn rotating(stride: usize, o: &mut Tensor<u32, 2>) {
    qd::block_for(4, 32, |b| {
        for s in 0..3 {
            b.each(|t| o[[b.index() * stride + s, t]] += 1);
        }
    });
}

fn is_race(launched: Result<()>) -> bool {
    matches!(launched, Err(Error::Race { .. }))
}

#[on_all_backends]
fn barriers_order_the_phases_of_a_block(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let values: Vec<u32> = (0..256).map(|i| i * 7919 % 251).collect();
    let x = on.program.tensor_from(&values, [256])?;
    let (mut o, mut p) = (on.program.zeros([256])?, on.program.zeros([256])?);
    reversed(&x, &mut o, &mut p).launch()?;
    let blocks = || values.chunks(32);
    let expected: Vec<u32> = blocks().flat_map(|block| block.iter().rev().copied()).collect();
    assert_eq!(p.to_vec()?, expected);

    let mut x = on.program.tensor_from(&values, [256])?;
    sorted(&mut x, 32).launch()?;
    let mut expected = values.clone();
    expected.chunks_mut(32).for_each(<[u32]>::sort_unstable);
    assert_eq!(x.to_vec()?, expected);

    for turns in [0, 1, 5] {
        let (mut o, mut p) = (on.program.zeros([64])?, on.program.zeros([64])?);
        reread(turns, &mut o, &mut p).launch()?;
        let expected = (0..64).map(|i| {
            let (t, mut factor) = (i % 32, 1);
            let mut value = 3 * (31 - t) + (131 - t);
            for _ in 0..turns {
                value += factor * (131 - t + 107);
                factor *= 2;
            }
            value
        });
        assert_eq!(p.to_vec()?, expected.collect::<Vec<u32>>());
    }

    let mut x = on.program.tensor_from(&values, [8, 32])?;
    scanned(&mut x, &mut on.program.zeros([8, 32])?).launch()?;
    let sums = |block: &[u32]| {
        let mut sum = 0;
        let next = |value: &u32| {
            sum += value;
            sum
        };
        block.iter().map(next).collect()
    };
    assert_eq!(x.to_vec()?, blocks().flat_map::<Vec<u32>, _>(sums).collect::<Vec<u32>>());
    Ok(())
}

#[on_all_backends]
fn nothing_orders_two_blocks(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let (mut o, mut p) = (on.program.zeros([256])?, on.program.zeros([128])?);
    for (width, offset) in [(32, 5), (40, 31), (33, 1)] {
        shifted(width, offset, &mut o, &mut p).launch()?;
        let (o, p) = (o.to_vec()?, p.to_vec()?);
        for (b, t) in (0..4).flat_map(|b| (0..32).map(move |t| (b, t))) {
            if t + offset < width {
                assert_eq!(p[b * 32 + t], o[b * width + t + offset]);
            }
        }
    }
    // Narrower blocks write the same elements.
    assert!(is_race(shifted(31, 0, &mut o, &mut p).launch()));
    overlapping(0, &mut o, &mut p).launch()?;
    assert!(is_race(overlapping(1, &mut o, &mut p).launch()));
    assert!(is_race(overlapping(32, &mut o, &mut p).launch()));
    // Beyond all blocks.
    overlapping(128, &mut o, &mut p).launch()?;

    let mut o = on.program.zeros([16, 32])?;
    rotating(3, &mut o).launch()?;
    rotating(4, &mut o).launch()?;
    assert!(is_race(rotating(2, &mut o).launch()));
    assert!(is_race(rotating(0, &mut o).launch()));
    Ok(())
}
