//! Lowering: from syntax and rustc's types to [`Kernel`].
//!
//! The IR wants effects at the roots of statements, so an expression lowers to the statements that its
//! effects became, in the order in which Rust evaluates them, and a pure expression for its value.
//! That expression is read later than it was written; where code in between may assign a local that it
//! reads, it is [held](emit::Emitter::hold) in a local of its own.
//!
//! Funcs are inlined: each argument is evaluated once, in order, and bound to the parameter's name.

mod call;
mod emit;
mod exit;
mod expr;
mod infer;
mod literal;
mod loops;
mod method;
mod operator;
mod scope;
mod stmt;
mod top;
mod unit;

use std::rc::Rc;

use quadrants_ir::{Kernel, Param, ParamId, ParamKind, ScalarType, Site, SiteId, SiteKind};

pub(crate) use literal::scalar_suffix;
pub(crate) use method::is_method;
pub(crate) use unit::Unit;

use emit::Emitter;
use scope::{Binding, Frame, Scalar};

use crate::{Error, Source, syntax::Span};

type Result<T> = std::result::Result<T, Error>;

/// The IR of a kernel.
///
/// # Errors
/// [`Error::Rejected`] where the kernel or a func it calls breaks a rule of the language,
/// [`Error::Recursion`] where a func calls itself, and for sources not made by the macro any other
/// [`Error`].
pub fn lower(source: &Source) -> Result<Kernel> {
    lower_unit(Rc::new(Unit::of_source(source)?))
}

/// The IR of a kernel whose tables are at hand.
pub(crate) fn lower_unit(unit: Rc<Unit>) -> Result<Kernel> {
    let function = &unit.function;
    let params: Vec<Param> = function
        .params
        .iter()
        .zip(&unit.params)
        .map(|(param, kind)| Param { name: emit::identifier(&param.name), kind: *kind })
        .collect();
    let mut lowerer = Lowerer {
        emit: Emitter::default(),
        frame: Frame::new(Rc::clone(&unit)),
        callers: Vec::new(),
        units: Vec::new(),
        file: unit.file.clone(),
        params: unit.params.clone(),
        asserted: 0,
    };
    lowerer.resolve_callees()?;

    for (at, (param, kind)) in function.params.iter().zip(&unit.params).enumerate() {
        let id = ParamId::new(at as u32);
        let binding = match *kind {
            ParamKind::Tensor { writable, .. } => Binding::Tensor { param: id, writable },
            // Where there are blocks, nothing can assign it.
            ParamKind::Scalar(ty) if param.mutable && !top::has_blocks(function) => {
                let value = lowerer.emit.param(id, ty);
                Binding::Local(lowerer.emit.define(&param.name, value, true))
            }
            ParamKind::Scalar(ty) => Binding::Scalar(Scalar::Param(id, ty)),
        };
        lowerer.frame.bind(&param.name, binding);
    }

    let result = match function.result {
        Some(ix) => Some(lowerer.type_at(ix, function.span)?),
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
    quadrants_ir::verify(&kernel)
        .map_err(|source| Error::Invalid { function: function.name.clone(), source })?;
    Ok(kernel)
}

struct Lowerer {
    emit: Emitter,
    /// The function being lowered.
    frame: Frame,
    /// The functions that it is inlined into, outermost first.
    callers: Vec<Frame>,
    /// Every func decoded so far.
    units: Vec<(&'static Source, Rc<Unit>)>,
    /// The kernel's file.
    file: String,
    /// The kernel's parameters.
    params: Vec<ParamKind>,
    /// How many `unsafe` blocks are around what is being lowered.
    asserted: u32,
}

impl Lowerer {
    fn type_at(&self, ix: u32, span: Span) -> Result<ScalarType> {
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
