//! Prints pure expressions, with the parentheses they need and the casts that give C++ the semantics of the IR.

use quadrants_ir::{BinaryOp, Const, ExprId, ExprKind, MathFn, ScalarType, TempId, UnaryOp};

use super::{consts, helpers::Helper, task::TaskPrinter};

/// A printed expression with its precedence.
#[derive(Clone, Debug)]
pub(super) struct PrintedExpr {
    pub(super) text: String,
    level: Precedence,
}

/// The precedence levels of C++ that the printer distinguishes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Precedence {
    Conditional,
    /// Operators whose precedence is easily confused. They get parentheses next to any other operator.
    Bits,
    LogicalOr,
    LogicalAnd,
    Comparison,
    Additive,
    Multiplicative,
    Unary,
    Primary,
}

impl PrintedExpr {
    pub(super) fn new(level: Precedence, text: impl Into<String>) -> Self {
        Self { text: text.into(), level }
    }

    pub(super) fn primary(text: impl Into<String>) -> Self {
        Self::new(Precedence::Primary, text)
    }

    fn literal(text: String) -> Self {
        let level = if text.starts_with('-') { Precedence::Unary } else { Precedence::Primary };
        Self::new(level, text)
    }

    /// The text as an operand of an operator of this level.
    pub(super) fn at(self, level: Precedence) -> String {
        if self.level >= level { self.text } else { format!("({})", self.text) }
    }

    /// Whether it is a name or a literal, which may be repeated.
    pub(super) fn is_atom(&self) -> bool {
        self.level == Precedence::Primary && !self.text.contains([' ', '('])
    }

    pub(super) fn cast(self, ty: ScalarType) -> Self {
        Self::new(Precedence::Unary, format!("({}){}", ty.name(), self.at(Precedence::Unary)))
    }
}

