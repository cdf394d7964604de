//! A refutation procedure for systems of linear constraints over bounded integer variables.
//!
//! [`LinearSystem::is_refuted`] returns `true` only if no assignment of integers satisfies the system. It may fail to
//! refute an unsatisfiable system: the procedure is incomplete, and its work is limited.
//!
//! Equations are eliminated exactly, as in the Omega test (Pugh, *The Omega test: a fast and practical integer
//! programming algorithm for dependence analysis*, 1991). Inequalities are eliminated by the method of Fourier and
//! Motzkin, with constants rounded to integers at each step. Disjunctions are split into cases, and so are variables
//! with few values. An equation such as `m * a + b == 0`, where `b` is between `-m` and `m`, is two: the digits of a
//! mixed-radix number.

use std::cell::Cell;

use smallvec::SmallVec;

/// The maximum work of one refutation, in combinations of two rows.
pub const MAX_WORK: usize = 60_000;
/// The work of an elimination before all disjunctions are decided. It rarely needs more where it succeeds.
const EARLY_WORK: usize = 500;
/// The maximum number of rows during elimination.
const MAX_ROWS: usize = 400;
/// The maximum magnitude of constants, coefficients and bounds. Their negations and sums of two do not overflow.
pub(super) const MAX_VALUE: i128 = 1 << 125;
/// The least coefficient of a variable whose values are distinguished.
const STEP: i128 = 2;
/// Rounds of bound propagation between eliminations.
const ROUNDS: usize = 6;

/// A variable of a system.
pub(super) type SystemVar = u32;

/// A linear combination of variables plus a constant. Terms are sorted by variable and have no zero coefficients.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct LinearExpr {
    terms: SmallVec<[(SystemVar, i128); 4]>,
    constant: i128,
}

/// A constraint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Constraint {
    /// The value is at least zero.
    NonNegative(LinearExpr),
    /// The value is zero.
    Zero(LinearExpr),
    /// All hold.
    All(Vec<Constraint>),
    /// At least one holds.
    Any(Vec<Constraint>),
}

/// Variables with bounds, and constraints that all hold.
#[derive(Clone, Debug, Default)]
pub(super) struct LinearSystem {
    bounds: Vec<(i128, i128)>,
    facts: Vec<Constraint>,
}

impl LinearExpr {
    pub(super) fn constant(constant: i128) -> Self {
        Self { terms: SmallVec::new(), constant }
    }

    pub(super) fn var(var: SystemVar) -> Self {
        Self { terms: SmallVec::from_slice(&[(var, 1)]), constant: 0 }
    }

    /// The value, if there are no variables.
    pub(super) fn value(&self) -> Option<i128> {
        self.terms.is_empty().then_some(self.constant)
    }

    pub(super) fn terms(&self) -> &[(SystemVar, i128)] {
        &self.terms
    }

    pub(super) const fn constant_term(&self) -> i128 {
        self.constant
    }

    /// `self + by * other`; none on overflow, as for the other methods.
    pub(super) fn plus(&self, by: i128, other: &Self) -> Option<Self> {
        let constant = self.constant.checked_add(other.constant.checked_mul(by)?)?;
        let mut terms = SmallVec::new();
        let (mut a, mut b) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        loop {
            let (var, coef) = match (a.peek(), b.peek()) {
                (None, None) => break,
                (Some(x), y) if y.is_none_or(|y| x.0 < y.0) => (x.0, a.next()?.1),
                (x, Some(y)) if x.is_none_or(|x| y.0 < x.0) => (y.0, b.next()?.1.checked_mul(by)?),
                _ => {
                    let ((var, x), (_, y)) = (a.next()?, b.next()?);
                    (*var, x.checked_add(y.checked_mul(by)?)?)
                }
            };
            if coef != 0 {
                terms.push((var, limited(coef)?));
            }
        }
        Some(Self { terms, constant: limited(constant)? })
    }

    pub(super) fn add(&self, other: &Self) -> Option<Self> {
        self.plus(1, other)
    }

    pub(super) fn sub(&self, other: &Self) -> Option<Self> {
        self.plus(-1, other)
    }

    pub(super) fn add_constant(&self, by: i128) -> Option<Self> {
        let constant = limited(self.constant.checked_add(by)?)?;
        Some(Self { terms: self.terms.clone(), constant })
    }

    pub(super) fn scale(&self, by: i128) -> Option<Self> {
        Self::constant(0).plus(by, self)
    }

    fn coefficient(&self, var: SystemVar) -> i128 {
        self.terms.iter().find(|term| term.0 == var).map_or(0, |term| term.1)
    }

