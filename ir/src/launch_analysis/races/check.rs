//! The race check of a kernel: what is kept of its tasks, and the evaluation in a launch.

use std::cell::Cell;

use smallvec::SmallVec;

use super::cause::{Cause, Origins};
use crate::{
    Array, LocalId, ParamId, RegionBlockId, ScalarType, SiteId, TaskId,
    extents::Extents,
    races::{
        AffineForm, AffineForms, Bound, Collision, Condition, ConditionalAccess, Index, IntType,
        LoopContext, MAX_VARS, MAX_WORK, NodeId, TicketSource, Uniformity, ValueGraph, ValueNode,
        Var, VarKind, VarSpace, collision, difference, disjoint, disjoint_in_loop, exact_range,
        int_range, is_bounded, range_of, refuted_between, refuted_in_loop,
    },
};

/// The bounds of a task's loop in the launch.
type ExtentsOf<'a> = &'a dyn Fn(TaskId) -> Extents;

/// A race: two accesses that may touch the same element at the same time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Race {
    /// The task of the first access.
    pub task: TaskId,
    /// The accessed object.
    pub object: Array,
    /// The sites of the two accesses. They are equal if an access races with itself in another iteration.
    pub sites: [SiteId; 2],
    /// If the accesses are disjoint unless a counter overflows: the counter.
    pub counter: Option<OverflowingCounter>,
    /// Two iterations of the loop that touch the same element, if trying a few found them.
    pub example: Option<Box<Collision>>,
    /// What prevents the proof.
    pub cause: Cause,
    /// The thread number of the phase of the first access, if it is in one.
    pub thread: Option<LocalId>,
}

/// A counter that may overflow, so that its tickets repeat.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OverflowingCounter {
    /// The counter's array; of a prefix sum, the local that has it.
    pub array: Array,
    /// The number of bits of the counter.
    pub bits: u32,
    /// The maximum sum of the amounts that are added; none if it is unknown.
    pub increments: Option<u128>,
    /// Whether an amount may be negative.
    pub may_decrease: bool,
}

/// The race check of a kernel: a value graph for each task, and the pairs of tasks that run concurrently.
#[derive(Debug)]
pub(crate) struct RaceCheck {
    pub(super) tasks: Vec<TaskRaceCheck>,
    pub(super) task_pairs: Vec<TaskPair>,
    /// The check with unrolled loops, for launches that this one cannot prove.
    pub(super) unrolled: Option<Box<Self>>,
}

/// An atomic addition to a counter's array, which one iteration may execute several times, or the input of a prefix
/// sum.
#[derive(Clone, Debug)]
pub(super) struct CounterIncrement {
    pub(super) source: TicketSource,
    pub(super) amount: NodeId,
    pub(super) ty: IntType,
    /// The inner loops around it; if blocks count by themselves, those in the phase.
    pub(super) loops: SmallVec<[TripCount; 2]>,
    /// Whether only one thread of each block executes it.
    pub(super) by_one: bool,
    /// The conditions under which it is executed.
    pub(super) conditions: Conditions,
}

/// What may be added to a counter.
#[derive(Clone, Copy)]
enum Amount {
    /// No amount is negative, and the sum of all is at most this.
    AtMost(u128),
    Unlimited,
    /// An amount may be negative.
    Signed,
}

/// The trip count of an inner loop.
#[derive(Clone, Copy, Debug)]
pub(super) enum TripCount {
    Range {
        ty: IntType,
        begin: NodeId,
        end: NodeId,
        /// The number of iterations of a loop that has one, in the unsigned type; for loops around an addition.
        length: Option<NodeId>,
    },
    /// A `loop`, which runs until a `break`.
    Unknown,
}

/// The positions of two accesses to compare.
pub(super) type Pair = [usize; 2];

pub(super) type Conditions = SmallVec<[Condition; 4]>;

