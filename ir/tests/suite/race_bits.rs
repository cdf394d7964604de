//! The race check's view of the bits of indices against an enumeration of all iterations: random formulas of shifts,
//! masks, casts and sums of integers of mixed widths.

use std::cell::Cell;

use quadrants_ir::{
    BinaryOp, DivRemOp, ScalarType, UnaryOp,
    races::{
        ConditionalAccess, LoopContext, MAX_WORK, NodeId, ValueGraph, ValueGraphBuilder, ValueNode,
        Var, VarKind, VarSpace, refuted_in_loop,
    },
};
use quadrants_samples::generate::Rng;

const TYPES: [ScalarType; 6] = [
    ScalarType::U8,
    ScalarType::I8,
    ScalarType::U16,
    ScalarType::I16,
    ScalarType::U64,
    ScalarType::I64,
];

const fn bits(ty: ScalarType) -> u32 {
    8 * ty.size() as u32
}

/// The value of type `ty` that equals `value` modulo the type's size.
fn wrap(value: i128, ty: ScalarType) -> i128 {
    let unused = 128 - bits(ty);
    match ty.int_range().is_some_and(|range| range.0 < 0) {
        true => value << unused >> unused,
        false => ((value as u128) << unused >> unused) as i128,
    }
}

fn values(graph: &ValueGraph, dims: &[i128]) -> Vec<i128> {
    let mut values: Vec<i128> = Vec::new();
    for node in &graph.nodes {
        let get = |id: NodeId| values[id as usize];
        let value = match *node {
            ValueNode::Const(value) => value,
            ValueNode::Var(dim) => dims[dim],
            ValueNode::Unary(UnaryOp::Not, Some(ty), a) => wrap(!get(a), ty),
            ValueNode::Unary(UnaryOp::ReverseBits, Some(ty), a) => {
                wrap((get(a) as u128).reverse_bits() as i128 >> (128 - bits(ty)), ty)
            }
            ValueNode::Binary(op, Some(ty), a, b) => binary(op, ty, get(a), get(b)),
            ValueNode::DivRem(op, Some(ty), a, b) => match (op, get(b)) {
                (_, 0) => 0,
                (DivRemOp::Div, b) => wrap(get(a) / b, ty),
                (DivRemOp::Rem, b) => wrap(get(a) % b, ty),
            },
            ValueNode::Cast { to: Some(to), value, .. } => wrap(get(value), to),
            _ => unreachable!("not drawn"),
        };
        values.push(value);
    }
    values
}

fn binary(op: BinaryOp, ty: ScalarType, a: i128, b: i128) -> i128 {
    let count = b & i128::from(bits(ty) - 1);
    let value = match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::Shl => a << count,
        BinaryOp::Shr => a >> count,
        _ => unreachable!("not drawn"),
    };
    wrap(value, ty)
}

struct Formula {
    builder: ValueGraphBuilder,
    dims: Vec<(i128, i128)>,
    values: Vec<(NodeId, ScalarType)>,
}

impl Formula {
    fn draw(random: &mut Rng) -> Self {
        let mut this = Self { builder: ValueGraphBuilder::default(), dims: vec![], values: vec![] };
        this.builder.graph.index_type = Some(ScalarType::U64);
        for dim in 0..1 + random.below(2) as usize {
            let ty = TYPES[random.below(TYPES.len() as u64) as usize];
            let is_signed = ty.int_range().is_some_and(|range| range.0 < 0);
            let lowest = if is_signed && random.below(4) == 0 { -3 } else { 0 };
            let first = lowest + i128::from(random.below(4));
            this.dims.push((first, first + i128::from(random.below(14))));
            let var = this.builder.push(ValueNode::Var(dim));
            this.values.extend([(var, ty); 2]);
        }
        for _ in 0..2 + random.below(9) {
            this.step(random);
        }
        this
    }

    fn pick(&self, random: &mut Rng) -> (NodeId, ScalarType) {
        let count = self.values.len() as u64;
        let last = if random.below(2) == 0 { count.min(3) } else { count };
        self.values[(count - 1 - random.below(last)) as usize]
    }

