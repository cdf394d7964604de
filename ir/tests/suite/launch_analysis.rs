//! Bounds and bounds proofs on the host.

use std::collections::HashMap;

use quadrants_ir::{abi::Forms, launch_analysis::LaunchAnalysis, schedule::schedule, *};

use quadrants_samples::{Builder, F32, I32, I64, U32, U64, generate::Rng};

const TASK: TaskId = TaskId::new(0);

/// The kernel `for i in begin..end { let v = x[index(i)]; }` over a tensor `x` of rank 1, after one scalar of type
/// `ty`. The closures return the bounds and the index.
fn one_access(
    ty: ScalarType,
    bounds: impl FnOnce(&mut Builder, ExprId, ParamId) -> (ExprId, ExprId),
    index: impl FnOnce(&mut Builder, ExprId, ExprId, ParamId) -> ExprId,
) -> LaunchAnalysis {
    let mut m = Builder::new("one_access");
    let scalar = m.scalar("n", ty);
    let x = m.tensor("x", F32, 1);
    let (begin, end) = bounds(&mut m, scalar, x);
    let i = m.local("i", m.kernel.exprs[begin].ty);
    let at = m.read(i);
    let index = index(&mut m, at, scalar, x);
    let value = m.load(x, &[index]);
    let local = m.local("v", F32);
    let body = m.parallel(&[(i, begin, end)], vec![Stmt::Let { local, value }]);
    m.kernel.body = vec![body];
    LaunchAnalysis::new(&offload(&m.kernel).unwrap())
}

/// The argument block of such a kernel.
fn block(scalar: impl Into<Const>, extent: u64) -> [u64; 6] {
    [0, 0, 1, scalar.into().bits(), 0x1000, extent]
}

/// Bounds `0..x.len()`.
fn over_x(m: &mut Builder, _: ExprId, x: ParamId) -> (ExprId, ExprId) {
    (m.constant(0u64), m.dim(x, 0))
}

#[test]
fn accesses_to_the_whole_tensor_are_proven_and_beyond_it_are_not() {
    let plan = one_access(U64, |m, n, _| (m.constant(0u64), n), |_, i, _, _| i);
    assert!(plan.prove(TASK, &block(8u64, 8)));
    assert!(plan.prove(TASK, &block(8u64, 9)));
    assert!(!plan.prove(TASK, &block(9u64, 8)));
    assert!(plan.prove(TASK, &block(0u64, 0)), "an empty loop touches nothing");
}

#[test]
fn neighbour_accesses_are_proven_except_at_the_border() {
    for (begin, proven) in [(1u64, true), (0, false)] {
        let bounds = |m: &mut Builder, _, x| (m.constant(begin), m.dim(x, 0));
        let plan = one_access(U64, bounds, |m, i, _, _| {
            let one = m.constant(1u64);
            m.binary(BinaryOp::Sub, i, one)
        });
        assert_eq!(plan.prove(TASK, &block(0u64, 5)), proven);
    }
}

