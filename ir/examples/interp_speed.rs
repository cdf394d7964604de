//! Measures the interpreter: IR operations (expression nodes and statements executed) a second, on
//! a stencil and on a chain of arithmetic. `cargo run --release -p quadrants-ir --example interp_speed`

use std::time::Instant;

use quadrants_ir::{
    Arena, BinaryOp, Block, BlockId, Expr, ExprId, ExprKind, Kernel, Local, LocalId, LoopDim,
    Options, ParallelFor, Param, ParamId, ParamKind, ScalarType, Site, SiteId, SiteKind, Stmt,
    TaskId, TopStmt,
    abi::Form,
    interp::{Fault, Interpreter, Memory},
    launch_analysis::LaunchAnalysis,
    offload,
};

const A: ParamId = ParamId::new(0);
const B: ParamId = ParamId::new(1);
const A_SITE: SiteId = SiteId::new(0);
const B_SITE: SiteId = SiteId::new(1);

/// One block of bytes from address 0.
struct Flat(Vec<u8>);

struct IrBuilder(Kernel);

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

/// `b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])` inside the border.
fn stencil() -> Kernel {
    let mut m = IrBuilder::new("stencil", 2);
    let (i, j) = (m.local("i", ScalarType::U64, false), m.local("j", ScalarType::U64, false));
    let dims = [(i, 0), (j, 1)].map(|(var, axis)| {
        let one = m.u64(1);
        let dim = m.expr(ScalarType::U64, ExprKind::Dim { tensor: A, axis });
        LoopDim { var, begin: one, end: m.binary(BinaryOp::Sub, dim, one) }
    });
    let mut stmts = Vec::new();
    let mut sum = None;
    for (op, di, dj) in
        [(BinaryOp::Sub, 1, 0), (BinaryOp::Add, 1, 0), (BinaryOp::Sub, 0, 1), (BinaryOp::Add, 0, 1)]
    {
        let index = [(i, di), (j, dj)].map(|(var, offset)| {
            let at = m.read(var);
            let offset = if offset == 0 { return at } else { m.u64(offset) };
            m.binary(op, at, offset)
        });
        let loaded = m.expr(
            ScalarType::F32,
            ExprKind::Load { tensor: A, index: index.to_vec(), site: A_SITE },
        );
        let local = m.local("loaded", ScalarType::F32, false);
        stmts.push(Stmt::Let { local, value: loaded });
        let value = m.read(local);
        sum = Some(sum.map_or(value, |sum| m.binary(BinaryOp::Add, sum, value)));
    }
    let quarter = m.expr(ScalarType::F32, ExprKind::Const(0.25f32.into()));
    let value = m.binary(BinaryOp::Mul, quarter, sum.unwrap_or(quarter));
    let index = vec![m.read(i), m.read(j)];
    stmts.push(Stmt::Store { tensor: B, index, value, site: B_SITE });
    m.parallel(dims.to_vec(), stmts)
}

/// 32 rounds of `v = v * 0.999 + 0.5` on every element.
fn arithmetic() -> Kernel {
    let mut m = IrBuilder::new("arithmetic", 1);
    let i = m.local("i", ScalarType::U64, false);
    let zero = m.u64(0);
    let end = m.expr(ScalarType::U64, ExprKind::Dim { tensor: A, axis: 0 });
    let v = m.local("v", ScalarType::F32, true);
    let at = m.read(i);
    let kind = ExprKind::Load { tensor: A, index: vec![at], site: A_SITE };
    let loaded = m.expr(ScalarType::F32, kind);
    let factor = m.expr(ScalarType::F32, ExprKind::Const(0.999f32.into()));
    let half = m.expr(ScalarType::F32, ExprKind::Const(0.5f32.into()));
    let old = m.read(v);
    let product = m.binary(BinaryOp::Mul, old, factor);
    let value = m.binary(BinaryOp::Add, product, half);
    let inner = m.block(vec![Stmt::Assign { local: v, value }]);
    let (k, rounds) = (m.local("k", ScalarType::U64, false), m.u64(32));
    let value = m.read(v);
    let stmts = vec![
        Stmt::Let { local: v, value: loaded },
        Stmt::For { var: k, begin: zero, end: rounds, body: inner, unroll: None, down: false },
        Stmt::Store { tensor: B, index: vec![at], value, site: B_SITE },
    ];
    m.parallel(vec![LoopDim { var: i, begin: zero, end }], stmts)
}

/// How many IR operations one run of a block without branches executes.
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

impl IrBuilder {
    fn new(name: &str, rank: u8) -> Self {
        let tensor = |name: &str, writable| Param {
            name: name.into(),
            kind: ParamKind::Tensor { elem: ScalarType::F32, rank, writable },
        };
        let site = |tensor| Site {
            kind: SiteKind::Index(tensor),
            file: None,
            line: 1,
            column: 1,
            asserted: false,
        };
        Self(Kernel {
            name: name.into(),
            file: "interp_speed.rs".into(),
            params: vec![tensor("a", false), tensor("b", true)],
            locals: Arena::new(),
            exprs: Arena::new(),
            blocks: Arena::new(),
            sites: vec![site(A), site(B)],
            body: Vec::new(),
            result: None,
            options: Options::default(),
        })
    }

    fn expr(&mut self, ty: ScalarType, kind: ExprKind) -> ExprId {
        self.0.exprs.push(Expr { ty, kind })
    }

    fn u64(&mut self, value: u64) -> ExprId {
        self.expr(ScalarType::U64, ExprKind::Const(value.into()))
    }

    fn binary(&mut self, op: BinaryOp, lhs: ExprId, rhs: ExprId) -> ExprId {
        let ty = self.0.exprs[lhs].ty;
        self.expr(ty, ExprKind::Binary { op, lhs, rhs })
    }

    fn local(&mut self, name: &str, ty: ScalarType, mutable: bool) -> LocalId {
        self.0.locals.push(Local { name: name.into(), ty, mutable })
    }

    fn read(&mut self, local: LocalId) -> ExprId {
        let ty = self.0.locals[local].ty;
        self.expr(ty, ExprKind::Local(local))
    }

    fn block(&mut self, stmts: Vec<Stmt>) -> BlockId {
        self.0.blocks.push(Block { stmts })
    }

    fn parallel(mut self, dims: Vec<LoopDim>, stmts: Vec<Stmt>) -> Kernel {
        let body = self.block(stmts);
        self.0.body.push(TopStmt::ParallelFor(ParallelFor {
            dims,
            body,
            line: 1,
            block_size: None,
        }));
        self.0
    }
}

impl Memory for Flat {
    #[inline]
    fn load(&mut self, address: u64, bytes: usize) -> Result<u64, Fault> {
        let at = address as usize;
        let found = self.0.get(at..at.wrapping_add(bytes));
        let found = found.ok_or(Fault::Address { address, bytes, write: false })?;
        let mut word = [0; 8];
        word[..bytes].copy_from_slice(found);
        Ok(u64::from_le_bytes(word))
    }

    #[inline]
    fn store(&mut self, address: u64, bytes: usize, bits: u64) -> Result<(), Fault> {
        let at = address as usize;
        let found = self.0.get_mut(at..at.wrapping_add(bytes));
        let found = found.ok_or(Fault::Address { address, bytes, write: true })?;
        found.copy_from_slice(&bits.to_le_bytes()[..bytes]);
        Ok(())
    }
}
