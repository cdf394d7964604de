//! The launch cache of a kernel: the decisions of earlier launches.
//!
//! A launch decision (forms, launch configurations, interiors of the loops) depends only on the inputs of the launch
//! analysis: the extents and scalars that [`LaunchAnalysis::inputs`] names. A launch with the inputs of an earlier one
//! takes its decision from here, without a lock.

use std::sync::atomic::Ordering::Relaxed;

use quadrants_ir::{
    Offloaded,
    abi::{self, Forms},
    launch_analysis::LaunchAnalysis,
};
use quadrants_rhi::{FunctionHandle, LaunchConfig};

use super::{grid::LaunchConfigs, inline_list::Words, seqlock::Seqlock};
use crate::sync::AtomicU64;

/// Whether a launch must prove or check its accesses, or the caller promises that they are in range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Checks {
    On,
    Off,
}

/// The cached launch decisions of a kernel.
///
/// The words of a slot are: the forms, the first function, the first configuration (the head); then for each input its
/// index in the argument block and its value; the interiors; the other configurations.
pub(crate) struct LaunchCache {
    /// A stream uses the slot of its number, so that threads with streams of their own do not overwrite each other's.
    slots: [Seqlock; SLOTS],
    /// The length of an argument block without interiors, in words.
    argument_words: usize,
    /// The words of the inputs. The interiors follow in a slot after its head.
    input_words: usize,
    /// Where the configurations other than the first begin in a slot after its head.
    configs_at: usize,
    /// Whether the first configuration is the only one that a launch needs.
    single_call: bool,
}

/// A launch decision. If any task is checked, the argument block also has the interiors of the loops.
#[derive(Clone, Copy)]
pub(crate) struct LaunchDecision {
    pub(crate) forms: Forms,
    pub(crate) first: Option<LaunchConfig>,
}

/// A launch decision to be cached.
pub(crate) struct CacheableDecision {
    pub(crate) forms: Forms,
    /// The function of a kernel whose launch is a single call. Without one, nothing is launched, and the launch cache
    /// does not hold the decision.
    pub(crate) function: Option<FunctionHandle>,
    /// The interiors of the loops, 0 if all tasks are proven.
    pub(super) interiors: Box<[u64]>,
    pub(crate) configs: Box<[Option<LaunchConfig>]>,
}

impl CacheableDecision {
    /// Adds the interiors to an argument block, if a task is checked.
    #[inline(always)]
    pub(crate) fn push_interiors(&self, words: &mut Words) {
        if !self.forms.is_proven() {
            words.extend(self.interiors.iter().copied());
        }
    }
}

/// A cache entry for the inputs of a launch, read without a lock. Another thread may overwrite it at any time: what was
/// read is valid only if [`is_current`](Self::is_current) returns true afterwards.
pub(crate) struct CacheEntry<'a> {
    forms: Forms,
    cache: &'a LaunchCache,
    slot: &'a Seqlock,
    version: u64,
    head: &'a [AtomicU64; HEAD_WORDS],
    rest: &'a [AtomicU64],
}

/// The forms of the entries that a lookup accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AcceptedForms {
    /// [`Forms::NARROW`].
    Narrow,
    /// All others.
    Others,
    /// All.
    All,
}

const SLOTS: usize = 8;
/// The first word of a slot is this code, with the bits of the forms above it, exclusive-or the launch's [`Checks`].
const CODE: u64 = 2;
const FORMS_SHIFT: u32 = 2;
const _: () = assert!(Forms::BITS + FORMS_SHIFT <= u64::BITS, "a code has all forms");
const CONFIG_WORDS: usize = 4;
/// The number of words of a slot's head: the forms, the first function, the first configuration.
const HEAD_WORDS: usize = 2 + CONFIG_WORDS;

impl LaunchCache {
    /// A cache for a kernel whose launches have `configs` launch configurations. `single_call` is whether a launch is
    /// one driver call.
    pub(crate) fn new(
        kernel: &Offloaded,
        host: &LaunchAnalysis,
        configs: usize,
        single_call: bool,
    ) -> Self {
        let argument_words = abi::block_words(kernel, Forms::PROVEN);
        let input_words = 2 * host.inputs().len();
        let configs_at = input_words + abi::block_words(kernel, Forms::CHECKED) - argument_words;
        let words = HEAD_WORDS + configs_at + CONFIG_WORDS * configs.saturating_sub(1);
        let slots = std::array::from_fn(|_| Seqlock::new(words));
        Self { slots, argument_words, input_words, configs_at, single_call }
    }

    pub(super) fn interior_words(&self) -> usize {
        self.configs_at - self.input_words
    }

    /// The length of an argument block without interiors, in words.
    pub(crate) fn argument_words(&self) -> usize {
        self.argument_words
    }

    #[inline(always)]
    fn slot(&self, stream: u32) -> &Seqlock {
        &self.slots[stream as usize % SLOTS]
    }

