//! Property test of launch analysis: bounds proofs and the race check hold for random kernels with arbitrary indices.
//!
//! Index expressions add, multiply, shift, divide, convert and compare integers of all types, may wrap, and depend on
//! conditions, assigned variables and counters. The kernels pass the compile-time check, so only the launch's proofs
//! are tested: the interpreter runs each iteration and records its accesses. In a launch without a reported race, no
//! two iterations or blocks conflict; no proven iteration accesses memory outside a tensor.

use std::cell::RefCell;

use quadrants_frontend::builder::{KernelBuilder, TensorParam, Value, Var};
use quadrants_ir::{
    Array, Const, Kernel, MathFn, Offloaded, RegionBlockId, ScalarType,
    ScalarType::{I32, I64, U32, U64},
    SiteKind, TaskId,
    abi::{ErrorRecord, Form},
    interp::{Interpreter, SliceMemory},
    launch_analysis::LaunchAnalysis,
    offload, simplify,
};

use crate::races::{
    ADDED, BETWEEN, FIRST, Footprint, RECORD, Random, Recorder, SCRATCH, STORED, conflicts,
    record_accesses,
};

/// The number of random kernels; `QUADRANTS_PROOFS` sets another.
const KERNELS: u64 = 1_000;

/// The types of the scalar parameters.
const SCALARS: [ScalarType; 4] = [U64, U32, I32, I64];

/// The tensors of a launch in order; the last are the counters.
const TENSORS: u64 = 4;

const INTS: [ScalarType; 4] = [U64, U32, I32, I64];

/// A random kernel under construction.
struct Drawn<'b, 'r> {
    b: &'b KernelBuilder,
    random: &'r mut Random,
    scalars: Vec<Value<'b>>,
    line: TensorParam<'b>,
    plane: TensorParam<'b>,
    numbers: TensorParam<'b>,
    count: TensorParam<'b>,
    /// The values that expressions may use.
    values: Vec<Value<'b>>,
    vars: Vec<Var<'b>>,
}