#[derive(Debug, Default)]
pub(super) struct TaskRaceCheck {
    pub(super) region_block: Option<RegionBlockId>,
    /// The number of parallel dimensions, including the threads of a block.
    pub(super) dims: usize,
    /// The number of threads per block of a block loop.
    pub(super) threads: Option<u32>,
    /// The variables that are equal for all threads of a block.
    pub(super) block_uniform: Vec<usize>,
    pub(super) graph: ValueGraph,
    /// The nodes whose affine forms are needed.
    pub(super) has_form: Vec<bool>,
    pub(super) accesses: Vec<AccessPattern>,
    /// Where unknown values come from.
    pub(super) origins: Origins,
    /// The pairs of accesses to compare between iterations.
    pub(super) pairs: Vec<Pair>,
    /// The additions to tensors with counters.
    pub(super) increments: Vec<CounterIncrement>,
}

#[derive(Debug)]
pub(super) struct TaskPair {
    pub(super) tasks: [TaskId; 2],
    pub(super) pairs: Vec<Pair>,
}

#[derive(Debug)]
pub(super) struct AccessPattern {
    pub(super) object: Array,
    pub(super) kind: AccessKind,
    pub(super) index: Index,
    /// The extents of the object.
    pub(super) extents: Index,
    pub(super) site: SiteId,
    /// The conditions under which the access happens.
    pub(super) conditions: Conditions,
    /// The phase of an access by the threads of a block, from 1; else 0. Barriers separate the phases of a block.
    pub(super) phase: usize,
    /// The thread number of the phase.
    pub(super) thread: Option<LocalId>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AccessKind {
    Read,
    Write,
    Atomic,
}

impl AccessKind {
    /// Whether accesses of these kinds to the same element do not race.
    pub(super) const fn is_compatible_with(self, other: Self) -> bool {
        matches!((self, other), (Self::Read, Self::Read) | (Self::Atomic, Self::Atomic))
    }
}

/// The arguments of a launch, and the bounds of its loops.
#[derive(Clone, Copy)]
struct LaunchValues<'a> {
    extents_of: ExtentsOf<'a>,
    args: &'a [u64],
}

