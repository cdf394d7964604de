//! Property test of the race check: random loops and regions that are accepted have no races.
//!
//! Each kernel is built at random and launched with random arguments. The interpreter runs the iterations one by one
//! on memory that records accesses. If the footprints of two iterations or two blocks conflict, the kernel must have
//! been rejected, by `build` or at launch. Rejected kernels are built again with their accesses asserted, to count
//! those that do not race.

use std::{cell::RefCell, collections::HashMap};

use quadrants_frontend::{
    Error,
    builder::{KernelBuilder, TensorParam, Value},
};
use quadrants_ir::{
    Const, Kernel, Offloaded, RegionBlockId,
    ScalarType::{self, I8, I16, I32, U8, U16, U32, U64},
    abi::Form,
    interp::{ExecFault, Interpreter, Memory, SliceMemory},
    launch_analysis::LaunchAnalysis,
    offload,
};

/// The number of random kernels with `QUADRANTS_TEST_FULL=1`, otherwise a twentieth of it; `QUADRANTS_TEST_KERNELS`
/// sets another.
const KERNELS: u64 = 10_000;
pub(crate) const RECORD: u64 = 0x1000;
pub(crate) const SCRATCH: u64 = 0x2000;
pub(crate) const FIRST: u64 = 0x10_0000;
pub(crate) const BETWEEN: u64 = 0x1_0000;

/// The operand of atomics, and the value of stores, in random kernels.
pub(crate) const ADDED: u32 = 0x1_0001;
pub(crate) const STORED: u32 = 0x777;

/// xorshift64*
pub(crate) struct Random(u64);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Touch {
    Read,
    Write,
    Atomic,
}

/// For each address: the iterations or blocks that accessed it, and how.
pub(crate) type Footprint = HashMap<u64, Vec<(u64, Touch)>>;

/// Memory that records accesses.
pub(crate) struct Recorder {
    pub(crate) memory: SliceMemory,
    /// The last load.
    loaded: Option<(u64, u64)>,
    pub(crate) touched: Vec<(u64, Touch)>,
}

/// The parameters of every random kernel.
#[derive(Clone, Copy)]
struct Params<'b> {
    n: Value<'b>,
    k: Value<'b>,
    line: TensorParam<'b>,
    plane: TensorParam<'b>,
    at: TensorParam<'b>,
    count: TensorParam<'b>,
    /// The type of loop variables and indices.
    ty: ScalarType,
}

/// The values of a launch's arguments.
#[derive(Debug)]
struct Args {
    n: u64,
    k: u64,
    line: u64,
    plane: [u64; 2],
    at: Vec<u64>,
    /// The number of counters.
    count: u64,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

impl Recorder {
    pub(crate) fn new(memory: SliceMemory) -> Self {
        Self { memory, loaded: None, touched: Vec::new() }
    }
}

impl Memory for Recorder {
    fn load(&mut self, address: u64, bytes: usize) -> Result<u64, ExecFault> {
        let value = self.memory.load(address, bytes)?;
        self.touched.push((address, Touch::Read));
        self.loaded = Some((address, value));
        Ok(value)
    }

    fn store(&mut self, address: u64, bytes: usize, bits: u64) -> Result<(), ExecFault> {
        // The interpreter runs an atomic as a load and a store of the sum.
        let added = |value: u64| (value as u32).wrapping_add(ADDED) == bits as u32;
        if self.loaded.take().is_some_and(|(from, value)| from == address && added(value)) {
            self.touched.pop();
            self.touched.push((address, Touch::Atomic));
        } else {
            self.touched.push((address, Touch::Write));
        }
        self.memory.store(address, bytes, bits)
    }
}

impl Args {
    fn draw(random: &mut Random) -> Self {
        let line = 1 + random.below(40);
        let at = match random.below(3) {
            0 => (0..30).rev().collect(),
            1 => (0..30).collect(),
            _ => (0..30).map(|_| random.below(8)).collect(),
        };
        Self {
            n: random.below(24),
            k: random.below(7),
            line,
            plane: [1 + random.below(9), 1 + random.below(9)],
            at,
            count: random.pick(&[2, 2, 2, 1, 0]),
        }
    }

