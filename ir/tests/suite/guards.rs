//! Bounds proofs that depend on conditions: guarded accesses need no check.

use quadrants_ir::{
    abi::Form,
    interp::{ExecFault, SliceMemory},
    launch_analysis::LaunchAnalysis,
    *,
};

use quadrants_samples::{
    Bool, Builder, F32, I64, U64,
    generate::Rng,
    run::{SampleArg, argument_block, run_with_fuel},
};

const TASK: TaskId = TaskId::new(0);

/// A kernel `for i in 0..n { … }` over `x`, with numbers in `y`.
struct Guarded {
    m: Builder,
    x: ParamId,
    y: ParamId,
    i: LocalId,
    n: ExprId,
}

impl Guarded {
    fn new() -> Self {
        let mut m = Builder::new("guarded");
        let n = m.scalar("n", I64);
        let x = m.tensor("x", F32, 1);
        let y = m.tensor("y", I64, 1);
        let i = m.local("i", I64);
        Self { m, x, y, i, n }
    }

    fn i(&mut self) -> ExprId {
        self.m.read(self.i)
    }

    fn compare(&mut self, op: BinaryOp, lhs: ExprId, rhs: i64) -> ExprId {
        let rhs = self.m.constant(rhs);
        self.m.binary(op, lhs, rhs)
    }

    fn plus(&mut self, lhs: ExprId, rhs: i64) -> ExprId {
        let rhs = self.m.constant(rhs);
        self.m.binary(BinaryOp::Add, lhs, rhs)
    }

    fn extent(&mut self) -> ExprId {
        let extent = self.m.dim(self.x, 0);
        self.m.cast(I64, extent)
    }

    fn store(&mut self, at: ExprId) -> Stmt {
        let at = self.m.cast(U64, at);
        let zero = self.m.constant(0.0f32);
        self.m.store(self.x, &[at], zero)
    }

    fn when(&mut self, cond: ExprId, then: Vec<Stmt>, otherwise: Vec<Stmt>) -> Stmt {
        let (then, otherwise) = (self.m.block(then), self.m.block(otherwise));
        Stmt::If { cond, then, otherwise }
    }

    fn finish(mut self, begin: i64, stmts: Vec<Stmt>) -> Offloaded {
        let begin = self.m.constant(begin);
        let body = self.m.parallel(&[(self.i, begin, self.n)], stmts);
        self.m.kernel.body = vec![body];
        offload(&self.m.kernel).unwrap()
    }
}

fn arguments(n: i64, extent: u64) -> [SampleArg; 3] {
    let of = |count: u64, element: fn(u64) -> Const| SampleArg::Tensor {
        shape: vec![count],
        elements: (0..count).map(element).collect(),
    };
    [
        SampleArg::Scalar(n.into()),
        of(extent, |_| 1.0f32.into()),
        of(4, |k| (k as i64 * 3 - 2).into()),
    ]
}

fn proves(kernel: &Offloaded, n: i64, extent: u64) -> bool {
    let words = argument_block(kernel, &arguments(n, extent), &mut SliceMemory::new());
    LaunchAnalysis::new(kernel).prove(TASK, &words)
}

/// Whether the accesses of `for i in 0..n` with this body are proven, for this number of elements of `x`.
fn proven(body: impl FnOnce(&mut Guarded) -> Vec<Stmt>) -> bool {
    let mut g = Guarded::new();
    let stmts = body(&mut g);
    let kernel = g.finish(0, stmts);
    assert!(proves(&kernel, 0, 0));
    proves(&kernel, 10, 10)
}

#[test]
fn a_branch_narrows_the_compared_values() {
    // if i > 0 { x[i - 1] }
    let left = |g: &mut Guarded, op, limit, shift| {
        let i = g.i();
        let (cond, at) = (g.compare(op, i, limit), g.plus(i, shift));
        let store = g.store(at);
        vec![g.when(cond, vec![store], vec![])]
    };
    assert!(proven(|g| left(g, BinaryOp::Gt, 0, -1)));
    assert!(proven(|g| left(g, BinaryOp::Ne, 0, -1)));
    assert!(proven(|g| left(g, BinaryOp::Ge, 3, -3)));
    assert!(proven(|g| left(g, BinaryOp::Lt, 7, 3)));
    assert!(proven(|g| left(g, BinaryOp::Le, 6, 3)));
    assert!(proven(|g| left(g, BinaryOp::Eq, 4, 5)));
    assert!(proven(|g| left(g, BinaryOp::Gt, 50, 100)), "what never runs");
    assert!(!proven(|g| left(g, BinaryOp::Gt, 0, -2)));
    assert!(!proven(|g| left(g, BinaryOp::Ge, 0, -1)));
    assert!(!proven(|g| left(g, BinaryOp::Ne, 5, -1)));
    assert!(!proven(|g| left(g, BinaryOp::Eq, 4, 6)));
}

