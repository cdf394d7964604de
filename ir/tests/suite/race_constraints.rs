//! The solver of the race check against an enumeration of all iterations: random programs of small integer types, with
//! conditions, tickets, elements that differ and values that only the device knows.

use std::cell::Cell;

use quadrants_ir::{
    BinaryOp, DivRemOp, MathFn, ScalarType, UnaryOp,
    races::{
        Condition, ConditionalAccess, Counter, Index, LoopContext, MAX_WORK, NodeId, TensorRead,
        TicketSource, Uniformity, ValueGraph, ValueGraphBuilder, ValueNode, Var, VarKind, VarSpace,
        refuted_in_loop,
    },
};
use quadrants_samples::generate::Rng;

const U8: Option<ScalarType> = Some(ScalarType::U8);
const I8: Option<ScalarType> = Some(ScalarType::I8);
const BOOL: Option<ScalarType> = Some(ScalarType::Bool);

/// A loop whose body computes indices under conditions.
struct Random {
    builder: ValueGraphBuilder,
    dims: Vec<(i128, i128)>,
    /// The numbers, by type.
    u8s: Vec<NodeId>,
    i8s: Vec<NodeId>,
    bools: Vec<NodeId>,
    loops: Vec<Condition>,
}

/// The values of the variables in one iteration.
struct Iteration<'a> {
    dims: &'a [i128],
    seed: u64,
    launch: u64,
    tickets: &'a [i128],
}

fn wrap(value: i128, ty: Option<ScalarType>) -> i128 {
    match ty {
        Some(ScalarType::U8) => i128::from(value as u8),
        Some(ScalarType::I8) => i128::from(value as i8),
        Some(ScalarType::Bool) => value & 1,
        _ => value,
    }
}

fn hash(a: u64, b: u64) -> u64 {
    let mut x = a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b.wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
    x ^= x >> 29;
    x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^ x >> 32
}

/// An element of a permutation of all bytes.
fn element(permutation: u64, at: i128) -> i128 {
    let [a, b, c, d, ..] = permutation.to_le_bytes();
    let mixed = (at as u8 ^ a).wrapping_mul(b | 1).rotate_left(3);
    (mixed.wrapping_add(c).wrapping_mul(d | 1) ^ a).into()
}

/// The values of all nodes in an iteration. None if a loop variable has no value.
fn values(graph: &ValueGraph, at: &Iteration<'_>) -> Option<Vec<i128>> {
    let mut values: Vec<i128> = Vec::new();
    for (id, node) in graph.nodes.iter().enumerate() {
        let get = |id: NodeId| values[id as usize];
        let drawn = |seed: u64| i128::from(hash(seed, id as u64));
        let value = match *node {
            ValueNode::Const(value) => value,
            ValueNode::Var(dim) => at.dims[dim],
            ValueNode::Inner { begin, end, .. } => {
                let (begin, end) = (get(begin), get(end));
                if end <= begin {
                    return None;
                }
                begin + drawn(at.seed) % (end - begin)
            }
            ValueNode::Unknown { .. }
                if let Some(value) = read_value(graph, id, at.launch, &get) =>
            {
                value
            }
            ValueNode::Unknown { uniformity: Uniformity::Loop, ty, .. } => {
                wrap(drawn(at.launch) % 12, ty)
            }
            ValueNode::Unknown { ty, .. } => wrap(drawn(at.seed) % 12, ty),
            ValueNode::Ticket { counter, .. } => at.tickets[counter],
            ValueNode::Distinct(read) => {
                let read = &graph.distinct[read];
                let mut flat = Some(0);
                for (dim, id) in read.index.iter().enumerate() {
                    let extent = read.extents.get(dim).map_or(256, |extent| get(*extent));
                    let is_inside = (0..extent).contains(&get(*id));
                    flat = flat.filter(|_| is_inside).map(|flat| flat * extent + get(*id));
                }
                flat.map_or(0, |flat| element(hash(at.launch, read.tensor.into()), flat))
            }
            ValueNode::Unary(UnaryOp::Neg, ty, a) => wrap(-get(a), ty),
            ValueNode::Unary(UnaryOp::Not, ty, a) => wrap(!get(a), ty),
            ValueNode::Unary(UnaryOp::ReverseBits, ty, a) => {
                wrap((get(a) as u8).reverse_bits().into(), ty)
            }
            ValueNode::Abs(ty, a) => wrap(get(a).abs(), ty),
            ValueNode::Binary(op, ty, a, b) => binary(op, ty, get(a), get(b)),
            ValueNode::DivRem(op, ty, a, b) => match (op, get(b)) {
                (_, 0) => 0,
                (DivRemOp::Div, b) => wrap(get(a) / b, ty),
                (DivRemOp::Rem, b) => wrap(get(a) % b, ty),
            },
            ValueNode::Limit(MathFn::Min, _, a, b) => get(a).min(get(b)),
            ValueNode::Limit(_, _, a, b) => get(a).max(get(b)),
            ValueNode::Select(cond, a, b) => get(if get(cond) != 0 { a } else { b }),
            ValueNode::Cast { to, value, .. } => wrap(get(value), to),
            _ => unreachable!("not drawn"),
        };
        values.push(value);
    }
    Some(values)
}

