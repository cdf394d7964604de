//! The disjointness test: whether two accesses can access the same element. Race checks are built on it.
//!
//! An index is an [`AffineForm`]: a linear combination of variables with integer coefficients, plus a constant. A
//! [`VarSpace`] has the range of each variable. Variables of the parallel loop have one value per iteration, variables
//! of inner loops any value in any iteration, and fixed variables one unknown value everywhere.
//!
//! Two accesses touch the same element only if they agree in every dimension, so one dimension is enough to prove them
//! disjoint. In one dimension, agreement means that the difference of the two forms is zero. It cannot be zero
//!
//! * if zero is outside the interval of the difference, or
//! * if the greatest common divisor of its coefficients does not divide its constant.
//!
//! For two iterations of one loop it is enough that the difference is zero only if the iterations are the same. A loop
//! variable with coefficient `a` must be equal in both iterations if `|a|` exceeds the maximum absolute value of the
//! rest of the difference. Likewise for a group of variables: if the group's sum is smaller than a number that divides
//! all the rest, the sum must be zero. Variables proven equal are used to narrow the other variables and dimensions.
//!
//! Devices compute indices modulo 2⁶⁴, so that indices also agree if the difference is a multiple of 2⁶⁴. The range of
//! the difference must therefore be shorter than that. All arithmetic is checked and has 128 bits.
//!
//! Where this test decides nothing, [`refuted_in_loop`] and [`refuted_between`] state the question as a system of
//! linear constraints, which also takes conditions and operations into account that are not affine.

mod affine;
mod constraints;
mod example;
mod obstacle;
mod solve;
mod value_graph;

pub use affine::{AffineForm, MAX_VARS, Var, VarKind, VarSpace};
pub use constraints::{
    Bound, Condition, ConditionalAccess, Index, LoopContext, difference, is_bounded, never_happens,
    range_of, refuted_between, refuted_in_loop,
};
pub use example::{Collision, Position, collision, common_element};
pub use obstacle::{Obstacle, obstacle};
pub use solve::MAX_WORK;
pub use value_graph::{
    AffineForms, Counter, IntType, NodeId, Stored, TensorRead, TicketSource, Uniformity,
    ValueGraph, ValueGraphBuilder, ValueNode,
};

pub(crate) use value_graph::{exact_range, int_range};

/// A difference below this is zero if it is zero modulo 2⁶⁴.
const MODULUS: i128 = 1 << 64;

/// The result of comparing two accesses in one dimension.
enum DimComparison {
    /// They never touch the same element.
    Disjoint,
    /// They touch the same element only if further loop variables are equal.
    Narrowed,
    /// Nothing is proven.
    Unknown,
}

/// The part of the difference of two forms without the loop variables that may differ.
struct Difference {
    constant: i128,
    lo: i128,
    hi: i128,
    /// The greatest common divisor of the coefficients.
    divisor: i128,
}

/// Whether the accesses `a` and `b` never touch the same element in two different iterations of a loop. An access has
/// one form per dimension, or none if the index is not affine.
///
/// # Examples
/// ```
/// use quadrants_ir::races::{AffineForm, VarSpace, Var, VarKind, disjoint_in_loop};
/// let mut space = VarSpace::new();
/// let i = space.push(Var::new(VarKind::Parallel, 0, 99)).unwrap();
/// let i = AffineForm::var(i);
/// let next = i.add(AffineForm::constant(1)).unwrap();
/// assert!(disjoint_in_loop(&space, &[Some(i)], &[Some(i)]));
/// assert!(!disjoint_in_loop(&space, &[Some(i)], &[Some(next)]));
/// ```
#[must_use]
pub fn disjoint_in_loop(
    space: &VarSpace,
    a: &[Option<AffineForm>],
    b: &[Option<AffineForm>],
) -> bool {
    let mut undecided = space.differing();
    while undecided != 0 {
        let mut narrowed = false;
        for (a, b) in a.iter().zip(b) {
            let (Some(a), Some(b)) = (a, b) else { continue };
            match compare(space, &space.expand(*a), &space.expand(*b), &mut undecided) {
                Some(DimComparison::Disjoint) => return true,
                Some(DimComparison::Narrowed) => narrowed = true,
                Some(DimComparison::Unknown) | None => {}
            }
        }
        if !narrowed {
            return false;
        }
    }
    true
}

