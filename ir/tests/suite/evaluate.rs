//! An independent evaluator of kernels: walks the tree of a kernel that was neither offloaded nor compiled, in the
//! checked form.

use std::collections::HashMap;

use half::f16;
use quadrants_ir::{elementary::Elementary, *};

use quadrants_samples::run::{Outcome, SampleArg, strides};

#[derive(Clone, Copy, PartialEq, Debug)]
enum Value {
    Bool(bool),
    I32(i32),
    I64(i64),
    U32(u32),
    U64(u64),
    F32(f32),
    F64(f64),
    /// A value of a type without arithmetic.
    Narrow(Const),
}

/// How a list of statements ended.
#[derive(PartialEq)]
enum End {
    Normal,
    Break,
    Continue,
    /// An assertion failed: the iteration ends.
    Completed,
}

struct Evaluator<'k> {
    kernel: &'k Kernel,
    args: Vec<SampleArg>,
    locals: HashMap<LocalId, Value>,
    error: Option<(u32, Vec<u64>)>,
    results: Vec<Const>,
}

/// The result of a launch of the kernel.
pub(crate) fn evaluate(kernel: &Kernel, args: &[SampleArg]) -> Outcome {
    let mut evaluator = Evaluator {
        kernel,
        args: args.to_vec(),
        locals: HashMap::new(),
        error: None,
        results: Vec::new(),
    };
    evaluator.top(&kernel.body);
    let tensors = evaluator.args.iter().filter_map(|arg| match arg {
        SampleArg::Tensor { elements, .. } => Some(elements.clone()),
        SampleArg::Scalar(_) => None,
    });
    let tensors = tensors.collect();
    Outcome { tensors, results: evaluator.results, error: evaluator.error }
}

fn combine(op: AtomicOp, old: Value, value: Value) -> Value {
    match op {
        AtomicOp::Add => binary(BinaryOp::Add, old, value),
        AtomicOp::Min => math(MathFn::Min, &[old, value]),
        AtomicOp::Max => math(MathFn::Max, &[old, value]),
        AtomicOp::And => binary(BinaryOp::And, old, value),
        AtomicOp::Or => binary(BinaryOp::Or, old, value),
        AtomicOp::Xor => binary(BinaryOp::Xor, old, value),
        AtomicOp::Exchange | AtomicOp::CompareExchange => unreachable!(),
    }
}

impl From<Const> for Value {
    fn from(value: Const) -> Self {
        let bits = value.bits();
        match value.ty() {
            _ if value.ty().is_narrow() => Self::Narrow(value),
            ScalarType::Bool => Self::Bool(bits == 1),
            ScalarType::I32 => Self::I32(bits as i32),
            ScalarType::I64 => Self::I64(bits as i64),
            ScalarType::U32 => Self::U32(bits as u32),
            ScalarType::U64 => Self::U64(bits),
            ScalarType::F32 => Self::F32(f32::from_bits(bits as u32)),
            ScalarType::F64 => Self::F64(f64::from_bits(bits)),
            _ => unreachable!(),
        }
    }
}

impl From<Value> for Const {
    fn from(value: Value) -> Self {
        match value {
            Value::Bool(v) => v.into(),
            Value::I32(v) => v.into(),
            Value::I64(v) => v.into(),
            Value::U32(v) => v.into(),
            Value::U64(v) => v.into(),
            Value::F32(v) => v.into(),
            Value::F64(v) => v.into(),
            Value::Narrow(v) => v,
        }
    }
}

/// Evaluates an expression, for each number type.
macro_rules! each {
    ($value:expr, |$v:ident| $int:expr, $float:expr) => {
        match $value {
            Value::I32($v) => Value::I32($int),
            Value::I64($v) => Value::I64($int),
            Value::U32($v) => Value::U32($int),
            Value::U64($v) => Value::U64($int),
            Value::F32($v) => Value::F32($float),
            Value::F64($v) => Value::F64($float),
            Value::Bool(_) | Value::Narrow(_) => unreachable!(),
        }
    };
}

macro_rules! each2 {
    ($a:expr, $b:expr, |$x:ident, $y:ident| $int:expr, $float:expr) => {
        match ($a, $b) {
            (Value::I32($x), Value::I32($y)) => Value::I32($int),
            (Value::I64($x), Value::I64($y)) => Value::I64($int),
            (Value::U32($x), Value::U32($y)) => Value::U32($int),
            (Value::U64($x), Value::U64($y)) => Value::U64($int),
            (Value::F32($x), Value::F32($y)) => Value::F32($float),
            (Value::F64($x), Value::F64($y)) => Value::F64($float),
            _ => unreachable!(),
        }
    };
}

