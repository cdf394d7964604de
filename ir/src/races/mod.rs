//! Whether two accesses can touch one element: the criterion behind the promise that a kernel does
//! not race with itself.
//!
//! An index is a [`Form`]: an integer combination of variables, with numbers for coefficients. The
//! variables live in a [`Space`], which knows what values they take: those of the parallel loop, one
//! value per iteration; those of inner loops, any value in any iteration; and fixed ones, whose value is
//! unknown and the same everywhere.
//!
//! Two accesses meet where all their indices agree, so that one dimension is enough to keep them apart.
//! In one dimension the difference of the two forms has to be zero. It cannot be
//!
//! * where zero is outside the interval of the difference, or
//! * where the greatest common divisor of its coefficients does not divide its constant.
//!
//! Of accesses in two iterations of one loop it is enough that the difference can be zero only where the
//! iterations are the same. A loop variable with the coefficient `a` has the same value in both where
//! `|a|` exceeds all that the rest of the difference can amount to. The same is said of variables that together
//! amount to less than a number of which all the rest is a multiple: they add up to nothing. What is then known is
//! used for the other variables and dimensions.
//!
//! Devices compute indices modulo 2⁶⁴. Two agree there only where the difference is a multiple of 2⁶⁴,
//! and so it must be shorter than that. All arithmetic is in 128 bits and checked.

mod affine;

pub use affine::{Form, MAX_VARS, Space, Var, VarKind};

/// Below this a difference that is zero modulo 2⁶⁴ is zero.
const MODULUS: i128 = 1 << 64;

/// What one dimension says of two accesses.
enum Finding {
    /// They do not meet.
    Apart,
    /// They meet only where loop variables agree that were not known to.
    Narrower,
    /// Nothing new.
    Nothing,
}

/// The difference of two forms: what it can amount to without the loop variables that may differ.
struct Difference {
    constant: i128,
    lo: i128,
    hi: i128,
    /// The greatest common divisor of all coefficients.
    divisor: i128,
}

/// Whether two different iterations of a loop cannot touch one element by the accesses `a` and `b`,
/// each given by one form per dimension, or none where its index has no such form.
///
/// # Examples
/// ```
/// use quadrants_ir::races::{Form, Space, Var, VarKind, apart_in_loop};
/// let mut space = Space::new();
/// let i = space.push(Var::new(VarKind::Parallel, 0, 99)).unwrap();
/// let i = Form::var(i);
/// let next = i.add(Form::constant(1)).unwrap();
/// assert!(apart_in_loop(&space, &[Some(i)], &[Some(i)]));
/// assert!(!apart_in_loop(&space, &[Some(i)], &[Some(next)]));
/// ```
#[must_use]
pub fn apart_in_loop(space: &Space, a: &[Option<Form>], b: &[Option<Form>]) -> bool {
    let mut open = space.differing();
    while open != 0 {
        let mut narrower = false;
        for (a, b) in a.iter().zip(b) {
            let (Some(a), Some(b)) = (a, b) else { continue };
            match compare(space, &space.split(*a), &space.split(*b), &mut open) {
                Some(Finding::Apart) => return true,
                Some(Finding::Narrower) => narrower = true,
                Some(Finding::Nothing) | None => {}
            }
        }
        if !narrower {
            return false;
        }
    }
    true
}

/// Whether the access `a` in one space and the access `b` in another never touch one element: there is
/// no order between them at all.
#[must_use]
pub fn apart(space_a: &Space, a: &[Option<Form>], space_b: &Space, b: &[Option<Form>]) -> bool {
    let disjoint = |a: Form, b: Form| {
        let mut difference = Difference::new(a.value_at_zero(), b.value_at_zero())?;
        for (coef, var) in space_a.terms(&a) {
            difference.add(coef, var)?;
        }
        for (coef, var) in space_b.terms(&b) {
            difference.add(coef.checked_neg()?, var)?;
        }
        difference.is_never_zero(0)
    };
    a.iter().zip(b).any(|(a, b)| match (a, b) {
        (Some(a), Some(b)) => disjoint(space_a.split(*a), space_b.split(*b)) == Some(true),
        _ => false,
    })
}

/// Compares one dimension, and takes from `open` the variables that it shows to agree. None where a
/// number grows too large.
fn compare(space: &Space, a: &Form, b: &Form, open: &mut u32) -> Option<Finding> {
    let mut difference = Difference::new(a.value_at_zero(), b.value_at_zero())?;
    let mut moving = [(0i128, 0i128, 0usize); MAX_VARS];
    let mut count = 0;
    for (at, var) in space.vars() {
        let (p, q) = (a.coef(at), b.coef(at));
        match var.kind {
            VarKind::Fixed if p == q => {}
            VarKind::Fixed => return Some(Finding::Nothing),
            VarKind::Parallel if *open & (1 << at) == 0 => {
                difference.add(p.checked_sub(q)?, var)?;
            }
            VarKind::Parallel if p == q => {
                if p != 0 {
                    let size = p.checked_abs()?;
                    moving[count] = (size, size.checked_mul(var.last - var.first)?, at);
                    count += 1;
                }
            }
            VarKind::Parallel | VarKind::Inner => {
                difference.add(p, var)?;
                difference.add(q.checked_neg()?, var)?;
            }
        }
    }
    let moving = &mut moving[..count];
    moving.sort_unstable();
    // What the rest of the difference is a multiple of.
    let mut unit = difference.divisor;
    for (size, _, _) in &*moving {
        difference.divisor = gcd(difference.divisor, *size);
    }
    let mut reach = moving.iter().try_fold(0i128, |sum, (_, most, _)| sum.checked_add(*most))?;
    if difference.is_never_zero(reach)? {
        return Some(Finding::Apart);
    }
    if difference.length(reach)? >= MODULUS {
        return Some(Finding::Nothing);
    }
    let still = difference.lo.checked_abs()?.max(difference.hi.checked_abs()?);
    let mut found = Finding::Nothing;
    for &(size, most, at) in moving.iter().rev() {
        reach -= most;
        if size <= reach.checked_add(still)? {
            break;
        }
        *open &= !(1 << at);
        found = Finding::Narrower;
    }
    // The smallest ones together, where all else is a multiple of more than they can amount to.
    let mut reach = moving.iter().map(|(_, most, _)| most).sum::<i128>();
    for part in (1..=moving.len()).rev() {
        if unit != 0 && difference.constant % unit == 0 && reach < unit {
            for &(size, most, at) in moving[..part].iter().rev() {
                reach -= most;
                if size <= reach {
                    break;
                }
                *open &= !(1 << at);
                found = Finding::Narrower;
            }
            break;
        }
        let (size, most, _) = moving[part - 1];
        (unit, reach) = (gcd(unit, size), reach - most);
    }
    Some(found)
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

    /// The largest absolute value, with what else can add up to `reach` either way.
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
    // Coefficients are far from the one value that does not fit.
    i128::try_from(a).unwrap_or(1)
}