    /// Whether all values are multiples of a power of two that exceeds this range, which has no negative values.
    pub(super) fn has_bits_above(&self, (lo, hi): (i128, i128)) -> bool {
        let divisor = super::gcd(self.divisor(), self.constant);
        lo >= 0 && (divisor == 0 || hi < 1 << divisor.trailing_zeros())
    }

    /// The greatest common divisor of the coefficients; 0 without terms.
    fn divisor(&self) -> i128 {
        self.terms.iter().fold(0, |divisor, term| super::gcd(divisor, term.1))
    }

    /// The value with `var` replaced by `by`.
    fn substitute(&self, var: SystemVar, by: &Self) -> Option<Self> {
        match self.coefficient(var) {
            0 => Some(self.clone()),
            coef => self.plus(-coef, &Self::var(var))?.plus(coef, by),
        }
    }
}

impl Constraint {
    /// `a <= b`
    pub(super) fn at_most(a: &LinearExpr, b: &LinearExpr) -> Option<Self> {
        Some(Self::NonNegative(b.sub(a)?))
    }

    /// `a < b`
    pub(super) fn less(a: &LinearExpr, b: &LinearExpr) -> Option<Self> {
        Some(Self::NonNegative(b.sub(a)?.add_constant(-1)?))
    }

    /// `a == b`
    pub(super) fn equal(a: &LinearExpr, b: &LinearExpr) -> Option<Self> {
        Some(Self::Zero(a.sub(b)?))
    }

    /// `a != b`
    pub(super) fn differ(a: &LinearExpr, b: &LinearExpr) -> Option<Self> {
        Some(Self::Any(vec![Self::less(a, b)?, Self::less(b, a)?]))
    }
}

impl LinearSystem {
    /// Adds a variable with values from `lo` to `hi`.
    pub(super) fn variable(&mut self, lo: i128, hi: i128) -> SystemVar {
        self.bounds.push((lo, hi));
        (self.bounds.len() - 1) as SystemVar
    }

    pub(super) fn bounds(&self, var: SystemVar) -> (i128, i128) {
        self.bounds[var as usize]
    }

    /// Adds a constraint. None, which an overflow gives, adds nothing.
    pub(super) fn add(&mut self, fact: impl Into<Option<Constraint>>) {
        self.facts.extend(fact.into());
    }

    /// The smallest and the largest value by the variables' bounds; none on overflow.
    pub(super) fn range(&self, value: &LinearExpr) -> Option<(i128, i128)> {
        range(&self.bounds, value)
    }

    /// Whether no assignment satisfies all constraints. `false` means "unknown". Takes its work from `budget`.
    pub(super) fn is_refuted(&self, budget: &Cell<usize>) -> bool {
        let store = ConstraintStore {
            bounds: self.bounds.clone(),
            rows: Vec::new(),
            replaced: Vec::new(),
            cases: Vec::new(),
        };
        let most = budget.get().min(MAX_WORK);
        let mut work = most;
        let is_refuted = work > 0 && store.refute(self.facts.clone(), &mut work);
        budget.set(budget.get() - (most - work));
        is_refuted
    }
}

/// A contradiction was found.
struct Infeasible;

/// What is known of the variables in one case.
#[derive(Clone)]
struct ConstraintStore {
    bounds: Vec<(i128, i128)>,
    /// Values that are at least zero.
    rows: Vec<LinearExpr>,
    /// Variables that an equation eliminated, and their values.
    replaced: Vec<(SystemVar, LinearExpr)>,
    /// Disjunctions that are not decided yet.
    cases: Vec<Vec<Constraint>>,
}

impl ConstraintStore {
    /// Whether the store with these facts is contradictory.
    fn refute(mut self, facts: Vec<Constraint>, work: &mut usize) -> bool {
        match self.assume(facts, work) {
            Err(Infeasible) => return true,
            Ok(()) if *work == 0 => return false,
            Ok(()) => {}
        }
        // Elimination is costly, and rarely succeeds before pairs of cases are distinguished.
        let is_last = self.cases.iter().all(|cases| cases.len() > 2);
        let share = if self.cases.is_empty() { *work } else { (*work).min(EARLY_WORK) };
        let mut left = share;
        let is_refuted = is_last && self.rows_are_contradictory(&mut left);
        *work -= share - left;
        if is_refuted {
            return true;
        }
        // The disjunction with the fewest cases.
        let cases = match (0..self.cases.len()).min_by_key(|at| self.cases[*at].len()) {
            Some(at) => self.cases.swap_remove(at),
            None => self.few_values(),
        };
        if cases.is_empty() {
            return false;
        }
        cases.into_iter().all(|case| *work > 0 && self.clone().refute(vec![case], work))
    }

