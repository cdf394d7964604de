//! Indices whose bits are exclusive ors (xor) of bits of loop variables: swizzles such as `c ^ r`, Gray codes
//! `i ^ i >> 1`, and Morton codes.
//!
//! Two accesses with the same formula touch the same element only if each bit of the index agrees. A bit that is linear
//! over GF(2) gives an equation for the bits in which the iterations differ. If these equations leave no difference in
//! a variable of the parallel loop, the iterations are the same.

use std::{collections::HashMap, rc::Rc};

use super::{
    ConditionalAccess, ConstraintBuilder, IntType, NodeId, ValueNode, VarKind, argument, int_range,
    shift,
};
use crate::{BinaryOp, DivRemOp, ScalarType, UnaryOp, races::LoopContext};

/// The number of bits of a value. Narrower ones are extended, by their sign if they have one.
const BITS: usize = 64;

/// The number of bits of all variables together.
const MAX_INPUTS: u32 = 128;

/// What is known of a bit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Bit {
    Zero,
    One,
    /// The exclusive or of the bits of variables in the mask and of a bit that is the same on both sides.
    Xor(u128),
    Unknown,
}

/// The bits of a value, the lowest first.
type Bits = [Bit; BITS];

/// The bits of nodes, and where the bits of variables are in masks.
#[derive(Default)]
struct Inputs {
    nodes: HashMap<NodeId, Rc<Bits>>,
    /// The first bit and the number of bits, by variable.
    vars: HashMap<usize, (u32, u32)>,
    used: u32,
}

