//! Block loops: interpretation, race checks, and the verifier's rules.

use quadrants_ir::{abi::Form, launch_analysis::LaunchAnalysis, verify::IrRule, *};

use quadrants_samples::{
    Builder, F32, I32, U64,
    run::{Outcome, SampleArg, argument_block, run},
};

const THREADS: u32 = 8;

/// The index at which the second phase reads the array that the first one initializes.
type Index = fn(&mut Builder, t: ExprId, b: ExprId) -> ExprId;

/// `tile[write(t)] = x[b * 8 + t]`, then `y[b * 8 + t] = tile[read(t)]`, with `len` elements in `tile`, in one phase or
/// in two.
fn through_a_tile(len: u32, write: Index, read: Index, phases: bool) -> Builder {
    let mut m = Builder::new("tile");
    let (x, y) = (m.tensor("x", I32, 1), m.tensor("y", I32, 1));
    let blocks = m.scalar("blocks", U64);
    let (b, tile) = (m.local("b", U64), m.local("tile", I32));
    let threads = m.constant(u64::from(THREADS));
    let begin = m.constant(0u64);
    let at = |m: &mut Builder, t: ExprId| {
        let block = m.read(b);
        let start = m.binary(BinaryOp::Mul, block, threads);
        m.binary(BinaryOp::Add, start, t)
    };
    let array = Array::Shared(tile);
    let site = m.site(SiteKind::Index(array));

    let (t, loaded) = (m.local("t", U64), m.local("loaded", I32));
    let thread = m.read(t);
    let from = at(&mut m, thread);
    let value = m.load(x, &[from]);
    let block = m.read(b);
    let index = write(&mut m, thread, block);
    let fill = vec![
        Stmt::Let { local: loaded, value },
        Stmt::Store { element: Element { array, index: vec![index], site }, value: m.read(loaded) },
    ];
    let (second, seen) = (m.local("t", U64), m.local("seen", I32));
    let thread = if phases { m.read(second) } else { thread };
    let index = read(&mut m, thread, block);
    let value = m.expr(I32, ExprKind::Load(Element { array, index: vec![index], site }));
    let to = at(&mut m, thread);
    let seen_value = m.read(seen);
    let store = m.store(y, &[to], seen_value);
    let copy = vec![Stmt::Let { local: seen, value }, store];
    let mut body = vec![Stmt::Shared { array: tile, dims: vec![len.into()], scalars: None }];
    if phases {
        body.push(Stmt::Phase { var: t, body: m.block(fill), collective: None });
        body.push(Stmt::Phase { var: second, body: m.block(copy), collective: None });
    } else {
        body.push(Stmt::Phase { var: t, body: m.block([fill, copy].concat()), collective: None });
    }
    let body = m.block(body);
    let dims = vec![LoopDim { var: b, begin, end: blocks }];
    m.kernel.body = vec![TopStmt::BlockFor(BlockFor { dims, threads: THREADS, body, line: 3 })];
    m
}

fn own(_: &mut Builder, t: ExprId, _: ExprId) -> ExprId {
    t
}

fn mirrored(m: &mut Builder, t: ExprId, _: ExprId) -> ExprId {
    let last = m.constant(u64::from(THREADS) - 1);
    m.binary(BinaryOp::Sub, last, t)
}

fn next(m: &mut Builder, t: ExprId, _: ExprId) -> ExprId {
    let one = m.constant(1u64);
    m.binary(BinaryOp::Add, t, one)
}

fn behind_the_block(m: &mut Builder, t: ExprId, b: ExprId) -> ExprId {
    m.binary(BinaryOp::Add, b, t)
}

fn halved(m: &mut Builder, t: ExprId, _: ExprId) -> ExprId {
    let one = m.constant(1u32);
    m.binary(BinaryOp::Shr, t, one)
}

fn arguments(blocks: u64) -> Vec<SampleArg> {
    let elements: Vec<Const> = (0..blocks as i32 * 8).map(Const::from).collect();
    let zeros = vec![Const::from(0i32); elements.len()];
    let shape = vec![elements.len() as u64];
    vec![
        SampleArg::Tensor { shape: shape.clone(), elements },
        SampleArg::Tensor { shape, elements: zeros },
        SampleArg::Scalar(Const::from(blocks)),
    ]
}

