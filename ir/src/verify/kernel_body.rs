//! Checks of the top level, before and after offloading.

use std::collections::HashMap;

use super::{
    IrLocation, IrRule, VerifyError,
    exprs::{SiteUse, check_all, expect_type, require, site},
    stmts::{CodeKind, StmtContext, StmtVerifier},
};
use crate::{
    AtomicOp, BlockId, ExprKind, Kernel, LocalId, LoopDim, Offloaded, Param, ParamId, ParamKind,
    RegionBlockId, ScalarType, Stmt, Task, TaskKind, TopStmt,
    abi::{MAX_BLOCK_SIZE, MAX_RANK},
    visit::{Nodes, Reach},
};

type Violation = (IrLocation, IrRule);

const SERIAL: StmtContext = StmtContext { in_loop: false, code_kind: CodeKind::Serial };
const PARALLEL: StmtContext = StmtContext { in_loop: false, code_kind: CodeKind::Iteration };
const BLOCK: StmtContext = StmtContext { in_loop: false, code_kind: CodeKind::Block };

/// Verifies a kernel.
///
/// # Errors
/// The first violation found; [`IrRule`] lists the rules.
pub fn verify(kernel: &Kernel) -> Result<(), VerifyError> {
    check_kernel(kernel).map_err(|broken| error(&kernel.name, broken))
}

/// Verifies an offloaded kernel.
///
/// # Errors
/// The first violation found; [`IrRule`] lists the rules.
pub fn verify_offloaded(kernel: &Offloaded) -> Result<(), VerifyError> {
    check_offloaded(kernel).map_err(|broken| error(&kernel.name, broken))
}

fn error(name: &str, (at, rule): Violation) -> VerifyError {
    VerifyError { kernel: name.to_owned(), at, rule }
}

fn check_kernel(kernel: &Kernel) -> Result<(), Violation> {
    let nodes = Nodes::from(kernel);
    check_head(&kernel.name, nodes, None)?;
    let mut verifier = StmtVerifier::new(nodes, None, &kernel.results);
    let has_region_blocks =
        kernel.body.iter().any(|stmt| matches!(stmt, TopStmt::RegionBlock { .. }));
    let mut region_blocks = 0;
    for (at, stmt) in kernel.body.iter().enumerate() {
        let location = IrLocation::Top(at);
        match stmt {
            TopStmt::RegionBlock { region_block, body } => {
                region_blocks += 1;
                if region_block.raw() != region_blocks {
                    return Err((location, IrRule::RegionBlockNumber));
                }
                let checkpoint = verifier.checkpoint();
                for stmt in body {
                    check_item(&mut verifier, stmt, location)?;
                }
                verifier.reset(checkpoint);
            }
            TopStmt::Return(values) => {
                if values.is_empty() || values.len() != kernel.results.len() {
                    return Err((location, IrRule::Return));
                }
                for (value, result) in values.iter().zip(&kernel.results) {
                    let ty = verifier.check_pure(*value).map_err(|rule| (location, rule))?;
                    expect_type(*result, ty).map_err(|rule| (location, rule))?;
                }
                if at + 1 != kernel.body.len() {
                    return Err((location, IrRule::Return));
                }
            }
            _ => check_item(&mut verifier, stmt, location)?,
        }
        if has_region_blocks && !is_allowed_next_to_region_blocks(nodes, stmt) {
            return Err((location, IrRule::RegionBlockMixed));
        }
    }
    let returns = matches!(kernel.body.last(), Some(TopStmt::Return(_)));
    if kernel.results.is_empty() == returns {
        return Err((IrLocation::Kernel, IrRule::Return));
    }
    Ok(())
}

fn check_item(
    verifier: &mut StmtVerifier<'_>,
    stmt: &TopStmt,
    location: IrLocation,
) -> Result<(), Violation> {
    let (dims, block_size, body, context) = match stmt {
        TopStmt::Serial(block) => {
            verifier.check_block_keeping_scope(*block, SERIAL)?;
            verifier.end_serial();
            return Ok(());
        }
        TopStmt::ParallelFor(each) => (&each.dims, each.block_size, each.body, PARALLEL),
        TopStmt::BlockFor(each) => (&each.dims, Some(each.threads), each.body, BLOCK),
        TopStmt::RegionBlock { .. } => return Err((location, IrRule::RegionBlockNested)),
        TopStmt::Return(_) => return Err((location, IrRule::Return)),
    };
    let checkpoint = verifier.checkpoint();
    check_loop(verifier, dims, block_size).map_err(|rule| (location, rule))?;
    verifier.check_block_keeping_scope(body, context)?;
    check_combined(verifier.nodes, dims, body).map_err(|rule| (location, rule))?;
    verifier.reset(checkpoint);
    Ok(())
}

