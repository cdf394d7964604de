//! Race check at compile time: whether two iterations of a loop, or two blocks of a region, may touch the same
//! element, at least one of them writing.
//!
//! Types and sizes are unknown here. The kernel is evaluated for several dozen *sample launches* with made-up sizes
//! ([`sample`]). In each, pairs of accesses are compared by the criterion of a real launch ([`quadrants_ir::races`]).
//! A pair that races in all samples is rejected here. A pair that races in some is accepted: each launch then proves
//! that its own sizes do not race, or is rejected.
//!
//! An index that a launch cannot analyze is rejected as well: one that is read from a tensor, or depends on a
//! variable that is assigned.

mod access;
mod access_classes;
mod eval;
mod expr_text;
mod loops;
mod reason;
mod sample;
mod value;
mod walk;

use std::{cell::Cell, collections::HashMap};

use quadrants_ir::races::{
    AffineForm, ConditionalAccess, LoopContext, MAX_WORK, NodeId, TicketSource, Var, VarKind,
    VarSpace, disjoint, disjoint_in_loop, never_happens, refuted_between, refuted_in_loop,
};

use access::{
    SampledAccess, SampledAccessKind, SampledRegionBlock, SampledTask, StoredValue, overlap,
    same_tensor,
};
use access_classes::{AccessClasses, PairCache};
use sample::{LONG_LOOP, SAMPLES};
use walk::{ExprText, walk};

use crate::{
    language_rule::{LanguageRule, RuleViolation},
    syntax::{ExprKind, Function, FunctionKind, StmtKind},
    visit::{self, any_in_block},
};

/// A range that exceeds any constant offset between two indices.
const UNBOUNDED: i128 = 1 << 40;

/// The number of samples that the solver decides.
const SOLVED_SAMPLES: usize = 8;

/// The solver's work for all pairs of a kernel. It limits the time until a race is reported: proofs rarely need much.
const KERNEL_WORK: usize = 100_000;

/// The races of a kernel that breaks no other rule, in source order.
pub(crate) fn violations(function: &Function, source: ExprText<'_>) -> Vec<RuleViolation> {
    if function.kind == FunctionKind::Func {
        return Vec::new();
    }
    let ranks = ranks(function);
    let (samples, _) = all_samples(function, &ranks, false, None);
    if races_of(&samples).is_empty() {
        return Vec::new();
    }
    // With unrolled loops, more is proven, and examples are of one iteration of each.
    let (samples, trip_counts) = all_samples(function, &ranks, true, Some(source));
    let unrolls = trip_counts.first().is_some_and(|trip_counts| !trip_counts.is_empty());
    // The samples must have the same accesses.
    match unrolls && trip_counts.windows(2).all(|pair| pair[0] == pair[1]) {
        true => races_of(&samples),
        false => races_of(&all_samples(function, &ranks, false, Some(source)).0),
    }
}

/// The region blocks of the kernel in each sample launch, and the trip counts of its unrolled loops. With `source`,
/// they have the texts of messages.
fn all_samples(
    function: &Function,
    ranks: &HashMap<&str, usize>,
    unroll: bool,
    source: Option<ExprText<'_>>,
) -> (Vec<Vec<SampledRegionBlock>>, Vec<Vec<u32>>) {
    (0..SAMPLES).map(|sample| walk(function, ranks, sample, unroll, source)).unzip()
}

/// The races in the sample launches.
fn races_of(samples: &[Vec<SampledRegionBlock>]) -> Vec<RuleViolation> {
    let Some(first) = samples.first() else { return Vec::new() };
    let checker = RaceChecker::new(samples);
    let mut races = Vec::new();
    for (region_block, block) in first.iter().enumerate() {
        for task in 0..block.tasks.len() {
            races.extend(checker.loop_races([region_block, task]));
        }
        for other in 0..region_block {
            races.extend(checker.block_races(other, region_block));
        }
    }
    races
}

