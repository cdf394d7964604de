//! Loops: their bounds, and variables that do not simply count up.
//!
//! The IR's loops go up by one, or down where one thread runs them. One with a step, or a parallel one backwards,
//! counts its values instead, and computes each from its number: an integer combination, which proofs see through.

use quadrants_ir::{
    BinaryOp, Const, DivRemOp, ExprId, ExprKind as Ir, LocalId, MathFn, ScalarType, SiteKind,
    Stmt as IrStmt, types::Type,
};

use super::{Lowerer, Result, early_return::block_returns, scope::Binding, scope::Loop};
use crate::{
    syntax::{Dim, Expr, For, Order, Span},
    visit::assigns,
};

/// A dimension of a loop as the IR has it.
pub(super) struct Bounds {
    pub(super) begin: ExprId,
    pub(super) end: ExprId,
    /// How the variable follows from what is counted, where it is not the same.
    follows: Option<Follows>,
    /// Whether the loop runs from the last value down.
    down: bool,
}

/// `first + by * n`, or downwards.
struct Follows {
    first: ExprId,
    by: Option<ExprId>,
    down: bool,
}

impl Lowerer {
    /// The bounds of loops, evaluated in order.
    pub(super) fn bounds(
        &mut self,
        dims: &[Dim],
        span: Span,
        parallel: bool,
    ) -> Result<Vec<Bounds>> {
        let mut bounds = Vec::with_capacity(dims.len());
        for (at, dim) in dims.iter().enumerate() {
            let rustc = self.type_at(dim.ty, span)?;
            let Some(ty) = rustc.scalar().filter(|ty| ty.is_int() || ty.is_narrow()) else {
                let what = format!("a loop variable cannot be of type {rustc}");
                return Err(self.type_error(span, what));
            };
            let later = dims[at + 1..].iter().any(|later| {
                let given = later.begin.iter().chain(&later.step);
                given.chain([&later.end]).any(assigns)
            });
            let later = later || dim.step.as_ref().is_some_and(assigns);
            let begin = match &dim.begin {
                Some(begin) => {
                    let value = self.value(begin, Some(ty))?;
                    self.agree(&dim.name, rustc, Type::Scalar(self.emit.ty(value)), begin.span)?;
                    let value = self.emit.widened(value);
                    if later || assigns(&dim.end) { self.emit.hold(value) } else { value }
                }
                None => self.emit.constant(Const::from_bits(ty.wide(), 0)),
            };
            let end = self.value(&dim.end, Some(ty))?;
            self.agree(&dim.name, rustc, Type::Scalar(self.emit.ty(end)), dim.end.span)?;
            let end = self.emit.widened(end);
            let end = if later { self.emit.hold(end) } else { end };
            let down = dim.order != Order::Up;
            bounds.push(if dim.step.is_some() || parallel && down {
                self.counted(dim, [begin, end], parallel)?
            } else if !dim.inclusive {
                Bounds { begin, end, follows: None, down }
            } else if !parallel && let Some(bounds) = self.through([begin, end]) {
                // A processor counts a parallel loop's values, and its interior in these numbers.
                Bounds { down, ..bounds }
            } else {
                self.counted(dim, [begin, end], parallel)?
            });
        }
        Ok(bounds)
    }

    /// The bounds of a loop through its last value, where one more than that is a number too.
    fn through(&mut self, [begin, last]: [ExprId; 2]) -> Option<Bounds> {
        let ty = self.emit.ty(last);
        if let Ir::Const(value) = self.emit.kind(last) {
            let next = Const::from_bits(ty, value.bits().wrapping_add(1));
            if next.as_int() > value.as_int() {
                let end = self.emit.constant(next);
                return Some(Bounds { begin, end, follows: None, down: false });
            }
        }
        if ty.size() > 4 {
            return None;
        }
        let [begin, last] = [begin, last].map(|bound| self.emit.as_type(bound, ScalarType::I64));
        let one = self.emit.constant(1i64);
        let end = self.emit.binary(BinaryOp::Add, last, one);
        Some(Bounds { begin, end, follows: None, down: false })
    }

