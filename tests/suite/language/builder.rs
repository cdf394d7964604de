//! Kernels made at run time with the builder, on every backend.

use quadrants::{
    self as qd, Error, Kernel, KernelValue, Vector,
    builder::{KernelBuilder, Misuse, Shuffle},
    ir::{
        ReduceOp,
        ScalarType::{Bool, F32, F64, I32, I64, U16, U32, U64},
    },
};
use quadrants_tests::{TestBackend, on_all_backends};

fn saxpy() -> qd::ir::Kernel {
    let b = KernelBuilder::new("saxpy");
    let a = b.param_scalar("a", F32);
    let x = b.param_tensor("x", F32, 1);
    let y = b.param_tensor_mut("y", F32, 1);
    b.range_for(0u64, x.len(), |i| y.store(i, a * x.load(i) + y.load(i)));
    b.build().expect("a valid kernel")
}

#[on_all_backends]
fn a_built_kernel_runs_on_every_backend(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let kernel = Kernel::new(saxpy())?;
    let x: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let x = on.program.tensor_from(&x, [1000])?;
    let mut y = on.program.tensor_from(&[1.0f32; 1000], [1000])?;
    let stream = on.program.create_stream()?;
    kernel.call::<()>().arg(2.0f32).arg(&x).arg(&mut y).launch_on(&stream)?;
    kernel.call::<()>().arg(0.5f32).arg(&x).arg(&mut y).launch_on(&stream)?;
    let y = y.to_vec()?;
    assert!(y.iter().enumerate().all(|(i, y)| *y == 1.0 + 2.5 * i as f32), "{:?}", &y[..8]);
    Ok(())
}

#[on_all_backends]
fn a_built_kernel_has_regions_loops_branches_and_a_value(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };

    let b = KernelBuilder::new("blocks");
    let s = b.param_scalar("s", F32);
    let x = b.param_tensor_mut("x", F32, 1);
    let y = b.param_tensor_mut("y", F32, 2);
    let twice = s * 2.0f32;
    b.stream_parallel(|| b.range_for(0u64, x.len(), |i| x.store(i, x.load(i) * twice)));
    b.stream_parallel(|| {
        b.ndrange([y.extent(0), y.extent(1)], |[i, j]| {
            y.store([i, j], (i * 10u64 + j).cast(F32) + s);
        });
        b.range_for(0u64, y.extent(1), |j| y.store([b.constant(0u64), j], -1.0f32));
    });
    let blocks = Kernel::new(b.build().expect("a valid kernel"))?;
    let mut x = on.program.tensor_from(&[1.0f32, 2.0], [2])?;
    let mut y = on.program.zeros::<f32, 2>([2, 2])?;
    blocks.call::<()>().arg(1.5f32).arg(&mut x).arg(&mut y).launch()?;
    assert_eq!((x.to_vec()?, y.to_vec()?), (vec![3.0, 6.0], vec![-1.0, -1.0, 11.5, 12.5]));

    let b = KernelBuilder::new("collatz");
    let n = b.param_tensor_mut("n", U32, 1);
    let most = b.param_tensor_mut("most", U32, 1);
    b.range_for(0u64, n.len(), |i| {
        let at = b.var("at", n.load(i));
        let steps = b.var("steps", 0u32);
        b.while_(
            || at.get().gt(1u32),
            || {
                let even = (at.get() % 2u32).equals(0u32);
                b.if_else(even, || at.set(at.get() / 2u32), || at.set(at.get() * 3u32 + 1u32));
                steps.set(steps.get() + 1u32);
                b.if_(steps.get().ge(100u32), || b.break_());
            },
        );
        n.store(i, steps.get());
        let _ = most.atomic_max(0u64, steps.get());
    });
    b.return_(most.load(0u64).cast(F64) * 0.5f64);
    let collatz = Kernel::new(b.build().expect("a valid kernel"))?;
    let mut n = on.program.tensor_from(&[1u32, 6, 7, 27], [4])?;
    let mut most = on.program.zeros::<u32, 1>([1])?;
    let half: f64 = collatz.call().arg(&mut n).arg(&mut most).launch()?;
    assert_eq!((half, n.to_vec()?), (50.0, vec![0, 8, 16, 100]));
    Ok(())
}