fn launch(m: &Builder, form: Form, blocks: u64) -> Outcome {
    run(&offload(&m.kernel).unwrap(), form, &arguments(blocks)).unwrap()
}

#[test]
fn a_phase_sees_the_writes_of_the_previous_phase() {
    let m = through_a_tile(8, own, mirrored, true);
    let expected: Vec<Const> = (0..24i32).map(|k| Const::from(k / 8 * 8 + 7 - k % 8)).collect();
    for form in [Form::Checked, Form::Proven] {
        let outcome = launch(&m, form, 3);
        assert_eq!((&outcome.tensors[1], outcome.error), (&expected, None), "{form:?}");
    }
}

#[test]
fn an_index_out_of_range_reads_zero_and_is_reported() {
    let m = through_a_tile(8, own, next, true);
    let outcome = launch(&m, Form::Checked, 1);
    let expected: Vec<Const> = [1, 2, 3, 4, 5, 6, 7, 0].map(Const::from).to_vec();
    assert_eq!(outcome.tensors[1], expected);
    assert_eq!(outcome.error, Some((0, vec![8, 8])));
}

#[test]
fn indices_of_shared_arrays_are_proven_by_their_extents() {
    let task = TaskId::new(0);
    for (len, read, proven) in
        [(8, own as Index, true), (8, mirrored, true), (8, next, false), (9, next, true)]
    {
        let kernel = offload(&through_a_tile(len, own, read, true).kernel).unwrap();
        let words = argument_block(&kernel, &arguments(2), &mut Default::default());
        assert_eq!(LaunchAnalysis::new(&kernel).prove(task, &words), proven, "{len}");
    }
}

#[test]
fn accesses_race_within_a_phase_but_not_across_phases() {
    let cases: [(Index, Index, bool, bool); 7] = [
        (own, own, false, false),
        (own, next, true, false),
        (own, next, false, true),
        (own, mirrored, false, true),
        (behind_the_block, behind_the_block, false, false),
        (behind_the_block, own, false, true),
        (halved, own, true, true),
    ];
    for (case, (write, read, phases, races)) in cases.into_iter().enumerate() {
        let m = through_a_tile(64, write, read, phases);
        let kernel = offload(&m.kernel).unwrap();
        let words = argument_block(&kernel, &arguments(3), &mut Default::default());
        let race = LaunchAnalysis::new(&kernel).race(&words);
        assert_eq!(race.is_some(), races, "case {case}: {race:?}");
        if let Some(race) = race {
            assert!(matches!(race.object, Array::Shared(_)), "case {case}: {race:?}");
        }
    }
}

#[test]
fn threads_of_different_blocks_race_for_a_tensor() {
    // Both blocks and threads write: `y[t]` is written by each block.
    let mut m = Builder::new("all");
    let y = m.tensor("y", U64, 1);
    let (b, t) = (m.local("b", U64), m.local("t", U64));
    let (begin, end) = (m.constant(0u64), m.scalar("blocks", U64));
    let thread = m.read(t);
    let store = m.store(y, &[thread], thread);
    let phase = m.block(vec![store]);
    let body = m.block(vec![Stmt::Phase { var: t, body: phase, collective: None }]);
    let dims = vec![LoopDim { var: b, begin, end }];
    m.kernel.body = vec![TopStmt::BlockFor(BlockFor { dims, threads: THREADS, body, line: 3 })];
    let kernel = offload(&m.kernel).unwrap();
    for (blocks, races) in [(1u64, false), (2, true)] {
        let args = [
            SampleArg::Tensor { shape: vec![8], elements: vec![Const::from(0u64); 8] },
            SampleArg::Scalar(Const::from(blocks)),
        ];
        let words = argument_block(&kernel, &args, &mut Default::default());
        let race = LaunchAnalysis::new(&kernel).race(&words);
        let object = race.map(|race| race.object);
        assert_eq!(object, races.then_some(Array::Tensor(y)), "{blocks}");
    }
}