    fn cast(&mut self, (value, from): (NodeId, ScalarType), to: ScalarType) -> NodeId {
        match from == to {
            true => value,
            false => self.builder.push(ValueNode::Cast { from: Some(from), to: Some(to), value }),
        }
    }

    fn number(&mut self, ty: ScalarType, random: &mut Rng) -> NodeId {
        let value = match random.below(4) {
            0 => i128::from(random.below(20)),
            1 => 1 << random.below(bits(ty).into()),
            2 => (1 << random.below(8)) - 1,
            _ => -(1 << random.below(8)),
        };
        self.builder.number(wrap(value, ty))
    }

    fn step(&mut self, random: &mut Rng) {
        let (a, ty) = self.pick(random);
        let other = self.pick(random);
        let b = match random.below(3) {
            0 => self.cast(other, ty),
            _ => self.number(ty, random),
        };
        let node = match random.below(16) {
            0..3 => ValueNode::Binary(BinaryOp::Xor, Some(ty), a, b),
            3 => ValueNode::Binary(BinaryOp::And, Some(ty), a, b),
            4 => ValueNode::Binary(BinaryOp::Or, Some(ty), a, b),
            5 => ValueNode::Binary(BinaryOp::Add, Some(ty), a, b),
            6 => ValueNode::Binary(BinaryOp::Sub, Some(ty), a, b),
            7 => ValueNode::Binary(BinaryOp::Mul, Some(ty), a, b),
            8..10 => ValueNode::Binary(BinaryOp::Shl, Some(ty), a, b),
            10..12 => ValueNode::Binary(BinaryOp::Shr, Some(ty), a, b),
            12 => match random.below(2) {
                0 => ValueNode::Unary(UnaryOp::Not, Some(ty), a),
                _ => ValueNode::Unary(UnaryOp::ReverseBits, Some(ty), a),
            },
            13 => ValueNode::DivRem(DivRemOp::Div, Some(ty), a, b),
            14 => ValueNode::DivRem(DivRemOp::Rem, Some(ty), a, b),
            _ => {
                let to = TYPES[random.below(TYPES.len() as u64) as usize];
                let id = self.cast((a, ty), to);
                self.values.push((id, to));
                return;
            }
        };
        let id = self.builder.push(node);
        self.values.push((id, ty));
    }
}

#[test]
fn indices_that_bits_keep_apart_do_not_collide() {
    let mut random = Rng::new(91);
    let (mut refuted, mut colliding) = (0, 0);
    for _ in 0..8_000 {
        let mut formula = Formula::draw(&mut random);
        let rank = 1 + random.below(2);
        let index: Vec<NodeId> = (0..rank)
            .map(|_| {
                let value = formula.pick(&mut random);
                formula.cast(value, ScalarType::U64)
            })
            .collect();
        let mut space = VarSpace::new();
        let mut iterations = vec![Vec::new()];
        for (first, last) in &formula.dims {
            space.push(Var::new(VarKind::Parallel, *first, *last));
            let with = |dims: &Vec<i128>| -> Vec<Vec<i128>> {
                (*first..=*last).map(|at| [&dims[..], &[at]].concat()).collect()
            };
            iterations = iterations.iter().flat_map(with).collect();
        }
        let graph = &formula.builder.graph;
        let budget = Cell::new(MAX_WORK);
        let context = LoopContext {
            graph,
            args: &[],
            space: &space,
            is_counter: &|_| false,
            budget: &budget,
        };
        let access = ConditionalAccess { index: &index, extents: &[], conditions: &[] };
        let is_refuted = refuted_in_loop(context, access, access);
        let of = |dims: &Vec<i128>| {
            let values = values(graph, dims);
            index.iter().map(|id| values[*id as usize]).collect::<Vec<_>>()
        };
        let mut touched: Vec<_> = iterations.iter().map(of).collect();
        touched.sort_unstable();
        let collides = touched.windows(2).any(|pair| pair[0] == pair[1]);
        assert!(!(is_refuted && collides), "{graph:#?}\n{:?}\n{index:?}", formula.dims);
        refuted += u32::from(is_refuted);
        colliding += u32::from(collides);
    }
    // The test must see both.
    assert!(refuted > 1_000 && colliding > 1_000, "{refuted} {colliding}");
}