impl<'b> Drawn<'b, '_> {
    fn constant(&mut self, ty: ScalarType) -> Value<'b> {
        let bits = match self.random.below(12) {
            0 => self.random.pick(&[1 << 31, u64::MAX, 1 << 32, i64::MAX as u64, 1 << 63]),
            1 => (self.random.below(5) as i64 - 4) as u64,
            _ => self.random.below(9),
        };
        self.b.constant(Const::from_bits(ty, bits))
    }

    fn leaf(&mut self, ty: ScalarType) -> Value<'b> {
        match self.random.below(12) {
            0..=6 => self.random.pick(&self.values).cast(ty),
            7 => self.random.pick(&self.scalars).cast(ty),
            8 if !self.vars.is_empty() => self.random.pick(&self.vars).get().cast(ty),
            9 => self.line.len().cast(ty),
            _ => self.constant(ty),
        }
    }

    fn value(&mut self, ty: ScalarType, depth: u32) -> Value<'b> {
        if depth == 0 || self.random.below(4) == 0 {
            return self.leaf(ty);
        }
        let a = self.value(ty, depth - 1);
        match self.random.below(20) {
            0..=3 => a + self.value(ty, depth - 1),
            4..=5 => a - self.value(ty, depth - 1),
            6..=7 => a * self.leaf(ty),
            8 => a * self.constant(ty),
            9 => a / self.leaf(ty),
            10 => a % self.leaf(ty),
            11 => a << self.leaf(U32),
            12 => a >> self.constant(U32),
            13 => {
                let small = self.b.constant(Const::from_bits(ty, 1 + self.random.below(3)));
                self.random.pick(&[a & small, a ^ small, a | small, !a])
            }
            14 => a.min(self.leaf(ty)),
            15 => a.max(self.leaf(ty)),
            16 => {
                let between = self.random.pick(&INTS);
                let inner = self.value(between, depth - 1);
                a + inner.cast(ty)
            }
            17 => {
                let cond = self.condition(depth - 1);
                let b = self.value(ty, depth - 1);
                cond.select(a, b)
            }
            18 if ty.is_wide_signed_int() => self.random.pick(&[a.math(MathFn::Abs, &[]), -a]),
            _ => a.cast(self.random.pick(&INTS)).cast(ty),
        }
    }

    fn condition(&mut self, depth: u32) -> Value<'b> {
        let ty = self.random.pick(&INTS);
        let a = self.value(ty, depth.min(1));
        let b = match self.random.below(3) {
            0 => self.line.len().cast(ty),
            1 => self.constant(ty),
            _ => self.leaf(ty),
        };
        let cond = match self.random.below(6) {
            0 => a.lt(b),
            1 => a.le(b),
            2 => a.gt(b),
            3 => a.ge(b),
            4 => a.equals(b),
            _ => a.differs(b),
        };
        match self.random.below(8) {
            0 if depth > 0 => cond & self.condition(depth - 1),
            1 if depth > 0 => cond | self.condition(depth - 1),
            2 => !cond,
            _ => cond,
        }
    }

    fn index(&mut self) -> Value<'b> {
        match self.random.below(10) {
            0 => self.numbers.load(self.values[0].cast(U64) % 8u64).cast(U64),
            1 => self.count.atomic_add(self.random.pick(&[0u64, 0, 1]), 1u32).cast(U64),
            2..=5 => self.value(U64, 1),
            _ => {
                let ty = self.random.pick(&INTS);
                self.value(ty, 2).cast(U64)
            }
        }
    }

    fn access(&mut self) {
        let (first, flat) = (self.index(), self.random.below(3) > 0);
        let second = if flat { first } else { self.index() };
        match (self.random.below(6), flat) {
            (0, true) => drop(self.line.load(first)),
            (0, false) => drop(self.plane.load([first, second])),
            (1, true) => drop(self.line.atomic_add(first, ADDED)),
            (1, false) => drop(self.plane.atomic_add([first, second], ADDED)),
            (_, true) => self.line.store(first, STORED),
            (_, false) => self.plane.store([first, second], STORED),
        }
    }

    /// Statements in a new scope.
    fn scope(&mut self, depth: u32) {
        let (values, vars) = (self.values.len(), self.vars.len());
        for _ in 0..1 + self.random.below(3) {
            self.statement(depth);
        }
        self.values.truncate(values);
        self.vars.truncate(vars);
    }

    fn statement(&mut self, depth: u32) {
        match self.random.below(if depth == 0 { 3 } else { 12 }) {
            0..=2 => self.access(),
            3 => {
                let ty = self.random.pick(&INTS);
                let value = self.value(ty, 2);
                let var = self.b.var("v", value);
                self.vars.push(var);
            }
            4 if !self.vars.is_empty() => {
                let var = self.random.pick(&self.vars);
                let value = self.value(var.get().ty(), 2);
                var.set(value);
            }
            5..=7 => {
                let cond = self.condition(1);
                let b = self.b;
                b.if_(cond, || self.scope(depth - 1));
            }
            8 => {
                let cond = self.condition(1);
                let b = self.b;
                if self.random.below(2) == 0 {
                    b.if_(cond, || b.continue_());
                } else {
                    let this = RefCell::new(self);
                    let scope = || this.borrow_mut().scope(depth - 1);
                    b.if_else(cond, scope, scope);
                }
            }
            9 => {
                let ty = self.random.pick(&INTS);
                let (begin, end) = (self.leaf(ty), self.leaf(ty));
                let b = self.b;
                let seven = b.constant(Const::from_bits(ty, 7));
                b.range_for(begin & seven, end & seven, |c| {
                    self.values.push(c);
                    self.scope(depth - 1);
                    if self.random.below(3) == 0 {
                        let cond = self.condition(0);
                        b.if_(cond, || b.break_());
                        self.access();
                    }
                    self.values.pop();
                });
            }
            _ => {
                let ty = self.random.pick(&INTS);
                let value = self.value(ty, 2);
                self.values.push(value);
            }
        }
    }

    fn one_loop(&mut self) {
        let b = self.b;
        let ty = self.random.pick(&[U64, U64, I32, U32, I64]);
        let number = |bits: i64| b.constant(Const::from_bits(ty, bits as u64));
        let end = match self.random.below(4) {
            0 => self.line.len().cast(ty),
            1 => number(9),
            _ => (self.random.pick(&self.scalars).cast(U64) & 15u64).cast(ty),
        };
        let begin = match self.random.below(4) {
            0 if ty.is_wide_signed_int() => number(-3),
            1 => number(2),
            _ => number(0),
        };
        let plane = self.random.below(4) == 0;
        let mut inside = |vars: &[Value<'b>]| {
            self.values = vars.to_vec();
            b.race_free(|| self.scope(3));
        };
        if plane {
            b.ndrange([end, number(3)], |vars| inside(&vars));
        } else {
            b.range_for(begin, end, |i| inside(&[i]));
        }
    }
}