#[test]
fn the_printed_ir_shows_shared_arrays_and_phases() {
    let m = through_a_tile(8, own, mirrored, true);
    let text = print(&m.kernel);
    for line in ["blocks %0.b in 0u64..blocks of 8 {", "shared %1.tile: [i32; 8]", "phase %2.t {"] {
        assert!(text.contains(line), "{text}");
    }
    assert!(offload(&m.kernel).unwrap().to_string().contains("blocks %0.b in 0u64..blocks of 8 {"));
}

/// The rule that a kernel with one block loop violates. The loop has this block size and this body.
fn broken(threads: u32, build: impl FnOnce(&mut Builder) -> Vec<Stmt>) -> Option<IrRule> {
    let mut m = Builder::new("broken");
    let b = m.local("b", U64);
    let (begin, end) = (m.constant(0u64), m.constant(2u64));
    let body = build(&mut m);
    let body = m.block(body);
    let dims = vec![LoopDim { var: b, begin, end }];
    m.kernel.body = vec![TopStmt::BlockFor(BlockFor { dims, threads, body, line: 3 })];
    verify(&m.kernel).err().map(|error| error.rule)
}

#[test]
fn the_verifier_checks_block_loops() {
    assert_eq!(broken(0, |_| vec![]), Some(IrRule::BlockSize { found: 0 }));
    assert_eq!(broken(1024, |_| vec![]), None);
    let each = |m: &mut Builder, stmts: Vec<Stmt>| {
        let var = m.local("t", U64);
        Stmt::Phase { var, body: m.block(stmts), collective: None }
    };
    let shared = |m: &mut Builder, len: u32| Stmt::Shared {
        array: m.local("tile", F32),
        dims: vec![len.into()],
        scalars: None,
    };
    let of = |len, ty| Some(IrRule::SharedArray { len, ty });
    assert_eq!(broken(8, |m| vec![shared(m, 0)]), of(0, F32));
    let narrow = broken(8, |m| {
        vec![Stmt::Shared {
            array: m.local("a", ScalarType::I16),
            dims: vec![2.into()],
            scalars: None,
        }]
    });
    assert_eq!(narrow, of(2, ScalarType::I16));
    assert_eq!(broken(8, |m| vec![shared(m, 4096), shared(m, 8192)]), None);
    let bytes = broken(8, |m| vec![shared(m, 4096), shared(m, 8193)]);
    assert_eq!(bytes, Some(IrRule::SharedBytes { bytes: 49156 }));

    let nested = broken(8, |m| {
        let inner = each(m, vec![]);
        vec![each(m, vec![inner])]
    });
    assert_eq!(nested, Some(IrRule::OutsideBlock));
    let within = broken(8, |m| {
        let array = shared(m, 3);
        vec![each(m, vec![array])]
    });
    assert_eq!(within, Some(IrRule::OutsideBlock));
    let in_loop = broken(8, |m| {
        let array = shared(m, 3);
        vec![Stmt::Loop { body: m.block(vec![array, Stmt::Break]) }]
    });
    assert_eq!(in_loop, Some(IrRule::OutsideBlock));
    let store = |m: &mut Builder| {
        let y = m.tensor("y", I32, 1);
        let (at, value) = (m.constant(0u64), m.constant(0i32));
        m.store(y, &[at], value)
    };
    assert_eq!(broken(8, |m| vec![store(m)]), Some(IrRule::OutsidePhase));
    let fine = broken(8, |m| {
        let store = store(m);
        vec![each(m, vec![store])]
    });
    assert_eq!(fine, None);
    let assigned = broken(8, |m| {
        let (local, value) = (m.variable("v", U64), m.constant(0u64));
        vec![Stmt::Let { local, value }, each(m, vec![Stmt::Assign { local, value }])]
    });
    assert_eq!(assigned, Some(IrRule::AssignOutside { name: "v".into() }));
    let as_value = broken(8, |m| {
        let array = m.local("tile", F32);
        let value = m.read(array);
        vec![
            Stmt::Shared { array, dims: vec![4.into()], scalars: None },
            Stmt::Let { local: m.local("v", F32), value },
        ]
    });
    assert_eq!(as_value, Some(IrRule::ArrayUse { name: "tile".into() }));
    let between = broken(8, |m| {
        let array = m.local("tile", F32);
        let index = m.constant(0u64);
        let element = m.element(Array::Shared(array), &[index]);
        let value = m.expr(F32, ExprKind::Load(element));
        vec![
            Stmt::Shared { array, dims: vec![4.into()], scalars: None },
            Stmt::Let { local: m.local("v", F32), value },
        ]
    });
    assert_eq!(between, Some(IrRule::OutsidePhase));
}

