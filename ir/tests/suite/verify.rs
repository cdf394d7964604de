//! One invalid kernel for each rule of the verifier.

use quadrants_ir::{
    abi::ASSERT_VALUES,
    verify::{IrLocation, IrRule, MAX_DEPTH},
    *,
};

use quadrants_samples::{Bool, Builder, F32, I32, I64, U32, U64};

/// The rule that a kernel with this body violates.
fn broken(build: impl FnOnce(&mut Builder) -> Vec<TopStmt>) -> IrRule {
    let mut m = Builder::new("broken");
    m.kernel.body = build(&mut m);
    verify(&m.kernel).unwrap_err().rule
}

/// The rule that a kernel with one serial block violates.
fn broken_serial(build: impl FnOnce(&mut Builder) -> Vec<Stmt>) -> IrRule {
    broken(|m| {
        let stmts = build(m);
        vec![m.serial(stmts)]
    })
}

/// The rule that a definition with this value violates.
fn broken_value(build: impl FnOnce(&mut Builder) -> ExprId) -> IrRule {
    broken_serial(|m| {
        let value = build(m);
        let local = m.local("v", m.kernel.exprs[value].ty);
        vec![Stmt::Let { local, value }]
    })
}

/// The rule that a statement next to a group violates.
fn broken_beside_group(build: impl FnOnce(&mut Builder) -> TopStmt) -> IrRule {
    broken(|m| {
        vec![build(m), TopStmt::RegionBlock { region_block: RegionBlockId::new(1), body: vec![] }]
    })
}

fn ty(expected: ScalarType, found: ScalarType) -> IrRule {
    IrRule::Type { expected, found }
}

fn named(rule: fn(String) -> IrRule, name: &str) -> IrRule {
    rule(name.into())
}

/// An offloaded kernel of two tasks: `let t = x[0]; for i in 0..1 { x[0] = t }`.
fn offloaded() -> Offloaded {
    let mut m = Builder::new("tasks");
    let x = m.tensor("x", U64, 1);
    let (t, i) = (m.local("t", U64), m.local("i", U64));
    let (zero, one, end) = (m.constant(0u64), m.constant(1u64), m.dim(x, 0));
    let value = m.load(x, &[zero]);
    let serial = m.serial(vec![Stmt::Let { local: t, value }]);
    let value = m.read(t);
    let store = m.store(x, &[zero], value);
    let parallel = m.parallel(&[(i, one, end)], vec![store]);
    m.kernel.body = vec![serial, parallel];
    offload(&m.kernel).unwrap()
}

/// The rule that the offloaded kernel violates after this change.
fn broken_tasks(change: impl FnOnce(&mut Offloaded)) -> IrRule {
    let mut kernel = offloaded();
    change(&mut kernel);
    verify_offloaded(&kernel).unwrap_err().rule
}

#[test]
fn the_verifier_checks_names_and_parameters() {
    let name = |name: &str| IrRule::Name { name: name.into() };
    for bad in ["", "1x", "a b", "größe", "a-b"] {
        let mut m = Builder::new(bad);
        assert_eq!(verify(&m.kernel).unwrap_err().rule, name(bad));
        m.kernel.name = "good_1".into();
        assert_eq!(verify(&m.kernel), Ok(()));
        m.scalar(bad, F32);
        let error = verify(&m.kernel).unwrap_err();
        assert_eq!((error.at, error.rule), (IrLocation::Param(ParamId::new(0)), name(bad)));
    }
    assert_eq!(
        broken(|m| {
            m.local("x y", F32);
            vec![]
        }),
        name("x y")
    );
    for rank in [7, 255] {
        let found = broken(|m| {
            m.tensor("x", F32, rank);
            vec![]
        });
        assert_eq!(found, IrRule::TensorRank { rank });
    }
}

