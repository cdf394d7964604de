//! What is found of a launch from its numbers alone: the form, the launch shapes, the interiors of its loops. A launch
//! with the same numbers takes what was found.

use std::sync::atomic::Ordering::Relaxed;

use quadrants_ir::{
    Offloaded,
    abi::{self, Form},
    host::HostPlan,
};
use quadrants_rhi::LaunchConfig;

use crate::{
    Result,
    arg::Words,
    launcher::{Checks, KernelContext, race_error},
    plan::{LaunchShapes, Plan},
    program::Shared,
    recall::Recall,
    sync::AtomicU64,
};

/// What was found of a kernel's launches: by the stream's number, so that threads with streams of their own find
/// their own.
pub(crate) struct Verdicts {
    found: [Recall; SLOTS],
    /// How many words the arguments end at.
    arguments: usize,
    /// In the words of one, behind the form, the first shape and the numbers it was found for: where the interiors are,
    /// and the other shapes.
    inside: usize,
    others: usize,
    /// Whether the first shape is all that a launch needs.
    only: bool,
}

/// What was found.
#[derive(Clone, Copy)]
pub(crate) struct Verdict {
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

impl Verdicts {
    pub(crate) fn new(kernel: &Offloaded, host: &HostPlan, plan: &Plan) -> Self {
        let arguments = abi::block_words(kernel, Form::Proven);
        let inside = 1 + SHAPE + host.inputs().len();
        let others = inside + abi::block_words(kernel, Form::Checked) - arguments;
        let words = others + SHAPE * plan.shapes_of_a_launch().saturating_sub(1);
        let found = std::array::from_fn(|_| Recall::new(words));
        Self { found, arguments, inside, others, only: plan.is_one_call() }
    }

    /// What was found for the same numbers, of a kernel whose launch is one call that has work, with what `ready` gives
    /// of the form. In the checked form the interiors are put behind the arguments. Where there is nothing, nothing has
    /// happened.
    #[inline(always)]
    pub(crate) fn only<Ready>(
        &self,
        stream: u32,
        host: &HostPlan,
        checks: Checks,
        words: &mut Words,
        ready: impl FnOnce(Form) -> Option<Ready>,
    ) -> Option<(Form, LaunchConfig, Ready)> {
        let slot = &self.found[stream as usize % SLOTS];
        let (version, known) = slot.read()?;
        let (form, first) = same(host, checks, words.in_place()?, known)?;
        let (config, ready) = (first?, ready(form)?);
        if form == Form::Checked {
            self.put_inside(known, words);
        }
        if slot.is_still(version) {
            return Some((form, config, ready));
        }
        words.truncate(self.arguments);
        None
    }

    #[inline(never)]
    fn put_inside(&self, known: &[AtomicU64], words: &mut Words) {
        let inside = known.get(self.inside..self.others).unwrap_or_default();
        words.extend(inside.iter().map(|word| word.load(Relaxed)));
    }

    /// The verdict on a launch with these words on the stream of that number, or why it is refused; its shapes are put into
    /// `shapes`, which has none yet, where the first is not all. In the checked form the interiors of its loops are put behind the arguments.
    #[inline(always)]
    pub(crate) fn judge(
        &self,
        stream: u32,
        shared: &Shared,
        context: &KernelContext,
        checks: Checks,
        words: &mut Words,
        shapes: &mut LaunchShapes,
    ) -> Result<Verdict> {
        let slot = &self.found[stream as usize % SLOTS];
        match self.known(slot, &context.host, checks, words, shapes) {
            Some(verdict) => Ok(verdict),
            None => self.judge_anew(slot, shared, context, checks, words, shapes),
        }
    }

    /// What was found for the same numbers. Where there is nothing, `words` and `shapes` may be longer all the same.
    #[inline(always)]
    fn known(
        &self,
        slot: &Recall,
        host: &HostPlan,
        checks: Checks,
        words: &mut Words,
        shapes: &mut LaunchShapes,
    ) -> Option<Verdict> {
        let (version, known) = slot.read()?;
        let (form, first) = same(host, checks, words, known)?;
        if !self.only {
            shapes.push(first);
            let others = known.get(self.others..)?.chunks_exact(SHAPE);
            shapes.extend(others.map(unpacked));
        }
        if form == Form::Checked {
            self.put_inside(known, words);
        }
        slot.is_still(version).then_some(Verdict { form, first })
    }

    #[cold]
    fn judge_anew(
        &self,
        slot: &Recall,
        shared: &Shared,
        context: &KernelContext,
        checks: Checks,
        words: &mut Words,
        shapes: &mut LaunchShapes,
    ) -> Result<Verdict> {
        let KernelContext { kernel, host, plan, .. } = context;
        // What another thread was writing just now may have been put behind the arguments.
        words.truncate(self.arguments);
        // A loop without an end is refused for that, whatever its iterations would do to each other.
        *shapes = plan.shapes(kernel, host, words, shared)?;
        if let Some(race) = host.race(words) {
            return Err(race_error(kernel, race));
        }
        let proven =
            checks == Checks::Off || kernel.tasks().all(|(task, _)| host.prove(task, words));
        let (form, code) = if proven { (Form::Proven, PROVEN) } else { (Form::Checked, CHECKED) };
        Plan::narrow(kernel, form, shapes, shared.context.device().info().multiprocessors);
        let numbers: Vec<u64> = host.inputs().iter().map(|word| words[*word]).collect();
        let mut inside = Vec::new();
        if form == Form::Checked {
            inside = interiors(kernel, host, words);
        }
        inside.resize(self.others - self.inside, 0);
        if form == Form::Checked {
            words.extend(inside.iter().copied());
        }
        let first = shapes.first().copied().flatten();
        let others = shapes.iter().skip(1).flat_map(|shape| packed(*shape));
        let head = std::iter::once(code ^ checks as u64).chain(packed(first));
        slot.write(head.chain(numbers).chain(inside).chain(others));
        Ok(Verdict { form, first })
    }
}

/// The form and the first shape of what was found, where it was found for the same.
#[inline(always)]
fn same(
    host: &HostPlan,
    checks: Checks,
    words: &[u64],
    known: &[AtomicU64],
) -> Option<(Form, Option<LaunchConfig>)> {
    let [head, a, b, c, d, numbers @ ..] = known else { return None };
    let form = match head.load(Relaxed) ^ checks as u64 {
        PROVEN => Form::Proven,
        CHECKED => Form::Checked,
        _ => return None,
    };
    for (word, number) in host.inputs().iter().zip(numbers) {
        if words.get(*word) != Some(&number.load(Relaxed)) {
            return None;
        }
    }
    Some((form, unpacked_of([a, b, c, d])))
}

/// The interiors of all loops, as they stand in an argument block.
fn interiors(kernel: &Offloaded, host: &HostPlan, words: &[u64]) -> Vec<u64> {
    let all = host.interiors(words);
    let mut rest = &all[..];
    for (id, task) in kernel.tasks() {
        let inside = rest.split_off(..abi::inside_words(&task.kind)).unwrap_or_default();
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
fn unpacked(shape: &[AtomicU64]) -> Option<LaunchConfig> {
    let [a, b, c, d] = shape else { return None };
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
