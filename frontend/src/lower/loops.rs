//! Lowering of `for` loops: bounds, steps, reversed ranges.
//!
//! IR loops count up by one; serial ones may also count down. A loop with a step, or a reversed parallel loop, counts
//! its iterations instead and computes the variable from the count. That is an affine form, which bounds proofs and
//! the race check support.

use quadrants_ir::{
    BinaryOp, Const, DivRemOp, ExprId, ExprKind as Ir, LocalId, MathFn, ScalarType, SiteKind,
    Stmt as IrStmt, types::Type,
};

use super::{Lowerer, Result, early_return::block_returns, scope::Binding, scope::LoopFrame};
use crate::{
    syntax::{Dim, Expr, For, Order, Span},
    visit::assigns,
};

/// The bounds of an IR loop dimension.
pub(super) struct DimBounds {
    pub(super) begin: ExprId,
    pub(super) end: ExprId,
    /// How the variable depends on the counter, if they differ.
    induction: Option<InductionVariable>,
    down: bool,
}

/// The variable is `first + by * n`, or `first - by * n` if `down`, for the counter `n`.
struct InductionVariable {
    first: ExprId,
    by: Option<ExprId>,
    down: bool,
}

impl Lowerer {
    /// Lowers the bounds of a loop in evaluation order.
    pub(super) fn bounds(
        &mut self,
        dims: &[Dim],
        span: Span,
        parallel: bool,
    ) -> Result<Vec<DimBounds>> {
        let mut bounds = Vec::with_capacity(dims.len());
        for (at, dim) in dims.iter().enumerate() {
            let rustc = self.type_at(dim.ty, span)?;
            let Some(ty) = rustc.scalar().filter(|ty| ty.is_int() || ty.is_narrow()) else {
                let what =
                    format!("a loop variable cannot be of type {rustc}; help: use an integer type");
                return Err(self.type_error(span, what));
            };
            let later = dims[at + 1..].iter().any(|later| {
                let bounds = later.begin.iter().chain(&later.step);
                bounds.chain([&later.end]).any(assigns)
            });
            let later = later || dim.step.as_ref().is_some_and(assigns);
            let begin = match &dim.begin {
                Some(begin) => {
                    let value = self.scalar(begin, Some(ty))?;
                    let ty = Type::Scalar(self.emit.ty(value));
                    self.check_type(&dim.name, rustc, ty, begin.span)?;
                    let value = self.emit.widen(value);
                    if later || assigns(&dim.end) { self.emit.snapshot(value) } else { value }
                }
                None => self.emit.constant(Const::from_bits(ty.wide(), 0)),
            };
            let end = self.scalar(&dim.end, Some(ty))?;
            self.check_type(&dim.name, rustc, Type::Scalar(self.emit.ty(end)), dim.end.span)?;
            let end = self.emit.widen(end);
            let end = if later { self.emit.snapshot(end) } else { end };
            let down = dim.order != Order::Up;
            bounds.push(if dim.step.is_some() || parallel && down {
                self.counted(dim, [begin, end], parallel)?
            } else if !dim.inclusive {
                DimBounds { begin, end, induction: None, down }
            } else if !parallel && let Some(bounds) = self.inclusive_bounds([begin, end]) {
                // Only for serial loops: a parallel loop counts its values from 0, and its interior is a range of
                // these counts.
                DimBounds { down, ..bounds }
            } else {
                self.counted(dim, [begin, end], parallel)?
            });
        }
        Ok(bounds)
    }