#[test]
fn the_verifier_checks_ids_and_operand_order() {
    let unknown = ExprId::new(99);
    let kind = ExprKind::Unary { op: UnaryOp::Neg, value: unknown };
    assert_eq!(broken_value(|m| m.expr(F32, kind)), IrRule::OperandOrder);
    let itself = ExprKind::Cast { value: ExprId::new(0) };
    assert_eq!(broken_value(|m| m.expr(F32, itself)), IrRule::OperandOrder);
    assert_eq!(broken_serial(|_| vec![Stmt::Eval { value: unknown }]), IrRule::IdOutOfRange);
    let local = ExprKind::Local(LocalId::new(9));
    assert_eq!(broken_value(|m| m.expr(F32, local)), IrRule::IdOutOfRange);
    let param = ExprKind::Param(ParamId::new(9));
    assert_eq!(broken_value(|m| m.expr(F32, param)), IrRule::IdOutOfRange);
    assert_eq!(broken(|_| vec![TopStmt::Serial(BlockId::new(9))]), IrRule::IdOutOfRange);
    let site = SiteId::new(9);
    let assert =
        broken_serial(|m| vec![Stmt::Assert { cond: m.constant(true), site, values: vec![] }]);
    assert_eq!(assert, IrRule::IdOutOfRange);
}

#[test]
fn the_verifier_checks_nesting_depth_and_shared_blocks() {
    let deep = |m: &mut Builder, depth| {
        let one = m.constant(1i32);
        (0..depth).fold(one, |sum, _| m.binary(BinaryOp::Add, sum, one))
    };
    assert_eq!(broken_value(|m| deep(m, MAX_DEPTH + 1)), IrRule::NestedTooDeeply);
    let nested = |depth| {
        move |m: &mut Builder| {
            let innermost = m.block(vec![Stmt::Break]);
            let body = (0..depth)
                .fold(innermost, |body, _| m.block(vec![Stmt::Loop { body }, Stmt::Break]));
            vec![Stmt::Loop { body }]
        }
    };
    assert_eq!(broken_serial(nested(MAX_DEPTH)), IrRule::NestedTooDeeply);
    let mut m = Builder::new("deep_enough");
    let value = deep(&mut m, MAX_DEPTH);
    let local = m.local("v", I32);
    let mut stmts = vec![Stmt::Let { local, value }];
    stmts.extend(nested(MAX_DEPTH - 2)(&mut m));
    m.kernel.body = vec![m.serial(stmts)];
    verify(&m.kernel).unwrap();
    interp::Interpreter::new(&offload(&m.kernel).unwrap())
        .with_fuel(1)
        .run_task(TaskId::new(0), abi::Form::Checked, &[0; 3], &mut interp::SliceMemory::new())
        .unwrap();

    let twice = broken_serial(|m| {
        let block = m.block(vec![Stmt::Break]);
        vec![Stmt::Loop { body: block }, Stmt::Loop { body: block }]
    });
    assert_eq!(twice, IrRule::BlockUsedTwice);
    let own = broken_serial(|m| {
        let body = BlockId::new(0);
        m.block(vec![Stmt::Loop { body }]);
        vec![Stmt::Loop { body }]
    });
    assert_eq!(own, IrRule::BlockUsedTwice);
}