/// The rank of each tensor, from the number of its indices. One index may be an array of them.
fn ranks(function: &Function) -> HashMap<&str, usize> {
    let given = function.params.iter();
    let given = given.filter_map(|param| Some((param.name.as_str(), param.rank? as usize)));
    let mut ranks: HashMap<&str, usize> = given.collect();
    any_in_block(&function.body, &mut |node| {
        match node {
            visit::Node::Expr(expr) => {
                if let ExprKind::Index { base, index } = &expr.kind {
                    let rank = ranks.entry(base.as_str()).or_default();
                    *rank = index.len().max(*rank);
                }
            }
            visit::Node::Stmt(stmt) => {
                if let StmtKind::LetExtents { names, rest: None, base } = &stmt.kind {
                    ranks.insert(base.as_str(), names.len());
                }
            }
        }
        false
    });
    ranks
}

/// The lengths of a task's loops. A loop that is shorter in all samples has the length that its maximum allows.
#[derive(Clone, Copy)]
struct LoopLengths {
    /// Whether each loop is long.
    long: bool,
    /// Whether the parallel loop is long, or the range that it goes through by steps that an argument is, and each loop
    /// has two iterations.
    short_inside: bool,
    /// Whether each loop has two iterations.
    repeated: bool,
}

/// Race check over all sample launches of a kernel. A task is identified by the index of its region block and its index
/// there.
struct RaceChecker<'a> {
    samples: &'a [Vec<SampledRegionBlock>],
    /// Of each task in each sample.
    lengths: Vec<Vec<Vec<LoopLengths>>>,
    /// The access classes of each task.
    classes: Vec<Vec<AccessClasses>>,
    /// The solver's work that is left.
    work: Cell<usize>,
}

impl<'a> RaceChecker<'a> {
    fn new(samples: &'a [Vec<SampledRegionBlock>]) -> Self {
        let of_task = |region_block: usize, task: usize| {
            let counts: Vec<Vec<i128>> = samples
                .iter()
                .map(|region_blocks| {
                    region_blocks[region_block].tasks[task].loops().map(|r| r.1 - r.0 + 1).collect()
                })
                .collect();
            let mut most = counts[0].clone();
            for counts in &counts {
                most.iter_mut().zip(counts).for_each(|(most, count)| *most = (*most).max(*count));
            }
            let strides = |sample: usize| &samples[sample][region_block].tasks[task].strides;
            let varies = |dim: usize| {
                (1..samples.len()).any(|sample| strides(sample)[dim] != strides(0)[dim])
            };
            let varies: Vec<bool> = (0..strides(0).len()).map(varies).collect();
            let of = |(sample, counts): (usize, &Vec<i128>)| {
                let at_least = |least: i128| {
                    counts.iter().zip(&most).all(|(count, most)| *count >= *most.min(&least))
                };
                let parallel = counts.iter().zip(&most).zip(strides(sample)).zip(&varies);
                let mut parallel = parallel.map(|(((count, most), stride), varies)| {
                    let range = if *varies { *count * *stride } else { *count };
                    range >= *most.min(&LONG_LOOP)
                });
                let repeated = at_least(2);
                let short_inside = repeated && parallel.all(|long| long);
                LoopLengths { long: at_least(LONG_LOOP), short_inside, repeated }
            };
            counts.iter().enumerate().map(of).collect()
        };
        let region_blocks = samples.first().map_or(&[][..], Vec::as_slice).iter().enumerate();
        let lengths = region_blocks.clone().map(|(at, region_block)| {
            (0..region_block.tasks.len()).map(|t| of_task(at, t)).collect()
        });
        let classes = region_blocks.map(|(at, region_block)| {
            (0..region_block.tasks.len())
                .map(|task| AccessClasses::new(samples, [at, task]))
                .collect()
        });
        let (lengths, classes) = (lengths.collect(), classes.collect());
        Self { samples, lengths, classes, work: Cell::new(KERNEL_WORK) }
    }

