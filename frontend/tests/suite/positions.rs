//! Property tests of the race check in thread blocks: random indices made of tickets of shared counters, prefix sums
//! and sums over a block.
//!
//! A kernel that is accepted at launch has no two threads that write one element, unless they are of one block and a
//! barrier is between the writes, for any elements of its tensors and any order of its additions.

use quadrants_frontend::builder::{KernelBuilder, TensorParam, Threads, Value};
use quadrants_ir::{
    ReduceOp,
    ScalarType::{F32, U32, U64},
    launch_analysis::LaunchAnalysis,
    offload,
};

use crate::races::Random;

/// The number of kernels with `QUADRANTS_TEST_FULL=1`, otherwise a twentieth of it.
const KERNELS: u64 = 10_000;
const BLOCKS: u64 = 2;
const THREADS: u64 = 8;
const LEN: u64 = 24;
/// The flag whose value is not a number.
const NAN: u64 = 6;
/// The size of the type of counters and sums.
const WRAP: u64 = 1 << 32;
/// The length of the tensors.
const ELEMENTS: u64 = 1_000;
/// How often a kernel is tried with other elements and orders.
const TRIALS: usize = 12;

/// What a thread adds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Amount {
    Constant(u64),
    /// `t % 2`
    Odd,
    /// `flags[t] & 1`
    Flag,
    /// `flags[t] % 3`
    UpToTwo,
    /// `values[t] > 2.0`; the value of flag 6 is not a number.
    Above,
    /// As above; the write has the condition `!(values[t] <= 2.0)`.
    NotBelow,
    /// `(flags[t] & 1) << 30`, whose sums wrap.
    Huge,
}

/// How the flags change before they are used again.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Changes {
    No,
    Store,
    Atomic,
    /// In the phases of a branch of the block.
    InBranch,
    /// The write uses the flag of `t ^ 1`.
    Neighbour,
}

/// Where a position comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Source {
    Exclusive,
    Inclusive,
    /// A shared counter; whether there are two, which threads choose by `t % 2`.
    Counter(bool),
}

/// An index made of the position `p`, the amount `a`, the thread `t` and the sum `s` of all amounts.
#[derive(Clone, Copy, Debug)]
enum Index {
    Position(u64),
    WithAmount,
    BeforeAmount,
    Twice(u64),
    Others,
    AfterAll,
    OthersAfterAll,
    Thread,
}

#[derive(Clone, Copy, Debug)]
enum Condition {
    Always,
    /// `a > c`
    Above(u64),
    /// `a == 0`
    Nothing,
    /// `t < c`
    Below(u64),
    /// `p < c`
    Limited(u64),
}

#[derive(Clone, Copy, Debug)]
struct Write {
    index: Index,
    condition: Condition,
}

/// How a block gets the begin of its part of a tensor: from a counter that all blocks share.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Reserved {
    No,
    /// Thread 0 adds the sum.
    All,
    /// Thread 0 adds half of the sum.
    Half,
    /// Thread 0 adds the sum in some blocks only.
    Sometimes,
    /// Thread 0 adds the sum, and thread 1 sets another begin afterwards.
    Replaced,
    /// As above, by an atomic addition.
    Moved,
    /// The last thread adds the sum.
    Last,
    /// A thread that does not exist adds the sum.
    Nobody,
    /// Thread 0 adds the sum twice.
    Twice,
    /// Each block has its own counter.
    Apart,
    /// Thread 0 adds the sum after the writes.
    Late,
}

#[derive(Clone, Copy, Debug)]
struct Case {
    amount: Amount,
    source: Source,
    changes: Changes,
    /// Whether the grid has a second dimension.
    is_flat: bool,
    /// The number of turns of the loop around all phases.
    turns: u64,
    /// The distance of the blocks' parts of a tensor; none for a shared array.
    pitch: Option<u64>,
    reserved: Reserved,
}

