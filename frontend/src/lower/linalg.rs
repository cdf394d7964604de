//! Operators and methods of vectors and matrices, as scalar operations in the same order as the host types, so that
//! both give the same bits.

use quadrants_ir::{
    BinaryOp, Const, ExprId, MathFn, ScalarType, UnaryOp,
    types::{ORDERING, Type},
};

use super::{Lowerer, Result, scope::Value};
use crate::{
    builtins::FILLED,
    syntax::{Expr, Span},
};

/// The result type of a method of `ty`.
pub(super) fn method_type(name: &str, ty: Type) -> Option<Type> {
    let scalar = match ty {
        Type::Array(..) | Type::Vector(..) if name == "len" => {
            return Some(Type::Scalar(ScalarType::U64));
        }
        Type::Vector(ty, _) | Type::Matrix(ty, ..) => ty,
        ORDERING if matches!(name, "reverse" | "then") => return Some(ORDERING),
        ORDERING => return Some(Type::Scalar(ScalarType::Bool)),
        _ => return None,
    };
    Some(match (name, ty) {
        ("dot" | "norm" | "norm_squared" | "sum" | "trace" | "determinant", _) => {
            Type::Scalar(scalar)
        }
        ("transpose", Type::Matrix(ty, rows, columns)) => Type::Matrix(ty, columns, rows),
        _ => ty,
    })
}

/// The type of a vector or array with as many components as `ty`, all of which are a value of type `of`.
/// `expected` is the type that the context has, if it is known.
pub(super) fn filled_type(ty: Type, of: Type, expected: Option<Type>) -> Option<Type> {
    match (ty, of, expected) {
        (Type::Vector(_, len), Type::Scalar(of), _) => Some(Type::Vector(of, len)),
        (Type::Array(element, _), of, _) if *element == of => Some(ty),
        (Type::Array(_, len), of, Some(Type::Array(element, count))) => {
            (*element == of && len == count).then_some(Type::Array(element, count))
        }
        _ => None,
    }
}

/// The result type of an operator; `None` if neither operand has a known type.
pub(super) fn operator_type(op: BinaryOp, lhs: Option<Type>, rhs: Option<Type>) -> Option<Type> {
    if op.is_comparison() {
        return Some(Type::Scalar(ScalarType::Bool));
    }
    match (op, lhs, rhs) {
        (BinaryOp::Shl | BinaryOp::Shr, lhs, _) => lhs,
        (BinaryOp::Mul, Some(Type::Matrix(ty, rows, _)), Some(Type::Vector(..))) => {
            Some(Type::Vector(ty, rows))
        }
        (BinaryOp::Mul, Some(Type::Matrix(ty, rows, _)), Some(Type::Matrix(_, _, columns))) => {
            Some(Type::Matrix(ty, rows, columns))
        }
        (BinaryOp::Mul, Some(Type::Scalar(_)), Some(rhs)) => Some(rhs),
        (_, lhs, rhs) => lhs.or(rhs),
    }
}

/// The type of the scalars of a number, vector, matrix or complex number.
pub(super) const fn component_type(ty: Type) -> Option<ScalarType> {
    match ty {
        Type::Scalar(ty) | Type::Vector(ty, _) | Type::Matrix(ty, ..) => Some(ty),
        _ => ty.complex(),
    }
}

impl Lowerer {
    /// Lowers `lhs op rhs`, at least one of them an aggregate.
    pub(super) fn aggregate_binary(
        &mut self,
        op: BinaryOp,
        lhs: &Expr,
        rhs: &Expr,
        span: Span,
    ) -> Result<Value> {
        let (left, right) = (self.infer_type(lhs), self.infer_type(rhs));
        // A literal has the component type of the other operand.
        let literal = |other: Option<Type>| other.and_then(component_type).map(Type::Scalar);
        let (Some(left), Some(right)) = (left.or(literal(right)), right.or(literal(left))) else {
            return Err(self.inconsistent(span, "an operand has no type"));
        };
        let values = self.values(&[(lhs, left), (rhs, right)])?;
        match <[Value; 2]>::try_from(values) {
            Ok([lhs, rhs]) => self.binary_values(op, lhs, rhs, span),
            Err(_) => Err(self.inconsistent(span, "an operand is missing")),
        }
    }

