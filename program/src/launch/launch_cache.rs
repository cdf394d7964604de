//! What is found of a launch from its numbers alone: the form, the launch shapes, the interiors of its loops. A launch
//! with the same numbers takes what was found.

use std::sync::atomic::Ordering::Relaxed;

use quadrants_ir::{
    Offloaded,
    abi::{self, Form},
    launch_analysis::LaunchAnalysis,
};
use quadrants_rhi::{FunctionHandle, LaunchConfig};

use crate::{
    Result,
    launch::{
        arguments::Words,
        context::KernelContext,
        errors::race_error,
        plan::{LaunchShapes, Plan},
        seqlock::Seqlock,
        submit::Checks,
    },
    program::ProgramShared,
    sync::AtomicU64,
};

/// What was found of a kernel's launches: by the stream's number, so that threads with streams of their own find
/// their own.
pub(crate) struct LaunchCache {
    found: [Seqlock; SLOTS],
    /// How many words the arguments end at.
    arguments: usize,
    /// In the words of one, behind its head: how many are the numbers it was found for, each behind its place among the
    /// arguments.
    numbers: usize,
    /// Where the interiors are, and the other shapes.
    inside: usize,
    others: usize,
    /// Whether the first shape is all that a launch needs.
    only: bool,
}

/// What was found.
#[derive(Clone, Copy)]
pub(crate) struct LaunchDecision {
    pub(crate) form: Form,
    /// The first shape.
    pub(crate) first: Option<LaunchConfig>,
}

const SLOTS: usize = 8;
/// A form, beside which the lowest bit says what was asked for.
const PROVEN: u64 = 2;
const CHECKED: u64 = 4;
/// The words of a launch shape.
const SHAPE: usize = 4;
/// The words in front: the form, the first function, the first shape.
const HEAD: usize = 2 + SHAPE;

impl LaunchCache {
    pub(crate) fn new(kernel: &Offloaded, host: &LaunchAnalysis, plan: &Plan) -> Self {
        let arguments = abi::block_words(kernel, Form::Proven);
        let numbers = 2 * host.inputs().len();
        let inside = HEAD + numbers;
        let others = inside + abi::block_words(kernel, Form::Checked) - arguments;
        let words = others + SHAPE * plan.shapes_of_a_launch().saturating_sub(1);
        let found = std::array::from_fn(|_| Seqlock::new(words));
        Self { found, arguments, numbers, inside, others, only: plan.is_one_call() }
    }

    /// What was found for the same numbers, of a kernel whose launch is one call: where that is in the proven form, and
    /// there is work, its function, and its shape.
    #[inline(always)]
    pub(crate) fn proven(
        &self,
        stream: u32,
        checks: Checks,
        words: &[u64],
        config: &mut LaunchConfig,
    ) -> Option<FunctionHandle> {
        let slot = &self.found[stream as usize % SLOTS];
        let (version, known) = slot.read()?;
        let [form, function, a, b, c, d, numbers @ ..] = known else { return None };
        if form.load(Relaxed) != PROVEN ^ checks as u64 {
            return None;
        }
        self.same(numbers, words)?;
        let function = FunctionHandle(function.load(Relaxed));
        // In its place at once: a shape is many registers.
        *config = unpacked_of([a, b, c, d])?;
        slot.validate(version).then_some(function)
    }

    /// As [`proven`](Self::proven), in the checked form: the interiors are put behind the arguments. Where there is
    /// nothing, `words` are as they were.
    #[inline(never)]
    pub(crate) fn checked(
        &self,
        stream: u32,
        checks: Checks,
        words: &mut Words,
    ) -> Option<(FunctionHandle, LaunchConfig)> {
        let slot = &self.found[stream as usize % SLOTS];
        let (version, known) = slot.read()?;
        let [form, function, a, b, c, d, numbers @ ..] = known else { return None };
        if form.load(Relaxed) != CHECKED ^ checks as u64 {
            return None;
        }
        self.same(numbers, words)?;
        let function = FunctionHandle(function.load(Relaxed));
        let config = unpacked_of([a, b, c, d])?;
        self.put_inside(known, words);
        if slot.validate(version) {
            return Some((function, config));
        }
        words.truncate(self.arguments);
        None
    }

    /// How many words the arguments end at.
    pub(crate) fn arguments(&self) -> usize {
        self.arguments
    }

    /// None where what was found was found for other numbers.
    #[inline(always)]
    fn same(&self, numbers: &[AtomicU64], words: &[u64]) -> Option<()> {
        for [place, number] in numbers.get(..self.numbers)?.as_chunks::<2>().0 {
            if *words.get(place.load(Relaxed) as usize)? != number.load(Relaxed) {
                return None;
            }
        }
        Some(())
    }

    #[inline(never)]
    fn put_inside(&self, known: &[AtomicU64], words: &mut Words) {
        let inside = known.get(self.inside..self.others).unwrap_or_default();
        words.extend(inside.iter().map(|word| word.load(Relaxed)));
    }

    /// The verdict on a launch with these words on the stream of that number, or why it is refused; its shapes are put into
    /// `shapes`, where the first is not all. In the checked form the interiors of its loops are put behind the arguments.
    #[inline(always)]
    pub(crate) fn decide(
        &self,
        stream: u32,
        shared: &ProgramShared,
        context: &KernelContext,
        checks: Checks,
        words: &mut Words,
        shapes: &mut LaunchShapes,
    ) -> Result<LaunchDecision> {
        let slot = &self.found[stream as usize % SLOTS];
        match self.known(slot, checks, words, shapes) {
            Some(verdict) => Ok(verdict),
            None => self.decide_uncached(slot, shared, context, checks, words, shapes),
        }
    }

