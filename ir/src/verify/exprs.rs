//! The rules of single expressions: operands, types, tensors, sites.

use super::{MAX_DEPTH, Rule};
use crate::{
    AtomicOp, BinaryOp, Expr, ExprId, ExprKind, LocalId, MathFn, ParamId, ParamKind, ScalarType,
    SiteId, SiteKind, TempId, UnaryOp, visit::Nodes,
};

/// What an index site must be.
#[derive(Clone, Copy)]
pub(super) enum SiteNeed {
    Index(ParamId),
    SharedIndex(LocalId),
    Assert,
    DivideByZero,
    Bounds,
}

/// Checks all expressions; `temps` is none before offloading.
pub(super) fn check_all(
    nodes: Nodes<'_>,
    temps: Option<&[ScalarType]>,
) -> Result<(), (ExprId, Rule)> {
    let mut depths: Vec<u16> = Vec::with_capacity(nodes.exprs.len());
    for (id, expr) in nodes.exprs.iter() {
        let mut depth = 0;
        for operand in expr.kind.operands() {
            if operand >= id {
                return Err((id, Rule::OperandOrder));
            }
            depth = depth.max(depths[operand.index()] + 1);
            if nodes.exprs[operand].kind.is_effect() {
                return Err((id, Rule::EffectPlace));
            }
        }
        if depth > MAX_DEPTH {
            return Err((id, Rule::Depth));
        }
        depths.push(depth);
        check(nodes, temps, expr).map_err(|rule| (id, rule))?;
    }
    Ok(())
}

pub(super) fn need(expected: ScalarType, found: ScalarType) -> Result<(), Rule> {
    if expected == found { Ok(()) } else { Err(Rule::Type { expected, found }) }
}

pub(super) fn site(nodes: Nodes<'_>, site: SiteId, need: SiteNeed) -> Result<(), Rule> {
    let kind = &nodes.sites.get(site.index()).ok_or(Rule::IdRange)?.kind;
    match (need, kind) {
        (SiteNeed::Index(tensor), SiteKind::Index(at)) if tensor == *at => Ok(()),
        (SiteNeed::SharedIndex(array), SiteKind::SharedIndex(at)) if array == *at => Ok(()),
        (SiteNeed::Assert, SiteKind::Assert { .. })
        | (SiteNeed::DivideByZero, SiteKind::DivideByZero)
        | (SiteNeed::Bounds, SiteKind::Bounds) => Ok(()),
        _ => Err(Rule::Site),
    }
}

/// Checks an access and gives the tensor's element type.
pub(super) fn access(
    nodes: Nodes<'_>,
    tensor: ParamId,
    index: &[ExprId],
    writes: bool,
) -> Result<ScalarType, Rule> {
    let (elem, kind) = tensor_kind(nodes, tensor)?;
    if index.len() != kind.indices() {
        return Err(Rule::Rank { expected: kind.indices(), found: index.len() });
    }
    for &index in index {
        need(ScalarType::U64, nodes.exprs.get(index).ok_or(Rule::IdRange)?.ty)?;
    }
    if writes && !kind.is_writable() {
        return Err(Rule::NotWritable);
    }
    Ok(elem)
}

/// Checks an access to a shared array and gives its element type; whether it is one of so many
/// dimensions, its scope knows.
pub(super) fn shared(
    nodes: Nodes<'_>,
    array: LocalId,
    index: &[ExprId],
) -> Result<ScalarType, Rule> {
    for &index in index {
        need(ScalarType::U64, nodes.exprs.get(index).ok_or(Rule::IdRange)?.ty)?;
    }
    Ok(nodes.locals.get(array).ok_or(Rule::IdRange)?.ty)
}

fn tensor_kind(nodes: Nodes<'_>, tensor: ParamId) -> Result<(ScalarType, ParamKind), Rule> {
    let kind = nodes.params.get(tensor.index()).ok_or(Rule::IdRange)?.kind;
    Ok((kind.elem().ok_or(Rule::ParamKind)?, kind))
}

/// `Ok` where the operation exists on the type.
fn on(exists: bool, ty: ScalarType) -> Result<(), Rule> {
    if exists { Ok(()) } else { Err(Rule::Operation { ty }) }
}

