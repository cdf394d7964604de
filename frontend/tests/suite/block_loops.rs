//! Property tests of the race check in thread blocks: random loops around phases, whose strides depend on the turn.
//!
//! A kernel that is accepted at launch has no two threads that access one element, one of them writing, unless they are
//! of one block and a barrier is between the accesses.

use quadrants_frontend::builder::{KernelBuilder, Value};
use quadrants_ir::{ScalarType::U32, launch_analysis::LaunchAnalysis, offload};

use crate::races::Random;

/// The number of kernels with `QUADRANTS_TEST_FULL=1`, otherwise a twentieth of it.
const KERNELS: u64 = 2_000;
const THREADS: u64 = 16;
const LEN: u64 = 64;

/// The stride of a turn.
#[derive(Clone, Copy, Debug)]
enum Stride {
    /// `1 << turn`
    Up,
    /// `16 >> turn`
    Down,
    /// `turn + 1`
    Next,
}

/// An index made of the thread, the stride `d` and a small number.
#[derive(Clone, Copy, Debug)]
enum Index {
    Times(u64),
    Plus(u64),
    Spread(u64),
    Quotient(u64),
    Xor,
    Right,
    Left,
}

/// The condition of an access.
#[derive(Clone, Copy, Debug)]
enum Condition {
    Always,
    Below(u64),
    Multiple,
    BelowStride,
    BitIsClear,
    IsLower,
}

#[derive(Clone, Copy, Debug)]
struct Access {
    index: Index,
    condition: Condition,
    writes: bool,
}

/// A formula of the thread and the stride, over numbers or values of the builder.
macro_rules! formula {
    ($what:expr, $t:ident, $d:ident) => {
        match $what {
            Index::Times(c) => $t * $d + c,
            Index::Plus(c) => $t + $d * c,
            Index::Spread(c) => (($t - ($t & ($d - 1u64))) << 1u64) + ($t & ($d - 1u64)) + $d * c,
            Index::Quotient(c) => $t / $d * $d * 2u64 + $t % $d + $d * c,
            Index::Xor => $t ^ $d,
            Index::Right => $d * 2u64 * ($t + 1u64) - 1u64,
            Index::Left => $d * 2u64 * $t + $d - 1u64,
        }
    };
}

impl Stride {
    fn of_turn(self, turn: u64) -> u64 {
        match self {
            Self::Up => 1 << turn,
            Self::Down => 16 >> turn,
            Self::Next => turn + 1,
        }
    }

    fn build<'b>(self, b: &'b KernelBuilder, turn: Value<'b>) -> Value<'b> {
        match self {
            Self::Up => b.constant(1u64) << turn,
            Self::Down => b.constant(16u64) >> turn,
            Self::Next => turn + 1u64,
        }
    }
}

impl Condition {
    fn holds(self, t: u64, d: u64) -> bool {
        match self {
            Self::Always => true,
            Self::Below(most) => t < most / d,
            Self::Multiple => t.is_multiple_of(d * 2),
            Self::BelowStride => t < d,
            Self::BitIsClear => t & d == 0,
            Self::IsLower => t ^ d > t,
        }
    }

    fn build<'b>(self, b: &'b KernelBuilder, t: Value<'b>, d: Value<'b>) -> Option<Value<'b>> {
        Some(match self {
            Self::Always => return None,
            Self::Below(most) => t.lt(b.constant(most) / d),
            Self::Multiple => (t % (d * 2u64)).equals(0u64),
            Self::BelowStride => t.lt(d),
            Self::BitIsClear => (t & d).equals(0u64),
            Self::IsLower => (t ^ d).gt(t),
        })
    }
}

impl Access {
    fn draw(random: &mut Random, writes: bool) -> Self {
        let c = random.below(3);
        let index = random.pick(&[
            Index::Times(c),
            Index::Plus(c),
            Index::Spread(c),
            Index::Quotient(c),
            Index::Xor,
            Index::Right,
            Index::Left,
        ]);
        let most = random.pick(&[8, 16, 32]);
        let condition = random.pick(&[
            Condition::Always,
            Condition::Below(most),
            Condition::Multiple,
            Condition::BelowStride,
            Condition::BitIsClear,
            Condition::IsLower,
        ]);
        Self { index, condition, writes }
    }

    /// The element that a thread accesses, if it accesses one.
    fn element(self, t: u64, d: u64) -> Option<u64> {
        let at = formula!(self.index, t, d);
        (self.condition.holds(t, d) && at < LEN).then_some(at)
    }
}

/// Whether two threads conflict in a turn with stride `d`.
fn conflict(accesses: &[Access], d: u64) -> bool {
    let all = (0..THREADS).flat_map(|t| {
        let of_thread = move |access: &Access| Some((t, access.element(t, d)?, access.writes));
        accesses.iter().filter_map(of_thread)
    });
    let all: Vec<_> = all.collect();
    all.iter().any(|a| all.iter().any(|b| a.0 != b.0 && a.1 == b.1 && (a.2 || b.2)))
}

