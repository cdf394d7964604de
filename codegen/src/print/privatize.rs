//! Histograms: a loop whose iterations all combine integers into elements of one tensor, and do nothing else with it.
//! Where the tensor is small, each block of threads combines into copies of its own, which are combined at
//! the end: threads seldom wait for each other's atomics then. Some copies, for the warps of a block meet too.
//!
//! Whether the tensor is small, each launch knows; the whole grid takes the same branch.

use quadrants_ir::{AtomicOp, ExprId, Offloaded, ParamId, ParamKind, ScalarType, SiteId};

use super::{consts, reduce::identity, task::TaskPrinter, types};

/// What the copies of a block have room for.
const ELEMENTS: u32 = 2048;
/// More copies than warps in a block are of no use.
const COPIES: u32 = 8;

/// A tensor that a loop scatters into.
#[derive(Clone)]
pub(super) struct Scatter {
    tensor: ParamId,
    op: AtomicOp,
    ty: ScalarType,
    /// The copies of a block.
    own: String,
    /// How many there are; 0 where the tensor is too large.
    copies: String,
    /// Where the thread's copy begins.
    first: String,
    /// The thread's number in its block, and how many there are.
    thread: [String; 2],
}

/// Whether a tensor of the kind can be scattered into.
pub(super) fn can_be(kernel: &Offloaded, tensor: ParamId, ty: ScalarType) -> bool {
    let kind = kernel.params[tensor.index()].kind;
    matches!(kind, ParamKind::Tensor { rank: 1, .. })
        && matches!(ty, ScalarType::I32 | ScalarType::U32)
}

impl TaskPrinter<'_> {
    /// Declares the copies of a tensor that the loop scatters into, and clears them.
    pub(super) fn begin_scatter(&mut self, tensor: ParamId, op: AtomicOp, ty: ScalarType) {
        let tensor_name = self.kernel.params[tensor.index()].name.clone();
        let named = |what: &str| format!("{tensor_name}_{what}");
        let own = self.fresh(&named("own"));
        let copies = self.fresh(&named("copies"));
        let first = self.fresh(&named("first"));
        let thread = [self.fresh("thread"), self.fresh("threads")];
        let [at, all] = &thread;
        let dim = self.dim(tensor, 0);
        let none = identity(op, ty);
        let declaration = format!("    __shared__ {ty} {own}[{ELEMENTS}];\n");
        self.blocks.declarations.push_str(&declaration);
        self.line(&format!(
            "const u32 {at} = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);"
        ));
        self.line(&format!("const u32 {all} = blockDim.x * blockDim.y * blockDim.z;"));
        self.line(&format!(
            "u32 {copies} = {dim} > 0ull && {dim} <= {ELEMENTS}ull ? {ELEMENTS}u / (u32){dim} : 0u;"
        ));
        self.line(&format!("{copies} = {copies} < {COPIES}u ? {copies} : {COPIES}u;"));
        self.line(&format!(
            "const u32 {first} = {copies} > 0u ? {at} / 32u % {copies} * (u32){dim} : 0u;"
        ));
        let k = self.fresh("k");
        self.line(&format!(
            "for (u32 {k} = {at}; {k} < {copies} * (u32){dim}; {k} += {all}) {own}[{k}] = {none};"
        ));
        self.line("__syncthreads();");
        self.scatters.push(Scatter { tensor, op, ty, own, copies, first, thread });
    }

    /// Combines into the block's copy, or into the tensor; false where the loop does not scatter into it.
    pub(super) fn scatter(
        &mut self,
        tensor: ParamId,
        index: &[ExprId],
        value: ExprId,
        site: SiteId,
    ) -> bool {
        let Some(scatter) = self.scatters.iter().find(|s| s.tensor == tensor).cloned() else {
            return false;
        };
        let (Scatter { op, ty, own, copies, first, .. }, &[at]) = (scatter, index) else {
            return false;
        };
        let place = self.place(tensor, index, site);
        let value = self.expr(value);
        let at = self.expr(at);
        let near =
            self.cx.dialect.atomic(op, ty, &format!("&{own}[{first} + (u32)({at})]"), &value);
        let far = self.cx.dialect.atomic(op, ty, &format!("&{}", place.element), &value);
        match self.near {
            Some(true) => self.line(&format!("{near};")),
            Some(false) => self.line(&format!("{far};")),
            None => {
                self.line(&format!("if ({copies} > 0u) {near};"));
                self.line(&format!("else {far};"));
            }
        }
        true
    }

    /// What `print` prints for the block's copies and for the tensor, where the loop scatters, so that it does not ask
    /// each time.
    pub(super) fn by_scatter(&mut self, print: &mut dyn FnMut(&mut Self)) {
        let Some(copies) = self.scatters.first().map(|scatter| scatter.copies.clone()) else {
            return print(self);
        };
        self.open(&format!("if ({copies} > 0u) {{"));
        self.near = Some(true);
        print(self);
        self.otherwise();
        self.near = Some(false);
        print(self);
        self.near = None;
        self.close();
    }

    /// Combines the copies of each element, and that into the tensor.
    pub(super) fn end_scatters(&mut self) {
        for scatter in std::mem::take(&mut self.scatters) {
            let Scatter { tensor, op, ty, own, copies, thread: [at, all], .. } = scatter;
            let dim = self.dim(tensor, 0);
            let name = self.param(tensor);
            let [total, k, copy] = ["total", "k", "copy"].map(|name| self.fresh(name));
            self.line("__syncthreads();");
            self.open(&format!("if ({copies} > 0u) {{"));
            self.open(&format!("for (u32 {k} = {at}; {k} < (u32){dim}; {k} += {all}) {{"));
            self.line(&format!("{} {total} = {};", types::name(ty), identity(op, ty)));
            let other = format!("{own}[{k} + {copy} * (u32){dim}]");
            let combined = self.combined_values(op, ty, &total, &other);
            self.line(&format!(
                "for (u32 {copy} = 0u; {copy} < {copies}; {copy}++) {total} = {combined};"
            ));
            let update = self.cx.dialect.atomic(op, ty, &format!("&{name}[{k}]"), &total);
            let none = match op {
                AtomicOp::Add => consts::zero(ty),
                _ => identity(op, ty),
            };
            self.line(&format!("if ({total} != {none}) {update};"));
            self.close();
            self.close();
        }
    }
}