/// A phase with the input `value` of type `ty` to a collective whose result has the type `made`, between `first` and
/// the statements after it.
fn collective_phase(
    op: CollectiveOp,
    (ty, made): (ScalarType, ScalarType),
    from: Option<ScalarType>,
    after: impl Fn(&mut Builder, LocalId) -> Vec<Stmt>,
) -> Option<IrRule> {
    broken(8, |m| {
        let (var, local) = (m.local("t", U64), m.local("made", made));
        let value = m.constant(Const::from_bits(ty, 0));
        let from = from.map(|ty| m.constant(Const::from_bits(ty, 0)));
        let body = m.block(vec![Stmt::CollectiveInput { value, from }]);
        let mut stmts =
            vec![Stmt::Phase { var, body, collective: Some(BlockCollective { op, local }) }];
        stmts.extend(after(m, local));
        stmts
    })
}

#[test]
fn the_verifier_checks_the_types_of_collectives() {
    let nothing = |_: &mut Builder, _| Vec::new();
    let sum = CollectiveOp::Reduce(ReduceOp::Add);
    let scan = CollectiveOp::Scan { op: ReduceOp::Max, exclusive: true };
    let (bool, u32) = (ScalarType::Bool, ScalarType::U32);
    let all = CollectiveOp::Reduce(ReduceOp::And);
    let fine = [
        (sum, (F32, F32), None),
        (scan, (I32, I32), None),
        (all, (bool, bool), None),
        (CollectiveOp::Ballot, (bool, u32), None),
        (CollectiveOp::Shuffle, (bool, bool), Some(U64)),
    ];
    for (op, types, from) in fine {
        assert_eq!(collective_phase(op, types, from, nothing), None, "{}", op.name());
        assert_eq!(CollectiveOp::from_name(op.name()), Some(op));
    }
    // The input does not have the type of the collective.
    for (op, types, from) in [
        (sum, (F32, I32), None),
        (sum, (F32, F32), Some(U64)),
        (CollectiveOp::Ballot, (u32, u32), None),
        (CollectiveOp::Shuffle, (F32, F32), None),
        (CollectiveOp::Shuffle, (F32, F32), Some(u32)),
    ] {
        assert_eq!(
            collective_phase(op, types, from, nothing),
            Some(IrRule::CollectiveInput),
            "{}",
            op.name()
        );
    }
    for (op, ty) in [(sum, bool), (all, F32), (scan, bool), (sum, ScalarType::I16)] {
        let found = collective_phase(op, (ty, ty), None, nothing);
        assert_eq!(found, Some(IrRule::Collective { op: op.name(), ty }));
    }
    let ballot = collective_phase(CollectiveOp::Ballot, (bool, U64), None, nothing);
    assert_eq!(ballot, Some(IrRule::Collective { op: "ballot", ty: U64 }));

    // The result of a reduction is uniform, that of a scan is per thread.
    let outside =
        |m: &mut Builder, local| vec![Stmt::Let { local: m.local("v", F32), value: m.read(local) }];
    assert_eq!(collective_phase(sum, (F32, F32), None, outside), None);
    let of_threads = Some(IrRule::PerThread { name: "made".into() });
    assert_eq!(collective_phase(scan, (F32, F32), None, outside), of_threads);
    let inside = |m: &mut Builder, local| {
        let stmts = outside(m, local);
        vec![Stmt::Phase { var: m.local("t", U64), body: m.block(stmts), collective: None }]
    };
    assert_eq!(collective_phase(scan, (F32, F32), None, inside), None);
    let again = |m: &mut Builder, local| vec![Stmt::Let { local, value: m.constant(0f32) }];
    let twice = Some(IrRule::DefinedTwice { name: "made".into() });
    assert_eq!(collective_phase(sum, (F32, F32), None, again), twice);

    // 64 values of 8 bytes for the warps, in addition to the arrays.
    let beside = |len: u32| {
        broken(8, |m| {
            let (array, var, local) = (m.local("a", F32), m.local("t", U64), m.local("made", U64));
            let body = vec![Stmt::CollectiveInput { value: m.read(var), from: None }];
            let collective = Some(BlockCollective { op: sum, local });
            vec![
                Stmt::Shared { array, dims: vec![len.into()], scalars: None },
                Stmt::Phase { var, body: m.block(body), collective },
            ]
        })
    };
    assert_eq!(beside(12288 - 128), None);
    assert_eq!(beside(12288 - 127), Some(IrRule::SharedBytes { bytes: 49156 }));
}

