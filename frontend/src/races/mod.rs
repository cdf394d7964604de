//! Races: whether two iterations of a loop, or two blocks of a region, may touch one element at the same
//! time, at least one of them writing.
//!
//! Neither types nor numbers are known here. The kernel is walked once for each of a few dozen made-up
//! launches ([`sample`]), and in each of them its accesses are compared by the criterion that a real
//! launch applies ([`quadrants_ir::races`]). What races in all of them is refused here, on its author's
//! tokens. What races in some is accepted: there each launch proves its own numbers, or is refused.
//!
//! What is too much to ask of a launch is refused as well: an index that is read from a tensor, or comes
//! of a variable that changes.

mod access;
mod eval;
mod profile;
mod sample;
mod text;
mod value;
mod walk;

use std::collections::HashMap;

use quadrants_ir::races::{AffineForm, Space, Var, VarKind, disjoint, disjoint_in_loop};

use access::{Access, AccessKind, Part, Task, is_or_has, overlap};
use profile::{Judged, Profiles};
use sample::{LONG, SAMPLES};
use value::{Counter, Value};
use walk::walk;

use crate::{
    rule::{Rejection, Rule},
    syntax::{ExprKind, Function, FunctionKind, StmtKind},
    visit::{Node, any_in_block},
};

/// Longer than any loop that a constant shift could be meant for.
const ENDLESS: i128 = 1 << 40;

/// The races of a kernel that breaks no other rule, in source order.
pub(crate) fn rejections(function: &Function) -> Vec<Rejection> {
    if function.kind == FunctionKind::Func {
        return Vec::new();
    }
    let ranks = ranks(function);
    let samples: Vec<Vec<Part>> =
        (0..SAMPLES).map(|sample| walk(function, &ranks, sample)).collect();
    let Some(first) = samples.first() else { return Vec::new() };
    let judge = Judge::new(&samples);
    let mut found = Vec::new();
    for (part, of_part) in first.iter().enumerate() {
        for task in 0..of_part.tasks.len() {
            found.extend(judge.in_loop([part, task]));
        }
        for other in 0..part {
            found.extend(judge.between(other, part));
        }
    }
    found
}

/// How many indices each tensor is used with.
fn ranks(function: &Function) -> HashMap<&str, usize> {
    let mut ranks = HashMap::new();
    any_in_block(&function.body, &mut |node| {
        match node {
            Node::Expr(expr) => {
                if let ExprKind::Index { base, index } = &expr.kind {
                    ranks.insert(base.as_str(), index.len());
                }
            }
            Node::Stmt(stmt) => {
                if let StmtKind::LetExtents { names, base } = &stmt.kind {
                    ranks.insert(base.as_str(), names.len());
                }
            }
        }
        false
    });
    ranks
}

/// All made-up launches of a kernel. A task is named by its part and its place there.
struct Judge<'a> {
    samples: &'a [Vec<Part>],
    /// Of each task in each launch: whether its loops are long, and whether they have two iterations,
    /// those that ever do.
    tells: Vec<Vec<Vec<(bool, bool)>>>,
    /// What the accesses of each task have in common.
    profiles: Vec<Vec<Profiles>>,
}

impl<'a> Judge<'a> {
    fn new(samples: &'a [Vec<Part>]) -> Self {
        let of_task = |part: usize, task: usize| {
            let counts: Vec<Vec<i128>> = samples
                .iter()
                .map(|parts| parts[part].tasks[task].loops().map(|r| r.1 - r.0 + 1).collect())
                .collect();
            let mut most = counts[0].clone();
            for counts in &counts {
                most.iter_mut().zip(counts).for_each(|(most, count)| *most = (*most).max(*count));
            }
            let at_least = |counts: &[i128], long: i128| {
                counts.iter().zip(&most).all(|(count, most)| *count >= *most.min(&long))
            };
            counts.iter().map(|c| (at_least(c, LONG), at_least(c, 2))).collect()
        };
        let tells = samples.first().map_or(&[][..], Vec::as_slice).iter().enumerate();
        let tells = tells.map(|(at, part)| (0..part.tasks.len()).map(|t| of_task(at, t)).collect());
        let parts = samples.first().map_or(&[][..], Vec::as_slice).iter().enumerate();
        let profiles = parts.map(|(at, part)| {
            (0..part.tasks.len()).map(|task| Profiles::new(samples, [at, task])).collect()
        });
        let (tells, profiles) = (tells.collect(), profiles.collect());
        Self { samples, tells, profiles }
    }

    fn profiles(&self, [part, task]: [usize; 2]) -> &Profiles {
        &self.profiles[part][task]
    }