fn check(nodes: Nodes<'_>, temps: Option<&[ScalarType]>, expr: &Expr) -> Result<(), Rule> {
    let ty = expr.ty;
    let type_of = |id: ExprId| nodes.exprs[id].ty;
    match &expr.kind {
        ExprKind::Const(value) => need(ty, value.ty()),
        ExprKind::Local(local) => need(ty, nodes.locals.get(*local).ok_or(Rule::IdRange)?.ty),
        ExprKind::Param(param) => {
            match nodes.params.get(param.index()).ok_or(Rule::IdRange)?.kind {
                ParamKind::Scalar(scalar) => need(ty, scalar),
                ParamKind::Tensor { .. } | ParamKind::Component { .. } => Err(Rule::ParamKind),
            }
        }
        ExprKind::Dim { tensor, axis } => {
            let rank = usize::from(tensor_kind(nodes, *tensor)?.1.rank());
            if usize::from(*axis) >= rank {
                return Err(Rule::Rank { expected: rank, found: usize::from(*axis) + 1 });
            }
            need(ScalarType::U64, ty)
        }
        ExprKind::Temp(temp) => need(ty, temp_type(temps, *temp)?),
        ExprKind::Unary { op, value } => {
            need(ty, type_of(*value))?;
            match op {
                UnaryOp::Neg => on(ty.is_float() || ty.is_signed_int(), ty),
                UnaryOp::CountOnes | UnaryOp::LeadingZeros | UnaryOp::TrailingZeros => {
                    on(ty.is_int(), ty)
                }
                UnaryOp::Not => on(ty.is_int() || ty == ScalarType::Bool, ty),
            }
        }
        ExprKind::Binary { op, lhs, rhs } => binary(*op, type_of(*lhs), type_of(*rhs), ty),
        ExprKind::Math { function, args } => {
            if args.len() != function.arity() {
                return Err(Rule::Arity { expected: function.arity(), found: args.len() });
            }
            for (at, arg) in args.iter().enumerate() {
                let power = *function == MathFn::Powi && at == 1;
                need(if power { ScalarType::I32 } else { ty }, type_of(*arg))?;
            }
            match function {
                MathFn::Abs => on(ty.is_float() || ty.is_signed_int(), ty),
                MathFn::Min | MathFn::Max => on(ty.is_int() || ty.is_float(), ty),
                _ => on(ty.is_float(), ty),
            }
        }
        ExprKind::Cast { value } => {
            let from = type_of(*value);
            let bool_source = from == ScalarType::Bool && !ty.is_float();
            let numbers = from != ScalarType::Bool && ty != ScalarType::Bool;
            // What is narrow comes from its wide type and becomes that.
            let narrow =
                from.is_narrow() && ty != from.wide() || ty.is_narrow() && from != ty.wide();
            if !narrow && (bool_source || numbers) {
                Ok(())
            } else {
                Err(Rule::Cast { from, to: ty })
            }
        }
        ExprKind::Bits { value } => {
            let from = type_of(*value);
            let numbers = |ty: ScalarType| ty != ScalarType::Bool;
            if numbers(from) && numbers(ty) && from.size() == ty.size() {
                Ok(())
            } else {
                Err(Rule::Cast { from, to: ty })
            }
        }
        ExprKind::Select { cond, then, otherwise } => {
            need(ScalarType::Bool, type_of(*cond))?;
            need(ty, type_of(*then))?;
            need(ty, type_of(*otherwise))
        }
        ExprKind::Load { tensor, index, site: at } => {
            need(ty, access(nodes, *tensor, index, false)?)?;
            site(nodes, *at, SiteNeed::Index(*tensor))
        }
        ExprKind::Atomic { op, tensor, index, value, site: at } => {
            need(ty, access(nodes, *tensor, index, true)?)?;
            need(ty, type_of(*value))?;
            atomic(*op, ty)?;
            site(nodes, *at, SiteNeed::Index(*tensor))
        }
        ExprKind::SharedLoad { array, index, site: at } => {
            need(ty, shared(nodes, *array, index)?)?;
            site(nodes, *at, SiteNeed::SharedIndex(*array))
        }
        ExprKind::SharedAtomic { op, array, index, value, site: at } => {
            need(ty, shared(nodes, *array, index)?)?;
            need(ty, type_of(*value))?;
            atomic(*op, ty)?;
            site(nodes, *at, SiteNeed::SharedIndex(*array))
        }
        ExprKind::DivRem { lhs, rhs, site: at, .. } => {
            on(ty.is_int(), ty)?;
            need(ty, type_of(*lhs))?;
            need(ty, type_of(*rhs))?;
            site(nodes, *at, SiteNeed::DivideByZero)
        }
    }
}

fn atomic(op: AtomicOp, ty: ScalarType) -> Result<(), Rule> {
    match op {
        AtomicOp::Add => on(ty.is_int() || ty.is_float(), ty),
        AtomicOp::Min | AtomicOp::Max => on(ty.is_int(), ty),
    }
}

pub(super) fn temp_type(temps: Option<&[ScalarType]>, temp: TempId) -> Result<ScalarType, Rule> {
    let temps = temps.ok_or(Rule::OffloadOnly)?;
    temps.get(temp.index()).copied().ok_or(Rule::IdRange)
}

fn binary(op: BinaryOp, lhs: ScalarType, rhs: ScalarType, ty: ScalarType) -> Result<(), Rule> {
    match op {
        BinaryOp::Shl | BinaryOp::Shr => {
            on(lhs.is_int(), lhs)?;
            on(rhs.is_int(), rhs)?;
            return need(lhs, ty);
        }
        _ => need(lhs, rhs)?,
    }
    match op {
        _ if lhs.is_narrow() => return on(false, lhs),
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul => on(lhs != ScalarType::Bool, lhs)?,
        BinaryOp::Div | BinaryOp::Rem => on(lhs.is_float(), lhs)?,
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => on(!lhs.is_float(), lhs)?,
        _ => return need(ScalarType::Bool, ty),
    }
    need(lhs, ty)
}