    fn classes(&self, [region_block, task]: [usize; 2]) -> &AccessClasses {
        &self.classes[region_block][task]
    }

    fn task(&self, sample: usize, [region_block, task]: [usize; 2]) -> &'a SampledTask {
        &self.samples[sample][region_block].tasks[task]
    }

    /// The races of a loop, at most one per tensor.
    fn loop_races(&self, at: [usize; 2]) -> Vec<RuleViolation> {
        let task = self.task(0, at);
        let mut races: Vec<(&str, RuleViolation)> = Vec::new();
        if task.dims.is_empty() {
            return Vec::new();
        }
        // A loop over time steps is one mistake, also if it writes several tensors.
        let mut is_time_loop = false;
        let accesses = &task.accesses;
        let (samples, cache, classes) =
            (self.useful_samples(&[at]), PairCache::default(), self.classes(at));
        let provable = |a: usize, b: usize| {
            !accesses[a].conflicts(&accesses[b])
                || cache.provable([classes; 2], [a, b], || self.loop_provable(at, &samples, a, b))
        };
        // One pair of classes represents all pairs of their accesses, also of an access with itself.
        let suspects = suspects(accesses, &classes.first, &provable);
        let pairs = |itself: bool| {
            let pairs = suspects.iter().enumerate().flat_map(|(at, a)| {
                let others = if itself { &suspects[at..=at] } else { &suspects[at + 1..] };
                others.iter().map(|b| (*a, *b))
            });
            pairs.collect::<Vec<_>>()
        };
        // Report an access that races with itself first.
        for (a, b) in pairs(true).into_iter().chain(pairs(false)) {
            let (first, second) = (&accesses[a], &accesses[b]);
            let is_reported = races.iter().any(|(tensor, _)| *tensor == first.tensor);
            if is_reported || provable(a, b) {
                continue;
            }
            let over = over(&task.names);
            let time_loop =
                self.time_loop_advice(at, if a == b || second.kind.is_write() { a } else { b });
            if time_loop.is_some() && std::mem::replace(&mut is_time_loop, true) {
                continue;
            }
            let (span, rule) = if a == b {
                let reason = self.reason(at, &samples, a, b);
                let access = first.text.clone();
                let advice = time_loop.unwrap_or_else(|| {
                    if self.is_by_ticket(task, first) && first.kind == SampledAccessKind::Write {
                        return format!("write {}, which needs no proof", exchange(first));
                    }
                    own_element_advice(first)
                });
                (first.span, LanguageRule::RaceWithItself { access, over, reason, advice })
            } else {
                let (here, other) =
                    if second.kind.is_write() { (first, second) } else { (second, first) };
                let reason = self.reason(at, &samples, a, b);
                let advice = (self.ticket_advice(task, here, other)).or(time_loop).or_else(|| {
                    let is_recurrence = !here.is_shared && self.is_recurrence(at, a, b);
                    is_recurrence.then(recurrence_advice)
                });
                let reads_first = accesses[a.min(b)].kind == SampledAccessKind::Read;
                (here.span, race_in_loop([here, other], reads_first, over, reason, advice))
            };
            races.push((&first.tensor, RuleViolation { span, rule }));
        }
        races.into_iter().map(|(_, violation)| violation).collect()
    }

    /// Whether some launch can prove two accesses of different iterations disjoint.
    fn loop_provable(&self, at: [usize; 2], samples: &[usize], a: usize, b: usize) -> bool {
        let shifted = self.is_shift(at, a, b);
        let spaces = |sample: usize| {
            let task = self.task(sample, at);
            let space = if shifted { self.unbounded_space(sample, at) } else { task.space.clone() };
            spaces(&space, task, &task.accesses[a], &task.accesses[b])
        };
        let accesses = |sample: usize| {
            let accesses = &self.task(sample, at).accesses;
            (&accesses[a], &accesses[b])
        };
        let disjoint = |&sample: &usize| {
            let (a, b) = accesses(sample);
            let known_later = a.depends_on_launch || b.depends_on_launch;
            let disjoint = |space: &VarSpace| disjoint_in_loop(space, &a.forms, &b.forms);
            known_later || spaces(sample).iter().all(disjoint)
        };
        if samples.is_empty() || samples.iter().any(disjoint) {
            return true;
        }
        let first = &self.task(0, at).accesses;
        let is_constant = |access: &SampledAccess| {
            let mut forms = access.forms.iter();
            forms.all(|form| form.is_some_and(|form| form.value().is_some()))
        };
        // Only conditions can keep iterations from the same element.
        let share = if is_constant(&first[a]) && is_constant(&first[b]) { 8 } else { 1 };
        let budget = self.pair_budget(share);
        let decide = |sample: usize, space: &VarSpace| {
            let (a, b) = accesses(sample);
            let graph = &self.task(sample, at).builder.graph;
            let is_counter = |counter: usize| self.is_only_counted(at, sample, counter);
            let budget = &budget;
            let context = LoopContext { graph, args: &[], space, is_counter: &is_counter, budget };
            let (index_a, index_b) = common_index(a, b);
            let (a, b) = (a.conditional_access(&index_a), b.conditional_access(&index_b));
            if never_happens(context, a) || never_happens(context, b) {
                return None;
            }
            let anywhere = |access: ConditionalAccess<'_>| {
                let access = ConditionalAccess { index: &[], ..access };
                refuted_in_loop(context, access, access)
            };
            let refuted = refuted_in_loop(context, a, b);
            // A condition that holds in one iteration only proves something if it does so in all launches.
            (!refuted || !anywhere(a) && !anywhere(b)).then_some(refuted)
        };
        let decide = |sample: usize| {
            let mut all = Some(true);
            for space in &spaces(sample) {
                match decide(sample, space) {
                    Some(false) => return Some(false),
                    None => all = None,
                    Some(true) => {}
                }
            }
            all
        };
        if decided_by_some(samples, decide) {
            self.charge(share, &budget);
            return true;
        }
        // A launch may have short loops in the parallel one: those of rows with gaps, `y[i * 8 + j]`, or long steps.
        let others = self.samples_where(&[at], |lengths| lengths.short_inside);
        let others: Vec<usize> =
            others.into_iter().filter(|sample| !samples.contains(sample)).collect();
        let proven = |sample: &usize| disjoint(sample) || decide(*sample) == Some(true);
        // The last ones have long loops of different lengths.
        let is_proven = samples.iter().rev().any(|sample| decide(*sample) == Some(true))
            || others.iter().take(SOLVED_SAMPLES).any(proven);
        self.charge(share, &budget);
        is_proven
    }

    /// The solver's work for one pair of accesses: the whole, or a share of it.
    fn pair_budget(&self, share: usize) -> Cell<usize> {
        Cell::new((MAX_WORK / share).min(self.work.get()))
    }

    /// Takes what a pair has used from what is left.
    fn charge(&self, share: usize, budget: &Cell<usize>) {
        let used = self.pair_budget(share).get() - budget.get();
        self.work.set(self.work.get() - used);
    }

    /// Whether some launch can prove two accesses of different blocks disjoint.
    fn blocks_provable(&self, at: [[usize; 2]; 2], samples: &[usize], a: usize, b: usize) -> bool {
        let of_sample = |sample: usize| {
            let tasks = at.map(|at| self.task(sample, at));
            (tasks, &tasks[0].accesses[a], &tasks[1].accesses[b])
        };
        let disjoint = |&sample: &usize| {
            let (tasks, a, b) = of_sample(sample);
            let known_later = a.depends_on_launch || b.depends_on_launch;
            known_later || disjoint(&tasks[0].space, &a.forms, &tasks[1].space, &b.forms)
        };
        if samples.is_empty() || samples.iter().any(disjoint) {
            return true;
        }
        let budget = self.pair_budget(1);
        let is_proven = decided_by_some(samples, |sample| {
            let (tasks, a, b) = of_sample(sample);
            let [first, second] =
                at.map(|at| move |counter: usize| self.is_only_counted(at, sample, counter));
            let context = |task: &'a SampledTask, is_counter| LoopContext {
                graph: &task.builder.graph,
                args: &[],
                space: &task.space,
                is_counter,
                budget: &budget,
            };
            let contexts = [context(tasks[0], &first), context(tasks[1], &second)];
            let (index_a, index_b) = common_index(a, b);
            let (a, b) = (a.conditional_access(&index_a), b.conditional_access(&index_b));
            if never_happens(contexts[0], a) || never_happens(contexts[1], b) {
                return None;
            }
            Some(refuted_between(contexts, a, b))
        });
        self.charge(1, &budget);
        is_proven
    }

    /// The races of two blocks, at most one per tensor.
    fn block_races(&self, earlier: usize, later: usize) -> Vec<RuleViolation> {
        let [first, second] = [earlier, later].map(|region_block| &self.samples[0][region_block]);
        let mut races: Vec<(&str, RuleViolation)> = Vec::new();
        for (i, of_first) in first.tasks.iter().enumerate() {
            for (j, of_second) in second.tasks.iter().enumerate() {
                let at = [[earlier, i], [later, j]];
                let (samples, cache) = (self.useful_samples(&at), PairCache::default());
                let classes = at.map(|at| self.classes(at));
                let provable = |a: usize, b: usize| {
                    !of_first.accesses[a].conflicts(&of_second.accesses[b])
                        || cache
                            .provable(classes, [a, b], || self.blocks_provable(at, &samples, a, b))
                };
                let [firsts, seconds] = classes.map(|classes| &classes.first);
                if firsts.iter().all(|a| seconds.iter().all(|b| provable(*a, *b))) {
                    continue;
                }
                for (a, other) in of_first.accesses.iter().enumerate() {
                    for (b, here) in of_second.accesses.iter().enumerate() {
                        let is_reported = races.iter().any(|(tensor, _)| *tensor == here.tensor);
                        if is_reported || provable(a, b) {
                            continue;
                        }
                        let rule = LanguageRule::RaceOfRegionBlocks {
                            access: here.text.clone(),
                            verb: here.kind.verb(),
                            other: other.text.clone(),
                            other_verb: other.kind.verb_of_one(),
                            line: other.span.line,
                            block: first.span.line,
                            reason: self.block_reason(at, a, b),
                        };
                        races.push((&here.tensor, RuleViolation { span: here.span, rule }));
                    }
                }
            }
        }
        races.into_iter().map(|(_, violation)| violation).collect()
    }

    /// The samples in which each loop is long enough to show races, or as long as in any sample.
    fn useful_samples(&self, tasks: &[[usize; 2]]) -> Vec<usize> {
        let long = self.samples_where(tasks, |lengths| lengths.long);
        if long.is_empty() { self.samples_where(tasks, |lengths| lengths.repeated) } else { long }
    }

    /// The samples in which the loops of tasks have lengths of a kind.
    fn samples_where(
        &self,
        tasks: &[[usize; 2]],
        is_useful: impl Fn(LoopLengths) -> bool,
    ) -> Vec<usize> {
        let is_long_enough = |sample: &usize| {
            tasks
                .iter()
                .all(|[region_block, task]| is_useful(self.lengths[*region_block][*task][*sample]))
        };
        (0..self.samples.len()).filter(is_long_enough).collect()
    }

    /// Whether the indices of two accesses differ by a constant of the source. Then only short loops would not race,
    /// which the author cannot intend.
    fn is_shift(&self, at: [usize; 2], a: usize, b: usize) -> bool {
        let accesses = &self.task(0, at).accesses;
        let (first_a, first_b) = (&accesses[a].forms, &accesses[b].forms);
        let difference = |a: &Option<AffineForm>, b: &Option<AffineForm>| (*a)?.sub((*b)?)?.value();
        let mut shifted = false;
        for dim in 0..first_a.len().min(first_b.len()) {
            let shift = difference(&first_a[dim], &first_b[dim]);
            if shift.is_none() {
                return false;
            }
            shifted |= shift != Some(0);
            for sample in 1..self.samples.len() {
                let accesses = &self.task(sample, at).accesses;
                let (a, b) = (&accesses[a].forms[dim], &accesses[b].forms[dim]);
                // The coefficients must be equal; the constants may differ.
                if difference(a, b) != shift || difference(a, &first_a[dim]).is_none() {
                    return false;
                }
            }
        }
        shifted
    }

    /// The space of a loop in which each range that depends on the launch is practically unbounded.
    fn unbounded_space(&self, sample: usize, at: [usize; 2]) -> VarSpace {
        let task = self.task(sample, at);
        let mut space = task.space.clone();
        for (dim, &(first, last)) in task.dims.iter().enumerate() {
            if (0..self.samples.len()).any(|s| self.task(s, at).dims[dim] != (first, last)) {
                space.set(dim, Var::new(VarKind::Parallel, first, first + UNBOUNDED));
            }
        }
        space
    }

    /// Whether all accesses to a counter's element, in the loop and in code that may run at the same time, are atomic
    /// additions.
    fn is_only_counted(&self, at: [usize; 2], sample: usize, counter: usize) -> bool {
        let is_limited = self.task(sample, at).long_loops[counter].is_none();
        is_limited && self.not_a_count(at, sample, counter).is_none()
    }

    /// The first access to a counter's element that is not an atomic addition.
    fn not_a_count(
        &self,
        [region_block, task]: [usize; 2],
        sample: usize,
        counter: usize,
    ) -> Option<&'a SampledAccess> {
        let own = self.task(sample, [region_block, task]);
        let counter = &own.builder.graph.counters[counter];
        let (number, phase) = match counter.source {
            TicketSource::Shared { array, phase } => (array, Some(phase)),
            TicketSource::Tensor(number) | TicketSource::Scan(number) => (number, None),
        };
        let (tensor, fields) = own.counted.get(number as usize)?;
        let constant = |form: Option<AffineForm>| form.and_then(|form| form.value());
        let cell: Vec<_> = counter.cell.iter().map(|id| constant(own.form(*id))).collect();
        // Elements with different constant indices differ.
        let is_apart = |access: &SampledAccess| {
            let mut pairs = cell.iter().zip(&access.forms);
            pairs.any(|(at, form)| at.zip(constant(*form)).is_some_and(|(a, b)| a != b))
        };
        let region_blocks = self.samples[sample].iter().enumerate();
        let others =
            region_blocks.filter(|(at, _)| *at != region_block).flat_map(|(_, other)| &other.tasks);
        others.chain([own]).flat_map(|task| &task.accesses).find(|access| {
            same_tensor(&access.tensor, tensor)
                && overlap(&access.fields, fields)
                && access.kind != SampledAccessKind::Count
                && (phase.is_none() || phase == access.phase)
                && !is_apart(access)
        })
    }

    /// Whether an access writes an element and another reads the one that an earlier iteration writes, and no access
    /// reads one that a later iteration writes.
    fn is_recurrence(&self, at: [usize; 2], a: usize, b: usize) -> bool {
        let accesses = &self.task(0, at).accesses;
        let (write, read) = if accesses[a].kind.is_write() { (a, b) } else { (b, a) };
        if accesses[write].kind != SampledAccessKind::Write
            || accesses[read].kind != SampledAccessKind::Read
        {
            return false;
        }
        // How far the read is behind the write, in the first dimension in which they differ.
        let behind = |read: usize| {
            let pairs = accesses[write].forms.iter().zip(&accesses[read].forms);
            let mut distances = pairs.map(|(write, read)| (*write)?.sub((*read)?)?.value());
            distances.find(|distance| *distance != Some(0)).flatten()
        };
        let reads = (0..accesses.len()).filter(|at| {
            accesses[*at].kind == SampledAccessKind::Read
                && accesses[*at].tensor == accesses[read].tensor
        });
        self.is_shift(at, write, read)
            && behind(read).is_some_and(|distance| distance > 0)
            && reads.map(behind).all(|distance| distance.is_none_or(|distance| distance > 0))
    }
}

