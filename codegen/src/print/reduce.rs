//! Reductions: loops whose iterations all combine into one element, as in `atomic_add(&mut sum[0], x)`, and do not use
//! that tensor otherwise, or into a local of the kernel, as in `sum += x`. Each thread combines its values in a
//! register, then the threads of a block combine theirs, and one atomic per block remains.
//!
//! This reorders the combinations, as atomics do anyway. Sums of floats are not reordered in strict kernels. In checked
//! kernels the atomics on elements stay, because each iteration reports its own index.

use std::collections::HashMap;

use quadrants_ir::{
    Array, AtomicOp, BlockId, Element, ExprId, ExprKind, Offloaded, ParamId, ScalarType, Stmt,
    Task, TempId,
    abi::{Form, MAX_BLOCK_SIZE, temp_word},
};

use super::{consts, expr::library, helpers::Helper, privatize, task::TaskPrinter};

/// The maximum number of reductions of a loop; each needs shared memory.
const MAX_REDUCTIONS: usize = 4;

#[derive(Clone)]
pub(super) struct Reduction {
    target: Target,
    op: AtomicOp,
    ty: ScalarType,
    /// The variable with the thread's partial result.
    name: String,
}

/// What a loop reduces into.
#[derive(Clone, PartialEq, Eq)]
enum Target {
    /// An element of a tensor, with one constant index per dimension.
    Element(ParamId, Vec<ExprId>),
    /// A temporary of the launch.
    Temp(TempId),
}

/// How a loop uses a tensor.
enum Use {
    Reduced(AtomicOp, Vec<ExprId>, ScalarType),
    Privatized(AtomicOp, ScalarType),
    Other,
}

impl TaskPrinter<'_> {
    /// Finds the reductions and privatized tensors of the loop, and declares their variables.
    pub(super) fn begin_reductions(&mut self, task: &Task) {
        let kernel = self.kernel;
        let mut temps = Vec::new();
        collect_temps(kernel, task.body, &mut temps);
        for (temp, op) in temps {
            let ty = kernel.temps[temp.index()];
            self.begin_reduction(Target::Temp(temp), op, ty, "part");
        }
        if self.cx.form != Form::Proven {
            return;
        }
        let mut uses = HashMap::new();
        collect(kernel, task.body, &mut uses);
        for param in task.accesses.iter().map(|access| access.param) {
            let (op, index, ty) = match uses.remove(&param) {
                Some(Use::Reduced(op, index, ty)) => (op, index, ty),
                Some(Use::Privatized(op, ty)) if self.privatized.is_empty() => {
                    self.begin_privatized(param, op, ty);
                    continue;
                }
                _ => continue,
            };
            let name = format!("{}_part", kernel.params[param.index()].name);
            self.begin_reduction(Target::Element(param, index), op, ty, &name);
        }
    }

    fn begin_reduction(&mut self, target: Target, op: AtomicOp, ty: ScalarType, name: &str) {
        let reordered = ty.is_float() && op == AtomicOp::Add && self.kernel.options.strict;
        if reordered || self.reductions.len() == MAX_REDUCTIONS {
            return;
        }
        let name = self.fresh(name);
        self.line(&format!("{ty} {name} = {};", consts::identity(op, ty)));
        self.reductions.push(Reduction { target, op, ty, name });
    }

    /// Combines a value into the thread's partial result. Returns false if the tensor has no reduction.
    pub(super) fn reduce(&mut self, element: &Element, value: ExprId) -> bool {
        let of_tensor = |reduction: &&Reduction| matches!(reduction.target, Target::Element(tensor, _) if Some(tensor) == element.tensor());
        let Some(reduction) = self.reductions.iter().find(of_tensor).cloned() else { return false };
        self.combine_partially(&reduction, value);
        true
    }

    /// Combines a value into a temporary, or into the thread's partial result.
    pub(super) fn combine(&mut self, temp: TempId, op: AtomicOp, value: ExprId) {
        let target = Target::Temp(temp);
        match self.reductions.iter().find(|reduction| reduction.target == target).cloned() {
            Some(reduction) => self.combine_partially(&reduction, value),
            None => {
                let ty = self.kernel.temps[temp.index()];
                let value = self.expr(value);
                self.combine_into_temp(temp, op, ty, &value);
            }
        }
    }

    fn combine_into_temp(&mut self, temp: TempId, op: AtomicOp, ty: ScalarType, value: &str) {
        let word = self.temporary(temp_word(temp));
        // A bool is a word that is 0 or 1.
        let (ty, value) = match ty {
            ScalarType::Bool => (ScalarType::U32, format!("{value} ? 1u : 0u")),
            _ => (ty, value.to_owned()),
        };
        let update = self.atomic(op, ty, &format!("({ty}*)&{word}"), (None, &value));
        self.line(&format!("{update};"));
    }

    fn combine_partially(&mut self, reduction: &Reduction, value: ExprId) {
        let value = self.expr(value);
        let Reduction { op, ty, name, .. } = reduction;
        let combined = self.combined_values(*op, *ty, name, &value);
        self.line(&format!("{name} = {combined};"));
    }

    /// Combines the partial results of the block's threads. One thread combines the result into the element.
    pub(super) fn end_reductions(&mut self) {
        self.end_privatized();
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
        self.open(&format!(
            "for (u32 {width} = blockDim.x * blockDim.y * blockDim.z; {width} > 1u;) {{"
        ));
        self.line(&format!("const u32 {half} = ({width} + 1u) / 2u;"));
        self.open(&format!("if ({thread} + {half} < {width}) {{"));
        for (Reduction { op, ty, .. }, array) in reductions.iter().zip(&arrays) {
            let own = format!("{array}[{thread}]");
            let other = format!("{array}[{thread} + {half}]");
            let combined = self.combined_values(*op, *ty, &own, &other);
            self.line(&format!("{own} = {combined};"));
        }
        self.close();
        self.line("__syncthreads();");
        self.line(&format!("{width} = {half};"));
        self.close();
        self.open(&format!("if ({thread} == 0u) {{"));
        for (reduction, array) in reductions.iter().zip(&arrays) {
            match &reduction.target {
                Target::Element(tensor, index) => {
                    self.combine_into_element(reduction, (*tensor, index), array);
                }
                Target::Temp(temp) => {
                    let (op, ty) = (reduction.op, reduction.ty);
                    self.combine_into_temp(*temp, op, ty, &format!("{array}[0]"));
                }
            }
        }
        self.close();
    }

    /// The element may be out of range if no iteration was executed, so this is checked.
    fn combine_into_element(
        &mut self,
        reduction: &Reduction,
        (tensor, index): (ParamId, &[ExprId]),
        array: &str,
    ) {
        let Reduction { op, ty, .. } = reduction;
        self.begin_statement();
        let mut offset = "0ull".to_owned();
        let mut conditions = Vec::new();
        let rank = usize::from(self.kernel.params[tensor.index()].kind.rank());
        let (index, choice) = index.split_at(rank.min(index.len()));
        for (axis, &at) in index.iter().enumerate() {
            let (at, dim) = (self.expr(at), self.dim(tensor, axis as u8));
            offset = match axis {
                0 => at.clone(),
                _ => format!("({offset}) * {dim} + {at}"),
            };
            conditions.push(format!("{at} < {dim}"));
        }
        if let Some(step) = self.step(tensor) {
            offset = format!("({offset}) * {step}");
        }
        if let (&[choice], Some(plane)) = (choice, self.plane(tensor)) {
            offset = format!("{offset} + {} * {plane}", self.expr(choice));
        }
        let element = format!("&{}[{offset}]", self.param(tensor));
        let update = self.atomic(*op, *ty, &element, (None, &format!("{array}[0]")));
        match conditions.join(" && ") {
            none if none.is_empty() => self.line(&format!("{update};")),
            inside => self.line(&format!("if ({inside}) {update};")),
        }
    }

    pub(super) fn combined_values(
        &mut self,
        op: AtomicOp,
        ty: ScalarType,
        a: &str,
        b: &str,
    ) -> String {
        match op {
            AtomicOp::Add if ty.is_signed_int() => {
                let unsigned = ty.unsigned();
                format!("({ty})(({unsigned}){a} + ({unsigned})({b}))")
            }
            AtomicOp::Add => format!("{a} + ({b})"),
            AtomicOp::Min if ty.is_float() => format!("{}({a}, {b})", library("fmin", ty)),
            AtomicOp::Max if ty.is_float() => format!("{}({a}, {b})", library("fmax", ty)),
            AtomicOp::And => format!("{a} & ({b})"),
            AtomicOp::Or => format!("{a} | ({b})"),
            AtomicOp::Xor => format!("{a} ^ ({b})"),
            AtomicOp::Exchange | AtomicOp::CompareExchange => b.to_owned(),
            AtomicOp::Min => format!("{}({a}, {b})", self.helper(Helper::Min(ty))),
            AtomicOp::Max => format!("{}({a}, {b})", self.helper(Helper::Max(ty))),
        }
    }
}