#[test]
fn the_else_branch_has_the_negated_condition() {
    // if i == 0 || i >= n - 1 {} else { x[i - 1], x[i + 1] }
    let body = |g: &mut Guarded, op| {
        let i = g.i();
        let last = g.plus(g.n, -1);
        let first = g.compare(BinaryOp::Eq, i, 0);
        let end = g.m.binary(BinaryOp::Ge, i, last);
        let cond = g.m.binary(op, first, end);
        let (left, right) = (g.plus(i, -1), g.plus(i, 1));
        let stores = vec![g.store(left), g.store(right)];
        (cond, stores)
    };
    assert!(proven(|g| {
        let (cond, stores) = body(g, BinaryOp::Or);
        vec![g.when(cond, vec![], stores)]
    }));
    assert!(!proven(|g| {
        let (cond, stores) = body(g, BinaryOp::And);
        vec![g.when(cond, vec![], stores)]
    }));
    // if i == 0 || i >= n - 1 { continue; }
    assert!(proven(|g| {
        let (cond, stores) = body(g, BinaryOp::Or);
        let leave = g.when(cond, vec![Stmt::Continue], vec![]);
        [vec![leave], stores].concat()
    }));
    assert!(!proven(|g| {
        let (cond, stores) = body(g, BinaryOp::Or);
        let stay = g.when(cond, vec![], vec![]);
        [vec![stay], stores].concat()
    }));
}

#[test]
fn an_assignment_in_the_remaining_branch_invalidates_the_condition() {
    // let mut c = i; if c < 0 || c > 4 { continue; } else { c = 50 }; x[c + 5]
    let body = |g: &mut Guarded, assigns: bool| {
        let (i, c) = (g.i(), g.m.variable("c", I64));
        let read = g.m.read(c);
        let (below, above) = (g.compare(BinaryOp::Lt, read, 0), g.compare(BinaryOp::Gt, read, 4));
        let cond = g.m.binary(BinaryOp::Or, below, above);
        let value = g.m.constant(50i64);
        let stays = if assigns { vec![Stmt::Assign { local: c, value }] } else { vec![] };
        let leave = g.when(cond, vec![Stmt::Continue], stays);
        let at = g.plus(read, 5);
        vec![Stmt::Let { local: c, value: i }, leave, g.store(at)]
    };
    assert!(proven(|g| body(g, false)));
    assert!(!proven(|g| body(g, true)));
}

#[test]
fn conditions_are_solved_for_their_operands() {
    // if i * 2 + 3 < n { x[i * 2 + 3], x[i + 6] }: i is at most 3
    let body = |g: &mut Guarded, shift| {
        let i = g.i();
        let two = g.m.constant(2i64);
        let double = g.m.binary(BinaryOp::Mul, i, two);
        let (sum, extent) = (g.plus(double, 3), g.extent());
        let cond = g.m.binary(BinaryOp::Lt, sum, extent);
        let (other, also) = (g.plus(i, shift), g.plus(double, 3));
        let stores = vec![g.store(sum), g.store(other), g.store(also)];
        vec![g.when(cond, stores, vec![])]
    };
    assert!(proven(|g| body(g, 6)));
    assert!(!proven(|g| body(g, 7)));
}

#[test]
fn a_loaded_value_is_bounded_by_its_guard() {
    let body = |g: &mut Guarded, changes: bool, low: i64| {
        let i = g.i();
        let three = g.m.constant(3i64);
        let at = g.m.binary(BinaryOp::And, i, three);
        let at = g.m.cast(U64, at);
        let loaded = g.m.load(g.y, &[at]);
        let v = g.m.variable("v", I64);
        let read = g.m.read(v);
        let extent = g.extent();
        let (above, below) =
            (g.compare(BinaryOp::Ge, read, low), g.m.binary(BinaryOp::Lt, read, extent));
        let cond = g.m.binary(BinaryOp::And, above, below);
        let mut then = vec![];
        if changes {
            let value = g.plus(read, 1);
            then.push(Stmt::Assign { local: v, value });
        }
        then.push(g.store(read));
        vec![Stmt::Let { local: v, value: loaded }, g.when(cond, then, vec![])]
    };
    assert!(proven(|g| body(g, false, 0)));
    assert!(!proven(|g| body(g, false, -1)));
    assert!(!proven(|g| body(g, true, 0)));
}

