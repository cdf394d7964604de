//! The program of the race check, and its evaluation in a launch.

use smallvec::SmallVec;

use crate::{
    Array, BinaryOp, DivRemOp, GroupId, MathFn, ParamId, ScalarType, SiteId, TaskId, UnaryOp,
    launch_analysis::{extents::Extents, interval::Interval},
    races::{AffineForm, Space, Var, VarKind, disjoint, disjoint_in_loop},
};

pub(super) type Slot = u32;
pub(super) type Values = SmallVec<[Option<AffineForm>; 24]>;
pub(super) type Index = SmallVec<[Slot; 3]>;
/// The bounds of a task's loop in the launch.
type ExtentsOf<'a> = &'a dyn Fn(TaskId) -> Extents;

/// A race: two accesses that may touch the same element at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Race {
    /// The task of the first access.
    pub task: TaskId,
    /// The accessed object.
    pub object: Array,
    /// The sites of the two accesses. They are equal if an access races with itself in another iteration.
    pub sites: [SiteId; 2],
    /// If both accesses are indexed by tickets of a counter: why the tickets may repeat.
    pub counter: Option<Overflow>,
}

/// A counter that may overflow, so that its tickets repeat.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Overflow {
    /// The counter's tensor.
    pub tensor: ParamId,
    /// The number of bits of the counter.
    pub bits: u32,
    /// The maximum number of increments; none if it is unknown.
    pub increments: Option<u128>,
}

/// The race check of a kernel: a program for each task, and the pairs of tasks that run concurrently.
#[derive(Debug)]
pub(crate) struct Races {
    pub(super) tasks: Vec<TaskRaces>,
    pub(super) task_pairs: Vec<TaskPair>,
    pub(super) counters: Vec<Counter>,
}

/// An element that is only incremented, so that the old values are unique tickets. Its index consists of arguments and
/// constants.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Counter {
    pub(super) tensor: ParamId,
    /// The word of the tensor's first extent.
    pub(super) extents: usize,
    pub(super) index: Vec<Node>,
    /// The number of bits, if a launch could count far enough to overflow.
    pub(super) overflow_bits: Option<u32>,
}

/// An atomic increment of a counter's tensor, which one iteration may execute several times.
#[derive(Clone, Debug)]
pub(super) struct CounterIncrement {
    pub(super) tensor: ParamId,
    /// The inner loops around it.
    pub(super) loops: SmallVec<[TripCount; 2]>,
}

/// The trip count of an inner loop.
#[derive(Clone, Copy, Debug)]
pub(super) enum TripCount {
    Range {
        ty: ScalarType,
        begin: Slot,
        end: Slot,
    },
    /// A `loop`, which runs until a `break`.
    Unknown,
}

/// Two accesses to compare.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub(super) accesses: [usize; 2],
    /// The counter whose tickets index both accesses, if there is one. They are disjoint unless it overflows.
    pub(super) counter: Option<usize>,
}

#[derive(Debug, Default)]
pub(super) struct TaskRaces {
    pub(super) group: Option<GroupId>,
    /// The number of parallel dimensions, including the threads of a block.
    pub(super) dims: usize,
    /// The number of threads per block of a block loop.
    pub(super) threads: Option<u32>,
    /// The variables that are equal for all threads of a block.
    pub(super) block_uniform: Vec<usize>,
    pub(super) steps: Vec<Node>,
    /// The variables after those of the parallel loop: of inner loops, and unknown values.
    pub(super) vars: Vec<VarKind>,
    pub(super) accesses: Vec<Access>,
    /// The pairs of accesses to compare between iterations.
    pub(super) pairs: Vec<Pair>,
    /// The increments of tensors with counters that could overflow.
    pub(super) increments: Vec<CounterIncrement>,
}

#[derive(Debug)]
pub(super) struct TaskPair {
    pub(super) tasks: [TaskId; 2],
    pub(super) pairs: Vec<Pair>,
}

#[derive(Debug)]
pub(super) struct Access {
    pub(super) object: Array,
    pub(super) kind: AccessKind,
    pub(super) index: Index,
    pub(super) site: SiteId,
    /// The parallel dimensions that a condition pins to one value here.
    pub(super) pins: Pins,
    /// The phase of an access to a shared array. Barriers separate phases.
    pub(super) phase: usize,
}

