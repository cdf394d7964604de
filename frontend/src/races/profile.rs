//! Accesses that are alike in every made-up launch. A kernel that is made by a program may have thousands of accesses; what
//! is judged are pairs of those that differ.

use std::{cell::RefCell, collections::HashMap};

use quadrants_ir::races::AffineForm;

use super::{
    access::{Access, AccessKind, Part},
    value::Value,
};

/// The profile of each access of a task: a number that accesses have in common whose judgement is the same.
#[derive(Default)]
pub(super) struct Profiles {
    of: Vec<usize>,
    /// The first access of each profile.
    pub(super) first: Vec<usize>,
}

/// All that a judgement of an access depends on.
#[derive(PartialEq, Eq, Hash)]
struct Key<'a> {
    /// Apart from all others, where an index is more than a form.
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

/// What was judged of two profiles.
#[derive(Default)]
pub(super) struct Judged {
    known: RefCell<HashMap<[usize; 2], bool>>,
}

impl Profiles {
    pub(super) fn new(samples: &[Vec<Part>], [part, task]: [usize; 2]) -> Self {
        let mut known = HashMap::new();
        let mut profiles = Self::default();
        let accesses = samples.first().map_or(0, |of| of[part].tasks[task].accesses.len());
        for at in 0..accesses {
            let key = key(samples, [part, task], at);
            let next = profiles.first.len();
            let number = *known.entry(key).or_insert(next);
            if number == next {
                profiles.first.push(at);
            }
            profiles.of.push(number);
        }
        profiles
    }
}

impl Judged {
    /// Whether two accesses are fine, which `judge` says where it is not known of their profiles.
    pub(super) fn is_fine(
        &self,
        of: [&Profiles; 2],
        [a, b]: [usize; 2],
        judge: impl FnOnce() -> bool,
    ) -> bool {
        let pair = [of[0].of[a], of[1].of[b]];
        if let Some(fine) = self.known.borrow().get(&pair) {
            return *fine;
        }
        let fine = judge();
        self.known.borrow_mut().insert(pair, fine);
        fine
    }
}

fn key(samples: &[Vec<Part>], [part, task]: [usize; 2], at: usize) -> Key<'_> {
    let all = samples.iter().map(|of| &of[part].tasks[task].accesses[at]);
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
        launches: all.map(|access| (access.forms(), &access.pins[..])).collect(),
    }
}
