//! Values and variables of the builder, and their operations.

use std::ops;

use quadrants_ir::{Const, MathFn, ScalarType};

use super::state::{KernelBuilder, Value, type_ix};
use crate::misuse::Misuse;
use crate::syntax::{BinaryOp, Block, Expr, ExprKind, StmtKind, UnaryOp};

/// A variable of a kernel that is being built.
#[derive(Clone, Copy, Debug)]
pub struct Var<'b> {
    value: Value<'b>,
}

/// An operand: a [`Value`], or a Rust number or bool, which becomes a constant.
pub trait Operand<'b> {
    /// The value in `builder`.
    fn into_value(self, builder: &'b KernelBuilder) -> Value<'b>;
}

impl<'b> Operand<'b> for Value<'b> {
    fn into_value(self, _: &'b KernelBuilder) -> Self {
        self
    }
}

impl<'b> Var<'b> {
    pub(super) fn new(value: Value<'b>) -> Self {
        Self { value }
    }

    /// The variable's value at this point.
    #[must_use]
    #[track_caller]
    pub fn get(self) -> Value<'b> {
        let Value { builder, ty, .. } = self.value;
        let name = builder.expr(self.value);
        builder.compute("read", name.kind, ty)
    }

    /// Assigns the variable.
    #[track_caller]
    pub fn set(self, value: impl Operand<'b>) {
        let Value { builder, ty, .. } = self.value;
        let target = builder.expr(self.value);
        let value = builder.operand(value, ty);
        builder.stmt(StmtKind::Assign { target, op: None, value });
    }
}

impl<'b> Value<'b> {
    /// The type.
    #[must_use]
    pub fn ty(self) -> ScalarType {
        self.ty
    }

    /// Converts the value like Rust's `as`.
    #[must_use]
    #[track_caller]
    pub fn cast(self, ty: ScalarType) -> Self {
        if ty != self.ty && (ty == ScalarType::Bool || self.ty == ScalarType::Bool && ty.is_float())
        {
            self.builder.misuse(Misuse::Undefined { operation: "as", ty: self.ty });
        }
        let value = Box::new(self.builder.expr(self));
        self.builder.compute(
            "cast",
            ExprKind::Cast { value, ty: type_ix(ty), is_narrow: false },
            ty,
        )
    }

    /// Applies a math function to this value and `args`.
    #[must_use]
    #[track_caller]
    pub fn math(self, function: MathFn, args: &[Self]) -> Self {
        let name = function.name();
        let fits = match function {
            MathFn::Abs => self.ty.is_float() || self.ty.wide().is_wide_signed_int(),
            MathFn::Min | MathFn::Max => self.ty != ScalarType::Bool,
            _ => self.ty.is_float(),
        };
        if !fits {
            self.builder.misuse(Misuse::Undefined { operation: name, ty: self.ty });
        }
        let expected = function.arity() - 1;
        if args.len() != expected {
            let found = args.len();
            self.builder.misuse(Misuse::Arguments { method: name, expected, found });
        }
        let ty = if function == MathFn::Powi { ScalarType::I32 } else { self.ty };
        let receiver = Box::new(self.builder.expr(self));
        let mut exprs = Vec::with_capacity(args.len());
        for arg in args {
            exprs.push(self.builder.operand(*arg, ty));
        }
        let kind = ExprKind::Method { receiver, name: name.to_owned(), args: exprs, callee: None };
        self.builder.compute(name, kind, self.ty)
    }

    /// `then` if this bool is true, else `otherwise`. Both are evaluated.
    #[must_use]
    #[track_caller]
    pub fn select(self, then: impl Operand<'b>, otherwise: impl Operand<'b>) -> Self {
        let then = then.into_value(self.builder);
        let cond = Box::new(self.builder.operand(self, ScalarType::Bool));
        let arm = |value: Expr| Block { stmts: Vec::new(), value: Some(Box::new(value)) };
        let otherwise = arm(self.builder.operand(otherwise, then.ty));
        let kind =
            ExprKind::If { cond, then: arm(self.builder.expr(then)), otherwise: Some(otherwise) };
        self.builder.compute("selected", kind, then.ty)
    }

    #[track_caller]
    fn binary(self, op: BinaryOp, sign: &'static str, rhs: impl Operand<'b>) -> Self {
        let shift = matches!(op, BinaryOp::Shl | BinaryOp::Shr);
        let rhs = rhs.into_value(self.builder);
        let wide = self.ty.wide();
        let fits = match op {
            BinaryOp::Shl | BinaryOp::Shr => wide.is_int() && rhs.ty.wide().is_int(),
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => !wide.is_float(),
            _ => op.is_comparison() || self.ty != ScalarType::Bool,
        };
        if !fits {
            self.builder.misuse(Misuse::Undefined { operation: sign, ty: self.ty });
        }
        let lhs = Box::new(self.builder.expr(self));
        let rhs = self.builder.operand(rhs, if shift { rhs.ty } else { self.ty });
        let ty = if op.is_comparison() { ScalarType::Bool } else { self.ty };
        self.builder.compute("value", ExprKind::Binary { op, lhs, rhs: Box::new(rhs) }, ty)
    }