#[test]
fn a_condition_in_a_local_narrows_values() {
    // let inside = i > 0 && …; as the frontend lowers `&&` if its right side needs a statement
    let body = |g: &mut Guarded, or: bool| {
        let i = g.i();
        let both = g.m.variable("both", Bool);
        let left = g.compare(BinaryOp::Gt, i, 0);
        let zero = g.m.constant(0u64);
        let loaded = g.m.load(g.y, &[zero]);
        let v = g.m.local("v", I64);
        let (cond, read) = (g.m.read(both), g.m.read(v));
        let right = g.m.binary(BinaryOp::Lt, i, read);
        let more =
            vec![Stmt::Let { local: v, value: loaded }, Stmt::Assign { local: both, value: right }];
        let choose = if or { g.when(cond, vec![], more) } else { g.when(cond, more, vec![]) };
        let at = g.plus(i, -1);
        let store = g.store(at);
        let cond = g.m.read(both);
        let inside = g.when(cond, vec![store], vec![]);
        vec![Stmt::Let { local: both, value: left }, choose, inside]
    };
    assert!(proven(|g| body(g, false)));
    assert!(!proven(|g| body(g, true)));
}

#[test]
fn a_while_loop_is_proven_by_its_condition() {
    // let mut k = i; while k < x.len() { x[k]; k += 1 }
    let body = |g: &mut Guarded, late: bool| {
        let i = g.i();
        let k = g.m.variable("k", I64);
        let (read, extent) = (g.m.read(k), g.extent());
        let ends = g.m.binary(BinaryOp::Ge, read, extent);
        let leave = g.when(ends, vec![Stmt::Break], vec![]);
        let value = g.plus(read, 1);
        let (next, store) = (Stmt::Assign { local: k, value }, g.store(read));
        let negative = g.compare(BinaryOp::Lt, read, 0);
        let above = g.when(negative, vec![Stmt::Break], vec![]);
        let rest = if late { [next, store] } else { [store, next] };
        let body = g.m.block([vec![leave, above], rest.to_vec()].concat());
        vec![Stmt::Let { local: k, value: i }, Stmt::Loop { body }]
    };
    assert!(proven(|g| body(g, false)));
    assert!(!proven(|g| body(g, true)));
}

/// The number of iterations of `for i in 0..n { … }` with this body that are proven if `x` has 10 elements.
fn interior(n: i64, body: impl FnOnce(&mut Guarded) -> Vec<Stmt>) -> (i128, i128) {
    let mut g = Guarded::new();
    let stmts = body(&mut g);
    let kernel = g.finish(-2, stmts);
    let words = argument_block(&kernel, &arguments(n, 10), &mut SliceMemory::new());
    let plan = LaunchAnalysis::new(&kernel);
    let inside = plan.interior(TASK, &words);
    assert_eq!(words[words.len() - 2..], plan.interiors(&words));
    inside.dims()[0]
}

#[test]
fn a_partly_provable_loop_has_an_interior() {
    // x[i + shift]
    let shifted = |g: &mut Guarded, shift| {
        let (i, at) = (g.i(), g.i);
        let at = if shift == 0 { g.m.read(at) } else { g.plus(i, shift) };
        vec![g.store(at)]
    };
    assert_eq!(interior(10, |g| shifted(g, 0)), (0, 10));
    assert_eq!(interior(10, |g| shifted(g, 2)), (-2, 8));
    assert_eq!(interior(8, |g| shifted(g, 2)), (-2, 8), "all of it");
    assert_eq!(interior(30, |g| shifted(g, -9)), (9, 19));
    assert_eq!(interior(1 << 40, |g| shifted(g, -1)), (1, 11));
    assert_eq!(interior(10, |g| shifted(g, 100)), (0, 0));
    // Values loaded from a tensor are unknown.
    let gathered = |g: &mut Guarded| {
        let (zero, y) = (g.m.constant(0u64), g.y);
        let load = g.m.load(y, &[zero]);
        let at = g.m.local("at", I64);
        let read = g.m.read(at);
        vec![Stmt::Let { local: at, value: load }, g.store(read)]
    };
    assert_eq!(interior(10, gathered), (0, 0));
}