macro_rules! ints2 {
    ($a:expr, $b:expr, |$x:ident, $y:ident| $int:expr) => {
        match ($a, $b) {
            (Value::I32($x), Value::I32($y)) => Value::I32($int),
            (Value::I64($x), Value::I64($y)) => Value::I64($int),
            (Value::U32($x), Value::U32($y)) => Value::U32($int),
            (Value::U64($x), Value::U64($y)) => Value::U64($int),
            _ => unreachable!(),
        }
    };
}

macro_rules! ints {
    ($value:expr, |$v:ident| $int:expr) => {
        match $value {
            Value::I32($v) => Value::I32($int),
            Value::I64($v) => Value::I64($int),
            Value::U32($v) => Value::U32($int),
            Value::U64($v) => Value::U64($int),
            _ => unreachable!(),
        }
    };
}

macro_rules! floats2 {
    ($a:expr, $b:expr, |$x:ident, $y:ident| $e:expr) => {
        match ($a, $b) {
            (Value::F32($x), Value::F32($y)) => Value::F32($e),
            (Value::F64($x), Value::F64($y)) => Value::F64($e),
            _ => unreachable!(),
        }
    };
}

macro_rules! floats {
    ($value:expr, |$v:ident| $e:expr) => {
        match $value {
            Value::F32($v) => Value::F32($e),
            Value::F64($v) => Value::F64($e),
            _ => unreachable!(),
        }
    };
}