#[test]
fn the_proof_understands_clamps_casts_remainders_and_masks() {
    let clamp = one_access(U64, over_x, |m, i, _, x| {
        let (signed, three) = (m.cast(I64, i), m.constant(3i64));
        let shifted = m.binary(BinaryOp::Sub, signed, three);
        let (zero, one, dim) = (m.constant(0i64), m.constant(1i64), m.dim(x, 0));
        let dim = m.cast(I64, dim);
        let last = m.binary(BinaryOp::Sub, dim, one);
        let low = m.math(MathFn::Max, &[shifted, zero]);
        let clamped = m.math(MathFn::Min, &[low, last]);
        m.cast(U64, clamped)
    });
    assert!(clamp.prove(TASK, &block(0u64, 10)));
    // Without the lower clamp the cast of a negative number would be huge.
    let open = one_access(U64, over_x, |m, i, _, _| {
        let (signed, three) = (m.cast(I64, i), m.constant(3i64));
        let shifted = m.binary(BinaryOp::Sub, signed, three);
        m.cast(U64, shifted)
    });
    assert!(!open.prove(TASK, &block(0u64, 10)));
    let mask = one_access(U64, over_x, |m, i, n, _| m.binary(BinaryOp::And, i, n));
    assert!(mask.prove(TASK, &block(7u64, 100)));
    let any = |m: &mut Builder, n, _| (m.constant(0u64), n);
    let mask = one_access(U64, any, |m, i, _, _| {
        let seven = m.constant(7u64);
        m.binary(BinaryOp::And, i, seven)
    });
    assert!(mask.prove(TASK, &block(u64::MAX, 8)));
    assert!(!mask.prove(TASK, &block(u64::MAX, 7)));
    let shift = one_access(U64, any, |m, i, _, _| {
        let two = m.constant(2u32);
        m.binary(BinaryOp::Shr, i, two)
    });
    assert!(shift.prove(TASK, &block(8u64, 2)));
    assert!(!shift.prove(TASK, &block(9u64, 2)));
}

/// A table has the values that are stored and 0; an array that is also written elsewhere has any.
#[test]
fn elements_of_tables_are_bounded_by_their_values() {
    for is_table in [true, false] {
        let mut m = Builder::new("table");
        let x = m.tensor("x", F32, 1);
        let (zero, three) = (m.constant(0u64), m.constant(3u64));
        m.parallel_loop(&[("i", zero, three)], |m, i| {
            let array = m.array("array", U64, 3);
            for at in 0..2u64 {
                let (at, value) = (m.constant(at), m.constant(4 + at));
                m.array_store(array, at, value);
            }
            if !is_table {
                let _ = m.define("between", i[0], true);
                m.array_store(array, zero, i[0]);
            }
            let element = m.array_load("element", array, i[0]);
            m.let_load("value", x, &[element]);
        });
        let plan = LaunchAnalysis::new(&m.finish());
        assert_eq!(plan.prove(TASK, &[0, 0, 0, 0x1000, 6]), is_table);
        assert!(!plan.prove(TASK, &[0, 0, 0, 0x1000, 5]));
    }
}

#[test]
fn a_computation_that_may_wrap_is_any_value_of_its_type() {
    let product = |m: &mut Builder, i, n, _| m.binary(BinaryOp::Mul, i, n);
    let plan = one_access(U64, over_x, product);
    assert!(plan.prove(TASK, &block(1u64, 100)));
    assert!(!plan.prove(TASK, &block(1u64 << 60, 100)), "the product leaves its type");
    let masked = |m: &mut Builder, i, n, x| {
        let (product, three) = (product(m, i, n, x), m.constant(3u64));
        m.binary(BinaryOp::And, product, three)
    };
    let plan = one_access(U64, over_x, masked);
    assert!(plan.prove(TASK, &block(1u64 << 60, 100)), "whatever the product is");
    assert!(!plan.prove(TASK, &block(1u64 << 60, 3)));
}

#[test]
fn the_proof_understands_division_by_constants_and_inner_loops() {
    // for i in 0..n { let h = i / 2; for k in h..h + 3 { x[k] } }
    let mut m = Builder::new("inner");
    let n = m.scalar("n", U64);
    let x = m.tensor("x", F32, 1);
    let (i, h, k) = (m.local("i", U64), m.local("h", U64), m.local("k", U64));
    let (zero, two, three) = (m.constant(0u64), m.constant(2u64), m.constant(3u64));
    let at = m.read(i);
    let half = m.div_rem(DivRemOp::Div, at, two);
    let begin = m.read(h);
    let end = m.binary(BinaryOp::Add, begin, three);
    let index = m.read(k);
    let (value, local) = (m.load(x, &[index]), m.local("v", F32));
    let inner = m.block(vec![Stmt::Let { local, value }]);
    let stmts = vec![
        Stmt::Let { local: h, value: half },
        Stmt::For { var: k, begin, end, body: inner, unroll: None, down: false },
    ];
    let body = m.parallel(&[(i, zero, n)], stmts);
    m.kernel.body = vec![body];
    let plan = LaunchAnalysis::new(&offload(&m.kernel).unwrap());
    assert!(plan.prove(TASK, &block(10u64, 7)), "h is at most 4, so k at most 6");
    assert!(!plan.prove(TASK, &block(10u64, 6)));
    assert!(!plan.prove(TASK, &block(11u64, 7)));
}