/// Whether the solver finds two accesses disjoint in a sample launch. `decide` returns none for a sample that does not
/// matter, because an access does not happen in two iterations.
fn decided_by_some(samples: &[usize], decide: impl Fn(usize) -> Option<bool>) -> bool {
    // The solver takes long, so it decides a few samples only, spread over all.
    let step = samples.len().div_ceil(SOLVED_SAMPLES);
    let decisions = samples.iter().step_by(step).filter_map(|sample| decide(*sample));
    let mut is_racing = false;
    for disjoint in decisions {
        if disjoint {
            return true;
        }
        is_racing = true;
    }
    !is_racing
}

/// The spaces of the iterations that barriers do not order, of which `space` has all.
fn spaces(
    space: &VarSpace,
    task: &SampledTask,
    a: &SampledAccess,
    b: &SampledAccess,
) -> Vec<VarSpace> {
    let in_block = || space.in_block(&task.block_vars);
    let between_blocks = || space.between_blocks(task.builder.block_vars);
    match (a.phase, b.phase) {
        _ if a.is_shared => vec![in_block()],
        (Some(first), Some(second)) if first == second => {
            vec![between_blocks(), in_block()]
        }
        (Some(_), Some(_)) => vec![between_blocks()],
        _ => vec![space.clone()],
    }
}