#[test]
fn the_verifier_checks_types_of_operators() {
    use BinaryOp::*;
    let binary = |op, a: Const, b: Const| {
        broken_value(|m| {
            let (a, b) = (m.constant(a), m.constant(b));
            m.binary(op, a, b)
        })
    };
    let on = |ty| IrRule::Operation { ty };
    assert_eq!(binary(Add, 1i32.into(), 1u32.into()), ty(I32, U32));
    assert_eq!(binary(Add, true.into(), true.into()), on(Bool));
    assert_eq!(binary(Div, 1i32.into(), 1i32.into()), on(I32));
    assert_eq!(binary(Rem, 1u64.into(), 1u64.into()), on(U64));
    assert_eq!(binary(Xor, 1f32.into(), 1f32.into()), on(F32));
    assert_eq!(binary(Shl, 1f32.into(), 1u32.into()), on(F32));
    assert_eq!(binary(Shr, 1i64.into(), true.into()), on(Bool));
    assert_eq!(binary(Lt, 1i64.into(), 1i32.into()), ty(I64, I32));
    let unary = |op, a: Const| {
        broken_value(|m| {
            let value = m.constant(a);
            m.expr(a.ty(), ExprKind::Unary { op, value })
        })
    };
    assert_eq!(unary(UnaryOp::Neg, 1u32.into()), on(U32));
    assert_eq!(unary(UnaryOp::Neg, true.into()), on(Bool));
    assert_eq!(unary(UnaryOp::Not, 1f32.into()), on(F32));
    let wrong_result = broken_value(|m| {
        let (lhs, rhs) = (m.constant(1i32), m.constant(1i32));
        m.expr(I32, ExprKind::Binary { op: Eq, lhs, rhs })
    });
    assert_eq!(wrong_result, ty(Bool, I32));
    let constant = broken_value(|m| m.expr(F32, ExprKind::Const(1i32.into())));
    assert_eq!(constant, ty(F32, I32));
    let select = |cond: Const, then: Const| {
        broken_value(|m| {
            let (cond, then, otherwise) = (m.constant(cond), m.constant(then), m.constant(1i32));
            m.expr(I32, ExprKind::Select { cond, then, otherwise })
        })
    };
    assert_eq!(select(1i32.into(), 1i32.into()), ty(Bool, I32));
    assert_eq!(select(true.into(), 1u32.into()), ty(I32, U32));
    let cast = |from: Const, to| {
        broken_value(|m| {
            let value = m.constant(from);
            m.cast(to, value)
        })
    };
    assert_eq!(cast(true.into(), F32), IrRule::Cast { from: Bool, to: F32 });
    assert_eq!(cast(1u32.into(), Bool), IrRule::Cast { from: U32, to: Bool });
}

#[test]
fn the_verifier_checks_types_of_functions() {
    let math = |function, args: &[Const]| {
        broken_value(|m| {
            let args: Vec<ExprId> = args.iter().map(|arg| m.constant(*arg)).collect();
            m.math(function, &args)
        })
    };
    let (float, int) = (Const::from(1f32), Const::from(1i32));
    assert_eq!(math(MathFn::Sqrt, &[int]), IrRule::Operation { ty: I32 });
    assert_eq!(math(MathFn::Abs, &[1u32.into()]), IrRule::Operation { ty: U32 });
    assert_eq!(math(MathFn::Max, &[true.into(), true.into()]), IrRule::Operation { ty: Bool });
    assert_eq!(math(MathFn::Powi, &[float, float]), ty(I32, F32));
    assert_eq!(math(MathFn::Powf, &[float, int]), ty(F32, I32));
    assert_eq!(math(MathFn::MulAdd, &[float, float]), IrRule::Arity { expected: 3, found: 2 });
}

#[test]
fn the_verifier_checks_accesses() {
    let load = |index: &[Const]| {
        broken_value(|m| {
            let x = m.tensor("x", F32, 2);
            let index: Vec<ExprId> = index.iter().map(|index| m.constant(*index)).collect();
            m.load(x, &index)
        })
    };
    assert_eq!(load(&[0u64.into()]), IrRule::Rank { expected: 2, found: 1 });
    assert_eq!(load(&[0u64.into(), 0u32.into()]), ty(U64, U32));
    let dim = broken_value(|m| {
        let x = m.tensor("x", F32, 2);
        m.dim(x, 2)
    });
    assert_eq!(dim, IrRule::Rank { expected: 2, found: 3 });
    let read_only = |m: &mut Builder| {
        m.param("x", ParamKind::Tensor { elem: F32, rank: 1, writable: false, distinct: false })
    };
    let store = broken_serial(|m| {
        let (x, zero, value) = (read_only(m), m.constant(0u64), m.constant(1f32));
        vec![m.store(x, &[zero], value)]
    });
    assert_eq!(store, IrRule::NotWritable);
    let atomic = broken_value(|m| {
        let (x, zero, value) = (read_only(m), m.constant(0u64), m.constant(1f32));
        m.atomic(AtomicOp::Add, x, &[zero], value)
    });
    assert_eq!(atomic, IrRule::NotWritable);
    let wrong_element = broken_serial(|m| {
        let (x, zero, value) = (m.tensor("x", F32, 1), m.constant(0u64), m.constant(1i32));
        vec![m.store(x, &[zero], value)]
    });
    assert_eq!(wrong_element, ty(F32, I32));
    for (elem, op) in [(Bool, AtomicOp::Exchange), (Bool, AtomicOp::Add), (Bool, AtomicOp::Min)] {
        let atomic = broken_value(|m| {
            let (x, zero) = (m.tensor("x", elem, 1), m.constant(0u64));
            let value = m.constant(Const::from_bits(elem, 0));
            m.atomic(op, x, &[zero], value)
        });
        assert_eq!(atomic, IrRule::Operation { ty: elem });
    }
    let without_expected = broken_value(|m| {
        let (x, zero, value) = (m.tensor("x", F32, 1), m.constant(0u64), m.constant(1f32));
        m.atomic(AtomicOp::CompareExchange, x, &[zero], value)
    });
    assert_eq!(without_expected, IrRule::Arity { expected: 2, found: 1 });
    let of_another_type = broken_value(|m| {
        let (x, zero, value) = (m.tensor("x", F32, 1), m.constant(0u64), m.constant(1f32));
        let expected = m.constant(0i32);
        m.compare_exchange(x, &[zero], [expected, value])
    });
    assert_eq!(of_another_type, ty(F32, I32));
    let scalar = broken_value(|m| {
        m.scalar("s", F32);
        m.dim(ParamId::new(0), 0)
    });
    assert_eq!(scalar, IrRule::ParamKind);
    let tensor = broken_value(|m| {
        let x = m.tensor("x", F32, 1);
        m.expr(F32, ExprKind::Param(x))
    });
    assert_eq!(tensor, IrRule::ParamKind);
    let division = broken_value(|m| {
        let one = m.constant(1f32);
        m.div_rem(DivRemOp::Div, one, one)
    });
    assert_eq!(division, IrRule::Operation { ty: F32 });
}