impl Drawn<'_, '_> {
    /// A loop, or a loop under a condition of arguments or of an element.
    fn some_loop(&mut self) {
        let b = self.b;
        if self.random.below(3) > 0 {
            return self.one_loop();
        }
        self.values = self.scalars.iter().take(1).map(|scalar| scalar.cast(U64)).collect();
        let holds = match self.random.below(2) {
            0 => self.numbers.load(b.constant(self.random.below(8))).lt(b.constant(5i32)),
            _ => self.condition(1),
        };
        b.if_(holds, || self.one_loop());
    }
}

/// A random kernel that passes the compile-time check without assertions.
fn draw(random: &mut Random) -> Offloaded {
    let b = KernelBuilder::new("drawn");
    let scalars = SCALARS.iter().enumerate().map(|(at, ty)| b.param_scalar(&format!("s{at}"), *ty));
    let scalars: Vec<_> = scalars.collect();
    let mut drawn = Drawn {
        b: &b,
        random,
        scalars,
        line: b.param_tensor_mut("line", U32, 1),
        plane: b.param_tensor_mut("plane", U32, 2),
        numbers: b.param_tensor("numbers", I32, 1),
        count: b.param_tensor_mut("count", U32, 1),
        values: Vec::new(),
        vars: Vec::new(),
    };
    if drawn.random.below(3) > 0 {
        drawn.some_loop();
    } else {
        for _ in 0..2 {
            b.stream_parallel(|| drawn.some_loop());
        }
    }
    let mut kernel: Kernel = b.build().expect("nothing that is asserted is refused");
    kernel.sites.iter_mut().for_each(|site| site.asserted = false);
    simplify(&offload(&kernel).expect("a valid kernel"))
}

/// The argument block of a launch, and its memory.
fn arguments(random: &mut Random) -> (Vec<u64>, Recorder) {
    let mut memory = SliceMemory::new();
    memory.insert(RECORD, vec![0; size_of::<ErrorRecord>()]);
    memory.insert(SCRATCH, vec![0; 256]);
    let mut words = vec![RECORD, SCRATCH, 1];
    for ty in SCALARS {
        let bits = match random.below(6) {
            0 => random.pick(&[1 << 31, u64::MAX, 1 << 32, 1 << 63, 7]),
            _ => random.below(20),
        };
        words.push(Const::from_bits(ty, bits).bits());
    }
    let shapes = [
        vec![1 + random.below(30)],
        vec![1 + random.below(9), 1 + random.below(9)],
        vec![8],
        vec![random.pick(&[2, 2, 1, 0])],
    ];
    for (at, shape) in (0..TENSORS).zip(shapes) {
        let address = FIRST + BETWEEN * at;
        let count: u64 = shape.iter().product();
        let numbers =
            (0..count).flat_map(|_| (random.below(13) as u32).wrapping_sub(2).to_le_bytes());
        memory
            .insert(address, if at == 2 { numbers.collect() } else { vec![0; 4 * count as usize] });
        words.push(address);
        words.extend(shape);
    }
    (words, Recorder::new(memory))
}

/// The values of the loop variables of an iteration, the last dimension the fastest.
fn variables(plan: &LaunchAnalysis, task: TaskId, words: &[u64], mut at: u64) -> Vec<i128> {
    let extents = plan.extents(task, words);
    let counts: Vec<u64> = extents.counts().collect();
    let mut values = Vec::new();
    for ((begin, _), count) in extents.dims().iter().zip(counts).rev() {
        values.insert(0, begin + i128::from(at % count));
        at /= count;
    }
    values
}