/// The value of a node that reads an element of a tensor, which has few different ones.
fn read_value(
    graph: &ValueGraph,
    id: usize,
    launch: u64,
    get: &dyn Fn(NodeId) -> i128,
) -> Option<i128> {
    let (_, read) = graph.reads.iter().find(|(load, _)| *load as usize == id)?;
    let at = read.index.iter().fold(read.tensor.into(), |at, id| hash(at, get(*id) as u64));
    Some(i128::from(hash(launch, at) % 4))
}

fn binary(op: BinaryOp, ty: Option<ScalarType>, a: i128, b: i128) -> i128 {
    match op {
        BinaryOp::Add => wrap(a + b, ty),
        BinaryOp::Sub => wrap(a - b, ty),
        BinaryOp::Mul => wrap(a * b, ty),
        BinaryOp::And => wrap(a & b, ty),
        BinaryOp::Or => wrap(a | b, ty),
        BinaryOp::Xor => wrap(a ^ b, ty),
        BinaryOp::Shl => wrap(a << (b & 7), ty),
        BinaryOp::Shr => wrap(a >> (b & 7), ty),
        BinaryOp::Eq => (a == b).into(),
        BinaryOp::Ne => (a != b).into(),
        BinaryOp::Lt => (a < b).into(),
        BinaryOp::Le => (a <= b).into(),
        BinaryOp::Gt => (a > b).into(),
        BinaryOp::Ge => (a >= b).into(),
        _ => unreachable!("not drawn"),
    }
}

impl Random {
    fn draw(random: &mut Rng) -> Self {
        let mut this = Self {
            builder: ValueGraphBuilder::default(),
            dims: Vec::new(),
            u8s: Vec::new(),
            i8s: Vec::new(),
            bools: Vec::new(),
            loops: Vec::new(),
        };
        this.builder.graph.index_type = U8;
        for dim in 0..1 + random.below(2) as usize {
            let first = i128::from(random.below(3));
            this.dims.push((first, first + i128::from(random.below(7))));
            let var = this.builder.push(ValueNode::Var(dim));
            // Loop variables are most frequent.
            this.u8s.extend([var; 3]);
        }
        for number in [0, 1, 2, 3, 4, 5, 8] {
            this.u8s.push(this.builder.number(number));
        }
        this.i8s.extend([-1, 1, 2].map(|number| this.builder.number(number)));
        for (ty, uniformity) in
            [(U8, Uniformity::Loop), (U8, Uniformity::Iteration), (I8, Uniformity::Loop)]
        {
            if random.below(3) == 0 {
                let id = this.builder.unknown(ty, uniformity);
                if ty == U8 { this.u8s.push(id) } else { this.i8s.push(id) }
            }
        }
        for _ in 0..2 + random.below(9) {
            this.step(random);
        }
        this
    }

    fn pick(ids: &[NodeId], random: &mut Rng) -> NodeId {
        // Later values are more interesting.
        let count = ids.len() as u64;
        let at = if random.below(2) == 0 {
            random.below(count)
        } else {
            count - 1 - random.below(count.min(3))
        };
        ids[at as usize]
    }

