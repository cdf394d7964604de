//! Affine forms, the variables of their terms, and arithmetic that stays affine.

use smallvec::SmallVec;

/// The maximum number of variables of a form. An index with more variables has no form.
pub const MAX_VARS: usize = 10;

/// A linear combination of variables with integer coefficients, plus a constant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AffineForm {
    constant: i128,
    coefs: [i128; MAX_VARS],
}

/// How a variable varies over the iterations of a loop.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum VarKind {
    /// A variable of the parallel loop: one value per iteration.
    Parallel,
    /// A variable of an inner loop: any of its values in any iteration.
    Inner,
    /// An unknown value, the same in all iterations.
    Fixed,
}

/// A variable and its range, from `first` to `last` inclusive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Var {
    pub(super) kind: VarKind,
    pub(super) first: i128,
    pub(super) last: i128,
    /// If the variable is split: `var = by * vars[high] + vars[high + 1]`.
    split: Option<(i128, usize)>,
}

/// The variables of affine forms, with their ranges.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct VarSpace {
    vars: SmallVec<[Var; MAX_VARS]>,
    /// Whether only the threads of one block are considered.
    in_block: bool,
    /// The thread number, if only threads of different blocks are considered.
    thread: Option<usize>,
}

// Checked, and so not implementations of the operator traits.
#[allow(clippy::should_implement_trait)]
impl AffineForm {
    /// A constant.
    #[must_use]
    pub const fn constant(value: i128) -> Self {
        Self { constant: value, coefs: [0; MAX_VARS] }
    }

    /// The variable with this index, as returned by [`VarSpace::push`]; zero for an invalid index.
    #[must_use]
    pub fn var(at: usize) -> Self {
        let mut form = Self::constant(0);
        if let Some(coef) = form.coefs.get_mut(at) {
            *coef = 1;
        }
        form
    }

    /// The value, if the form is a constant.
    #[must_use]
    pub fn value(&self) -> Option<i128> {
        self.coefs.iter().all(|c| *c == 0).then_some(self.constant)
    }

    /// The sum. This method and the following return none on overflow.
    #[must_use]
    pub fn add(self, other: Self) -> Option<Self> {
        self.zip(other, i128::checked_add)
    }

    /// The difference.
    #[must_use]
    pub fn sub(self, other: Self) -> Option<Self> {
        self.zip(other, i128::checked_sub)
    }

    /// The product, if one of the two is a constant.
    #[must_use]
    pub fn mul(self, other: Self) -> Option<Self> {
        let (form, by) = match (self.value(), other.value()) {
            (Some(by), _) => (other, by),
            (_, Some(by)) => (self, by),
            _ => return None,
        };
        form.zip(form, |c, _| c.checked_mul(by))
    }

    pub(super) const fn constant_term(&self) -> i128 {
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
    /// A variable with values from `first` to `last`. If the range is empty, the only value is `first`.
    #[must_use]
    pub const fn new(kind: VarKind, first: i128, last: i128) -> Self {
        Self { kind, first, last: if last < first { first } else { last }, split: None }
    }
}

impl VarSpace {
    /// A space without variables.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a variable and returns its index; none if there are [`MAX_VARS`] already.
    pub fn push(&mut self, var: Var) -> Option<usize> {
        if self.vars.len() == MAX_VARS {
            return None;
        }
        self.vars.push(var);
        Some(self.vars.len() - 1)
    }

    /// Replaces a variable.
    pub fn set(&mut self, at: usize, var: Var) {
        if let Some(known) = self.vars.get_mut(at) {
            *known = var;
        }
    }

    /// The space of the threads of one block, for which these variables are fixed: each has one unknown value.
    #[must_use]
    pub fn in_block(&self, vars: &[usize]) -> Self {
        let mut fixed = self.clone();
        fixed.in_block = true;
        for &at in vars {
            fixed.set_kind(at, VarKind::Fixed);
        }
        fixed
    }

    /// The space of the threads of two blocks, whose thread numbers, this variable, may be any.
    #[must_use]
    pub fn between_blocks(&self, thread: usize) -> Self {
        let mut between = self.clone();
        between.thread = Some(thread);
        between.set_kind(thread, VarKind::Inner);
        between
    }

    fn set_kind(&mut self, at: usize, kind: VarKind) {
        let Some(var) = self.vars.get_mut(at) else { return };
        var.kind = kind;
        if let Some((_, high)) = var.split {
            self.set_kind(high, kind);
            self.set_kind(high + 1, kind);
        }
    }