    /// Emits an operator on values, at least one of them an aggregate.
    pub(super) fn binary_values(
        &mut self,
        op: BinaryOp,
        lhs: Value,
        rhs: Value,
        span: Span,
    ) -> Result<Value> {
        use BinaryOp::{Add, Div, Eq, Mul, Ne, Sub};
        let is_complex = lhs.ty.complex().is_some() || rhs.ty.complex().is_some();
        if is_complex && let Some(value) = self.complex_binary(op, &lhs, &rhs, span)? {
            return Ok(value);
        }
        match (op, lhs.ty, rhs.ty) {
            (Add | Sub, Type::Vector(..) | Type::Matrix(..), ty) if lhs.ty == ty => {
                let pairs = lhs.leaves.into_iter().zip(rhs.leaves);
                let leaves = pairs.map(|(a, b)| self.binary(op, a, b, span));
                Ok(Value { ty, leaves: leaves.collect::<Result<_>>()? })
            }
            (Eq | Ne, ty, other) if ty == other => self.compare(op, &lhs, &rhs, span),
            (Mul | Div, ty @ (Type::Vector(..) | Type::Matrix(..)), Type::Scalar(_))
            | (Mul, Type::Scalar(_), ty @ (Type::Vector(..) | Type::Matrix(..))) => {
                let scalar_first = lhs.ty.scalar().is_some();
                let (scalar, aggregate) = if scalar_first { (lhs, rhs) } else { (rhs, lhs) };
                let scalar = self.emit.reuse(scalar.leaves[0]);
                let leaves = aggregate.leaves.into_iter().map(|leaf| {
                    let scalar = self.emit.copy(scalar);
                    let [a, b] = if scalar_first { [scalar, leaf] } else { [leaf, scalar] };
                    self.binary(op, a, b, span)
                });
                Ok(Value { ty, leaves: leaves.collect::<Result<_>>()? })
            }
            (Mul, Type::Matrix(ty, rows, inner), Type::Vector(_, len)) if inner == len => {
                let leaves = self.product(&lhs.leaves, &rhs.leaves, [rows, inner, 1], span)?;
                Ok(Value { ty: Type::Vector(ty, rows), leaves })
            }
            (Mul, Type::Matrix(ty, rows, inner), Type::Matrix(_, len, columns)) if inner == len => {
                let leaves =
                    self.product(&lhs.leaves, &rhs.leaves, [rows, inner, columns], span)?;
                Ok(Value { ty: Type::Matrix(ty, rows, columns), leaves })
            }
            (_, left, right) => {
                let what = format!(
                    "this operation is not defined for {left} and {right} in kernels, which have no operators of users' types; help: write a method with `#[func]`"
                );
                Err(self.type_error(span, what))
            }
        }
    }

    fn compare(&mut self, op: BinaryOp, lhs: &Value, rhs: &Value, span: Span) -> Result<Value> {
        let combine = if op == BinaryOp::Eq { BinaryOp::And } else { BinaryOp::Or };
        let mut all: Option<ExprId> = None;
        for (a, b) in lhs.leaves.iter().zip(&rhs.leaves) {
            let one = self.binary(op, *a, *b, span)?;
            all = Some(match all {
                Some(all) => {
                    let all = self.emit.limit_depth(all);
                    self.emit.binary(combine, all, one)
                }
                None => one,
            });
        }
        let all = all.unwrap_or_else(|| self.emit.constant(op == BinaryOp::Eq));
        Ok(Value::scalar(ScalarType::Bool, all))
    }

