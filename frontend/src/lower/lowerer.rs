//! `Lowerer`: the state of lowering, its errors and its error sites.

use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
};

use quadrants_ir::{LocalId, ParamKind, Site, SiteId, SiteKind, types::Type};

use super::{
    blocks::SharedArrayExtents,
    conditional::{BranchResult, PathCondition},
    emit::Emitter,
    local_array::ArrayPlan,
    scope::{CallFrame, NamedValue},
};
use crate::{EmittedSource, Error, function_unit::FunctionUnit, syntax::Span};

pub(super) type Result<T> = std::result::Result<T, Error>;

/// The state of lowering one kernel. The other modules of this folder add methods.
pub(super) struct Lowerer {
    pub(super) emit: Emitter,
    /// The function being lowered.
    pub(super) frame: CallFrame,
    /// The functions that `frame` is inlined into, outermost first.
    pub(super) callers: Vec<CallFrame>,
    /// All funcs decoded so far.
    pub(super) units: Vec<(&'static EmittedSource, Rc<FunctionUnit>)>,
    /// Whether the macro has checked the language rules.
    pub(super) is_checked: bool,
    pub(super) file: String,
    /// The kernel's parameters.
    pub(super) params: Vec<ParamKind>,
    pub(super) unsafe_depth: u32,
    /// The variables of the parallel loop, or the index of the block, outermost dimension first.
    pub(super) iteration: Vec<LocalId>,
    /// The locals that are variables of loops, each less than the end of its loop.
    pub(super) loop_variables: HashSet<LocalId>,
    /// The aggregates that names refer to.
    pub(super) named_values: Vec<NamedValue>,
    /// The half-open ranges of locals with constant bounds: loop variables, remainders.
    pub(super) ranges: HashMap<LocalId, (u64, u64)>,
    /// In a `block_for`: the extents of its shared arrays.
    pub(super) extents: Vec<SharedArrayExtents>,
    /// In a parallel loop: the wide locals that stand for narrow ones that it combines into.
    pub(super) accumulators: HashMap<LocalId, LocalId>,
    /// Where named values are stored in this pass.
    pub(super) plan: ArrayPlan,
    /// Where they are stored in the next pass.
    pub(super) found: ArrayPlan,
    /// Under which condition the current code at the top level runs.
    pub(super) path: PathCondition,
    /// The type and the locals of the result, in a kernel with parallel loops under a condition.
    pub(super) result: Option<BranchResult>,
    /// The number of the current task.
    pub(super) task: u32,
}

impl Lowerer {
    pub(super) fn type_at(&self, ix: u32, span: Span) -> Result<Type> {
        let types = &self.frame.unit.types;
        types.get(ix as usize).copied().ok_or_else(|| self.unknown("a type", span))
    }

    pub(super) fn type_error(&self, span: Span, what: impl Into<String>) -> Error {
        Error::Type { function: self.frame.unit.function.name.clone(), what: what.into(), span }
    }

    /// The error for a tree that rustc or the builder should have rejected.
    pub(super) fn inconsistent(&self, span: Span, what: impl Into<String>) -> Error {
        let function = self.frame.unit.function.name.clone();
        Error::Inconsistent { function, what: what.into(), span }
    }

    pub(super) fn unknown(&self, what: impl Into<String>, span: Span) -> Error {
        Error::Unknown { function: self.frame.unit.function.name.clone(), what: what.into(), span }
    }

    /// Runs `lower` for the contents of an `unsafe` block.
    pub(super) fn in_unsafe<T>(&mut self, lower: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.unsafe_depth += 1;
        let result = lower(self);
        self.unsafe_depth -= 1;
        result
    }

    /// Adds an error site in the file of the current function.
    pub(super) fn add_site(&mut self, kind: SiteKind, span: Span) -> SiteId {
        let site = self.make_site(kind, span);
        self.emit.add_site(site)
    }

    /// An error site that is not yet in the kernel's list.
    pub(super) fn make_site(&self, kind: SiteKind, Span { line, column, .. }: Span) -> Site {
        let file = &self.frame.unit.file;
        let file = (*file != self.file).then(|| file.clone());
        Site { kind, file, line, column, asserted: self.unsafe_depth > 0 }
    }
}