impl TaskPrinter<'_> {
    /// An expression in a position without precedence: an initializer, an argument, a condition.
    pub(super) fn expr(&mut self, id: ExprId) -> String {
        self.value(id).text
    }

    /// An expression and its precedence. Large common subexpressions become variables; otherwise the text could grow
    /// exponentially.
    pub(super) fn value(&mut self, id: ExprId) -> PrintedExpr {
        if self.cx.shared[id.index()] {
            PrintedExpr::primary(self.shared(id))
        } else {
            self.compute(id)
        }
    }

    /// An expression without replacement by a variable.
    pub(super) fn compute(&mut self, id: ExprId) -> PrintedExpr {
        let kernel = self.kernel;
        let expr = &kernel.exprs[id];
        let ty = expr.ty;
        match &expr.kind {
            ExprKind::Const(value) => PrintedExpr::literal(consts::constant(*value)),
            ExprKind::Local(local) => match self.narrow_counters.get(local) {
                Some(name) if ty == ScalarType::I32 => PrintedExpr::primary(name.clone()),
                Some(name) => PrintedExpr::primary(name.clone()).cast(ty),
                None => PrintedExpr::primary(self.local(*local)),
            },
            ExprKind::Param(param) => PrintedExpr::primary(self.param(*param)),
            ExprKind::Dim { tensor, axis } => {
                let level = if self.has_narrow_counters() {
                    Precedence::Unary
                } else {
                    Precedence::Primary
                };
                PrintedExpr::new(level, self.dim(*tensor, *axis))
            }
            ExprKind::Temp(temp) => self.temp(*temp, ty),
            ExprKind::Unary { op, value } => self.unary(*op, *value, ty),
            ExprKind::Binary { op, lhs, rhs } => {
                let is_arithmetic = matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul);
                let is_signed = ty.is_wide_signed_int();
                let is_exact = |this: &mut Self| expr.exact || this.range_of(id).is_some();
                if is_arithmetic && is_signed && is_exact(self) {
                    let (level, sign) = arithmetic(*op);
                    let (lhs, rhs) = (self.value(*lhs), self.value(*rhs));
                    return infix(level, lhs, sign, rhs);
                }
                self.binary(*op, *lhs, *rhs, ty)
            }
            ExprKind::Math { function, args } => self.math(*function, args, ty),
            ExprKind::Cast { value } => self.cast(*value, ty),
            ExprKind::Bits { value } => self.bits(*value, ty),
            ExprKind::Select { cond, then, otherwise } => {
                let cond = self.value(*cond).at(Precedence::Comparison);
                let then = self.value(*then).at(Precedence::Bits);
                let otherwise = self.value(*otherwise).at(Precedence::Bits);
                PrintedExpr::new(Precedence::Conditional, format!("{cond} ? {then} : {otherwise}"))
            }
            // Side effects are statement roots and are printed there. In an unverified kernel one may be nested: this
            // name makes the C++ compiler reject it.
            ExprKind::Load(_) | ExprKind::Atomic { .. } | ExprKind::DivRem { .. } => {
                PrintedExpr::primary("qd_effect_inside_an_expression")
            }
        }
    }

    /// A value as the bits of a temporary.
    pub(super) fn word_of(&mut self, id: ExprId) -> String {
        let ty = self.kernel.exprs[id].ty;
        let value = self.value(id);
        match ty {
            ScalarType::F32 => format!("(u64)__float_as_uint({})", value.text),
            ScalarType::F64 => format!("(u64)__double_as_longlong({})", value.text),
            ScalarType::I8 | ScalarType::I16 | ScalarType::I32 => {
                value.cast(ty.unsigned()).cast(ScalarType::U64).text
            }
            _ => value.cast(ScalarType::U64).text,
        }
    }

    fn temp(&mut self, temp: TempId, ty: ScalarType) -> PrintedExpr {
        let word = PrintedExpr::primary(self.temporary(quadrants_ir::abi::temp_word(temp)));
        match ty {
            ScalarType::Bool => {
                PrintedExpr::new(Precedence::Comparison, format!("{} != 0ull", word.text))
            }
            ScalarType::F32 => PrintedExpr::primary(format!("__uint_as_float((u32){})", word.text)),
            ScalarType::F64 => {
                PrintedExpr::primary(format!("__longlong_as_double((i64){})", word.text))
            }
            ScalarType::U64 => word,
            _ => word.cast(ty),
        }
    }

    fn unary(&mut self, op: UnaryOp, id: ExprId, ty: ScalarType) -> PrintedExpr {
        if op == UnaryOp::Neg && ty.is_int() {
            return self.modular(
                |this| {
                    let value = this.unsigned(id).at(Precedence::Multiplicative);
                    let zero = consts::zero(ty.unsigned());
                    PrintedExpr::new(Precedence::Additive, format!("{zero} - {value}"))
                },
                ty,
            );
        }
        let sign = match op {
            UnaryOp::Neg => "-",
            UnaryOp::Not if ty == ScalarType::Bool => "!",
            UnaryOp::Not => "~",
            UnaryOp::CountOnes
            | UnaryOp::LeadingZeros
            | UnaryOp::TrailingZeros
            | UnaryOp::ReverseBits => {
                let name = self.helper(Helper::Bits { op, ty });
                return self.call(&name, &[id]);
            }
        };
        PrintedExpr::new(
            Precedence::Unary,
            format!("{sign}{}", self.value(id).at(Precedence::Primary)),
        )
    }

    fn binary(&mut self, op: BinaryOp, lhs: ExprId, rhs: ExprId, ty: ScalarType) -> PrintedExpr {
        use BinaryOp::*;
        let of_bools = self.kernel.exprs[lhs].ty == ScalarType::Bool;
        let of_itself = lhs == rhs && self.kernel.exprs[lhs].ty.is_float();
        match op {
            Eq | Le | Ge if of_itself => self.is_number(lhs),
            Ne if of_itself => {
                let number = self.is_number(lhs).at(Precedence::Unary);
                PrintedExpr::new(Precedence::Unary, format!("!{number}"))
            }
            Add | Sub | Mul if ty.is_wide_signed_int() => {
                self.modular(|this| this.unsigned_infix(op, lhs, rhs), ty)
            }
            Add | Sub | Mul | Div => {
                let (level, sign) = arithmetic(op);
                let (lhs, rhs) = (self.value(lhs), self.value(rhs));
                infix(level, lhs, sign, rhs)
            }
            Rem => self.call(&library("fmod", ty), &[lhs, rhs]),
            And if of_bools => self.logical(Precedence::LogicalAnd, lhs, "&&", rhs),
            Or if of_bools => self.logical(Precedence::LogicalOr, lhs, "||", rhs),
            Xor if of_bools => {
                self.loose(Precedence::Unary, Precedence::Comparison, lhs, "!=", rhs)
            }
            And | Or | Xor => {
                self.loose(Precedence::Unary, Precedence::Bits, lhs, op.symbol(), rhs)
            }
            Shl | Shr => self.shift(op, lhs, rhs, ty),
            Eq | Ne | Lt | Le | Gt | Ge => {
                self.loose(Precedence::Additive, Precedence::Comparison, lhs, op.symbol(), rhs)
            }
        }
    }

    fn math(&mut self, function: MathFn, args: &[ExprId], ty: ScalarType) -> PrintedExpr {
        let helper = match function {
            MathFn::Powi => Some(Helper::Powi(ty)),
            MathFn::Abs if ty.is_wide_signed_int() => Some(Helper::Abs(ty)),
            MathFn::Min if ty.is_int() => Some(Helper::Min(ty)),
            MathFn::Max if ty.is_int() => Some(Helper::Max(ty)),
            MathFn::Abs if ty.is_int() => return self.value(args[0]),
            _ => None,
        };
        let name = match helper {
            Some(helper) => self.helper(helper),
            None => library(library_name(function), ty),
        };
        self.call(&name, args)
    }

    fn cast(&mut self, id: ExprId, to: ScalarType) -> PrintedExpr {
        let from = self.kernel.exprs[id].ty;
        let is_short = matches!(to, ScalarType::I32 | ScalarType::U32);
        if (to.is_float() && to != ScalarType::F16 || is_short)
            && let ExprKind::Local(local) = self.kernel.exprs[id].kind
            && let Some(narrow) = self.narrow_vars.get(&local)
        {
            // Conversions of 64-bit integers are much slower on GPUs.
            let narrow = PrintedExpr::primary(narrow.clone());
            return if to == ScalarType::U32 { narrow } else { narrow.cast(to) };
        }
        match self.kernel.exprs[id].kind {
            ExprKind::Local(local) if to != ScalarType::Bool && to != ScalarType::F16 => {
                if let Some(name) = self.narrow_counters.get(&local) {
                    let name = PrintedExpr::primary(name.clone());
                    return if to == ScalarType::I32 { name } else { name.cast(to) };
                }
            }
            ExprKind::Dim { tensor, axis } if to == ScalarType::I32 => {
                return PrintedExpr::new(Precedence::Unary, self.narrow_dim(tensor, axis));
            }
            _ => {}
        }
        if from == to {
            self.value(id)
        } else if to == ScalarType::Bool {
            let zero = consts::zero(from);
            let value = self.value(id).at(Precedence::Additive);
            PrintedExpr::new(Precedence::Comparison, format!("{value} != {zero}"))
        } else if from == ScalarType::F16 || to == ScalarType::F16 || from.is_float() && to.is_int()
        {
            let name = self.helper(Helper::Cast { from, to });
            self.call(&name, &[id])
        } else {
            self.value(id).cast(to)
        }
    }

    /// Reinterprets the bits of a value as another type of the same size.
    fn bits(&mut self, id: ExprId, to: ScalarType) -> PrintedExpr {
        let from = self.kernel.exprs[id].ty;
        let function = match (from, to) {
            (ScalarType::F32, _) if to.is_int() => "__float_as_uint",
            (ScalarType::F64, _) if to.is_int() => "__double_as_longlong",
            (_, ScalarType::F32) if from.is_int() => "__uint_as_float",
            (_, ScalarType::F64) if from.is_int() => "__longlong_as_double",
            _ => return self.value(id).cast(to),
        };
        let value = match to {
            ScalarType::F32 => self.value(id).cast(ScalarType::U32),
            ScalarType::F64 => self.value(id).cast(ScalarType::I64),
            _ => self.value(id),
        };
        let bits = PrintedExpr::primary(format!("{function}({})", value.text));
        match to {
            ScalarType::I32 | ScalarType::U64 => bits.cast(to),
            _ => bits,
        }
    }

    fn call(&mut self, function: &str, args: &[ExprId]) -> PrintedExpr {
        let args: Vec<_> = args.iter().map(|&arg| self.expr(arg)).collect();
        PrintedExpr::primary(format!("{function}({})", args.join(", ")))
    }

    /// Arithmetic in the unsigned type, with a cast back: signed overflow is undefined in C++.
    fn modular(
        &mut self,
        print: impl FnOnce(&mut Self) -> PrintedExpr,
        ty: ScalarType,
    ) -> PrintedExpr {
        let value = print(self);
        if ty.is_wide_signed_int() { value.cast(ty) } else { value }
    }

    /// An integer in its unsigned type. Wrapping operators inside need no cast back and forth.
    fn unsigned(&mut self, id: ExprId) -> PrintedExpr {
        let kernel = self.kernel;
        let expr = &kernel.exprs[id];
        let unsigned = expr.ty.unsigned();
        match &expr.kind {
            _ if unsigned == expr.ty => self.value(id),
            _ if self.cx.shared[id.index()] => self.value(id).cast(unsigned),
            ExprKind::Binary { op, lhs, rhs }
                if matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul) =>
            {
                self.unsigned_infix(*op, *lhs, *rhs)
            }
            ExprKind::Const(value) => match value.as_int() {
                Some(int) if int >= 0 => PrintedExpr::literal(consts::int(unsigned, int)),
                _ => self.value(id).cast(unsigned),
            },
            _ => self.value(id).cast(unsigned),
        }
    }

    fn unsigned_infix(&mut self, op: BinaryOp, lhs: ExprId, rhs: ExprId) -> PrintedExpr {
        let (level, sign) = arithmetic(op);
        let (lhs, rhs) = (self.unsigned(lhs), self.unsigned(rhs));
        infix(level, lhs, sign, rhs)
    }

    /// Shift counts are masked to the width; devices differ for larger counts.
    fn shift(&mut self, op: BinaryOp, lhs: ExprId, rhs: ExprId, ty: ScalarType) -> PrintedExpr {
        let mask = 8 * ty.size() as u64 - 1;
        let count = match &self.kernel.exprs[rhs].kind {
            ExprKind::Const(value) => format!("{}", value.bits() & mask),
            _ if self.kernel.exprs[rhs].ty == ScalarType::U32 => {
                format!("({} & {mask}u)", self.value(rhs).at(Precedence::Comparison))
            }
            _ => format!("({} & {mask}u)", self.value(rhs).cast(ScalarType::U32).text),
        };
        if op == BinaryOp::Shr {
            let value = self.value(lhs).at(Precedence::Unary);
            PrintedExpr::new(Precedence::Bits, format!("{value} >> {count}"))
        } else {
            self.modular(
                |this| {
                    let value = this.unsigned(lhs).at(Precedence::Unary);
                    PrintedExpr::new(Precedence::Bits, format!("{value} << {count}"))
                },
                ty,
            )
        }
    }

    /// Whether a float is not NaN, as an operation that the compiler cannot fold: NVRTC 13.0.88 folds `x == x` to true
    /// for constants like 0.0 / 0.0.
    fn is_number(&mut self, id: ExprId) -> PrintedExpr {
        let ty = self.kernel.exprs[id].ty;
        let infinity = match ty {
            ScalarType::F32 => Const::from(f32::INFINITY),
            _ => Const::from(f64::INFINITY),
        };
        let magnitude = self.call(&library("fabs", ty), &[id]).text;
        PrintedExpr::new(
            Precedence::Comparison,
            format!("{magnitude} <= {}", consts::constant(infinity)),
        )
    }

    fn loose(
        &mut self,
        operands: Precedence,
        level: Precedence,
        lhs: ExprId,
        sign: &str,
        rhs: ExprId,
    ) -> PrintedExpr {
        let (lhs, rhs) = (self.value(lhs).at(operands), self.value(rhs).at(operands));
        PrintedExpr::new(level, format!("{lhs} {sign} {rhs}"))
    }

    /// Chains of one logical operator need no parentheses; mixed operators get them.
    fn logical(&mut self, level: Precedence, lhs: ExprId, sign: &str, rhs: ExprId) -> PrintedExpr {
        let lhs = self.value(lhs);
        let lhs = if lhs.level == level { lhs.text } else { lhs.at(Precedence::Comparison) };
        let rhs = self.value(rhs).at(Precedence::Comparison);
        PrintedExpr::new(level, format!("{lhs} {sign} {rhs}"))
    }
}