impl RaceCheck {
    /// The words of the argument block that the check depends on, except those of the loops' extents.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = usize> {
        let tasks = self.tasks.iter().chain(self.unrolled.iter().flat_map(|races| &races.tasks));
        let nodes = tasks.flat_map(|task| &task.graph.nodes);
        nodes.filter_map(|node| match node {
            ValueNode::Argument { word, .. } => Some(*word),
            _ => None,
        })
    }

    /// The first pair of accesses that may race.
    pub(crate) fn find(&self, extents_of: ExtentsOf<'_>, args: &[u64]) -> Option<Race> {
        let launch = LaunchValues { extents_of, args };
        let mut tasks =
            (0..self.tasks.len()).map(|at| self.find_in(TaskId::new(at as u32), launch));
        let race = tasks.find_map(|race| race);
        let mut pairs = self.task_pairs.iter();
        let race = race.or_else(|| pairs.find_map(|pair| self.find_between(pair, launch)))?;
        match &self.unrolled {
            Some(unrolled) => unrolled.find(extents_of, args),
            None => Some(race),
        }
    }

    /// The first pair of accesses of one task that may race.
    fn find_in(&self, id: TaskId, launch: LaunchValues<'_>) -> Option<Race> {
        let task = &self.tasks[id.index()];
        if task.pairs.is_empty() {
            return None;
        }
        let extents = (launch.extents_of)(id);
        if extents.is_empty() || extents.iterations() < 2 && task.threads.is_none() {
            return None;
        }
        let (space, values) = task.evaluate(launch.args, &extents);
        let in_block = space.in_block(&task.block_uniform);
        let between_blocks = space.between_blocks(task.dims - 1);
        let concurrent = |other: usize| {
            other == id.index() || self.tasks[other].region_block != task.region_block
        };
        let overflow = |[_, counter]: [usize; 2]| self.overflow(task, counter, launch, &concurrent);
        task.pairs.iter().find_map(|&[a, b]| {
            let (a, b) = (&task.accesses[a], &task.accesses[b]);
            let is_disjoint =
                |space: &VarSpace| disjoint_in_loop(space, &a.forms(&values), &b.forms(&values));
            // Barriers order the accesses of a block in different phases and iterations.
            let spaces: &[&VarSpace] = match a.object {
                Array::Shared(_) | Array::Local(_) => &[&in_block],
                Array::Tensor(_) if is_disjoint(&space) => return None,
                Array::Tensor(_) if a.phase == 0 || b.phase == 0 => &[&space],
                Array::Tensor(_) if a.phase == b.phase => &[&between_blocks, &in_block],
                Array::Tensor(_) => &[&between_blocks],
            };
            spaces.iter().find_map(|space| {
                if is_disjoint(space) {
                    return None;
                }
                let (graph, args) = (&task.graph, launch.args);
                let budget = Cell::new(MAX_WORK);
                let context =
                    LoopContext { graph, args, space, is_counter: &|_| false, budget: &budget };
                let (index_a, index_b) = (a.conditional_access(), b.conditional_access());
                let refuted = |is_counter: IsCounter<'_>| {
                    let is_counter = |counter| is_counter([0, counter]);
                    refuted_in_loop(
                        LoopContext { is_counter: &is_counter, ..context },
                        index_a,
                        index_b,
                    )
                };
                let counter = race(&refuted, &overflow, &[task])?;
                let example = collision(context, index_a, index_b).map(Box::new);
                let cause = task.cause([a, b], args);
                let (sites, thread) = ([a.site, b.site], a.thread);
                Some(Race { task: id, object: a.object, sites, counter, example, cause, thread })
            })
        })
    }

    /// The first pair of accesses of two concurrent tasks that may race.
    fn find_between(&self, task_pair: &TaskPair, launch: LaunchValues<'_>) -> Option<Race> {
        let extents = task_pair.tasks.map(launch.extents_of);
        if extents.iter().any(Extents::is_empty) {
            return None;
        }
        let tasks = task_pair.tasks.map(|task| &self.tasks[task.index()]);
        let [(space_a, values_a), (space_b, values_b)] =
            [0, 1].map(|at| tasks[at].evaluate(launch.args, &extents[at]));
        let overflow =
            |[side, counter]: [usize; 2]| self.overflow(tasks[side], counter, launch, &|_| true);
        task_pair.pairs.iter().find_map(|&[a, b]| {
            let (a, b) = (&tasks[0].accesses[a], &tasks[1].accesses[b]);
            if disjoint(&space_a, &a.forms(&values_a), &space_b, &b.forms(&values_b)) {
                return None;
            }
            let budget = Cell::new(MAX_WORK);
            let refuted = |is_counter: IsCounter<'_>| {
                let [first, second] = [0, 1].map(|side| move |counter| is_counter([side, counter]));
                let args = launch.args;
                let sides = [
                    LoopContext {
                        graph: &tasks[0].graph,
                        args,
                        space: &space_a,
                        is_counter: &first,
                        budget: &budget,
                    },
                    LoopContext {
                        graph: &tasks[1].graph,
                        args,
                        space: &space_b,
                        is_counter: &second,
                        budget: &budget,
                    },
                ];
                refuted_between(sides, a.conditional_access(), b.conditional_access())
            };
            let counter = race(&refuted, &overflow, &tasks)?;
            let causes = [tasks[0].cause([a; 2], launch.args), tasks[1].cause([b; 2], launch.args)];
            let cause = causes.into_iter().find(|cause| *cause != Cause::NotProven);
            let cause = cause.unwrap_or(Cause::NotProven);
            let (task, sites, thread) = (task_pair.tasks[0], [a.site, b.site], a.thread);
            Some(Race { task, object: a.object, sites, counter, example: None, cause, thread })
        })
    }

    /// None if the numbers that a counter's additions reserve are distinct while these tasks, or the phase, run. All
    /// additions to its array count as additions to one element.
    fn overflow(
        &self,
        task: &TaskRaceCheck,
        counter: usize,
        launch: LaunchValues<'_>,
        concurrent: &dyn Fn(usize) -> bool,
    ) -> Option<OverflowingCounter> {
        let counter = &task.graph.counters[counter];
        let bits = 8 * counter.ty?.size() as u32;
        let most = match counter.source {
            TicketSource::Scan(_) => int_range(counter.ty).1.unsigned_abs(),
            _ => 1 << bits,
        };
        let tasks = self.tasks.iter().enumerate().filter(|(at, _)| concurrent(*at));
        let of_task = |(at, task): (usize, &TaskRaceCheck)| {
            let extents = (launch.extents_of)(TaskId::new(at as u32));
            task.amount_added_to(counter.source, bits, &extents, launch.args)
        };
        let amount = tasks.map(of_task).fold(Amount::AtMost(0), Amount::plus);
        let increments = match amount {
            Amount::AtMost(sum) if sum <= most => return None,
            Amount::AtMost(sum) => Some(sum),
            Amount::Unlimited | Amount::Signed => None,
        };
        let may_decrease = matches!(amount, Amount::Signed);
        Some(OverflowingCounter { array: array_of(counter.source), bits, increments, may_decrease })
    }
}