    #[track_caller]
    fn unary(self, op: UnaryOp, sign: &'static str) -> Self {
        let wide = self.ty.wide();
        let fits = match op {
            UnaryOp::Neg => wide.is_float() || wide.is_wide_signed_int(),
            _ => !wide.is_float(),
        };
        if !fits {
            self.builder.misuse(Misuse::Undefined { operation: sign, ty: self.ty });
        }
        let value = Box::new(self.builder.expr(self));
        self.builder.compute("value", ExprKind::Unary { op, value }, self.ty)
    }
}

impl KernelBuilder {
    #[track_caller]
    pub(super) fn operand<'b>(&'b self, operand: impl Operand<'b>, ty: ScalarType) -> Expr {
        let value = operand.into_value(self);
        if value.ty != ty {
            self.misuse(Misuse::Type { expected: ty, found: value.ty });
        }
        self.expr(value)
    }
}

macro_rules! comparisons {
    ($($name:ident, $op:ident, $sign:literal;)*) => {
        impl<'b> Value<'b> {$(
            #[doc = concat!("`self ", $sign, " rhs`")]
            #[must_use]
            #[track_caller]
            pub fn $name(self, rhs: impl Operand<'b>) -> Self {
                self.binary(BinaryOp::$op, $sign, rhs)
            }
        )*}
    };
}

comparisons! {
    equals, Eq, "==";
    differs, Ne, "!=";
    lt, Lt, "<";
    le, Le, "<=";
    gt, Gt, ">";
    ge, Ge, ">=";
}

macro_rules! operators {
    ($($trait:ident, $method:ident, $op:ident, $sign:literal;)*) => {$(
        impl<'b, R: Operand<'b>> ops::$trait<R> for Value<'b> {
            type Output = Self;
            #[track_caller]
            fn $method(self, rhs: R) -> Self {
                self.binary(BinaryOp::$op, $sign, rhs)
            }
        }
    )*};
}

operators! {
    Add, add, Add, "+";
    Sub, sub, Sub, "-";
    Mul, mul, Mul, "*";
    Div, div, Div, "/";
    Rem, rem, Rem, "%";
    BitAnd, bitand, And, "&";
    BitOr, bitor, Or, "|";
    BitXor, bitxor, Xor, "^";
    Shl, shl, Shl, "<<";
    Shr, shr, Shr, ">>";
}

impl ops::Neg for Value<'_> {
    type Output = Self;
    #[track_caller]
    fn neg(self) -> Self {
        self.unary(UnaryOp::Neg, "-")
    }
}

impl ops::Not for Value<'_> {
    type Output = Self;
    #[track_caller]
    fn not(self) -> Self {
        self.unary(UnaryOp::Not, "!")
    }
}

macro_rules! constants {
    ($($ty:ty),*) => {$(
        impl<'b> Operand<'b> for $ty {
            fn into_value(self, builder: &'b KernelBuilder) -> Value<'b> {
                builder.constant(Const::from(self))
            }
        }
    )*};
    (@left $ty:ty, $($trait:ident::$method:ident),*) => {$(
        impl<'b> ops::$trait<Value<'b>> for $ty {
            type Output = Value<'b>;
            #[track_caller]
            fn $method(self, rhs: Value<'b>) -> Value<'b> {
                ops::$trait::$method(self.into_value(rhs.builder), rhs)
            }
        }
    )*};
}

constants!(bool, i8, i16, u8, u16, i32, i64, isize, u32, u64, usize, f32, f64);

macro_rules! left_operands {
    ($($ty:ty),*) => {
        $(constants!(@left $ty, Add::add, Sub::sub, Mul::mul, Div::div);)*
    };
}

// Without `bool`: rustc's message about `true + 1.0` would be about `Value`.
left_operands!(i8, i16, u8, u16, i32, i64, isize, u32, u64, usize, f32, f64);

macro_rules! functions {
    ($($name:ident, $function:ident;)*) => {
        impl Value<'_> {$(
            #[doc = concat!("Rust's `", stringify!($name), "`.")]
            #[must_use]
            #[track_caller]
            pub fn $name(self) -> Self {
                self.math(MathFn::$function, &[])
            }
        )*}
    };
}

functions! {
    sqrt, Sqrt;
    sin, Sin;
    cos, Cos;
    tan, Tan;
    exp, Exp;
    ln, Ln;
    abs, Abs;
    floor, Floor;
    ceil, Ceil;
    round, Round;
    tanh, Tanh;
}

macro_rules! functions_of_two {
    ($($name:ident, $function:ident;)*) => {
        impl<'b> Value<'b> {$(
            #[doc = concat!("Rust's `", stringify!($name), "`.")]
            #[must_use]
            #[track_caller]
            pub fn $name(self, other: impl Operand<'b>) -> Self {
                self.math(MathFn::$function, &[other.into_value(self.builder)])
            }
        )*}
    };
}

functions_of_two! {
    min, Min;
    max, Max;
    powf, Powf;
    powi, Powi;
    atan2, Atan2;
}
