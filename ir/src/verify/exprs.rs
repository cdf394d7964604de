//! Checks of expressions: operands, types, tensors, sites.

use super::{IrRule, MAX_DEPTH};
use crate::{
    Array, AtomicOp, BinaryOp, Element, Expr, ExprId, ExprKind, MathFn, ParamId, ParamKind,
    ScalarType, SiteId, SiteKind, TempId, UnaryOp, visit::Nodes,
};

#[derive(Clone, Copy)]
pub(super) enum SiteUse {
    Index(Array),
    /// With this number of indices.
    Assert(usize),
    DivideByZero,
    Bounds,
    Print,
}

/// Checks all expressions. `temps` is none before offloading.
pub(super) fn check_all(
    nodes: Nodes<'_>,
    temps: Option<&[ScalarType]>,
) -> Result<(), (ExprId, IrRule)> {
    let mut depths: Vec<u16> = Vec::with_capacity(nodes.exprs.len());
    for (id, expr) in nodes.exprs.iter() {
        let mut depth = 0;
        for operand in expr.kind.operands() {
            if operand >= id {
                return Err((id, IrRule::OperandOrder));
            }
            depth = depth.max(depths[operand.index()] + 1);
            if nodes.exprs[operand].kind.is_effect() {
                return Err((id, IrRule::NestedEffect));
            }
        }
        if depth > MAX_DEPTH {
            return Err((id, IrRule::NestedTooDeeply));
        }
        depths.push(depth);
        check(nodes, temps, expr).map_err(|rule| (id, rule))?;
    }
    Ok(())
}

pub(super) fn expect_type(expected: ScalarType, found: ScalarType) -> Result<(), IrRule> {
    require(expected == found, IrRule::Type { expected, found })
}

pub(super) fn site(nodes: Nodes<'_>, site: SiteId, site_use: SiteUse) -> Result<(), IrRule> {
    let kind = &nodes.sites.get(site.index()).ok_or(IrRule::IdOutOfRange)?.kind;
    match (site_use, kind) {
        (SiteUse::Index(array), SiteKind::Index(at)) if array == *at => Ok(()),
        (SiteUse::Assert(rank), SiteKind::ArrayIndex { shape, .. }) if rank == shape.len() => {
            Ok(())
        }
        // The site of an array has its extents; each access gives the number of dimensions in an assertion.
        (SiteUse::Index(Array::Local(_)), SiteKind::ArrayIndex { .. })
        | (SiteUse::Assert(_), SiteKind::Assert(_))
        | (SiteUse::DivideByZero, SiteKind::DivideByZero)
        | (SiteUse::Bounds, SiteKind::Bounds)
        | (SiteUse::Print, SiteKind::Print { .. }) => Ok(()),
        _ => Err(IrRule::Site),
    }
}

/// Checks an access and returns the element's type. The number of indices of a shared or
/// local array is checked by [`StmtVerifier`](super::stmts::StmtVerifier).
pub(super) fn access(
    nodes: Nodes<'_>,
    element: &Element,
    writes: bool,
) -> Result<ScalarType, IrRule> {
    let (ty, is_writable) = match element.array {
        Array::Tensor(tensor) => {
            let (elem, kind) = tensor_kind(nodes, tensor)?;
            let (expected, found) = (kind.indices(), element.index.len());
            require(expected == found, IrRule::Rank { expected, found })?;
            (elem, kind.is_writable())
        }
        Array::Shared(array) | Array::Local(array) => {
            (nodes.locals.get(array).ok_or(IrRule::IdOutOfRange)?.ty, true)
        }
    };
    for index in &element.index {
        expect_type(ScalarType::U64, nodes.exprs.get(*index).ok_or(IrRule::IdOutOfRange)?.ty)?;
    }
    require(!writes || is_writable, IrRule::NotWritable)?;
    Ok(ty)
}

fn tensor_kind(nodes: Nodes<'_>, tensor: ParamId) -> Result<(ScalarType, ParamKind), IrRule> {
    let kind = nodes.params.get(tensor.index()).ok_or(IrRule::IdOutOfRange)?.kind;
    Ok((kind.elem().ok_or(IrRule::ParamKind)?, kind))
}

fn require_supported(exists: bool, ty: ScalarType) -> Result<(), IrRule> {
    require(exists, IrRule::Operation { ty })
}

pub(super) fn require(holds: bool, rule: IrRule) -> Result<(), IrRule> {
    if holds { Ok(()) } else { Err(rule) }
}

