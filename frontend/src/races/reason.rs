//! Why the race check rejects a pair of accesses, for messages.

use std::cell::Cell;

use quadrants_ir::{
    DivRemOp,
    races::{
        LoopContext, MAX_WORK, NodeId, Uniformity, ValueGraph, ValueNode, VarSpace, collision,
        common_element, obstacle,
    },
};

use super::{
    RaceChecker, SOLVED_SAMPLES,
    access::{SampledAccess, SampledAccessKind, SampledTask},
    common_index, spaces,
};

const UNPROVEN: &str = ": the race check cannot prove that they access different elements";

impl RaceChecker<'_> {
    /// Why two accesses of a loop may touch the same element, as a part of a sentence: an example, or what prevents the
    /// proof.
    pub(super) fn reason(&self, at: [usize; 2], samples: &[usize], a: usize, b: usize) -> String {
        let step = samples.len().div_ceil(SOLVED_SAMPLES).max(1);
        let example = samples.iter().step_by(step).find_map(|sample| {
            let task = self.task(*sample, at);
            example(task, &task.accesses[a], &task.accesses[b])
        });
        example.unwrap_or_else(|| {
            let task = self.task(0, at);
            let both = [(at, &task.accesses[a]), (at, &task.accesses[b])];
            self.unknown_index(&both).unwrap_or_else(|| UNPROVEN.to_owned())
        })
    }

    /// Why accesses of two blocks may touch the same element.
    pub(super) fn block_reason(&self, at: [[usize; 2]; 2], a: usize, b: usize) -> String {
        let tasks = at.map(|at| self.task(0, at));
        let (first, second) = (&tasks[0].accesses[a], &tasks[1].accesses[b]);
        let is_known = |access: &SampledAccess| access.index.iter().all(Option::is_some);
        if is_known(first) && is_known(second) && first.index.len() == second.index.len() {
            let budget = Cell::new(MAX_WORK);
            let contexts = tasks.map(|task| LoopContext {
                graph: &task.builder.graph,
                args: &[],
                space: &task.space,
                is_counter: &|_| false,
                budget: &budget,
            });
            let (index_a, index_b) = common_index(first, second);
            let found = common_element(
                contexts,
                first.conditional_access(&index_a),
                second.conditional_access(&index_b),
            );
            if let Some(element) = found {
                return format!(": for example, both access `{}`", element_text(second, &element));
            }
        }
        self.unknown_index(&[(at[1], second), (at[0], first)])
            .unwrap_or_else(|| UNPROVEN.to_owned())
    }

    /// What is not known about an index of one of the accesses, or not followed.
    pub(super) fn unknown_index(
        &self,
        accesses: &[([usize; 2], &SampledAccess)],
    ) -> Option<String> {
        let each = || accesses.iter().map(|&(at, access)| (at, self.task(0, at), access));
        let index = |access: &SampledAccess| {
            access.index.iter().copied().flatten().collect::<Vec<NodeId>>()
        };
        let unknown =
            || each().find_map(|(_, task, access)| Some(origin(task, index(access))?.to_owned()));
        let ticket = || {
            let of = each().filter_map(|(at, task, access)| self.counter(at, task, &index(access)));
            let of: Vec<_> = of.collect();
            self.tickets(&of)
        };
        let in_index = || each().find_map(|(_, task, access)| not_followed(task, &index(access)));
        let in_guards = || {
            each().find_map(|(_, task, access)| {
                let conditions: Vec<NodeId> =
                    access.conditions.iter().map(|condition| condition.node).collect();
                not_followed(task, &conditions)
            })
        };
        let what = ticket()
            .or_else(unknown)
            .or_else(|| in_index().map(|what| format!("an index depends on {what}")))
            .or_else(|| in_guards().map(|what| format!("a condition depends on {what}")))?;
        Some(format!(": {what}"))
    }

    /// The first counter of whose tickets one an index depends on.
    fn counter<'t>(
        &self,
        at: [usize; 2],
        task: &'t SampledTask,
        index: &[NodeId],
    ) -> Option<Tickets<'t>> {
        let graph = &task.builder.graph;
        let reached = graph.reached(index);
        let mut nodes = graph.nodes.iter().zip(&reached).filter(|(_, reached)| **reached);
        let counter = nodes.find_map(|(node, _)| match node {
            ValueNode::Ticket { counter, .. } => Some(*counter),
            _ => None,
        })?;
        let cell = &graph.counters[counter].cell;
        let is_one = cell.iter().all(|id| task.builder.uniformity(*id) == Uniformity::Loop);
        let is_part = cell.iter().all(|id| index.contains(id));
        let line = self.not_a_count(at, 0, counter).map(|other| other.span.line);
        let is_of_block = graph.counters[counter].source.is_of_block();
        let is_separate = is_one || is_part;
        let long_loop = task.long_loops[counter];
        Some(Tickets { counter: &task.cells[counter], line, long_loop, is_separate, is_of_block })
    }

    /// Why the tickets that the indices of one or two accesses depend on prove nothing.
    fn tickets(&self, of: &[Tickets<'_>]) -> Option<String> {
        let first = of.first()?;
        let text = first.counter;
        if let Some((other, line)) = of.iter().find_map(|one| Some((one.counter, one.line?))) {
            return Some(format!(
                "the values that `atomic_add` on `{other}` returns (tickets) may repeat, because the loop also accesses it \
                 otherwise (line {line})"
            ));
        }
        if let Some((other, line)) = of.iter().find_map(|one| Some((one.counter, one.long_loop?))) {
            return Some(format!(
                "the length of the loop at line {line} is read from memory and has no limit, and the values that \
                 `atomic_add` on `{other}` returns (tickets), a counter of 32 bits, repeat after 2^32; take a tensor of `u64` for the counter, or limit \
                 the loop, as `begin..end.min(begin + 64)`"
            ));
        }
        if let [_, second] = of
            && second.counter != text
        {
            let other = second.counter;
            return Some(format!(
                "the values that `atomic_add` on different counters returns (tickets), `{text}` and `{other}`, may be equal"
            ));
        }
        if !first.is_separate {
            return Some(format!(
                "the values that `atomic_add` on different counters `{text}` returns (tickets) may be equal, and the counter's index is not part of the \
                 list's index, as the `c` of `count[c]` is in `list[[c, at]]`"
            ));
        }
        let place = match first.is_of_block {
            true => " in one block and phase, and may be equal in two blocks",
            false => "",
        };
        Some(format!(
            "the values that `atomic_add` on `{text}` returns (tickets) differ from each other by the amount that is added{place}, and nothing else is known \
             of them: an index must be the ticket, or the ticket plus less than that amount"
        ))
    }

    /// The advice for a loop over time steps around a loop that should be parallel: the access is in an inner loop and
    /// touches the same elements in each iteration of the parallel one.
    pub(super) fn time_loop_advice(&self, at: [usize; 2], access: usize) -> Option<String> {
        let task = self.task(0, at);
        let [name] = &task.names[..] else { return None };
        let index = |task: &SampledTask| -> Option<Vec<NodeId>> {
            task.accesses[access].index.iter().copied().collect()
        };
        // A factor of the step may be zero in a sample.
        let of_step = (0..self.samples.len()).any(|sample| {
            let task = self.task(sample, at);
            index(task).is_none_or(|index| depends_on_step(&task.builder.graph, &index))
        });
        let graph = &task.builder.graph;
        let reached = graph.reached(&index(task)?);
        let nodes = || graph.nodes.iter().zip(&reached).filter(|(_, reached)| **reached);
        // Bounds that are read from a tensor, as the offsets of rows, differ between iterations.
        let of_data = |node: &ValueNode| {
            matches!(node, ValueNode::Unknown { uniformity: Uniformity::Iteration, .. })
        };
        let of_step = of_step || nodes().any(|(node, _)| of_data(node));
        let in_inner_loop = nodes().any(|(node, _)| matches!(node, ValueNode::Inner { .. }));
        (in_inner_loop && !of_step).then(|| {
            let of = match name.trim_start_matches('_') {
                "" => String::new(),
                name => format!(" of `{name}`"),
            };
            format!(
                "if each iteration{of} needs the results of the one before, launch the kernel once per step \
                 (`capture` makes that cheap) or mark this loop `#[qd::serial]`"
            )
        })
    }

    /// The advice for two writes by tickets of one counter: an iteration reserves too few elements.
    pub(super) fn ticket_advice(
        &self,
        task: &SampledTask,
        here: &SampledAccess,
        other: &SampledAccess,
    ) -> Option<String> {
        let are_writes = [here, other].iter().all(|access| access.kind == SampledAccessKind::Write);
        let counters = [here, other].map(|access| {
            let index: Vec<NodeId> = access.index.iter().copied().flatten().collect();
            let reached = task.builder.graph.reached(&index);
            let mut nodes = task.builder.graph.nodes.iter().zip(reached);
            nodes.find_map(|(node, reached)| match node {
                ValueNode::Ticket { counter, .. } if reached => Some(*counter),
                _ => None,
            })
        });
        let counter = counters[0].filter(|_| are_writes && counters[0] == counters[1])?;
        let cell = &task.cells[counter];
        Some(format!(
            "add to `{cell}` as many as an iteration writes, so that the value that `atomic_add` returns (its ticket) reserves all of these elements"
        ))
    }

    /// Whether an index of an access depends on a ticket.
    pub(super) fn is_by_ticket(&self, task: &SampledTask, access: &SampledAccess) -> bool {
        let index: Vec<NodeId> = access.index.iter().copied().flatten().collect();
        let reached = task.builder.graph.reached(&index);
        let mut nodes = task.builder.graph.nodes.iter().zip(&reached);
        nodes.any(|(node, reached)| *reached && matches!(node, ValueNode::Ticket { .. }))
    }
}