    /// The bounds of a loop that counts its values.
    fn counted(&mut self, dim: &Dim, [begin, end]: [ExprId; 2], parallel: bool) -> Result<Bounds> {
        let ty = self.emit.ty(begin);
        let [begin, end] = [begin, end].map(|bound| self.emit.hold(bound));
        let length =
            if dim.inclusive { self.length_through(begin, end) } else { self.length(begin, end) };
        let by = match &dim.step {
            Some(step) => {
                let by = self.want(step, ScalarType::U64)?;
                Some(self.emit.fix(by))
            }
            None => None,
        };
        let count = match (by, &dim.step) {
            (Some(by), Some(step)) => self.steps(length, by, step, parallel),
            _ => length,
        };
        let one = self.emit.constant(Const::from_bits(ty, 1));
        let (first, down) = match dim.order {
            // The iterations of a parallel loop have no order. CPU bodies count them from the first value up.
            Order::Back if parallel => (begin, false),
            Order::Up => (begin, false),
            Order::Down if dim.inclusive => (end, true),
            Order::Down => (self.emit.binary(BinaryOp::Sub, end, one), true),
            Order::Back => {
                let one = self.emit.constant(1u64);
                let last = self.emit.binary(BinaryOp::Sub, count, one);
                let last = match by {
                    Some(by) => self.emit.binary(BinaryOp::Mul, last, by),
                    None => last,
                };
                let last = self.emit.as_type(last, ty);
                (self.emit.binary(BinaryOp::Add, begin, last), true)
            }
        };
        let begin = self.emit.constant(0u64);
        Ok(Bounds { begin, end: count, follows: Some(Follows { first, by, down }), down: false })
    }

    /// The number of values from `begin` to `end`, as `u64`.
    fn length(&mut self, begin: ExprId, end: ExprId) -> ExprId {
        match self.emit.ty(begin) {
            ScalarType::U64 => {
                let most = self.emit.math(MathFn::Max, &[end, begin]);
                self.emit.binary(BinaryOp::Sub, most, begin)
            }
            // Without its sign a difference has room for all lengths.
            ScalarType::I64 => {
                let none = self.emit.binary(BinaryOp::Le, end, begin);
                let difference = self.emit.binary(BinaryOp::Sub, end, begin);
                let then = self.emit.constant(0u64);
                let otherwise = self.emit.as_type(difference, ScalarType::U64);
                self.emit.select(none, then, otherwise)
            }
            // In 64 bits no difference of shorter numbers wraps.
            _ => {
                let [begin, end] =
                    [begin, end].map(|bound| self.emit.as_type(bound, ScalarType::I64));
                let difference = self.emit.binary(BinaryOp::Sub, end, begin);
                let zero = self.emit.constant(0i64);
                let length = self.emit.math(MathFn::Max, &[difference, zero]);
                self.emit.as_type(length, ScalarType::U64)
            }
        }
    }

    /// The number of values from `begin` through `last`, as `u64`; the largest of these also for one more.
    fn length_through(&mut self, begin: ExprId, last: ExprId) -> ExprId {
        let none = self.emit.binary(BinaryOp::Lt, last, begin);
        let difference = if self.emit.ty(begin).size() > 4 {
            let difference = self.emit.binary(BinaryOp::Sub, last, begin);
            self.emit.as_type(difference, ScalarType::U64)
        } else {
            self.length(begin, last)
        };
        let (zero, one) = (self.emit.constant(0u64), self.emit.constant(1u64));
        let most = self.emit.constant(u64::MAX - 1);
        let less = self.emit.math(MathFn::Min, &[difference, most]);
        let length = self.emit.binary(BinaryOp::Add, less, one);
        self.emit.select(none, zero, length)
    }

    /// The number of steps of `by` in `length`, the last of which may be shorter.
    fn steps(&mut self, length: ExprId, by: ExprId, step: &Expr, parallel: bool) -> ExprId {
        let (zero, one) = (self.emit.constant(0u64), self.emit.constant(1u64));
        // One less and then one more, so that no sum wraps: `length + by - 1` does where both are large.
        let some = self.emit.math(MathFn::Max, &[length, one]);
        let lhs = self.emit.binary(BinaryOp::Sub, some, one);
        let first = self.emit.math(MathFn::Min, &[length, one]);
        let site = self.site(SiteKind::DivideByZero, step.span);
        let divide = |this: &mut Self, rhs| {
            let kind = Ir::DivRem { op: DivRemOp::Div, lhs, rhs, site };
            let further = this.emit.effect("steps", ScalarType::U64, kind);
            this.emit.binary(BinaryOp::Add, further, first)
        };
        if !parallel || matches!(self.emit.kind(by), Ir::Const(_)) {
            return divide(self, by);
        }
        // So that the division cannot fail and the host can do it; a step of 0 has no end, which the
        // launch then refuses.
        let some = self.emit.math(MathFn::Max, &[by, one]);
        let steps = divide(self, some);
        let endless = self.emit.constant(u64::MAX);
        let is_zero = self.emit.binary(BinaryOp::Eq, by, zero);
        self.emit.select(is_zero, endless, steps)
    }

