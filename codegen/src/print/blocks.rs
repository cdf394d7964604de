//! Blocks of threads: the arrays that they share, and their phases, each of which ends in a barrier.

use std::collections::HashSet;

use quadrants_ir::{AtomicOp, BlockId, ExprId, ExprKind, LocalId, SiteId, Stmt, abi::Form};

use super::{consts, stmt::Place, task::TaskPrinter, types};

/// What the text of a task of blocks has besides that of a loop.
#[derive(Default)]
pub(super) struct Blocks {
    /// The shared arrays, which are the function's.
    pub(super) declarations: String,
    /// The number of the phase under way, from 1.
    phase: u32,
    /// What holds what a thread gives to the exchange of the phase under way, and whom it takes from.
    pub(super) given: Option<(String, Option<String>)>,
    /// Whether the iteration with indices of 32 bits is printed.
    pub(super) narrow: bool,
    /// The arrays of which each thread has its own element in a register.
    registers: HashSet<LocalId>,
    /// Whether elements have been cleared that threads may not look at before a barrier.
    clearing: bool,
}

impl Blocks {
    /// The end of the iteration or of the phase.
    pub(super) fn label(&self) -> String {
        match self.phase {
            0 if self.narrow => "qd_next_narrow".to_owned(),
            0 => "qd_next".to_owned(),
            phase => format!("qd_next_{phase}"),
        }
    }
}

impl TaskPrinter<'_> {
    /// Declares an array, and clears it unless the threads fill it before they look at it.
    pub(super) fn shared_array(&mut self, array: LocalId, dims: &[u32]) {
        let len: u32 = dims.iter().product();
        let kernel = self.kernel;
        let ty = kernel.locals[array].ty;
        let name = self.local(array);
        if self.is_each_threads_own(array, dims) {
            self.blocks.registers.insert(array);
            self.line(&format!("{ty} {name} = {};", consts::zero(ty)));
            return;
        }
        let declaration =
            format!("    alignas(16) __shared__ {} {name}[{len}];\n", types::name(ty));
        self.blocks.declarations.push_str(&declaration);
        if self.is_filled_first(array, dims) {
            return;
        }
        let at = self.fresh("at");
        let zero = consts::zero(ty);
        self.line(&format!(
            "for (u32 {at} = threadIdx.x; {at} < {len}u; {at} += blockDim.x) {name}[{at}] = {zero};"
        ));
        self.blocks.clearing = true;
    }

    /// Waits for all elements to be cleared that are under way.
    pub(super) fn finish_clearing(&mut self) {
        if std::mem::take(&mut self.blocks.clearing) {
            self.line("__syncthreads();");
        }
    }

    /// A phase that ends in a barrier.
    pub(super) fn each(&mut self, var: LocalId, body: BlockId) {
        self.phase(var, body);
        self.line("__syncthreads();");
    }

    /// The body of a phase. All threads come to its end, also those that leave it early.
    pub(super) fn phase(&mut self, var: LocalId, body: BlockId) {
        self.blocks.phase += 1;
        let loops = std::mem::take(&mut self.loops);
        self.jumps_to_next = false;
        let name = self.local(var);
        self.line("{");
        self.indented(|this| {
            this.line(&format!("const u64 {name} = threadIdx.x;"));
            this.iteration(body);
        });
        self.line("}");
        self.loops = loops;
    }

    pub(super) fn shared_place(&mut self, array: LocalId, index: &[ExprId], site: SiteId) -> Place {
        let name = self.local(array);
        if self.blocks.registers.contains(&array) {
            return Place { element: name, in_range: None, report: String::new() };
        }
        let dims = self.extents(array);
        let proven = self.cx.form == Form::Proven;
        let index: Vec<String> = match (proven, index) {
            (true, [at]) => vec![self.expr(*at)],
            _ => index.iter().map(|at| self.atom(*at, "at")).collect(),
        };
        let place = match (&index[..], &dims[..]) {
            ([i, j], [_, columns]) => format!("{i} * {columns}ull + {j}"),
            _ => index.concat(),
        };
        let element = format!("{name}[{place}]");
        if proven {
            return Place { element, in_range: None, report: String::new() };
        }
        let dims: Vec<String> = dims.iter().map(|len| format!("{len}ull")).collect();
        let inside: Vec<String> =
            index.iter().zip(&dims).map(|(at, len)| format!("{at} < {len}")).collect();
        let report = self.report(site, &[index, dims].concat());
        Place { element, in_range: Some(inside.join(" && ")), report }
    }

    pub(super) fn shared_atomic(
        &mut self,
        op: AtomicOp,
        array: LocalId,
        index: &[ExprId],
        value: ExprId,
        site: SiteId,
    ) -> (Place, String) {
        let ty = self.kernel.exprs[value].ty;
        let place = self.shared_place(array, index, site);
        let value = self.expr(value);
        let update = self.cx.dialect.atomic(op, ty, &format!("&{}", place.element), &value);
        (place, update)
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

    /// Whether the array has an element for each thread, and no thread accesses but its own.
    fn is_each_threads_own(&self, array: LocalId, dims: &[u32]) -> bool {
        let task = &self.kernel.tasks[self.task.index()];
        let threads = task.kind.threads().unwrap_or(u32::MAX);
        matches!(dims, [len] if *len >= threads) && self.only_own(array, None, task.body)
    }

    /// Whether a block of statements accesses an array by the thread's number alone, which that local is.
    fn only_own(&self, shared: LocalId, thread: Option<LocalId>, block: BlockId) -> bool {
        let kernel = self.kernel;
        let own = |index: &[ExprId]| matches!(index, [at] if matches!(kernel.exprs[*at].kind, ExprKind::Local(at) if Some(at) == thread));
        kernel.blocks[block].stmts.iter().all(|stmt| {
            let stores = match stmt {
                Stmt::SharedStore { array, index, .. } => *array != shared || own(index),
                _ => true,
            };
            let reads = stmt.exprs().all(|value| match &kernel.exprs[value].kind {
                ExprKind::SharedLoad { array, index, .. } => *array != shared || own(index),
                ExprKind::SharedAtomic { array, .. } => *array != shared,
                _ => true,
            });
            let thread = match stmt {
                Stmt::Each { var, .. } => Some(*var),
                _ => thread,
            };
            stores && reads && stmt.blocks().all(|inner| self.only_own(shared, thread, inner))
        })
    }
}