#[test]
fn a_phase_with_a_collective_ends_with_exactly_one_input() {
    let phase = |collective: bool, stmts: fn(&mut Builder) -> Vec<Stmt>| {
        broken(8, |m| {
            let (var, local) = (m.local("t", U64), m.local("sum", F32));
            let stmts = stmts(m);
            let op = CollectiveOp::Reduce(ReduceOp::Add);
            let collective = collective.then_some(BlockCollective { op, local });
            vec![Stmt::Phase { var, body: m.block(stmts), collective }]
        })
    };
    let input = |m: &mut Builder| Stmt::CollectiveInput { value: m.constant(1f32), from: None };
    assert_eq!(phase(true, |_| vec![]), Some(IrRule::CollectiveInput));
    assert_eq!(
        phase(false, |m| vec![Stmt::CollectiveInput { value: m.constant(1f32), from: None }]),
        Some(IrRule::CollectiveInput)
    );
    let twice = |m: &mut Builder| {
        let input = |m: &mut Builder| Stmt::CollectiveInput { value: m.constant(1f32), from: None };
        vec![input(m), input(m)]
    };
    assert_eq!(phase(true, twice), Some(IrRule::CollectiveInput));
    // No thread may leave the phase before its input.
    let leaves = |m: &mut Builder| {
        let (then, otherwise) = (m.block(vec![Stmt::Continue]), m.block(vec![]));
        let cond = m.constant(true);
        let input = Stmt::CollectiveInput { value: m.constant(1f32), from: None };
        vec![Stmt::If { cond, then, otherwise }, input]
    };
    assert_eq!(phase(true, leaves), Some(IrRule::OutsideLoop));
    let at_the_top = broken(8, |m| vec![input(m)]);
    assert_eq!(at_the_top, Some(IrRule::CollectiveInput));
}

#[test]
fn collectives_are_printed() {
    let mut m = Builder::new("shares");
    let (b, t, made) = (m.local("b", U64), m.local("t", U64), m.local("taken", F32));
    let input = Stmt::CollectiveInput { value: m.constant(0.5f32), from: Some(m.read(t)) };
    let collective = Some(BlockCollective { op: CollectiveOp::Shuffle, local: made });
    let phase = Stmt::Phase { var: t, body: m.block(vec![input]), collective };
    let (begin, end) = (m.constant(0u64), m.constant(2u64));
    let body = m.block(vec![phase]);
    let dims = vec![LoopDim { var: b, begin, end }];
    m.kernel.body = vec![TopStmt::BlockFor(BlockFor { dims, threads: 8, body, line: 3 })];
    let text = print(&m.kernel);
    let expected =
        "%2.taken: f32 = shuffle of phase %1.t {\n            input 0.5f32 from %1.t\n        }";
    assert!(text.contains(expected), "{text}");
}

