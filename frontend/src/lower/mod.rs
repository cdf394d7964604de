//! Lowering of a syntax tree and rustc's types to IR ([`Kernel`]).
//!
//! The IR allows effects only at the roots of statements. An expression is lowered to statements for its effects, in
//! Rust's evaluation order, and a pure expression for its value. That expression may be evaluated later; if code in
//! between may assign a local that it reads, the value is [copied](emit::Emitter::snapshot) to a new local.
//!
//! Calls of funcs are inlined: each argument is evaluated once, in order, and bound to the parameter's name.

mod access;
mod aggregate;
mod blocks;
mod call;
mod combine;
mod complex;
mod conditional;
mod early_return;
mod element;
mod emit;
mod expr;
mod infer;
mod jumps;
mod kernel_body;
mod linalg;
mod local_array;
mod loops;
mod lowerer;
mod method;
mod number;
mod operator;
mod ordering;
mod scope;
mod stmt;

use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
};

use quadrants_ir::{
    Kernel, Param, ParamId, ParamKind, TopStmt,
    types::{ParamType, Type},
};

use conditional::PathCondition;
use emit::Emitter;
use local_array::ArrayPlan;
use lowerer::{Lowerer, Result};
use scope::{Binding, CallFrame, Leaf, NamedValue, Scalar, Value};

use crate::{EmittedSource, Error, function_unit::FunctionUnit, syntax::Function};

/// Lowers a kernel to IR.
///
/// # Errors
/// [`Error::Rejected`] if the kernel or a func that it calls breaks a rule of the language, [`Error::Recursion`] if a
/// func calls itself, and any other [`Error`] for sources that the macro has not made.
pub fn lower(source: &EmittedSource) -> Result<Kernel> {
    lower_unit(Rc::new(FunctionUnit::from_source(source, false)?), false)
}

/// Lowers a kernel of the macro, which has already checked the language rules and races of the kernel and its funcs.
/// Repeating these checks would take most of the time of a first launch.
///
/// `loops` are the numbers of dimensions of the parallel loops of the CPU body, in source order, and 0 for a grid of
/// thread blocks. Launches name loops by their number, so IR and body must have the same.
///
/// # Errors
/// Those of [`lower`], except [`Error::Rejected`] by a rule that needs no types.
#[doc(hidden)]
pub fn lower_checked(source: &EmittedSource, loops: &[usize]) -> Result<Kernel> {
    let unit = Rc::new(FunctionUnit::from_source(source, true)?);
    let kernel = lower_unit(Rc::clone(&unit), true)?;
    let mut lowered = Vec::new();
    add_loops(&kernel.body, &mut lowered);
    if lowered == loops {
        return Ok(kernel);
    }
    let what =
        format!("the loops of the kernel have {lowered:?} dimensions, those of its body {loops:?}");
    let Function { name, span, .. } = &unit.function;
    Err(Error::Inconsistent { function: name.clone(), what, span: *span })
}

fn add_loops(body: &[TopStmt], loops: &mut Vec<usize>) {
    for stmt in body {
        match stmt {
            TopStmt::ParallelFor(each) => loops.push(each.dims.len()),
            TopStmt::BlockFor(_) => loops.push(0),
            TopStmt::RegionBlock { body, .. } => add_loops(body, loops),
            TopStmt::Serial(_) | TopStmt::Return(_) => {}
        }
    }
}

/// Lowers a decoded kernel. `is_checked`: the macro has checked the language rules.
pub(crate) fn lower_unit(unit: Rc<FunctionUnit>, is_checked: bool) -> Result<Kernel> {
    let mut plan = ArrayPlan::default();
    let kernel = loop {
        let (kernel, found) = lower_with(&unit, is_checked, plan)?;
        if !found.has_changed {
            break kernel;
        }
        plan = found;
        plan.has_changed = false;
    };
    // Kernels of the macro are verified before offload.
    if !is_checked {
        quadrants_ir::verify(&kernel)
            .map_err(|source| Error::Invalid { function: unit.function.name.clone(), source })?;
    }
    Ok(kernel)
}