#[test]
fn branches_decided_by_the_arguments_are_skipped() {
    // for i in 0..x.len() { if n > 3 { x[i + 1] } }
    let mut m = Builder::new("branch");
    let n = m.scalar("n", U64);
    let x = m.tensor("x", F32, 1);
    let (i, v) = (m.local("i", U64), m.local("v", F32));
    let (zero, one, three, dim) =
        (m.constant(0u64), m.constant(1u64), m.constant(3u64), m.dim(x, 0));
    let cond = m.binary(BinaryOp::Gt, n, three);
    let at = m.read(i);
    let next = m.binary(BinaryOp::Add, at, one);
    let value = m.load(x, &[next]);
    let (then, otherwise) = (m.block(vec![Stmt::Let { local: v, value }]), m.block(vec![]));
    let body = m.parallel(&[(i, zero, dim)], vec![Stmt::If { cond, then, otherwise }]);
    m.kernel.body = vec![body];
    let plan = LaunchAnalysis::new(&offload(&m.kernel).unwrap());
    assert!(plan.prove(TASK, &block(3u64, 8)));
    assert!(!plan.prove(TASK, &block(4u64, 8)));
}

#[test]
fn values_of_a_skipped_branch_are_computed_again_after_it() {
    // for i in 0..2 { if n > 3 { x[i + 1] } x[i + 1] }
    let mut m = Builder::new("after");
    let n = m.scalar("n", U64);
    let x = m.tensor("x", F32, 1);
    let (i, v, w) = (m.local("i", U64), m.local("v", F32), m.local("w", F32));
    let (zero, one, two, three) =
        (m.constant(0u64), m.constant(1u64), m.constant(2u64), m.constant(3u64));
    let cond = m.binary(BinaryOp::Gt, n, three);
    let at = m.read(i);
    let next = m.binary(BinaryOp::Add, at, one);
    let (inside, after) = (m.load(x, &[next]), m.load(x, &[next]));
    let then = m.block(vec![Stmt::Let { local: v, value: inside }]);
    let otherwise = m.block(vec![]);
    let stmts = vec![Stmt::If { cond, then, otherwise }, Stmt::Let { local: w, value: after }];
    let body = m.parallel(&[(i, zero, two)], stmts);
    m.kernel.body = vec![body];
    let plan = LaunchAnalysis::new(&offload(&m.kernel).unwrap());
    assert!(plan.prove(TASK, &block(3u64, 3)));
    assert!(!plan.prove(TASK, &block(3u64, 2)));
}

#[test]
fn loaded_elements_and_temporaries_are_unknown() {
    // let k = x[0]; for i in 0..1 { x[k] }
    let mut m = Builder::new("indirect");
    let x = m.tensor("x", U64, 1);
    let (k, i, v) = (m.local("k", U64), m.local("i", U64), m.local("v", U64));
    let (zero, one) = (m.constant(0u64), m.constant(1u64));
    let first = m.load(x, &[zero]);
    let index = m.read(k);
    let value = m.load(x, &[index]);
    let serial = m.serial(vec![Stmt::Let { local: k, value: first }]);
    let parallel = m.parallel(&[(i, zero, one)], vec![Stmt::Let { local: v, value }]);
    m.kernel.body = vec![serial, parallel];
    let plan = LaunchAnalysis::new(&offload(&m.kernel).unwrap());
    let args = [0, 0, 1, 0x1000, 4];
    assert!(plan.prove(TaskId::new(0), &args));
    assert!(!plan.prove(TaskId::new(1), &args));
}