    /// Declares a loop's variable in its body, which is open; gives the IR's own.
    pub(super) fn loop_variable(&mut self, dim: &Dim, bounds: &Bounds) -> LocalId {
        let Some(follows) = &bounds.follows else {
            let ty = self.emit.ty(bounds.begin);
            let var = self.emit.local(&dim.name, ty, false);
            self.note_range(var, bounds);
            let own = self.own_type(dim, ty);
            let local = if dim.mutable || own != ty {
                let value = self.emit.read(var);
                let value = self.emit.as_type(value, own.wide());
                let value = self.emit.as_type(value, own);
                self.emit.define(&dim.name, value, dim.mutable)
            } else {
                var
            };
            self.frame.bind(&dim.name, Binding::Local(local));
            return var;
        };
        let var = self.emit.local(&format!("{}_nth", dim.name), ScalarType::U64, false);
        let nth = self.emit.read(var);
        let away = match follows.by {
            Some(by) => self.emit.binary(BinaryOp::Mul, nth, by),
            None => nth,
        };
        let away = self.emit.as_type(away, self.emit.ty(follows.first));
        let op = if follows.down { BinaryOp::Sub } else { BinaryOp::Add };
        let value = self.emit.binary(op, follows.first, away);
        let value = self.emit.as_type(value, self.own_type(dim, self.emit.ty(value)));
        let local = self.emit.define(&dim.name, value, dim.mutable);
        self.frame.bind(&dim.name, Binding::Local(local));
        var
    }

    /// Keeps the range of a variable whose bounds are constants.
    fn note_range(&mut self, var: LocalId, bounds: &Bounds) {
        let bounds = (self.constant(bounds.begin), self.constant(bounds.end));
        if let (Some(begin), Some(end)) = bounds {
            self.ranges.insert(var, (begin, end));
        }
    }

    /// The type of a loop's variable, where the loop counts in `ty`: of a narrow one, its wide type.
    fn own_type(&self, dim: &Dim, ty: ScalarType) -> ScalarType {
        let own = self.frame.unit.types.get(dim.ty as usize).copied();
        own.and_then(Type::scalar).unwrap_or(ty)
    }

    pub(super) fn nest(&mut self, each: &For, span: Span) -> Result<()> {
        let For { dims, body, options, .. } = each;
        let mut bounds = self.bounds(dims, span, false)?;
        let scope = self.frame.enter();
        if dims.len() > 1 {
            // An inner loop's bounds are evaluated once, before the outer one starts.
            for bounds in &mut bounds {
                bounds.begin = self.emit.hold(bounds.begin);
                bounds.end = self.emit.hold(bounds.end);
            }
        }
        let mut vars = Vec::with_capacity(bounds.len());
        for (dim, bounds) in dims.iter().zip(&bounds) {
            self.emit.open();
            vars.push((self.loop_variable(dim, bounds), bounds));
        }
        let crossing = self.round(Loop::new(each.label.as_deref()), None, body)?;
        let exit = self.frame.exit.clone().filter(|_| block_returns(body));
        for (depth, (var, &Bounds { begin, end, down, .. })) in vars.into_iter().enumerate().rev() {
            let body = self.emit.close_block();
            let unroll = options.unroll;
            self.emit.stmt(IrStmt::For { var, begin, end, body, unroll, down });
            if depth > 0 {
                exit.iter().for_each(|exit| self.break_if_returned(exit));
                crossing.iter().for_each(|jump| self.jump_on(jump, true));
            }
        }
        self.frame.leave(scope);
        crossing.iter().for_each(|jump| self.jump_on(jump, false));
        Ok(())
    }
}