/// Whether the access `a` in one space and the access `b` in another never touch the same element, in whatever order
/// they run.
#[must_use]
pub fn disjoint(
    space_a: &VarSpace,
    a: &[Option<AffineForm>],
    space_b: &VarSpace,
    b: &[Option<AffineForm>],
) -> bool {
    let forms_disjoint = |a: AffineForm, b: AffineForm| {
        let mut difference = Difference::new(a.constant_term(), b.constant_term())?;
        for (coef, var) in space_a.terms(&a) {
            difference.add(coef, var)?;
        }
        for (coef, var) in space_b.terms(&b) {
            difference.add(coef.checked_neg()?, var)?;
        }
        difference.is_never_zero(0)
    };
    a.iter().zip(b).any(|(a, b)| match (a, b) {
        (Some(a), Some(b)) => forms_disjoint(space_a.expand(*a), space_b.expand(*b)) == Some(true),
        _ => false,
    })
}

/// Compares one dimension, and removes the variables that it proves equal from `undecided`. None on overflow.
fn compare(
    space: &VarSpace,
    a: &AffineForm,
    b: &AffineForm,
    undecided: &mut u32,
) -> Option<DimComparison> {
    let mut difference = Difference::new(a.constant_term(), b.constant_term())?;
    let mut varying = [(0i128, 0i128, 0usize); MAX_VARS];
    let mut count = 0;
    for (at, var) in space.vars() {
        let (p, q) = (a.coef(at), b.coef(at));
        match var.kind {
            VarKind::Fixed if p == q => {}
            VarKind::Fixed => return Some(DimComparison::Unknown),
            VarKind::Parallel if *undecided & (1 << at) == 0 => {
                difference.add(p.checked_sub(q)?, var)?;
            }
            VarKind::Parallel if p == q => {
                if p != 0 {
                    let size = p.checked_abs()?;
                    varying[count] = (size, size.checked_mul(var.last - var.first)?, at);
                    count += 1;
                }
            }
            VarKind::Parallel | VarKind::Inner => {
                difference.add(p, var)?;
                difference.add(q.checked_neg()?, var)?;
            }
        }
    }
    let varying = &mut varying[..count];
    varying.sort_unstable();
    // All remaining terms are multiples of this.
    let mut unit = difference.divisor;
    for (size, _, _) in &*varying {
        difference.divisor = gcd(difference.divisor, *size);
    }
    let mut reach = varying.iter().try_fold(0i128, |sum, (_, most, _)| sum.checked_add(*most))?;
    if difference.is_never_zero(reach)? {
        return Some(DimComparison::Disjoint);
    }
    if difference.length(reach)? >= MODULUS {
        return Some(DimComparison::Unknown);
    }
    let still = difference.lo.checked_abs()?.max(difference.hi.checked_abs()?);
    let mut comparison = DimComparison::Unknown;
    for &(size, most, at) in varying.iter().rev() {
        reach -= most;
        if size <= reach.checked_add(still)? {
            break;
        }
        *undecided &= !(1 << at);
        comparison = DimComparison::Narrowed;
    }
    // The smallest terms as a group, if all other terms are multiples of more than the group's maximum.
    let mut reach = varying.iter().map(|(_, most, _)| most).sum::<i128>();
    for part in (1..=varying.len()).rev() {
        if unit != 0 && difference.constant % unit == 0 && reach < unit {
            for &(size, most, at) in varying[..part].iter().rev() {
                reach -= most;
                if size <= reach {
                    break;
                }
                *undecided &= !(1 << at);
                comparison = DimComparison::Narrowed;
            }
            break;
        }
        let (size, most, _) = varying[part - 1];
        (unit, reach) = (gcd(unit, size), reach - most);
    }
    Some(comparison)
}

impl Difference {
    fn new(a: i128, b: i128) -> Option<Self> {
        let constant = a.checked_sub(b)?;
        Some(Self { constant, lo: constant, hi: constant, divisor: 0 })
    }

    fn add(&mut self, coef: i128, var: &Var) -> Option<()> {
        let (x, y) = (coef.checked_mul(var.first)?, coef.checked_mul(var.last)?);
        self.lo = self.lo.checked_add(x.min(y))?;
        self.hi = self.hi.checked_add(x.max(y))?;
        self.divisor = gcd(self.divisor, coef);
        Some(())
    }

    /// The maximum absolute value, including other terms that add up to at most `reach` in either direction.
    fn length(&self, reach: i128) -> Option<i128> {
        let (lo, hi) = (self.lo.checked_sub(reach)?, self.hi.checked_add(reach)?);
        Some(lo.checked_abs()?.max(hi.checked_abs()?))
    }

    fn is_never_zero(&self, reach: i128) -> Option<bool> {
        let (lo, hi) = (self.lo.checked_sub(reach)?, self.hi.checked_add(reach)?);
        let outside = lo > 0 || hi < 0;
        let between = self.divisor != 0 && self.constant % self.divisor != 0;
        Some(self.length(reach)? < MODULUS && (outside || between))
    }
}

fn gcd(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    // `i128::MIN` is the only value that does not fit, and no coefficient is near it.
    i128::try_from(a).unwrap_or(1)
}