#[test]
fn the_verifier_checks_sites() {
    let other_tensor = broken_value(|m| {
        let (x, y, zero) = (m.tensor("x", F32, 1), m.tensor("y", F32, 1), m.constant(0u64));
        let site = m.site(SiteKind::Index(Array::Tensor(y)));
        m.expr(F32, ExprKind::Load(Element { array: Array::Tensor(x), index: vec![zero], site }))
    });
    assert_eq!(other_tensor, IrRule::Site);
    let assert = broken_serial(|m| {
        let (cond, site) = (m.constant(true), m.site(SiteKind::DivideByZero));
        vec![Stmt::Assert { cond, site, values: vec![] }]
    });
    assert_eq!(assert, IrRule::Site);
    for (types, rule) in [
        (vec![F32, F32], IrRule::Site),
        (vec![F32; ASSERT_VALUES + 1], IrRule::Site),
        (vec![I32], IrRule::Type { expected: I32, found: F32 }),
    ] {
        let found = broken_serial(|m| {
            let assertion = Assertion { types: types.clone(), ..Assertion::default() };
            let (cond, site) = (m.constant(true), m.site(SiteKind::Assert(assertion)));
            let count = if types == [I32] { 1 } else { types.len().max(3) };
            let values = (0..count).map(|_| m.constant(1_f32)).collect();
            vec![Stmt::Assert { cond, site, values }]
        });
        assert_eq!(found, rule, "{types:?}");
    }
}