/// Results of a launch.
struct Found {
    races: bool,
    /// The numbers of proven and of other iterations.
    proven: u64,
    checked: u64,
}

/// Runs all iterations of a launch; checks the proven ones.
fn run(
    kernel: &Offloaded,
    plan: &LaunchAnalysis,
    (words, mut memory): (Vec<u64>, Recorder),
    seed: u64,
) -> Found {
    let interpreter = Interpreter::new(kernel);
    let mut found = Found { races: false, proven: 0, checked: 0 };
    let mut blocks = Footprint::new();
    for (id, task) in kernel.tasks() {
        let inside = plan.interior(id, &words);
        let is_proven = |at: u64| {
            let values = variables(plan, id, &words, at);
            inside.dims().iter().zip(values).all(|((begin, end), at)| (*begin..*end).contains(&at))
        };
        let mut of_task = Footprint::new();
        for at in 0..plan.extents(id, &words).iterations() {
            memory.touched.clear();
            memory.memory.insert(RECORD, vec![0; size_of::<ErrorRecord>()]);
            interpreter.run_range(id, Form::Checked, &words, &mut memory, at..at + 1).unwrap();
            let record = memory.memory.bytes(RECORD).unwrap();
            let number = |at: usize| u32::from_le_bytes(record[at..at + 4].try_into().unwrap());
            let leaves = number(0) == ErrorRecord::FULL
                && matches!(
                    kernel.sites[number(4) as usize].kind,
                    SiteKind::Index(Array::Tensor(_))
                );
            let proven = is_proven(at);
            assert!(
                !(proven && leaves),
                "seed {seed}: iteration {at} of {id:?} is proven: {words:x?}\n{kernel}"
            );
            found.proven += u64::from(proven);
            found.checked += u64::from(!proven);
            record_accesses(&mut of_task, &memory.touched, at);
            if task.region_block != RegionBlockId::NONE {
                record_accesses(&mut blocks, &memory.touched, u64::from(task.region_block.raw()));
            }
        }
        found.races |= conflicts(&of_task);
    }
    found.races |= conflicts(&blocks);
    found
}

#[test]
fn launch_proofs_hold_for_random_kernels() {
    let kernels = std::env::var("QUADRANTS_PROOFS").map_or(KERNELS, |n| n.parse().unwrap());
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let judge = |seed: u64| {
        let random = &mut Random::new(seed);
        let kernel = draw(random);
        let plan = LaunchAnalysis::new(&kernel);
        let mut counts = [0u64; 4];
        for _ in 0..3 {
            let launch = arguments(random);
            let refused = plan.race(&launch.0).is_some();
            let words = launch.0.clone();
            let found = run(&kernel, &plan, launch, seed);
            assert!(refused || !found.races, "seed {seed} races: {words:x?}\n{kernel}");
            let of_launch = [
                u64::from(refused),
                u64::from(refused && !found.races),
                found.proven,
                found.checked,
            ];
            counts.iter_mut().zip(of_launch).for_each(|(all, one)| *all += one);
        }
        counts
    };
    let all = std::thread::scope(|scope| {
        let part = |part| {
            let all = (1 + part..=kernels).step_by(threads as usize);
            scope.spawn(move || {
                all.map(judge).fold([0; 4], |all, one| std::array::from_fn(|k| all[k] + one[k]))
            })
        };
        let parts: Vec<_> = (0..threads).map(part).collect();
        parts.into_iter().fold([0u64; 4], |all, part| {
            let one = part.join().unwrap_or_else(|e| std::panic::resume_unwind(e));
            std::array::from_fn(|k| all[k] + one[k])
        })
    });
    let [refused, fine, proven, checked] = all;
    println!(
        "of {} launches {refused} were refused, {fine} of them without a race; {proven} iterations were proven, \
         {checked} were not",
        3 * kernels
    );
    assert!(
        refused < 3 * kernels && refused - fine > kernels / 10,
        "{refused} refused, {fine} fine"
    );
    assert!(proven > kernels && checked > kernels);
}