    /// What was found for the same numbers. Where there is nothing, `words` are as they were.
    #[inline(always)]
    fn known(
        &self,
        slot: &Seqlock,
        checks: Checks,
        words: &mut Words,
        shapes: &mut LaunchShapes,
    ) -> Option<LaunchDecision> {
        let (version, known) = slot.read()?;
        let [form, _, a, b, c, d, numbers @ ..] = known else { return None };
        let form = match form.load(Relaxed) ^ checks as u64 {
            PROVEN => Form::Proven,
            CHECKED => Form::Checked,
            _ => return None,
        };
        self.same(numbers, words)?;
        let first = unpacked_of([a, b, c, d]);
        if !self.only {
            let others = known.get(self.others..)?.as_chunks::<SHAPE>().0;
            // Mostly they are as many as in the launch before.
            if shapes.len() != 1 + others.len() {
                shapes.resize(1 + others.len(), None);
            }
            let (first_place, places) = shapes.split_first_mut()?;
            *first_place = first;
            for (place, shape) in places.iter_mut().zip(others) {
                // Each for itself: else all of it goes through memory twice.
                match unpacked(shape) {
                    Some(shape) => *place = Some(shape),
                    None => *place = None,
                }
            }
        }
        if form == Form::Checked {
            self.put_inside(known, words);
        }
        if slot.validate(version) {
            return Some(LaunchDecision { form, first });
        }
        words.truncate(self.arguments);
        None
    }

    /// What was found for the same numbers, with its shapes in `shapes`. Where there is nothing, `words` are as they
    /// were.
    #[inline(always)]
    pub(crate) fn again(
        &self,
        stream: u32,
        checks: Checks,
        words: &mut Words,
        shapes: &mut LaunchShapes,
    ) -> Option<Form> {
        let slot = &self.found[stream as usize % SLOTS];
        self.known(slot, checks, words, shapes).map(|verdict| verdict.form)
    }

    #[cold]
    fn decide_uncached(
        &self,
        slot: &Seqlock,
        shared: &ProgramShared,
        context: &KernelContext,
        checks: Checks,
        words: &mut Words,
        shapes: &mut LaunchShapes,
    ) -> Result<LaunchDecision> {
        let KernelContext { kernel, host, plan, .. } = context;
        // A loop without an end is refused for that, whatever its iterations would do to each other.
        *shapes = plan.shapes(kernel, host, words, shared)?;
        if let Some(race) = host.race(words) {
            return Err(race_error(kernel, race));
        }
        let proven =
            checks == Checks::Off || kernel.tasks().all(|(task, _)| host.prove(task, words));
        let (form, code) = if proven { (Form::Proven, PROVEN) } else { (Form::Checked, CHECKED) };
        Plan::narrow(kernel, form, shapes, shared.context.device().info().multiprocessors);
        let numbers: Vec<u64> =
            host.inputs().iter().flat_map(|word| [*word as u64, words[*word]]).collect();
        let mut inside = Vec::new();
        if form == Form::Checked {
            inside = interiors(kernel, host, words);
        }
        inside.resize(self.others - self.inside, 0);
        if form == Form::Checked {
            words.extend(inside.iter().copied());
        }
        let first = shapes.first().copied().flatten();
        let function = match self.only {
            true => context.loaded(shared, form)?.only(),
            false => Some(FunctionHandle::default()),
        };
        let others = shapes.iter().skip(1).flat_map(|shape| packed(*shape));
        if let Some(function) = function {
            let head = [code ^ checks as u64, function.raw()].into_iter().chain(packed(first));
            slot.write(head.chain(numbers).chain(inside).chain(others));
        }
        Ok(LaunchDecision { form, first })
    }
}

/// The interiors of all loops, as they stand in an argument block.
fn interiors(kernel: &Offloaded, host: &LaunchAnalysis, words: &[u64]) -> Vec<u64> {
    let all = host.interiors(words);
    let mut rest = &all[..];
    for (id, task) in kernel.tasks() {
        let inside = rest.split_off(..abi::interior_words(&task.kind)).unwrap_or_default();
        if !inside.is_empty() {
            let lengths = inside.chunks_exact(2).map(|dim| dim[1].wrapping_sub(dim[0]));
            tracing::debug!(
                kernel = kernel.name,
                line = task.line,
                inside = lengths.fold(1, u64::saturating_mul),
                of = host.extents(id, words).iterations(),
                "checked"
            );
        }
    }
    all
}

/// Two numbers in a word.
fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

fn packed(shape: Option<LaunchConfig>) -> [u64; SHAPE] {
    let LaunchConfig { grid_dim: grid, block_dim: block, shared_bytes } =
        shape.unwrap_or(LaunchConfig::SERIAL);
    let there = u32::from(shape.is_some());
    [
        pair(grid[0], grid[1]),
        pair(grid[2], block[0]),
        pair(block[1], block[2]),
        pair(shared_bytes, there),
    ]
}

#[inline(always)]
fn unpacked([a, b, c, d]: &[AtomicU64; SHAPE]) -> Option<LaunchConfig> {
    unpacked_of([a, b, c, d])
}

#[inline(always)]
fn unpacked_of(shape: [&AtomicU64; SHAPE]) -> Option<LaunchConfig> {
    let [a, b, c, d] = shape.map(|word| word.load(Relaxed));
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
    fn a_shape_is_the_same_again() {
        let shape = LaunchConfig {
            grid_dim: [u32::MAX, 2, 3],
            block_dim: [4, u32::MAX, 6],
            shared_bytes: 7,
        };
        for shape in [None, Some(shape), Some(LaunchConfig::SERIAL)] {
            assert_eq!(unpacked(&packed(shape).map(AtomicU64::new)), shape);
        }
    }
}