#[on_all_backends]
fn integers_of_a_built_kernel_wrap_and_shift_counts_are_masked(
    backend: TestBackend,
) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let b = KernelBuilder::new("wraps");
    let x = b.param_tensor("x", I32, 1);
    let out = b.param_tensor_mut("out", I32, 2);
    let wide = b.param_tensor_mut("wide", I64, 2);
    b.range_for(0u64, x.len(), |i| {
        let v = x.load(i);
        let at = |k: u64| [i, b.constant(k)];
        out.store(at(0), v + v);
        out.store(at(1), v * v);
        out.store(at(2), -v);
        out.store(at(3), v << 37u32);
        out.store(at(4), v >> -1i32);
        out.store(at(5), v.abs());
        out.store(at(6), v / -1i32);
        out.store(at(7), v % b.constant(-1i32));
        let w = v.cast(I64) << 32u32;
        wide.store(at(0), w + w);
        wide.store(at(1), w * w);
        wide.store(at(2), w << 65i32);
        wide.store(at(3), w / -1i64);
    });
    let kernel = Kernel::new(b.build().expect("a valid kernel"))?;
    let values = [0, 1, -1, i32::MAX, i32::MIN, 123_456_789, -1_000_000_007];
    let n = values.len();
    let x = on.program.tensor_from(&values, [n])?;
    let mut out = on.program.zeros::<i32, 2>([n, 8])?;
    let mut wide = on.program.zeros::<i64, 2>([n, 4])?;
    kernel.call::<()>().arg(&x).arg(&mut out).arg(&mut wide).launch()?;
    let (out, wide) = (out.to_vec()?, wide.to_vec()?);
    for (i, v) in values.into_iter().enumerate() {
        let expected = [
            v.wrapping_add(v),
            v.wrapping_mul(v),
            v.wrapping_neg(),
            v.wrapping_shl(37),
            v.wrapping_shr(31),
            v.wrapping_abs(),
            v.wrapping_div(-1),
            v.wrapping_rem(-1),
        ];
        assert_eq!(out[i * 8..][..8], expected, "of {v}");
        let w = i64::from(v) << 32;
        let expected =
            [w.wrapping_add(w), w.wrapping_mul(w), w.wrapping_shl(65), w.wrapping_div(-1)];
        assert_eq!(wide[i * 4..][..4], expected, "of {w}");
    }
    Ok(())
}