/// Whether nodes depend on a variable of the parallel loop other than by a remainder, as of double buffers `t % 2`.
fn depends_on_step(graph: &ValueGraph, ids: &[NodeId]) -> bool {
    let mut seen = vec![false; graph.nodes.len()];
    let mut rest = ids.to_vec();
    while let Some(id) = rest.pop() {
        match graph.nodes[id as usize] {
            _ if std::mem::replace(&mut seen[id as usize], true) => {}
            ValueNode::Var(_) => return true,
            ValueNode::DivRem(DivRemOp::Rem, ..) => {}
            node => rest.extend(node.operands()),
        }
    }
    false
}

/// The counter of a ticket that an index depends on.
struct Tickets<'a> {
    /// Its text.
    counter: &'a str,
    /// The line of an access to it that is no atomic addition.
    line: Option<u32>,
    /// The line of a loop whose length has no limit, if the counter has 32 bits.
    long_loop: Option<u32>,
    /// Whether all tickets are of one element, or its index is part of the index.
    is_separate: bool,
    /// Whether each block has its own counter.
    is_of_block: bool,
}

/// Two iterations of a sample launch that touch the same element.
fn example(task: &SampledTask, a: &SampledAccess, b: &SampledAccess) -> Option<String> {
    let names = iteration_names(task);
    if names.len() != task.dims.len() || names.iter().any(|name| name.is_empty()) {
        return None;
    }
    if a.index.iter().chain(&b.index).any(Option::is_none) {
        return None;
    }
    let example = |space: &VarSpace| example_in(space, task, a, b, &names);
    spaces(&task.space, task, a, b).iter().find_map(example)
}