#[test]
fn extents_equal_the_bounds_computed_on_the_device() {
    let plan = one_access(
        I32,
        |m, n, _| {
            let (five, two) = (m.constant(5i32), m.constant(2i32));
            (m.binary(BinaryOp::Sub, n, five), m.binary(BinaryOp::Mul, n, two))
        },
        |m, i, _, _| m.cast(U64, i),
    );
    assert_eq!(plan.extents(TASK, &block(3i32, 4)).dims(), [(-2, 6)]);
    assert_eq!(plan.extents(TASK, &block(3i32, 4)).iterations(), 8);
    assert!(plan.extents(TASK, &block(-7i32, 4)).is_empty());
    assert_eq!(plan.extents(TASK, &block(1i32 << 30, 4)).dims(), [((1 << 30) - 5, -(1 << 31))]);
    assert!(!plan.prove(TASK, &block(3i32, 100)), "-2 as u64 is no index");
    let float =
        one_access(F32, |m, n, _| (m.constant(0u32), m.cast(U32, n)), |m, i, _, _| m.cast(U64, i));
    assert_eq!(float.extents(TASK, &block(6.9f32, 4)).dims(), [(0, 6)]);
    assert_eq!(float.extents(TASK, &block(f32::NAN, 4)).iterations(), 0);
    assert_eq!(float.extents(TASK, &block(1e30f32, 4)).dims(), [(0, i128::from(u32::MAX))]);
}

#[test]
fn only_the_low_bytes_of_a_scalar_argument_are_used() {
    let bounds = |m: &mut Builder, n, _| (m.constant(0u64), m.cast(U64, n));
    let plan = one_access(U32, bounds, |_, i, _, _| i);
    let mut args = block(6u32, 8);
    args[3] |= 0xffff_ffff_0000_0000;
    assert_eq!(plan.extents(TASK, &args).dims(), [(0, 6)]);
    assert!(plan.prove(TASK, &args));
}

#[test]
fn a_bound_may_use_definitions_that_cannot_fail() {
    // let h = n / 2; for i in 0..h { x[i] }
    let mut m = Builder::new("half");
    let n = m.scalar("n", U64);
    let x = m.tensor("x", F32, 1);
    let (h, i, v) = (m.local("h", U64), m.local("i", U64), m.local("v", F32));
    let (zero, two) = (m.constant(0u64), m.constant(2u64));
    let half = m.div_rem(DivRemOp::Div, n, two);
    let serial = m.serial(vec![Stmt::Let { local: h, value: half }]);
    let (end, at) = (m.read(h), m.read(i));
    let value = m.load(x, &[at]);
    let parallel = m.parallel(&[(i, zero, end)], vec![Stmt::Let { local: v, value }]);
    m.kernel.body = vec![serial, parallel];
    let kernel = offload(&m.kernel).unwrap();
    assert_eq!(kernel.tasks.len(), 1);
    assert_eq!(launch_analysis::extents(&kernel, TASK, &block(9u64, 4)).dims(), [(0, 4)]);
    assert!(launch_analysis::prove(&kernel, TASK, &block(9u64, 4)));
    assert!(!launch_analysis::prove(&kernel, TASK, &block(10u64, 4)));
}