#[test]
fn the_verifier_checks_local_arrays() {
    let array = |m: &mut Builder| {
        let array = m.local("a", F32);
        let kind = SiteKind::ArrayIndex { name: "a".into(), shape: vec![4] };
        (array, m.site(kind), Stmt::Array { array, len: 4 })
    };
    let element = |m: &mut Builder, array, site| {
        let index = vec![m.constant(1u64)];
        Element { array: Array::Local(array), index, site }
    };
    let store = |m: &mut Builder, array, site| {
        let (element, value) = (element(m, array, site), m.constant(2f32));
        Stmt::Store { element, value }
    };
    let of_name = |name: &str| IrRule::ArrayUse { name: name.into() };
    let mut m = Builder::new("fine");
    let (a, site, define) = array(&mut m);
    let stored = store(&mut m, a, site);
    let (cond, index) = (m.constant(true), vec![m.constant(1u64)]);
    let serial = m.serial(vec![define, Stmt::Assert { cond, site, values: index }, stored]);
    m.kernel.body = vec![serial];
    assert_eq!(verify(&m.kernel), Ok(()));

    let no_elements = broken_serial(|m| vec![Stmt::Array { array: m.local("a", F32), len: 0 }]);
    assert_eq!(no_elements, IrRule::LocalArray { len: 0 });
    let before = broken_serial(|m| {
        let (a, site, define) = array(m);
        vec![store(m, a, site), define]
    });
    assert_eq!(before, IrRule::OutOfScope { name: "a".into() });
    let as_value = broken_serial(|m| {
        let (a, _, define) = array(m);
        let value = m.read(a);
        vec![define, Stmt::Let { local: m.local("v", F32), value }]
    });
    assert_eq!(as_value, of_name("a"));
    let atomic = broken_serial(|m| {
        let (a, site, define) = array(m);
        let (element, value) = (element(m, a, site), m.constant(2f32));
        let kind = ExprKind::Atomic { op: AtomicOp::Add, element, expected: None, value };
        vec![define, Stmt::Eval { value: m.expr(F32, kind) }]
    });
    assert_eq!(atomic, of_name("a"));
    let without_index = broken_serial(|m| {
        let (_, site, define) = array(m);
        vec![define, Stmt::Assert { cond: m.constant(true), site, values: vec![] }]
    });
    assert_eq!(without_index, IrRule::Site);
    let in_another_task = broken(|m| {
        let (a, site, define) = array(m);
        let (i, zero) = (m.local("i", U64), m.constant(0u64));
        let (serial, element) = (m.serial(vec![define]), element(m, a, site));
        let value = m.expr(F32, ExprKind::Load(element));
        let read = Stmt::Let { local: m.local("v", F32), value };
        vec![serial, m.parallel(&[(i, zero, zero)], vec![read])]
    });
    assert_eq!(in_another_task, IrRule::OutOfScope { name: "a".into() });
}

#[test]
fn the_verifier_checks_effects() {
    let inside = broken_value(|m| {
        let (x, zero) = (m.tensor("x", F32, 1), m.constant(0u64));
        let load = m.load(x, &[zero]);
        m.math(MathFn::Sqrt, &[load])
    });
    assert_eq!(inside, IrRule::NestedEffect);
    let assigned = broken_serial(|m| {
        let (v, one) = (m.variable("v", I32), m.constant(1i32));
        let value = m.div_rem(DivRemOp::Div, one, one);
        vec![Stmt::Let { local: v, value: one }, Stmt::Assign { local: v, value }]
    });
    assert_eq!(assigned, IrRule::NestedEffect);
    let pure = broken_serial(|m| vec![Stmt::Eval { value: m.constant(1i32) }]);
    assert_eq!(pure, IrRule::NoEffect);
}

#[test]
fn the_verifier_checks_locals() {
    let undefined = |name| IrRule::OutOfScope { name };
    let early = broken_serial(|m| {
        let v = m.local("v", I32);
        let value = m.read(v);
        vec![Stmt::Let { local: v, value }]
    });
    assert_eq!(early, named(undefined, "v"));
    let out_of_scope = broken_serial(|m| {
        let (v, w, one, cond) =
            (m.local("v", I32), m.local("w", I32), m.constant(1i32), m.constant(true));
        let (then, otherwise) =
            (m.block(vec![Stmt::Let { local: v, value: one }]), m.block(vec![]));
        let value = m.read(v);
        vec![Stmt::If { cond, then, otherwise }, Stmt::Let { local: w, value }]
    });
    assert_eq!(out_of_scope, named(undefined, "v"));
    let of_another_group = broken(|m| {
        let (v, w, one) = (m.local("v", I32), m.local("w", I32), m.constant(1i32));
        let first = m.serial(vec![Stmt::Let { local: v, value: one }]);
        let value = m.read(v);
        let second = m.serial(vec![Stmt::Let { local: w, value }]);
        let group =
            |number, body| TopStmt::RegionBlock { region_block: RegionBlockId::new(number), body };
        vec![group(1, vec![first]), group(2, vec![second])]
    });
    assert_eq!(of_another_group, named(undefined, "v"));
    let twice = broken_serial(|m| {
        let (local, value) = (m.local("v", I32), m.constant(1i32));
        vec![Stmt::Let { local, value }, Stmt::Let { local, value }]
    });
    assert_eq!(twice, IrRule::DefinedTwice { name: "v".into() });
    let fixed = broken_serial(|m| {
        let (local, value) = (m.local("v", I32), m.constant(1i32));
        vec![Stmt::Let { local, value }, Stmt::Assign { local, value }]
    });
    assert_eq!(fixed, IrRule::NotMutable { name: "v".into() });
    let outside = broken(|m| {
        let (local, value, i) = (m.variable("v", I32), m.constant(1i32), m.local("i", I32));
        let serial = m.serial(vec![Stmt::Let { local, value }]);
        vec![serial, m.parallel(&[(i, value, value)], vec![Stmt::Assign { local, value }])]
    });
    assert_eq!(outside, IrRule::AssignOutside { name: "v".into() });
    let wrong_type = broken_serial(|m| {
        let (local, value) = (m.local("v", I32), m.constant(1u32));
        vec![Stmt::Let { local, value }]
    });
    assert_eq!(wrong_type, ty(I32, U32));
}