#[on_all_backends]
fn an_invalid_kernel_is_rejected_by_the_builder(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let b = KernelBuilder::new("mixed");
    let _ = b.param_scalar("x", F32) + b.constant(1u64);
    let _ = b.param_scalar("flag", Bool);
    let misuse = b.build();
    assert!(
        matches!(
            &misuse,
            Err(quadrants_frontend::Error::Misuse {
                misuse: Misuse::Type { expected: F32, found: U64 },
                ..
            })
        ),
        "{misuse:?}"
    );

    let argument = |result: qd::Result<()>, at: usize, was: &str, should: &str| match result {
        Err(Error::Argument { kernel, position, given, expected }) => {
            let found = (kernel.as_str(), position, given.as_str(), expected.as_str());
            assert_eq!(found, ("saxpy", at, was, should));
        }
        other => panic!("{other:?}"),
    };
    let kernel = Kernel::new(saxpy())?;
    let x = on.program.zeros::<f32, 1>([4])?;
    let mut y = on.program.zeros::<f32, 1>([4])?;
    let mut wide = on.program.zeros::<f32, 2>([2, 2])?;
    let doubles = on.program.zeros::<f64, 1>([4])?;
    argument(kernel.call().arg(2.0f64).arg(&x).arg(&mut y).launch(), 1, "f64", "f32");
    argument(
        kernel.call().arg(2.0f32).arg(&doubles).arg(&mut y).launch(),
        2,
        "&Tensor<f64, 1>",
        "&Tensor<f32, 1>",
    );
    argument(
        kernel.call().arg(2.0f32).arg(&x).arg(&mut wide).launch(),
        3,
        "&mut Tensor<f32, 2>",
        "&mut Tensor<f32, 1>",
    );
    argument(
        kernel.call().arg(2.0f32).arg(&x).arg(&x).launch(),
        3,
        "&Tensor<f32, 1>",
        "&mut Tensor<f32, 1>",
    );
    argument(kernel.call().arg(2.0f32).arg(&x).launch(), 3, "nothing", "&mut Tensor<f32, 1>");
    argument(kernel.call().arg(2.0f32).arg(&x).arg(&mut y).arg(1i32).launch(), 4, "i32", "nothing");
    // A tensor that may be written can also be one that is only read.
    let mut also = on.program.zeros::<f32, 1>([4])?;
    kernel.call::<()>().arg(2.0f32).arg(&mut also).arg(&mut y).launch()?;
    assert_eq!(y.to_vec()?, [0.0; 4]);
    Ok(())
}

#[on_all_backends]
fn a_built_kernel_has_blocks_of_threads(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let b = KernelBuilder::new("tiles");
    let x = b.param_tensor("x", I32, 1);
    let y = b.param_tensor_mut("y", I32, 2);
    let votes = b.param_tensor_mut("votes", U32, 1);
    b.block_for(x.len() / 40u64, 40, |block| {
        let tile = block.shared("tile", I32, 40);
        let start = block.index() * block.threads();
        block.each(|t| tile.store(t, x.load(start + t)));
        let most = block.reduce(ReduceOp::Max, |t| tile.load(t));
        let before = block.scan(ReduceOp::Add, true, |t| tile.load(t));
        let large = block.ballot(|t| (tile.load(t) * 2i32).gt(most));
        block.each(|t| {
            let at = start + t;
            y.store([b.constant(0u64), at], tile.load(b.constant(39u64) - t));
            y.store([b.constant(1u64), at], before.load(t) + most);
            votes.store(at, large.load(t));
        });
    });
    // Shuffles by pairs and by a distance, a vote, parts of structs.
    let spread = b.param_elements_mut("spread", <(i32, Vector<f32, 2>, [u16; 4])>::LAYOUT, 1);
    b.block_for(x.len() / 40u64, 40, |block| {
        let start = block.index() * block.threads();
        let turned = block.shuffle(|t| (x.load(start + t), b.constant(31u64) - (t & 31u64)));
        let above = block.shuffle_by(Shuffle::Up, 3u64, |t| x.load(start + t));
        let all = block.reduce(ReduceOp::And, |t| x.load(start + t).ge(0i32));
        block.each(|t| {
            let element = spread.at(start + t);
            element.clone().field("0").store(turned.load(t));
            let place = element.clone().field("1");
            place.clone().item(1u64).store(above.load(t).cast(F32));
            place.item(0u64).store(element.clone().field("1").item(1u64).load() * 0.5f32);
            let hits = element.field("2").item(t % 4u64);
            hits.store(all.select(7u32, 8u32).cast(U16));
        });
    });
    // A grid of blocks.
    b.block_for([y.extent(0), x.len() / 40u64], 20, |block| {
        let (row, column) = (block.index(), block.index_along(1));
        block.each(|t| {
            let at = column * (block.threads() * 2u64) + t + 20u64;
            y.store([row, at], y.load([row, at]) + (row * 10u64 + column).cast(I32));
        });
    });
    let kernel = Kernel::new(b.build().expect("a valid kernel"))?;
    let values: Vec<i32> = (0..120).map(|k| k * 37 % 101).collect();
    let x = on.program.tensor_from(&values, [120])?;
    let mut y = on.program.zeros::<i32, 2>([2, 120])?;
    let mut votes = on.program.zeros::<u32, 1>([120])?;
    let mut spread = on.program.zeros::<(i32, Vector<f32, 2>, [u16; 4]), 1>([120])?;
    kernel.call::<()>().arg(&x).arg(&mut y).arg(&mut votes).arg(&mut spread).launch()?;
    let spread = spread.to_vec()?;
    let (y, votes) = (y.to_vec()?, votes.to_vec()?);
    for (at, tile) in values.chunks(40).enumerate() {
        let most = *tile.iter().max().unwrap();
        for t in 0..40 {
            let place = at * 40 + t;
            let [first, second] = [0, 10].map(|row| if t < 20 { 0 } else { row + at as i32 });
            assert_eq!(y[place], tile[39 - t] + first);
            assert_eq!(y[120 + place], tile[..t].iter().sum::<i32>() + most + second);
            let warp = tile.chunks(32).nth(t / 32).unwrap();
            let bits = warp.iter().enumerate().map(|(lane, v)| u32::from(2 * v > most) << lane);
            assert_eq!(votes[place], bits.sum::<u32>());
            let (lane, of_warp) = (t % 32, t / 32 * 32);
            let of = |lane: Option<usize>| {
                let there = lane.filter(|lane| of_warp + lane < 40);
                tile[there.map_or(t, |lane| of_warp + lane)]
            };
            let above = of(lane.checked_sub(3)) as f32;
            let mut hits = [0u16; 4];
            hits[t % 4] = 7;
            let expected = (of(Some(31 - lane)), Vector([above * 0.5, above]), hits);
            assert_eq!(spread[place], expected, "thread {t} of block {at}");
        }
    }
    Ok(())
}