#[test]
fn a_bound_read_from_a_tensor_is_computed_on_the_device() {
    // let n = x[0]; for i in 0..n { x[min(i, 3)] }
    let mut m = Builder::new("device_bound");
    let x = m.tensor("x", U64, 1);
    let (n, i, v) = (m.local("n", U64), m.local("i", U64), m.local("v", U64));
    let zero = m.constant(0u64);
    let value = m.load(x, &[zero]);
    let serial = m.serial(vec![Stmt::Let { local: n, value }]);
    let (end, at, three) = (m.read(n), m.read(i), m.constant(3u64));
    let at = m.expr(U64, ExprKind::Math { function: MathFn::Min, args: vec![at, three] });
    let value = m.load(x, &[at]);
    let parallel = m.parallel(&[(i, zero, end)], vec![Stmt::Let { local: v, value }]);
    m.kernel.body = vec![serial, parallel];
    let kernel = offload(&m.kernel).unwrap();
    verify_offloaded(&kernel).unwrap();
    assert_eq!(kernel.temps, [U64]);
    assert!(kernel.tasks[1].kind.has_device_bounds());
    let plan = LaunchAnalysis::new(&kernel);
    let args = |extent| [0, 0, 0, 0, extent];
    let known = plan.extents(TaskId::new(1), &args(4));
    assert_eq!(known.dims(), [(0, abi::MAX_BOUND)]);
    assert!(plan.prove(TaskId::new(1), &args(4)));
    assert!(!plan.prove(TaskId::new(1), &args(3)));
}

#[test]
fn the_host_has_conservative_bounds_for_device_bounds() {
    // let n = x[0]; for i in 2..min(n, 10), for i in 12..min(n, 10)
    let mut m = Builder::new("narrow");
    let x = m.tensor("x", I32, 1);
    let (n, i, j) = (m.local("n", I32), m.local("i", I32), m.local("j", I32));
    let zero = m.constant(0u64);
    let value = m.load(x, &[zero]);
    let serial = m.serial(vec![Stmt::Let { local: n, value }]);
    let (two, ten, twelve) = (m.constant(2i32), m.constant(10i32), m.constant(12i32));
    let end = m.read(n);
    let end = m.expr(I32, ExprKind::Math { function: MathFn::Min, args: vec![end, ten] });
    let first = m.parallel(&[(i, two, end)], vec![]);
    let second = m.parallel(&[(j, twelve, end)], vec![]);
    m.kernel.body = vec![serial, first, second];
    let kernel = offload(&m.kernel).unwrap();
    let plan = LaunchAnalysis::new(&kernel);
    assert_eq!(plan.extents(TaskId::new(1), &[0, 0, 0, 0, 4]).dims(), [(2, 10)]);
    assert!(plan.extents(TaskId::new(2), &[0, 0, 0, 0, 4]).is_empty());
}

/// `for i in 0..n { x[i % m] = 0 }`.
fn remainders() -> Offloaded {
    let mut m = Builder::new("remainders");
    let (n, by) = (m.scalar("n", U64), m.scalar("m", U64));
    let x = m.tensor("x", F32, 1);
    let (i, at) = (m.local("i", U64), m.local("at", U64));
    let (zero, value, counter) = (m.constant(0u64), m.constant(0.0f32), m.read(i));
    let value_of = m.div_rem(DivRemOp::Rem, counter, by);
    let index = m.read(at);
    let body = vec![Stmt::Let { local: at, value: value_of }, m.store(x, &[index], value)];
    let parallel = m.parallel(&[(i, zero, n)], body);
    m.kernel.body = vec![parallel];
    offload(&m.kernel).unwrap()
}

/// A value of any other range is below 256 as a byte.
#[test]
fn values_that_are_converted_to_bytes_are_bounded() {
    let mut b = Builder::new("bytes");
    let values = b.read_only("values", U32, 1);
    let table = b.read_only("table", F32, 1);
    let y = b.tensor("y", F32, 1);
    let (zero, len) = (b.constant(0u64), b.dim(y, 0));
    b.parallel_loop(&[("i", zero, len)], |b, i| {
        let value = b.let_load("value", values, i);
        let index = [ScalarType::U8, U32, U64].into_iter().fold(value, |at, ty| b.cast(ty, at));
        let value = b.let_load("entry", table, &[index]);
        b.push_store(y, i, value);
    });
    let plan = LaunchAnalysis::new(&b.finish());
    let forms = |table: u64| plan.forms(&[0, 0, 0, 0, 10, 0, table, 0, 10]);
    assert_eq!(forms(256), Forms::NARROW);
    assert_eq!(forms(255), Forms::CHECKED);
}

