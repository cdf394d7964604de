//! Forms, the variables they are made of, and the arithmetic that keeps them affine.

use smallvec::SmallVec;

/// At most this many variables have a place in a form; beyond them an index has none.
pub const MAX_VARS: usize = 10;

/// An integer combination of variables and a constant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Form {
    constant: i128,
    coefs: [i128; MAX_VARS],
}

/// What a variable is to the iterations of a loop.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum VarKind {
    /// Of the parallel loop: one value per iteration.
    Parallel,
    /// Of an inner loop: any of its values in any iteration.
    Inner,
    /// Of neither: one value, which is not known.
    Fixed,
}

/// A variable and the values it takes, from `first` to `last`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Var {
    pub(super) kind: VarKind,
    pub(super) first: i128,
    pub(super) last: i128,
    /// Where the variable is taken apart: `by * vars[high] + vars[high + 1]`.
    split: Option<(i128, usize)>,
}

/// The variables of forms.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Space {
    vars: SmallVec<[Var; MAX_VARS]>,
}

// Checked, so that these are no operators.
#[allow(clippy::should_implement_trait)]
impl Form {
    /// A number.
    #[must_use]
    pub const fn constant(value: i128) -> Self {
        Self { constant: value, coefs: [0; MAX_VARS] }
    }

    /// A variable, by the place that [`Space::push`] gave it; of any other place, zero.
    #[must_use]
    pub fn var(at: usize) -> Self {
        let mut form = Self::constant(0);
        if let Some(coef) = form.coefs.get_mut(at) {
            *coef = 1;
        }
        form
    }

    /// The number, where no variable occurs.
    #[must_use]
    pub fn value(&self) -> Option<i128> {
        self.coefs.iter().all(|c| *c == 0).then_some(self.constant)
    }

    /// The sum; none where a number grows too large, here as below.
    #[must_use]
    pub fn add(self, other: Self) -> Option<Self> {
        self.zip(other, i128::checked_add)
    }

    /// The difference.
    #[must_use]
    pub fn sub(self, other: Self) -> Option<Self> {
        self.zip(other, i128::checked_sub)
    }

    /// The product, where one of the two is a number.
    #[must_use]
    pub fn mul(self, other: Self) -> Option<Self> {
        let (form, by) = match (self.value(), other.value()) {
            (Some(by), _) => (other, by),
            (_, Some(by)) => (self, by),
            _ => return None,
        };
        form.zip(form, |c, _| c.checked_mul(by))
    }

    pub(super) const fn value_at_zero(&self) -> i128 {
        self.constant
    }

    pub(super) const fn coef(&self, at: usize) -> i128 {
        self.coefs[at]
    }

    fn zip(self, other: Self, op: impl Fn(i128, i128) -> Option<i128>) -> Option<Self> {
        let mut out = Self::constant(op(self.constant, other.constant)?);
        for (at, coef) in out.coefs.iter_mut().enumerate() {
            *coef = op(self.coefs[at], other.coefs[at])?;
        }
        Some(out)
    }
}

impl Var {
    /// A variable with the values from `first` to `last`; where there are none, it is taken to be
    /// `first`.
    #[must_use]
    pub const fn new(kind: VarKind, first: i128, last: i128) -> Self {
        Self { kind, first, last: if last < first { first } else { last }, split: None }
    }
}

impl Space {
    /// A space without variables.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a variable, and gives its place; none where there are [`MAX_VARS`] already.
    pub fn push(&mut self, var: Var) -> Option<usize> {
        if self.vars.len() == MAX_VARS {
            return None;
        }
        self.vars.push(var);
        Some(self.vars.len() - 1)
    }

    /// Says anew what values a variable takes.
    pub fn set(&mut self, at: usize, var: Var) {
        if let Some(known) = self.vars.get_mut(at) {
            *known = var;
        }
    }

    /// The space in which these variables have one value each, which is not known.
    #[must_use]
    pub fn fixing(&self, vars: &[usize]) -> Self {
        let mut fixed = self.clone();
        for &at in vars {
            fixed.fix(at);
        }
        fixed
    }

    fn fix(&mut self, at: usize) {
        let Some(var) = self.vars.get_mut(at) else { return };
        var.kind = VarKind::Fixed;
        if let Some((_, high)) = var.split {
            self.fix(high);
            self.fix(high + 1);
        }
    }