/// All iterations write one element; the author asserts that this is intended.
fn asserts_too_much() -> qd::ir::Kernel {
    let b = KernelBuilder::new("asserts_too_much");
    let x = b.param_tensor_mut("x", U32, 1);
    b.range_for(0u64, 1000u64, |i| b.race_free(|| x.store(0u64, i.cast(U32))));
    b.build().expect("a valid kernel")
}

#[on_all_backends]
fn assertions_of_a_built_kernel_need_unsafe(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let refused = Kernel::new(asserts_too_much());
    let Err(Error::Asserted { kernel, line }) = refused else { panic!("{refused:?}") };
    assert_eq!(kernel, "asserts_too_much");
    assert!(line > 0);

    let b = KernelBuilder::new("asserts_what_is_so");
    let (x, to) = (b.param_tensor_mut("x", U32, 1), b.param_tensor("to", U64, 1));
    b.range_for(0u64, to.len(), |i| b.race_free(|| x.store(to.load(i), i.cast(U32))));
    // SAFETY: `to` has no number twice.
    let scatter = unsafe { Kernel::asserting(b.build().expect("a valid kernel"))? };
    let to = on.program.tensor_from(&[2u64, 0, 3, 1], [4])?;
    let mut x = on.program.zeros::<u32, 1>([4])?;
    scatter.call::<()>().arg(&mut x).arg(&to).launch()?;
    assert_eq!(x.to_vec()?, [1, 3, 0, 2]);
    Ok(())
}

/// IR that no builder checked: its launches are still proven and checked for races.
#[on_all_backends]
fn a_kernel_from_ir_is_proven_at_each_launch(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut ir = asserts_too_much();
    ir.sites.iter_mut().for_each(|site| site.asserted = false);
    let kernel = Kernel::new(ir)?;
    let mut x = on.program.zeros::<u32, 1>([4])?;
    let launched = kernel.call::<()>().arg(&mut x).launch();
    assert!(matches!(launched, Err(Error::Race { .. })), "{launched:?}");
    Ok(())
}
