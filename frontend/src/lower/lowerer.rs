//! The state of lowering, its errors and its error sites.

use std::{collections::HashMap, rc::Rc};

use quadrants_ir::{LocalId, ParamKind, Site, SiteId, SiteKind, types::Type};

use super::{
    emit::Emitter,
    scope::{Frame, Held},
};
use crate::{Error, Source, syntax::Span, unit::Unit};

pub(super) type Result<T> = std::result::Result<T, Error>;

/// The state of lowering one kernel. The other modules of this folder add methods by concern.
pub(super) struct Lowerer {
    pub(super) emit: Emitter,
    /// The function being lowered.
    pub(super) frame: Frame,
    /// The functions that it is inlined into, outermost first.
    pub(super) callers: Vec<Frame>,
    /// Every func decoded so far.
    pub(super) units: Vec<(&'static Source, Rc<Unit>)>,
    /// Whether funcs are known to obey the rules of the language.
    pub(super) obey: bool,
    /// The kernel's file.
    pub(super) file: String,
    /// The kernel's parameters.
    pub(super) params: Vec<ParamKind>,
    /// How many `unsafe` blocks are around what is being lowered.
    pub(super) asserted: u32,
    /// The values of several scalars that have names.
    pub(super) values: Vec<Held>,
    /// The first value and the one after the last, of loop variables with constant bounds.
    pub(super) ranges: HashMap<LocalId, (u64, u64)>,
}

impl Lowerer {
    pub(super) fn type_at(&self, ix: u32, span: Span) -> Result<Type> {
        let types = &self.frame.unit.types;
        types.get(ix as usize).copied().ok_or_else(|| self.unknown("a type", span))
    }

    pub(super) fn type_error(&self, span: Span, what: impl Into<String>) -> Error {
        Error::Type { function: self.frame.unit.function.name.clone(), what: what.into(), span }
    }

    pub(super) fn unknown(&self, what: impl Into<String>, span: Span) -> Error {
        Error::Unknown { function: self.frame.unit.function.name.clone(), what: what.into(), span }
    }

    /// Lowers the contents of an `unsafe` block.
    pub(super) fn asserting<T>(
        &mut self,
        inside: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        self.asserted += 1;
        let result = inside(self);
        self.asserted -= 1;
        result
    }

    /// Adds an error site in the file of the function being lowered.
    pub(super) fn site(&mut self, kind: SiteKind, span: Span) -> SiteId {
        let site = self.site_at(kind, span);
        self.emit.site(site)
    }

    /// An error site that is not in the kernel's list yet.
    pub(super) fn site_at(&self, kind: SiteKind, Span { line, column, .. }: Span) -> Site {
        let file = &self.frame.unit.file;
        let file = (*file != self.file).then(|| file.clone());
        Site { kind, file, line, column, asserted: self.asserted > 0 }
    }
}