pub(super) type Pins = SmallVec<[Pin; 1]>;

/// A condition `value == with`, where `value` is a variable of the parallel loop plus a uniform offset, and `with` is
/// uniform: it holds in one iteration of that dimension at most, the same one wherever the condition stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pin {
    pub(super) dim: usize,
    pub(super) value: Slot,
    pub(super) with: Slot,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AccessKind {
    Read,
    Write,
    Atomic,
}

/// The operation that computes a slot. Step `i` computes slot `i`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Node {
    Const(i128),
    Argument {
        word: usize,
        ty: ScalarType,
    },
    /// A variable of the parallel loop or an unknown value, by its index in the space.
    Var(usize),
    /// A variable of an inner loop. It is below both ends.
    Inner {
        var: usize,
        ty: ScalarType,
        begin: Slot,
        ends: [Slot; 2],
    },
    /// The old value of an atomic increment, by the local that holds it. No other increment of the counter returns the
    /// same value.
    Ticket {
        counter: usize,
        local: u32,
    },
    Opaque,
    Unary(UnaryOp, ScalarType, Slot),
    Abs(ScalarType, Slot),
    Binary(BinaryOp, ScalarType, Slot, Slot),
    DivRem(DivRemOp, ScalarType, Slot, Slot),
    Limit(MathFn, ScalarType, Slot, Slot),
    Select(Slot, Slot, Slot),
    Cast {
        from: ScalarType,
        to: ScalarType,
        value: Slot,
    },
}

impl AccessKind {
    /// Whether accesses of these kinds to the same element do not race.
    pub(super) const fn is_compatible_with(self, other: Self) -> bool {
        matches!((self, other), (Self::Read, Self::Read) | (Self::Atomic, Self::Atomic))
    }
}

