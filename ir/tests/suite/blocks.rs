//! Blocks of threads: what they compute, which of their accesses race, and the rules that they keep to.

use quadrants_ir::{
    abi::Form,
    launch_analysis::{HostPlan, Touched},
    verify::Rule,
    *,
};

use crate::make::{Arg, F32, I32, Maker, Outcome, U64, block_of, run};

const THREADS: u32 = 8;

/// What the second phase reads of the array that the first one fills.
type Index = fn(&mut Maker, t: ExprId, b: ExprId) -> ExprId;

/// `tile[write(t)] = x[b * 8 + t]`, then `y[b * 8 + t] = tile[read(t)]`, with `len` elements of `tile`; in
/// one phase or in two.
fn through_a_tile(len: u32, write: Index, read: Index, phases: bool) -> Maker {
    let mut m = Maker::new("tile");
    let (x, y) = (m.tensor("x", I32, 1), m.tensor("y", I32, 1));
    let blocks = m.scalar("blocks", U64);
    let (b, tile) = (m.local("b", U64), m.local("tile", I32));
    let threads = m.constant(u64::from(THREADS));
    let begin = m.constant(0u64);
    let at = |m: &mut Maker, t: ExprId| {
        let block = m.read(b);
        let start = m.binary(BinaryOp::Mul, block, threads);
        m.binary(BinaryOp::Add, start, t)
    };
    let site = m.site(SiteKind::SharedIndex(tile));

    let (t, loaded) = (m.local("t", U64), m.local("loaded", I32));
    let thread = m.read(t);
    let from = at(&mut m, thread);
    let value = m.load(x, &[from]);
    let block = m.read(b);
    let index = write(&mut m, thread, block);
    let fill = vec![
        Stmt::Let { local: loaded, value },
        Stmt::SharedStore { array: tile, index: vec![index], value: m.read(loaded), site },
    ];
    let (second, seen) = (m.local("t", U64), m.local("seen", I32));
    let thread = if phases { m.read(second) } else { thread };
    let index = read(&mut m, thread, block);
    let value = m.expr(I32, ExprKind::SharedLoad { array: tile, index: vec![index], site });
    let to = at(&mut m, thread);
    let seen_value = m.read(seen);
    let store = m.store(y, &[to], seen_value);
    let copy = vec![Stmt::Let { local: seen, value }, store];
    let mut body = vec![Stmt::Shared { array: tile, dims: vec![len] }];
    if phases {
        body.push(Stmt::Each { var: t, body: m.block(fill), exchange: None });
        body.push(Stmt::Each { var: second, body: m.block(copy), exchange: None });
    } else {
        body.push(Stmt::Each { var: t, body: m.block([fill, copy].concat()), exchange: None });
    }
    let body = m.block(body);
    let dims = vec![LoopDim { var: b, begin, end: blocks }];
    m.0.body = vec![TopStmt::BlockFor(BlockFor { dims, threads: THREADS, body, line: 3 })];
    m
}

fn own(_: &mut Maker, t: ExprId, _: ExprId) -> ExprId {
    t
}

fn mirrored(m: &mut Maker, t: ExprId, _: ExprId) -> ExprId {
    let last = m.constant(u64::from(THREADS) - 1);
    m.binary(BinaryOp::Sub, last, t)
}

fn next(m: &mut Maker, t: ExprId, _: ExprId) -> ExprId {
    let one = m.constant(1u64);
    m.binary(BinaryOp::Add, t, one)
}

fn behind_the_block(m: &mut Maker, t: ExprId, b: ExprId) -> ExprId {
    m.binary(BinaryOp::Add, b, t)
}

fn halved(m: &mut Maker, t: ExprId, _: ExprId) -> ExprId {
    let one = m.constant(1u32);
    m.binary(BinaryOp::Shr, t, one)
}

fn arguments(blocks: u64) -> Vec<Arg> {
    let elements: Vec<Const> = (0..blocks as i32 * 8).map(Const::from).collect();
    let zeros = vec![Const::from(0i32); elements.len()];
    let shape = vec![elements.len() as u64];
    vec![
        Arg::Tensor { shape: shape.clone(), elements },
        Arg::Tensor { shape, elements: zeros },
        Arg::Scalar(Const::from(blocks)),
    ]
}

fn launch(m: &Maker, form: Form, blocks: u64) -> Outcome {
    run(&offload(&m.0).unwrap(), form, &arguments(blocks)).unwrap()
}

#[test]
fn phases_see_what_the_phase_before_wrote() {
    let m = through_a_tile(8, own, mirrored, true);
    let expected: Vec<Const> = (0..24i32).map(|k| Const::from(k / 8 * 8 + 7 - k % 8)).collect();
    for form in [Form::Checked, Form::Proven] {
        let outcome = launch(&m, form, 3);
        assert_eq!((&outcome.tensors[1], outcome.error), (&expected, None), "{form:?}");
    }
}

