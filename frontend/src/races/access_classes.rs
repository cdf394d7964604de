//! Access classes: sets of accesses for which the race check gives the same result in every sample launch. A
//! generated kernel may have thousands of accesses; the race check compares pairs of classes.

use std::{cell::RefCell, collections::HashMap};

use quadrants_ir::races::{Condition, NodeId};

use super::access::{SampledAccessKind, SampledRegionBlock};

/// The classes of a task's accesses.
#[derive(Default)]
pub(super) struct AccessClasses {
    of_access: Vec<usize>,
    /// The first access of each class.
    pub(super) first: Vec<usize>,
}

/// All properties of an access that the race check depends on.
#[derive(PartialEq, Eq, Hash)]
struct ClassKey<'a> {
    tensor: &'a str,
    fields: &'a [String],
    kind: SampledAccessKind,
    asserted: bool,
    is_shared: bool,
    phase: Option<u32>,
    depends_on_launch: bool,
    /// The indices and the conditions in each launch.
    launches: Vec<(&'a [Option<NodeId>], &'a [Condition])>,
}

#[derive(Default)]
pub(super) struct PairCache {
    results: RefCell<HashMap<[usize; 2], bool>>,
}

impl AccessClasses {
    pub(super) fn new(
        samples: &[Vec<SampledRegionBlock>],
        [region_block, task]: [usize; 2],
    ) -> Self {
        let mut numbers = HashMap::new();
        let mut classes = Self::default();
        let accesses = samples
            .first()
            .map_or(0, |region_blocks| region_blocks[region_block].tasks[task].accesses.len());
        for at in 0..accesses {
            let key = class_key(samples, [region_block, task], at);
            let next = classes.first.len();
            let number = *numbers.entry(key).or_insert(next);
            if number == next {
                classes.first.push(at);
            }
            classes.of_access.push(number);
        }
        classes
    }
}

impl PairCache {
    /// The cached result for the classes of two accesses; calls `check` if there is none.
    pub(super) fn provable(
        &self,
        classes: [&AccessClasses; 2],
        [a, b]: [usize; 2],
        check: impl FnOnce() -> bool,
    ) -> bool {
        let pair = [classes[0].of_access[a], classes[1].of_access[b]];
        if let Some(provable) = self.results.borrow().get(&pair) {
            return *provable;
        }
        let provable = check();
        self.results.borrow_mut().insert(pair, provable);
        provable
    }
}

fn class_key(
    samples: &[Vec<SampledRegionBlock>],
    [region_block, task]: [usize; 2],
    at: usize,
) -> ClassKey<'_> {
    let all =
        samples.iter().map(|region_blocks| &region_blocks[region_block].tasks[task].accesses[at]);
    let first = &samples[0][region_block].tasks[task].accesses[at];
    ClassKey {
        tensor: &first.tensor,
        fields: &first.fields,
        kind: first.kind,
        asserted: first.asserted,
        is_shared: first.is_shared,
        phase: first.phase,
        depends_on_launch: first.depends_on_launch,
        launches: all.map(|access| (&access.index[..], &access.conditions[..])).collect(),
    }
}