    /// The argument block, and memory with the tensors.
    fn place(&self) -> (Vec<u64>, Recorder) {
        let mut memory = SliceMemory::new();
        memory.insert(RECORD, vec![0; 128]);
        memory.insert(SCRATCH, vec![0; 256]);
        let mut words = vec![RECORD, SCRATCH, 1, self.n, self.k];
        let [rows, columns] = self.plane;
        let sizes = [self.line * 4, rows * columns * 4, 8 * self.at.len() as u64, 4 * self.count];
        for (at, size) in sizes.into_iter().enumerate() {
            let address = FIRST + BETWEEN * at as u64;
            let mut bytes = vec![0; size as usize];
            if at == 2 {
                bytes = self.at.iter().flat_map(|v| v.to_le_bytes()).collect();
            }
            memory.insert(address, bytes);
            words.push(address);
            match at {
                0 => words.push(self.line),
                1 => words.extend(self.plane),
                2 => words.push(self.at.len() as u64),
                _ => words.push(self.count),
            }
        }
        (words, Recorder::new(memory))
    }
}

impl<'b> Params<'b> {
    /// A number of the type of indices.
    fn number(self, b: &'b KernelBuilder, value: u64) -> Value<'b> {
        b.constant(Const::from_bits(self.ty, value))
    }

    /// The end of a loop.
    fn end(self, b: &'b KernelBuilder, random: &mut Random) -> Value<'b> {
        let end = match random.below(8) {
            0..=2 => self.n,
            3 => self.line.len(),
            4 => self.plane.extent(random.below(2) as u8),
            5 => self.k,
            6 => b.constant(random.pick(&[1u64, 2, 4, 9])),
            _ => self.n / random.pick(&[2u64, 3]),
        };
        end.cast(self.ty)
    }

    /// An index computed from loop variables.
    fn index(self, b: &'b KernelBuilder, random: &mut Random, vars: &[Value<'b>]) -> Value<'b> {
        let number = |value: u64| self.number(b, value);
        let i = random.pick(vars);
        let other = random.pick(vars);
        let small = random.below(5);
        let [n, k] = [self.n.cast(self.ty), self.k.cast(self.ty)];
        let width = self.plane.extent(1).cast(self.ty);
        match random.below(32) {
            0..=6 => i,
            7 => i + number(small),
            8 => i * number(1 + small),
            9 => i * number(random.pick(&[2, 3, 4, 64, 85, 128])) + number(small),
            10 => i * random.pick(&[k, width]) + other,
            11 => i * number(1 + small) + other,
            12 => i + random.pick(&[n, k]),
            13 => n - number(1) - i,
            14 => random.pick(&[i / number(2), i % number(1 + small), i / (k + number(1))]),
            15 => self.at.load(i.cast(U64) % 30u64).cast(self.ty),
            16 => number(small),
            17 => i.min(random.pick(&[k, n, number(small)])),
            18 => i.max(random.pick(&[k, other, number(small)])),
            19 => i ^ random.pick(&[k, number(small), other]),
            20 => i & number(random.pick(&[1, 3, 5, 6, 7, 15])),
            21 => i | number(random.pick(&[1, 4, 8, 16])),
            22 => i << random.pick(&[1u32, 2, 7]),
            23 => i >> random.pick(&[1u32, 2]),
            24 => {
                let cond = self.comparison(b, random, vars);
                cond.select(i, random.pick(&[i + number(small), other, number(small) - i]))
            }
            25 => (i + random.pick(&[n, k, number(small)])) % random.pick(&[n, width]),
            26 => i * (i + number(1)) / number(2) + other,
            27 => i / (k + number(1)) * (k + number(1)) * number(2) + i % (k + number(1)),
            28 => i.cast(random.pick(&[U8, I8, U16, I16])).cast(self.ty),
            29 => other * i + number(small),
            _ => i + other,
        }
    }