    /// The values of a variable with a coefficient of at least [`STEP`], such as a quotient, if there are few:
    /// elimination does not see that it is an integer.
    fn few_values(&self) -> Vec<Constraint> {
        let mut terms = self.rows.iter().flat_map(|row| &row.terms);
        let found = terms.find(|(var, coef)| {
            let (lo, hi) = self.bounds[*var as usize];
            coef.abs() >= STEP && lo < hi && hi - lo < 3
        });
        let Some(&(var, _)) = found else { return Vec::new() };
        let (lo, hi) = self.bounds[var as usize];
        let is = |value: i128| LinearExpr::var(var).add_constant(-value).map(Constraint::Zero);
        (lo..=hi).map(is).collect::<Option<_>>().unwrap_or_default()
    }

    /// Adds facts and draws simple conclusions.
    fn assume(&mut self, facts: Vec<Constraint>, work: &mut usize) -> Result<(), Infeasible> {
        let mut facts = facts;
        loop {
            while let Some(fact) = facts.pop() {
                *work = work.saturating_sub(1);
                match fact {
                    Constraint::All(all) => facts.extend(all),
                    Constraint::Any(cases) => self.cases.push(cases),
                    Constraint::NonNegative(value) => {
                        if let Some(value) = self.resolve(&value) {
                            self.row(value)?;
                        }
                    }
                    Constraint::Zero(value) => {
                        if let Some(value) = self.resolve(&value) {
                            self.equation(value, work)?;
                        }
                    }
                }
            }
            self.propagate()?;
            // A disjunction with one possible case is a fact.
            let mut at = 0;
            while at < self.cases.len() {
                let mut cases = std::mem::take(&mut self.cases[at]);
                cases.retain(|case| self.is_possible(case));
                match cases.len() {
                    0 => return Err(Infeasible),
                    1 => {
                        facts.append(&mut cases);
                        self.cases.swap_remove(at);
                    }
                    _ => {
                        self.cases[at] = cases;
                        at += 1;
                    }
                }
            }
            if facts.is_empty() || *work == 0 {
                return Ok(());
            }
        }
    }

    /// Whether bounds alone do not exclude the formula.
    fn is_possible(&self, formula: &Constraint) -> bool {
        let range = |value| self.resolve(value).and_then(|value| range(&self.bounds, &value));
        match formula {
            Constraint::NonNegative(value) => range(value).is_none_or(|range| range.1 >= 0),
            Constraint::Zero(value) => {
                range(value).is_none_or(|range| range.0 <= 0 && range.1 >= 0)
            }
            Constraint::All(all) => all.iter().all(|each| self.is_possible(each)),
            Constraint::Any(any) => any.iter().any(|each| self.is_possible(each)),
        }
    }

    /// The value without eliminated variables.
    fn resolve(&self, value: &LinearExpr) -> Option<LinearExpr> {
        let mut value = value.clone();
        let replaced = |value: &LinearExpr| {
            let mut terms = value.terms.iter();
            terms.find_map(|term| self.replaced.iter().find(|(var, _)| *var == term.0))
        };
        while let Some((var, by)) = replaced(&value) {
            value = value.substitute(*var, by)?;
        }
        Some(value)
    }

    /// Adds `value >= 0`.
    fn row(&mut self, value: LinearExpr) -> Result<(), Infeasible> {
        let row = rounded(value);
        match row.terms.as_slice() {
            [] if row.constant < 0 => Err(Infeasible),
            [] => Ok(()),
            [(var, coef)] => {
                // The coefficient is 1 or -1 after rounding.
                let bounds = &mut self.bounds[*var as usize];
                if *coef > 0 {
                    bounds.0 = bounds.0.max(-row.constant);
                } else {
                    bounds.1 = bounds.1.min(row.constant);
                }
                if bounds.0 > bounds.1 { Err(Infeasible) } else { Ok(()) }
            }
            _ => {
                self.rows.push(row);
                Ok(())
            }
        }
    }

