//! Plain reductions: a loop whose iterations all combine into one element, `atomic_add(&mut sum[0], x)`,
//! and do nothing else with that tensor. Each thread combines by itself, then the threads of a block do,
//! and one atomic per block is left.
//!
//! That reorders the combinations, as atomics do anyway; additions of floats are left alone in a strict
//! kernel. Where indices are checked, the atomics stay: an iteration reports its own index.

use std::collections::HashMap;

use quadrants_ir::{
    AtomicOp, BlockId, ExprId, ExprKind, Offloaded, ParamId, ScalarType, Stmt, Task, TaskKind,
    abi::{Form, MAX_BLOCK_SIZE},
};

use super::{consts, helpers::Helper, privatize, task::TaskPrinter, types};

/// More than these would take too much of the memory that a block's threads share.
const AT_MOST: usize = 4;

/// A tensor that a loop reduces into.
#[derive(Clone)]
pub(super) struct Reduction {
    tensor: ParamId,
    op: AtomicOp,
    ty: ScalarType,
    /// The element: one constant per dimension.
    index: Vec<ExprId>,
    /// What holds a thread's part.
    name: String,
}

/// What a loop does with a tensor.
enum Use {
    Reduced(AtomicOp, Vec<ExprId>, ScalarType),
    Scattered(AtomicOp, ScalarType),
    Otherwise,
}

impl TaskPrinter<'_> {
    /// Finds the loop's reductions, and declares each thread's part.
    pub(super) fn begin_reductions(&mut self, task: &Task) {
        if self.cx.form != Form::Proven || !matches!(task.kind, TaskKind::RangeFor { .. }) {
            return;
        }
        let kernel = self.kernel;
        let mut uses = HashMap::new();
        collect(kernel, task.body, &mut uses);
        for param in task.accesses.iter().map(|access| access.param) {
            let (op, index, ty) = match uses.remove(&param) {
                Some(Use::Reduced(op, index, ty)) => (op, index, ty),
                Some(Use::Scattered(op, ty)) if self.scatters.is_empty() => {
                    self.begin_scatter(param, op, ty);
                    continue;
                }
                _ => continue,
            };
            let reordered = ty.is_float() && kernel.options.strict;
            if reordered || self.reductions.len() == AT_MOST {
                continue;
            }
            let name = self.fresh(&format!("{}_part", kernel.params[param.index()].name));
            self.line(&format!("{ty} {name} = {};", identity(op, ty)));
            self.reductions.push(Reduction { tensor: param, op, ty, index, name });
        }
    }

    /// Combines into the thread's part; false where the tensor is not reduced into.
    pub(super) fn reduce(&mut self, tensor: ParamId, value: ExprId) -> bool {
        let Some(reduction) = self.reductions.iter().find(|r| r.tensor == tensor).cloned() else {
            return false;
        };
        let value = self.expr(value);
        let name = &reduction.name;
        let combined = self.combined(&reduction, name, &value);
        self.line(&format!("{name} = {combined};"));
        true
    }

    /// Combines what the block's threads have, and has one of them combine that into the element.
    pub(super) fn end_reductions(&mut self) {
        self.end_scatters();
        let reductions = std::mem::take(&mut self.reductions);
        if reductions.is_empty() {
            return;
        }
        let [thread, width, half] = ["thread", "width", "half"].map(|name| self.fresh(name));
        self.line(&format!(
            "const u32 {thread} = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);"
        ));
        let mut arrays = Vec::new();
        for Reduction { ty, name, .. } in &reductions {
            let array = self.fresh(&format!("{name}s"));
            let declaration = format!("    __shared__ {ty} {array}[{MAX_BLOCK_SIZE}];\n");
            self.blocks.declarations.push_str(&declaration);
            self.line(&format!("{array}[{thread}] = {name};"));
            arrays.push(array);
        }
        self.line("__syncthreads();");
        self.line(&format!(
            "for (u32 {width} = blockDim.x * blockDim.y * blockDim.z; {width} > 1u;) {{"
        ));
        self.indented(|this| {
            this.line(&format!("const u32 {half} = ({width} + 1u) / 2u;"));
            this.line(&format!("if ({thread} + {half} < {width}) {{"));
            this.indented(|this| {
                for (reduction, array) in reductions.iter().zip(&arrays) {
                    let own = format!("{array}[{thread}]");
                    let other = format!("{array}[{thread} + {half}]");
                    let combined = this.combined(reduction, &own, &other);
                    this.line(&format!("{own} = {combined};"));
                }
            });
            this.line("}");
            this.line("__syncthreads();");
            this.line(&format!("{width} = {half};"));
        });
        self.line("}");
        self.line(&format!("if ({thread} == 0u) {{"));
        self.indented(|this| {
            for (reduction, array) in reductions.iter().zip(&arrays) {
                this.combine_into_element(reduction, array);
            }
        });
        self.line("}");
    }

    /// The element may not be there, where no iteration wanted it.
    fn combine_into_element(&mut self, reduction: &Reduction, array: &str) {
        let Reduction { tensor, op, ty, index, .. } = reduction;
        self.begin_statement();
        let mut offset = "0ull".to_owned();
        let mut conditions = Vec::new();
        let rank = usize::from(self.kernel.params[tensor.index()].kind.rank());
        let (index, choice) = index.split_at(rank.min(index.len()));
        for (axis, &at) in index.iter().enumerate() {
            let (at, dim) = (self.expr(at), self.dim(*tensor, axis as u8));
            offset = match axis {
                0 => at.clone(),
                _ => format!("({offset}) * {dim} + {at}"),
            };
            conditions.push(format!("{at} < {dim}"));
        }
        if let Some(step) = self.step(*tensor) {
            offset = format!("({offset}) * {step}");
        }
        if let (&[choice], Some(plane)) = (choice, self.plane(*tensor)) {
            offset = format!("{offset} + {} * {plane}", self.expr(choice));
        }
        let element = format!("&{}[{offset}]", self.param(*tensor));
        let update = self.cx.dialect.atomic(*op, *ty, &element, &format!("{array}[0]"));
        match conditions.join(" && ") {
            none if none.is_empty() => self.line(&format!("{update};")),
            inside => self.line(&format!("if ({inside}) {update};")),
        }
    }

    fn combined(&mut self, reduction: &Reduction, a: &str, b: &str) -> String {
        self.combined_values(reduction.op, reduction.ty, a, b)
    }

    /// Two values as one.
    pub(super) fn combined_values(
        &mut self,
        op: AtomicOp,
        ty: ScalarType,
        a: &str,
        b: &str,
    ) -> String {
        match op {
            AtomicOp::Add if ty.is_signed_int() => {
                let unsigned = types::unsigned(ty);
                format!("({ty})(({unsigned}){a} + ({unsigned})({b}))")
            }
            AtomicOp::Add => format!("{a} + ({b})"),
            AtomicOp::Min => format!("{}({a}, {b})", self.helper(Helper::Min(ty))),
            AtomicOp::Max => format!("{}({a}, {b})", self.helper(Helper::Max(ty))),
        }
    }
}