#[test]
fn narrow_indices_need_small_tensors_bounds_and_values() {
    let kernel = remainders();
    let plan = LaunchAnalysis::new(&kernel);
    let forms = |n: u64, m: u64, len: u64| plan.forms(&[0, 0, 0, n, m, 0, len]);
    assert_eq!(forms(100, 7, 7), Forms::NARROW);
    assert_eq!(forms(100, 8, 7), Forms::CHECKED);
    // A counter may exceed its end by the number of threads.
    assert_eq!(forms(1 << 30, 7, 7), Forms::NARROW);
    assert_eq!(forms((1 << 30) + 1, 7, 7), Forms::PROVEN);
    assert_eq!(forms(100, 1 << 29, 1 << 29), Forms::NARROW);
    // Constants may be added to an index last.
    assert_eq!(forms(100, 1 << 29, (1 << 30) - 66), Forms::NARROW);
    assert_eq!(forms(100, 1 << 29, (1 << 30) - 65), Forms::PROVEN);
    // The value does not fit, although every index does.
    assert_eq!(forms(5, 1 << 31, 5), Forms::PROVEN);
    // Every extent is an `i32`, also of a tensor without elements.
    let mut m = Builder::new("empty");
    let x = m.tensor("x", F32, 2);
    let (i, zero, value) = (m.local("i", U64), m.constant(0u64), m.constant(0.0f32));
    let (end, at) = (m.dim(x, 1), m.read(i));
    let store = m.store(x, &[zero, at], value);
    let parallel = m.parallel(&[(i, zero, end)], vec![store]);
    m.kernel.body = vec![parallel];
    let plan = LaunchAnalysis::new(&offload(&m.kernel).unwrap());
    assert_eq!(plan.forms(&[0, 0, 0, 0, 1 << 40, 0]), Forms::PROVEN);
    assert_eq!(plan.forms(&[0, 0, 0, 0, 4, 0]), Forms::NARROW);
}

/// What is computed with 32 bits is exact, counters of serial loops included.
#[test]
fn narrow_sums_are_exact() {
    // for i in 0..n { for k in i + 1..n { x[i * n + k - 1] = 0 } }
    let mut m = Builder::new("pairs");
    let n = m.scalar("n", U64);
    let x = m.tensor("x", F32, 1);
    let (i, k) = (m.local("i", U64), m.local("k", U64));
    let (zero, one, value) = (m.constant(0u64), m.constant(1u64), m.constant(0.0f32));
    let (row, column) = (m.read(i), m.read(k));
    let begin = m.binary(BinaryOp::Add, row, one);
    let first = m.binary(BinaryOp::Mul, row, n);
    let index = m.binary(BinaryOp::Add, first, column);
    let index = m.binary(BinaryOp::Sub, index, one);
    let body = vec![m.store(x, &[index], value)];
    let body = m.block(body);
    let inner = Stmt::For { var: k, begin, end: n, body, unroll: None, down: false };
    let parallel = m.parallel(&[(i, zero, n)], vec![inner]);
    m.kernel.body = vec![parallel];
    let kernel = simplify(&offload(&m.kernel).unwrap());
    assert_eq!(LaunchAnalysis::new(&kernel).forms(&[0, 0, 0, 9, 0, 81]), Forms::NARROW);
    let scheduled = schedule(&kernel, Forms::NARROW);
    verify_offloaded(&scheduled).unwrap();
    assert!(scheduled.tasks[0].schedule.narrow_counters);
    let sums = scheduled.exprs.iter().filter(|(_, expr)| {
        matches!(expr.kind, ExprKind::Binary { .. }) && expr.ty == ScalarType::I32
    });
    let exact: Vec<bool> = sums.map(|(_, sum)| sum.exact).collect();
    assert!(!exact.is_empty() && !exact.contains(&false), "{scheduled}");
}

