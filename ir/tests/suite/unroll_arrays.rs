//! Loops over local arrays: unrolled kernels compute the same as those that were written.

use quadrants_ir::{abi::Form, schedule::schedule, *};

use quadrants_samples::{
    builder::Builder,
    generate::Rng,
    run::{SampleArg, run},
    sized,
};

/// At full size.
const KERNELS: u64 = 2000;
const N: u64 = 5;
const LEN: u32 = 6;

/// What the loops of a kernel use.
struct Scene {
    /// A tensor of two dimensions; each iteration has a row.
    x: ParamId,
    row: ExprId,
    /// A local array, a table, and three registers that an index selects among.
    array: (LocalId, SiteId),
    table: (LocalId, SiteId),
    registers: [LocalId; 3],
    sum: LocalId,
}

/// Random kernels with nested, triangular and descending loops over a local array, a table and selections, with
/// branches, loops that end early, and assertions that fail.
#[test]
fn random_loops_over_local_arrays_compute_the_same() {
    let (mut unrolled, mut failed) = (0, 0);
    for seed in 1..=sized(KERNELS) {
        let mut rng = Rng::new(seed);
        let kernel = simplify(&random(&mut rng));
        verify_offloaded(&kernel).unwrap();
        let elements = (0..N * u64::from(LEN)).map(|k| Const::from((k * 7 + seed) as u32 % 11));
        let args = [SampleArg::Tensor { shape: vec![N, LEN.into()], elements: elements.collect() }];
        for form in [Form::Proven, Form::Checked] {
            let scheduled = schedule(&kernel, form);
            verify_offloaded(&scheduled)
                .unwrap_or_else(|e| panic!("seed {seed}: {e}\n{scheduled}"));
            let (expected, found) = (run(&kernel, form, &args), run(&scheduled, form, &args));
            let of = |outcome: &_| match outcome {
                Ok(quadrants_samples::run::Outcome { tensors, error, .. }) => {
                    format!("{tensors:?} {}", error.is_some())
                }
                Err(fault) => format!("{fault:?}"),
            };
            assert_eq!(of(&expected), of(&found), "seed {seed}\n{kernel}\n{scheduled}");
            failed += usize::from(expected.is_ok_and(|outcome| outcome.error.is_some()));
            unrolled += usize::from(loops(&scheduled) < loops(&kernel));
        }
    }
    assert!(unrolled as u64 > sized(KERNELS) / 5, "{unrolled} kernels were unrolled");
    assert!(failed > 20, "{failed} launches failed");
}

fn loops(kernel: &Offloaded) -> usize {
    fn within(kernel: &Offloaded, block: BlockId) -> usize {
        let stmts = kernel.blocks[block].stmts.iter();
        stmts
            .map(|stmt| {
                let inner: usize = stmt.blocks().map(|block| within(kernel, block)).sum();
                inner + usize::from(matches!(stmt, Stmt::For { .. }))
            })
            .sum()
    }
    kernel.tasks.iter().map(|task| within(kernel, task.body)).sum()
}

fn random(rng: &mut Rng) -> Offloaded {
    let mut b = Builder::new("arrays");
    let x = b.tensor("x", ScalarType::U32, 2);
    let (zero, end) = (b.constant(0u64), b.dim(x, 0));
    b.parallel_loop(&[("i", zero, end)], |b, index| {
        let table = b.array("table", ScalarType::U32, LEN);
        for at in 0..LEN {
            let (at, value) = (b.constant(u64::from(at)), b.constant(rng.below(9) as u32));
            b.array_store(table, at, value);
        }
        let array = b.array("array", ScalarType::U32, LEN);
        let registers = ["a", "b", "c"].map(|name| {
            let value = b.constant(rng.below(5) as u32);
            b.define(name, value, true)
        });
        let sum = b.constant(0u32);
        let sum = b.define("sum", sum, true);
        let scene = Scene { x, row: index[0], array, table, registers, sum };
        for _ in 0..2 + rng.below(4) {
            statement(b, rng, &scene, &[], 3);
        }
        let mut total = b.read(sum);
        for register in registers {
            let value = b.read(register);
            total = b.binary(BinaryOp::Add, total, value);
        }
        let zero = b.constant(0u64);
        b.push_store(x, &[index[0], zero], total);
    });
    b.finish()
}

