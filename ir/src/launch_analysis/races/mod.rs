//! The proof that a launch's tasks do not race: a small program over affine forms, made once per task,
//! evaluated per launch where the forms alone do not decide.
//!
//! The parameters are numbers by then, so what an index is computed from is a form of loop variables or
//! it is not; see [`crate::races`] for what two forms prove. Pairs of accesses that need no numbers,
//! such as all of `t[i]` and `t[[i, k]]`, are gone before the first launch.

mod build;

use smallvec::SmallVec;

use super::{Extents, HostPlan, prove::argument};
use crate::{
    BinaryOp, DivRemOp, GroupId, LocalId, MathFn, Offloaded, ParamId, ScalarType, SiteId, TaskId,
    UnaryOp,
    abi::ArgLayout,
    races::{Form, Space, Var, VarKind, apart, apart_in_loop},
};

type Slot = u32;
type Values = SmallVec<[Option<Form>; 24]>;
type Index = SmallVec<[Slot; 3]>;

/// Two accesses of which a launch cannot show that they never touch one element at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Race {
    /// The task of the first one.
    pub task: TaskId,
    /// What is touched.
    pub object: Touched,
    /// Where the two are; the same place where an access races with itself in another iteration.
    pub sites: [SiteId; 2],
    /// Why a counter, whose old values the two are indexed with, does not keep them apart.
    pub counter: Option<Overflow>,
}

/// A counter that may be counted up so often that its old values come again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Overflow {
    /// The counter's tensor.
    pub tensor: ParamId,
    /// How many different values it has, as a power of two.
    pub bits: u32,
    /// How often it is counted up at most; none where nothing is known of that.
    pub draws: Option<u128>,
}

/// What accesses of different threads touch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Touched {
    /// A tensor parameter.
    Tensor(ParamId),
    /// An array that the threads of a block share.
    Shared(LocalId),
}

/// The programs of all tasks, and the pairs of tasks of different blocks.
#[derive(Debug)]
pub(super) struct Races {
    tasks: Vec<TaskRaces>,
    across: Vec<Across>,
    counters: Vec<Counter>,
}

/// An element that is counted up in, whose old values are told apart: its index consists of arguments and
/// constants.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Counter {
    tensor: ParamId,
    /// The word of the tensor's first extent.
    extents: usize,
    index: Vec<Node>,
    /// How many bits it has, where a launch could count so far that numbers come again.
    wraps: Option<u32>,
}

/// An atomic operation on a counter's tensor, which each run of a task's body may execute more than once.
#[derive(Clone, Debug)]
struct Draw {
    tensor: ParamId,
    /// The inner loops around it.
    loops: SmallVec<[Repeat; 2]>,
}

/// How often an inner loop repeats its body.
#[derive(Clone, Copy, Debug)]
enum Repeat {
    Range {
        ty: ScalarType,
        begin: Slot,
        end: Slot,
    },
    /// Until it is left.
    Unknown,
}

/// Accesses to compare.
#[derive(Clone, Copy, Debug)]
struct Pair {
    accesses: [usize; 2],
    /// The counter that keeps them apart, where it counts.
    counter: Option<usize>,
}

#[derive(Debug, Default)]
struct TaskRaces {
    group: Option<GroupId>,
    /// How many dimensions the loop has, the threads of a block among them.
    dims: usize,
    /// How many threads a block has, where the task is one of blocks.
    threads: Option<u32>,
    /// The variables that all threads of a block have the same values of.
    of_block: Vec<usize>,
    steps: Vec<Node>,
    /// Inner loops' variables and unknown values, after those of the loop itself.
    vars: Vec<VarKind>,
    accesses: Vec<Access>,
    /// The accesses to compare between iterations.
    pairs: Vec<Pair>,
    /// What counts up in tensors whose elements are counters that could wrap.
    draws: Vec<Draw>,
}

#[derive(Debug)]
struct Across {
    tasks: [TaskId; 2],
    pairs: Vec<Pair>,
}