macro_rules! formula {
    ($what:expr, $number:ident, $p:ident, $a:ident, $t:ident, $s:ident) => {
        match $what {
            Index::Position(c) => $p + $number(c),
            Index::WithAmount => $p + $a,
            Index::BeforeAmount => $p + $a - $number(1),
            Index::Twice(c) => $p * $number(2) + $number(c),
            Index::Others => $t - $p,
            Index::AfterAll => $s + $p,
            Index::OthersAfterAll => $s + $t - $p,
            Index::Thread => $t + $number(0),
        }
    };
}

impl Amount {
    fn of(self, t: u64, flag: u64) -> u64 {
        match self {
            Self::Constant(c) => c,
            Self::Odd => t % 2,
            Self::Flag => flag & 1,
            Self::UpToTwo => flag % 3,
            Self::Above => u64::from(flag > 2 && flag != NAN),
            Self::NotBelow => u64::from(flag > 2),
            Self::Huge => (flag & 1) << 30,
        }
    }

    /// What the collectives and counters are given.
    fn given(self) -> Self {
        if self == Self::NotBelow { Self::Above } else { self }
    }

    fn is_float(self) -> bool {
        matches!(self, Self::Above | Self::NotBelow)
    }

    fn build<'b>(self, b: &'b KernelBuilder, t: Value<'b>, flag: Value<'b>) -> Value<'b> {
        match self {
            Self::Constant(c) => b.constant(c as u32),
            Self::Odd => (t % 2u64).cast(U32),
            Self::Flag => flag & 1u32,
            Self::UpToTwo => flag % 3u32,
            Self::Above => flag.gt(2.0f32).cast(U32),
            Self::NotBelow => (!flag.le(2.0f32)).cast(U32),
            Self::Huge => (flag & 1u32) << 30u32,
        }
    }
}

impl Condition {
    fn holds(self, p: u64, a: u64, t: u64) -> bool {
        match self {
            Self::Always => true,
            Self::Above(c) => a > c,
            Self::Nothing => a == 0,
            Self::Below(c) => t < c,
            Self::Limited(c) => p < c,
        }
    }

    fn build<'b>(self, [p, a, t]: [Value<'b>; 3]) -> Option<Value<'b>> {
        Some(match self {
            Self::Always => return None,
            Self::Above(c) => a.gt(c),
            Self::Nothing => a.equals(0u64),
            Self::Below(c) => t.lt(c),
            Self::Limited(c) => p.lt(c),
        })
    }
}

impl Case {
    fn draw(random: &mut Random) -> Self {
        let c = random.below(3);
        let amount = random.pick(&[
            Amount::Constant(c),
            Amount::Odd,
            Amount::Flag,
            Amount::Flag,
            Amount::UpToTwo,
            Amount::Above,
            Amount::NotBelow,
            Amount::Huge,
        ]);
        let two = random.below(4) == 0;
        let source = random.pick(&[
            Source::Exclusive,
            Source::Exclusive,
            Source::Inclusive,
            Source::Counter(two),
        ]);
        let pitch = random.pick(&[None, None, Some(LEN), Some(8), Some(0)]);
        let changes = match random.below(3) {
            0 => random.pick(&[
                Changes::Store,
                Changes::Atomic,
                Changes::InBranch,
                Changes::Neighbour,
            ]),
            _ => Changes::No,
        };
        let mut reserved = Reserved::No;
        if pitch.is_some() && !matches!(source, Source::Counter(_)) {
            reserved = random.pick(&[
                Reserved::No,
                Reserved::All,
                Reserved::All,
                Reserved::Half,
                Reserved::Sometimes,
                Reserved::Replaced,
                Reserved::Moved,
                Reserved::Last,
                Reserved::Last,
                Reserved::Nobody,
                Reserved::Twice,
                Reserved::Apart,
                Reserved::Late,
            ]);
        }
        let is_flat = random.below(4) != 0;
        Self { amount, source, changes, is_flat, turns: 1 + random.below(2), pitch, reserved }
    }