impl ConstraintBuilder<'_> {
    /// Whether accesses with the same formula can only touch the same element in the same iteration, according to the
    /// bits of the index.
    pub(super) fn bits_differ(&mut self, [a, b]: [ConditionalAccess<'_>; 2]) -> bool {
        if !self.is_same_loop || a.index != b.index || a.index.is_empty() {
            return false;
        }
        let mut inputs = Inputs::default();
        let mut equations = Vec::new();
        for id in a.index {
            let bits = self.bits(*id, &mut inputs);
            equations.extend(bits.iter().filter_map(|bit| match bit {
                Bit::Xor(mask) => Some(*mask),
                _ => None,
            }));
        }
        let space = self.sides[0].space;
        let mut needed = 0u128;
        for at in space.parallel_vars() {
            let var = space.var(at);
            match inputs.vars.get(&at) {
                _ if var.first == var.last => {}
                Some((first, count)) if first + count <= MAX_INPUTS => {
                    (*first..first + count).for_each(|bit| needed |= 1 << bit);
                }
                // Nothing is known about some of its bits.
                Some(_) | None => return false,
            }
        }
        determine(equations, needed)
    }

    fn bits(&mut self, id: NodeId, inputs: &mut Inputs) -> Rc<Bits> {
        if let Some(bits) = inputs.nodes.get(&id) {
            return bits.clone();
        }
        self.depth += 1;
        let mut bits = match self.depth < super::MAX_DEPTH {
            true => self.bits_of(id, inputs),
            false => [Bit::Unknown; BITS],
        };
        self.depth -= 1;
        if self.is_shared(id) {
            let of_both = |bit: &mut Bit| {
                if *bit == Bit::Unknown {
                    *bit = Bit::Xor(0);
                }
            };
            bits.iter_mut().for_each(of_both);
        }
        let bits = Rc::new(bits);
        inputs.nodes.insert(id, bits.clone());
        bits
    }

    fn bits_of(&mut self, id: NodeId, inputs: &mut Inputs) -> Bits {
        let LoopContext { graph, args, space, .. } = self.sides[0];
        match graph.nodes[id as usize] {
            ValueNode::Const(value) => constant(value),
            ValueNode::Argument { word, ty } => {
                argument(args, word, ty).map_or([Bit::Xor(0); BITS], constant)
            }
            ValueNode::Var(at) => {
                let var = space.var(at);
                if var.first < 0 || var.last >= 1 << 63 {
                    return [Bit::Unknown; BITS];
                }
                let count = 128 - var.last.leading_zeros();
                let is_fixed = var.kind == VarKind::Fixed;
                let (first, _) = *inputs.vars.entry(at).or_insert_with(|| {
                    let first = inputs.used;
                    inputs.used += if is_fixed { 0 } else { count };
                    (first, count)
                });
                std::array::from_fn(|bit| match bit as u32 {
                    bit if bit >= count => Bit::Zero,
                    _ if is_fixed => Bit::Xor(0),
                    bit if first + bit < MAX_INPUTS => Bit::Xor(1 << (first + bit)),
                    _ => Bit::Unknown,
                })
            }
            ValueNode::Unary(op, ty, a) => match op {
                UnaryOp::Not if ty != Some(ScalarType::Bool) => {
                    wrapped(self.bits(a, inputs).map(Bit::not), ty)
                }
                UnaryOp::ReverseBits if width(ty).is_some() => {
                    let (bits, width) = (self.bits(a, inputs), width(ty).unwrap_or(BITS));
                    let reversed =
                        |bit| if bit < width { bits[width - 1 - bit] } else { Bit::Zero };
                    wrapped(std::array::from_fn(reversed), ty)
                }
                _ => [Bit::Unknown; BITS],
            },
            ValueNode::Binary(op, ty, a, b) if !op.is_comparison() => {
                if ty == Some(ScalarType::Bool) {
                    return [Bit::Unknown; BITS];
                }
                let (a, b) = (self.bits(a, inputs), self.bits(b, inputs));
                let zip = |of: fn(Bit, Bit) -> Bit| std::array::from_fn(|bit| of(a[bit], b[bit]));
                let bits = match op {
                    BinaryOp::Xor => zip(Bit::xor),
                    BinaryOp::And => zip(Bit::and),
                    BinaryOp::Or => zip(Bit::or),
                    BinaryOp::Add => sum(&a, &b),
                    BinaryOp::Sub => difference(&a, &b),
                    BinaryOp::Mul => match (power(&a), power(&b)) {
                        (Some(by), _) => shifted(&b, by),
                        (_, Some(by)) => shifted(&a, by),
                        _ => [Bit::Unknown; BITS],
                    },
                    BinaryOp::Shl | BinaryOp::Shr => {
                        match number(&b).and_then(|by| shift(by, ty)) {
                            Some(by) if op == BinaryOp::Shl => shifted(&a, by as usize),
                            Some(by) => divided(&a, by as usize, ty),
                            None => [Bit::Unknown; BITS],
                        }
                    }
                    _ => [Bit::Unknown; BITS],
                };
                wrapped(bits, ty)
            }
            ValueNode::DivRem(op, ty, a, b) => {
                let (a, b) = (self.bits(a, inputs), self.bits(b, inputs));
                let Some(by) = power(&b).filter(|_| !is_signed(ty) || a[BITS - 1] == Bit::Zero)
                else {
                    return [Bit::Unknown; BITS];
                };
                match op {
                    DivRemOp::Div => {
                        std::array::from_fn(|bit| *a.get(bit + by).unwrap_or(&Bit::Zero))
                    }
                    DivRemOp::Rem => {
                        std::array::from_fn(|bit| if bit < by { a[bit] } else { Bit::Zero })
                    }
                }
            }
            ValueNode::Cast { from, to, value } if from != Some(ScalarType::Bool) => {
                wrapped(*self.bits(value, inputs), to)
            }
            _ => [Bit::Unknown; BITS],
        }
    }
}

impl Bit {
    const fn not(self) -> Self {
        match self {
            Self::Zero => Self::One,
            Self::One => Self::Zero,
            other => other,
        }
    }

    const fn xor(self, other: Self) -> Self {
        match (self, other) {
            (Self::Zero, bit) | (bit, Self::Zero) => bit,
            (Self::One, bit) | (bit, Self::One) => bit.not(),
            (Self::Xor(a), Self::Xor(b)) => Self::Xor(a ^ b),
            _ => Self::Unknown,
        }
    }

