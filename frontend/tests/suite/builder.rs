//! Tests of the kernel builder: results of built kernels, and errors.

use std::panic::{AssertUnwindSafe, catch_unwind};

use quadrants_frontend::{
    Error, LanguageRule, NotCombined,
    builder::{KernelBuilder, Misuse, TensorParam, Threads},
};
use quadrants_ir::{
    ParamId, ReduceOp,
    ScalarType::{Bool, F16, F32, F64, I8, I32, U8, U32, U64},
    SiteKind, TaskId,
    abi::ArgLayout,
    launch_analysis::LaunchAnalysis,
    offload,
};

use crate::run::{groups, matrix, run, scalar, tensor};

fn rules(builder: KernelBuilder) -> Vec<LanguageRule> {
    match builder.build() {
        Err(Error::Rejected { violations, .. }) => {
            violations.into_iter().map(|violation| violation.rule).collect()
        }
        other => panic!("expected a violation, not {other:?}"),
    }
}

fn misuse(builder: KernelBuilder) -> Misuse {
    match builder.build() {
        Err(Error::Misuse { misuse, .. }) => misuse,
        other => panic!("expected a misuse, not {other:?}"),
    }
}

#[test]
fn saxpy() {
    let b = KernelBuilder::new("saxpy");
    let a = b.param_scalar("a", F32);
    let x = b.param_tensor("x", F32, 1);
    let y = b.param_tensor_mut("y", F32, 1);
    b.range_for(0u64, x.len(), |i| y.store(i, a * x.load(i) + y.load(i)));
    let kernel = b.build().unwrap();
    let outcome = run(&kernel, &[scalar(2.0f32), tensor(&[1.0f32, 2.0]), tensor(&[0.5f32, 0.25])]);
    assert_eq!(outcome.tensor::<f32>(1), [2.5, 4.25]);
    assert!(kernel.file.ends_with("builder.rs"));
}

#[test]
fn two_blocks_are_two_groups() {
    let b = KernelBuilder::new("two");
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
    let kernel = b.build().unwrap();
    let mut distinct = groups(&kernel);
    distinct.dedup();
    assert_eq!(distinct, [1, 2]);
    let outcome =
        run(&kernel, &[scalar(1.5f32), tensor(&[1.0f32, 2.0]), matrix(&[2, 2], &[0.0f32; 4])]);
    assert_eq!(outcome.tensor::<f32>(0), [3.0, 6.0]);
    assert_eq!(outcome.tensor::<f32>(1), [-1.0, -1.0, 11.5, 12.5]);
}

#[test]
fn control_flow_and_variables_run() {
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
    let kernel = b.build().unwrap();
    let outcome = run(&kernel, &[tensor(&[1u32, 6, 7, 27]), tensor(&[0u32])]);
    assert_eq!(outcome.tensor::<u32>(0), [0, 8, 16, 100]);
    assert_eq!(outcome.tensor::<u32>(1), [100]);
}

#[test]
fn a_value_is_evaluated_where_it_was_created() {
    let b = KernelBuilder::new("order");
    let t = b.param_tensor_mut("t", I32, 1);
    let m = b.var("m", 1i32);
    let before = m.get();
    m.set(5i32);
    t.store(0u64, before);
    t.store(1u64, m.get().select_or(before));
    let kernel = b.build().unwrap();
    assert_eq!(run(&kernel, &[tensor(&[0, 0])]).tensor::<i32>(0), [1, 5]);
}

trait SelectOr: Sized {
    fn select_or(self, other: Self) -> Self;
}

impl SelectOr for quadrants_frontend::builder::Value<'_> {
    /// The maximum, by `select`.
    fn select_or(self, other: Self) -> Self {
        self.gt(other).select(self, other)
    }
}

#[test]
fn math_functions_results_and_device_errors() {
    let b = KernelBuilder::new("norm");
    let x = b.param_tensor("x", F64, 1);
    let sum = b.var("sum", 0.0f64);
    b.while_(
        || b.constant(true),
        || {
            let v = x.load(0u64);
            sum.set(sum.get() + v.powi(2) + (1.0f64 - v.abs()).max(0.0f64));
            b.break_();
        },
    );
    b.assert_(sum.get().lt(10.0f64), "too large");
    b.return_(sum.get().sqrt());
    let kernel = b.build().unwrap();
    let outcome = run(&kernel, &[tensor(&[-2.0f64])]);
    assert_eq!((f64::from_bits(outcome.result), outcome.error), (2.0, None));
    let outcome = run(&kernel, &[tensor(&[-4.0f64])]);
    assert!(outcome.error.is_some());
}