#[derive(Debug)]
struct Access {
    object: Touched,
    kind: AccessKind,
    index: Index,
    site: SiteId,
    /// The dimensions whose variable has a certain value here, and that value.
    pins: SmallVec<[(usize, Slot); 1]>,
    /// The phase that an access to a shared array stands in: a barrier separates it from others.
    phase: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AccessKind {
    Read,
    Write,
    Atomic,
}

/// What a slot is computed from; a step's slot is its own number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Node {
    Const(i128),
    Argument {
        word: usize,
        ty: ScalarType,
    },
    /// A variable of the parallel loop or an unknown value, by its place in the space.
    Var(usize),
    /// A variable of an inner loop.
    Inner {
        var: usize,
        ty: ScalarType,
        begin: Slot,
        end: Slot,
    },
    /// The old value of an atomic that counts up by one, by the local that keeps it: no other access to
    /// that counter gets the same.
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
    /// Whether two accesses of these kinds may touch one element at a time.
    const fn may_meet(self, other: Self) -> bool {
        matches!((self, other), (Self::Read, Self::Read) | (Self::Atomic, Self::Atomic))
    }
}

impl Races {
    pub(super) fn new(kernel: &Offloaded, layout: &ArgLayout) -> Self {
        build::races(kernel, layout)
    }

    /// The words of the argument block that are looked at, but for those that the loops' extents need.
    pub(super) fn inputs(&self) -> impl Iterator<Item = usize> {
        let steps = self.tasks.iter().flat_map(|task| &task.steps);
        let counters = self.counters.iter().flat_map(|counter| &counter.index);
        steps.chain(counters).filter_map(|step| match step {
            Node::Argument { word, .. } => Some(*word),
            _ => None,
        })
    }

    /// The first pair of accesses that the arguments do not keep apart.
    pub(super) fn first(&self, plan: &HostPlan, args: &[u64]) -> Option<Race> {
        for (at, task) in self.tasks.iter().enumerate() {
            if task.pairs.is_empty() {
                continue;
            }
            let id = TaskId::new(at as u32);
            let extents = plan.extents(id, args);
            if extents.is_empty() || extents.iterations() < 2 && task.threads.is_none() {
                continue;
            }
            let beside = |other: usize| other == at || self.tasks[other].group != task.group;
            let mut pairs = self.open(&task.pairs, plan, args, &beside).peekable();
            if pairs.peek().is_none() {
                continue;
            }
            let (space, values) = task.evaluate(args, &extents);
            let in_block = space.fixing(&task.of_block);
            for ([a, b], counter) in pairs {
                let (a, b) = (&task.accesses[a], &task.accesses[b]);
                let space = match a.object {
                    Touched::Tensor(_) => &space,
                    Touched::Shared(_) => &in_block,
                };
                let [forms_a, forms_b] = Access::forms_in_loop([a, b], &values);
                if !apart_in_loop(space, &forms_a, &forms_b) {
                    let sites = [a.site, b.site];
                    return Some(Race { task: id, object: a.object, sites, counter });
                }
            }
        }
        self.across.iter().find_map(|across| self.between(across, plan, args))
    }

    /// The pairs that no counter keeps apart, with the reason where one would if it had more bits.
    fn open<'a>(
        &'a self,
        pairs: &'a [Pair],
        plan: &'a HostPlan,
        args: &'a [u64],
        beside: &'a dyn Fn(usize) -> bool,
    ) -> impl Iterator<Item = ([usize; 2], Option<Overflow>)> + 'a {
        pairs.iter().filter_map(move |pair| {
            let Some(counter) = pair.counter.map(|at| &self.counters[at]) else {
                return Some((pair.accesses, None));
            };
            if !counter.is_inside(args) {
                return Some((pair.accesses, None));
            }
            self.overflow(counter, plan, args, beside)
                .map(|overflow| (pair.accesses, Some(overflow)))
        })
    }

    /// None where the counter gives each number once while these tasks run. Every operation on its tensor counts as if it
    /// were on this element.
    fn overflow(
        &self,
        counter: &Counter,
        plan: &HostPlan,
        args: &[u64],
        beside: &dyn Fn(usize) -> bool,
    ) -> Option<Overflow> {
        let bits = counter.wraps?;
        let tasks = self.tasks.iter().enumerate().filter(|(at, _)| beside(*at));
        let of_task = |(at, task): (usize, &TaskRaces)| {
            task.draws_from(counter.tensor, &plan.extents(TaskId::new(at as u32), args), args)
        };
        let draws = tasks.map(of_task).try_fold(0u128, |sum, draws| sum.checked_add(draws?));
        let fits = draws.is_some_and(|draws| draws <= 1 << bits);
        (!fits).then_some(Overflow { tensor: counter.tensor, bits, draws })
    }

    fn between(&self, across: &Across, plan: &HostPlan, args: &[u64]) -> Option<Race> {
        let [extents_a, extents_b] = across.tasks.map(|task| plan.extents(task, args));
        if extents_a.is_empty() || extents_b.is_empty() {
            return None;
        }
        let [task_a, task_b] = across.tasks.map(|task| &self.tasks[task.index()]);
        let mut pairs = self.open(&across.pairs, plan, args, &|_| true).peekable();
        pairs.peek()?;
        let (space_a, values_a) = task_a.evaluate(args, &extents_a);
        let (space_b, values_b) = task_b.evaluate(args, &extents_b);
        for ([a, b], counter) in pairs {
            let (a, b) = (&task_a.accesses[a], &task_b.accesses[b]);
            if !apart(&space_a, &a.forms(&values_a), &space_b, &b.forms(&values_b)) {
                let task = across.tasks[0];
                return Some(Race { task, object: a.object, sites: [a.site, b.site], counter });
            }
        }
        None
    }
}