    /// The bounds of a loop over `begin..=last` if `last + 1` is representable, in `i64` where needed.
    fn inclusive_bounds(&mut self, [begin, last]: [ExprId; 2]) -> Option<DimBounds> {
        let ty = self.emit.ty(last);
        if let Ir::Const(value) = self.emit.kind(last) {
            let next = Const::from_bits(ty, value.bits().wrapping_add(1));
            if next.as_int() > value.as_int() {
                let end = self.emit.constant(next);
                return Some(DimBounds { begin, end, induction: None, down: false });
            }
        }
        // A variable of a loop is less than the loop's end.
        if let Ir::Local(local) = self.emit.kind(last)
            && self.loop_variables.contains(local)
        {
            let one = self.emit.constant(Const::from_bits(ty, 1));
            let end = self.emit.binary(BinaryOp::Add, last, one);
            return Some(DimBounds { begin, end, induction: None, down: false });
        }
        if ty.size() > 4 {
            return None;
        }
        let [begin, last] = [begin, last].map(|bound| self.emit.as_type(bound, ScalarType::I64));
        let one = self.emit.constant(1i64);
        let end = self.emit.binary(BinaryOp::Add, last, one);
        Some(DimBounds { begin, end, induction: None, down: false })
    }

    /// The bounds of a loop that counts its iterations.
    fn counted(
        &mut self,
        dim: &Dim,
        [begin, end]: [ExprId; 2],
        parallel: bool,
    ) -> Result<DimBounds> {
        let ty = self.emit.ty(begin);
        let [begin, end] = [begin, end].map(|bound| self.emit.snapshot(bound));
        let length =
            if dim.inclusive { self.inclusive_length(begin, end) } else { self.length(begin, end) };
        let by = match &dim.step {
            Some(step) => {
                let by = self.scalar_as(step, ScalarType::U64)?;
                Some(self.emit.reuse(by))
            }
            None => None,
        };
        let count = match (by, &dim.step) {
            (Some(by), Some(step)) => self.steps(length, by, step, parallel),
            _ => length,
        };
        let one = self.emit.constant(Const::from_bits(ty, 1));
        let (first, down) = match dim.order {
            // The iterations of a parallel loop have no order. CPU bodies count them up from the first value.
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
        Ok(DimBounds {
            begin,
            end: count,
            induction: Some(InductionVariable { first, by, down }),
            down: false,
        })
    }

    /// The number of values from `begin` to `end`, as `u64`.
    fn length(&mut self, begin: ExprId, end: ExprId) -> ExprId {
        match self.emit.ty(begin) {
            ScalarType::U64 => {
                let most = self.emit.math(MathFn::Max, &[end, begin]);
                self.emit.binary(BinaryOp::Sub, most, begin)
            }
            // The unsigned difference can represent all lengths.
            ScalarType::I64 => {
                let none = self.emit.binary(BinaryOp::Le, end, begin);
                let difference = self.emit.binary(BinaryOp::Sub, end, begin);
                let then = self.emit.constant(0u64);
                let otherwise = self.emit.as_type(difference, ScalarType::U64);
                self.emit.select(none, then, otherwise)
            }
            // In 64 bits, no difference of shorter integers wraps.
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

    /// The number of values of `begin..=last`, as `u64`, saturating.
    fn inclusive_length(&mut self, begin: ExprId, last: ExprId) -> ExprId {
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

    /// `length / by`, rounded up.
    fn steps(&mut self, length: ExprId, by: ExprId, step: &Expr, parallel: bool) -> ExprId {
        let (zero, one) = (self.emit.constant(0u64), self.emit.constant(1u64));
        // `(length - 1) / by + 1`, because `length + by - 1` may wrap.
        let some = self.emit.math(MathFn::Max, &[length, one]);
        let lhs = self.emit.binary(BinaryOp::Sub, some, one);
        let first = self.emit.math(MathFn::Min, &[length, one]);
        let site = self.add_site(SiteKind::DivideByZero, step.span);
        let divide = |this: &mut Self, rhs| {
            let kind = Ir::DivRem { op: DivRemOp::Div, lhs, rhs, site };
            let full_steps = this.emit.effect("steps", ScalarType::U64, kind);
            this.emit.binary(BinaryOp::Add, full_steps, first)
        };
        if !parallel || matches!(self.emit.kind(by), Ir::Const(_)) {
            return divide(self, by);
        }
        // The division must not fail, because the host evaluates it. A step of 0 gives `u64::MAX` iterations, which
        // the launch rejects.
        let some = self.emit.math(MathFn::Max, &[by, one]);
        let steps = divide(self, some);
        let endless = self.emit.constant(u64::MAX);
        let is_zero = self.emit.binary(BinaryOp::Eq, by, zero);
        self.emit.select(is_zero, endless, steps)
    }

    /// Declares a loop's variable in its open body. Returns the variable of the IR loop, and an immutable local with
    /// the value of the source's variable.
    pub(super) fn loop_variable(&mut self, dim: &Dim, bounds: &DimBounds) -> (LocalId, LocalId) {
        let Some(induction) = &bounds.induction else {
            let ty = self.emit.ty(bounds.begin);
            let var = self.emit.local(&dim.name, ty, false);
            self.record_range(var, bounds);
            self.loop_variables.insert(var);
            let variable_ty = self.variable_type(dim, ty);
            let local = if dim.mutable || variable_ty != ty {
                let value = self.emit.read(var);
                let value = self.emit.as_type(value, variable_ty.wide());
                let value = self.emit.as_type(value, variable_ty);
                self.emit.define(&dim.name, value, dim.mutable)
            } else {
                var
            };
            self.frame.bind(&dim.name, Binding::Local(local));
            return (var, var);
        };
        let var = self.emit.local(&format!("{}_nth", dim.name), ScalarType::U64, false);
        let nth = self.emit.read(var);
        let offset = match induction.by {
            Some(by) => self.emit.binary(BinaryOp::Mul, nth, by),
            None => nth,
        };
        let offset = self.emit.as_type(offset, self.emit.ty(induction.first));
        let op = if induction.down { BinaryOp::Sub } else { BinaryOp::Add };
        let value = self.emit.binary(op, induction.first, offset);
        let value = self.emit.as_type(value, self.variable_type(dim, self.emit.ty(value)));
        let fixed = self.emit.define(&dim.name, value, false);
        let local = match dim.mutable {
            true => {
                let value = self.emit.read(fixed);
                self.emit.define(&dim.name, value, true)
            }
            false => fixed,
        };
        self.frame.bind(&dim.name, Binding::Local(local));
        (var, fixed)
    }

    fn record_range(&mut self, var: LocalId, bounds: &DimBounds) {
        let bounds = (self.constant(bounds.begin), self.constant(bounds.end));
        if let (Some(begin), Some(end)) = bounds {
            self.ranges.insert(var, (begin, end));
        }
    }

    /// The type of a loop's variable. A narrow one is counted in its wide type, `ty`.
    fn variable_type(&self, dim: &Dim, ty: ScalarType) -> ScalarType {
        let variable_ty = self.frame.unit.types.get(dim.ty as usize).copied();
        variable_ty.and_then(Type::scalar).unwrap_or(ty)
    }

    pub(super) fn serial_loop(&mut self, each: &For, span: Span) -> Result<()> {
        let For { dims, body, options, .. } = each;
        let mut bounds = self.bounds(dims, span, false)?;
        let scope = self.frame.names.mark();
        if dims.len() > 1 {
            // The bounds of inner loops are evaluated once, before the outer loop starts.
            for bounds in &mut bounds {
                bounds.begin = self.emit.snapshot(bounds.begin);
                bounds.end = self.emit.snapshot(bounds.end);
            }
        }
        let mut vars = Vec::with_capacity(bounds.len());
        for (dim, bounds) in dims.iter().zip(&bounds) {
            self.emit.open();
            vars.push((self.loop_variable(dim, bounds).0, bounds));
        }
        let outer_jumps = self.loop_body(LoopFrame::new(each.label.as_deref()), None, body)?;
        let early_return = self.frame.early_return.clone().filter(|_| block_returns(body));
        for (depth, (var, &DimBounds { begin, end, down, .. })) in
            vars.into_iter().enumerate().rev()
        {
            let body = self.emit.close_block();
            let unroll = options.unroll;
            self.emit.stmt(IrStmt::For { var, begin, end, body, unroll, down });
            if depth > 0 {
                early_return.iter().for_each(|early_return| self.break_if_returned(early_return));
                outer_jumps.iter().for_each(|jump| self.forward_jump(jump, true));
            }
        }
        self.frame.names.leave(scope);
        outer_jumps.iter().for_each(|jump| self.forward_jump(jump, false));
        Ok(())
    }
}