/// Random code with many conditions. If a proof holds, the interpreter finds no index out of range, and the iterations
/// of an interior are in range too.
#[test]
fn proofs_with_guards_are_sound() {
    // The longest test of the crate: on two threads.
    let [first, second] = std::thread::scope(|scope| {
        [1..=2_500, 2_501..=5_000]
            .map(|seeds| scope.spawn(|| random_proofs(seeds)))
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    let [safe, proven, unsafe_runs, split] = std::array::from_fn(|at| first[at] + second[at]);
    assert!(split > 500, "{split} launches have an interior");
    assert!(unsafe_runs > 2_000, "{unsafe_runs} runs leave their bounds");
    assert!(proven * 10 > safe * 3, "{proven} of {safe} proven");
}

/// The number of runs in range, of proofs, of runs out of range, and of launches with an interior.
fn random_proofs(seeds: std::ops::RangeInclusive<u64>) -> [u32; 4] {
    let (mut safe, mut proven, mut unsafe_runs, mut split) = (0, 0, 0, 0);
    for seed in seeds {
        let mut rng = Rng::new(seed);
        let mut g = Guarded::new();
        let mut drawn = Drawn { scope: vec![g.i], changing: vec![], bools: vec![] };
        let stmts = drawn.stmts(&mut g, &mut rng, 3, false);
        let begin = rng.below(3) as i64 - 1;
        let kernel = g.finish(begin, stmts);
        verify_offloaded(&kernel).unwrap();
        for _ in 0..4 {
            let (n, extent) = (rng.below(7) as i64, rng.below(8));
            let outcome = match run_with_fuel(&kernel, Form::Checked, &arguments(n, extent), 5_000)
            {
                Ok(outcome) => outcome,
                Err(ExecFault::OutOfFuel) => continue,
                Err(fault) => panic!("seed {seed}: {fault}"),
            };
            let inside = outcome.error.is_none();
            let proof = proves(&kernel, n, extent);
            assert!(inside || !proof, "seed {seed}, n = {n}, x has {extent}\n{kernel}");
            safe += u32::from(inside);
            proven += u32::from(proof);
            unsafe_runs += u32::from(!inside);
            let words = argument_block(&kernel, &arguments(n, extent), &mut SliceMemory::new());
            let found = LaunchAnalysis::new(&kernel).interior(TASK, &words);
            split += u32::from(!proof && !found.is_empty());
        }
    }
    [safe, proven, unsafe_runs, split]
}

/// The locals of a random piece of code.
struct Drawn {
    scope: Vec<LocalId>,
    changing: Vec<LocalId>,
    bools: Vec<LocalId>,
}

impl Drawn {
    fn stmts(&mut self, g: &mut Guarded, rng: &mut Rng, depth: u32, in_loop: bool) -> Vec<Stmt> {
        let scope = (self.scope.len(), self.changing.len(), self.bools.len());
        let mut stmts = Vec::new();
        for _ in 0..1 + rng.below(3) {
            let stmt = self.stmt(g, rng, depth, in_loop, &mut stmts);
            stmts.push(stmt);
        }
        self.scope.truncate(scope.0);
        self.changing.truncate(scope.1);
        self.bools.truncate(scope.2);
        stmts
    }

    fn stmt(
        &mut self,
        g: &mut Guarded,
        rng: &mut Rng,
        depth: u32,
        in_loop: bool,
        before: &mut Vec<Stmt>,
    ) -> Stmt {
        match rng.below(if depth == 0 { 6 } else { 11 }) {
            0 => {
                let value = self.value(g, rng, 2);
                let local = g.m.local("a", I64);
                self.scope.push(local);
                Stmt::Let { local, value }
            }
            1 => {
                let value = self.value(g, rng, 1);
                let local = g.m.variable("c", I64);
                self.scope.push(local);
                self.changing.push(local);
                Stmt::Let { local, value }
            }
            2 if !self.changing.is_empty() => {
                let local = rng.pick(&self.changing);
                let value = self.value(g, rng, 2);
                Stmt::Assign { local, value }
            }
            3 => {
                let value = self.cond(g, rng, 2);
                let local = g.m.variable("b", Bool);
                self.bools.push(local);
                Stmt::Let { local, value }
            }
            4 if !self.bools.is_empty() => {
                let local = rng.pick(&self.bools);
                let value = self.cond(g, rng, 1);
                let (cond, assign) = (g.m.read(local), Stmt::Assign { local, value });
                match rng.below(3) {
                    0 => assign,
                    1 => g.when(cond, vec![assign], vec![]),
                    _ => g.when(cond, vec![], vec![assign]),
                }
            }
            6..=8 => {
                let at = self.value(g, rng, 2);
                let cond = if rng.chance(60) { self.inside(g, at) } else { self.cond(g, rng, 2) };
                let mut arms = [(); 2].map(|()| self.stmts(g, rng, depth - 1, in_loop));
                if rng.chance(70) {
                    let store = g.store(at);
                    arms[0].push(store);
                }
                if rng.chance(30) {
                    let leave =
                        if in_loop && rng.chance(50) { Stmt::Break } else { Stmt::Continue };
                    arms[rng.below(2) as usize].push(leave);
                }
                let [then, otherwise] = arms;
                g.when(cond, then, if rng.chance(50) { otherwise } else { vec![] })
            }
            9 => {
                let (begin, end) = (self.value(g, rng, 1), self.value(g, rng, 1));
                let var = g.m.local("k", I64);
                self.scope.push(var);
                let stmts = self.stmts(g, rng, depth - 1, true);
                self.scope.pop();
                let body = g.m.block(stmts);
                Stmt::For { var, begin, end, body, unroll: None, down: false }
            }
            10 => {
                let k = g.m.variable("w", I64);
                let value = self.value(g, rng, 1);
                before.push(Stmt::Let { local: k, value });
                self.scope.push(k);
                let cond = self.cond(g, rng, 1);
                let leave = g.when(cond, vec![Stmt::Break], vec![]);
                let mut stmts = self.stmts(g, rng, depth - 1, true);
                let read = g.m.read(k);
                let value = g.plus(read, 1);
                let at = rng.below(stmts.len() as u64 + 1) as usize;
                stmts.insert(at.min(stmts.len()), Stmt::Assign { local: k, value });
                stmts.insert(0, leave);
                let body = g.m.block(stmts);
                Stmt::Loop { body }
            }
            _ => {
                let at = self.value(g, rng, 2);
                g.store(at)
            }
        }
    }

    fn value(&self, g: &mut Guarded, rng: &mut Rng, depth: u32) -> ExprId {
        if depth == 0 || rng.chance(40) {
            return match rng.below(6) {
                0 => g.n,
                1 => g.m.constant(rng.below(7) as i64 - 2),
                _ => {
                    let local = rng.pick(&self.scope);
                    g.m.read(local)
                }
            };
        }
        let a = self.value(g, rng, depth - 1);
        let b = self.value(g, rng, depth - 1);
        let op = match rng.below(11) {
            8.. => {
                let cond = self.cond(g, rng, 1);
                return g.m.expr(I64, ExprKind::Select { cond, then: a, otherwise: b });
            }
            0..=2 => BinaryOp::Add,
            3 | 4 => BinaryOp::Sub,
            5 => BinaryOp::Mul,
            6 => {
                let wide = g.m.cast(ScalarType::U32, a);
                return g.m.cast(I64, wide);
            }
            _ => return g.m.math(MathFn::Min, &[a, b]),
        };
        g.m.binary(op, a, b)
    }

    fn cond(&self, g: &mut Guarded, rng: &mut Rng, depth: u32) -> ExprId {
        use BinaryOp::{And, Eq, Ge, Gt, Le, Lt, Ne, Or};
        if !self.bools.is_empty() && rng.chance(15) {
            let local = rng.pick(&self.bools);
            return g.m.read(local);
        }
        if depth > 0 && rng.chance(50) {
            let a = self.cond(g, rng, depth - 1);
            if rng.chance(25) {
                return g.m.expr(Bool, ExprKind::Unary { op: UnaryOp::Not, value: a });
            }
            let b = self.cond(g, rng, depth - 1);
            return g.m.binary(rng.pick(&[And, Or]), a, b);
        }
        let (a, b) = (self.value(g, rng, 1), self.value(g, rng, 1));
        g.m.binary(rng.pick(&[Lt, Le, Gt, Ge, Eq, Ne]), a, b)
    }

    /// `at >= 0 && at < x.len()`
    fn inside(&self, g: &mut Guarded, at: ExprId) -> ExprId {
        let extent = g.extent();
        let (above, below) = (g.compare(BinaryOp::Ge, at, 0), g.m.binary(BinaryOp::Lt, at, extent));
        g.m.binary(BinaryOp::And, above, below)
    }
}
