//! Reductions: loops whose iterations all combine into one element, as in `atomic_add(&mut sum[0], x)`, and do not use
//! that tensor otherwise, or into a local of the kernel, as in `sum += x`. Each thread combines its values in a
//! register, then the threads of a block combine theirs, and one atomic per block remains.
//!
//! In the checked form, an element that is out of range is reported once per thread that has combined a value.

use quadrants_ir::{
    AtomicOp, Element, ExprId, ParamId, ScalarType, SiteId, Task, TempId,
    abi::{Form, max_block_size, temp_word},
    schedule::ReductionTarget,
};

use super::{consts, expr::library, helpers::Helper, task::TaskPrinter};

/// A reduction that is being printed.
#[derive(Clone)]
pub(super) struct PrintedReduction {
    target: ReductionTarget,
    op: AtomicOp,
    ty: ScalarType,
    /// The site that reports an index of the element that is out of range.
    site: Option<SiteId>,
    /// The variable with the thread's partial result.
    name: String,
    /// The variable that records that an iteration combined a value; only where the element is checked.
    used: Option<String>,
}

impl TaskPrinter<'_> {
    /// Declares the variables of the loop's reductions and of its privatized tensor.
    pub(super) fn begin_reductions(&mut self, task: &Task) {
        for reduction in &task.schedule.reductions {
            let (op, ty, site) = (reduction.op, reduction.ty, reduction.site);
            let wanted = match &reduction.target {
                ReductionTarget::Temp(_) => "part".to_owned(),
                ReductionTarget::Element(tensor, _) => {
                    format!("{}_part", self.kernel.params[tensor.index()].name)
                }
            };
            let name = self.fresh(&wanted);
            self.line(&format!("{ty} {name} = {};", consts::identity(op, ty)));
            let checked = self.cx.form == Form::Checked && site.is_some();
            let used = checked.then(|| self.fresh(&format!("{name}_used")));
            if let Some(used) = &used {
                self.line(&format!("bool {used} = false;"));
            }
            let target = reduction.target.clone();
            self.reductions.push(PrintedReduction { target, op, ty, site, name, used });
        }
        if let Some(privatized) = &task.schedule.privatized {
            self.begin_privatized(privatized.tensor, privatized.op, privatized.ty);
        }
    }

    /// Combines a value into the thread's partial result. Returns false if the tensor has no reduction.
    pub(super) fn reduce(&mut self, element: &Element, value: ExprId) -> bool {
        let is_of_tensor = |target: &ReductionTarget| match target {
            ReductionTarget::Element(tensor, _) => Some(*tensor) == element.tensor(),
            ReductionTarget::Temp(_) => false,
        };
        let found = self.reductions.iter().find(|reduction| is_of_tensor(&reduction.target));
        let Some(reduction) = found.cloned() else { return false };
        self.combine_partially(&reduction, value);
        true
    }

    /// Combines a value into a temporary, or into the thread's partial result.
    pub(super) fn combine(&mut self, temp: TempId, op: AtomicOp, value: ExprId) {
        let target = ReductionTarget::Temp(temp);
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

    fn combine_partially(&mut self, reduction: &PrintedReduction, value: ExprId) {
        let value = self.expr(value);
        let PrintedReduction { op, ty, name, used, .. } = reduction;
        let combined = self.combined_values(*op, *ty, name, &value);
        self.line(&format!("{name} = {combined};"));
        if let Some(used) = used {
            self.line(&format!("{used} = true;"));
        }
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
        reductions.iter().for_each(|reduction| self.report_element(reduction));
        let threads = max_block_size(&self.kernel.tasks[self.task.index()]);
        let mut arrays = Vec::new();
        for PrintedReduction { ty, name, .. } in &reductions {
            let array = self.fresh(&format!("{name}s"));
            let declaration = format!("    __shared__ {ty} {array}[{threads}];\n");
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
        for (PrintedReduction { op, ty, .. }, array) in reductions.iter().zip(&arrays) {
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
                ReductionTarget::Element(tensor, index) => {
                    self.combine_into_element(reduction, (*tensor, index), array);
                }
                ReductionTarget::Temp(temp) => {
                    let (op, ty) = (reduction.op, reduction.ty);
                    self.combine_into_temp(*temp, op, ty, &format!("{array}[0]"));
                }
            }
        }
        self.close();
    }

    /// Reports the element of a reduction if it is out of range and an iteration combined a value into it.
    fn report_element(&mut self, reduction: &PrintedReduction) {
        let (Some(used), Some(site)) = (&reduction.used, reduction.site) else { return };
        let ReductionTarget::Element(tensor, index) = &reduction.target else { return };
        self.begin_statement();
        let kind = self.kernel.params[tensor.index()].kind;
        let mut values: Vec<String> = index.iter().map(|at| self.expr(*at)).collect();
        values.extend((0..kind.rank()).map(|axis| self.dim(*tensor, axis)));
        if index.len() > usize::from(kind.rank()) {
            let extent = kind.component_extent().unwrap_or(1);
            values.push(consts::int(ScalarType::U64, extent.into()));
        }
        let (_, inside) = self.reduced_element(*tensor, index);
        if let Some(inside) = inside {
            let report = self.report(site, &values);
            self.line(&format!("if ({used} && !({inside})) {report}"));
        }
    }

    /// The element may be out of range if no iteration was executed, or in the checked form, so this is checked.
    fn combine_into_element(
        &mut self,
        reduction: &PrintedReduction,
        (tensor, index): (ParamId, &[ExprId]),
        array: &str,
    ) {
        let PrintedReduction { op, ty, .. } = reduction;
        self.begin_statement();
        let (element, inside) = self.reduced_element(tensor, index);
        let update = self.atomic(*op, *ty, &format!("&{element}"), (None, &format!("{array}[0]")));
        match inside {
            None => self.line(&format!("{update};")),
            Some(inside) => self.line(&format!("if ({inside}) {update};")),
        }
    }

    /// The element of a reduction, and the condition that it exists.
    fn reduced_element(&mut self, tensor: ParamId, index: &[ExprId]) -> (String, Option<String>) {
        let mut offset = "0ull".to_owned();
        let mut conditions = Vec::new();
        let rank = usize::from(self.kernel.params[tensor.index()].kind.rank());
        let (index, choice) = index.split_at(rank.min(index.len()));
        let mut values = Vec::new();
        for (axis, &at) in index.iter().enumerate() {
            let (at, dim) = (self.expr(at), self.dim(tensor, axis as u8));
            values.push(format!("({at})"));
            offset = match axis {
                0 => at.clone(),
                _ => format!("({offset}) * {dim} + {at}"),
            };
            conditions.push(format!("{at} < {dim}"));
        }
        offset = self.strided_offset(tensor, &values).unwrap_or(offset);
        if let Some(step) = self.step(tensor) {
            offset = format!("({offset}) * {step}");
        }
        if let (&[choice], Some(plane)) = (choice, self.plane(tensor)) {
            offset = format!("{offset} + {} * {plane}", self.expr(choice));
        }
        let element = format!("{}[{offset}]", self.param(tensor));
        (element, (!conditions.is_empty()).then(|| conditions.join(" && ")))
    }

    pub(super) fn combined_values(
        &mut self,
        op: AtomicOp,
        ty: ScalarType,
        a: &str,
        b: &str,
    ) -> String {
        match op {
            AtomicOp::Add if ty.is_wide_signed_int() => {
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