    fn comparison(
        self,
        b: &'b KernelBuilder,
        random: &mut Random,
        vars: &[Value<'b>],
    ) -> Value<'b> {
        let number = |value: u64| self.number(b, value);
        let first = vars[0];
        let (x, y) = (random.pick(vars), random.pick(vars));
        let [n, k] = [self.n.cast(self.ty), self.k.cast(self.ty)];
        let small = number(random.below(5));
        let y = random.pick(&[y, k, n, small, x ^ k]);
        match random.below(11) {
            9 => ((x ^ y) & number(1)).equals(small),
            10 => ((x ^ y ^ k) % number(2)).equals((first | y) & number(1)),
            0 => x.lt(y),
            1 => x.le(y),
            2 => x.ge(y),
            3 => x.differs(y),
            4 => x.equals(y),
            5 => first.equals(random.pick(&[k, small])),
            6 => (x % number(2 + random.below(3))).equals(small),
            7 => (x & number(random.pick(&[1, 2, 4]))).equals(number(0)),
            _ => (first + number(1)).equals(random.pick(&[n, k])),
        }
    }

    fn condition(self, b: &'b KernelBuilder, random: &mut Random, vars: &[Value<'b>]) -> Value<'b> {
        let first = self.comparison(b, random, vars);
        match random.below(5) {
            0 => first & self.comparison(b, random, vars),
            1 => first | self.comparison(b, random, vars),
            2 => !first,
            _ => first,
        }
    }

    /// One to three accesses, in branches and loops.
    fn body(self, b: &'b KernelBuilder, random: &mut Random, vars: &[Value<'b>]) {
        let number = |value: u64| self.number(b, value);
        for _ in 0..1 + random.below(3) {
            let mut vars = vars.to_vec();
            let (i, k) = (vars[0], self.k.cast(self.ty));
            match random.below(16) {
                15 => {
                    // Bits in another order.
                    let from = b.var("from", random.pick(&vars));
                    let bits = b.var("bits", random.pick(&[number(0), number(0), i]));
                    let way = random.below(3);
                    let end = random.pick(&[2u64, 3, 4, 5]);
                    b.range_for(b.constant(0u64), b.constant(end), |at| {
                        let bit = from.get() & number(1);
                        match way {
                            0 => bits.set(bits.get() << 1u32 | bit),
                            1 => bits.set(bits.get() | bit << (at.cast(U32) * 2u32)),
                            _ => b.if_(bit.equals(number(0)), || {
                                bits.set(bits.get() + (number(8) >> at.cast(U32)));
                            }),
                        }
                        from.set(from.get() >> 1u32);
                    });
                    self.access(b, random, &[bits.get(), bits.get(), i]);
                }
                14 => {
                    let last = number(u64::MAX);
                    let begin = random.pick(&[i, i, i * k, number(0), last - i]);
                    let pointer = b.var("pointer", begin);
                    let count = b.var("count", b.constant(0u32));
                    let end = [number(20), number(12), self.n.cast(self.ty), i, last - k, last];
                    let end = random.pick(&end);
                    let step = random.pick(&[number(3), k, number(1), self.n.cast(self.ty)]);
                    b.while_(
                        || pointer.get().lt(end),
                        || {
                            b.if_(count.get().ge(12u32), || b.break_());
                            self.access(b, random, &[pointer.get(), pointer.get(), i]);
                            pointer.set(pointer.get() + step);
                            count.set(count.get() + 1u32);
                        },
                    );
                }
                0..=1 => {
                    let end = self.end(b, random);
                    let end = random.pick(&[end, i]);
                    b.range_for(number(0), end, |c| {
                        vars.push(c);
                        self.access(b, random, &vars);
                    });
                }
                2..=3 => {
                    let (stride, length) = (number(random.below(5)), number(random.below(5)));
                    let begin = i * random.pick(&[k, stride]);
                    let end = begin + random.pick(&[k, length]);
                    let end = if random.below(3) == 0 { end.min(number(30)) } else { end };
                    b.range_for(begin, end, |c| {
                        vars = vec![c, c, i];
                        self.access(b, random, &vars);
                    });
                }
                4..=5 => {
                    let begin = random.pick(&[i * k, i * number(4), i, number(0)]);
                    let pointer = b.var("pointer", begin);
                    let end = random.pick(&[k, number(4), number(3), i]);
                    let step = random.pick(&[number(1), k, number(2), self.n.cast(self.ty)]);
                    let is_late = random.below(4) == 0;
                    // In some iterations only, or by another amount in the others.
                    let (in_some, otherwise) = (random.below(2) == 0, random.below(4));
                    let step = if in_some { number(1 + random.below(2)) } else { step };
                    b.range_for(number(0), end, |c| {
                        let advance = || pointer.set(pointer.get() + step);
                        if is_late {
                            advance();
                        }
                        if in_some {
                            let cond = self.condition(
                                b,
                                random,
                                &[c, i, self.at.load(c.cast(U64) % 30u64).cast(self.ty)],
                            );
                            let used = || {
                                self.access(b, random, &[pointer.get()]);
                                advance();
                            };
                            let otherwise = || match otherwise {
                                0 => pointer.set(pointer.get() + number(1)),
                                1 => pointer.set(pointer.get() - number(1)),
                                _ => {}
                            };
                            b.if_else(cond, used, otherwise);
                            return;
                        }
                        self.access(b, random, &[pointer.get()]);
                        if !is_late {
                            advance();
                        }
                    });
                }
                6 => {
                    let local = b.var("local", random.pick(&vars));
                    let cond = self.condition(b, random, &vars);
                    b.if_(cond, || local.set(self.index(b, random, &vars)));
                    self.access(b, random, &[i, local.get(), local.get()]);
                }
                _ => self.access(b, random, &vars),
            }
        }
    }

    fn access(self, b: &'b KernelBuilder, random: &mut Random, vars: &[Value<'b>]) {
        if random.below(5) < 2 {
            let cond = self.condition(b, random, vars);
            b.if_(cond, || self.access_here(b, random, vars));
        } else {
            self.access_here(b, random, vars);
        }
    }

    fn access_here(self, b: &'b KernelBuilder, random: &mut Random, vars: &[Value<'b>]) {
        let mut flat = random.below(2) == 0;
        let (first, second) = match random.below(12) {
            0 => {
                // A ticket, of one cell or of a cell per iteration.
                let computed = self.index(b, random, vars).cast(U64);
                let constant = b.constant(random.pick(&[0u64, 0, 1]));
                let cell = random.pick(&[computed, computed % 2u64, constant]);
                let ticket = self.count.atomic_add(cell, random.pick(&[1u32, 1, 2])).cast(U64);
                if random.below(2) == 0 {
                    flat = false;
                    (cell, ticket)
                } else {
                    (ticket, cell)
                }
            }
            _ => (self.index(b, random, vars).cast(U64), self.index(b, random, vars).cast(U64)),
        };
        match (random.below(8), flat) {
            (0, true) => drop(self.line.load(first)),
            (0, false) => drop(self.plane.load([first, second])),
            (1..=2, true) => drop(self.line.atomic_add(first, ADDED)),
            (1..=2, false) => drop(self.plane.atomic_add([first, second], ADDED)),
            (_, true) => self.line.store(first, STORED),
            (_, false) => self.plane.store([first, second], STORED),
        }
    }

    fn one_loop(self, b: &'b KernelBuilder, random: &mut Random, asserted: bool) {
        let begin = match random.below(6) {
            0 => self.k,
            1 => self.n / 2u64,
            2 => b.constant(1u64),
            _ => b.constant(0u64),
        };
        let ends = [self.end(b, random), self.end(b, random)];
        let plane = random.below(3) == 0;
        let mut inside = |vars: &[Value<'b>]| {
            if asserted {
                b.race_free(|| self.body(b, random, vars));
            } else {
                self.body(b, random, vars);
            }
        };
        if plane {
            b.ndrange(ends, |vars| inside(&vars));
        } else {
            b.range_for(begin.cast(self.ty), ends[0], |i| inside(&[i]));
        }
    }
}

