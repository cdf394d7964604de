//! Prints tasks of thread blocks: shared arrays, and phases that end in a barrier.

use std::collections::HashSet;

use quadrants_ir::{Array, BlockId, Element, ExprId, ExprKind, LocalId, SiteId, Stmt, abi::Form};

use super::{consts, stmt::ElementAccess, task::TaskPrinter};

/// The printer's state for tasks of thread blocks.
#[derive(Default)]
pub(super) struct Blocks {
    /// The declarations of shared arrays at the start of the function.
    pub(super) declarations: String,
    /// The number of the current phase, from 1.
    phase: u32,
    /// The variables for a thread's input to the collective of the current phase, and for a shuffle's source lane.
    pub(super) collective_input: Option<(String, Option<String>)>,
    /// Whether the version with 32-bit indices is being printed.
    pub(super) narrow: bool,
    /// The arrays that are registers, because each thread uses only its own element.
    registers: HashSet<LocalId>,
    /// Whether an array is being zeroed, so that a barrier is needed before its use.
    zeroing: bool,
}

impl Blocks {
    /// The label at the end of the iteration or phase.
    pub(super) fn label(&self) -> String {
        match self.phase {
            0 if self.narrow => "qd_next_narrow".to_owned(),
            0 => "qd_next".to_owned(),
            phase => format!("qd_next_{phase}"),
        }
    }
}

impl TaskPrinter<'_> {
    /// Declares a shared array, and zeroes it unless it is initialized before use.
    pub(super) fn shared_array(&mut self, array: LocalId, dims: &[u32]) {
        let len: u32 = dims.iter().product();
        let kernel = self.kernel;
        let ty = kernel.locals[array].ty;
        let name = self.local(array);
        if self.is_per_thread(array, dims) {
            self.blocks.registers.insert(array);
            self.line(&format!("{ty} {name} = {};", consts::zero(ty)));
            return;
        }
        let declaration = format!("    alignas(16) __shared__ {} {name}[{len}];\n", ty.name());
        self.blocks.declarations.push_str(&declaration);
        if self.is_initialized_before_use(array, dims) {
            return;
        }
        let at = self.fresh("at");
        let zero = consts::zero(ty);
        self.line(&format!(
            "for (u32 {at} = threadIdx.x; {at} < {len}u; {at} += blockDim.x) {name}[{at}] = {zero};"
        ));
        self.blocks.zeroing = true;
    }

    /// Prints the barrier after zeroing arrays.
    pub(super) fn end_zeroing(&mut self) {
        if std::mem::take(&mut self.blocks.zeroing) {
            self.line("__syncthreads();");
        }
    }

    /// Prints the body of a phase. All threads reach its end, even if they leave the body early.
    pub(super) fn phase(&mut self, var: LocalId, body: BlockId) {
        self.blocks.phase += 1;
        let loops = std::mem::take(&mut self.loops);
        self.jumps_to_next = false;
        let name = self.local(var);
        self.open("{");
        self.line(&format!("const u64 {name} = threadIdx.x;"));
        self.iteration(body);
        self.close();
        self.loops = loops;
    }

    pub(super) fn shared_element(
        &mut self,
        array: LocalId,
        index: &[ExprId],
        site: SiteId,
    ) -> ElementAccess {
        let name = self.local(array);
        if self.blocks.registers.contains(&array) {
            return ElementAccess { element: name, in_range: None, report: String::new() };
        }
        let dims = self.extents(array);
        let proven = self.cx.form == Form::Proven;
        let index: Vec<String> = match (proven, index) {
            (true, [at]) => vec![self.expr(*at)],
            _ => index.iter().map(|at| self.atom(*at, "at")).collect(),
        };
        let linear_index = match (&index[..], &dims[..]) {
            ([i, j], [_, columns]) => format!("{i} * {columns}ull + {j}"),
            _ => index.concat(),
        };
        let element = format!("{name}[{linear_index}]");
        if proven {
            return ElementAccess { element, in_range: None, report: String::new() };
        }
        let dims: Vec<String> = dims.iter().map(|len| format!("{len}ull")).collect();
        let inside: Vec<String> =
            index.iter().zip(&dims).map(|(at, len)| format!("{at} < {len}")).collect();
        let report = self.report(site, &[index, dims].concat());
        ElementAccess { element, in_range: Some(inside.join(" && ")), report }
    }

    pub(super) fn extents(&self, array: LocalId) -> Vec<u32> {
        let task = &self.kernel.tasks[self.task.index()];
        self.extents_within(array, task.body).unwrap_or_default()
    }

    fn extents_within(&self, array: LocalId, block: BlockId) -> Option<Vec<u32>> {
        self.kernel.blocks[block].stmts.iter().find_map(|stmt| match stmt {
            Stmt::Shared { array: found, dims } if *found == array => Some(dims.clone()),
            _ => stmt.blocks().find_map(|inner| self.extents_within(array, inner)),
        })
    }

    /// Whether the array has an element per thread, and each thread accesses only its own.
    fn is_per_thread(&self, array: LocalId, dims: &[u32]) -> bool {
        let task = &self.kernel.tasks[self.task.index()];
        let threads = task.kind.threads().unwrap_or(u32::MAX);
        matches!(dims, [len] if *len >= threads)
            && self.accesses_only_own(Array::Shared(array), None, task.body)
    }

    /// Whether a block accesses the array only with the thread index, which is in the local `thread`.
    fn accesses_only_own(&self, shared: Array, thread: Option<LocalId>, block: BlockId) -> bool {
        let kernel = self.kernel;
        let is_thread =
            |at: ExprId| matches!(kernel.exprs[at].kind, ExprKind::Local(at) if Some(at) == thread);
        let own = |element: &Element| {
            element.array != shared || matches!(element.index[..], [at] if is_thread(at))
        };
        kernel.blocks[block].stmts.iter().all(|stmt| {
            let stores = match stmt {
                Stmt::Store { element, .. } => own(element),
                _ => true,
            };
            let reads = stmt.exprs().all(|value| match &kernel.exprs[value].kind {
                ExprKind::Load(element) => own(element),
                ExprKind::Atomic { element, .. } => element.array != shared,
                _ => true,
            });
            let thread = match stmt {
                Stmt::Phase { var, .. } => Some(*var),
                _ => thread,
            };
            stores
                && reads
                && stmt.blocks().all(|inner| self.accesses_only_own(shared, thread, inner))
        })
    }
}