/// The array of a counter; of a prefix sum, the local that has it.
pub(super) fn array_of(source: TicketSource) -> Array {
    match source {
        TicketSource::Tensor(tensor) => Array::Tensor(ParamId::new(tensor)),
        TicketSource::Shared { array, .. } => Array::Shared(LocalId::new(array)),
        TicketSource::Scan(local) => Array::Local(LocalId::new(local)),
    }
}

/// Whether a counter, by the number of its side and its own, does not overflow.
type IsCounter<'a> = &'a dyn Fn([usize; 2]) -> bool;

/// None if two accesses do not race. If they race only because a counter may overflow, the counter.
fn race(
    refuted: &dyn Fn(IsCounter<'_>) -> bool,
    overflow: &dyn Fn([usize; 2]) -> Option<OverflowingCounter>,
    tasks: &[&TaskRaceCheck],
) -> Option<Option<OverflowingCounter>> {
    if refuted(&|counter| overflow(counter).is_none()) {
        return None;
    }
    let mut counters = tasks.iter().enumerate().flat_map(|(side, task)| {
        (0..task.graph.counters.len()).map(move |counter| [side, counter])
    });
    let overflow = counters.find_map(overflow);
    Some(overflow.filter(|_| refuted(&|_| true)))
}

impl Amount {
    fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Signed, _) | (_, Self::Signed) => Self::Signed,
            (Self::AtMost(a), Self::AtMost(b)) => {
                a.checked_add(b).map_or(Self::Unlimited, Self::AtMost)
            }
            _ => Self::Unlimited,
        }
    }
}

impl AccessPattern {
    fn forms(&self, values: &AffineForms) -> SmallVec<[Option<AffineForm>; 3]> {
        self.index.iter().map(|id| values[*id as usize]).collect()
    }

    fn conditional_access(&self) -> ConditionalAccess<'_> {
        ConditionalAccess {
            index: &self.index,
            extents: &self.extents,
            conditions: &self.conditions,
        }
    }
}

