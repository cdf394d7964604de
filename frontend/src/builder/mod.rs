//! Kernel builder: builds kernels at run time.
//!
//! A [`KernelBuilder`] records calls as the same syntax tree that the macro makes of tokens.
//! [`build`](KernelBuilder::build) then runs [`check`](fn@crate::check) and lowering. So a built kernel has the same
//! rules and error messages; they name the line of the call.
//!
//! Each operation is evaluated at its position: its value is a local of the kernel. `build` returns the error of the
//! first invalid call; after such a call, placeholders are used as values.
//!
//! # Examples
//! ```
//! use quadrants_frontend::builder::KernelBuilder;
//! use quadrants_ir::ScalarType::F32;
//!
//! let b = KernelBuilder::new("saxpy");
//! let a = b.param_scalar("a", F32);
//! let x = b.param_tensor("x", F32, 1);
//! let y = b.param_tensor_mut("y", F32, 1);
//! b.range_for(0u64, x.len(), |i| y.store(i, a * x.load(i) + y.load(i)));
//! let kernel = b.build()?;
//! assert_eq!(kernel.name, "saxpy");
//! # Ok::<(), quadrants_frontend::Error>(())
//! ```

mod blocks;
mod flow;
mod part;
mod state;
mod tensor;
mod value;

use std::{cell::RefCell, panic::Location, rc::Rc};

use quadrants_ir::{
    Const, Kernel, Options, ScalarType,
    abi::MAX_RANK,
    types::{Constant, ParamType, Type},
};

pub use crate::misuse::Misuse;
pub use crate::syntax::Shuffle;
pub use blocks::{PerThread, Threads};
pub use part::{Elements, Part};
pub use state::{KernelBuilder, Value};
pub use tensor::{Indices, TensorParam};
pub use value::{Operand, Var};

use state::{Atom, BuilderState, caller, type_ix, types};

use crate::{
    Error,
    function_unit::FunctionUnit,
    lower::lower_unit,
    syntax::{Block, Function, FunctionKind, Param, ParamPassing, Span, StmtKind},
};

impl KernelBuilder {
    /// An empty kernel.
    #[must_use]
    #[track_caller]
    pub fn new(name: &str) -> Self {
        let at = Location::caller();
        let builder = Self {
            state: RefCell::new(BuilderState::new(name)),
            file: at.file(),
            span: Span::new(0, at.line(), at.column()),
        };
        builder.check_name(name);
        builder
    }

    /// Sets the options of the `#[kernel]` attribute.
    pub fn options(&self, options: Options) {
        self.state.borrow_mut().options = options;
    }

