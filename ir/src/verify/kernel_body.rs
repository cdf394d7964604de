//! The rules of the top level, before offloading and after.

use super::{
    Place, Rule, VerifyError,
    exprs::{SiteNeed, check_all, need, site},
    stmts::{Around, By, Scope},
};
use crate::{
    ExprKind, GroupId, Kernel, LoopDim, Offloaded, Param, ParamId, ParamKind, ScalarType, Stmt,
    Task, TaskKind, TopStmt,
    abi::{MAX_BLOCK_SIZE, MAX_RANK},
    visit::{Nodes, Reach},
};

type Broken = (Place, Rule);

const SERIAL: Around = Around { in_loop: false, by: By::One };
const PARALLEL: Around = Around { in_loop: false, by: By::Iteration };
const BLOCK: Around = Around { in_loop: false, by: By::Block };

/// Checks a kernel.
///
/// # Errors
/// The first rule found broken; [`Rule`] lists them.
pub fn verify(kernel: &Kernel) -> Result<(), VerifyError> {
    check_kernel(kernel).map_err(|broken| error(&kernel.name, broken))
}

/// Checks an offloaded kernel.
///
/// # Errors
/// The first rule found broken; [`Rule`] lists them.
pub fn verify_offloaded(kernel: &Offloaded) -> Result<(), VerifyError> {
    check_offloaded(kernel).map_err(|broken| error(&kernel.name, broken))
}

fn error(name: &str, (at, rule): Broken) -> VerifyError {
    VerifyError { kernel: name.to_owned(), at, rule }
}

fn check_kernel(kernel: &Kernel) -> Result<(), Broken> {
    let nodes = Nodes::from(kernel);
    check_head(&kernel.name, nodes, None)?;
    let mut scope = Scope::new(nodes, None, kernel.result);
    let grouped = kernel.body.iter().any(|stmt| matches!(stmt, TopStmt::Group { .. }));
    let mut groups = 0;
    for (at, stmt) in kernel.body.iter().enumerate() {
        let place = Place::Top(at);
        match stmt {
            TopStmt::Group { group, body } => {
                groups += 1;
                if group.raw() != groups {
                    return Err((place, Rule::GroupNumber));
                }
                let mark = scope.mark();
                for stmt in body {
                    check_item(&mut scope, stmt, place)?;
                }
                scope.reset(mark);
            }
            TopStmt::Return(value) => {
                let ty = scope.pure(*value).map_err(|rule| (place, rule))?;
                let result = kernel.result.ok_or((place, Rule::Return))?;
                need(result, ty).map_err(|rule| (place, rule))?;
                if at + 1 != kernel.body.len() {
                    return Err((place, Rule::Return));
                }
            }
            _ => check_item(&mut scope, stmt, place)?,
        }
        if grouped && !may_stand_beside_groups(nodes, stmt) {
            return Err((place, Rule::GroupMixed));
        }
    }
    let returns = matches!(kernel.body.last(), Some(TopStmt::Return(_)));
    if kernel.result.is_some() != returns {
        return Err((Place::Kernel, Rule::Return));
    }
    Ok(())
}

fn check_item(scope: &mut Scope<'_>, stmt: &TopStmt, place: Place) -> Result<(), Broken> {
    match stmt {
        TopStmt::Serial(block) => scope.open_block(*block, SERIAL),
        TopStmt::ParallelFor(parallel) => {
            let mark = scope.mark();
            check_dims(scope, &parallel.dims).map_err(|rule| (place, rule))?;
            check_block_size(parallel.block_size).map_err(|rule| (place, rule))?;
            scope.open_block(parallel.body, PARALLEL)?;
            scope.reset(mark);
            Ok(())
        }
        TopStmt::BlockFor(each) => {
            let mark = scope.mark();
            check_dims(scope, &each.dims).map_err(|rule| (place, rule))?;
            check_block_size(Some(each.threads)).map_err(|rule| (place, rule))?;
            scope.next_block();
            scope.open_block(each.body, BLOCK)?;
            scope.reset(mark);
            Ok(())
        }
        TopStmt::Group { .. } => Err((place, Rule::GroupNested)),
        TopStmt::Return(_) => Err((place, Rule::Return)),
    }
}

/// Checks a parallel loop's head and enters its scope.
fn check_dims(scope: &mut Scope<'_>, dims: &[LoopDim]) -> Result<(), Rule> {
    if !(1..=3).contains(&dims.len()) {
        return Err(Rule::LoopDims { found: dims.len() });
    }
    for dim in dims {
        let ty = scope.nodes.locals.get(dim.var).ok_or(Rule::IdRange)?.ty;
        need(ty, scope.pure(dim.begin)?)?;
        need(ty, scope.pure(dim.end)?)?;
    }
    scope.enter_parallel();
    dims.iter().try_for_each(|dim| scope.define_loop_var(dim.var))
}

fn check_block_size(size: Option<u32>) -> Result<(), Rule> {
    match size {
        Some(found) if !(1..=MAX_BLOCK_SIZE).contains(&found) => Err(Rule::BlockSize { found }),
        _ => Ok(()),
    }
}