impl TaskRaceCheck {
    /// What the task, or a block in a phase, adds to one element.
    fn amount_added_to(
        &self,
        source: TicketSource,
        bits: u32,
        extents: &Extents,
        args: &[u64],
    ) -> Amount {
        let increments = self.increments.iter().filter(|increment| increment.source == source);
        let all = increments.clone().count() as u128;
        if all == 0 || extents.is_empty() {
            return Amount::AtMost(0);
        }
        let blocks = if source.is_of_block() { 1 } else { extents.iterations() };
        let threads = u128::from(self.threads.unwrap_or(1));
        let (space, values) = self.evaluate(args, extents);
        let budget = Cell::new(MAX_WORK);
        let context = LoopContext {
            graph: &self.graph,
            args,
            space: &space,
            is_counter: &|_| false,
            budget: &budget,
        };
        let sum = |increment: &CounterIncrement| {
            let CounterIncrement { amount, ty, by_one, .. } = *increment;
            let runs = u128::from(blocks) * if by_one { 1 } else { threads };
            let mut trip_counts: SmallVec<[Option<u128>; 2]> =
                increment.loops.iter().map(|trip_count| trip_count.max(context, &values)).collect();
            if bits < 64 {
                limit_one(increment, context, &mut trip_counts, (1 << bits) / all / runs);
            }
            let mut count =
                trip_counts.iter().try_fold(runs, |product, count| product.checked_mul((*count)?));
            if bits == 64 {
                // A launch that makes more additions would take years.
                count = Some(count.map_or(1 << 56, |count| count.min(1 << 56)));
            }
            let (least, most) = range_of(context, amount, ty).unwrap_or_else(|| int_range(ty));
            let holds = |bound| is_bounded(context, &increment.conditions, (amount, ty), bound);
            if least < 0 && !holds(Bound::AtLeast(0)) {
                return Amount::Signed;
            }
            let mut most = most.max(0);
            // What is allowed is enough to know: conditions on the amount have no simple form.
            let share =
                count.and_then(|count| (1u128 << bits).checked_div(count.checked_mul(all)?));
            if let Some(share) = share.and_then(|share| i128::try_from(share).ok())
                && share < most
                && !increment.conditions.is_empty()
                && holds(Bound::AtMost(share))
            {
                most = share;
            }
            let sum = count.and_then(|count| count.checked_mul(most.unsigned_abs()));
            sum.map_or(Amount::Unlimited, Amount::AtMost)
        };
        increments.map(sum).fold(Amount::AtMost(0), Amount::plus)
    }

    fn evaluate(&self, args: &[u64], extents: &Extents) -> (VarSpace, AffineForms) {
        let mut space = VarSpace::new();
        for &(begin, end) in extents.dims() {
            space.push(Var::new(VarKind::Parallel, begin, end - 1));
        }
        if let Some(threads) = self.threads {
            space.push(Var::new(VarKind::Parallel, 0, i128::from(threads) - 1));
        }
        for kind in &self.graph.vars {
            space.push(Var::new(*kind, 0, (1 << 64) - 1));
        }
        let mut values = AffineForms::new();
        for (node, has_form) in self.graph.nodes.iter().zip(&self.has_form) {
            let value = if *has_form { node.evaluate(args, &mut space, &values) } else { None };
            values.push(value);
        }
        (space, values)
    }

    /// What the tickets are drawn from that the accesses depend on which `compared` marks.
    pub(super) fn counted(&self, compared: &[bool]) -> Vec<TicketSource> {
        let graph = &self.graph;
        let mut reached = vec![false; graph.nodes.len()];
        let compared = self.accesses.iter().zip(compared).filter(|(_, compared)| **compared);
        for (access, _) in compared {
            graph.reach(&access.index, &mut reached);
            access
                .conditions
                .iter()
                .for_each(|condition| graph.reach(&[condition.node], &mut reached));
        }
        let nodes = graph.nodes.iter().zip(&reached).filter(|(_, reached)| **reached);
        let counters = nodes.filter_map(|(node, _)| match node {
            ValueNode::Ticket { counter, .. } => Some(graph.counters[*counter].source),
            _ => None,
        });
        counters.collect()
    }