    /// The smallest and the largest value of a form; none on overflow.
    #[must_use]
    pub fn range(&self, form: &AffineForm) -> Option<(i128, i128)> {
        let (mut lo, mut hi) = (form.constant, form.constant);
        for (at, var) in self.vars.iter().enumerate() {
            let coef = form.coefs[at];
            let (x, y) = (coef.checked_mul(var.first)?, coef.checked_mul(var.last)?);
            lo = lo.checked_add(x.min(y))?;
            hi = hi.checked_add(x.max(y))?;
        }
        Some((lo, hi))
    }

    /// The quotient and remainder of a nonnegative form by a positive constant, if they are affine.
    ///
    /// A variable whose range is not below `by`, and whose coefficient is no multiple of `by`, is split into two
    /// variables: its quotient and its remainder.
    pub fn div_rem(&mut self, form: AffineForm, by: i128) -> Option<(AffineForm, AffineForm)> {
        if by <= 0 || self.range(&form)?.0 < 0 {
            return None;
        }
        loop {
            let form = self.expand(form);
            let mut high = AffineForm::constant(form.constant.div_euclid(by));
            let mut low = AffineForm::constant(form.constant.rem_euclid(by));
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
            self.split_var(&low, by)?;
        }
    }

    /// The minimum of two forms, if it is always the same one.
    #[must_use]
    pub fn min(&self, a: AffineForm, b: AffineForm) -> Option<AffineForm> {
        let (x, y) = (self.range(&a)?, self.range(&b)?);
        if x.1 <= y.0 {
            Some(a)
        } else if y.1 <= x.0 {
            Some(b)
        } else {
            None
        }
    }

    /// The maximum of two forms, if it is always the same one.
    #[must_use]
    pub fn max(&self, a: AffineForm, b: AffineForm) -> Option<AffineForm> {
        let (x, y) = (self.range(&a)?, self.range(&b)?);
        if x.0 >= y.1 {
            Some(a)
        } else if y.0 >= x.1 {
            Some(b)
        } else {
            None
        }
    }

    /// The form with all split variables replaced by their parts.
    pub(super) fn expand(&self, mut form: AffineForm) -> AffineForm {
        // The parts of a variable have higher indices.
        for at in 0..self.vars.len() {
            if let Some((by, high)) = self.vars[at].split {
                let coef = std::mem::take(&mut form.coefs[at]);
                form.coefs[high] = form.coefs[high].saturating_add(coef.saturating_mul(by));
                form.coefs[high + 1] = form.coefs[high + 1].saturating_add(coef);
            }
        }
        form
    }

    /// A variable. Without the variable, an unknown value.
    pub(super) fn var(&self, at: usize) -> Var {
        let unknown = Var::new(VarKind::Inner, -(1 << 66), 1 << 66);
        self.vars.get(at).copied().unwrap_or(unknown)
    }

    /// The variables of the parallel loop, without the parts of split variables.
    pub(super) fn parallel_vars(&self) -> Vec<usize> {
        let is_part = |at: usize| {
            self.vars
                .iter()
                .any(|var| var.split.is_some_and(|(_, high)| at == high || at == high + 1))
        };
        let vars = self.vars.iter().enumerate();
        let parallel = vars.filter(|(at, var)| var.kind == VarKind::Parallel && !is_part(*at));
        parallel.map(|(at, _)| at).collect()
    }

    /// The thread number, if only threads of different blocks are considered. It is after the variables of the blocks.
    pub(super) const fn thread_between_blocks(&self) -> Option<usize> {
        self.thread
    }

    pub(super) const fn is_in_block(&self) -> bool {
        self.in_block
    }

    /// The variables that are not split.
    pub(super) fn vars(&self) -> impl Iterator<Item = (usize, &Var)> {
        self.vars.iter().enumerate().filter(|(_, var)| var.split.is_none())
    }

    pub(super) fn terms(&self, form: &AffineForm) -> impl Iterator<Item = (i128, &Var)> {
        self.vars.iter().enumerate().map(|(at, var)| (form.coefs[at], var))
    }

    /// The parallel variables that can differ between two iterations, as a bit set.
    pub(super) fn differing(&self) -> u32 {
        let differs = |var: &Var| var.kind == VarKind::Parallel && var.last > var.first;
        self.vars().filter(|(_, var)| differs(var)).fold(0, |bits, (at, _)| bits | 1 << at)
    }

    /// Splits the only variable of `low`.
    fn split_var(&mut self, low: &AffineForm, by: i128) -> Option<()> {
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
