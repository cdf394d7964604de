//! Privatization of histograms: loops whose iterations all combine integers into elements of one tensor and do not use
//! it otherwise. If the tensor is small, each block has private copies in shared memory, which are combined at the end.
//! This reduces contention on atomics. A block has several copies, because its warps contend too.
//!
//! Whether the tensor is small is decided at run time; the whole grid takes the same branch.

use quadrants_ir::{AtomicOp, Element, ExprId, ParamId, ScalarType};

use super::{consts, task::TaskPrinter};

/// The number of elements of all private copies of a block.
const ELEMENTS: u32 = 2048;
/// The maximum number of copies: the warps of a block of the default size, 256 threads.
const COPIES: u32 = 8;

#[derive(Clone)]
pub(super) struct Privatized {
    tensor: ParamId,
    op: AtomicOp,
    ty: ScalarType,
    /// The shared array with the copies.
    own: String,
    /// The number of copies; 0 if the tensor is too large.
    copies: String,
    /// The offset of the thread's copy.
    first: String,
    /// The index of the thread in its block, and the number of threads.
    thread: [String; 2],
}

impl TaskPrinter<'_> {
    /// Declares the private copies of a tensor and initializes them.
    pub(super) fn begin_privatized(&mut self, tensor: ParamId, op: AtomicOp, ty: ScalarType) {
        let tensor_name = self.kernel.params[tensor.index()].name.clone();
        let named = |what: &str| format!("{tensor_name}_{what}");
        let own = self.fresh(&named("own"));
        let copies = self.fresh(&named("copies"));
        let first = self.fresh(&named("first"));
        let names = [self.fresh("thread"), self.fresh("threads")];
        let [thread, threads] = &names;
        let dim = self.dim(tensor, 0);
        let identity_value = consts::identity(op, ty);
        let declaration = format!("    __shared__ {ty} {own}[{ELEMENTS}];\n");
        self.blocks.declarations.push_str(&declaration);
        self.line(&format!(
            "const u32 {thread} = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);"
        ));
        self.line(&format!("const u32 {threads} = blockDim.x * blockDim.y * blockDim.z;"));
        self.line(&format!(
            "u32 {copies} = {dim} > 0ull && {dim} <= {ELEMENTS}ull ? {ELEMENTS}u / (u32){dim} : 0u;"
        ));
        self.line(&format!("{copies} = {copies} < {COPIES}u ? {copies} : {COPIES}u;"));
        self.line(&format!(
            "const u32 {first} = {copies} > 0u ? {thread} / 32u % {copies} * (u32){dim} : 0u;"
        ));
        let k = self.fresh("k");
        self.line(&format!(
            "for (u32 {k} = {thread}; {k} < {copies} * (u32){dim}; {k} += {threads}) {own}[{k}] = {identity_value};"
        ));
        self.line("__syncthreads();");
        self.privatized.push(Privatized { tensor, op, ty, own, copies, first, thread: names });
    }

    /// Prints an atomic on the private copy, or on the tensor. Returns false if the tensor is not privatized.
    pub(super) fn privatized_atomic(&mut self, element: &Element, value: ExprId) -> bool {
        let tensor = element.tensor();
        let copies = self.privatized.iter().find(|s| Some(s.tensor) == tensor).cloned();
        let (Some(Privatized { op, ty, own, copies, first, .. }), &[at]) =
            (copies, &element.index[..])
        else {
            return false;
        };
        let access = self.element(element);
        let value = self.expr(value);
        let at = self.expr(at);
        let on_copy =
            self.atomic(op, ty, &format!("&{own}[{first} + (u32)({at})]"), (None, &value));
        let on_tensor = self.atomic(op, ty, &format!("&{}", access.element), (None, &value));
        let update = match self.use_copies {
            Some(true) => format!("{on_copy};"),
            Some(false) => format!("{on_tensor};"),
            None => format!("if ({copies} > 0u) {on_copy}; else {on_tensor};"),
        };
        self.guarded(&access, &update);
        true
    }

    /// Calls `print` for both cases, private copies and tensor, in a branch around the code. So the condition is
    /// evaluated once, not for each atomic.
    pub(super) fn in_privatization_branches(&mut self, print: &mut dyn FnMut(&mut Self)) {
        let Some(copies) =
            self.privatized.first().map(|tensor_copies| tensor_copies.copies.clone())
        else {
            return print(self);
        };
        self.open(&format!("if ({copies} > 0u) {{"));
        self.use_copies = Some(true);
        print(self);
        self.otherwise();
        self.use_copies = Some(false);
        print(self);
        self.use_copies = None;
        self.close();
    }

    /// Combines the copies of each element, and the result into the tensor.
    pub(super) fn end_privatized(&mut self) {
        for tensor_copies in std::mem::take(&mut self.privatized) {
            let Privatized { tensor, op, ty, own, copies, thread: [thread, threads], .. } =
                tensor_copies;
            let dim = self.dim(tensor, 0);
            let name = self.param(tensor);
            let [total, k, copy] = ["total", "k", "copy"].map(|name| self.fresh(name));
            self.line("__syncthreads();");
            self.open(&format!("if ({copies} > 0u) {{"));
            self.open(&format!("for (u32 {k} = {thread}; {k} < (u32){dim}; {k} += {threads}) {{"));
            self.line(&format!("{} {total} = {};", ty.name(), consts::identity(op, ty)));
            let other = format!("{own}[{k} + {copy} * (u32){dim}]");
            let combined = self.combined_values(op, ty, &total, &other);
            self.line(&format!(
                "for (u32 {copy} = 0u; {copy} < {copies}; {copy}++) {total} = {combined};"
            ));
            let update = self.atomic(op, ty, &format!("&{name}[{k}]"), (None, &total));
            let identity_value = match op {
                AtomicOp::Add => consts::zero(ty),
                _ => consts::identity(op, ty),
            };
            self.line(&format!("if ({total} != {identity_value}) {update};"));
            self.close();
            self.close();
        }
    }
}