    /// The elements that the threads of a block write, as pairs of thread and element, and the sum of the amounts.
    fn run(self, writes: &[Write], random: &mut Random) -> (Vec<(u64, u64)>, u64) {
        let mut flags: Vec<u64> = (0..THREADS).map(|_| random.below(7)).collect();
        let given = self.amount.given();
        let amounts: Vec<u64> = (0..).zip(&flags).map(|(t, f)| given.of(t, *f)).collect();
        let sum = amounts.iter().sum::<u64>() % WRAP;
        match self.changes {
            Changes::Store => flags = (0..THREADS).map(|_| random.below(7)).collect(),
            Changes::Atomic => flags.iter_mut().for_each(|flag| *flag = random.below(7).max(*flag)),
            Changes::InBranch if random.below(2) == 0 => {
                flags = (0..THREADS).map(|_| random.below(7)).collect();
            }
            _ => {}
        }
        let mut order: Vec<u64> = (0..THREADS).collect();
        (1..THREADS as usize).for_each(|at| order.swap(at, random.below(at as u64 + 1) as usize));
        let mut counts = [0; 2];
        let mut positions = vec![0; THREADS as usize];
        for t in order {
            let count =
                &mut counts[if self.source == Source::Counter(true) { t as usize % 2 } else { 0 }];
            positions[t as usize] = *count;
            *count = (*count + amounts[t as usize]) % WRAP;
        }
        let mut before = 0;
        let mut written = Vec::new();
        for t in 0..THREADS {
            let p = match self.source {
                Source::Exclusive => before % WRAP,
                Source::Inclusive => (before + amounts[t as usize]) % WRAP,
                Source::Counter(_) => positions[t as usize],
            };
            before += amounts[t as usize];
            // A counter's phase knows what it adds; later phases read the flags again.
            let is_counter = matches!(self.source, Source::Counter(_));
            let a = match is_counter {
                true => amounts[t as usize],
                false if self.changes == Changes::Neighbour => {
                    self.amount.of(t ^ 1, flags[t as usize ^ 1])
                }
                false => self.amount.of(t, flags[t as usize]),
            };
            let s = if is_counter { 0 } else { sum };
            let number = std::num::Wrapping::<u64>;
            let [p, a, t, s] = [p, a, t, s].map(number);
            for write in writes {
                let std::num::Wrapping(at) = formula!(write.index, number, p, a, t, s);
                if write.condition.holds(p.0, a.0, t.0) && at < LEN {
                    written.push((t.0, at));
                }
            }
        }
        (written, sum)
    }

    /// The begins of the blocks' parts of a tensor.
    fn begins(self, sums: &[u64], random: &mut Random) -> Vec<u64> {
        let mut count = random.pick(&[0, 1, 2, WRAP - 3]);
        let begin = |(block, sum): (u64, &u64)| {
            let old = count % WRAP;
            match self.reserved {
                Reserved::No => return block * self.pitch.unwrap_or(0),
                Reserved::Replaced | Reserved::Nobody | Reserved::Late => return 0,
                Reserved::Sometimes if random.below(2) == 0 => return 0,
                Reserved::Apart => return random.below(3),
                Reserved::Half => count += sum / 2,
                Reserved::Twice => {
                    count += 2 * sum;
                    return (old + sum) % WRAP;
                }
                Reserved::Moved => {
                    count += sum;
                    return (old + random.below(2)) % WRAP;
                }
                _ => count += sum,
            }
            old
        };
        (0..).zip(sums).map(begin).collect()
    }
}

/// Whether two threads may write one element.
fn races(case: Case, writes: &[Write], random: &mut Random) -> bool {
    (0..TRIALS).any(|_| {
        let blocks = [0; BLOCKS as usize].map(|_| case.run(writes, random));
        let begins = case.begins(&blocks.each_ref().map(|(_, sum)| *sum), random);
        let all: Vec<(u64, u64, u64)> = (0..)
            .zip(&blocks)
            .flat_map(|(block, (written, _))| written.iter().map(move |(t, at)| (block, *t, *at)))
            .collect();
        all.iter().any(|&(block, t, at)| {
            all.iter().any(|&(other, u, with)| match case.pitch {
                None => block == other && t != u && at == with,
                Some(_) => {
                    let [begin, with_begin] =
                        [block, other].map(|block: u64| begins[block as usize]);
                    let is_same = begin + at == with_begin + with;
                    (block, t) != (other, u) && is_same && begin + at < ELEMENTS
                }
            })
        })
    })
}