/// What combines with any value to that value. Of additions of floats that is the negative zero.
pub(super) fn identity(op: AtomicOp, ty: ScalarType) -> String {
    let (low, high) = ty.int_range().unwrap_or_default();
    match op {
        AtomicOp::Add if ty.is_float() => consts::float(ty, -0.0),
        AtomicOp::Add => consts::zero(ty),
        AtomicOp::Min => consts::int(ty, high),
        AtomicOp::Max => consts::int(ty, low),
    }
}

fn collect(kernel: &Offloaded, block: BlockId, uses: &mut HashMap<ParamId, Use>) {
    for stmt in &kernel.blocks[block].stmts {
        if let Stmt::Store { tensor, .. } = stmt {
            uses.insert(*tensor, Use::Otherwise);
        }
        for value in stmt.exprs() {
            match &kernel.exprs[value].kind {
                ExprKind::Atomic { op, tensor, index, .. } => {
                    let wanted = !matches!(stmt, Stmt::Eval { .. });
                    let ty = kernel.exprs[value].ty;
                    let here = if wanted {
                        Use::Otherwise
                    } else if index.iter().all(|at| is_constant(kernel, *at)) {
                        Use::Reduced(*op, index.clone(), ty)
                    } else if privatize::can_be(kernel, *tensor, ty) {
                        Use::Scattered(*op, ty)
                    } else {
                        Use::Otherwise
                    };
                    let both = match (uses.remove(tensor), here) {
                        (None, here) => here,
                        (Some(Use::Reduced(first, at, ty)), Use::Reduced(op, index, _))
                            if first == op && same(kernel, &at, &index) =>
                        {
                            Use::Reduced(first, at, ty)
                        }
                        (Some(Use::Scattered(first, ty)), Use::Scattered(op, _)) if first == op => {
                            Use::Scattered(first, ty)
                        }
                        _ => Use::Otherwise,
                    };
                    uses.insert(*tensor, both);
                }
                ExprKind::Load { tensor, .. } => {
                    uses.insert(*tensor, Use::Otherwise);
                }
                _ => {}
            }
        }
        for inner in stmt.blocks() {
            collect(kernel, inner, uses);
        }
    }
}

fn is_constant(kernel: &Offloaded, value: ExprId) -> bool {
    matches!(kernel.exprs[value].kind, ExprKind::Const(_))
}

fn same(kernel: &Offloaded, a: &[ExprId], b: &[ExprId]) -> bool {
    a.iter().zip(b).all(|(a, b)| kernel.exprs[*a].kind == kernel.exprs[*b].kind)
}