/// The indices that are integers in both accesses.
fn common_index(a: &SampledAccess, b: &SampledAccess) -> (Vec<NodeId>, Vec<NodeId>) {
    a.index.iter().zip(&b.index).filter_map(|(a, b)| a.zip(*b)).unzip()
}

/// The accesses to tensors that have a pair of classes that is not provable. `classes` has one access of each
/// class.
fn suspects(
    accesses: &[SampledAccess],
    classes: &[usize],
    provable: &dyn Fn(usize, usize) -> bool,
) -> Vec<usize> {
    // Tensors of a struct are grouped by the struct's name.
    let root =
        |access: &'_ SampledAccess| access.tensor.split('.').next().unwrap_or_default().to_owned();
    let mut of_tensors: HashMap<String, Vec<usize>> = HashMap::new();
    for &at in classes {
        of_tensors.entry(root(&accesses[at])).or_default().push(at);
    }
    of_tensors.retain(|_, members| {
        let is_changed = members.iter().any(|at| accesses[*at].kind.is_write());
        let mut pairs = members
            .iter()
            .enumerate()
            .flat_map(|(at, a)| members[at..].iter().map(move |b| (*a, *b)));
        is_changed && pairs.any(|(a, b)| !provable(a, b))
    });
    if of_tensors.is_empty() {
        return Vec::new();
    }
    (0..accesses.len()).filter(|at| of_tensors.contains_key(&root(&accesses[*at]))).collect()
}