/// The tensors of a kernel.
struct Tensors<'b> {
    x: TensorParam<'b>,
    y: TensorParam<'b>,
    o: TensorParam<'b>,
    count: TensorParam<'b>,
}

fn build(case: Case, writes: &[Write]) -> quadrants_ir::Kernel {
    let b = KernelBuilder::new("positions");
    let tensors = Tensors {
        x: b.param_tensor("x", U32, 1),
        y: b.param_tensor("y", F32, 1),
        o: b.param_tensor_mut("o", U32, 1),
        count: b.param_tensor_mut("count", U32, 1),
    };
    let grid = [1, BLOCKS].map(|blocks| b.constant(blocks));
    match case.is_flat {
        true => {
            b.block_for(BLOCKS, THREADS as u32, |block| block_of(&b, &tensors, block, case, writes))
        }
        false => {
            b.block_for(grid, THREADS as u32, |block| block_of(&b, &tensors, block, case, writes))
        }
    }
    b.build().unwrap()
}

/// The code of a block.
fn block_of<'b>(
    b: &'b KernelBuilder,
    &Tensors { x, y, o, count }: &Tensors<'b>,
    block: Threads<'b>,
    case: Case,
    writes: &[Write],
) {
    let index = || block.index_along(u32::from(!case.is_flat));
    let flags = block.shared("flags", U32, THREADS as u32);
    let values = block.shared("values", F32, THREADS as u32);
    let counts = block.shared("counts", U32, 2);
    let list = block.shared("list", U32, LEN as u32);
    let begin = block.shared("begin", U32, 1);
    let number = |value: u64| b.constant(value);
    let write = |[p, a, t, s]: [Value<'b>; 4]| {
        for write in writes {
            let act = || {
                let at = formula!(write.index, number, p, a, t, s);
                b.if_(at.lt(LEN), || {
                    b.race_free(|| match case.pitch {
                        None => list.store(at, 1u32),
                        Some(pitch) => {
                            let first = match case.reserved {
                                Reserved::No => index() * pitch,
                                _ => begin.load(0u64).cast(U64),
                            };
                            o.store(first + at, 1u32);
                        }
                    });
                });
            };
            match write.condition.build([p, a, t]) {
                Some(cond) => b.if_(cond, act),
                None => act(),
            }
        }
    };
    let amount = |amount: Amount, t: Value<'b>| {
        let flag = if amount.is_float() { values.load(t) } else { flags.load(t) };
        amount.build(b, t, flag)
    };
    let set = |first: Option<Value<'b>>| {
        block.each(|t| {
            let at = first.map_or(t, |first| first + t);
            flags.store(t, x.load(at));
            values.store(t, y.load(at));
        });
    };
    b.range_for(0u64, case.turns, |turn| {
        set(Some((turn * BLOCKS + index()) * THREADS));
        if let Source::Counter(two) = case.source {
            block.each(|t| b.if_(t.lt(2u64), || counts.store(t, 0u32)));
            block.each(|t| {
                let amount = b.var("amount", amount(case.amount.given(), t)).get();
                let cell = if two { t % 2u64 } else { b.constant(0u64) };
                let p = counts.atomic_add(cell, amount);
                write([p.cast(U64), amount.cast(U64), t, b.constant(0u64)]);
            });
            return;
        }
        let given = |t| amount(case.amount.given(), t);
        let sums = block.scan(ReduceOp::Add, case.source == Source::Exclusive, given);
        let total = block.reduce(ReduceOp::Add, given);
        let reserve_by = |thread: u64, cell: Value<'b>, sum: Value<'b>, times: u64| {
            block.each(|t| {
                b.if_(t.equals(thread), || {
                    (0..times).for_each(|_| begin.store(0u64, count.atomic_add(cell, sum)));
                });
            });
        };
        let reserve = |thread: u64, sum| reserve_by(thread, number(0), sum, 1);
        let change = |by: &dyn Fn(Value<'b>)| {
            block.each(|t| b.if_(t.equals(1u64), || by(x.load(index()))));
        };
        match case.reserved {
            Reserved::No | Reserved::Late => {}
            Reserved::All => reserve(0, total),
            Reserved::Last => reserve(THREADS - 1, total),
            Reserved::Nobody => reserve(THREADS, total),
            Reserved::Half => reserve(0, total / 2u32),
            Reserved::Twice => reserve_by(0, number(0), total, 2),
            Reserved::Apart => reserve_by(0, index(), total, 1),
            Reserved::Sometimes => block.each(|t| {
                b.if_(t.equals(0u64), || {
                    b.if_(x.load(index()).gt(3u32), || {
                        begin.store(0u64, count.atomic_add(0u64, total));
                    });
                });
            }),
            Reserved::Replaced => {
                reserve(0, total);
                change(&|value| begin.store(0u64, value));
            }
            Reserved::Moved => {
                reserve(0, total);
                change(&|value| {
                    begin.atomic_add(0u64, value);
                });
            }
        }
        match case.changes {
            Changes::No | Changes::Neighbour => {}
            Changes::Store => set(None),
            Changes::Atomic => block.each(|t| {
                flags.atomic_max(t, x.load(t));
                values.atomic_max(t, y.load(t));
            }),
            Changes::InBranch => b.if_(x.load(0u64).gt(3u32), || set(None)),
        }
        block.each(|t| {
            let from = if case.changes == Changes::Neighbour { t ^ 1u64 } else { t };
            let a = amount(case.amount, from).cast(U64);
            write([sums.load(t).cast(U64), a, t, total.cast(U64)]);
        });
        if case.reserved == Reserved::Late {
            reserve(0, total);
        }
    });
}