fn example_in(
    space: &VarSpace,
    task: &SampledTask,
    a: &SampledAccess,
    b: &SampledAccess,
    names: &[String],
) -> Option<String> {
    let graph = &task.builder.graph;
    let budget = Cell::new(MAX_WORK);
    let context = LoopContext { graph, args: &[], space, is_counter: &|_| false, budget: &budget };
    let (index_a, index_b) = common_index(a, b);
    let found = collision(context, a.conditional_access(&index_a), b.conditional_access(&index_b))?;
    let [first, second] = found.iterations;
    let iterations = match (names, &first[..], &second[..]) {
        ([name], [first], [second]) => format!("`{name}` = {first} and `{name}` = {second}"),
        _ => {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            format!("({}) = {} and {}", names.join(", "), tuple(&first), tuple(&second))
        }
    };
    Some(format!(": for example, {iterations} both access `{}`", element_text(a, &found.element)))
}

/// The names of the parallel variables.
fn iteration_names(task: &SampledTask) -> Vec<String> {
    let mut names: Vec<String> =
        task.names.iter().map(|name| name.trim_start_matches('_').to_owned()).collect();
    let grid = task.builder.block_vars;
    if grid > 1 && !names.is_empty() {
        let block = names.remove(0);
        names.splice(0..0, (0..grid).map(|axis| format!("{block}.index()[{axis}]")));
    }
    names
}

/// `t[3]`, `t[[1, 2]].field`
fn element_text(access: &SampledAccess, element: &[i128]) -> String {
    let tensor = access.tensor.split('#').next().unwrap_or_default();
    let element = match element {
        [at] => at.to_string(),
        element => format!("{element:?}"),
    };
    let fields: String = access.fields.iter().map(|field| format!(".{field}")).collect();
    format!("{tensor}[{element}]{fields}")
}

fn tuple(values: &[i128]) -> String {
    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
    format!("({})", values.join(", "))
}

/// The first operation that nodes depend on and that the race check does not follow in all cases.
fn not_followed(task: &SampledTask, ids: &[NodeId]) -> Option<String> {
    let (id, obstacle) = obstacle(&task.builder.graph, ids)?;
    let text = task.texts.get(&id)?;
    Some(format!("`{text}`, {obstacle}, which the race check does not follow in all cases"))
}

/// The first unknown node that these depend on.
fn origin(task: &SampledTask, index: Vec<NodeId>) -> Option<&str> {
    let mut rest = index;
    let mut seen = vec![false; task.builder.graph.nodes.len()];
    while let Some(id) = rest.pop() {
        if let Some(origin) = task.origins.get(&id) {
            return Some(origin);
        }
        if !std::mem::replace(&mut seen[id as usize], true) {
            rest.extend(task.builder.node(id).operands());
        }
    }
    None
}
