//! Profiles of accesses: classes of accesses for which the race check gives the same result in every sample launch. A
//! generated kernel may have thousands of accesses; the race check compares pairs of profiles.

use std::{cell::RefCell, collections::HashMap};

use quadrants_ir::races::AffineForm;

use super::{
    access::{Access, AccessKind, Part},
    value::Value,
};

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
    /// Set if an index is more than a form: the access has its own profile.
    alone: Option<usize>,
    tensor: &'a str,
    fields: &'a [String],
    kind: AccessKind,
    asserted: bool,
    phase: Option<u32>,
    /// The forms and the pins in each launch.
    launches: Vec<Indices<'a>>,
}

/// The forms of an access's indices, and its pins.
type Indices<'a> = (&'a [Option<AffineForm>], &'a [(usize, i128)]);

#[derive(Default)]
pub(super) struct PairCache {
    results: RefCell<HashMap<[usize; 2], bool>>,
}

impl Profiles {
    pub(super) fn new(samples: &[Vec<Part>], [part, task]: [usize; 2]) -> Self {
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

fn key(samples: &[Vec<Part>], [part, task]: [usize; 2], at: usize) -> Key<'_> {
    let all = samples.iter().map(|parts| &parts[part].tasks[task].accesses[at]);
    let plain = |access: &Access| {
        access
            .index
            .iter()
            .all(|value| matches!(value, Value::AffineForm(_) | Value::Fixed(_) | Value::Data))
    };
    let first = &samples[0][part].tasks[task].accesses[at];
    Key {
        alone: (!all.clone().all(plain)).then_some(at),
        tensor: &first.tensor,
        fields: &first.fields,
        kind: first.kind,
        asserted: first.asserted,
        phase: first.phase,
        launches: all.map(|access| (&access.forms[..], &access.pins[..])).collect(),
    }
}