impl Counter {
    /// Whether it is an element of its tensor: where it is out of range, all get a zero.
    fn is_inside(&self, args: &[u64]) -> bool {
        self.index.iter().zip(&args[self.extents..]).all(|(node, extent)| {
            let index = match *node {
                Node::Const(value) => Some(value),
                Node::Argument { word, ty } => argument(args[word], ty).value(),
                _ => None,
            };
            index.is_some_and(|index| (0..i128::from(*extent)).contains(&index))
        })
    }
}

impl Access {
    /// The forms of two accesses of one loop. A variable that a condition pins to one value in both is as
    /// good as a further index.
    fn forms_in_loop(pair: [&Self; 2], values: &Values) -> [SmallVec<[Option<Form>; 3]>; 2] {
        pair.map(|access| {
            let mut forms = access.forms(values);
            forms.extend(pair[0].common_pins(pair[1]).map(|dim| Some(Form::var(dim))));
            forms
        })
    }

    /// The dimensions that both accesses have at the same value.
    fn common_pins(&self, other: &Self) -> impl Iterator<Item = usize> {
        self.pins.iter().filter(|pin| other.pins.contains(pin)).map(|(dim, _)| *dim)
    }

    fn forms(&self, values: &Values) -> SmallVec<[Option<Form>; 3]> {
        self.index.iter().map(|slot| values[*slot as usize]).collect()
    }
}

impl TaskRaces {
    /// How often its body runs.
    fn times(&self, extents: &Extents) -> u64 {
        extents.iterations().saturating_mul(u64::from(self.threads.unwrap_or(1)))
    }

