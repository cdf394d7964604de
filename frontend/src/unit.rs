//! A function with its tables, read once from a [`Source`] or made by the builder.

use quadrants_ir::types::{Constant, ParamType, Type};

use crate::{
    Callee, Error, Source,
    check::check,
    resolve,
    syntax::{Function, ParamPassing},
};

/// A function and what its tree's indices mean.
#[derive(Debug)]
pub(crate) struct Unit {
    pub(crate) function: Function,
    pub(crate) file: String,
    pub(crate) params: Vec<ParamType>,
    pub(crate) types: Vec<Type>,
    /// The callees of the tree.
    pub(crate) funcs: Vec<Callee>,
    pub(crate) consts: Vec<Constant>,
}

impl Unit {
    /// Reads a source; checks the rules of the language where the macro has not.
    pub(crate) fn of_source(source: &Source, obeys: bool) -> Result<Self, Error> {
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
        if obeys { unit.fitting() } else { unit.checked() }
    }

    /// The unit, where it obeys the rules and its parameters are those of its table.
    pub(crate) fn checked(self) -> Result<Self, Error> {
        let rejections = check(&self.function);
        if !rejections.is_empty() {
            return Err(Error::Rejected { function: self.function.name, rejections });
        }
        self.fitting()
    }

    /// The unit, where its parameters are those of its table.
    fn fitting(self) -> Result<Self, Error> {
        let writable = |passing| match passing {
            ParamPassing::Value => None,
            ParamPassing::Ref => Some(false),
            ParamPassing::RefMut => Some(true),
        };
        let params = self.function.params.iter().map(|param| writable(param.passing));
        let fits = params.eq(self.params.iter().map(|ty| match *ty {
            ParamType::Value(_) => None,
            ParamType::Tensor { writable, .. } | ParamType::Group { writable, .. } => {
                Some(writable)
            }
        }));
        if fits {
            Ok(self)
        } else {
            let span = self.function.span;
            let what = "its parameters are not those of its table".to_owned();
            Err(Error::Type { function: self.function.name, what, span })
        }
    }
}