/// The last counter of a thread exceeds the number of iterations by the number of threads.
#[test]
fn loops_with_too_many_iterations_have_no_32_bit_counters() {
    let mut m = Builder::new("long");
    let (begin, end) = (m.scalar("begin", I64), m.scalar("end", I64));
    let (x, zero, one) = (m.tensor("x", I32, 1), m.constant(0u64), m.constant(1i32));
    let i = m.local("i", I64);
    let store = m.store(x, &[zero], one);
    let body = m.parallel(&[(i, begin, end)], vec![store]);
    m.kernel.body = vec![body];
    let plan = LaunchAnalysis::new(&offload(&m.kernel).unwrap());
    let is_narrow = |begin: i64, end: i64| {
        plan.forms(&[0, 0, 0, begin as u64, end as u64, 0, 1]) == Forms::NARROW
    };
    let most = 1 << 30;
    assert!(is_narrow(0, most) && is_narrow(-most, 0) && is_narrow(-most / 2, most / 2));
    assert!(!is_narrow(0, most + 1) && !is_narrow(-most - 1, -most));
    assert!(!is_narrow(-most, most) && !is_narrow(-most, 1));
}

/// Random kernels `for i.. { for k.. { x[index] = 0 } }`. If a proof holds, enumerating all iterations finds every
/// index in range, where integers wrap. Proofs must also hold often enough to be useful.
#[test]
fn proofs_are_sound() {
    let (mut safe, mut proven) = (0, 0);
    for seed in 1..=20_000 {
        let mut rng = Rng::new(seed);
        let mut m = Builder::new("affine");
        let n = m.scalar("n", I64);
        let x = m.tensor("x", F32, 1);
        let (i, k) = (m.local("i", I64), m.local("k", I64));
        let begin = m.constant(rng.below(4) as i64 - 1);
        let end = if rng.chance(50) { n } else { m.constant(rng.below(6) as i64) };
        let outer = m.read(i);
        let inner_begin = small(&mut m, &mut rng, &[n, outer], 1);
        let inner_end = small(&mut m, &mut rng, &[n, outer], 1);
        let inner = m.read(k);
        let index = small(&mut m, &mut rng, &[n, outer, inner], 3);
        let index = m.cast(U64, index);
        let zero = m.constant(0.0f32);
        let store = m.store(x, &[index], zero);
        let body = m.block(vec![store]);
        let inner_loop = Stmt::For {
            var: k,
            begin: inner_begin,
            end: inner_end,
            body,
            unroll: None,
            down: false,
        };
        let body = m.parallel(&[(i, begin, end)], vec![inner_loop]);
        m.kernel.body = vec![body];
        let kernel = offload(&m.kernel).unwrap();
        let plan = LaunchAnalysis::new(&kernel);
        for _ in 0..4 {
            let n = rng.below(9) as i64 - 1;
            let extent = rng.below(16);
            let args = block(n, extent);
            let walk = Walk { kernel: &kernel, n: n.into(), extent: extent.into() };
            let inside = walk.is_safe((i, begin, end), (k, inner_begin, inner_end), index);
            let proof = plan.prove(TASK, &args);
            assert!(inside || !proof, "seed {seed}, n = {n}, x has {extent}\n{kernel}");
            safe += u32::from(inside);
            proven += u32::from(proof);
        }
    }
    assert!(proven * 10 > safe * 6, "{proven} of {safe} proven");
}