/// Checks that a loop combines into a local in one way, and does not use it otherwise.
fn check_combined(nodes: Nodes<'_>, dims: &[LoopDim], body: BlockId) -> Result<(), IrRule> {
    let mut ops = HashMap::new();
    collect_combined(nodes, body, &mut ops)?;
    if ops.is_empty() {
        return Ok(());
    }
    let mut reach = Reach::new(nodes);
    for bound in dims.iter().flat_map(|dim| [dim.begin, dim.end]) {
        nodes.reach_expr(bound, &mut reach);
    }
    nodes.reach_block(body, &mut reach);
    match ops.keys().find(|local| reach.locals[local.index()]) {
        Some(local) => Err(IrRule::Combine { name: nodes.locals[*local].name.clone() }),
        None => Ok(()),
    }
}

fn collect_combined(
    nodes: Nodes<'_>,
    block: BlockId,
    ops: &mut HashMap<LocalId, AtomicOp>,
) -> Result<(), IrRule> {
    for stmt in &nodes.blocks[block].stmts {
        if let Stmt::Reduce { local, op, .. } = *stmt
            && ops.insert(local, op).is_some_and(|other| other != op)
        {
            return Err(IrRule::Combine { name: nodes.locals[local].name.clone() });
        }
        for inner in stmt.blocks() {
            collect_combined(nodes, inner, ops)?;
        }
    }
    Ok(())
}

/// Checks the head of a parallel loop or grid of blocks, and starts its scope.
fn check_loop(
    verifier: &mut StmtVerifier<'_>,
    dims: &[LoopDim],
    size: Option<u32>,
) -> Result<(), IrRule> {
    check_dims(verifier, dims)?;
    if let Some(found) = size {
        require((1..=MAX_BLOCK_SIZE).contains(&found), IrRule::BlockSize { found })?;
    }
    verifier.shared_bytes = 0;
    Ok(())
}

/// Checks the bounds of a parallel loop and defines its variables.
fn check_dims(verifier: &mut StmtVerifier<'_>, dims: &[LoopDim]) -> Result<(), IrRule> {
    require((1..=3).contains(&dims.len()), IrRule::LoopDims { found: dims.len() })?;
    for dim in dims {
        let ty = verifier.nodes.locals.get(dim.var).ok_or(IrRule::IdOutOfRange)?.ty;
        expect_type(ty, verifier.check_pure(dim.begin)?)?;
        expect_type(ty, verifier.check_pure(dim.end)?)?;
    }
    verifier.enter_parallel();
    dims.iter().try_for_each(|dim| verifier.define_loop_var(dim.var))
}

fn is_allowed_next_to_region_blocks(nodes: Nodes<'_>, stmt: &TopStmt) -> bool {
    match stmt {
        TopStmt::RegionBlock { .. } => true,
        TopStmt::Serial(block) => nodes.blocks[*block].stmts.iter().all(|stmt| match stmt {
            Stmt::Let { local, value } => {
                !nodes.locals[*local].mutable && nodes.is_side_effect_free(*value)
            }
            _ => false,
        }),
        TopStmt::ParallelFor(_) | TopStmt::BlockFor(_) | TopStmt::Return(_) => false,
    }
}

fn check_head(name: &str, nodes: Nodes<'_>, temps: Option<&[ScalarType]>) -> Result<(), Violation> {
    check_name(name).map_err(|rule| (IrLocation::Kernel, rule))?;
    for (at, param) in nodes.params.iter().enumerate() {
        let location = IrLocation::Param(ParamId::new(at as u32));
        check_param_name(param).map_err(|rule| (location, rule))?;
        let rank = param.kind.rank();
        if usize::from(rank) > MAX_RANK {
            return Err((location, IrRule::TensorRank { rank }));
        }
        if let ParamKind::Component { scalars: 0, .. } = param.kind {
            return Err((location, IrRule::NoScalars));
        }
    }
    for (_, local) in nodes.locals.iter() {
        check_name(&local.name).map_err(|rule| (IrLocation::Kernel, rule))?;
    }
    check_all(nodes, temps).map_err(|(id, rule)| (IrLocation::Expr(id), rule))
}