    fn task(&self, sample: usize, [part, task]: [usize; 2]) -> &'a Task {
        &self.samples[sample][part].tasks[task]
    }

    /// At most one rejection per tensor of a loop.
    fn in_loop(&self, at: [usize; 2]) -> Vec<Rejection> {
        let task = self.task(0, at);
        let mut found: Vec<(&str, Rejection)> = Vec::new();
        if task.dims.is_empty() {
            return Vec::new();
        }
        let accesses = &task.accesses;
        let (telling, judged, profiles) =
            (self.telling(&[at]), Judged::default(), self.profiles(at));
        let is_fine = |a: usize, b: usize| {
            !accesses[a].conflicts(&accesses[b])
                || judged.is_fine([profiles; 2], [a, b], || self.loop_is_fine(at, &telling, a, b))
        };
        // Two of one profile stand for all pairs of it, also for one with itself.
        let suspects = suspects(accesses, &profiles.first, &is_fine);
        let pairs = |itself: bool| {
            let pairs = suspects.iter().enumerate().flat_map(|(at, a)| {
                let others = if itself { &suspects[at..=at] } else { &suspects[at + 1..] };
                others.iter().map(|b| (*a, *b))
            });
            pairs.collect::<Vec<_>>()
        };
        // An access that races with itself says most.
        for (a, b) in pairs(true).into_iter().chain(pairs(false)) {
            let (first, second) = (&accesses[a], &accesses[b]);
            let known = found.iter().any(|(tensor, _)| *tensor == first.tensor);
            if known || is_fine(a, b) {
                continue;
            }
            let over = over(&task.names);
            let (span, rule) = if a == b {
                (first.span, Rule::RaceWithItself { access: first.text.clone(), over })
            } else {
                let (here, other) =
                    if second.kind.is_write() { (first, second) } else { (second, first) };
                (here.span, race_in_loop(here, other, over))
            };
            found.push((&first.tensor, Rejection { span, rule }));
        }
        found.into_iter().map(|(_, rejection)| rejection).collect()
    }

    /// Whether a launch may keep two accesses apart in different iterations.
    fn loop_is_fine(&self, at: [usize; 2], telling: &[usize], a: usize, b: usize) -> bool {
        let shifted = self.is_shift(at, a, b);
        telling.is_empty()
            || telling.iter().any(|&sample| {
                let task = self.task(sample, at);
                let (a, b) = (&task.accesses[a], &task.accesses[b]);
                if self.same_counter(at, a, b) || a.waits() || b.waits() {
                    return true;
                }
                let space = if shifted { self.stretched(sample, at) } else { task.space.clone() };
                let space = match a.phase {
                    Some(_) => space.with_fixed(&task.of_block),
                    None => space,
                };
                let [forms_a, forms_b] = Access::forms_in_loop([a, b]);
                disjoint_in_loop(&space, &forms_a, &forms_b)
            })
    }

    /// Whether a launch may keep two accesses of different blocks apart.
    fn blocks_are_fine(&self, at: [[usize; 2]; 2], telling: &[usize], a: usize, b: usize) -> bool {
        telling.is_empty()
            || telling.iter().any(|&sample| {
                let tasks = at.map(|at| self.task(sample, at));
                let (a, b) = (&tasks[0].accesses[a], &tasks[1].accesses[b]);
                let counter = self.same_counter(at[0], a, b);
                let disjoint = || disjoint(&tasks[0].space, a.forms(), &tasks[1].space, b.forms());
                counter || a.waits() || b.waits() || disjoint()
            })
    }

    /// At most one rejection per tensor of two blocks.
    fn between(&self, earlier: usize, later: usize) -> Vec<Rejection> {
        let [first, second] = [earlier, later].map(|part| &self.samples[0][part]);
        let mut found: Vec<(&str, Rejection)> = Vec::new();
        for (i, of_first) in first.tasks.iter().enumerate() {
            for (j, of_second) in second.tasks.iter().enumerate() {
                let at = [[earlier, i], [later, j]];
                let (telling, judged) = (self.telling(&at), Judged::default());
                let profiles = at.map(|at| self.profiles(at));
                let is_fine = |a: usize, b: usize| {
                    !of_first.accesses[a].conflicts(&of_second.accesses[b])
                        || judged
                            .is_fine(profiles, [a, b], || self.blocks_are_fine(at, &telling, a, b))
                };
                let [firsts, seconds] = profiles.map(|profiles| &profiles.first);
                if firsts.iter().all(|a| seconds.iter().all(|b| is_fine(*a, *b))) {
                    continue;
                }
                for (a, other) in of_first.accesses.iter().enumerate() {
                    for (b, here) in of_second.accesses.iter().enumerate() {
                        let known = found.iter().any(|(tensor, _)| *tensor == here.tensor);
                        if known || is_fine(a, b) {
                            continue;
                        }
                        let rule = Rule::RaceOfBlocks {
                            access: here.text.clone(),
                            verb: here.kind.verb(),
                            other: other.text.clone(),
                            other_verb: other.kind.verb_of_one(),
                            line: other.span.line,
                            block: first.span.line,
                        };
                        found.push((&here.tensor, Rejection { span: here.span, rule }));
                    }
                }
            }
        }
        found.into_iter().map(|(_, rejection)| rejection).collect()
    }

    /// The launches in which all loops are long enough to tell something, as far as they ever are.
    fn telling(&self, tasks: &[[usize; 2]]) -> Vec<usize> {
        let at_least = |long: bool| {
            let tells = |sample: &usize| {
                tasks.iter().all(|[part, task]| {
                    let (longest, longer) = self.tells[*part][*task][*sample];
                    if long { longest } else { longer }
                })
            };
            (0..self.samples.len()).filter(tells).collect::<Vec<_>>()
        };
        let long = at_least(true);
        if long.is_empty() { at_least(false) } else { long }
    }

    /// Whether two accesses are apart by a constant in the source: then only loops that happen to be
    /// short would be fine, and nobody means those.
    fn is_shift(&self, at: [usize; 2], a: usize, b: usize) -> bool {
        let accesses = &self.task(0, at).accesses;
        let (first_a, first_b) = (accesses[a].forms(), accesses[b].forms());
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
                let (a, b) = (&accesses[a].forms()[dim], &accesses[b].forms()[dim]);
                // The same coefficients, whatever the constant.
                if difference(a, b) != shift || difference(a, &first_a[dim]).is_none() {
                    return false;
                }
            }
        }
        shifted
    }

    /// The space of a loop with every range endless that the launch chooses.
    fn stretched(&self, sample: usize, at: [usize; 2]) -> Space {
        let task = self.task(sample, at);
        let mut space = task.space.clone();
        for (dim, &(first, last)) in task.dims.iter().enumerate() {
            if (0..self.samples.len()).any(|s| self.task(s, at).dims[dim] != (first, last)) {
                space.set(dim, Var::new(VarKind::Parallel, first, first + ENDLESS));
            }
        }
        space
    }

    /// Whether both accesses have an index that one counter gave, each number once: nothing else may
    /// touch the counter meanwhile.
    fn same_counter(&self, at: [usize; 2], a: &Access, b: &Access) -> bool {
        a.index.iter().zip(&b.index).any(|(a, b)| match (a, b) {
            (Value::Ticket(counter), Value::Ticket(other)) => {
                counter == other && self.is_counted(counter, at)
            }
            _ => false,
        })
    }

    fn is_counted(&self, counter: &Counter, [part, task]: [usize; 2]) -> bool {
        let parts = self.samples[0].iter().enumerate();
        let beside = parts.flat_map(|(at, of)| of.tasks.iter().map(move |task| (at, task)));
        let own = std::iter::once((part, self.task(0, [part, task])));
        beside.filter(|(at, _)| *at != part).chain(own).flat_map(|(_, task)| &task.accesses).all(
            |access| {
                !is_or_has(&access.tensor, &counter.tensor)
                    || !overlap(&access.fields, &counter.fields)
                    || access.kind == AccessKind::Count
            },
        )
    }
}