#[test]
fn accepted_turns_have_no_races() {
    let is_full = std::env::var_os("QUADRANTS_TEST_FULL").is_some_and(|value| value == "1");
    let kernels = if is_full { KERNELS } else { KERNELS / 20 };
    let (mut accepted, mut rejected, mut needless) = (0, 0, 0);
    for seed in 1..=kernels {
        let random = &mut Random::new(seed);
        let stride = random.pick(&[Stride::Up, Stride::Down, Stride::Next]);
        let turns = 1 + random.below(5);
        let mut accesses = vec![Access::draw(random, true)];
        if random.below(2) == 0 {
            let writes = random.below(2) == 0;
            let mut second = Access::draw(random, writes);
            if random.below(2) == 0 {
                second.condition = accesses[0].condition;
            }
            accesses.push(second);
        }
        let b = KernelBuilder::new("turns");
        b.block_for(4u64, THREADS as u32, |block| {
            let s = block.shared("s", U32, LEN as u32);
            b.range_for(0u64, turns, |turn| {
                let d = stride.build(&b, turn);
                block.each(|t| {
                    for access in &accesses {
                        let act = || {
                            let at = formula!(access.index, t, d);
                            b.race_free(|| match access.writes {
                                true => s.store(at, 1u32),
                                false => drop(b.var("v", s.load(at))),
                            });
                        };
                        match access.condition.build(&b, t, d) {
                            Some(cond) => b.if_(cond, act),
                            None => act(),
                        }
                    }
                });
            });
        });
        let races = (0..turns).any(|turn| conflict(&accesses, stride.of_turn(turn)));
        let mut kernel = offload(&b.build().unwrap()).unwrap();
        // Only the check at launch is asked: it knows the builder's constants.
        kernel.sites.iter_mut().for_each(|site| site.asserted = false);
        let is_accepted = LaunchAnalysis::new(&kernel).race(&[0x1000, 0x2000, 1]).is_none();
        assert!(!(is_accepted && races), "seed {seed} races: {stride:?} {turns} {accesses:?}");
        accepted += u64::from(is_accepted);
        rejected += u64::from(!is_accepted);
        needless += u64::from(!is_accepted && !races);
    }
    println!("{accepted} accepted, {rejected} rejected, {needless} of them without a race");
    assert!(accepted > kernels / 10 && rejected > kernels / 10, "{accepted} {rejected}");
}

/// Accesses to a tensor in two phases of each turn, in a part of the tensor that depends on the block.
#[test]
fn accepted_phases_on_tensors_have_no_races() {
    const BLOCKS: u64 = 3;
    let is_full = std::env::var_os("QUADRANTS_TEST_FULL").is_some_and(|value| value == "1");
    let kernels = if is_full { KERNELS } else { KERNELS / 20 };
    let (mut accepted, mut rejected, mut needless) = (0, 0, 0);
    for seed in 1..=kernels {
        let random = &mut Random::new(seed + 77_000);
        let stride = random.pick(&[Stride::Up, Stride::Down, Stride::Next]);
        let (turns, pitch) = (1 + random.below(3), random.pick(&[LEN, LEN, LEN, 32, 20, 0]));
        let mut phases = [Vec::new(), Vec::new()];
        for at in 0..1 + random.below(3) as usize {
            let writes = at == 0 || random.below(2) == 0;
            phases[random.below(2) as usize].push(Access::draw(random, writes));
        }
        let b = KernelBuilder::new("phases");
        let x = b.param_tensor_mut("x", U32, 1);
        b.block_for(BLOCKS, THREADS as u32, |block| {
            b.range_for(0u64, turns, |turn| {
                let d = stride.build(&b, turn);
                for phase in &phases {
                    block.each(|t| {
                        for access in phase {
                            let act = || {
                                let at = formula!(access.index, t, d);
                                let inside = || {
                                    let at = block.index() * pitch + at;
                                    b.race_free(|| match access.writes {
                                        true => x.store(at, 1u32),
                                        false => drop(b.var("v", x.load(at))),
                                    });
                                };
                                b.if_(at.lt(LEN), inside);
                            };
                            match access.condition.build(&b, t, d) {
                                Some(cond) => b.if_(cond, act),
                                None => act(),
                            }
                        }
                    });
                }
            });
        });
        // The block, thread, turn and phase of each access, the element, and whether it is written.
        let mut all = Vec::new();
        for (block, turn, t) in (0..BLOCKS)
            .flat_map(|block| (0..turns).map(move |turn| (block, turn)))
            .flat_map(|(block, turn)| (0..THREADS).map(move |t| (block, turn, t)))
        {
            for (phase, accesses) in phases.iter().enumerate() {
                for access in accesses {
                    if let Some(at) = access.element(t, stride.of_turn(turn)) {
                        all.push((
                            block,
                            [turn, phase as u64],
                            t,
                            block * pitch + at,
                            access.writes,
                        ));
                    }
                }
            }
        }
        let races = all.iter().any(|a| {
            all.iter().any(|b| {
                let unordered = a.0 != b.0 || a.1 == b.1 && a.2 != b.2;
                unordered && a.3 == b.3 && (a.4 || b.4)
            })
        });
        let mut kernel = offload(&b.build().unwrap()).unwrap();
        kernel.sites.iter_mut().for_each(|site| site.asserted = false);
        let len = BLOCKS * LEN;
        let args = [0x1000, 0x2000, 1, 0x10_0000, len];
        let is_accepted = LaunchAnalysis::new(&kernel).race(&args).is_none();
        assert!(
            !(is_accepted && races),
            "seed {seed} races: {stride:?} {turns} {pitch} {phases:?}"
        );
        accepted += u64::from(is_accepted);
        rejected += u64::from(!is_accepted);
        needless += u64::from(!is_accepted && !races);
    }
    println!("{accepted} accepted, {rejected} rejected, {needless} of them without a race");
    assert!(accepted > kernels / 10 && rejected > kernels / 10, "{accepted} {rejected}");
}