/// A kernel with dynamic arrays of `n + 1` doubles and of `n` bools, and a constant one. The extents are defined by
/// `define`, which gets the value of the parameter `n`.
fn dynamic(define: fn(&mut Builder, ExprId) -> [LocalId; 2]) -> Builder {
    let mut m = Builder::new("dynamic");
    let y = m.tensor("y", F32, 1);
    let n = m.scalar("n", U64);
    let (mut more, mut same) = (None, None);
    m.serial_block(|m| {
        let defined = define(m, n);
        (more, same) = (Some(defined[0]), Some(defined[1]));
    });
    let [more, same] = [more, same].map(|local| SharedExtent::Local(local.expect("defined")));
    let count = m.constant(2u64);
    m.blocks(count, 8, |m, _| {
        let sums = m.dynamic("sums", ScalarType::F64, &[more], None);
        m.shared("fixed", F32, &[3]);
        let flags = m.dynamic("flags", ScalarType::Bool, &[same], None);
        let pairs = m.dynamic("pairs", F32, &[2.into(), more], Some(2));
        m.each(|m, t| {
            let (one, yes) = (m.constant(1.0f64), m.constant(true));
            let (row, float) = (m.constant(1u64), m.constant(1.0f32));
            m.shared_store(sums, &[t], one);
            m.shared_store(flags, &[t], yes);
            m.shared_store(pairs, &[row, t, row], float);
            m.push_store(y, &[t], float);
        });
    });
    m
}

fn sum_and_same(m: &mut Builder, n: ExprId) -> [LocalId; 2] {
    let one = m.constant(1u64);
    let more = m.binary(BinaryOp::Add, n, one);
    [m.define("more", more, false), m.define("same", n, false)]
}

#[test]
fn a_launch_knows_the_size_of_dynamic_arrays_and_proves_with_it() {
    let kernel = dynamic(sum_and_same).finish();
    for kernel in [&kernel, &simplify(&kernel)] {
        verify_offloaded(kernel).unwrap();
        let host = LaunchAnalysis::new(kernel);
        let task = TaskId::new(0);
        let words = |n: u64| {
            let mut words = vec![0; abi::ArgLayout::new(&kernel.params).len()];
            words[abi::ArgLayout::new(&kernel.params).word(ParamId::new(0)) + 1] = 8;
            words[abi::ArgLayout::new(&kernel.params).word(ParamId::new(1))] = n;
            words
        };
        let word = abi::ArgLayout::new(&kernel.params).word(ParamId::new(1));
        assert!(host.inputs().contains(&word));
        for (n, dynamic, proven) in [
            (8, 80 + 16 + 4 * 9 * 4, true),
            (7, 64 + 16 + 4 * 8 * 4, false),
            (17, 144 + 32 + 4 * 18 * 4, true),
            (0, 16 + 4 * 4, false),
            (u64::MAX - 1, u64::MAX, false),
        ] {
            let bytes = host.shared_bytes(task, &words(n)).unwrap();
            assert_eq!((bytes.fixed, bytes.dynamic), (16, dynamic), "{n}");
            if n < 100 {
                assert_eq!(host.prove(task, &words(n)), proven, "{n}");
            }
            assert_eq!(bytes.total(), dynamic.saturating_add(16));
        }
        assert_eq!(host.shared_bytes(TaskId::new(1), &words(8)), None);
    }
}

#[test]
fn extents_that_the_host_cannot_evaluate_are_refused() {
    let of = |name: &str| IrRule::SharedExtent { name: name.to_owned() };
    let refused = |define| match offload(&dynamic(define).kernel) {
        Err(OffloadError::Invalid(error)) => error.rule,
        other => panic!("{other:?}"),
    };
    let mutable =
        |m: &mut Builder, n: ExprId| [m.define("more", n, true), m.define("same", n, false)];
    assert_eq!(refused(mutable), of("more"));
    let narrow = |m: &mut Builder, n: ExprId| {
        let narrow = m.cast(ScalarType::U32, n);
        [m.define("more", n, false), m.define("same", narrow, false)]
    };
    assert_eq!(refused(narrow), of("same"));
    let divided = |m: &mut Builder, n: ExprId| {
        let quotient = m.div_rem(DivRemOp::Div, n, n);
        [m.define("more", quotient, false), m.define("same", n, false)]
    };
    assert_eq!(refused(divided), of("more"));
    let of_floats = |m: &mut Builder, n: ExprId| {
        let float = m.cast(ScalarType::F64, n);
        let product = m.binary(BinaryOp::Mul, float, float);
        let product = m.cast(U64, product);
        [m.define("more", n, false), m.define("same", product, false)]
    };
    assert_eq!(refused(of_floats), of("same"));
}