/// What the elements of a tensor are for atomics.
enum ElementClass {
    /// Numbers that have atomics, or of an unknown type.
    Number,
    /// Numbers of 8 or 16 bits.
    Narrow,
    /// Vectors, arrays and structs.
    Composite,
}

fn elem(access: &SampledAccess) -> ElementClass {
    const NUMBERS: [&str; 9] = ["bool", "i32", "i64", "u32", "u64", "usize", "isize", "f32", "f64"];
    const NARROW: [&str; 5] = ["i8", "u8", "i16", "u16", "f16"];
    match access.elem.as_deref() {
        Some(of) if NARROW.contains(&of) => ElementClass::Narrow,
        Some(of) if !NUMBERS.contains(&of) && of.len() > 1 => ElementClass::Composite,
        _ => ElementClass::Number,
    }
}

/// How to write an element by an atomic.
fn exchange(access: &SampledAccess) -> String {
    let text = &access.text;
    match elem(access) {
        ElementClass::Number => format!("by `qd::atomic_exchange(&mut {text}, …)`"),
        ElementClass::Narrow => "a tensor of `u32` by `qd::atomic_exchange`".to_owned(),
        ElementClass::Composite => format!(
            "its numbers one by one, such as `qd::atomic_exchange(&mut {text}[0], …)` of a vector"
        ),
    }
}