/// Lowers a kernel whose values are stored as planned. Also returns the plan for the next pass.
fn lower_with(
    unit: &Rc<FunctionUnit>,
    is_checked: bool,
    plan: ArrayPlan,
) -> Result<(Kernel, ArrayPlan)> {
    let function = &unit.function;
    let params = params(unit);
    let mut lowerer = Lowerer {
        emit: Emitter::default(),
        frame: CallFrame::new(Rc::clone(unit)),
        callers: Vec::new(),
        units: Vec::new(),
        is_checked,
        file: unit.file.clone(),
        params: params.iter().map(|param| param.kind).collect(),
        unsafe_depth: 0,
        iteration: Vec::new(),
        loop_variables: HashSet::new(),
        named_values: Vec::new(),
        extents: Vec::new(),
        ranges: HashMap::new(),
        accumulators: HashMap::new(),
        found: plan.clone(),
        plan,
        path: PathCondition::default(),
        result: None,
        task: 0,
    };
    lowerer.resolve_callees()?;

    let mut next = 0;
    for (param, ty) in function.params.iter().zip(&unit.params) {
        // In a kernel with `stream_parallel` blocks, nothing can assign a parameter.
        let mutable = param.mutable && !kernel_body::has_blocks(function);
        for (name, tensor) in ty.tensors(&param.name) {
            let ParamType::Tensor { elem, writable, .. } = tensor else { continue };
            let first = ParamId::new(next);
            next += elem.components().len() as u32;
            if elem.leaves() == 0 {
                let what = format!(
                    "a tensor of {elem} would have no components; help: use elements with at least one field"
                );
                return Err(lowerer.type_error(param.span, what));
            }
            lowerer.frame.bind(&name, Binding::Tensor { param: first, elem, writable });
        }
        let binding = match *ty {
            ParamType::Tensor { .. } | ParamType::Struct { .. } => continue,
            ParamType::Value(ty) => {
                let leaves = ty.leaf_types().into_iter().map(|ty| {
                    next += 1;
                    Leaf::Scalar(Scalar::Param(ParamId::new(next - 1), ty))
                });
                let named = NamedValue { ty, leaves: leaves.collect(), is_owned: false };
                if mutable {
                    let leaves = lowerer.read_named(&named);
                    lowerer.name_value(&param.name, Value { ty, leaves }, true)
                } else {
                    lowerer.bind_named(named)
                }
            }
        };
        lowerer.frame.bind(&param.name, binding);
    }

    let result = match function.result {
        Some(ix) => {
            let ty = lowerer.type_at(ix, function.span)?;
            lowerer.check_size(ty, function.span)?;
            Some(ty)
        }
        None => None,
    };
    let body = lowerer.kernel_body(unit, result)?;
    let found = std::mem::take(&mut lowerer.found);
    let Emitter { locals, exprs, blocks, sites, .. } = lowerer.emit;
    let kernel = Kernel {
        name: emit::identifier(&function.name),
        file: unit.file.clone(),
        params,
        locals,
        exprs,
        blocks,
        sites,
        body,
        results: result.map_or_else(Vec::new, Type::leaf_types),
        options: function.options,
    };
    Ok((kernel, found))
}

/// The kernel's parameters in the IR: one per scalar of a value, and one per component of a tensor.
fn params(unit: &FunctionUnit) -> Vec<Param> {
    let mut params = Vec::new();
    for (param, ty) in unit.function.params.iter().zip(&unit.params) {
        for (name, tensor) in ty.tensors(&param.name) {
            let name: Vec<_> = name.split('.').map(emit::identifier).collect();
            tensor_params(&name.join("."), tensor, &mut params);
        }
        if let ParamType::Value(ty) = *ty {
            ty.each_leaf_path(&emit::identifier(&param.name), &mut |path, ty| {
                let name: Vec<_> = path.split('.').map(emit::identifier).collect();
                params.push(Param::new(name.join("."), ParamKind::Scalar(ty)));
            });
        }
    }
    params
}

fn tensor_params(name: &str, tensor: ParamType, params: &mut Vec<Param>) {
    let ParamType::Tensor { elem, rank, writable, distinct } = tensor else { return };
    if let Type::Scalar(elem) = elem {
        let kind = ParamKind::Tensor { elem, rank, writable, distinct };
        params.push(Param::new(name, kind));
        return;
    }
    let interleaved = elem.interleaved();
    let size = interleaved.as_ref().map_or(0, |element| element.size);
    let offsets = interleaved.map(|element| element.offsets).unwrap_or_default();
    params.extend(elem.components().into_iter().enumerate().map(|(at, component)| {
        let (elem, scalars) = (component.ty, component.scalars);
        let scalars = u32::try_from(scalars).unwrap_or(u32::MAX);
        let path: Vec<_> = component.path.split('.').map(emit::identifier).collect();
        let name = format!("{name}[]{}", path.join("."));
        // If it is too large, the launch passes it.
        let interleaved_step = u32::try_from(size / elem.size()).unwrap_or(0);
        let kind = ParamKind::Component { elem, rank, writable, scalars };
        let offset = offsets.get(at).map_or(0, |offset| offset / elem.size());
        let interleaved_offset = u32::try_from(offset).unwrap_or(0);
        Param { interleaved_step, interleaved_offset, ..Param::new(name, kind) }
    }));
}