/// The name of a component contains its path, as in `particles[].place`. The name of a tensor in a struct contains the
/// struct's.
fn check_param_name(param: &Param) -> Result<(), IrRule> {
    match (param.kind, param.name.split_once("[]")) {
        (ParamKind::Component { .. }, Some((tensor, fields))) => {
            let all = fields.split('.').skip(1);
            all.map(|field| format!("_{field}")).try_for_each(|field| check_name(&field))?;
            tensor.split('.').try_for_each(check_name)
        }
        (ParamKind::Tensor { .. }, _) => param.name.split('.').try_for_each(check_name),
        // A scalar of an aggregate: `parameter.field.0`.
        (ParamKind::Scalar(_), _) => {
            let mut path = param.name.split('.');
            check_name(path.next().unwrap_or_default())?;
            path.try_for_each(check_field)
        }
        _ => check_name(&param.name),
    }
}

fn check_field(name: &str) -> Result<(), IrRule> {
    let is_number = !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit());
    if is_number { Ok(()) } else { check_name(name) }
}

fn check_name(name: &str) -> Result<(), IrRule> {
    let head = name.bytes().next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    if head && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        return Ok(());
    }
    Err(IrRule::Name { name: name.to_owned() })
}

fn check_offloaded(kernel: &Offloaded) -> Result<(), Violation> {
    let nodes = Nodes::from(kernel);
    check_head(&kernel.name, nodes, Some(&kernel.temps))?;
    let mut verifier = StmtVerifier::new(nodes, Some(&kernel.temps), &kernel.results);
    let mut region_block = RegionBlockId::NONE;
    for (at, task) in kernel.tasks.iter().enumerate() {
        let location = IrLocation::Top(at);
        if task.region_block < region_block {
            return Err((location, IrRule::RegionBlockNumber));
        }
        region_block = task.region_block;
        verifier.start_task();
        check_task(&mut verifier, task, location)?;
        let mut reach = Reach::new(nodes);
        nodes.reach_block(task.body, &mut reach);
        if reach.accesses() != task.accesses {
            return Err((location, IrRule::AccessListMismatch));
        }
    }
    Ok(())
}

fn check_task(
    verifier: &mut StmtVerifier<'_>,
    task: &Task,
    location: IrLocation,
) -> Result<(), Violation> {
    let nodes = verifier.nodes;
    verifier.check_block_keeping_scope(task.prelude, SERIAL)?;
    let mut is_host_known = vec![false; nodes.locals.len()];
    let mut is_exact = is_host_known.clone();
    for stmt in &nodes.blocks[task.prelude].stmts {
        let Stmt::Let { local, value } = *stmt else { return Err((location, IrRule::Prelude)) };
        if !nodes.is_side_effect_free(value) {
            return Err((location, IrRule::Prelude));
        }
        is_host_known[local.index()] = !nodes.locals[local].mutable
            && nodes.is_host_value(value, &|local| is_host_known[local.index()]);
        if !is_host_known[local.index()] && !matches!(nodes.exprs[value].kind, ExprKind::Temp(_)) {
            return Err((location, IrRule::Prelude));
        }
        is_exact[local.index()] =
            is_host_known[local.index()] && nodes.is_exact(value, &|local| is_exact[local.index()]);
    }
    let (block_size, context) = match &task.kind {
        TaskKind::Serial => return verifier.check_block_keeping_scope(task.body, SERIAL),
        TaskKind::RangeFor { block_size, .. } => (*block_size, PARALLEL),
        TaskKind::BlockFor { threads, .. } => (Some(*threads), BLOCK),
    };
    let (dims, bounds_site) = (task.kind.dims().unwrap_or_default(), task.kind.bounds_site());
    check_loop(verifier, dims, block_size).map_err(|rule| (location, rule))?;
    if let Some(at) = bounds_site {
        site(nodes, at, SiteUse::Bounds).map_err(|rule| (location, rule))?;
    }
    let mut bounds = dims.iter().flat_map(|dim| [dim.begin, dim.end]);
    let on_host = bounds.all(|bound| {
        nodes.is_host_value(bound, &|local| is_host_known[local.index()])
            && nodes.is_exact(bound, &|local| is_exact[local.index()])
    });
    if !on_host && bounds_site.is_none() {
        return Err((location, IrRule::BoundWithoutSite));
    }
    verifier.check_block_keeping_scope(task.body, context)
}