impl Races {
    /// The words of the argument block that the check depends on, except those of the loops' extents.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = usize> {
        let steps = self.tasks.iter().flat_map(|task| &task.steps);
        let counters = self.counters.iter().flat_map(|counter| &counter.index);
        steps.chain(counters).filter_map(|step| match step {
            Node::Argument { word, .. } => Some(*word),
            _ => None,
        })
    }

    /// The first pair of accesses that may race.
    pub(crate) fn find(&self, extents_of: ExtentsOf<'_>, args: &[u64]) -> Option<Race> {
        for (at, task) in self.tasks.iter().enumerate() {
            if task.pairs.is_empty() {
                continue;
            }
            let id = TaskId::new(at as u32);
            let extents = extents_of(id);
            if extents.is_empty() || extents.iterations() < 2 && task.threads.is_none() {
                continue;
            }
            let concurrent = |other: usize| other == at || self.tasks[other].group != task.group;
            let mut pairs =
                self.undecided_pairs(&task.pairs, extents_of, args, &concurrent).peekable();
            if pairs.peek().is_none() {
                continue;
            }
            let (space, values) = task.evaluate(args, &extents);
            let in_block = space.with_fixed(&task.block_uniform);
            for ([a, b], counter) in pairs {
                let (a, b) = (&task.accesses[a], &task.accesses[b]);
                let space = match a.object {
                    Array::Tensor(_) => &space,
                    Array::Shared(_) => &in_block,
                };
                let [forms_a, forms_b] = Access::forms_in_loop([a, b], &values);
                if !disjoint_in_loop(space, &forms_a, &forms_b) {
                    let sites = [a.site, b.site];
                    return Some(Race { task: id, object: a.object, sites, counter });
                }
            }
        }
        self.task_pairs.iter().find_map(|task_pair| self.find_between(task_pair, extents_of, args))
    }

    /// The pairs that are not separated by a counter. If a counter fails only because it may overflow, the second value
    /// is the reason.
    fn undecided_pairs<'a>(
        &'a self,
        pairs: &'a [Pair],
        extents_of: ExtentsOf<'a>,
        args: &'a [u64],
        concurrent: &'a dyn Fn(usize) -> bool,
    ) -> impl Iterator<Item = ([usize; 2], Option<Overflow>)> + 'a {
        pairs.iter().filter_map(move |pair| {
            let Some(counter) = pair.counter.map(|at| &self.counters[at]) else {
                return Some((pair.accesses, None));
            };
            if !counter.is_inside(args) {
                return Some((pair.accesses, None));
            }
            self.overflow(counter, extents_of, args, concurrent)
                .map(|overflow| (pair.accesses, Some(overflow)))
        })
    }

    /// None if the counter returns each value at most once while these tasks run. All increments of its tensor count as
    /// increments of this element.
    fn overflow(
        &self,
        counter: &Counter,
        extents_of: ExtentsOf<'_>,
        args: &[u64],
        concurrent: &dyn Fn(usize) -> bool,
    ) -> Option<Overflow> {
        let bits = counter.overflow_bits?;
        let tasks = self.tasks.iter().enumerate().filter(|(at, _)| concurrent(*at));
        let of_task = |(at, task): (usize, &TaskRaces)| {
            task.increments_of(counter.tensor, &extents_of(TaskId::new(at as u32)), args)
        };
        let increments =
            tasks.map(of_task).try_fold(0u128, |sum, increments| sum.checked_add(increments?));
        let fits = increments.is_some_and(|increments| increments <= 1 << bits);
        (!fits).then_some(Overflow { tensor: counter.tensor, bits, increments })
    }

    fn find_between(
        &self,
        task_pair: &TaskPair,
        extents_of: ExtentsOf<'_>,
        args: &[u64],
    ) -> Option<Race> {
        let [extents_a, extents_b] = task_pair.tasks.map(extents_of);
        if extents_a.is_empty() || extents_b.is_empty() {
            return None;
        }
        let [task_a, task_b] = task_pair.tasks.map(|task| &self.tasks[task.index()]);
        let mut pairs =
            self.undecided_pairs(&task_pair.pairs, extents_of, args, &|_| true).peekable();
        pairs.peek()?;
        let (space_a, values_a) = task_a.evaluate(args, &extents_a);
        let (space_b, values_b) = task_b.evaluate(args, &extents_b);
        for ([a, b], counter) in pairs {
            let (a, b) = (&task_a.accesses[a], &task_b.accesses[b]);
            if !disjoint(&space_a, &a.forms(&values_a), &space_b, &b.forms(&values_b)) {
                let task = task_pair.tasks[0];
                return Some(Race { task, object: a.object, sites: [a.site, b.site], counter });
            }
        }
        None
    }
}

impl Counter {
    /// Whether the counter is in bounds. Out of range, every increment returns zero.
    fn is_inside(&self, args: &[u64]) -> bool {
        self.index.iter().zip(&args[self.extents..]).all(|(node, extent)| {
            let index = match *node {
                Node::Const(value) => Some(value),
                Node::Argument { word, ty } => Interval::of_argument(args[word], ty).value(),
                _ => None,
            };
            index.is_some_and(|index| (0..i128::from(*extent)).contains(&index))
        })
    }
}

impl Access {
    /// The affine forms of the indices of two accesses in one loop. A variable that a condition pins to the same value
    /// in both acts as an additional index.
    fn forms_in_loop(pair: [&Self; 2], values: &Values) -> [SmallVec<[Option<AffineForm>; 3]>; 2] {
        pair.map(|access| {
            let mut forms = access.forms(values);
            forms.extend(pair[0].common_pins(pair[1]).map(|dim| Some(AffineForm::var(dim))));
            forms
        })
    }

    /// The dimensions that are pinned to the same value in both accesses.
    pub(super) fn common_pins(&self, other: &Self) -> impl Iterator<Item = usize> {
        self.pins.iter().filter(|pin| other.pins.contains(pin)).map(|pin| pin.dim)
    }

    fn forms(&self, values: &Values) -> SmallVec<[Option<AffineForm>; 3]> {
        self.index.iter().map(|slot| values[*slot as usize]).collect()
    }
}

impl TaskRaces {
    /// How often the body runs, counting threads.
    fn runs(&self, extents: &Extents) -> u64 {
        extents.iterations().saturating_mul(u64::from(self.threads.unwrap_or(1)))
    }