    pub(super) fn negate(&mut self, op: UnaryOp, value: Value, span: Span) -> Result<Value> {
        let is_linear = matches!(value.ty, Type::Vector(..) | Type::Matrix(..));
        let negated = op == UnaryOp::Neg && (is_linear || value.ty.complex().is_some());
        if !negated {
            let what = format!(
                "this operation is not defined for {} in kernels, which have no operators of users' types; help: write a method with `#[func]`",
                value.ty
            );
            return Err(self.type_error(span, what));
        }
        let leaves = value.leaves.into_iter().map(|value| self.emit.unary(op, value));
        Ok(Value { ty: value.ty, leaves: leaves.collect() })
    }

    /// The product of two matrices. Each sum starts with the first product.
    fn product(
        &mut self,
        lhs: &[ExprId],
        rhs: &[ExprId],
        [rows, inner, columns]: [usize; 3],
        span: Span,
    ) -> Result<Vec<ExprId>> {
        let lhs = self.reuse_all(lhs);
        let rhs = self.reuse_all(rhs);
        let mut leaves = Vec::with_capacity(rows * columns);
        for row in 0..rows {
            for column in 0..columns {
                let row: Vec<_> = (0..inner).map(|at| lhs[row * inner + at]).collect();
                let column: Vec<_> = (0..inner).map(|at| rhs[at * columns + column]).collect();
                leaves.push(self.dot(&row, &column, span)?);
            }
        }
        Ok(leaves)
    }

    pub(super) fn reuse_all(&mut self, leaves: &[ExprId]) -> Vec<ExprId> {
        leaves.iter().map(|leaf| self.emit.reuse(*leaf)).collect()
    }

    fn dot(&mut self, lhs: &[ExprId], rhs: &[ExprId], span: Span) -> Result<ExprId> {
        let products = lhs.iter().zip(rhs).map(|(a, b)| {
            let (a, b) = (self.emit.copy(*a), self.emit.copy(*b));
            self.binary(BinaryOp::Mul, a, b, span)
        });
        let products: Vec<_> = products.collect::<Result<_>>()?;
        self.sum(&products, span)
    }

    pub(super) fn aggregate_method(
        &mut self,
        receiver: &Expr,
        ty: Type,
        name: &str,
        args: &[Expr],
        expected: Option<Type>,
        span: Span,
    ) -> Result<Value> {
        if let (FILLED, [value]) = (name, args) {
            return self.filled(ty, value, expected, span);
        }
        let mut list = vec![(receiver, ty)];
        list.extend(args.iter().map(|arg| (arg, ty)));
        let values = self.values(&list)?;
        let Some(result) = method_type(name, ty) else {
            return Err(self.no_method_of(ty, name, span));
        };
        let leaves = match (name, ty, &values[..]) {
            ("len", Type::Array(_, len) | Type::Vector(_, len), [_]) => {
                vec![self.emit.constant(len as u64)]
            }
            ("dot", Type::Vector(..), [a, b]) => {
                let (a, b) = (self.reuse_all(&a.leaves), self.reuse_all(&b.leaves));
                vec![self.dot(&a, &b, span)?]
            }
            ("norm_squared", Type::Vector(..), [a]) => {
                let a = self.reuse_all(&a.leaves);
                vec![self.dot(&a, &a, span)?]
            }
            ("norm", Type::Vector(..), [a]) => vec![self.norm(&a.leaves, span)?],
            ("normalized", Type::Vector(..), [a]) => {
                let leaves = self.reuse_all(&a.leaves);
                let norm = self.norm(&leaves, span)?;
                let norm = self.emit.reuse(norm);
                let mut quotients = Vec::with_capacity(leaves.len());
                for leaf in leaves {
                    let (leaf, norm) = (self.emit.copy(leaf), self.emit.copy(norm));
                    quotients.push(self.binary(BinaryOp::Div, leaf, norm, span)?);
                }
                quotients
            }
            ("sum", Type::Vector(..), [a]) => vec![self.sum(&a.leaves, span)?],
            ("trace", Type::Matrix(_, rows, columns), [a]) if rows == columns => {
                let diagonal: Vec<_> = (0..rows).map(|at| a.leaves[at * columns + at]).collect();
                vec![self.sum(&diagonal, span)?]
            }
            ("min" | "max", Type::Vector(..), [a, b]) => {
                let function = if name == "min" { MathFn::Min } else { MathFn::Max };
                let pairs = a.leaves.iter().zip(&b.leaves);
                pairs.map(|(a, b)| self.emit.math(function, &[*a, *b])).collect()
            }
            ("component_mul", Type::Vector(..), [a, b]) => {
                let pairs = a.leaves.iter().zip(&b.leaves);
                let products = pairs.map(|(a, b)| self.binary(BinaryOp::Mul, *a, *b, span));
                products.collect::<Result<_>>()?
            }
            ("cross", Type::Vector(_, 3), [a, b]) => {
                let (a, b) = (self.reuse_all(&a.leaves), self.reuse_all(&b.leaves));
                let mut leaves = Vec::with_capacity(3);
                for at in 0..3 {
                    let (next, after) = ((at + 1) % 3, (at + 2) % 3);
                    leaves.push(self.mul_sub([a[next], b[after]], [a[after], b[next]], span)?);
                }
                leaves
            }
            ("transpose", Type::Matrix(_, rows, columns), [a]) => (0..columns)
                .flat_map(|column| (0..rows).map(move |row| row * columns + column))
                .map(|at| a.leaves[at])
                .collect(),
            ("determinant", Type::Matrix(_, rows @ 2..=4, columns), [a]) if rows == columns => {
                let a = self.reuse_all(&a.leaves);
                vec![self.determinant(&a, rows, span)?]
            }
            ("inverse", Type::Matrix(_, rows @ 2..=4, columns), [a]) if rows == columns => {
                self.inverse(&a.leaves, rows, span)?
            }
            (name, ty, values) if ty == ORDERING => {
                let parts: Vec<_> = values.iter().map(|value| value.leaves[0]).collect();
                let Some(value) = self.emit.ordering_method(name, &parts) else {
                    return Err(self.no_method_of(ty, name, span));
                };
                vec![value]
            }
            _ => return Err(self.no_method_of(ty, name, span)),
        };
        Ok(Value { ty: result, leaves })
    }