impl Evaluator<'_> {
    fn top(&mut self, body: &[TopStmt]) {
        for stmt in body {
            match stmt {
                TopStmt::Serial(block) => {
                    self.block(*block);
                }
                TopStmt::ParallelFor(parallel) => self.dims(&parallel.dims, parallel.body),
                TopStmt::BlockFor(_) => unreachable!("not generated"),
                TopStmt::RegionBlock { body, .. } => self.top(body),
                TopStmt::Return(values) => {
                    self.results = values.iter().map(|value| self.expr(*value).into()).collect();
                }
            }
        }
    }

    fn dims(&mut self, dims: &[LoopDim], body: BlockId) {
        let Some((dim, rest)) = dims.split_first() else {
            self.block(body);
            return;
        };
        for value in self.range(dim.begin, dim.end) {
            self.locals.insert(dim.var, value);
            self.dims(rest, body);
        }
    }

    fn range(&mut self, begin: ExprId, end: ExprId) -> Vec<Value> {
        match (self.expr(begin), self.expr(end)) {
            (Value::I32(a), Value::I32(b)) => (a..b).map(Value::I32).collect(),
            (Value::I64(a), Value::I64(b)) => (a..b).map(Value::I64).collect(),
            (Value::U32(a), Value::U32(b)) => (a..b).map(Value::U32).collect(),
            (Value::U64(a), Value::U64(b)) => (a..b).map(Value::U64).collect(),
            _ => unreachable!(),
        }
    }

    fn block(&mut self, block: BlockId) -> End {
        for stmt in self.kernel.blocks[block].stmts.clone() {
            let end = self.stmt(&stmt);
            if end != End::Normal {
                return end;
            }
        }
        End::Normal
    }

    fn stmt(&mut self, stmt: &Stmt) -> End {
        match stmt {
            Stmt::Let { local, value } | Stmt::Assign { local, value } => {
                let value = self.expr(*value);
                self.locals.insert(*local, value);
            }
            Stmt::Eval { value } => {
                self.expr(*value);
            }
            Stmt::Store { element, value } => {
                let value = self.expr(*value);
                if let Some((tensor, at)) = self.element(element) {
                    *self.slot(tensor, at) = value.into();
                }
            }
            Stmt::If { cond, then, otherwise } => {
                let taken = if self.truth(*cond) { *then } else { *otherwise };
                return self.block(taken);
            }
            Stmt::For { var, begin, end, body, down, .. } => {
                let mut values = self.range(*begin, *end);
                if *down {
                    values.reverse();
                }
                for value in values {
                    self.locals.insert(*var, value);
                    match self.block(*body) {
                        End::Break => break,
                        End::Completed => return End::Completed,
                        End::Normal | End::Continue => {}
                    }
                }
            }
            Stmt::Loop { body } => loop {
                match self.block(*body) {
                    End::Break => break,
                    End::Completed => return End::Completed,
                    End::Normal | End::Continue => {}
                }
            },
            Stmt::Break => return End::Break,
            Stmt::Continue => return End::Continue,
            Stmt::Assert { cond, site, values } => {
                if !self.truth(*cond) {
                    let bits = |value: &ExprId| Const::from(self.expr(*value)).bits();
                    let values = values.iter().map(bits).collect();
                    self.raise(*site, values);
                    return End::Completed;
                }
            }
            Stmt::Reduce { local, op, value } => {
                let value = self.expr(*value);
                let old = self.locals[local];
                self.locals.insert(*local, combine(*op, old, value));
            }
            Stmt::SetTemp { .. }
            | Stmt::ReduceTemp { .. }
            | Stmt::SetResult { .. }
            | Stmt::Shared { .. }
            | Stmt::Array { .. }
            | Stmt::Phase { .. }
            | Stmt::CollectiveInput { .. }
            | Stmt::Print { .. } => unreachable!(),
        }
        End::Normal
    }

    fn raise(&mut self, site: SiteId, values: Vec<u64>) {
        self.error.get_or_insert((site.raw(), values));
    }

    fn truth(&mut self, value: ExprId) -> bool {
        self.expr(value) == Value::Bool(true)
    }

    fn element(&mut self, element: &Element) -> Option<(ParamId, usize)> {
        let Array::Tensor(tensor) = element.array else { unreachable!() };
        let index: Vec<u64> =
            element.index.iter().map(|index| Const::from(self.expr(*index)).bits()).collect();
        let SampleArg::Tensor { shape, .. } = &self.args[tensor.index()] else { unreachable!() };
        let kind = self.kernel.params[tensor.index()].kind;
        let extents: Vec<u64> =
            shape.iter().copied().chain(kind.component_extent().map(u64::from)).collect();
        if index.iter().zip(&extents).any(|(index, extent)| index >= extent) {
            let values = [&index[..], &extents].concat();
            self.raise(element.site, values);
            return None;
        }
        let at = index.iter().zip(shape).fold(0, |at, (index, extent)| at * extent + index);
        let [step, plane] = strides(kind, shape).unwrap_or([1, 0]);
        let choice = index.get(shape.len()).copied().unwrap_or_default();
        Some((tensor, (at * step + choice * plane) as usize))
    }

    fn slot(&mut self, tensor: ParamId, at: usize) -> &mut Const {
        let SampleArg::Tensor { elements, .. } = &mut self.args[tensor.index()] else {
            unreachable!()
        };
        &mut elements[at]
    }

    fn expr(&mut self, id: ExprId) -> Value {
        let expr = self.kernel.exprs[id].clone();
        match expr.kind {
            ExprKind::Const(value) => value.into(),
            ExprKind::Local(local) => self.locals[&local],
            ExprKind::Param(param) => match &self.args[param.index()] {
                SampleArg::Scalar(value) => (*value).into(),
                SampleArg::Tensor { .. } => unreachable!(),
            },
            ExprKind::Dim { tensor, axis } => match &self.args[tensor.index()] {
                SampleArg::Tensor { shape, .. } => Value::U64(shape[usize::from(axis)]),
                SampleArg::Scalar(_) => unreachable!(),
            },
            ExprKind::Temp(_) => unreachable!(),
            ExprKind::Unary { op, value } => match (op, self.expr(value)) {
                (UnaryOp::Not, Value::Bool(v)) => Value::Bool(!v),
                (UnaryOp::Not, v) => ints!(v, |x| !x),
                (UnaryOp::Neg, v) => each!(v, |x| x.wrapping_neg(), -x),
                (UnaryOp::CountOnes, v) => ints!(v, |x| x.count_ones() as _),
                (UnaryOp::LeadingZeros, v) => ints!(v, |x| x.leading_zeros() as _),
                (UnaryOp::TrailingZeros, v) => ints!(v, |x| x.trailing_zeros() as _),
                (UnaryOp::ReverseBits, v) => ints!(v, |x| x.reverse_bits() as _),
            },
            ExprKind::Binary { op, lhs, rhs } => {
                let (lhs, rhs) = (self.expr(lhs), self.expr(rhs));
                binary(op, lhs, rhs)
            }
            ExprKind::Math { function, args } => {
                let args: Vec<Value> = args.iter().map(|arg| self.expr(*arg)).collect();
                math(function, &args)
            }
            ExprKind::Bits { value } => {
                let bits = Const::from(self.expr(value)).bits();
                Const::from_bits(expr.ty, bits).into()
            }
            ExprKind::Cast { value } => cast(self.expr(value), expr.ty),
            ExprKind::Select { cond, then, otherwise } => {
                let (then, otherwise) = (self.expr(then), self.expr(otherwise));
                if self.truth(cond) { then } else { otherwise }
            }
            ExprKind::Load(element) => match self.element(&element) {
                Some((tensor, at)) => (*self.slot(tensor, at)).into(),
                None => Const::from_bits(expr.ty, 0).into(),
            },
            ExprKind::Atomic { op, element, expected, value } => {
                let expected = expected.map(|expected| Const::from(self.expr(expected)).bits());
                let value = self.expr(value);
                let Some((tensor, at)) = self.element(&element) else {
                    return Const::from_bits(expr.ty, 0).into();
                };
                let old = Value::from(*self.slot(tensor, at));
                let new = match op {
                    AtomicOp::Exchange => value,
                    AtomicOp::CompareExchange => {
                        let is_expected = Some(Const::from(old).bits()) == expected;
                        if is_expected { value } else { old }
                    }
                    _ => combine(op, old, value),
                };
                *self.slot(tensor, at) = new.into();
                old
            }
            ExprKind::DivRem { op, lhs, rhs, site } => {
                let (lhs, rhs) = (self.expr(lhs), self.expr(rhs));
                if Const::from(rhs).bits() == 0 {
                    self.raise(site, Vec::new());
                    return rhs;
                }
                match op {
                    DivRemOp::Div => ints2!(lhs, rhs, |x, y| x.wrapping_div(y)),
                    DivRemOp::Rem => ints2!(lhs, rhs, |x, y| x.wrapping_rem(y)),
                }
            }
        }
    }
}