    /// The maximum number of increments of a tensor; none if unknown.
    fn increments_of(&self, tensor: ParamId, extents: &Extents, args: &[u64]) -> Option<u128> {
        let mut increments =
            self.increments.iter().filter(|increment| increment.tensor == tensor).peekable();
        if increments.peek().is_none() || extents.is_empty() {
            return Some(0);
        }
        let runs = u128::from(self.runs(extents));
        let (space, values) = self.evaluate(args, extents);
        let count = |increment: &CounterIncrement| {
            let mut trip_counts =
                increment.loops.iter().map(|trip_count| trip_count.max(&space, &values));
            trip_counts.try_fold(runs, |product, count| product.checked_mul(count?))
        };
        increments.map(count).try_fold(0u128, |sum, increments| sum.checked_add(increments?))
    }

    fn evaluate(&self, args: &[u64], extents: &Extents) -> (Space, Values) {
        let mut space = Space::new();
        for &(begin, end) in extents.dims() {
            space.push(Var::new(VarKind::Parallel, begin, end - 1));
        }
        if let Some(threads) = self.threads {
            space.push(Var::new(VarKind::Parallel, 0, i128::from(threads) - 1));
        }
        for kind in &self.vars {
            space.push(Var::new(*kind, 0, (1 << 64) - 1));
        }
        let mut values = Values::new();
        for step in &self.steps {
            let value = step.evaluate(args, &mut space, &values);
            values.push(value);
        }
        (space, values)
    }
}

impl TripCount {
    /// The maximum trip count; none if unknown.
    fn max(self, space: &Space, values: &Values) -> Option<u128> {
        let Self::Range { ty, begin, end } = self else { return None };
        let all = ty.int_range()?;
        let of = |slot: Slot| values[slot as usize].and_then(|form| exact_range(space, &form, ty));
        // Both bounds depend on the same iteration, so their difference may be more precise than their ranges.
        let (begin_form, end_form) = (values[begin as usize], values[end as usize]);
        let exact_both = of(begin).is_some() && of(end).is_some();
        let distance = begin_form.zip(end_form).filter(|_| exact_both);
        let distance = distance.and_then(|(begin, end)| space.range(&end.sub(begin)?));
        let around = of(end).unwrap_or(all).1 - of(begin).unwrap_or(all).0;
        let most = distance.map_or(around, |(_, most)| most.min(around));
        Some(most.max(0).unsigned_abs())
    }
}

impl Node {
    fn evaluate(self, args: &[u64], space: &mut Space, values: &Values) -> Option<AffineForm> {
        let get = |slot: Slot| values[slot as usize];
        match self {
            Self::Const(value) => Some(AffineForm::constant(value)),
            Self::Argument { word, ty } => {
                Interval::of_argument(args[word], ty).value().map(AffineForm::constant)
            }
            Self::Var(at) => Some(AffineForm::var(at)),
            Self::Inner { var, ty, begin, ends } => {
                let all = ty.int_range()?;
                let exact = |slot| {
                    let form = get(slot)?;
                    Some((form, exact_range(space, &form, ty)?))
                };
                let (begin, ends) = (exact(begin), ends.map(exact));
                let ends = || ends.iter().flatten();
                // A chunk: its length is constant, and its begin depends on other loop variables.
                if let Some((begin, _)) = begin
                    && begin.value().is_none()
                    && let Some(len) = ends().filter_map(|(end, _)| end.sub(begin)?.value()).min()
                {
                    space.set(var, Var::new(VarKind::Inner, 0, len - 1));
                    return begin.add(AffineForm::var(var));
                }
                let first = begin.map_or(all.0, |(_, range)| range.0);
                let last = ends().map(|(_, range)| range.1 - 1).min().unwrap_or(all.1);
                space.set(var, Var::new(VarKind::Inner, first, last));
                Some(AffineForm::var(var))
            }
            Self::Ticket { .. } | Self::Opaque => None,
            Self::Unary(op, ty, a) => match op {
                UnaryOp::Neg => AffineForm::constant(0).sub(get(a)?),
                UnaryOp::Not if ty == ScalarType::Bool => AffineForm::constant(1).sub(get(a)?),
                // Also correct modulo the type's size.
                UnaryOp::Not => AffineForm::constant(-1).sub(get(a)?),
                UnaryOp::CountOnes | UnaryOp::LeadingZeros | UnaryOp::TrailingZeros => None,
            },
            Self::Abs(ty, a) => {
                let form = get(a)?;
                let (lo, hi) = exact_range(space, &form, ty)?;
                if lo >= 0 {
                    Some(form)
                } else if hi <= 0 {
                    AffineForm::constant(0).sub(form)
                } else {
                    None
                }
            }
            Self::Binary(op, ty, a, b) => binary(op, ty, get(a)?, get(b)?, space),
            Self::DivRem(op, ty, a, b) => {
                let (a, b) = (get(a)?, get(b)?);
                exact_range(space, &a, ty)?;
                exact_range(space, &b, ty)?;
                let (quotient, remainder) = space.div_rem(a, b.value()?)?;
                Some(if op == DivRemOp::Div { quotient } else { remainder })
            }
            Self::Limit(function, ty, a, b) => {
                let (a, b) = (get(a)?, get(b)?);
                exact_range(space, &a, ty)?;
                exact_range(space, &b, ty)?;
                if function == MathFn::Min { space.min(a, b) } else { space.max(a, b) }
            }
            Self::Select(cond, then, otherwise) => match get(cond)?.value()? {
                0 => get(otherwise),
                _ => get(then),
            },
            Self::Cast { from, to, value } => {
                let form = get(value)?;
                if to.size() > from.size() {
                    exact_range(space, &form, from)?;
                }
                Some(form)
            }
        }
    }
}

