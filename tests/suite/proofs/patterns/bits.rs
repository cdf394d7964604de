//! Indices whose bits are made of the bits of the loop variables: Gray codes, swizzles, Morton codes.

use quadrants::{self as qd, Error, Result, Tensor};
use quadrants_tests::{TestBackend, on_all_backends};

use super::{Bench, launch, patterns};

patterns! {
    func spread(v: u32, mask: u32) -> u32 {
        let v = v & mask;
        let v = (v | v << 4) & 0x0f0f;
        let v = (v | v << 2) & 0x3333;
        (v | v << 1) & 0x5555
    }

    kernel gray(by: u32, n: usize, o: &mut Tensor<u32, 1>) [] for i in [0..n] {
        o[i ^ (i >> by)] = i as u32;
    }

    kernel gray_of_32_bits(by: u32, n: u32, o: &mut Tensor<u32, 1>) [] for i in [0..n] {
        o[(i ^ (i << by) & 63) as usize] = i;
    }

    kernel swizzled(mask: usize, by: usize, o: &mut Tensor<u32, 1>) [] for t in [0..256usize] {
        let (r, c) = (t / 16, t % 16);
        o[r * by + (c ^ (r & mask))] = t as u32;
    }

    kernel folded(mask: usize, o: &mut Tensor<u32, 1>) [] for t in [0..256usize] {
        let (r, c) = (t / 16, t % 16);
        o[(r ^ c) * 16 + (c ^ (r & mask))] = t as u32;
    }

    kernel morton(mask: u32, h: usize, w: usize, o: &mut Tensor<u32, 1>) []
    for (y, x) in [qd::ndrange([h, w])] {
        let z = spread(y as u32, mask) << 1 | spread(x as u32, mask);
        o[z as usize] = (y * 100 + x) as u32;
    }

    kernel mirrored(last: usize, n: usize, o: &mut Tensor<u32, 1>) [] for i in [0..n] {
        o[(last - i) ^ (i & 1) << 1] = i as u32;
    }

    kernel signed(flip: i32, o: &mut Tensor<u32, 1>) [] for i in [0..64] {
        o[((i ^ flip) ^ (i >> 2) & 3) as usize] = i as u32;
    }
}

#[on_all_backends]
fn bits_of_an_index_tell_iterations_apart(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let mut bench = Bench::new(on);
    let mut o = bench.tensor(&[5, 1, 8], [512])?;
    for n in [1, 2, 7, 64, 100] {
        for by in [1, 2, 3, 5] {
            launch!(bench, Accept, gray(by, n; ; o));
        }
    }
    launch!(bench, Collide, gray(0, 64; ; o));
    for by in [1, 3, 6] {
        launch!(bench, Accept, gray_of_32_bits(by, 64; ; o));
    }
    launch!(bench, Collide, gray_of_32_bits(0, 64; ; o));
    for mask in [0, 1, 6, 15] {
        launch!(bench, Accept, swizzled(mask, 16; ; o));
        launch!(bench, Sound, swizzled(mask, 24; ; o));
    }
    launch!(bench, Collide, swizzled(15, 8; ; o));
    launch!(bench, Collide, swizzled(31, 4; ; o));
    launch!(bench, Accept, folded(0; ; o));
    launch!(bench, Collide, folded(5; ; o));
    launch!(bench, Collide, folded(15; ; o));
    for (h, w) in [(16, 16), (1, 16), (5, 3)] {
        launch!(bench, Accept, morton(15, h, w; ; o));
        launch!(bench, Accept, morton(255, h, w; ; o));
    }
    launch!(bench, Collide, morton(7, 16, 16; ; o));
    launch!(bench, Collide, morton(7, 1, 16; ; o));
    for n in [2, 33, 64] {
        launch!(bench, Sound, mirrored(63, n; ; o));
        launch!(bench, Sound, mirrored(64, n; ; o));
    }
    for flip in [0, 5, 63] {
        launch!(bench, Sound, signed(flip; ; o));
    }
    Ok(())
}

/// The tile is stored with swizzled columns, and read in the next phase.
#[qd::kernel]
fn transposed(x: &Tensor<u32, 2>, y: &mut Tensor<u32, 2>) {
    qd::block_for([x.shape()[0] / 16, x.shape()[1] / 16], 256, |b| {
        let [i, j] = b.index();
        let mut tile = b.shared::<u32>(256);
        b.each(|t| {
            let (r, c) = (t / 16, t % 16);
            tile[r * 16 + (c ^ r)] = x[[i * 16 + r, j * 16 + c]];
        });
        b.each(|t| {
            let (r, c) = (t / 16, t % 16);
            y[[j * 16 + r, i * 16 + c]] = tile[c * 16 + (r ^ c)];
        });
    });
}

/// Each thread goes through the tensor by the number of all threads, less `skip`.
#[qd::kernel]
fn by_grid_strides(blocks: usize, skip: usize, x: &mut Tensor<u32, 1>) {
    let n = x.len();
    qd::block_for(blocks, 32, |b| {
        b.each(|t| {
            let mut i = b.index() * 32 + t;
            while i < n {
                x[i] += 1;
                i += blocks * 32 - skip;
            }
        });
    });
}

#[on_all_backends]
fn blocks_may_swizzle_tiles_and_go_by_grid_strides(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let values: Vec<u32> = (0..32 * 48).collect();
    let x = on.program.tensor_from(&values, [32, 48])?;
    let mut y = on.program.zeros([48, 32])?;
    transposed(&x, &mut y).launch()?;
    let transposed_values: Vec<u32> = (0..48 * 32).map(|at| at % 32 * 48 + at / 32).collect();
    assert_eq!(y.to_vec()?, transposed_values);
    let mut x = on.program.zeros([1_000])?;
    for blocks in [1, 3, 40] {
        by_grid_strides(blocks, 0, &mut x).launch()?;
    }
    assert_eq!(x.to_vec()?, [3; 1_000]);
    let launched = by_grid_strides(3, 1, &mut x).launch();
    assert!(matches!(launched, Err(Error::Race { .. })), "{launched:?}");
    Ok(())
}
