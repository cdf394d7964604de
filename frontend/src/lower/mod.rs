//! Lowering: from syntax and rustc's types to [`Kernel`].
//!
//! The IR wants effects at the roots of statements, so an expression lowers to the statements that its
//! effects became, in the order in which Rust evaluates them, and a pure expression for its value.
//! That expression is read later than it was written; where code in between may assign a local that it
//! reads, it is [held](emit::Emitter::hold) in a local of its own.
//!
//! Funcs are inlined: each argument is evaluated once, in order, and bound to the parameter's name.

mod aggregate;
mod blocks;
mod call;
mod early_return;
mod element;
mod emit;
mod expr;
mod infer;
mod jumps;
mod kernel_body;
mod linalg;
mod literal;
mod loops;
mod method;
mod operator;
mod scope;
mod stmt;
mod unit;

use std::{collections::HashMap, rc::Rc};

use quadrants_ir::{
    Kernel, LocalId, Param, ParamId, ParamKind, Site, SiteId, SiteKind,
    types::{ParamType, Type},
};

pub(crate) use linalg::{is_linear_function, is_linear_method};
pub(crate) use literal::scalar_suffix;
pub(crate) use method::is_method;
pub(crate) use unit::Unit;

use aggregate::Value;
use emit::Emitter;
use scope::{Binding, Frame, Held, Leaf, Scalar};

use crate::{Error, Source, syntax::Span};

type Result<T> = std::result::Result<T, Error>;

/// The IR of a kernel.
///
/// # Errors
/// [`Error::Rejected`] where the kernel or a func it calls breaks a rule of the language,
/// [`Error::Recursion`] where a func calls itself, and for sources not made by the macro any other
/// [`Error`].
pub fn lower(source: &Source) -> Result<Kernel> {
    lower_unit(Rc::new(Unit::of_source(source, false)?), false)
}

/// The IR of a kernel that the macro has made, which has checked the rules of the language, races among them, for it
/// and its funcs: most of a first launch would go into doing so again.
///
/// # Errors
/// Those of [`lower`] but [`Error::Rejected`] by a rule that needs no types.
#[doc(hidden)]
pub fn lower_checked(source: &Source) -> Result<Kernel> {
    lower_unit(Rc::new(Unit::of_source(source, true)?), true)
}

/// Whether kernels have a method of this name of their own: of numbers, arrays, vectors or matrices.
#[must_use]
pub fn is_builtin_method(name: &str) -> bool {
    is_method(name) || is_linear_method(name)
}

/// Whether kernels have a function of this name of vectors or matrices of their own.
#[must_use]
pub fn is_builtin_function(name: &str) -> bool {
    is_linear_function(name)
}

/// The IR of a kernel whose tables are at hand. `obey` says that its funcs are known to obey the rules of the language.
pub(crate) fn lower_unit(unit: Rc<Unit>, obey: bool) -> Result<Kernel> {
    let function = &unit.function;
    let params = params(&unit);
    let mut lowerer = Lowerer {
        emit: Emitter::default(),
        frame: Frame::new(Rc::clone(&unit)),
        callers: Vec::new(),
        units: Vec::new(),
        obey,
        file: unit.file.clone(),
        params: params.iter().map(|param| param.kind).collect(),
        asserted: 0,
        values: Vec::new(),
        ranges: HashMap::new(),
    };
    lowerer.resolve_callees()?;

    let mut next = 0;
    for (param, ty) in function.params.iter().zip(&unit.params) {
        // Where there are blocks, nothing can assign it.
        let mutable = param.mutable && !kernel_body::has_blocks(function);
        for (name, tensor) in ty.tensors(&param.name) {
            let ParamType::Tensor { elem, writable, .. } = tensor else { continue };
            let first = ParamId::new(next);
            next += elem.components().len() as u32;
            if elem.leaves() == 0 {
                let what = format!("{elem} has nothing that a tensor could hold");
                return Err(lowerer.type_error(param.span, what));
            }
            lowerer.frame.bind(&name, Binding::Tensor { param: first, elem, writable });
        }
        let binding = match *ty {
            ParamType::Tensor { .. } | ParamType::Group { .. } => continue,
            ParamType::Value(ty) => {
                let leaves = ty.leaf_types().into_iter().map(|ty| {
                    next += 1;
                    Leaf::Scalar(Scalar::Param(ParamId::new(next - 1), ty))
                });
                let held = Held { ty, leaves: leaves.collect() };
                if mutable {
                    let leaves = lowerer.read_all(&held);
                    lowerer.name(&param.name, Value { ty, leaves }, true)
                } else {
                    lowerer.hold_as(held)
                }
            }
        };
        lowerer.frame.bind(&param.name, binding);
    }

    let result = match function.result {
        Some(ix) => {
            let ty = lowerer.type_at(ix, function.span)?;
            let what = "a kernel returns a number or nothing";
            Some(ty.scalar().ok_or_else(|| lowerer.type_error(function.span, what))?)
        }
        None => None,
    };
    let body = lowerer.kernel_body(&unit, result)?;
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
        result,
        options: function.options,
    };
    // What the macro has made is verified with all others, before it is split into tasks.
    if !obey {
        quadrants_ir::verify(&kernel)
            .map_err(|source| Error::Invalid { function: function.name.clone(), source })?;
    }
    Ok(kernel)
}