#[test]
fn an_index_beyond_the_array_reads_zero_and_is_reported() {
    let m = through_a_tile(8, own, next, true);
    let outcome = launch(&m, Form::Checked, 1);
    let expected: Vec<Const> = [1, 2, 3, 4, 5, 6, 7, 0].map(Const::from).to_vec();
    assert_eq!(outcome.tensors[1], expected);
    assert_eq!(outcome.error, Some((0, vec![8, 8])));
}

#[test]
fn indices_of_arrays_are_proven_by_their_length() {
    let task = TaskId::new(0);
    for (len, read, proven) in
        [(8, own as Index, true), (8, mirrored, true), (8, next, false), (9, next, true)]
    {
        let kernel = offload(&through_a_tile(len, own, read, true).0).unwrap();
        let words = block_of(&kernel, &arguments(2), &mut Default::default());
        assert_eq!(HostPlan::new(&kernel).prove(task, &words), proven, "{len}");
    }
}

#[test]
fn accesses_race_within_a_phase_and_not_between_phases() {
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
        let kernel = offload(&m.0).unwrap();
        let words = block_of(&kernel, &arguments(3), &mut Default::default());
        let race = HostPlan::new(&kernel).race(&words);
        assert_eq!(race.is_some(), races, "case {case}: {race:?}");
        if let Some(race) = race {
            assert!(matches!(race.object, Touched::Shared(_)), "case {case}: {race:?}");
        }
    }
}

#[test]
fn threads_of_all_blocks_race_for_a_tensor() {
    // Both blocks and threads write: `y[t]` is written by each block.
    let mut m = Maker::new("all");
    let y = m.tensor("y", U64, 1);
    let (b, t) = (m.local("b", U64), m.local("t", U64));
    let (begin, end) = (m.constant(0u64), m.scalar("blocks", U64));
    let thread = m.read(t);
    let store = m.store(y, &[thread], thread);
    let phase = m.block(vec![store]);
    let body = m.block(vec![Stmt::Each { var: t, body: phase, exchange: None }]);
    let dims = vec![LoopDim { var: b, begin, end }];
    m.0.body = vec![TopStmt::BlockFor(BlockFor { dims, threads: THREADS, body, line: 3 })];
    let kernel = offload(&m.0).unwrap();
    for (blocks, races) in [(1u64, false), (2, true)] {
        let args = [
            Arg::Tensor { shape: vec![8], elements: vec![Const::from(0u64); 8] },
            Arg::Scalar(Const::from(blocks)),
        ];
        let words = block_of(&kernel, &args, &mut Default::default());
        let race = HostPlan::new(&kernel).race(&words);
        let object = race.map(|race| race.object);
        assert_eq!(object, races.then_some(Touched::Tensor(y)), "{blocks}");
    }
}

#[test]
fn the_text_shows_arrays_and_phases() {
    let m = through_a_tile(8, own, mirrored, true);
    let text = print(&m.0);
    for line in ["blocks %0.b in 0u64..blocks of 8 {", "shared %1.tile: [i32; 8]", "each %2.t {"] {
        assert!(text.contains(line), "{text}");
    }
    assert!(offload(&m.0).unwrap().to_string().contains("blocks %0.b in 0u64..blocks of 8 {"));
}

/// The rule that a kernel of one grid breaks, of this many threads, whose blocks do this.
fn broken(threads: u32, build: impl FnOnce(&mut Maker) -> Vec<Stmt>) -> Option<Rule> {
    let mut m = Maker::new("broken");
    let b = m.local("b", U64);
    let (begin, end) = (m.constant(0u64), m.constant(2u64));
    let body = build(&mut m);
    let body = m.block(body);
    let dims = vec![LoopDim { var: b, begin, end }];
    m.0.body = vec![TopStmt::BlockFor(BlockFor { dims, threads, body, line: 3 })];
    verify(&m.0).err().map(|error| error.rule)
}

