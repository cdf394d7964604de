//! Positions of threads that may be equal: for each kind of mistake, a kernel that is refused, and the same kernel
//! without the mistake, which is accepted.

use quadrants_frontend::builder::{KernelBuilder, TensorParam, Threads, Value};
use quadrants_ir::{
    ExprId, ExprKind, Kernel, LocalId, Offloaded,
    ScalarType::{F32, U32, U64},
    Stmt,
    launch_analysis::LaunchAnalysis,
    offload,
};

mod cells;
mod parts;
mod sums;

const THREADS: u32 = 32;

/// The parameters of each kernel.
struct Params<'b> {
    b: &'b KernelBuilder,
    n: Value<'b>,
    x: TensorParam<'b>,
    f: TensorParam<'b>,
    o: TensorParam<'b>,
    count: TensorParam<'b>,
}

impl<'b> Params<'b> {
    fn number(&self, value: u64) -> Value<'b> {
        self.b.constant(value)
    }

    /// The element of `x` of a thread.
    fn own(&self, block: Threads<'b>, t: Value<'b>) -> Value<'b> {
        self.x.load(block.index() * u64::from(THREADS) + t)
    }

    /// Thread 0 stores in `begin` where the block's part of `o` begins.
    fn reserve(&self, block: Threads<'b>, begin: TensorParam<'b>, amount: u32) {
        block.each(|t| {
            self.b.if_(t.equals(0u64), || self.reserve_here(begin, amount));
        });
    }

    fn reserve_here(&self, begin: TensorParam<'b>, amount: u32) {
        begin.store(0u64, self.count.atomic_add(0u64, amount));
    }

    /// Each thread writes its element of the block's part.
    fn fill(&self, block: Threads<'b>, begin: TensorParam<'b>) {
        block.each(|t| self.write(begin.load(0u64).cast(U64) + t));
    }

    fn write(&self, at: Value<'b>) {
        self.b.race_free(|| self.o.store(at, 1u32));
    }
}

fn build(body: impl for<'b> FnOnce(&Params<'b>)) -> Kernel {
    let b = KernelBuilder::new("overlapping");
    let n = b.param_scalar("n", U64);
    let x = b.param_tensor("x", U32, 1);
    let f = b.param_tensor("f", F32, 1);
    let o = b.param_tensor_mut("o", U32, 1);
    let count = b.param_tensor_mut("count", U32, 1);
    body(&Params { b: &b, n, x, f, o, count });
    b.build().unwrap()
}

/// Replaces reads of locals that are not mutable by their values, as source has them. No mutable local may change
/// between the two.
fn inline(kernel: &mut Offloaded) {
    let values: Vec<(LocalId, ExprId)> = kernel
        .blocks
        .iter()
        .flat_map(|(_, block)| &block.stmts)
        .filter_map(|stmt| match *stmt {
            Stmt::Let { local, value } if !kernel.locals[local].mutable => Some((local, value)),
            _ => None,
        })
        .collect();
    let exprs: Vec<ExprId> = kernel.exprs.iter().map(|(expr, _)| expr).collect();
    for expr in exprs {
        while let ExprKind::Local(read) = kernel.exprs[expr].kind
            && let Some((_, value)) = values.iter().find(|(local, _)| *local == read)
            && !kernel.exprs[*value].kind.is_effect()
        {
            kernel.exprs[expr] = kernel.exprs[*value].clone();
        }
    }
}

/// Drops `if !true { … }`, so that `while true` is a `loop`.
fn drop_constant_branches(kernel: &mut Offloaded) {
    let exprs = &kernel.exprs;
    let is_true = |value: ExprId| matches!(exprs[value].kind, ExprKind::Const(c) if c.bits() != 0);
    let never = |stmt: &Stmt| {
        matches!(*stmt, Stmt::If { cond, .. } if
            matches!(exprs[cond].kind, ExprKind::Unary { value, .. } if is_true(value)))
    };
    let blocks: Vec<_> = kernel.blocks.iter().map(|(block, _)| block).collect();
    for block in blocks {
        kernel.blocks[block].stmts.retain(|stmt| !never(stmt));
    }
}

fn is_accepted(kernel: &Kernel, n: u64) -> bool {
    let mut kernel = offload(kernel).unwrap();
    inline(&mut kernel);
    drop_constant_branches(&mut kernel);
    kernel.sites.iter_mut().for_each(|site| site.asserted = false);
    let tensor = |at: u64, len: u64| [at << 20, len];
    let args = [[0x1000, 0x2000], [1, n], tensor(1, 1_000), tensor(2, 1_000), tensor(3, 1_000)]
        .into_iter()
        .chain([tensor(4, 2)])
        .flatten();
    let race = LaunchAnalysis::new(&kernel).race(&args.collect::<Vec<_>>());
    race.is_none()
}

/// Checks a kernel with and without its mistake.
fn check(name: &str, body: impl for<'b> Fn(&Params<'b>, bool)) {
    check_with(name, 3, body);
}

fn check_with(name: &str, n: u64, body: impl for<'b> Fn(&Params<'b>, bool)) {
    let [right, wrong] = [false, true].map(|wrong| is_accepted(&build(|p| body(p, wrong)), n));
    assert!(right, "{name}: the right kernel is refused");
    assert!(!wrong, "{name}: the wrong kernel is accepted");
}

#[test]
fn turns_are_followed_as_they_are() {
    check("a local of an earlier turn", |p, wrong| {
        p.b.block_for(2u64, THREADS, |block| {
            p.b.range_for(0u64, 2u64, |turn| {
                let first = p.b.var("first", 0u64);
                p.b.range_for(0u64, p.n, |_| {
                    let by = p.b.var("by", turn * 32u64);
                    p.b.if_(turn.equals(1u64), || {
                        block.each(|t| p.write(block.index() * 64u64 + first.get() + t));
                    });
                    match wrong {
                        true => first.set(first.get() + by.get()),
                        false => first.set(first.get() + 128u64),
                    }
                });
            });
        });
    });
    check("bounds that wrap", |p, wrong| {
        p.b.block_for(2u64, THREADS, |block| {
            let first = p.b.var("first", 0u32);
            let zero = p.b.var("zero", 0u32);
            let begin = p.b.var("begin", zero.get() - u32::from(wrong));
            p.b.range_for(begin.get(), 3u32, |_| first.set((block.index() * 32u64).cast(U32)));
            block.each(|t| p.write(first.get().cast(U64) + t));
        });
    });
}