/// The advice for an access by which several iterations write one element: the atomic that does the same.
fn own_element_advice(access: &SampledAccess) -> String {
    let SampledAccess { text, stored, .. } = access;
    let is_next = matches!(stored, Some(StoredValue::Next));
    match elem(access) {
        _ if is_next => {}
        ElementClass::Number => {}
        ElementClass::Narrow => {
            return "give each iteration an element of its own; numbers of 8 and 16 bits have no atomics, so combine \
                    in a tensor of `u32`"
                .to_owned();
        }
        ElementClass::Composite => {
            return format!(
                "give each iteration an element of its own, combine its numbers one by one, such as \
                 `qd::atomic_add(&mut {text}[0], …)` of a vector, or store them by `qd::atomic_exchange`"
            );
        }
    }
    let atomic = match stored {
        Some(StoredValue::Literal(value)) if value == "true" => {
            format!("set it in any of them by `qd::atomic_or(&mut {text}, true)`")
        }
        Some(StoredValue::Literal(value)) if value == "false" => {
            format!("clear it in any of them by `qd::atomic_and(&mut {text}, false)`")
        }
        Some(StoredValue::Literal(value)) => {
            format!("store it in any of them by `qd::atomic_exchange(&mut {text}, {value})`")
        }
        Some(StoredValue::Combined(atomic)) => format!("combine by `qd::{atomic}(&mut {text}, …)`"),
        Some(StoredValue::Next) => {
            "or, if each iteration needs the result of the one before, mark this loop `#[qd::serial]`".to_owned()
        }
        None => format!(
            "combine with `atomic_add`, `atomic_min` or `atomic_max`, store by `qd::atomic_exchange(&mut {text}, …)`"
        ),
    };
    format!("give each iteration an element of its own, {atomic}")
}