    /// Adds `value == 0` by eliminating a variable.
    fn equation(&mut self, mut value: LinearExpr, work: &mut usize) -> Result<(), Infeasible> {
        loop {
            *work = work.saturating_sub(1);
            let divisor = value.divisor();
            if divisor == 0 {
                return if value.constant == 0 { Ok(()) } else { Err(Infeasible) };
            }
            if value.constant % divisor != 0 {
                return Err(Infeasible);
            }
            value.terms.iter_mut().for_each(|term| term.1 /= divisor);
            value.constant /= divisor;
            if let Some([multiple, rest]) = self.digits(&value) {
                self.equation(rest, work)?;
                return match self.resolve(&multiple) {
                    Some(multiple) => self.equation(multiple, work),
                    None => Ok(()),
                };
            }
            if let Some(&(var, coef)) = value.terms.iter().find(|term| term.1.abs() == 1) {
                let by =
                    value.plus(-coef, &LinearExpr::var(var)).and_then(|rest| rest.scale(-coef));
                return by.map_or(Ok(()), |by| self.replace(var, by));
            }
            let Some(&(least, coef)) = value.terms.iter().min_by_key(|term| term.1.abs()) else {
                return Ok(());
            };
            if *work == 0 {
                return Ok(());
            }
            // Pugh's step: a new variable makes the coefficient of `least` a unit modulo `modulus`.
            let modulus = coef.abs() + 1;
            let sigma = self.bounds.len() as SystemVar;
            let balanced = |a: i128| {
                let low = a.rem_euclid(modulus);
                if 2 * low >= modulus { low - modulus } else { low }
            };
            let mut by = LinearExpr::constant(balanced(value.constant));
            by.terms = value.terms.iter().map(|term| (term.0, balanced(term.1))).collect();
            by.terms.retain(|term| term.1 != 0);
            let unit = by.coefficient(least);
            debug_assert_eq!(unit.abs(), 1);
            // The variable is `by / modulus`, without a rest.
            let Some((lo, hi)) = range(&self.bounds, &by) else { return Ok(()) };
            self.bounds.push((lo.div_euclid(modulus), hi.div_euclid(modulus)));
            let solved = by
                .plus(-unit, &LinearExpr::var(least))
                .and_then(|rest| rest.plus(-modulus, &LinearExpr::var(sigma)))
                .and_then(|rest| rest.scale(-unit));
            let Some(solved) = solved else { return Ok(()) };
            let next = value.substitute(least, &solved);
            self.replace(least, solved)?;
            let Some(next) = next else { return Ok(()) };
            value = next;
        }
    }

    /// Splits `m * a + b == 0` with `-m < b < m` into `a == 0` and `b == 0`: the digits of an index such as
    /// `row * m + column`. If another multiple of `m` is the only one that `b` can be, it is split off. None if no such
    /// `m` exists, or several multiples are possible.
    fn digits(&self, value: &LinearExpr) -> Option<[LinearExpr; 2]> {
        let mut sizes: SmallVec<[i128; 4]> =
            value.terms.iter().map(|term| term.1.abs()).filter(|size| *size > 1).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes.into_iter().find_map(|size| {
            let (mut multiple, mut rest) =
                (LinearExpr::default(), LinearExpr::constant(value.constant));
            for &(var, coef) in &value.terms {
                match coef % size {
                    0 => multiple.terms.push((var, coef / size)),
                    _ => rest.terms.push((var, coef)),
                }
            }
            if rest.terms.is_empty() {
                return None;
            }
            let (lo, hi) = range(&self.bounds, &rest)?;
            let first = -(-lo).div_euclid(size);
            let is_only = first * size <= hi && (first + 1) * size > hi;
            multiple.constant = first;
            is_only.then_some([multiple, rest.add_constant(-first * size)?])
        })
    }

    /// Replaces a variable by an equal value in all rows. Its bounds become rows.
    fn replace(&mut self, var: SystemVar, by: LinearExpr) -> Result<(), Infeasible> {
        let (lo, hi) = self.bounds[var as usize];
        let rows = std::mem::take(&mut self.rows);
        for row in rows {
            if let Some(row) = row.substitute(var, &by) {
                self.row(row)?;
            }
        }
        let bounds = [by.add_constant(-lo), LinearExpr::constant(hi).sub(&by)];
        self.replaced.push((var, by));
        bounds.into_iter().flatten().try_for_each(|row| self.row(row))
    }

    /// Narrows the bounds of variables by the rows.
    fn propagate(&mut self) -> Result<(), Infeasible> {
        for _ in 0..ROUNDS {
            let mut changed = false;
            for row in &self.rows {
                let Some((_, hi)) = range(&self.bounds, row) else { continue };
                if hi < 0 {
                    return Err(Infeasible);
                }
                for &(var, coef) in &row.terms {
                    let bounds = &mut self.bounds[var as usize];
                    // `hi` without this variable's share, plus `coef * var`, is at least zero.
                    let own = if coef > 0 { bounds.1 } else { bounds.0 };
                    let Some(rest) = coef.checked_mul(own).and_then(|own| hi.checked_sub(own))
                    else {
                        continue;
                    };
                    if coef > 0 {
                        let lo = -rest.div_euclid(coef);
                        changed |= lo > bounds.0;
                        bounds.0 = bounds.0.max(lo);
                    } else {
                        let hi = rest.div_euclid(-coef);
                        changed |= hi < bounds.1;
                        bounds.1 = bounds.1.min(hi);
                    }
                    if bounds.0 > bounds.1 {
                        return Err(Infeasible);
                    }
                    // The row's maximum changes only through the other bound.
                }
            }
            if !changed {
                break;
            }
        }
        Ok(())
    }