fn may_stand_beside_groups(nodes: Nodes<'_>, stmt: &TopStmt) -> bool {
    match stmt {
        TopStmt::Group { .. } => true,
        TopStmt::Serial(block) => nodes.blocks[*block].stmts.iter().all(|stmt| match stmt {
            Stmt::Let { local, value } => {
                !nodes.locals[*local].mutable && nodes.is_repeatable(*value)
            }
            _ => false,
        }),
        TopStmt::ParallelFor(_) | TopStmt::BlockFor(_) | TopStmt::Return(_) => false,
    }
}

fn check_head(name: &str, nodes: Nodes<'_>, temps: Option<&[ScalarType]>) -> Result<(), Broken> {
    check_name(name).map_err(|rule| (Place::Kernel, rule))?;
    for (at, param) in nodes.params.iter().enumerate() {
        let place = Place::Param(ParamId::new(at as u32));
        check_param_name(param).map_err(|rule| (place, rule))?;
        let rank = param.kind.rank();
        if usize::from(rank) > MAX_RANK {
            return Err((place, Rule::TensorRank { rank }));
        }
        if let ParamKind::Component { scalars: 0, .. } = param.kind {
            return Err((place, Rule::NoScalars));
        }
    }
    for (_, local) in nodes.locals.iter() {
        check_name(&local.name).map_err(|rule| (Place::Kernel, rule))?;
    }
    check_all(nodes, temps).map_err(|(id, rule)| (Place::Expr(id), rule))
}

/// The name of a component has its path in it, `particles[].place`, that of a struct's tensor the struct's.
fn check_param_name(param: &Param) -> Result<(), Rule> {
    match (param.kind, param.name.split_once("[]")) {
        (ParamKind::Component { .. }, Some((tensor, fields))) => {
            let all = fields.split('.').skip(1);
            all.map(|field| format!("_{field}")).try_for_each(|field| check_name(&field))?;
            tensor.split('.').try_for_each(check_name)
        }
        (ParamKind::Tensor { .. }, _) => param.name.split('.').try_for_each(check_name),
        // A scalar of a value of several: `parameter.field.0`.
        (ParamKind::Scalar(_), _) => {
            let mut path = param.name.split('.');
            check_name(path.next().unwrap_or_default())?;
            path.try_for_each(check_field)
        }
        _ => check_name(&param.name),
    }
}

/// The name of a field, or the number of a part.
fn check_field(name: &str) -> Result<(), Rule> {
    let is_number = !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit());
    if is_number { Ok(()) } else { check_name(name) }
}

fn check_name(name: &str) -> Result<(), Rule> {
    let head = name.bytes().next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    if head && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        return Ok(());
    }
    Err(Rule::Name { name: name.to_owned() })
}

fn check_offloaded(kernel: &Offloaded) -> Result<(), Broken> {
    let nodes = Nodes::from(kernel);
    check_head(&kernel.name, nodes, Some(&kernel.temps))?;
    let mut scope = Scope::new(nodes, Some(&kernel.temps), kernel.result);
    let mut group = GroupId::NONE;
    for (at, task) in kernel.tasks.iter().enumerate() {
        let place = Place::Top(at);
        if task.group < group {
            return Err((place, Rule::GroupNumber));
        }
        group = task.group;
        scope.next_task();
        check_task(&mut scope, task, place)?;
        let mut reach = Reach::new(nodes);
        nodes.reach_block(task.body, &mut reach);
        if reach.accesses() != task.accesses {
            return Err((place, Rule::Accesses));
        }
    }
    Ok(())
}

fn check_task(scope: &mut Scope<'_>, task: &Task, place: Place) -> Result<(), Broken> {
    let nodes = scope.nodes;
    scope.open_block(task.prelude, SERIAL)?;
    let mut known = vec![false; nodes.locals.len()];
    let mut exact = known.clone();
    for stmt in &nodes.blocks[task.prelude].stmts {
        let Stmt::Let { local, value } = *stmt else { return Err((place, Rule::Prelude)) };
        if !nodes.is_repeatable(value) {
            return Err((place, Rule::Prelude));
        }
        known[local.index()] = !nodes.locals[local].mutable
            && nodes.is_host_value(value, &|local| known[local.index()]);
        if !known[local.index()] && !matches!(nodes.exprs[value].kind, ExprKind::Temp(_)) {
            return Err((place, Rule::Prelude));
        }
        exact[local.index()] =
            known[local.index()] && nodes.is_exact(value, &|local| exact[local.index()]);
    }
    let (block_size, around) = match &task.kind {
        TaskKind::Serial => return scope.open_block(task.body, SERIAL),
        TaskKind::RangeFor { block_size, .. } => (*block_size, PARALLEL),
        TaskKind::BlockFor { threads, .. } => (Some(*threads), BLOCK),
    };
    let (dims, on_device) = (task.kind.dims().unwrap_or_default(), task.kind.on_device());
    check_dims(scope, dims).map_err(|rule| (place, rule))?;
    check_block_size(block_size).map_err(|rule| (place, rule))?;
    if let Some(at) = on_device {
        site(nodes, at, SiteNeed::Bounds).map_err(|rule| (place, rule))?;
    }
    let mut bounds = dims.iter().flat_map(|dim| [dim.begin, dim.end]);
    let on_host = bounds.all(|bound| {
        nodes.is_host_value(bound, &|local| known[local.index()])
            && nodes.is_exact(bound, &|local| exact[local.index()])
    });
    if !on_host && on_device.is_none() {
        return Err((place, Rule::Bound));
    }
    scope.next_block();
    scope.open_block(task.body, around)
}