#[test]
fn rules_of_blocks() {
    assert_eq!(broken(0, |_| vec![]), Some(Rule::BlockSize { found: 0 }));
    assert_eq!(broken(1024, |_| vec![]), None);
    let each = |m: &mut Maker, stmts: Vec<Stmt>| {
        let var = m.local("t", U64);
        Stmt::Each { var, body: m.block(stmts), exchange: None }
    };
    let shared = |m: &mut Maker, len| Stmt::Shared { array: m.local("tile", F32), dims: vec![len] };
    let of = |len, ty| Some(Rule::Shared { len, ty });
    assert_eq!(broken(8, |m| vec![shared(m, 0)]), of(0, F32));
    let narrow =
        broken(8, |m| vec![Stmt::Shared { array: m.local("a", ScalarType::I16), dims: vec![2] }]);
    assert_eq!(narrow, of(2, ScalarType::I16));
    assert_eq!(broken(8, |m| vec![shared(m, 4096), shared(m, 8192)]), None);
    let bytes = broken(8, |m| vec![shared(m, 4096), shared(m, 8193)]);
    assert_eq!(bytes, Some(Rule::SharedBytes { bytes: 49156 }));

    let nested = broken(8, |m| {
        let inner = each(m, vec![]);
        vec![each(m, vec![inner])]
    });
    assert_eq!(nested, Some(Rule::OutsideBlock));
    let within = broken(8, |m| {
        let array = shared(m, 3);
        vec![each(m, vec![array])]
    });
    assert_eq!(within, Some(Rule::OutsideBlock));
    let in_loop = broken(8, |m| {
        let array = shared(m, 3);
        vec![Stmt::Loop { body: m.block(vec![array, Stmt::Break]) }]
    });
    assert_eq!(in_loop, Some(Rule::OutsideBlock));
    let store = |m: &mut Maker| {
        let y = m.tensor("y", I32, 1);
        let (at, value) = (m.constant(0u64), m.constant(0i32));
        m.store(y, &[at], value)
    };
    assert_eq!(broken(8, |m| vec![store(m)]), Some(Rule::OutsidePhase));
    let fine = broken(8, |m| {
        let store = store(m);
        vec![each(m, vec![store])]
    });
    assert_eq!(fine, None);
    let assigned = broken(8, |m| {
        let (local, value) = (m.variable("v", U64), m.constant(0u64));
        vec![Stmt::Let { local, value }, each(m, vec![Stmt::Assign { local, value }])]
    });
    assert_eq!(assigned, Some(Rule::AssignOutside { name: "v".into() }));
    let as_value = broken(8, |m| {
        let array = m.local("tile", F32);
        let value = m.read(array);
        vec![Stmt::Shared { array, dims: vec![4] }, Stmt::Let { local: m.local("v", F32), value }]
    });
    assert_eq!(as_value, Some(Rule::SharedUse { name: "tile".into() }));
    let between = broken(8, |m| {
        let array = m.local("tile", F32);
        let site = m.site(SiteKind::SharedIndex(array));
        let index = m.constant(0u64);
        let value = m.expr(F32, ExprKind::SharedLoad { array, index: vec![index], site });
        vec![Stmt::Shared { array, dims: vec![4] }, Stmt::Let { local: m.local("v", F32), value }]
    });
    assert_eq!(between, Some(Rule::OutsidePhase));
}

/// A phase that gives `value` of the type `ty` to an exchange that defines a local of type `made`, between
/// `first` and what comes after it.
fn exchanging(
    op: ExchangeOp,
    (ty, made): (ScalarType, ScalarType),
    from: Option<ScalarType>,
    after: impl Fn(&mut Maker, LocalId) -> Vec<Stmt>,
) -> Option<Rule> {
    broken(8, |m| {
        let (var, local) = (m.local("t", U64), m.local("made", made));
        let value = m.constant(Const::from_bits(ty, 0));
        let from = from.map(|ty| m.constant(Const::from_bits(ty, 0)));
        let body = m.block(vec![Stmt::Give { value, from }]);
        let mut stmts = vec![Stmt::Each { var, body, exchange: Some(Exchange { op, local }) }];
        stmts.extend(after(m, local));
        stmts
    })
}