#[test]
fn built_kernels_obey_the_language_rules() {
    let b = KernelBuilder::new("nested");
    b.stream_parallel(|| b.stream_parallel(|| ()));
    assert_eq!(rules(b), [LanguageRule::RegionBlockNested]);

    let b = KernelBuilder::new("in_loop");
    b.range_for(0u64, 4u64, |_| b.stream_parallel(|| ()));
    assert_eq!(rules(b), [LanguageRule::RegionBlockInLoop]);

    let b = KernelBuilder::new("in_branch");
    let c = b.param_scalar("c", Bool);
    b.if_(c, || b.stream_parallel(|| ()));
    assert_eq!(rules(b), [LanguageRule::RegionBlockInBranch]);

    let b = KernelBuilder::new("mixed");
    let t = b.param_tensor_mut("t", F32, 1);
    b.stream_parallel(|| t.store(0u64, 1.0f32));
    t.store(1u64, 1.0f32);
    assert_eq!(rules(b), [LanguageRule::RegionBlocksMixed]);

    let b = KernelBuilder::new("shared");
    let t = b.param_tensor("t", F32, 1);
    b.range_for(0u64, t.len(), |i| t.store(i, 1.0f32));
    assert_eq!(rules(b), [LanguageRule::WriteToShared("t".to_owned())]);

    let b = KernelBuilder::new("outer");
    let total = b.var("total", 0i32);
    b.range_for(0u64, 4u64, |_| total.set(1i32));
    assert_eq!(
        rules(b),
        [LanguageRule::AssignOutsideLoop { name: "total".to_owned(), reason: NotCombined::Last }]
    );

    let b = KernelBuilder::new("leaves");
    b.range_for(0u64, 4u64, |_| b.break_());
    b.continue_();
    assert_eq!(rules(b), [LanguageRule::BreakParallel, LanguageRule::OutsideLoop("continue")]);
}

#[test]
fn a_block_ends_with_its_closure_also_on_panic() {
    let b = KernelBuilder::new("after");
    let t = b.param_tensor_mut("t", F32, 1);
    let failed: Result<(), &str> = b.stream_parallel(|| Err("no"));
    assert!(failed.is_err());
    b.stream_parallel(|| t.store(0u64, 1.0f32));
    assert_eq!(groups(&b.build().unwrap()), [2]);

    let b = KernelBuilder::new("caught");
    let t = b.param_tensor_mut("t", F32, 1);
    let caught = catch_unwind(AssertUnwindSafe(|| {
        b.stream_parallel(|| {
            t.store(0u64, 1.0f32);
            b.range_for(0u64, 4u64, |_| panic!("in the middle"));
        });
    }));
    assert!(caught.is_err());
    b.range_for(0u64, t.len(), |i| t.store(i, 7.0f32));
    let kernel = b.build().unwrap();
    assert_eq!(groups(&kernel), [0]);
    assert_eq!(run(&kernel, &[tensor(&[0.0f32; 2])]).tensor::<f32>(0), [7.0, 7.0]);
}

#[test]
fn the_first_invalid_call_is_reported_with_its_line() {
    let b = KernelBuilder::new("types");
    let x = b.param_scalar("x", F32);
    let line = line!() + 1;
    let _ = x + 1.0f64;
    let _ = -b.constant(true);
    let error = b.build().unwrap_err();
    let Error::Misuse { misuse, span, .. } = &error else { panic!("{error}") };
    assert_eq!(*misuse, Misuse::Type { expected: F32, found: F64 });
    assert_eq!(span.line, line);
    assert_eq!(
        error.to_string(),
        format!("types: line {line}: expected f32, found f64; convert with `cast`")
    );
}

#[test]
fn messages_take_values_by_position() {
    let b = KernelBuilder::new("messages");
    let x = b.param_scalar("x", F32);
    b.range_for(0u64, 3u64, |i| b.print("{1:.2} at {0}", &[i, x]));
    let kernel = b.build().unwrap();
    let [site] = &kernel.sites[..] else { panic!("{:?}", kernel.sites) };
    let SiteKind::Print { format, iteration, types } = &site.kind else { panic!("{site:?}") };
    assert_eq!(format.to_string(), "{1:.2} at {0}");
    assert_eq!((*iteration, &types[..]), (1, &[U64, U64, F32][..]));

    for (text, what) in [
        ("{2}", "the message has no value 2"),
        ("{name}", "`{name}` must be a position"),
        ("{0:x}", "a value has no such notation"),
        ("{", "`{` without its counterpart; write `{{`"),
    ] {
        let b = KernelBuilder::new("messages");
        let x = b.param_scalar("x", F32);
        b.print(text, &[x, x]);
        assert_eq!(misuse(b), Misuse::Format { what: what.to_owned() });
    }
}

