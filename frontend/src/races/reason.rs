//! Why the race check rejects a pair of accesses, for messages.

use quadrants_ir::races::{Side, Slot, collision};

use super::{
    RaceChecker, SOLVED_SAMPLES,
    access::{Access, Task},
    common_index,
};

impl RaceChecker<'_> {
    /// Why two accesses of a loop may touch the same element, as a part of a sentence: an example, or what is not known
    /// about an index. Empty if nothing can be said.
    pub(super) fn reason(&self, at: [usize; 2], samples: &[usize], a: usize, b: usize) -> String {
        let step = samples.len().div_ceil(SOLVED_SAMPLES).max(1);
        let example = samples.iter().step_by(step).find_map(|sample| {
            let task = self.task(*sample, at);
            example(task, &task.accesses[a], &task.accesses[b])
        });
        example.unwrap_or_else(|| {
            let task = self.task(0, at);
            unknown_index(&[(task, &task.accesses[a]), (task, &task.accesses[b])])
        })
    }
}

/// Two iterations of a sample launch that touch the same element.
fn example(task: &Task, a: &Access, b: &Access) -> Option<String> {
    let names: Vec<&str> = task.names.iter().map(|name| name.trim_start_matches('_')).collect();
    if names.len() != task.dims.len() || names.iter().any(|name| name.is_empty()) {
        return None;
    }
    if a.index.iter().chain(&b.index).any(Option::is_none) {
        return None;
    }
    let in_block = task.space.in_block(&task.block_vars);
    let space = if a.phase.is_some() { &in_block } else { &task.space };
    let program = &task.steps.program;
    let side = Side { program, args: &[], space, is_counter: &|_| false };
    let (index_a, index_b) = common_index(a, b);
    let found = collision(side, a.guarded_index(&index_a), b.guarded_index(&index_b))?;
    let [first, second] = found.iterations;
    let iterations = match (&names[..], &first[..], &second[..]) {
        ([name], [first], [second]) => format!("`{name}` = {first} and `{name}` = {second}"),
        _ => {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            format!("({}) = {} and {}", names.join(", "), tuple(&first), tuple(&second))
        }
    };
    let tensor = a.tensor.split('#').next().unwrap_or_default();
    let element = match &found.element[..] {
        [at] => at.to_string(),
        element => format!("{element:?}"),
    };
    let fields: String = a.fields.iter().map(|field| format!(".{field}")).collect();
    Some(format!(": for example, {iterations} both access `{tensor}[{element}]{fields}`"))
}

fn tuple(values: &[i128]) -> String {
    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
    format!("({})", values.join(", "))
}

/// What is not known about an index of one of the accesses.
pub(super) fn unknown_index(accesses: &[(&Task, &Access)]) -> String {
    let unknown = accesses.iter().find_map(|(task, access)| {
        let index = access.index.iter().copied().collect::<Option<Vec<Slot>>>();
        let Some(index) = index else {
            return Some("an index is not an integer that is known here");
        };
        origin(task, index)
    });
    unknown.map_or_else(String::new, |unknown| format!(": {unknown}"))
}

/// The first unknown step that the slots depend on.
fn origin(task: &Task, index: Vec<Slot>) -> Option<&str> {
    let mut rest = index;
    let mut seen = vec![false; task.steps.program.steps.len()];
    while let Some(slot) = rest.pop() {
        if let Some(origin) = task.origins.get(&slot) {
            return Some(origin);
        }
        if !std::mem::replace(&mut seen[slot as usize], true) {
            rest.extend(task.steps.node(slot).operands());
        }
    }
    None
}