#[test]
fn the_verifier_checks_loops() {
    let variable = |local: fn(&mut Builder) -> LocalId, zero: Const| {
        broken_serial(|m| {
            let (var, zero, body) = (local(m), m.constant(zero), m.block(vec![]));
            vec![Stmt::For { var, begin: zero, end: zero, body, unroll: None, down: false }]
        })
    };
    let rule = IrRule::LoopVariable { name: "i".into() };
    assert_eq!(variable(|m| m.variable("i", I32), 0i32.into()), rule);
    assert_eq!(variable(|m| m.local("i", F32), 0f32.into()), rule);
    assert_eq!(variable(|m| m.local("i", I32), 0i64.into()), ty(I32, I64));
    assert_eq!(broken(|m| vec![m.parallel(&[], vec![])]), IrRule::LoopDims { found: 0 });
    assert_eq!(broken_serial(|_| vec![Stmt::Break]), IrRule::OutsideLoop);
    assert_eq!(broken_serial(|_| vec![Stmt::Continue]), IrRule::OutsideLoop);
    let break_in_parallel = broken(|m| {
        let (i, zero) = (m.local("i", I32), m.constant(0i32));
        vec![m.parallel(&[(i, zero, zero)], vec![Stmt::Break])]
    });
    assert_eq!(break_in_parallel, IrRule::OutsideLoop);
}

#[test]
fn the_verifier_checks_groups() {
    let group =
        |number, body| TopStmt::RegionBlock { region_block: RegionBlockId::new(number), body };
    assert_eq!(broken(|_| vec![group(2, vec![])]), IrRule::RegionBlockNumber);
    assert_eq!(broken(|_| vec![group(1, vec![]), group(1, vec![])]), IrRule::RegionBlockNumber);
    assert_eq!(broken(|_| vec![group(1, vec![group(2, vec![])])]), IrRule::RegionBlockNested);
    let beside = broken_beside_group(|m| {
        let (i, zero) = (m.local("i", I32), m.constant(0i32));
        m.parallel(&[(i, zero, zero)], vec![])
    });
    assert_eq!(beside, IrRule::RegionBlockMixed);
    let mutable = broken_beside_group(|m| {
        let (local, value) = (m.variable("v", I32), m.constant(0i32));
        m.serial(vec![Stmt::Let { local, value }])
    });
    assert_eq!(mutable, IrRule::RegionBlockMixed);
    let reading = broken_beside_group(|m| {
        let (x, zero, local) = (m.tensor("x", I32, 1), m.constant(0u64), m.local("v", I32));
        let value = m.load(x, &[zero]);
        m.serial(vec![Stmt::Let { local, value }])
    });
    assert_eq!(reading, IrRule::RegionBlockMixed);
    let returning = broken(|m| {
        m.kernel.results = vec![I32];
        vec![group(1, vec![]), TopStmt::Return(vec![m.constant(0i32)])]
    });
    assert_eq!(returning, IrRule::RegionBlockMixed);
}