#[test]
fn narrow_values_have_the_operations_of_their_wide_type() {
    let b = KernelBuilder::new("narrow");
    let n = b.param_tensor("n", I32, 1);
    let y = b.param_tensor_mut("y", I32, 2);
    b.range_for(0u64, n.len(), |i| {
        let x = n.load(i).cast(I8);
        y.store([i, b.constant(0u64)], (-x).cast(I32));
        y.store([i, b.constant(1u64)], x.abs().cast(I32));
        y.store([i, b.constant(2u64)], (x << 1u32).cast(I32));
        let half = n.load(i).cast(F32).cast(F16);
        y.store([i, b.constant(3u64)], (-half).cast(F32).cast(I32));
    });
    let kernel = b.build().unwrap();
    let args = [tensor(&[-5i32, -128, 100]), matrix(&[3, 4], &[0i32; 12])];
    let expected = [5, 5, -10, 5, -128, -128, 0, 128, -100, 100, -56, -100];
    assert_eq!(run(&kernel, &args).tensor::<i32>(1), expected);

    let b = KernelBuilder::new("unsigned");
    let x = b.constant(3u32).cast(U8);
    let _ = -x;
    assert_eq!(misuse(b), Misuse::Undefined { operation: "-", ty: U8 });

    let b = KernelBuilder::new("bits");
    let x = b.constant(3f32).cast(F16);
    let _ = x & x;
    assert_eq!(misuse(b), Misuse::Undefined { operation: "&", ty: F16 });
}

#[test]
fn invalid_calls_are_reported() {
    let b = KernelBuilder::new("undefined");
    let _ = b.constant(1.5f32) & 2.5f32;
    assert_eq!(misuse(b), Misuse::Undefined { operation: "&", ty: F32 });

    let b = KernelBuilder::new("rank");
    let t = b.param_tensor("t", F32, 2);
    let _ = t.load(0u64);
    assert_eq!(misuse(b), Misuse::Rank { expected: 2, found: 1 });

    let b = KernelBuilder::new("axis");
    let _ = b.param_tensor("t", F32, 2).extent(2);
    assert_eq!(misuse(b), Misuse::Axis { axis: 2, rank: 2 });

    let b = KernelBuilder::new("index");
    let t = b.param_tensor("t", F32, 1);
    let _ = t.load(1i32);
    assert_eq!(misuse(b), Misuse::Type { expected: U64, found: I32 });

    let b = KernelBuilder::new("no-name");
    assert_eq!(misuse(b), Misuse::Name { name: "no-name".to_owned() });

    let b = KernelBuilder::new("twice");
    let _ = (b.param_scalar("x", F32), b.param_scalar("x", I32));
    assert_eq!(misuse(b), Misuse::DuplicateParam { name: "x".to_owned() });

    let b = KernelBuilder::new("escaped");
    let t = b.param_tensor_mut("t", U64, 1);
    let inner = b.range_for(0u64, 4u64, |i| i + 1u64);
    t.store(0u64, inner);
    assert_eq!(misuse(b), Misuse::OutOfScope);

    let (b, other) = (KernelBuilder::new("one"), KernelBuilder::new("other"));
    let _ = b.constant(1) + other.constant(2);
    assert_eq!(misuse(b), Misuse::ForeignValue);

    let b = KernelBuilder::new("after");
    b.return_(1i32);
    let _ = b.var("x", 1i32);
    assert_eq!(misuse(b), Misuse::AfterReturn);

    let b = KernelBuilder::new("inside");
    b.stream_parallel(|| b.return_(1i32));
    assert_eq!(misuse(b), Misuse::ReturnInBlock);

    let b = KernelBuilder::new("late");
    b.stream_parallel(|| b.param_scalar("x", F32).ty());
    assert_eq!(misuse(b), Misuse::ParamInBlock);

    let b = KernelBuilder::new("flat");
    let _ = b.param_tensor("t", F32, 7);
    assert_eq!(misuse(b), Misuse::TensorRank { rank: 7 });

    let b = KernelBuilder::new("atomic");
    let t = b.param_tensor_mut("t", Bool, 1);
    let _ = t.atomic_min(0u64, true);
    assert_eq!(misuse(b), Misuse::Undefined { operation: "atomic_min", ty: Bool });

    let b = KernelBuilder::new("arguments");
    let _ = b.constant(1.0f32).math(quadrants_ir::MathFn::Sqrt, &[b.constant(1.0f32)]);
    assert_eq!(misuse(b), Misuse::Arguments { method: "sqrt", expected: 0, found: 1 });
}