    fn no_method_of(&self, ty: Type, name: &str, span: Span) -> crate::Error {
        self.type_error(span, format!("{ty} has no `{name}` in kernels; help: write a `#[func]`"))
    }

    fn sum(&mut self, leaves: &[ExprId], span: Span) -> Result<ExprId> {
        let mut leaves = leaves.iter();
        let Some(mut sum) = leaves.next().copied() else {
            return Err(self.type_error(span, "the sum of a vector without components is not defined; help: use a vector with components"));
        };
        for leaf in leaves {
            sum = self.binary(BinaryOp::Add, sum, *leaf, span)?;
        }
        Ok(sum)
    }

    fn norm(&mut self, leaves: &[ExprId], span: Span) -> Result<ExprId> {
        let leaves = self.reuse_all(leaves);
        let square = self.dot(&leaves, &leaves, span)?;
        let ty = self.emit.ty(square);
        if !ty.is_float() {
            return Err(self.type_error(span, "the norm of a vector of integers is not defined; help: convert its components to floats"));
        }
        Ok(self.emit.math(MathFn::Sqrt, &[square]))
    }

    /// `a * b - c * d` of reusable values.
    fn mul_sub(&mut self, [a, b]: [ExprId; 2], [c, d]: [ExprId; 2], span: Span) -> Result<ExprId> {
        let [a, b, c, d] = [a, b, c, d].map(|value| self.emit.copy(value));
        let first = self.binary(BinaryOp::Mul, a, b, span)?;
        let second = self.binary(BinaryOp::Mul, c, d, span)?;
        self.binary(BinaryOp::Sub, first, second, span)
    }