impl<'b> Params<'b> {
    /// A loop, or loops under conditions of arguments and of elements.
    fn some_loop(self, b: &'b KernelBuilder, random: &mut Random, asserted: bool) {
        let kind = random.below(9);
        let condition = |random: &mut Random| match random.below(3) {
            0 => self.at.load(b.constant(random.below(9))).lt(b.constant(1 + random.below(20))),
            _ => self.condition(b, random, &[self.n.cast(self.ty)]),
        };
        match kind {
            0 => b.if_(condition(random), || self.one_loop(b, random, asserted)),
            1 => {
                let holds = condition(random);
                // Both closures draw, one after the other.
                let random = RefCell::new(random);
                let one = || self.one_loop(b, &mut random.borrow_mut(), asserted);
                b.if_else(holds, one, one);
            }
            2 => b.if_(condition(random), || {
                let inner = condition(random);
                b.if_(inner, || self.one_loop(b, random, asserted));
            }),
            _ => self.one_loop(b, random, asserted),
        }
    }
}

/// The kernel of a seed, with all accesses asserted or with none.
fn build(seed: u64, asserted: bool) -> Result<Kernel, Error> {
    let random = &mut Random::new(seed);
    let b = KernelBuilder::new("drawn");
    let params = Params {
        n: b.param_scalar("n", U64),
        k: b.param_scalar("k", U64),
        line: b.param_tensor_mut("line", U32, 1),
        plane: b.param_tensor_mut("plane", U32, 2),
        at: b.param_tensor("at", U64, 1),
        count: b.param_tensor_mut("count", U32, 1),
        ty: random.pick(&[U64, U64, U32, I32]),
    };
    if random.below(2) == 0 {
        params.some_loop(&b, random, asserted);
        return b.build();
    }
    for _ in 0..2 + random.below(2) {
        b.stream_parallel(|| {
            if random.below(5) == 0 {
                let index = random.below(4);
                let store = || params.line.store(index, STORED);
                if asserted { b.race_free(store) } else { store() }
            }
            params.some_loop(&b, random, asserted);
        });
    }
    b.build()
}