/// The range of a form whose value is exact, not only correct modulo the type's size.
fn exact_range(space: &Space, form: &AffineForm, ty: ScalarType) -> Option<(i128, i128)> {
    let (all, range) = (ty.int_range().unwrap_or((0, 1)), space.range(form)?);
    (range.0 >= all.0 && range.1 <= all.1).then_some(range)
}

/// Evaluates a binary operator. `ty` is the type of the left operand.
fn binary(
    op: BinaryOp,
    ty: ScalarType,
    a: AffineForm,
    b: AffineForm,
    space: &Space,
) -> Option<AffineForm> {
    let truth = |surely: bool, never: bool| {
        if surely || never { Some(AffineForm::constant(i128::from(surely))) } else { None }
    };
    let bits = 8 * ty.size() as u32;
    match op {
        // These are correct modulo the type's size, even if they wrap.
        BinaryOp::Add => return a.add(b),
        BinaryOp::Sub => return a.sub(b),
        BinaryOp::Mul => return a.mul(b),
        BinaryOp::Shl => {
            let count = u32::try_from(b.value()?.rem_euclid(i128::from(bits))).ok()?;
            return a.mul(AffineForm::constant(1 << count));
        }
        _ => {}
    }
    let (x, y) = (exact_range(space, &a, ty)?, exact_range(space, &b, ty).unwrap_or((1, 0)));
    match op {
        BinaryOp::Shr => {
            let count = u32::try_from(b.value()?.rem_euclid(i128::from(bits))).ok()?;
            a.value().map(|value| AffineForm::constant(value >> count))
        }
        _ if y.0 > y.1 => None,
        BinaryOp::And => Some(AffineForm::constant(a.value()? & b.value()?)),
        BinaryOp::Or => Some(AffineForm::constant(a.value()? | b.value()?)),
        BinaryOp::Xor => Some(AffineForm::constant(a.value()? ^ b.value()?)),
        BinaryOp::Lt => truth(x.1 < y.0, x.0 >= y.1),
        BinaryOp::Le => truth(x.1 <= y.0, x.0 > y.1),
        BinaryOp::Gt => truth(x.0 > y.1, x.1 <= y.0),
        BinaryOp::Ge => truth(x.0 >= y.1, x.1 < y.0),
        BinaryOp::Eq => truth(x == y && x.0 == x.1, x.1 < y.0 || y.1 < x.0),
        BinaryOp::Ne => truth(x.1 < y.0 || y.1 < x.0, x == y && x.0 == x.1),
        _ => None,
    }
}