fn check(nodes: Nodes<'_>, temps: Option<&[ScalarType]>, expr: &Expr) -> Result<(), IrRule> {
    let ty = expr.ty;
    let type_of = |id: ExprId| nodes.exprs[id].ty;
    if expr.exact {
        use BinaryOp::{Add, Mul, Sub};
        let sum = matches!(expr.kind, ExprKind::Binary { op: Add | Sub | Mul, .. });
        require_supported(sum && ty == ScalarType::I32, ty)?;
    }
    match &expr.kind {
        ExprKind::Const(value) => expect_type(ty, value.ty()),
        ExprKind::Local(local) => {
            expect_type(ty, nodes.locals.get(*local).ok_or(IrRule::IdOutOfRange)?.ty)
        }
        ExprKind::Param(param) => {
            match nodes.params.get(param.index()).ok_or(IrRule::IdOutOfRange)?.kind {
                ParamKind::Scalar(scalar) => expect_type(ty, scalar),
                ParamKind::Tensor { .. } | ParamKind::Component { .. } => Err(IrRule::ParamKind),
            }
        }
        ExprKind::Dim { tensor, axis } => {
            let (expected, axis) = (tensor_kind(nodes, *tensor)?.1.rank(), usize::from(*axis));
            let expected = usize::from(expected);
            require(axis < expected, IrRule::Rank { expected, found: axis + 1 })?;
            expect_type(ScalarType::U64, ty)
        }
        ExprKind::Temp(temp) => expect_type(ty, temp_type(temps, *temp)?),
        ExprKind::Unary { op, value } => {
            expect_type(ty, type_of(*value))?;
            match op {
                UnaryOp::Neg => require_supported(ty.is_float() || ty.is_wide_signed_int(), ty),
                UnaryOp::CountOnes
                | UnaryOp::LeadingZeros
                | UnaryOp::TrailingZeros
                | UnaryOp::ReverseBits => require_supported(ty.is_int(), ty),
                UnaryOp::Not => require_supported(ty.is_int() || ty == ScalarType::Bool, ty),
            }
        }
        ExprKind::Binary { op, lhs, rhs } => binary(*op, type_of(*lhs), type_of(*rhs), ty),
        ExprKind::Math { function, args } => {
            let (expected, found) = (function.arity(), args.len());
            require(expected == found, IrRule::Arity { expected, found })?;
            for (at, arg) in args.iter().enumerate() {
                let power = *function == MathFn::Powi && at == 1;
                expect_type(if power { ScalarType::I32 } else { ty }, type_of(*arg))?;
            }
            match function {
                MathFn::Abs => require_supported(ty.is_float() || ty.is_wide_signed_int(), ty),
                MathFn::Min | MathFn::Max => require_supported(ty.is_int() || ty.is_float(), ty),
                _ => require_supported(ty.is_float(), ty),
            }
        }
        ExprKind::Cast { value } => {
            let from = type_of(*value);
            let bool_source = from == ScalarType::Bool && !ty.is_float();
            let numbers = from != ScalarType::Bool && ty != ScalarType::Bool;
            // A narrow type converts only from and to its wide type.
            let narrow =
                from.is_narrow() && ty != from.wide() || ty.is_narrow() && from != ty.wide();
            require(!narrow && (bool_source || numbers), IrRule::Cast { from, to: ty })
        }
        ExprKind::Bits { value } => {
            let from = type_of(*value);
            let numbers = |ty: ScalarType| ty != ScalarType::Bool;
            let same_size = from.size() == ty.size();
            require(numbers(from) && numbers(ty) && same_size, IrRule::Cast { from, to: ty })
        }
        ExprKind::Select { cond, then, otherwise } => {
            expect_type(ScalarType::Bool, type_of(*cond))?;
            expect_type(ty, type_of(*then))?;
            expect_type(ty, type_of(*otherwise))
        }
        ExprKind::Load(element) => {
            expect_type(ty, access(nodes, element, false)?)?;
            site(nodes, element.site, SiteUse::Index(element.array))
        }
        ExprKind::Atomic { op, element, expected, value } => {
            expect_type(ty, access(nodes, element, true)?)?;
            expect_type(ty, type_of(*value))?;
            atomic(*op, ty, expected.map(type_of))?;
            site(nodes, element.site, SiteUse::Index(element.array))
        }
        ExprKind::DivRem { lhs, rhs, site: at, .. } => {
            require_supported(ty.is_int(), ty)?;
            expect_type(ty, type_of(*lhs))?;
            expect_type(ty, type_of(*rhs))?;
            site(nodes, *at, SiteUse::DivideByZero)
        }
    }
}

/// Checks an atomic on an element of type `ty`: only a compare-and-exchange has an expected value.
fn atomic(op: AtomicOp, ty: ScalarType, expected: Option<ScalarType>) -> Result<(), IrRule> {
    let needs_one = op == AtomicOp::CompareExchange;
    require(
        expected.is_some() == needs_one,
        IrRule::Arity {
            expected: 1 + usize::from(needs_one),
            found: 1 + usize::from(expected.is_some()),
        },
    )?;
    expected.map_or(Ok(()), |expected| expect_type(ty, expected))?;
    require_supported(supports(op, ty), ty)
}

/// Whether an atomic operation exists for a type.
pub(super) fn supports(op: AtomicOp, ty: ScalarType) -> bool {
    match op.is_bitwise() {
        true => ty.is_int() || ty == ScalarType::Bool,
        false => ty.is_int() || ty.is_float(),
    }
}

pub(super) fn temp_type(temps: Option<&[ScalarType]>, temp: TempId) -> Result<ScalarType, IrRule> {
    let temps = temps.ok_or(IrRule::OffloadOnly)?;
    temps.get(temp.index()).copied().ok_or(IrRule::IdOutOfRange)
}

fn binary(op: BinaryOp, lhs: ScalarType, rhs: ScalarType, ty: ScalarType) -> Result<(), IrRule> {
    match op {
        BinaryOp::Shl | BinaryOp::Shr => {
            require_supported(lhs.is_int(), lhs)?;
            require_supported(rhs.is_int(), rhs)?;
            return expect_type(lhs, ty);
        }
        _ => expect_type(lhs, rhs)?,
    }
    match op {
        _ if lhs.is_narrow() => return require_supported(false, lhs),
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul => {
            require_supported(lhs != ScalarType::Bool, lhs)?
        }
        BinaryOp::Div | BinaryOp::Rem => require_supported(lhs.is_float(), lhs)?,
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => require_supported(!lhs.is_float(), lhs)?,
        _ => return expect_type(ScalarType::Bool, ty),
    }
    expect_type(lhs, ty)
}