/// Whether two accesses to an address by different iterations or blocks conflict.
pub(crate) fn conflicts(footprint: &Footprint) -> bool {
    let conflict = |(one, a): &(u64, Touch), (other, b): &(u64, Touch)| {
        one != other && (a != b || *a == Touch::Write)
    };
    footprint.values().any(|all| all.iter().any(|a| all.iter().any(|b| conflict(a, b))))
}

pub(crate) fn record_accesses(footprint: &mut Footprint, touched: &[(u64, Touch)], by: u64) {
    // The counter is excluded: it is only incremented.
    let count = FIRST + 3 * BETWEEN;
    for &(address, touch) in touched.iter().filter(|t| (FIRST..count).contains(&t.0)) {
        let all = footprint.entry(address).or_default();
        // Two of each kind suffice: one of them is by another iteration.
        if all.iter().filter(|(_, t)| *t == touch).count() < 2 && !all.contains(&(by, touch)) {
            all.push((by, touch));
        }
    }
}

/// Whether a launch has a race between iterations of a loop or blocks of the region.
fn races(kernel: &Offloaded, args: &Args) -> bool {
    let interpreter = Interpreter::new(kernel);
    let (words, mut memory) = args.place();
    let mut blocks = Footprint::new();
    for (id, task) in kernel.tasks() {
        let iterations = quadrants_ir::launch_analysis::extents(kernel, id, &words).iterations();
        let mut of_task = Footprint::new();
        for at in 0..iterations {
            memory.touched.clear();
            interpreter.run_range(id, Form::Checked, &words, &mut memory, at..at + 1).unwrap();
            record_accesses(&mut of_task, &memory.touched, at);
            if task.region_block != RegionBlockId::NONE {
                record_accesses(&mut blocks, &memory.touched, u64::from(task.region_block.raw()));
            }
        }
        if conflicts(&of_task) {
            return true;
        }
    }
    conflicts(&blocks)
}