/// A random integer expression in these values.
fn small(m: &mut Builder, rng: &mut Rng, of: &[ExprId], depth: u32) -> ExprId {
    if depth == 0 || rng.chance(20) {
        return if rng.chance(60) { rng.pick(of) } else { m.constant(rng.below(7) as i64 - 2) };
    }
    let a = small(m, rng, of, depth - 1);
    let b = small(m, rng, of, depth - 1);
    match rng.below(11) {
        0..=2 => m.binary(BinaryOp::Add, a, b),
        3 | 4 => m.binary(BinaryOp::Sub, a, b),
        5 => m.binary(BinaryOp::Mul, a, b),
        6 => m.math(MathFn::Min, &[a, b]),
        7 => m.math(MathFn::Max, &[a, b]),
        8 => {
            let mask = m.constant(7i64);
            m.binary(BinaryOp::And, a, mask)
        }
        9 => {
            let huge = m.constant(i64::MAX - 20);
            m.binary(BinaryOp::Add, a, huge)
        }
        _ => {
            let ops = [BinaryOp::Lt, BinaryOp::Le, BinaryOp::Gt, BinaryOp::Eq, BinaryOp::Ne];
            let cond = m.binary(rng.pick(&ops), a, b);
            let [then, otherwise] = [0, 1].map(|_| small(m, rng, of, depth - 1));
            m.expr(I64, ExprKind::Select { cond, then, otherwise })
        }
    }
}

/// Enumerates all iterations of such a kernel.
struct Walk<'k> {
    kernel: &'k Offloaded,
    n: i128,
    extent: i128,
}

impl Walk<'_> {
    fn is_safe(
        &self,
        (i, begin, end): (LocalId, ExprId, ExprId),
        (k, inner_begin, inner_end): (LocalId, ExprId, ExprId),
        index: ExprId,
    ) -> bool {
        let mut locals = HashMap::new();
        let bound = |value, locals: &_| self.exact(value, locals).unwrap_or(0);
        for outer in bound(begin, &locals)..bound(end, &locals) {
            locals.insert(i, outer);
            let (Some(from), Some(to)) =
                (self.exact(inner_begin, &locals), self.exact(inner_end, &locals))
            else {
                return false;
            };
            // Long loops are skipped; they count as unsafe only if an end is.
            let ends = [from, to - 1];
            let few = to - from <= 64;
            for inner in (from..to).take(if few { 64 } else { 0 }).chain(ends) {
                if from >= to {
                    continue;
                }
                locals.insert(k, inner);
                match self.exact(index, &locals) {
                    Some(at) if (0..self.extent).contains(&at) => {}
                    _ => return false,
                }
            }
        }
        true
    }

    /// The value, where integers wrap.
    fn exact(&self, id: ExprId, locals: &HashMap<LocalId, i128>) -> Option<i128> {
        let expr = &self.kernel.exprs[id];
        let get = |id| self.exact(id, locals);
        let value = match &expr.kind {
            ExprKind::Const(value) => value.as_int()?,
            ExprKind::Local(local) => locals[local],
            ExprKind::Param(_) => self.n,
            ExprKind::Cast { value } => get(*value)?,
            ExprKind::Select { cond, then, otherwise } => {
                if get(*cond)? != 0 {
                    get(*then)?
                } else {
                    get(*otherwise)?
                }
            }
            ExprKind::Math { function, args } => match function {
                MathFn::Min => get(args[0])?.min(get(args[1])?),
                _ => get(args[0])?.max(get(args[1])?),
            },
            ExprKind::Binary { op, lhs, rhs } => {
                let (lhs, rhs) = (get(*lhs)?, get(*rhs)?);
                match op {
                    BinaryOp::Add => lhs + rhs,
                    BinaryOp::Sub => lhs - rhs,
                    BinaryOp::Mul => lhs.checked_mul(rhs)?,
                    BinaryOp::And => lhs & rhs,
                    BinaryOp::Lt => i128::from(lhs < rhs),
                    BinaryOp::Le => i128::from(lhs <= rhs),
                    BinaryOp::Gt => i128::from(lhs > rhs),
                    BinaryOp::Eq => i128::from(lhs == rhs),
                    _ => i128::from(lhs != rhs),
                }
            }
            _ => unreachable!(),
        };
        let (lo, hi) = expr.ty.int_range().unwrap_or((0, 1));
        Some((value - lo).rem_euclid(hi - lo + 1) + lo)
    }
}