#[test]
fn rules_of_block_for_are_checked() {
    let tile = |body: fn(&KernelBuilder, Threads<'_>, TensorParam<'_>)| {
        let b = KernelBuilder::new("tile");
        let x = b.param_tensor_mut("x", F32, 1);
        b.block_for(2u64, 32, |block| body(&b, block, x));
        b
    };
    let outside = tile(|_, _, x| x.store(0u64, 1.0f32));
    assert!(matches!(rules(outside)[..], [LanguageRule::OutsidePhase(..)]));
    let nested = tile(|_, block, _| block.each(|_| block.each(|_| ())));
    assert_eq!(rules(nested), [LanguageRule::PhasePlace]);
    let races = tile(|_, block, x| block.each(|t| x.store(t, 1.0f32)));
    assert!(
        matches!(rules(races)[..], [LanguageRule::RaceWithItself { .. }]),
        "all blocks write the same"
    );
    let elsewhere = tile(|b, block, _| {
        let sums = block.scan(ReduceOp::Add, false, |t| t);
        block.each(|_| {
            let _ = sums.load(b.constant(3u64));
        });
    });
    assert!(matches!(rules(elsewhere)[..], [LanguageRule::PerThread(..)]));
    let of_bools = tile(|_, block, _| {
        let _ = block.reduce(ReduceOp::Add, |t| t.gt(3u64));
    });
    assert_eq!(misuse(of_bools), Misuse::Undefined { operation: "reduce_add", ty: Bool });
    let unknown = tile(|_, block, x| {
        let tile = block.shared_of_len("tile", F32, block.index() + 1u64);
        let from_memory = block.shared_of_len("other", F32, x.load(0u64).cast(U64));
        block.each(|t| {
            tile.store(t, 1.0f32);
            from_memory.store(t, 1.0f32);
        });
    });
    assert_eq!(rules(unknown), [LanguageRule::SharedExtent, LanguageRule::SharedExtent]);
    let too_many = KernelBuilder::new("many");
    too_many.block_for(1u64, 2048, |_| ());
    assert_eq!(rules(too_many), [LanguageRule::BlockSize]);
    let grid = KernelBuilder::new("grid");
    grid.block_for([1u64; 4], 32, |_| ());
    grid.block_for([1u64; 0], 32, |_| ());
    assert_eq!(rules(grid), [LanguageRule::Dimensions, LanguageRule::Dimensions]);
    let grid = KernelBuilder::new("grid");
    let x = grid.param_tensor_mut("x", U64, 2);
    grid.block_for([2u64; 2], 32, |block| {
        block.each(|t| x.store([block.index(), t], block.index_along(2)));
    });
    assert!(
        matches!(rules(grid)[..], [LanguageRule::RaceWithItself { .. }]),
        "a row of blocks writes the same"
    );
    let axis = KernelBuilder::new("axis");
    let x = axis.param_tensor_mut("x", U64, 1);
    axis.block_for([2u64; 2], 32, |block| block.each(|_| x.atomic_add(0u64, block.index_along(2))));
    assert!(axis.build().is_err(), "a grid of two dimensions has no third");
}

/// The race check compares access profiles, and the symbol table has constant-time lookups.
#[test]
fn build_time_is_linear_in_the_kernel_length() {
    let time = |stores: u64| {
        let build = || {
            let b = KernelBuilder::new("long");
            let x = b.param_tensor("x", F32, 2);
            let y = b.param_tensor_mut("y", F32, 2);
            b.range_for(0u64, x.extent(0), |i| {
                for k in 0..stores {
                    let k = b.constant(k);
                    y.store([i, k], x.load([i, k]) + 1.0f32);
                }
            });
            let begin = std::time::Instant::now();
            b.build().unwrap();
            begin.elapsed()
        };
        (0..3).map(|_| build()).min().unwrap()
    };
    let (short, long) = (time(250), time(2000));
    // Eight times the length; quadratic time would be a factor of 64.
    assert!(long < short * 24, "{short:?} {long:?}");
}

#[test]
fn a_shared_array_may_have_the_length_of_an_argument() {
    let b = KernelBuilder::new("dynamic");
    let (n, x) = (b.param_scalar("n", U64), b.param_tensor_mut("x", F32, 1));
    let len = n * 2u64 + x.extent(0);
    b.block_for(x.extent(0), 32, |block| {
        let tile = block.shared_of_len("tile", F32, len);
        let fixed = block.shared_of_len("fixed", F32, 8u64);
        block.each(|t| tile.store(t, 1.0f32));
        block.each(|t| fixed.atomic_add(0u64, tile.load(t)));
    });
    let kernel = offload(&b.build().unwrap()).unwrap();
    let bytes = |n: u64, len: u64| {
        let host = LaunchAnalysis::new(&kernel);
        let mut words = vec![0; 8];
        let layout = ArgLayout::new(&kernel.params);
        words[layout.word(ParamId::new(0))] = n;
        words[layout.word(ParamId::new(1)) + 1] = len;
        host.shared_bytes(TaskId::new(0), &words).map(|shared| (shared.fixed, shared.dynamic))
    };
    // 23 elements, in whole vectors of 16 bytes.
    assert_eq!(bytes(10, 3), Some((32, 96)));
    assert_eq!(bytes(0, 0), Some((32, 0)));
}