    /// The entry for a launch with the argument block `words` on the stream with number `stream`, if its forms are
    /// `wanted`.
    #[inline(always)]
    pub(crate) fn find(
        &self,
        stream: u32,
        checks: Checks,
        wanted: AcceptedForms,
        words: &[u64],
    ) -> Option<CacheEntry<'_>> {
        let slot = self.slot(stream);
        let (version, cached) = slot.read()?;
        let (head, rest) = cached.split_first_chunk::<HEAD_WORDS>()?;
        let code = head[0].load(Relaxed) ^ checks as u64;
        let accepted = match wanted {
            AcceptedForms::Narrow => code == forms_code(Forms::NARROW),
            AcceptedForms::Others => code != forms_code(Forms::NARROW) && is_code(code),
            AcceptedForms::All => is_code(code),
        };
        if !accepted {
            return None;
        }
        let forms = match wanted {
            AcceptedForms::Narrow => Forms::NARROW,
            _ => Forms::from_bits(code >> FORMS_SHIFT),
        };
        for [index, value] in rest.get(..self.input_words)?.as_chunks::<2>().0 {
            if *words.get(index.load(Relaxed) as usize)? != value.load(Relaxed) {
                return None;
            }
        }
        Some(CacheEntry { forms, cache: self, slot, version, head, rest })
    }

    /// Caches a decision for launches on the stream with number `stream`. `inputs` has for each input of the launch
    /// analysis its index in the argument block, and its value.
    pub(super) fn write(
        &self,
        stream: u32,
        checks: Checks,
        inputs: &[u64],
        decided: &CacheableDecision,
    ) {
        let CacheableDecision { forms, function, ref interiors, ref configs } = *decided;
        let Some(function) = function else { return };
        let head = [forms_code(forms) ^ checks as u64, function.raw()];
        let first = packed(configs.first().copied().flatten());
        let others = configs.iter().skip(1).flat_map(|config| packed(*config));
        let words = head.into_iter().chain(first).chain(inputs.iter().copied());
        self.slot(stream).write(words.chain(interiors.iter().copied()).chain(others));
    }
}

impl CacheEntry<'_> {
    /// The function of a kernel whose launch is a single call.
    #[inline(always)]
    pub(crate) fn function(&self) -> FunctionHandle {
        FunctionHandle(self.head[1].load(Relaxed))
    }

    /// The decision for a kernel whose launch is a single call: its function, and its configuration in `config`. None
    /// where there is no iteration, or another thread has overwritten the entry.
    #[inline(always)]
    pub(crate) fn single_call(&self, config: &mut LaunchConfig) -> Option<FunctionHandle> {
        let function = self.function();
        // Written through the reference: a returned configuration would be copied.
        *config = self.first_config()?;
        self.is_current().then_some(function)
    }

    /// The launch configuration of the first task; none where it has no iteration.
    #[inline(always)]
    fn first_config(&self) -> Option<LaunchConfig> {
        let [_, _, config @ ..] = self.head;
        unpacked(config)
    }

    /// Whether all that was read so far is one entry, and not parts of several.
    #[inline(always)]
    fn is_current(&self) -> bool {
        self.slot.validate(self.version)
    }

    /// The whole decision, with the configurations and interiors as `KernelContext::decide` gives them. None where
    /// another thread has overwritten the entry; then `words` are unchanged.
    #[inline(always)]
    pub(crate) fn read(
        &self,
        words: &mut Words,
        configs: &mut LaunchConfigs,
    ) -> Option<LaunchDecision> {
        let first = self.first_config();
        if !self.cache.single_call {
            let others = self.rest.get(self.cache.configs_at..)?.as_chunks::<CONFIG_WORDS>().0;
            // A list that was used for the same kernel before has the length already.
            if configs.len() != 1 + others.len() {
                configs.resize(1 + others.len(), None);
            }
            let (first_config, other_configs) = configs.split_first_mut()?;
            *first_config = first;
            for (slot, packed) in other_configs.iter_mut().zip(others) {
                // One assignment per variant: a joint one would copy the configuration through the stack.
                match unpacked(packed) {
                    Some(config) => *slot = Some(config),
                    None => *slot = None,
                }
            }
        }
        if !self.forms.is_proven() {
            let LaunchCache { input_words, configs_at, .. } = *self.cache;
            push_words(words, self.rest.get(input_words..configs_at)?);
        }
        if self.is_current() {
            return Some(LaunchDecision { forms: self.forms, first });
        }
        words.truncate(self.cache.argument_words);
        None
    }
}

#[inline(never)]
fn push_words(words: &mut Words, cached: &[AtomicU64]) {
    words.extend(cached.iter().map(|word| word.load(Relaxed)));
}

const fn forms_code(forms: Forms) -> u64 {
    forms.bits() << FORMS_SHIFT | CODE
}

/// Whether a word, without the launch's [`Checks`], is a code. Words of empty slots are none.
#[inline(always)]
fn is_code(word: u64) -> bool {
    word & ((1 << FORMS_SHIFT) - 1) == CODE
}

/// Two 32-bit numbers in a word.
fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

fn packed(config: Option<LaunchConfig>) -> [u64; CONFIG_WORDS] {
    let LaunchConfig { grid_dim: grid, block_dim: block, shared_bytes } =
        config.unwrap_or(LaunchConfig::SERIAL);
    let is_some = u32::from(config.is_some());
    [
        pair(grid[0], grid[1]),
        pair(grid[2], block[0]),
        pair(block[1], block[2]),
        pair(shared_bytes, is_some),
    ]
}

#[inline(always)]
fn unpacked(config: &[AtomicU64; CONFIG_WORDS]) -> Option<LaunchConfig> {
    let [a, b, c, d] = config.each_ref().map(|word| word.load(Relaxed));
    (d >> 32 != 0).then_some(LaunchConfig {
        grid_dim: [a as u32, (a >> 32) as u32, b as u32],
        block_dim: [(b >> 32) as u32, c as u32, (c >> 32) as u32],
        shared_bytes: d as u32,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packed_shape_unpacks_to_itself() {
        let config = LaunchConfig {
            grid_dim: [u32::MAX, 2, 3],
            block_dim: [4, u32::MAX, 6],
            shared_bytes: 7,
        };
        for config in [None, Some(config), Some(LaunchConfig::SERIAL)] {
            assert_eq!(unpacked(&packed(config).map(AtomicU64::new)), config);
        }
    }
}