    fn step(&mut self, random: &mut Rng) {
        let ops = [
            BinaryOp::Add,
            BinaryOp::Add,
            BinaryOp::Sub,
            BinaryOp::Mul,
            BinaryOp::Mul,
            BinaryOp::And,
            BinaryOp::Or,
            BinaryOp::Xor,
            BinaryOp::Xor,
            BinaryOp::Shl,
            BinaryOp::Shr,
        ];
        let comparisons =
            [BinaryOp::Eq, BinaryOp::Ne, BinaryOp::Lt, BinaryOp::Le, BinaryOp::Gt, BinaryOp::Ge];
        let unsigned = random.below(5) > 0;
        let (ty, of_type) = if unsigned { (U8, &self.u8s) } else { (I8, &self.i8s) };
        let (a, b) = (Self::pick(of_type, random), Self::pick(of_type, random));
        let any_bool =
            if self.bools.is_empty() { None } else { Some(Self::pick(&self.bools, random)) };
        let node = match random.below(17) {
            16 => ValueNode::Unary(UnaryOp::ReverseBits, ty, a),
            0..=5 => ValueNode::Binary(ops[random.below(ops.len() as u64) as usize], ty, a, b),
            6 => ValueNode::DivRem(DivRemOp::Div, ty, a, b),
            7 => ValueNode::DivRem(DivRemOp::Rem, ty, a, b),
            8 => ValueNode::Limit(MathFn::Min, ty, a, b),
            9 => ValueNode::Limit(MathFn::Max, ty, a, b),
            10 => ValueNode::Cast { from: ty, to: if unsigned { I8 } else { U8 }, value: a },
            11 if !unsigned => ValueNode::Abs(ty, a),
            11 if any_bool.is_some() => ValueNode::Select(any_bool.unwrap_or_default(), a, b),
            12 if self.loops.is_empty() && unsigned => ValueNode::Inner {
                var: None,
                uniformity: Uniformity::Iteration,
                ty,
                begin: a,
                end: b,
            },
            13 if any_bool.is_some() => {
                ValueNode::Unary(UnaryOp::Not, BOOL, any_bool.unwrap_or_default())
            }
            14 if self.bools.len() > 1 => {
                let other = Self::pick(&self.bools, random);
                let op = [BinaryOp::And, BinaryOp::Or, BinaryOp::Xor][random.below(3) as usize];
                ValueNode::Binary(op, BOOL, any_bool.unwrap_or_default(), other)
            }
            _ => ValueNode::Binary(comparisons[random.below(6) as usize], ty, a, b),
        };
        let id = self.builder.push(node);
        match node {
            ValueNode::Inner { begin, end, .. } => {
                for (op, a, b) in [(BinaryOp::Le, begin, id), (BinaryOp::Lt, id, end)] {
                    let cond = self.builder.push(ValueNode::Binary(op, U8, a, b));
                    self.loops.push(Condition { node: cond, holds: true });
                }
                self.u8s.extend([id; 2]);
            }
            ValueNode::Binary(op, ty, ..) if op.is_comparison() || ty == BOOL => {
                self.bools.push(id)
            }
            ValueNode::Unary(UnaryOp::Not, BOOL, _) => self.bools.push(id),
            ValueNode::Cast { to, .. } => {
                if to == U8 {
                    self.u8s.push(id)
                } else {
                    self.i8s.push(id)
                }
            }
            _ if unsigned => self.u8s.push(id),
            _ => self.i8s.push(id),
        }
    }

    /// Reads an element of a tensor of distinct elements, of one or two dimensions.
    fn read(&mut self, random: &mut Rng) -> NodeId {
        let mut index = || Self::pick(&self.u8s, random);
        let (x, y) = (index(), index());
        let (index, extents) = match random.below(3) {
            0 => (Index::from_slice(&[x]), Index::new()),
            1 => (Index::from_slice(&[x]), Index::from_slice(&[self.builder.number(4)])),
            _ => {
                let extents = [7, 5].map(|extent| self.builder.number(extent));
                (Index::from_slice(&[x, y]), Index::from_slice(&extents))
            }
        };
        let tensor = random.below(2) as u32 * 10 + index.len() as u32;
        let read = self.builder.distinct(TensorRead { tensor, ty: U8, index, extents });
        let id = self.builder.push(read);
        self.u8s.push(id);
        id
    }

    /// Reads an element of a tensor that the loop does not change, and compares it with a number.
    fn read_unchanged(&mut self, random: &mut Rng) {
        let index: Index =
            (0..1 + random.below(2)).map(|_| Self::pick(&self.u8s, random)).collect();
        let id = self.builder.unknown(U8, Uniformity::Iteration);
        let tensor = index.len() as u32;
        let read = TensorRead { tensor, ty: U8, index, extents: Index::new() };
        self.builder.graph.reads.push((id, read));
        let number = self.builder.number(random.below(4).into());
        let op = [BinaryOp::Eq, BinaryOp::Ne, BinaryOp::Lt, BinaryOp::Ge][random.below(4) as usize];
        let cond = self.builder.push(ValueNode::Binary(op, U8, id, number));
        self.bools.extend([cond; 3]);
        self.u8s.push(id);
    }