/// A left-associative arithmetic operator. The right operand binds more tightly, so that floats are evaluated in source
/// order.
fn infix(level: Precedence, lhs: PrintedExpr, sign: &str, rhs: PrintedExpr) -> PrintedExpr {
    let tighter =
        if level == Precedence::Additive { Precedence::Multiplicative } else { Precedence::Unary };
    PrintedExpr::new(level, format!("{} {sign} {}", lhs.at(level), rhs.at(tighter)))
}

fn arithmetic(op: BinaryOp) -> (Precedence, &'static str) {
    let multiplies = matches!(op, BinaryOp::Mul | BinaryOp::Div);
    (if multiplies { Precedence::Multiplicative } else { Precedence::Additive }, op.symbol())
}

/// The name of a library function for floats of type `ty`.
pub(super) fn library(name: &str, ty: ScalarType) -> String {
    let suffix = if ty == ScalarType::F32 { "f" } else { "" };
    format!("{name}{suffix}")
}

fn library_name(function: MathFn) -> &'static str {
    match function {
        MathFn::Ln => "log",
        MathFn::Ln1p => "log1p",
        MathFn::ExpM1 => "expm1",
        MathFn::Powf | MathFn::Powi => "pow",
        MathFn::Abs => "fabs",
        MathFn::Min => "fmin",
        MathFn::Max => "fmax",
        MathFn::MulAdd => "fma",
        MathFn::RoundEven => "rint",
        same => same.name(),
    }
}