#[test]
fn rules_of_exchanges() {
    let nothing = |_: &mut Maker, _| Vec::new();
    let sum = ExchangeOp::Reduce(ReduceOp::Add);
    let scan = ExchangeOp::Scan { op: ReduceOp::Max, exclusive: true };
    let (bool, u32) = (ScalarType::Bool, ScalarType::U32);
    let all = ExchangeOp::Reduce(ReduceOp::And);
    let fine = [
        (sum, (F32, F32), None),
        (scan, (I32, I32), None),
        (all, (bool, bool), None),
        (ExchangeOp::Ballot, (bool, u32), None),
        (ExchangeOp::Shuffle, (bool, bool), Some(U64)),
    ];
    for (op, types, from) in fine {
        assert_eq!(exchanging(op, types, from, nothing), None, "{}", op.name());
        assert_eq!(ExchangeOp::from_name(op.name()), Some(op));
    }
    // What is given is not of the exchange's type.
    for (op, types, from) in [
        (sum, (F32, I32), None),
        (sum, (F32, F32), Some(U64)),
        (ExchangeOp::Ballot, (u32, u32), None),
        (ExchangeOp::Shuffle, (F32, F32), None),
        (ExchangeOp::Shuffle, (F32, F32), Some(u32)),
    ] {
        assert_eq!(exchanging(op, types, from, nothing), Some(Rule::Give), "{}", op.name());
    }
    for (op, ty) in [(sum, bool), (all, F32), (scan, bool), (sum, ScalarType::I16)] {
        let found = exchanging(op, (ty, ty), None, nothing);
        assert_eq!(found, Some(Rule::Exchange { op: op.name(), ty }));
    }
    let ballot = exchanging(ExchangeOp::Ballot, (bool, U64), None, nothing);
    assert_eq!(ballot, Some(Rule::Exchange { op: "ballot", ty: U64 }));

    // A reduction's value is the block's, a scan's its threads'.
    let outside =
        |m: &mut Maker, local| vec![Stmt::Let { local: m.local("v", F32), value: m.read(local) }];
    assert_eq!(exchanging(sum, (F32, F32), None, outside), None);
    let of_threads = Some(Rule::OfThreads { name: "made".into() });
    assert_eq!(exchanging(scan, (F32, F32), None, outside), of_threads);
    let inside = |m: &mut Maker, local| {
        let stmts = outside(m, local);
        vec![Stmt::Each { var: m.local("t", U64), body: m.block(stmts), exchange: None }]
    };
    assert_eq!(exchanging(scan, (F32, F32), None, inside), None);
    let again = |m: &mut Maker, local| vec![Stmt::Let { local, value: m.constant(0f32) }];
    let twice = Some(Rule::DefinedTwice { name: "made".into() });
    assert_eq!(exchanging(sum, (F32, F32), None, again), twice);

    // 64 values of 8 bytes for the warps, beside the arrays.
    let beside = |len| {
        broken(8, |m| {
            let (array, var, local) = (m.local("a", F32), m.local("t", U64), m.local("made", U64));
            let body = vec![Stmt::Give { value: m.read(var), from: None }];
            let exchange = Some(Exchange { op: sum, local });
            vec![
                Stmt::Shared { array, dims: vec![len] },
                Stmt::Each { var, body: m.block(body), exchange },
            ]
        })
    };
    assert_eq!(beside(12288 - 128), None);
    assert_eq!(beside(12288 - 127), Some(Rule::SharedBytes { bytes: 49156 }));
}

#[test]
fn a_phase_with_an_exchange_gives_once_and_last() {
    let phase = |exchange: bool, stmts: fn(&mut Maker) -> Vec<Stmt>| {
        broken(8, |m| {
            let (var, local) = (m.local("t", U64), m.local("sum", F32));
            let stmts = stmts(m);
            let op = ExchangeOp::Reduce(ReduceOp::Add);
            let exchange = exchange.then_some(Exchange { op, local });
            vec![Stmt::Each { var, body: m.block(stmts), exchange }]
        })
    };
    let give = |m: &mut Maker| Stmt::Give { value: m.constant(1f32), from: None };
    assert_eq!(phase(true, |_| vec![]), Some(Rule::Give));
    assert_eq!(
        phase(false, |m| vec![Stmt::Give { value: m.constant(1f32), from: None }]),
        Some(Rule::Give)
    );
    let twice = |m: &mut Maker| {
        let give = |m: &mut Maker| Stmt::Give { value: m.constant(1f32), from: None };
        vec![give(m), give(m)]
    };
    assert_eq!(phase(true, twice), Some(Rule::Give));
    // No thread leaves before it gives.
    let leaves = |m: &mut Maker| {
        let (then, otherwise) = (m.block(vec![Stmt::Continue]), m.block(vec![]));
        let cond = m.constant(true);
        let give = Stmt::Give { value: m.constant(1f32), from: None };
        vec![Stmt::If { cond, then, otherwise }, give]
    };
    assert_eq!(phase(true, leaves), Some(Rule::OutsideLoop));
    let at_the_top = broken(8, |m| vec![give(m)]);
    assert_eq!(at_the_top, Some(Rule::Give));
}

#[test]
fn exchanges_as_text() {
    let mut m = Maker::new("shares");
    let (b, t, made) = (m.local("b", U64), m.local("t", U64), m.local("taken", F32));
    let give = Stmt::Give { value: m.constant(0.5f32), from: Some(m.read(t)) };
    let exchange = Some(Exchange { op: ExchangeOp::Shuffle, local: made });
    let phase = Stmt::Each { var: t, body: m.block(vec![give]), exchange };
    let (begin, end) = (m.constant(0u64), m.constant(2u64));
    let body = m.block(vec![phase]);
    let dims = vec![LoopDim { var: b, begin, end }];
    m.0.body = vec![TopStmt::BlockFor(BlockFor { dims, threads: 8, body, line: 3 })];
    let text = print(&m.0);
    let expected =
        "%2.taken: f32 = shuffle of each %1.t {\n            give 0.5f32 take %1.t\n        }";
    assert!(text.contains(expected), "{text}");
}