    /// Removes the nodes, conditions and additions that no comparison needs, and numbers the variables.
    pub(super) fn prune(&mut self, compared: &[bool], is_counted: &dyn Fn(TicketSource) -> bool) {
        self.increments.retain(|increment| is_counted(increment.source));
        let graph = &mut self.graph;
        graph.keep_compared_reads();
        let mut needed = vec![false; graph.nodes.len()];
        for increment in &self.increments {
            graph.reach(&[increment.amount], &mut needed);
            increment
                .conditions
                .iter()
                .for_each(|condition| graph.reach(&[condition.node], &mut needed));
            for trip_count in &increment.loops {
                if let TripCount::Range { begin, end, length, .. } = trip_count {
                    graph.reach(&[*begin, *end], &mut needed);
                    length.iter().for_each(|length| graph.reach(&[*length], &mut needed));
                }
            }
        }
        for (access, compared) in self.accesses.iter_mut().zip(compared) {
            if *compared {
                graph.reach(&access.index, &mut needed);
                access.conditions = relevant(graph, &access.index, &access.conditions);
            } else {
                access.index.clear();
                access.extents.clear();
                access.conditions.clear();
            }
        }
        let mut has_form = needed.clone();
        for access in &self.accesses {
            graph.reach(&access.extents, &mut needed);
            let conditions: Index =
                access.conditions.iter().map(|condition| condition.node).collect();
            graph.reach(&conditions, &mut needed);
        }
        let mut at = 0;
        let mut number = vec![0; needed.len()];
        for (number, needed) in number.iter_mut().zip(&needed) {
            *number = at;
            at += NodeId::from(*needed);
        }
        let moved = |id: &mut NodeId| *id = number[*id as usize];
        self.origins.retain(|id, _| needed[*id as usize]);
        let origins = std::mem::take(&mut self.origins).into_iter();
        self.origins = origins.map(|(id, origin)| (number[id as usize], origin)).collect();
        let mut kept = needed.iter();
        graph.nodes.retain(|_| *kept.next().unwrap_or(&false));
        let mut kept = needed.iter();
        has_form.retain(|_| *kept.next().unwrap_or(&false));
        graph.nodes.iter_mut().for_each(|node| node.for_operands(moved));
        for counter in &mut graph.counters {
            // The counters of pruned tickets keep their places. Nothing reads them.
            let ids = counter.cell.iter_mut().chain(&mut counter.extents);
            ids.chain([&mut counter.amount]).for_each(moved);
        }
        graph.totals.retain(|ids| ids.iter().all(|at| needed[*at as usize]));
        graph.totals.iter_mut().flatten().for_each(moved);
        graph.totals_of_counters.retain(|(_, load)| needed[*load as usize]);
        graph.totals_of_counters.iter_mut().for_each(|(_, load)| moved(load));
        graph.stored.retain(|(load, _)| needed[*load as usize]);
        for (load, stored) in &mut graph.stored {
            stored.nodes_mut().chain([load]).for_each(moved);
        }
        graph.reads.retain(|(load, _)| needed[*load as usize]);
        graph.reads.iter_mut().for_each(|(load, _)| moved(load));
        let reads = graph.reads.iter_mut().map(|(_, read)| read);
        for read in graph.distinct.iter_mut().chain(reads) {
            read.index.iter_mut().chain(&mut read.extents).for_each(moved);
        }
        for access in &mut self.accesses {
            let conditions = access.conditions.iter_mut().map(|condition| &mut condition.node);
            access.index.iter_mut().chain(&mut access.extents).chain(conditions).for_each(moved);
        }
        for increment in &mut self.increments {
            moved(&mut increment.amount);
            increment.conditions.iter_mut().for_each(|condition| moved(&mut condition.node));
            for trip_count in &mut increment.loops {
                if let TripCount::Range { begin, end, length, .. } = trip_count {
                    [begin, end].into_iter().chain(length).for_each(moved);
                }
            }
        }
        for (node, has_form) in graph.nodes.iter_mut().zip(&has_form) {
            let (var, kind, is_uniform) = match node {
                ValueNode::Inner { var, uniformity, .. } => {
                    (var, VarKind::Inner, *uniformity < Uniformity::Iteration)
                }
                ValueNode::Unknown { var, uniformity: Uniformity::Loop, .. } => {
                    (var, VarKind::Fixed, false)
                }
                ValueNode::Unknown { var, uniformity: Uniformity::Block, .. } => {
                    (var, VarKind::Inner, true)
                }
                _ => continue,
            };
            let at = self.dims + graph.vars.len();
            if *has_form && at < MAX_VARS {
                *var = Some(at);
                graph.vars.push(kind);
                self.block_uniform.extend(is_uniform.then_some(at));
            }
        }
        self.has_form = has_form;
    }
}