    /// Declares a parameter passed by value.
    #[track_caller]
    pub fn param_scalar(&self, name: &str, ty: ScalarType) -> Value<'_> {
        let number = self.declare(name, ParamPassing::Value, ParamType::Value(Type::Scalar(ty)));
        self.handle(Atom::Name(number), ty)
    }

    /// Declares a tensor that is only read.
    #[track_caller]
    pub fn param_tensor(&self, name: &str, elem: ScalarType, rank: u8) -> TensorParam<'_> {
        self.tensor(name, Type::Scalar(elem), rank, false)
    }

    /// Declares a tensor that may be written.
    #[track_caller]
    pub fn param_tensor_mut(&self, name: &str, elem: ScalarType, rank: u8) -> TensorParam<'_> {
        self.tensor(name, Type::Scalar(elem), rank, true)
    }

    /// Declares a read-only tensor of aggregates. `ty` is `T::LAYOUT` of a kernel type `T`.
    #[must_use]
    #[track_caller]
    pub fn param_elements(&self, name: &str, ty: Type, rank: u8) -> Elements<'_> {
        Elements::new(self, self.tensor(name, ty, rank, false), ty)
    }

    /// Declares a writable tensor of aggregates.
    #[must_use]
    #[track_caller]
    pub fn param_elements_mut(&self, name: &str, ty: Type, rank: u8) -> Elements<'_> {
        Elements::new(self, self.tensor(name, ty, rank, true), ty)
    }

    /// A constant.
    pub fn constant(&self, value: impl Into<Const>) -> Value<'_> {
        let value = value.into();
        let ix = self.state.borrow_mut().constant(value);
        self.handle(Atom::Const(ix), value.ty())
    }

    /// Declares a variable that can be assigned; its name is for messages and printed IR.
    #[track_caller]
    pub fn var<'b>(&'b self, name: &str, value: impl Operand<'b>) -> Var<'b> {
        self.check_name(name);
        let value = value.into_value(self);
        let expr = self.expr(value);
        let number = self.state.borrow_mut().unique_name(name);
        let name = self.name_of(number);
        let ty = type_ix(value.ty());
        self.stmt(StmtKind::Let { name, mutable: true, ty, value: expr });
        Var::new(self.handle(Atom::Name(number), value.ty()))
    }

    /// Returns the kernel's result. Must be the last statement.
    #[track_caller]
    pub fn return_<'b>(&'b self, value: impl Operand<'b>) {
        let value = value.into_value(self);
        let expr = self.expr(value);
        if self.state.borrow().depth() > 0 {
            self.misuse(Misuse::ReturnInBlock);
        } else if self.state.borrow().result.is_some() {
            self.misuse(Misuse::AfterReturn);
        } else {
            self.state.borrow_mut().result = Some((expr, value.ty()));
        }
    }

    /// Checks and lowers the kernel.
    ///
    /// # Errors
    /// [`Error::Misuse`] for the first invalid call, else [`Error::Rejected`] with all violations of the language
    /// rules.
    pub fn build(self) -> Result<Kernel, Error> {
        let state = self.state.into_inner();
        if let Some((misuse, span)) = state.misuse {
            return Err(Error::Misuse { function: state.name, misuse, span });
        }
        let stmts = state.blocks.into_iter().next().map(|block| block.stmts).unwrap_or_default();
        let (params, kinds) = state.params.into_iter().unzip();
        let function = Function {
            kind: FunctionKind::Kernel,
            name: state.name,
            span: self.span,
            params,
            result: state.result.as_ref().map(|(_, ty)| type_ix(*ty)),
            body: Block { stmts, value: state.result.map(|(expr, _)| Box::new(expr)) },
            options: state.options,
        };
        let unit = FunctionUnit {
            function,
            file: self.file.to_owned(),
            params: kinds,
            types: types(),
            funcs: Vec::new(),
            consts: state.consts.into_iter().map(Constant::from).collect(),
        };
        lower_unit(Rc::new(unit.check_rules()?), false)
    }

    #[track_caller]
    fn tensor(&self, name: &str, elem: Type, rank: u8, writable: bool) -> TensorParam<'_> {
        let passing = if writable { ParamPassing::RefMut } else { ParamPassing::Ref };
        if usize::from(rank) > MAX_RANK {
            self.misuse(Misuse::TensorRank { rank });
        }
        let number = self.declare(
            name,
            passing,
            ParamType::Tensor { elem, rank, writable, distinct: false },
        );
        TensorParam::new(self, number, elem.scalar().unwrap_or(ScalarType::I32), rank)
    }

    #[track_caller]
    fn declare(&self, name: &str, passing: ParamPassing, kind: ParamType) -> u32 {
        self.check_name(name);
        let mut state = self.state.borrow_mut();
        if state.depth() > 0 {
            state.fail(Misuse::ParamInBlock, caller());
        }
        if state.params.iter().any(|(param, _)| param.name == name) {
            state.fail(Misuse::DuplicateParam { name: name.to_owned() }, caller());
        }
        let number = state.unique_name(name);
        let name = state.name_of(number);
        state.params.push((
            Param {
                name,
                passing,
                mutable: false,
                by_reference: false,
                rank: None,
                elem: None,
                span: caller(),
            },
            kind,
        ));
        number
    }
}