fn binary(op: BinaryOp, lhs: Value, rhs: Value) -> Value {
    use std::cmp::Ordering::{Equal, Greater, Less};
    if op.is_comparison() {
        let order = match (lhs, rhs) {
            (Value::Bool(x), Value::Bool(y)) => Some(x.cmp(&y)),
            (Value::I32(x), Value::I32(y)) => Some(x.cmp(&y)),
            (Value::I64(x), Value::I64(y)) => Some(x.cmp(&y)),
            (Value::U32(x), Value::U32(y)) => Some(x.cmp(&y)),
            (Value::U64(x), Value::U64(y)) => Some(x.cmp(&y)),
            (Value::F32(x), Value::F32(y)) => x.partial_cmp(&y),
            (Value::F64(x), Value::F64(y)) => x.partial_cmp(&y),
            _ => unreachable!(),
        };
        return Value::Bool(match op {
            BinaryOp::Eq => order == Some(Equal),
            BinaryOp::Ne => order != Some(Equal),
            BinaryOp::Lt => order == Some(Less),
            BinaryOp::Le => matches!(order, Some(Less | Equal)),
            BinaryOp::Gt => order == Some(Greater),
            _ => matches!(order, Some(Greater | Equal)),
        });
    }
    if let (Value::Bool(x), Value::Bool(y)) = (lhs, rhs) {
        return Value::Bool(match op {
            BinaryOp::And => x && y,
            BinaryOp::Or => x || y,
            _ => x != y,
        });
    }
    match op {
        BinaryOp::Add => each2!(lhs, rhs, |x, y| x.wrapping_add(y), x + y),
        BinaryOp::Sub => each2!(lhs, rhs, |x, y| x.wrapping_sub(y), x - y),
        BinaryOp::Mul => each2!(lhs, rhs, |x, y| x.wrapping_mul(y), x * y),
        BinaryOp::Div => floats2!(lhs, rhs, |x, y| x / y),
        BinaryOp::Rem => floats2!(lhs, rhs, |x, y| x % y),
        BinaryOp::And => ints2!(lhs, rhs, |x, y| x & y),
        BinaryOp::Or => ints2!(lhs, rhs, |x, y| x | y),
        BinaryOp::Xor => ints2!(lhs, rhs, |x, y| x ^ y),
        _ => {
            let count = match rhs {
                Value::I32(v) => v as u32,
                Value::I64(v) => v as u32,
                Value::U32(v) => v,
                Value::U64(v) => v as u32,
                _ => unreachable!(),
            };
            match op {
                BinaryOp::Shl => ints!(lhs, |x| x.wrapping_shl(count)),
                _ => ints!(lhs, |x| x.wrapping_shr(count)),
            }
        }
    }
}

