//! A function with its tables, decoded from an [`EmittedSource`] or made by the builder.

use quadrants_ir::types::{Constant, ParamType, Type};

use crate::{
    Callee, EmittedSource, Error,
    check::check,
    resolve,
    syntax::{Function, ParamPassing},
};

/// A function and the tables that its tree's indices refer to.
#[derive(Debug)]
pub(crate) struct FunctionUnit {
    pub(crate) function: Function,
    pub(crate) file: String,
    pub(crate) params: Vec<ParamType>,
    pub(crate) types: Vec<Type>,
    pub(crate) funcs: Vec<Callee>,
    pub(crate) consts: Vec<Constant>,
}

impl FunctionUnit {
    /// Decodes a source. Checks the language rules unless the macro has checked them.
    pub(crate) fn from_source(source: &EmittedSource, is_checked: bool) -> Result<Self, Error> {
        let funcs: Vec<_> = source.funcs.iter().map(|func| func()).collect();
        let mut function = Function::decode(source.tree)?;
        resolve::methods(&mut function, &funcs);
        let unit = Self {
            function,
            file: source.file.to_owned(),
            params: (source.params)(),
            types: (source.types)(),
            funcs,
            consts: source.consts.iter().map(|value| value()).collect(),
        };
        if is_checked { unit.check_params() } else { unit.check_rules() }
    }

    /// Checks the language rules and the parameters.
    pub(crate) fn check_rules(self) -> Result<Self, Error> {
        let violations = check(&self.function);
        if !violations.is_empty() {
            return Err(Error::Rejected { function: self.function.name, violations });
        }
        self.check_params()
    }

    /// Checks that the parameters match the table.
    fn check_params(self) -> Result<Self, Error> {
        let writable = |passing| match passing {
            ParamPassing::Value => None,
            ParamPassing::Ref | ParamPassing::RefDistinct => Some(false),
            ParamPassing::RefMut => Some(true),
        };
        let params = self.function.params.iter().map(|param| writable(param.passing));
        let fits = params.eq(self.params.iter().map(|ty| match *ty {
            ParamType::Value(_) => None,
            ParamType::Tensor { writable, .. } | ParamType::Struct { writable, .. } => {
                Some(writable)
            }
        }));
        if fits {
            Ok(self)
        } else {
            let span = self.function.span;
            let what = "its parameters do not match its parameter table".to_owned();
            Err(Error::Inconsistent { function: self.function.name, what, span })
        }
    }
}