    fn conditions(&self, random: &mut Rng) -> Vec<Condition> {
        let mut conditions = self.loops.clone();
        if !self.bools.is_empty() {
            for _ in 0..random.below(3) {
                let cond = Self::pick(&self.bools, random);
                conditions.push(Condition { node: cond, holds: random.below(3) > 0 });
            }
        }
        conditions
    }

    fn space(&self) -> VarSpace {
        let mut space = VarSpace::new();
        for (first, last) in &self.dims {
            space.push(Var::new(VarKind::Parallel, *first, *last)).unwrap();
        }
        space
    }

    fn iterations(&self) -> Vec<Vec<i128>> {
        let mut all = vec![Vec::new()];
        for (first, last) in &self.dims {
            let with = |v: &Vec<i128>| -> Vec<Vec<i128>> {
                (*first..=*last).map(|x| [&v[..], &[x]].concat()).collect()
            };
            all = all.iter().flat_map(with).collect();
        }
        all
    }
}

/// The indices of an access in an iteration, if it happens.
fn touched(
    values: Option<&Vec<i128>>,
    index: &[NodeId],
    conditions: &[Condition],
) -> Option<Vec<i128>> {
    let values = values?;
    let holds = |condition: &Condition| (values[condition.node as usize] != 0) == condition.holds;
    let happens = conditions.iter().all(holds);
    happens.then(|| index.iter().map(|id| values[*id as usize]).collect())
}

#[test]
fn what_the_solver_refutes_does_not_happen() {
    let (refuted, colliding) = compare(6_000, 71, Random::draw);
    // The test must see both.
    assert!(refuted > 1_000 && colliding > 1_000, "{refuted} {colliding}");
}

#[test]
fn elements_of_a_tensor_without_repetition_differ() {
    let (refuted, colliding) = compare(3_000, 73, |random| {
        let mut loops = Random::draw(random);
        loops.read(random);
        for _ in 0..random.below(4) {
            loops.step(random);
        }
        if random.below(2) == 0 {
            loops.read(random);
        }
        loops
    });
    assert!(refuted > 500 && colliding > 500, "{refuted} {colliding}");
}

#[test]
fn conditions_on_equal_elements_exclude_each_other() {
    let (refuted, colliding) = compare(6_000, 79, |random| {
        let mut loops = Random::draw(random);
        for _ in 0..2 + random.below(3) {
            loops.read_unchanged(random);
            if random.below(3) == 0 {
                loops.step(random);
            }
        }
        loops
    });
    assert!(refuted > 500 && colliding > 500, "{refuted} {colliding}");
}

/// Compares the solver with the enumeration on `count` loops; the number of pairs that it refuted, and of those that
/// collide.
fn compare(count: u32, seed: u64, draw: impl Fn(&mut Rng) -> Random) -> (u32, u32) {
    let mut random = Rng::new(seed);
    let (mut refuted, mut colliding) = (0, 0);
    for _ in 0..count {
        let loops = draw(&mut random);
        let rank = 1 + random.below(2);
        let mut index =
            || (0..rank).map(|_| Random::pick(&loops.u8s, &mut random)).collect::<Vec<NodeId>>();
        let (a, b) = (index(), index());
        let b = if random.below(2) == 0 { a.clone() } else { b };
        let (guards_a, guards_b) = (loops.conditions(&mut random), loops.conditions(&mut random));
        let guards_b = if a == b { guards_a.clone() } else { guards_b };
        let graph = &loops.builder.graph;
        let space = loops.space();
        let context = LoopContext {
            graph,
            args: &[],
            space: &space,
            is_counter: &|_| false,
            budget: &Cell::new(MAX_WORK),
        };
        let access = |index, conditions| ConditionalAccess { index, extents: &[], conditions };
        let is_refuted = refuted_in_loop(context, access(&a, &guards_a), access(&b, &guards_b));
        let mut collides = false;
        for sample in 0..40 {
            let at = |dims: &[i128], seed: u64| {
                let iteration = Iteration { dims, seed, launch: sample / 4, tickets: &[] };
                values(graph, &iteration)
            };
            let seed = |n: usize| hash(sample, n as u64);
            let iterations = loops.iterations();
            let of = |index: &[NodeId],
                      conditions: &[Condition],
                      salt: u64|
             -> Vec<Option<Vec<i128>>> {
                let each = iterations.iter().enumerate();
                each.map(|(n, dims)| touched(at(dims, seed(n) ^ salt).as_ref(), index, conditions))
                    .collect()
            };
            let (first, second) = (of(&a, &guards_a, 0), of(&b, &guards_b, 77));
            for (i, x) in first.iter().enumerate() {
                for (j, y) in second.iter().enumerate() {
                    collides |= i != j && x.is_some() && x == y;
                }
            }
        }
        assert!(
            !(is_refuted && collides),
            "{graph:#?}\n{:?}\n{a:?} {guards_a:?}\n{b:?} {guards_b:?}",
            loops.dims
        );
        refuted += u32::from(is_refuted);
        colliding += u32::from(collides);
    }
    (refuted, colliding)
}