    const fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Zero, _) | (_, Self::Zero) => Self::Zero,
            (Self::One, bit) | (bit, Self::One) => bit,
            // Bits that are the same on both sides give such a bit.
            (Self::Xor(0), Self::Xor(0)) => Self::Xor(0),
            _ => Self::Unknown,
        }
    }

    const fn or(self, other: Self) -> Self {
        self.not().and(other.not()).not()
    }
}

fn constant(value: i128) -> Bits {
    std::array::from_fn(|bit| if value >> bit & 1 == 1 { Bit::One } else { Bit::Zero })
}

/// The value of constant bits, as a number that is not negative.
fn number(bits: &Bits) -> Option<i128> {
    bits.iter().rev().try_fold(0, |value, bit| match bit {
        Bit::Zero => Some(2 * value),
        Bit::One => Some(2 * value + 1),
        _ => None,
    })
}

/// The exponent of a constant that is a power of two.
fn power(bits: &Bits) -> Option<usize> {
    let value = number(bits)?;
    (value.count_ones() == 1).then(|| value.trailing_zeros() as usize)
}

fn shifted(bits: &Bits, by: usize) -> Bits {
    std::array::from_fn(|bit| if bit < by { Bit::Zero } else { bits[bit - by] })
}

/// The bits of a shift to the right.
fn divided(bits: &Bits, by: usize, ty: IntType) -> Bits {
    let fill = if is_signed(ty) { bits[BITS - 1] } else { Bit::Zero };
    std::array::from_fn(|bit| *bits.get(bit + by).unwrap_or(&fill))
}

/// The sum: up to the lowest bit from which there is a carry.
fn sum(a: &Bits, b: &Bits) -> Bits {
    let mut carries = false;
    std::array::from_fn(|bit| {
        let sum = if carries { Bit::Unknown } else { a[bit].xor(b[bit]) };
        carries |= a[bit] != Bit::Zero && b[bit] != Bit::Zero;
        sum
    })
}

/// The difference: up to the lowest bit from which there is a borrow.
fn difference(a: &Bits, b: &Bits) -> Bits {
    let mut borrows = false;
    std::array::from_fn(|bit| {
        let difference = if borrows { Bit::Unknown } else { a[bit].xor(b[bit]) };
        borrows |= a[bit] != Bit::One && b[bit] != Bit::Zero;
        difference
    })
}

/// Whether a type, also a narrow one, may have negative values.
fn is_signed(ty: IntType) -> bool {
    int_range(ty).0 < 0
}

/// The number of bits of an integer type.
fn width(ty: IntType) -> Option<usize> {
    ty.map(|ty| if ty == ScalarType::Bool { 1 } else { 8 * ty.size() })
}

/// The bits of a value in a type, of which `bits` has at least those of the type.
fn wrapped(bits: Bits, ty: IntType) -> Bits {
    let Some(width) = width(ty).filter(|width| *width < BITS) else { return bits };
    let rest = if is_signed(ty) { bits[width - 1] } else { Bit::Zero };
    std::array::from_fn(|bit| if bit < width { bits[bit] } else { rest })
}

/// Whether equations over GF(2), each of which says that the sum of the bits in its mask is zero, make all needed bits
/// zero.
fn determine(equations: Vec<u128>, needed: u128) -> bool {
    // Each has its highest bit for itself, after the elimination.
    let mut basis: Vec<u128> = Vec::new();
    let highest = |mask: u128| 127 - mask.leading_zeros();
    for mut mask in equations {
        for other in &basis {
            if mask >> highest(*other) & 1 == 1 {
                mask ^= other;
            }
        }
        if mask != 0 {
            for other in &mut basis {
                if *other >> highest(mask) & 1 == 1 {
                    *other ^= mask;
                }
            }
            basis.push(mask);
        }
    }
    (0..128).filter(|bit| needed >> bit & 1 == 1).all(|bit| basis.contains(&(1 << bit)))
}