fn math(function: MathFn, args: &[Value]) -> Value {
    let a = args[0];
    match function {
        MathFn::Sqrt => floats!(a, |x| x.sqrt()),
        MathFn::Sin => floats!(a, |x| Elementary::sin(x)),
        MathFn::Cos => floats!(a, |x| Elementary::cos(x)),
        MathFn::Tan => floats!(a, |x| Elementary::tan(x)),
        MathFn::Exp => floats!(a, |x| Elementary::exp(x)),
        MathFn::Ln => floats!(a, |x| Elementary::ln(x)),
        MathFn::Floor => floats!(a, |x| x.floor()),
        MathFn::Ceil => floats!(a, |x| x.ceil()),
        MathFn::Round => floats!(a, |x| x.round()),
        MathFn::Tanh => floats!(a, |x| Elementary::tanh(x)),
        MathFn::Trunc => floats!(a, |x| x.trunc()),
        MathFn::Exp2 => floats!(a, |x| Elementary::exp2(x)),
        MathFn::Log2 => floats!(a, |x| Elementary::log2(x)),
        MathFn::Log10 => floats!(a, |x| Elementary::log10(x)),
        MathFn::Cbrt => floats!(a, |x| Elementary::cbrt(x)),
        MathFn::Asin => floats!(a, |x| Elementary::asin(x)),
        MathFn::Acos => floats!(a, |x| Elementary::acos(x)),
        MathFn::Atan => floats!(a, |x| Elementary::atan(x)),
        MathFn::Sinh => floats!(a, |x| Elementary::sinh(x)),
        MathFn::Cosh => floats!(a, |x| Elementary::cosh(x)),
        MathFn::ExpM1 => floats!(a, |x| Elementary::exp_m1(x)),
        MathFn::Ln1p => floats!(a, |x| Elementary::ln_1p(x)),
        MathFn::Asinh => floats!(a, |x| Elementary::asinh(x)),
        MathFn::Acosh => floats!(a, |x| Elementary::acosh(x)),
        MathFn::Atanh => floats!(a, |x| Elementary::atanh(x)),
        MathFn::RoundEven => floats!(a, |x| x.round_ties_even()),
        MathFn::Hypot => floats2!(a, args[1], |x, y| Elementary::hypot(x, y)),
        MathFn::Powf => floats2!(a, args[1], |x, y| Elementary::powf(x, y)),
        MathFn::Atan2 => floats2!(a, args[1], |x, y| Elementary::atan2(x, y)),
        MathFn::Min => each2!(a, args[1], |x, y| x.min(y), x.minimum_number(y)),
        MathFn::Max => each2!(a, args[1], |x, y| x.max(y), x.maximum_number(y)),
        MathFn::Powi => {
            let Value::I32(power) = args[1] else { unreachable!() };
            floats!(a, |x| x.powi(power))
        }
        MathFn::Abs => match a {
            Value::I32(x) => Value::I32(x.wrapping_abs()),
            Value::I64(x) => Value::I64(x.wrapping_abs()),
            _ => floats!(a, |x| x.abs()),
        },
        MathFn::MulAdd => match (a, args[1], args[2]) {
            (Value::F32(x), Value::F32(y), Value::F32(z)) => Value::F32(x.mul_add(y, z)),
            (Value::F64(x), Value::F64(y), Value::F64(z)) => Value::F64(x.mul_add(y, z)),
            _ => unreachable!(),
        },
    }
}

fn cast(value: Value, to: ScalarType) -> Value {
    macro_rules! to {
        ($v:expr) => {
            match to {
                ScalarType::I32 => Value::I32($v as i32),
                ScalarType::I64 => Value::I64($v as i64),
                ScalarType::U32 => Value::U32($v as u32),
                ScalarType::U64 => Value::U64($v as u64),
                ScalarType::F32 => Value::F32($v as f32),
                ScalarType::F64 => Value::F64($v as f64),
                ScalarType::Bool => unreachable!(),
                narrow => Value::Narrow(Const::from_bits(narrow, $v as u64)),
            }
        };
    }
    match value {
        Value::F32(v) if to == ScalarType::F16 => Value::Narrow(f16::from_f32(v).into()),
        Value::Narrow(v) if v.ty() == ScalarType::F16 => {
            Value::F32(f16::from_bits(v.bits() as u16).to_f32())
        }
        Value::Narrow(v) => to!(v.as_int().expect("an integer")),
        Value::Bool(v) if to == ScalarType::Bool => Value::Bool(v),
        Value::Bool(v) => to!(u8::from(v)),
        Value::I32(v) => to!(v),
        Value::I64(v) => to!(v),
        Value::U32(v) => to!(v),
        Value::U64(v) => to!(v),
        Value::F32(v) => to!(v),
        Value::F64(v) => to!(v),
    }
}