/// Limits the trip count of one loop around an addition, of which conditions around the addition say that it is short
/// enough: at most `share` additions by a thread are allowed.
fn limit_one(
    increment: &CounterIncrement,
    context: LoopContext<'_>,
    trip_counts: &mut [Option<u128>],
    share: u128,
) {
    let product = |of: &[Option<u128>]| {
        of.iter().try_fold(1u128, |product, count| product.checked_mul((*count)?))
    };
    for (at, trip_count) in increment.loops.iter().enumerate() {
        let TripCount::Range { ty, length: Some(length), .. } = *trip_count else { continue };
        let others = [product(&trip_counts[..at]), product(&trip_counts[at + 1..])];
        let [Some(before), Some(after)] = others else { continue };
        let limit = before.checked_mul(after).and_then(|others| share.checked_div(others));
        let Some(limit) = limit.filter(|limit| trip_counts[at].is_none_or(|count| *limit < count))
        else {
            continue;
        };
        // The loop has this many iterations whenever one of them executes the addition.
        let length = (length, ty.map(ScalarType::unsigned));
        let bound = Bound::AtMost(i128::try_from(limit).unwrap_or(i128::MAX));
        if is_bounded(context, &increment.conditions, length, bound) {
            trip_counts[at] = Some(limit);
            return;
        }
    }
}

/// The conditions that depend on arguments alone, on the variables of the parallel loop, or on a value that an index
/// depends on.
fn relevant(graph: &ValueGraph, index: &[NodeId], conditions: &Conditions) -> Conditions {
    let varies = |id: usize| {
        !matches!(graph.nodes[id], ValueNode::Const(_) | ValueNode::Argument { .. })
            && graph.nodes[id].operands().is_empty()
    };
    let sources = |ids: &[NodeId]| {
        let reached = graph.reached(ids);
        (0..reached.len()).filter(|at| reached[*at] && varies(*at)).collect::<Vec<_>>()
    };
    let mut known = sources(index);
    known.extend((0..graph.nodes.len()).filter(|at| matches!(graph.nodes[*at], ValueNode::Var(_))));
    let mut rest: Vec<(Condition, Vec<usize>)> =
        conditions.iter().map(|condition| (*condition, sources(&[condition.node]))).collect();
    let mut relevant = Conditions::new();
    loop {
        let is_related = |(_, sources): &(Condition, Vec<usize>)| {
            sources.is_empty() || sources.iter().any(|source| known.contains(source))
        };
        let Some(at) = rest.iter().position(is_related) else { return relevant };
        let (condition, sources) = rest.remove(at);
        known.extend(sources);
        relevant.push(condition);
    }
}

impl TripCount {
    /// The maximum trip count; none if unknown.
    fn max(self, context: LoopContext<'_>, values: &AffineForms) -> Option<u128> {
        let Self::Range { ty, begin, end, .. } = self else { return None };
        let space = context.space;
        let all = int_range(ty);
        let of = |id: NodeId| values[id as usize].and_then(|form| exact_range(space, &form, ty));
        // Both bounds depend on the same iteration, so their difference may be more precise than their ranges.
        let (begin_form, end_form) = (values[begin as usize], values[end as usize]);
        let exact_both = of(begin).is_some() && of(end).is_some();
        let distance = begin_form.zip(end_form).filter(|_| exact_both);
        let distance = distance.and_then(|(begin, end)| space.range(&end.sub(begin)?));
        let around = of(end).unwrap_or(all).1 - of(begin).unwrap_or(all).0;
        let most = distance.map_or(around, |(_, most)| most.min(around));
        // Of minima and remainders, which have no form.
        let most = difference(context, [end, begin], ty).map_or(most, |(_, last)| most.min(last));
        Some(most.max(0).unsigned_abs())
    }
}
