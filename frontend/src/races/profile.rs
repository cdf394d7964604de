//! Profiles of accesses: classes of accesses for which the race check gives the same result in every sample launch. A
//! generated kernel may have thousands of accesses; the race check compares pairs of profiles.

use std::{cell::RefCell, collections::HashMap};

use quadrants_ir::races::{Guard, NodeId};

use super::access::{AccessKind, RegionBlock};

/// The profiles of a task's accesses.
#[derive(Default)]
pub(super) struct Profiles {
    of_access: Vec<usize>,
    /// The first access of each profile.
    pub(super) first: Vec<usize>,
}

/// All properties of an access that the race check depends on.
#[derive(PartialEq, Eq, Hash)]
struct Key<'a> {
    tensor: &'a str,
    fields: &'a [String],
    kind: AccessKind,
    asserted: bool,
    is_shared: bool,
    phase: Option<u32>,
    depends_on_launch: bool,
    /// The indices and the conditions in each launch.
    launches: Vec<(&'a [Option<NodeId>], &'a [Guard])>,
}

#[derive(Default)]
pub(super) struct PairCache {
    results: RefCell<HashMap<[usize; 2], bool>>,
}

impl Profiles {
    pub(super) fn new(samples: &[Vec<RegionBlock>], [part, task]: [usize; 2]) -> Self {
        let mut numbers = HashMap::new();
        let mut profiles = Self::default();
        let accesses = samples.first().map_or(0, |parts| parts[part].tasks[task].accesses.len());
        for at in 0..accesses {
            let key = key(samples, [part, task], at);
            let next = profiles.first.len();
            let number = *numbers.entry(key).or_insert(next);
            if number == next {
                profiles.first.push(at);
            }
            profiles.of_access.push(number);
        }
        profiles
    }
}

impl PairCache {
    /// The cached result for the profiles of two accesses; calls `check` if there is none.
    pub(super) fn provable(
        &self,
        profiles: [&Profiles; 2],
        [a, b]: [usize; 2],
        check: impl FnOnce() -> bool,
    ) -> bool {
        let pair = [profiles[0].of_access[a], profiles[1].of_access[b]];
        if let Some(provable) = self.results.borrow().get(&pair) {
            return *provable;
        }
        let provable = check();
        self.results.borrow_mut().insert(pair, provable);
        provable
    }
}

fn key(samples: &[Vec<RegionBlock>], [part, task]: [usize; 2], at: usize) -> Key<'_> {
    let all = samples.iter().map(|parts| &parts[part].tasks[task].accesses[at]);
    let first = &samples[0][part].tasks[task].accesses[at];
    Key {
        tensor: &first.tensor,
        fields: &first.fields,
        kind: first.kind,
        asserted: first.asserted,
        is_shared: first.is_shared,
        phase: first.phase,
        depends_on_launch: first.depends_on_launch,
        launches: all.map(|access| (&access.index[..], &access.guards[..])).collect(),
    }
}