#[test]
fn accepted_positions_have_no_races() {
    let is_full = std::env::var_os("QUADRANTS_TEST_FULL").is_some_and(|value| value == "1");
    let kernels = if is_full { KERNELS } else { KERNELS / 20 };
    let (mut accepted, mut rejected, mut needless) = (0, 0, 0);
    for seed in 1..=kernels {
        let random = &mut Random::new(seed);
        let case = Case::draw(random);
        let draw = |random: &mut Random| {
            let c = random.below(2);
            let index = random.pick(&[
                Index::Position(c),
                Index::Position(0),
                Index::WithAmount,
                Index::BeforeAmount,
                Index::Twice(c),
                Index::Others,
                Index::AfterAll,
                Index::OthersAfterAll,
                Index::Thread,
            ]);
            let limit = random.pick(&[4, 8, 20]);
            let condition = random.pick(&[
                Condition::Always,
                Condition::Above(0),
                Condition::Above(0),
                Condition::Above(1),
                Condition::Nothing,
                Condition::Below(limit),
                Condition::Limited(limit),
            ]);
            Write { index, condition }
        };
        let mut writes = vec![draw(random)];
        match random.below(4) {
            0 => writes.push(draw(random)),
            1 => {
                // The two sides of a stable split.
                let zeros = Condition::Nothing;
                writes = vec![
                    Write { index: Index::Position(0), condition: Condition::Above(0) },
                    Write { index: Index::OthersAfterAll, condition: zeros },
                ];
            }
            _ => {}
        }
        let races = races(case, &writes, random);
        let mut kernel = offload(&build(case, &writes)).unwrap();
        // Only the check at launch is asked: it knows the builder's constants.
        kernel.sites.iter_mut().for_each(|site| site.asserted = false);
        let tensors = [(1, ELEMENTS), (2, ELEMENTS), (3, ELEMENTS), (4, BLOCKS)];
        let tensors = tensors.into_iter().flat_map(|(at, len)| [at << 20, len]);
        let args: Vec<u64> = [0x1000, 0x2000, 1].into_iter().chain(tensors).collect();
        let is_accepted = LaunchAnalysis::new(&kernel).race(&args).is_none();
        assert!(!(is_accepted && races), "seed {seed} races: {case:?} {writes:?}");
        accepted += u64::from(is_accepted);
        rejected += u64::from(!is_accepted);
        needless += u64::from(!is_accepted && !races);
    }
    println!("{accepted} accepted, {rejected} rejected, {needless} of them without a race");
    assert!(accepted > kernels / 10 && rejected > kernels / 10, "{accepted} {rejected}");
}