fn statement(b: &mut Builder, rng: &mut Rng, scene: &Scene, vars: &[ExprId], depth: u64) {
    match rng.below(if depth == 0 { 4 } else { 8 }) {
        0 => {
            let (at, value) = (index(b, rng, vars), value(b, rng, scene, vars));
            b.check_index(scene.array.1, at, LEN.into());
            b.array_store(scene.array, at, value);
        }
        1 => {
            // A write to one of the registers: each is assigned itself or the value.
            let (at, new) = (index(b, rng, vars), value(b, rng, scene, vars));
            for (number, register) in scene.registers.into_iter().enumerate() {
                let number = b.constant(number as u64);
                let (is, old) = (b.binary(BinaryOp::Eq, at, number), b.read(register));
                let new = b.select(is, new, old);
                b.assign(register, new);
            }
        }
        2 => {
            let (old, new) = (b.read(scene.sum), value(b, rng, scene, vars));
            let new = b.binary(BinaryOp::Add, old, new);
            b.assign(scene.sum, new);
        }
        3 => {
            let (at, new) = (index(b, rng, vars), value(b, rng, scene, vars));
            b.check_index(scene.array.1, at, LEN.into());
            b.push_store(scene.x, &[scene.row, at], new);
        }
        4 => {
            let (at, limit) = (index(b, rng, vars), b.constant(rng.below(6)));
            let cond = b.binary(BinaryOp::Lt, at, limit);
            let [mut then, mut otherwise] = [(); 2].map(|()| Rng::new(rng.below(1 << 40)));
            b.branch(
                cond,
                |b| statement(b, &mut then, scene, vars, depth - 1),
                |b| statement(b, &mut otherwise, scene, vars, depth - 1),
            );
        }
        5 => {
            // A loop that cannot be unrolled, because it ends early.
            let (begin, end) = (b.constant(0u64), b.constant(4u64));
            let mut inner = Rng::new(rng.below(1 << 40));
            b.walk("w", [begin, end], |b, w| {
                statement(b, &mut inner, scene, &[vars, &[w]].concat(), depth - 1);
                let (sum, limit) = (b.read(scene.sum), b.constant(inner.below(40) as u32));
                let ends = b.binary(BinaryOp::Gt, sum, limit);
                b.branch(ends, |b| b.push(Stmt::Break), |_| {});
            });
        }
        _ => {
            let begin = match vars.last() {
                Some(outer) if rng.chance(40) => {
                    let one = b.constant(1u64);
                    b.binary(BinaryOp::Add, *outer, one)
                }
                _ => b.constant(rng.below(2)),
            };
            let end = b.constant(2 + rng.below(u64::from(LEN) - 1));
            let (count, mut inner) = (1 + rng.below(2), Rng::new(rng.below(1 << 40)));
            b.walk("k", [begin, end], |b, k| {
                for _ in 0..count {
                    statement(b, &mut inner, scene, &[vars, &[k]].concat(), depth - 1);
                }
            });
        }
    }
}

/// An index that is mostly in range.
fn index(b: &mut Builder, rng: &mut Rng, vars: &[ExprId]) -> ExprId {
    let mut at = b.constant(rng.below(3));
    for var in vars.iter().rev().take(1 + rng.below(2) as usize) {
        at = b.binary(BinaryOp::Add, at, *var);
    }
    if rng.chance(85) {
        let len = b.constant(u64::from(LEN));
        at = b.let_div_rem("at", DivRemOp::Rem, at, len);
    }
    at
}

fn value(b: &mut Builder, rng: &mut Rng, scene: &Scene, vars: &[ExprId]) -> ExprId {
    let at = index(b, rng, vars);
    match rng.below(4) {
        0 | 1 => {
            let array = if rng.chance(50) { scene.array } else { scene.table };
            b.check_index(array.1, at, LEN.into());
            b.array_load("element", array, at)
        }
        2 => {
            let [first, second, third] = scene.registers.map(|register| b.read(register));
            let (zero, one) = (b.constant(0u64), b.constant(1u64));
            let (is_zero, is_one) =
                (b.binary(BinaryOp::Eq, at, zero), b.binary(BinaryOp::Eq, at, one));
            let others = b.select(is_one, second, third);
            b.select(is_zero, first, others)
        }
        _ => {
            b.check_index(scene.array.1, at, LEN.into());
            b.let_load("loaded", scene.x, &[scene.row, at])
        }
    }
}