    /// Whether the parallel loop has two iterations that a race could be between.
    #[must_use]
    pub fn has_iterations(&self) -> bool {
        self.differing() != 0
    }

    /// The smallest and the largest value of a form.
    #[must_use]
    pub fn range(&self, form: &Form) -> Option<(i128, i128)> {
        let (mut lo, mut hi) = (form.constant, form.constant);
        for (at, var) in self.vars.iter().enumerate() {
            let coef = form.coefs[at];
            let (x, y) = (coef.checked_mul(var.first)?, coef.checked_mul(var.last)?);
            lo = lo.checked_add(x.min(y))?;
            hi = hi.checked_add(x.max(y))?;
        }
        Some((lo, hi))
    }

    /// The quotient and the remainder of a form that is never negative, by a positive number.
    ///
    /// A variable that is neither below `by` nor counted in multiples of it is taken apart into two, for
    /// quotient and remainder, which it is as good as.
    pub fn div_rem(&mut self, form: Form, by: i128) -> Option<(Form, Form)> {
        if by <= 0 || self.range(&form)?.0 < 0 {
            return None;
        }
        loop {
            let form = self.split(form);
            let mut high = Form::constant(form.constant.div_euclid(by));
            let mut low = Form::constant(form.constant.rem_euclid(by));
            for at in 0..self.vars.len() {
                if form.coefs[at] % by == 0 {
                    high.coefs[at] = form.coefs[at] / by;
                } else {
                    low.coefs[at] = form.coefs[at];
                }
            }
            let (lo, hi) = self.range(&low)?;
            if lo >= 0 && hi < by {
                return Some((high, low));
            }
            self.take_apart(&low, by)?;
        }
    }

    /// The smaller of two forms, where it is always the same one.
    #[must_use]
    pub fn min(&self, a: Form, b: Form) -> Option<Form> {
        let (x, y) = (self.range(&a)?, self.range(&b)?);
        if x.1 <= y.0 {
            Some(a)
        } else if y.1 <= x.0 {
            Some(b)
        } else {
            None
        }
    }

    /// The larger of two forms, where it is always the same one.
    #[must_use]
    pub fn max(&self, a: Form, b: Form) -> Option<Form> {
        let (x, y) = (self.range(&a)?, self.range(&b)?);
        if x.0 >= y.1 {
            Some(a)
        } else if y.0 >= x.1 {
            Some(b)
        } else {
            None
        }
    }

    /// The form in variables that are not taken apart.
    pub(super) fn split(&self, mut form: Form) -> Form {
        // The parts of a variable come after it.
        for at in 0..self.vars.len() {
            if let Some((by, high)) = self.vars[at].split {
                let coef = std::mem::take(&mut form.coefs[at]);
                form.coefs[high] = form.coefs[high].saturating_add(coef.saturating_mul(by));
                form.coefs[high + 1] = form.coefs[high + 1].saturating_add(coef);
            }
        }
        form
    }

    /// The variables that are not taken apart.
    pub(super) fn vars(&self) -> impl Iterator<Item = (usize, &Var)> {
        self.vars.iter().enumerate().filter(|(_, var)| var.split.is_none())
    }

    /// What a form is made of.
    pub(super) fn terms(&self, form: &Form) -> impl Iterator<Item = (i128, &Var)> {
        self.vars.iter().enumerate().map(|(at, var)| (form.coefs[at], var))
    }

    /// The variables that may differ between two iterations, as bits.
    pub(super) fn differing(&self) -> u32 {
        let differs = |var: &Var| var.kind == VarKind::Parallel && var.last > var.first;
        self.vars().filter(|(_, var)| differs(var)).fold(0, |bits, (at, _)| bits | 1 << at)
    }

    /// Takes the only variable of `low` apart.
    fn take_apart(&mut self, low: &Form, by: i128) -> Option<()> {
        let mut alone = (0..self.vars.len()).filter(|at| low.coefs[*at] != 0);
        let (Some(at), None) = (alone.next(), alone.next()) else { return None };
        let var = self.vars[at];
        let whole = low.coefs[at] == 1 && low.constant == 0;
        if !whole || var.kind == VarKind::Fixed || var.first < 0 || self.vars.len() + 2 > MAX_VARS {
            return None;
        }
        let high = self.push(Var::new(var.kind, var.first / by, var.last / by))?;
        self.push(Var::new(var.kind, 0, by - 1))?;
        self.vars[at].split = Some((by, high));
        Some(())
    }
}