/// The temporaries that a loop combines into, and the operation of each.
fn collect_temps(kernel: &Offloaded, block: BlockId, temps: &mut Vec<(TempId, AtomicOp)>) {
    for stmt in &kernel.blocks[block].stmts {
        if let Stmt::ReduceTemp { temp, op, .. } = *stmt
            && !temps.contains(&(temp, op))
        {
            temps.push((temp, op));
        }
        for inner in stmt.blocks() {
            collect_temps(kernel, inner, temps);
        }
    }
}

fn collect(kernel: &Offloaded, block: BlockId, uses: &mut HashMap<ParamId, Use>) {
    for stmt in &kernel.blocks[block].stmts {
        if let Stmt::Store { element, .. } = stmt
            && let Some(tensor) = element.tensor()
        {
            uses.insert(tensor, Use::Other);
        }
        for value in stmt.exprs() {
            let kind = &kernel.exprs[value].kind;
            let Some(Element { array: Array::Tensor(tensor), index, .. }) = kind.element() else {
                continue;
            };
            match kind {
                ExprKind::Atomic { op, .. } => {
                    let wanted = !matches!(stmt, Stmt::Eval { .. });
                    let ty = kernel.exprs[value].ty;
                    let here = if wanted || !op.combines() {
                        Use::Other
                    } else if index.iter().all(|at| is_constant(kernel, *at)) {
                        Use::Reduced(*op, index.clone(), ty)
                    } else if privatize::is_privatizable(kernel, *tensor, ty) {
                        Use::Privatized(*op, ty)
                    } else {
                        Use::Other
                    };
                    let both = match (uses.remove(tensor), here) {
                        (None, here) => here,
                        (Some(Use::Reduced(first, at, ty)), Use::Reduced(op, index, _))
                            if first == op && same(kernel, &at, &index) =>
                        {
                            Use::Reduced(first, at, ty)
                        }
                        (Some(Use::Privatized(first, ty)), Use::Privatized(op, _))
                            if first == op =>
                        {
                            Use::Privatized(first, ty)
                        }
                        _ => Use::Other,
                    };
                    uses.insert(*tensor, both);
                }
                _ => _ = uses.insert(*tensor, Use::Other),
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