/// Results of random kernels and their launches.
#[derive(Default)]
struct Counts {
    rejected: u64,
    rejected_without_race: u64,
    refused: u64,
    refused_without_race: u64,
    launched: u64,
    /// Launches of rejected kernels that the check at launch accepts.
    launched_by_force: u64,
}

impl Counts {
    fn add(&mut self, other: &Self) {
        self.rejected += other.rejected;
        self.rejected_without_race += other.rejected_without_race;
        self.refused += other.refused;
        self.refused_without_race += other.refused_without_race;
        self.launched += other.launched;
        self.launched_by_force += other.launched_by_force;
    }

    /// Builds, launches and checks the kernel of a seed.
    fn check(&mut self, seed: u64) {
        let random = &mut Random(seed.wrapping_mul(0x6a09_e667_f3bc_c909) | 1);
        let built = build(seed, false);
        let rejected = match &built {
            Ok(_) => false,
            Err(Error::Rejected { .. }) => true,
            Err(other) => panic!("seed {seed}: {other}"),
        };
        self.rejected += u64::from(rejected);
        if rejected && !seed.is_multiple_of(4) {
            return;
        }
        let kernel = built.or_else(|_| build(seed, true)).unwrap();
        let mut kernel = offload(&kernel).unwrap();
        // The check at launch does not rely on the one at compile time.
        kernel.sites.iter_mut().for_each(|site| site.asserted = false);
        let launches: Vec<Args> = (0..3).map(|_| Args::draw(random)).collect();
        let plan = LaunchAnalysis::new(&kernel);
        let mut any_race = false;
        for args in &launches {
            let race = races(&kernel, args);
            any_race |= race;
            let is_refused = plan.race(&args.place().0).is_some();
            assert!(is_refused || !race, "seed {seed} races: {args:?}\n{kernel}");
            match (rejected, is_refused) {
                (true, true) => {}
                (true, false) => self.launched_by_force += 1,
                (false, true) => {
                    self.refused += 1;
                    self.refused_without_race += u64::from(!race);
                }
                (false, false) => self.launched += 1,
            }
        }
        self.rejected_without_race += u64::from(rejected && !any_race);
    }
}

#[test]
fn accepted_kernels_have_no_races() {
    let is_full = std::env::var_os("QUADRANTS_TEST_FULL").is_some_and(|value| value == "1");
    let kernels = if is_full { KERNELS } else { KERNELS / 20 };
    let kernels = std::env::var("QUADRANTS_TEST_KERNELS").map_or(kernels, |n| n.parse().unwrap());
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let mut all = Counts::default();
    std::thread::scope(|scope| {
        let parts: Vec<_> = (0..threads)
            .map(|part| {
                scope.spawn(move || {
                    let mut counts = Counts::default();
                    (1 + part..=kernels).step_by(threads as usize).for_each(|s| counts.check(s));
                    counts
                })
            })
            .collect();
        for part in parts {
            all.add(&part.join().unwrap_or_else(|e| std::panic::resume_unwind(e)));
        }
    });
    println!(
        "of {kernels} kernels {} were rejected, {} of a quarter of them without a race in three launches; of the \
         others' launches {} were refused, {} of them without a race, and {} ran; {} launches of \
         rejected kernels are accepted",
        all.rejected,
        all.rejected_without_race,
        all.refused,
        all.refused_without_race,
        all.launched,
        all.launched_by_force
    );
    assert!(all.launched > all.refused / 2, "too few launches were made: {}", all.launched);
    assert!(all.launched > kernels / 3 && all.refused > kernels / 10);
    assert!(all.rejected > kernels / 10);
}