    /// Eliminates all variables; whether that gives a contradiction.
    fn rows_are_contradictory(&self, work: &mut usize) -> bool {
        // One row per combination of coefficients, that with the smallest constant.
        let mut rows: Vec<LinearExpr> = Vec::new();
        let add = |rows: &mut Vec<LinearExpr>, row: LinearExpr| {
            let row = rounded(row);
            if row.terms.is_empty() {
                return row.constant < 0;
            }
            // The bounds of the variables, which are rows as well, imply it.
            if row.terms.len() > 1 && range(&self.bounds, &row).is_some_and(|range| range.0 >= 0) {
                return false;
            }
            match rows.iter_mut().find(|other| other.terms == row.terms) {
                Some(other) => other.constant = other.constant.min(row.constant),
                None => rows.push(row),
            }
            false
        };
        let mut vars: Vec<SystemVar> = Vec::new();
        for row in &self.rows {
            vars.extend(row.terms.iter().map(|term| term.0));
            if add(&mut rows, row.clone()) {
                return true;
            }
        }
        vars.sort_unstable();
        vars.dedup();
        for var in &vars {
            let (lo, hi) = self.bounds[*var as usize];
            for row in [
                LinearExpr::var(*var).add_constant(-lo),
                LinearExpr::constant(hi).sub(&LinearExpr::var(*var)),
            ] {
                if row.is_some_and(|row| add(&mut rows, row)) {
                    return true;
                }
            }
        }
        while !vars.is_empty() {
            // Eliminates the variable that adds the fewest rows.
            let cost = |var: SystemVar| {
                let (mut lower, mut upper) = (0usize, 0usize);
                for row in &rows {
                    match row.coefficient(var) {
                        0 => {}
                        coef if coef > 0 => lower += 1,
                        _ => upper += 1,
                    }
                }
                (lower * upper) as isize - (lower + upper) as isize
            };
            let Some(at) = (0..vars.len()).min_by_key(|at| (cost(vars[*at]), *at)) else { break };
            let var = vars.swap_remove(at);
            let (mut lower, mut upper) = (Vec::new(), Vec::new());
            rows.retain(|row| {
                let coef = row.coefficient(var);
                match coef {
                    0 => return true,
                    1.. => lower.push((coef, row.clone())),
                    _ => upper.push((-coef, row.clone())),
                }
                false
            });
            for (a, low) in &lower {
                for (b, high) in &upper {
                    *work = work.saturating_sub(1);
                    let divisor = super::gcd(*a, *b);
                    let row = low.scale(b / divisor).and_then(|low| low.plus(a / divisor, high));
                    // Without a row that overflows, less is known.
                    if row.is_some_and(|row| add(&mut rows, row)) {
                        return true;
                    }
                }
            }
            if *work == 0 || rows.len() > MAX_ROWS {
                return false;
            }
        }
        false
    }
}

fn range(bounds: &[(i128, i128)], value: &LinearExpr) -> Option<(i128, i128)> {
    let (mut lo, mut hi) = (value.constant, value.constant);
    for &(var, coef) in &value.terms {
        let bounds = bounds[var as usize];
        let (x, y) = (coef.checked_mul(bounds.0)?, coef.checked_mul(bounds.1)?);
        lo = lo.checked_add(x.min(y))?;
        hi = hi.checked_add(x.max(y))?;
    }
    Some((limited(lo)?, limited(hi)?))
}

/// The value, unless it exceeds [`MAX_VALUE`].
fn limited(value: i128) -> Option<i128> {
    (-MAX_VALUE..=MAX_VALUE).contains(&value).then_some(value)
}

/// The inequality `value >= 0` divided by the divisor of its coefficients.
fn rounded(mut value: LinearExpr) -> LinearExpr {
    let divisor = value.divisor();
    if divisor > 1 {
        value.terms.iter_mut().for_each(|term| term.1 /= divisor);
        value.constant = value.constant.div_euclid(divisor);
    }
    value
}

#[cfg(test)]
mod tests;