    /// The determinant of a square matrix of reusable values, expanded along the first row.
    fn determinant(&mut self, matrix: &[ExprId], size: usize, span: Span) -> Result<ExprId> {
        match matrix {
            [one] => return Ok(self.emit.copy(*one)),
            [a, b, c, d] => return self.mul_sub([*a, *d], [*b, *c], span),
            _ => {}
        }
        let mut sum = None;
        for column in 0..size {
            let minor = self.determinant(&minor(matrix, size, 0, column), size - 1, span)?;
            let first = self.emit.copy(matrix[column]);
            let term = self.binary(BinaryOp::Mul, first, minor, span)?;
            let op = if column % 2 == 1 { BinaryOp::Sub } else { BinaryOp::Add };
            sum = Some(match sum {
                Some(sum) => self.binary(op, sum, term, span)?,
                None => term,
            });
        }
        sum.ok_or_else(|| {
            self.type_error(
                span,
                "the sum of a matrix without rows is not defined; help: use a matrix with rows",
            )
        })
    }

    fn inverse(&mut self, matrix: &[ExprId], size: usize, span: Span) -> Result<Vec<ExprId>> {
        let matrix = self.reuse_all(matrix);
        let divisor = self.determinant(&matrix, size, span)?;
        let divisor = self.emit.reuse(divisor);
        let mut leaves = Vec::with_capacity(matrix.len());
        for row in 0..size {
            for column in 0..size {
                let mut value =
                    self.determinant(&minor(&matrix, size, column, row), size - 1, span)?;
                if (row + column) % 2 == 1 {
                    value = self.emit.unary(UnaryOp::Neg, value);
                }
                let divisor = self.emit.copy(divisor);
                leaves.push(self.binary(BinaryOp::Div, value, divisor, span)?);
            }
        }
        Ok(leaves)
    }

    fn filled(
        &mut self,
        ty: Type,
        value: &Expr,
        expected: Option<Type>,
        span: Span,
    ) -> Result<Value> {
        let of = self.infer_type(value);
        let filled = |of| Some((of, filled_type(ty, of, expected)?));
        let Some((of, result)) = of.and_then(filled) else {
            return Err(self.no_method_of(ty, "map", span));
        };
        let value = self.value_as(value, of)?;
        let part = self.reuse_all(&value.leaves);
        let count = result.leaves() / part.len().max(1);
        let mut leaves = Vec::with_capacity(result.leaves());
        for _ in 0..count {
            leaves.extend(part.iter().map(|leaf| self.emit.copy(*leaf)));
        }
        Ok(Value { ty: result, leaves })
    }

    /// Lowers an associated function such as `Vector::splat(x)`.
    pub(super) fn associated(
        &mut self,
        ty: Type,
        name: &str,
        args: &[Expr],
        span: Span,
    ) -> Result<Value> {
        let (Type::Vector(scalar, _) | Type::Matrix(scalar, ..)) = ty else {
            return Err(self.no_method_of(ty, name, span));
        };
        self.check_size(ty, span)?;
        let value = match args {
            [value] => self.scalar_as(value, scalar)?,
            _ => {
                let one = if scalar.is_float() { 1.0_f64.to_bits() } else { 1 };
                let one = match scalar {
                    ScalarType::F32 => Const::from(1.0_f32),
                    _ => Const::from_bits(scalar, one),
                };
                self.emit.constant(one)
            }
        };
        let value = self.emit.reuse(value);
        let on_diagonal = |at: usize| match ty {
            Type::Matrix(_, _, columns) => at / columns == at % columns,
            _ => false,
        };
        let mut leaves = Vec::with_capacity(ty.leaves());
        for at in 0..ty.leaves() {
            let is_set = match (name, ty) {
                ("splat", Type::Vector(..)) => true,
                ("zero", _) => false,
                ("identity" | "diagonal", Type::Matrix(..)) => on_diagonal(at),
                _ => return Err(self.no_method_of(ty, name, span)),
            };
            leaves.push(if is_set {
                self.emit.copy(value)
            } else {
                self.emit.constant(Const::from_bits(scalar, 0))
            });
        }
        Ok(Value { ty, leaves })
    }
}

/// The elements outside a row and a column of a square matrix.
fn minor(matrix: &[ExprId], size: usize, row: usize, column: usize) -> Vec<ExprId> {
    (0..size * size)
        .filter(|at| at / size != row && at % size != column)
        .map(|at| matrix[at])
        .collect()
}