#[test]
fn tickets_of_a_cell_reserve_different_numbers() {
    let mut random = Rng::new(72);
    let (mut refuted, mut colliding) = (0, 0);
    for _ in 0..1_500 {
        let mut loops = Random::draw(&mut random);
        let cell = Random::pick(&loops.u8s, &mut random);
        let amount = Random::pick(&loops.u8s, &mut random);
        let extent = loops.builder.number([3, 8, 255][random.below(3) as usize]);
        let counter = loops.builder.graph.counters.len();
        loops.builder.graph.counters.push(Counter {
            source: TicketSource::Tensor(0),
            ty: U8,
            cell: Index::from_slice(&[cell]),
            extents: Index::from_slice(&[extent]),
            amount,
            is_of_one_thread: false,
        });
        let ticket = loops.builder.push(ValueNode::Ticket { counter, addition: 0 });
        let offset = Random::pick(&loops.u8s, &mut random);
        let sum = loops.builder.push(ValueNode::Binary(BinaryOp::Add, U8, ticket, offset));
        let below = loops.builder.push(ValueNode::Binary(BinaryOp::Lt, U8, offset, amount));
        let mut conditions = loops.conditions(&mut random);
        let mut index = vec![ticket];
        if random.below(2) == 0 {
            conditions.push(Condition { node: below, holds: true });
            index = vec![sum];
        } else if random.below(2) == 0 {
            let one = loops.builder.number(1);
            let cond = loops.builder.push(ValueNode::Binary(BinaryOp::Ge, U8, amount, one));
            conditions.push(Condition { node: cond, holds: true });
        }
        if random.below(3) > 0 {
            index.insert(0, cell);
        }
        let graph = &loops.builder.graph;
        let space = loops.space();
        let iterations = loops.iterations();
        let mut collides = false;
        // Whether the numbers that a cell reserves fit the counter's type, in all samples.
        let mut fits = true;
        for sample in 0..24 {
            let mut counts = [0i128; 256];
            counts.fill(i128::from(random.below(4)) * 60);
            let start = counts;
            let mut touched_elements = Vec::new();
            for (n, dims) in iterations.iter().enumerate() {
                let mut iteration =
                    Iteration { dims, seed: hash(sample, n as u64), launch: sample, tickets: &[0] };
                // The cell and the amount do not depend on the ticket.
                let Some(before) = values(graph, &iteration) else { continue };
                let holds = |condition: &Condition| {
                    (before[condition.node as usize] != 0) == condition.holds
                };
                if !conditions.iter().all(holds) {
                    continue;
                }
                let (at, by) = (before[cell as usize] as usize, before[amount as usize]);
                let is_inside = (at as i128) < before[extent as usize];
                let old = [if is_inside { wrap(counts[at], U8) } else { 0 }];
                if is_inside {
                    counts[at] += by;
                    fits &= counts[at] - start[at] <= 256;
                }
                iteration.tickets = &old;
                let after = values(graph, &iteration);
                touched_elements.extend(touched(after.as_ref(), &index, &conditions));
            }
            touched_elements.sort();
            collides |= touched_elements.windows(2).any(|pair| pair[0] == pair[1]);
        }
        if !fits {
            continue;
        }
        let context = LoopContext {
            graph,
            args: &[],
            space: &space,
            is_counter: &|_| true,
            budget: &Cell::new(MAX_WORK),
        };
        let access = ConditionalAccess { index: &index, extents: &[], conditions: &conditions };
        let is_refuted = refuted_in_loop(context, access, access);
        assert!(!(is_refuted && collides), "{graph:#?}\n{:?} {index:?} {conditions:?}", loops.dims);
        refuted += u32::from(is_refuted);
        colliding += u32::from(collides);
    }
    assert!(refuted > 200 && colliding > 50, "{refuted} {colliding}");
}