fn recurrence_advice() -> String {
    "if each iteration needs the result of one before, mark this loop `#[qd::serial]` or compute a scan; else read \
     from one tensor and write to another"
        .to_owned()
}

fn race_in_loop(
    [here, other]: [&SampledAccess; 2],
    reads_first: bool,
    over: String,
    reason: String,
    advice: Option<String>,
) -> LanguageRule {
    let common = if here.is_shared {
        "move one of them to another phase"
    } else if here.kind.is_atomic() || other.kind.is_atomic() {
        "make both atomic, split the loop in two"
    } else if here.kind.is_write() {
        "write to two tensors, split the loop in two"
    } else if reads_first {
        // The written value may need the one that is read, so a second loop changes nothing.
        "read from one tensor and write to another"
    } else {
        "read from one tensor and write to another, split the loop in two"
    };
    LanguageRule::RaceInLoop {
        access: here.text.clone(),
        verb: here.kind.verb(),
        other: other.text.clone(),
        other_verb: other.kind.verb_of_one(),
        line: other.span.line,
        over,
        reason,
        advice: advice.unwrap_or_else(|| common.to_owned()),
    }
}

/// The loop variables for messages, as "of `i`, `j` "; empty if none has a name.
fn over(names: &[String]) -> String {
    let names: Vec<String> = names
        .iter()
        .map(|name| name.trim_start_matches('_'))
        .filter(|name| !name.is_empty())
        .map(|name| format!("`{name}`"))
        .collect();
    if names.is_empty() { String::new() } else { format!("of {} ", names.join(", ")) }
}
