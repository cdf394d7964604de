//! Benchmarks the interpreter, in IR operations (expression nodes and statements executed) per second, on a stencil and
//! on a chain of arithmetic. `cargo run --release -p quadrants-ir --example interp_speed`

use std::time::Instant;

use quadrants_ir::{
    Arena, BinaryOp, Block, BlockId, Expr, ExprId, ExprKind, Kernel, ParamId, Stmt, TaskId,
    abi::Form,
    interp::{ExecFault, Interpreter, Memory},
    launch_analysis::LaunchAnalysis,
    offload,
};
use quadrants_samples::{Builder, F32, U64};

/// A block of bytes at address 0.
struct Flat(Vec<u8>);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    measure("stencil", &stencil(), 2, 1024, 4)?;
    measure("arithmetic", &arithmetic(), 1, 1 << 20, 2)?;
    Ok(())
}

fn measure(
    name: &str,
    kernel: &Kernel,
    rank: u32,
    side: u64,
    rounds: u64,
) -> Result<(), Box<dyn std::error::Error>> {
    let tasks = offload(kernel)?;
    let task = TaskId::new(0);
    let elements = side.pow(rank);
    let mut memory = Flat(vec![0; 64 + 2 * 4 * elements as usize]);
    let mut args = vec![0, 0, 1];
    for tensor in 0..2 {
        args.push(64 + tensor * 4 * elements);
        args.extend(std::iter::repeat_n(side, rank as usize));
    }
    let plan = LaunchAnalysis::new(&tasks);
    let iterations = plan.extents(task, &args).iterations();
    let ops = operations(&tasks.exprs, &tasks.blocks, tasks.tasks[0].body);
    let interpreter = Interpreter::new(&tasks);
    for form in [Form::Proven, Form::Checked] {
        let start = Instant::now();
        for _ in 0..rounds {
            interpreter.run_task(task, form, &args, &mut memory)?;
        }
        let seconds = start.elapsed().as_secs_f64();
        let rate = (rounds * iterations * ops) as f64 / seconds / 1e6;
        println!("{name:10} {form:?}: {rate:6.0} million IR operations a second");
    }
    let start = Instant::now();
    let calls: u32 = 100_000;
    let proven = (0..calls).filter(|_| plan.prove(task, std::hint::black_box(&args))).count();
    let nanos = start.elapsed().as_nanos() / u128::from(calls);
    println!("{name:10} proof: {nanos} ns a launch ({proven} of {calls} proven)");
    Ok(())
}

/// `b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])` except at the border.
fn stencil() -> Kernel {
    let (mut m, a, b) = two_tensors("stencil", 2);
    let (i, j) = (m.local("i", U64), m.local("j", U64));
    let dims = [(i, 0), (j, 1)].map(|(var, axis)| {
        let (one, dim) = (m.constant(1u64), m.dim(a, axis));
        (var, one, m.binary(BinaryOp::Sub, dim, one))
    });
    let mut stmts = Vec::new();
    let mut sum = None;
    for (op, di, dj) in
        [(BinaryOp::Sub, 1, 0), (BinaryOp::Add, 1, 0), (BinaryOp::Sub, 0, 1), (BinaryOp::Add, 0, 1)]
    {
        let index = [(i, di), (j, dj)].map(|(var, offset)| {
            let at = m.read(var);
            let offset = if offset == 0u64 { return at } else { m.constant(offset) };
            m.binary(op, at, offset)
        });
        let (local, value) = (m.local("loaded", F32), m.load(a, &index));
        stmts.push(Stmt::Let { local, value });
        let value = m.read(local);
        sum = Some(sum.map_or(value, |sum| m.binary(BinaryOp::Add, sum, value)));
    }
    let quarter = m.constant(0.25f32);
    let value = m.binary(BinaryOp::Mul, quarter, sum.unwrap_or(quarter));
    let index = [m.read(i), m.read(j)];
    stmts.push(m.store(b, &index, value));
    let body = m.parallel(&dims, stmts);
    m.kernel.body.push(body);
    m.kernel
}

/// 32 iterations of `v = v * 0.999 + 0.5` on every element.
fn arithmetic() -> Kernel {
    let (mut m, a, b) = two_tensors("arithmetic", 1);
    let (i, k, v) = (m.local("i", U64), m.local("k", U64), m.variable("v", F32));
    let (zero, end, rounds) = (m.constant(0u64), m.dim(a, 0), m.constant(32u64));
    let at = m.read(i);
    let loaded = m.load(a, &[at]);
    let (factor, half, old) = (m.constant(0.999f32), m.constant(0.5f32), m.read(v));
    let product = m.binary(BinaryOp::Mul, old, factor);
    let value = m.binary(BinaryOp::Add, product, half);
    let inner = m.block(vec![Stmt::Assign { local: v, value }]);
    let value = m.read(v);
    let stmts = vec![
        Stmt::Let { local: v, value: loaded },
        Stmt::For { var: k, begin: zero, end: rounds, body: inner, unroll: None, down: false },
        m.store(b, &[at], value),
    ];
    let body = m.parallel(&[(i, zero, end)], stmts);
    m.kernel.body.push(body);
    m.kernel
}

/// A kernel with two tensors of `f32` and no statements.
fn two_tensors(name: &str, rank: u8) -> (Builder, ParamId, ParamId) {
    let mut m = Builder::new(name);
    let (a, b) = (m.tensor("a", F32, rank), m.tensor("b", F32, rank));
    (m, a, b)
}

/// The number of IR operations that one execution of a block without branches takes.
fn operations(exprs: &Arena<Expr>, blocks: &Arena<Block>, block: BlockId) -> u64 {
    let nodes = |value: ExprId| {
        let mut pending = vec![value];
        let mut count = 0;
        while let Some(next) = pending.pop() {
            count += 1;
            pending.extend(exprs[next].kind.operands());
        }
        count
    };
    let stmt = |stmt: &Stmt| {
        let own = 1 + stmt.exprs().map(nodes).sum::<u64>();
        let rounds = match *stmt {
            Stmt::For { end, .. } => match exprs[end].kind {
                ExprKind::Const(end) => end.bits(),
                _ => 0,
            },
            _ => 0,
        };
        let inner: u64 = stmt.blocks().map(|block| operations(exprs, blocks, block)).sum();
        own + rounds * inner
    };
    blocks[block].stmts.iter().map(stmt).sum()
}

impl Memory for Flat {
    #[inline]
    fn load(&mut self, address: u64, bytes: usize) -> Result<u64, ExecFault> {
        let at = address as usize;
        let found = self.0.get(at..at.wrapping_add(bytes));
        let found = found.ok_or(ExecFault::Address { address, bytes, write: false })?;
        let mut word = [0; 8];
        word[..bytes].copy_from_slice(found);
        Ok(u64::from_le_bytes(word))
    }

    #[inline]
    fn store(&mut self, address: u64, bytes: usize, bits: u64) -> Result<(), ExecFault> {
        let at = address as usize;
        let found = self.0.get_mut(at..at.wrapping_add(bytes));
        let found = found.ok_or(ExecFault::Address { address, bytes, write: true })?;
        found.copy_from_slice(&bits.to_le_bytes()[..bytes]);
        Ok(())
    }
}