/// The kernel's parameters as the IR has them: a value of several scalars is one parameter for each, a
/// tensor of such values one for each component.
fn params(unit: &Unit) -> Vec<Param> {
    let mut params = Vec::new();
    for (param, ty) in unit.function.params.iter().zip(&unit.params) {
        for (name, tensor) in ty.tensors(&param.name) {
            let name: Vec<_> = name.split('.').map(emit::identifier).collect();
            tensor_params(&name.join("."), tensor, &mut params);
        }
        if let ParamType::Value(ty) = *ty {
            ty.each_leaf_path(&emit::identifier(&param.name), &mut |path, ty| {
                let name: Vec<_> = path.split('.').map(emit::identifier).collect();
                params.push(Param { name: name.join("."), kind: ParamKind::Scalar(ty) });
            });
        }
    }
    params
}

fn tensor_params(name: &str, tensor: ParamType, params: &mut Vec<Param>) {
    let ParamType::Tensor { elem, rank, writable } = tensor else { return };
    if let Type::Scalar(elem) = elem {
        let kind = ParamKind::Tensor { elem, rank, writable };
        params.push(Param { name: name.to_owned(), kind });
        return;
    }
    params.extend(elem.components().into_iter().map(|component| {
        let (elem, scalars) = (component.ty, component.scalars);
        let scalars = u32::try_from(scalars).unwrap_or(u32::MAX);
        let path: Vec<_> = component.path.split('.').map(emit::identifier).collect();
        let name = format!("{name}[]{}", path.join("."));
        Param { name, kind: ParamKind::Component { elem, rank, writable, scalars } }
    }));
}

struct Lowerer {
    emit: Emitter,
    /// The function being lowered.
    frame: Frame,
    /// The functions that it is inlined into, outermost first.
    callers: Vec<Frame>,
    /// Every func decoded so far.
    units: Vec<(&'static Source, Rc<Unit>)>,
    /// Whether funcs are known to obey the rules of the language.
    obey: bool,
    /// The kernel's file.
    file: String,
    /// The kernel's parameters.
    params: Vec<ParamKind>,
    /// How many `unsafe` blocks are around what is being lowered.
    asserted: u32,
    /// The values of several scalars that have names.
    values: Vec<Held>,
    /// The first value and the one after the last, of loop variables with constant bounds.
    ranges: HashMap<LocalId, (u64, u64)>,
}

impl Lowerer {
    fn type_at(&self, ix: u32, span: Span) -> Result<Type> {
        let types = &self.frame.unit.types;
        types.get(ix as usize).copied().ok_or_else(|| self.unknown("a type", span))
    }

    fn type_error(&self, span: Span, what: impl Into<String>) -> Error {
        Error::Type { function: self.frame.unit.function.name.clone(), what: what.into(), span }
    }

    fn unknown(&self, what: impl Into<String>, span: Span) -> Error {
        Error::Unknown { function: self.frame.unit.function.name.clone(), what: what.into(), span }
    }

    /// Lowers what stands in an `unsafe` block.
    fn asserting<T>(&mut self, inside: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.asserted += 1;
        let result = inside(self);
        self.asserted -= 1;
        result
    }

    /// A place that can raise a device error, in the file of the function being lowered.
    fn site(&mut self, kind: SiteKind, span: Span) -> SiteId {
        let file = &self.frame.unit.file;
        let file = (*file != self.file).then(|| file.clone());
        self.emit.site(Site {
            kind,
            file,
            line: span.line,
            column: span.column,
            asserted: self.asserted > 0,
        })
    }
}