/// The accesses among which two are not fine: those of the tensors whose profiles, given by an access each, have such a
/// pair.
fn suspects(
    accesses: &[Access],
    profiles: &[usize],
    is_fine: &dyn Fn(usize, usize) -> bool,
) -> Vec<usize> {
    // Of a struct of tensors, by the struct's name.
    let root = |access: &'_ Access| access.tensor.split('.').next().unwrap_or_default().to_owned();
    let mut of_tensors: HashMap<String, Vec<usize>> = HashMap::new();
    for &at in profiles {
        of_tensors.entry(root(&accesses[at])).or_default().push(at);
    }
    of_tensors.retain(|_, its| {
        let is_changed = its.iter().any(|at| accesses[*at].kind.is_write());
        let mut pairs =
            its.iter().enumerate().flat_map(|(at, a)| its[at..].iter().map(move |b| (*a, *b)));
        is_changed && pairs.any(|(a, b)| !is_fine(a, b))
    });
    if of_tensors.is_empty() {
        return Vec::new();
    }
    (0..accesses.len()).filter(|at| of_tensors.contains_key(&root(&accesses[*at]))).collect()
}

fn race_in_loop(here: &Access, other: &Access, over: String) -> Rule {
    let advice = if here.phase.is_some() {
        "do one of them in a phase of its own"
    } else if here.kind.is_atomic() || other.kind.is_atomic() {
        "make both atomic, split the loop in two"
    } else if here.kind.is_write() {
        "write to two tensors, split the loop in two"
    } else {
        "read from one tensor and write to another, split the loop in two"
    };
    Rule::RaceInLoop {
        access: here.text.clone(),
        verb: here.kind.verb(),
        other: other.text.clone(),
        other_verb: other.kind.verb_of_one(),
        line: other.span.line,
        over,
        advice,
    }
}

/// "of `i` and `j` ", or nothing where no variable has a name.
fn over(names: &[String]) -> String {
    let names: Vec<String> = names
        .iter()
        .map(|name| name.trim_start_matches('_'))
        .filter(|name| !name.is_empty())
        .map(|name| format!("`{name}`"))
        .collect();
    if names.is_empty() { String::new() } else { format!("of {} ", names.join(", ")) }
}