#[test]
fn the_verifier_checks_returns() {
    assert_eq!(broken(|m| vec![TopStmt::Return(vec![m.constant(0i32)])]), IrRule::Return);
    let missing = |m: &mut Builder| {
        m.kernel.results = vec![I32];
        vec![]
    };
    assert_eq!(broken(missing), IrRule::Return);
    let early = |m: &mut Builder| {
        m.kernel.results = vec![I32];
        let value = m.constant(0i32);
        vec![TopStmt::Return(vec![value]), TopStmt::Return(vec![value])]
    };
    assert_eq!(broken(early), IrRule::Return);
    let other_type = |m: &mut Builder| {
        m.kernel.results = vec![I32];
        vec![TopStmt::Return(vec![m.constant(0u32)])]
    };
    assert_eq!(broken(other_type), ty(I32, U32));
}

#[test]
fn temporaries_exist_only_after_offloading() {
    let temp = TempId::new(0);
    assert_eq!(broken_value(|m| m.expr(U64, ExprKind::Temp(temp))), IrRule::OffloadOnly);
    let set = broken_serial(|m| vec![Stmt::SetTemp { temp, value: m.constant(0i32) }]);
    assert_eq!(set, IrRule::OffloadOnly);
    let result = broken_serial(|m| vec![Stmt::SetResult { at: 0, value: m.constant(0i32) }]);
    assert_eq!(result, IrRule::OffloadOnly);
}

#[test]
fn the_verifier_checks_tasks() {
    verify_offloaded(&offloaded()).unwrap();
    let stmts = |k: &mut Offloaded, block: BlockId| k.blocks[block].stmts.clone();
    assert_eq!(
        broken_tasks(|k| k.tasks[0].region_block = RegionBlockId::new(1)),
        IrRule::RegionBlockNumber
    );
    assert_eq!(broken_tasks(|k| k.tasks[0].accesses.clear()), IrRule::AccessListMismatch);
    assert_eq!(broken_tasks(|k| k.tasks[1].accesses[0].read = true), IrRule::AccessListMismatch);
    assert_eq!(broken_tasks(|k| k.temps.clear()), IrRule::IdOutOfRange);
    assert_eq!(broken_tasks(|k| k.temps[0] = U32), ty(U64, U32));
    let effect = broken_tasks(|k| {
        let (prelude, body) = (k.tasks[0].prelude, k.tasks[0].body);
        k.blocks[prelude].stmts = stmts(k, body)[..1].to_vec();
    });
    assert_eq!(effect, IrRule::Prelude);
    let set_in_loop = broken_tasks(|k| {
        let (serial, body) = (k.tasks[0].body, k.tasks[1].body);
        let last = stmts(k, serial)[1..].to_vec();
        let Stmt::SetTemp { temp, .. } = last[0] else { unreachable!() };
        let value = k.exprs.push(Expr::new(U64, ExprKind::Const(0u64.into())));
        k.blocks[body].stmts.push(Stmt::SetTemp { temp, value });
    });
    assert_eq!(set_in_loop, IrRule::SetOutsideSerial);
    for found in [0, 1025] {
        let size = broken_tasks(|k| {
            let TaskKind::RangeFor { block_size, .. } = &mut k.tasks[1].kind else {
                unreachable!()
            };
            *block_size = Some(found);
        });
        assert_eq!(size, IrRule::BlockSize { found });
    }
    let bound = broken_tasks(|k| {
        let prelude = k.tasks[1].prelude;
        let Stmt::Let { local, .. } = stmts(k, prelude)[0] else { unreachable!() };
        let read = k.exprs.push(Expr::new(U64, ExprKind::Local(local)));
        let TaskKind::RangeFor { dims, .. } = &mut k.tasks[1].kind else { unreachable!() };
        dims[0].end = read;
    });
    assert_eq!(bound, IrRule::BoundWithoutSite);
}

#[test]
fn errors_contain_the_location() {
    let mut m = Builder::new("somewhere");
    let value = m.constant(1i32);
    m.kernel.body = vec![m.serial(vec![Stmt::Eval { value }])];
    assert_eq!(
        verify(&m.kernel).unwrap_err().to_string(),
        "kernel `somewhere` is invalid at b0[0]: the value of an `Eval` must have a side effect"
    );
    assert!(matches!(offload(&m.kernel), Err(OffloadError::Invalid(_))));
}