    /// How often it counts up in a tensor at most; none where that is unknown.
    fn draws_from(&self, tensor: ParamId, extents: &Extents, args: &[u64]) -> Option<u128> {
        let mut draws = self.draws.iter().filter(|draw| draw.tensor == tensor).peekable();
        if draws.peek().is_none() || extents.is_empty() {
            return Some(0);
        }
        let times = u128::from(self.times(extents));
        let (space, values) = self.evaluate(args, extents);
        let each = |draw: &Draw| {
            let mut repeats = draw.loops.iter().map(|repeat| repeat.most(&space, &values));
            repeats.try_fold(times, |product, repeats| product.checked_mul(repeats?))
        };
        draws.map(each).try_fold(0u128, |sum, draws| sum.checked_add(draws?))
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

impl Repeat {
    /// The most iterations it may have.
    fn most(self, space: &Space, values: &Values) -> Option<u128> {
        let Self::Range { ty, begin, end } = self else { return None };
        let all = ty.int_range()?;
        let of = |slot: Slot| values[slot as usize].and_then(|form| exact(space, &form, ty));
        // The bounds depend on the same iteration: a constant distance is more than the ends of their ranges say.
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
    fn evaluate(self, args: &[u64], space: &mut Space, values: &Values) -> Option<Form> {
        let get = |slot: Slot| values[slot as usize];
        match self {
            Self::Const(value) => Some(Form::constant(value)),
            Self::Argument { word, ty } => argument(args[word], ty).value().map(Form::constant),
            Self::Var(at) => Some(Form::var(at)),
            Self::Inner { var, ty, begin, end } => {
                let (all, (begin, end)) = (ty.int_range()?, (get(begin), get(end)));
                let first = begin.and_then(|form| exact(space, &form, ty)).map_or(all.0, |r| r.0);
                let last = end.and_then(|form| exact(space, &form, ty)).map_or(all.1, |r| r.1 - 1);
                space.set(var, Var::new(VarKind::Inner, first, last));
                Some(Form::var(var))
            }
            Self::Ticket { .. } | Self::Opaque => None,
            Self::Unary(op, ty, a) => match op {
                UnaryOp::Neg => Form::constant(0).sub(get(a)?),
                UnaryOp::Not if ty == ScalarType::Bool => Form::constant(1).sub(get(a)?),
                // Also modulo the type's size.
                UnaryOp::Not => Form::constant(-1).sub(get(a)?),
                UnaryOp::CountOnes | UnaryOp::LeadingZeros | UnaryOp::TrailingZeros => None,
            },
            Self::Abs(ty, a) => {
                let form = get(a)?;
                let (lo, hi) = exact(space, &form, ty)?;
                if lo >= 0 {
                    Some(form)
                } else if hi <= 0 {
                    Form::constant(0).sub(form)
                } else {
                    None
                }
            }
            Self::Binary(op, ty, a, b) => binary(op, ty, get(a)?, get(b)?, space),
            Self::DivRem(op, ty, a, b) => {
                let (a, b) = (get(a)?, get(b)?);
                exact(space, &a, ty)?;
                exact(space, &b, ty)?;
                let (quotient, remainder) = space.div_rem(a, b.value()?)?;
                Some(if op == DivRemOp::Div { quotient } else { remainder })
            }
            Self::Limit(function, ty, a, b) => {
                let (a, b) = (get(a)?, get(b)?);
                exact(space, &a, ty)?;
                exact(space, &b, ty)?;
                if function == MathFn::Min { space.min(a, b) } else { space.max(a, b) }
            }
            Self::Select(cond, then, otherwise) => match get(cond)?.value()? {
                0 => get(otherwise),
                _ => get(then),
            },
            Self::Cast { from, to, value } => {
                let form = get(value)?;
                if to.size() > from.size() {
                    exact(space, &form, from)?;
                }
                Some(form)
            }
        }
    }
}

/// The range of a form that is the value itself, and not only the value modulo the type's size.
fn exact(space: &Space, form: &Form, ty: ScalarType) -> Option<(i128, i128)> {
    let (all, range) = (ty.int_range().unwrap_or((0, 1)), space.range(form)?);
    (range.0 >= all.0 && range.1 <= all.1).then_some(range)
}

/// `ty` is the type of the left operand.
fn binary(op: BinaryOp, ty: ScalarType, a: Form, b: Form, space: &Space) -> Option<Form> {
    let truth = |surely: bool, never: bool| {
        if surely || never { Some(Form::constant(i128::from(surely))) } else { None }
    };
    let bits = 8 * ty.size() as u32;
    match op {
        // These are right modulo the type's size whatever wraps.
        BinaryOp::Add => return a.add(b),
        BinaryOp::Sub => return a.sub(b),
        BinaryOp::Mul => return a.mul(b),
        BinaryOp::Shl => {
            let count = u32::try_from(b.value()?.rem_euclid(i128::from(bits))).ok()?;
            return a.mul(Form::constant(1 << count));
        }
        _ => {}
    }
    let (x, y) = (exact(space, &a, ty)?, exact(space, &b, ty).unwrap_or((1, 0)));
    match op {
        BinaryOp::Shr => {
            let count = u32::try_from(b.value()?.rem_euclid(i128::from(bits))).ok()?;
            a.value().map(|value| Form::constant(value >> count))
        }
        _ if y.0 > y.1 => None,
        BinaryOp::And => Some(Form::constant(a.value()? & b.value()?)),
        BinaryOp::Or => Some(Form::constant(a.value()? | b.value()?)),
        BinaryOp::Xor => Some(Form::constant(a.value()? ^ b.value()?)),
        BinaryOp::Lt => truth(x.1 < y.0, x.0 >= y.1),
        BinaryOp::Le => truth(x.1 <= y.0, x.0 > y.1),
        BinaryOp::Gt => truth(x.0 > y.1, x.1 <= y.0),
        BinaryOp::Ge => truth(x.0 >= y.1, x.1 < y.0),
        BinaryOp::Eq => truth(x == y && x.0 == x.1, x.1 < y.0 || y.1 < x.0),
        BinaryOp::Ne => truth(x.1 < y.0 || y.1 < x.0, x == y && x.0 == x.1),
        _ => None,
    }
}
