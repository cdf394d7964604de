//! Prints tasks of thread blocks: shared arrays, and phases that end in a barrier.

use std::collections::HashSet;

use quadrants_ir::{
    Array, BlockId, Element, ExprId, ExprKind, LocalId, ScalarType, SharedExtent, SiteId, Stmt,
    Task,
    abi::Form,
    shared::{DynamicArray, SHARED_ALIGNMENT},
};

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
    /// Defines the addresses of the dynamic arrays: parts of the memory that the launch gives each block.
    pub(super) fn dynamic_arrays(&mut self, task: &Task) {
        let arrays = self.kernel.dynamic_arrays(task);
        let Some(last) = arrays.len().checked_sub(1) else { return };
        self.blocks.declarations.push_str(&format!(
            "    alignas({SHARED_ALIGNMENT}) extern __shared__ u8 qd_shared[];\n"
        ));
        let mut offset = "0ull".to_owned();
        for (at, DynamicArray { array, extents, bytes }) in arrays.iter().enumerate() {
            let ty = self.kernel.locals[*array].ty.name();
            let name = self.local(*array);
            self.line(&format!("{ty}* const {name} = ({ty}*)(qd_shared + {offset});"));
            if at < last {
                let len = self.len_text(extents);
                let (next, up) = (self.fresh("offset"), SHARED_ALIGNMENT - 1);
                self.line(&format!(
                    "const u64 {next} = ({offset} + {len} * {bytes}ull + {up}ull) & ~{up}ull;"
                ));
                offset = next;
            }
        }
    }

    /// The number of elements of a shared array.
    fn len_text(&mut self, extents: &[SharedExtent]) -> String {
        let numbers: Option<Vec<u32>> = extents.iter().map(|extent| extent.constant()).collect();
        match numbers {
            Some(numbers) => format!("{}u", numbers.iter().product::<u32>()),
            None => {
                let extents: Vec<_> = extents.iter().map(|extent| self.extent(*extent)).collect();
                extents.join(" * ")
            }
        }
    }

    fn extent(&mut self, extent: SharedExtent) -> String {
        match extent {
            SharedExtent::Constant(number) => consts::int(ScalarType::U64, number.into()),
            SharedExtent::Local(local) => self.local(local),
        }
    }

    /// Declares a shared array, unless it is dynamic, and zeroes it unless it is initialized before use.
    pub(super) fn shared_array(&mut self, array: LocalId, dims: &[SharedExtent]) {
        let kernel = self.kernel;
        let ty = kernel.locals[array].ty;
        let name = self.local(array);
        if self.is_per_thread(array, dims) {
            self.blocks.registers.insert(array);
            self.line(&format!("{ty} {name} = {};", consts::zero(ty)));
            return;
        }
        let len = self.len_text(dims);
        if dims.iter().all(|dim| dim.constant().is_some()) {
            let count = len.trim_end_matches('u');
            let declaration =
                format!("    alignas(16) __shared__ {} {name}[{count}];\n", ty.name());
            self.blocks.declarations.push_str(&declaration);
        }
        if self.is_initialized_before_use(array, dims) {
            return;
        }
        let at = self.fresh("at");
        let zero = consts::zero(ty);
        self.line(&format!(
            "for (u32 {at} = threadIdx.x; {at} < {len}; {at} += blockDim.x) {name}[{at}] = {zero};"
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
            return ElementAccess::unchecked(name);
        }
        let dims = self.extent_texts(array);
        let proven = self.cx.form == Form::Proven;
        let mut inside = Vec::new();
        let ids = index.iter().zip(&dims);
        let index: Vec<String> = match (proven, index) {
            (true, [at]) => vec![self.expr(*at)],
            (true, _) => index.iter().map(|at| self.atom(*at, "at")).collect(),
            (false, _) => ids.map(|(at, len)| self.checked_index(*at, len, &mut inside)).collect(),
        };
        let linear_index = match (&index[..], &dims[..]) {
            ([i, j], [_, columns]) => format!("{i} * {columns} + {j}"),
            ([i, j, k], [_, rows, columns]) => {
                format!("({i} * {rows} + {j}) * {columns} + {k}")
            }
            _ => index.concat(),
        };
        if proven {
            return ElementAccess::unchecked(format!("{name}[{linear_index}]"));
        }
        let report = self.report(site, &[index, dims].concat());
        ElementAccess { element: format!("{name}[{linear_index}]"), conditions: inside, report }
    }

    /// The extents of a shared array.
    pub(super) fn extent_texts(&mut self, array: LocalId) -> Vec<String> {
        let task = &self.kernel.tasks[self.task.index()];
        let extents = self.extents_within(array, task.body).unwrap_or_default();
        extents.into_iter().map(|extent| self.extent(extent)).collect()
    }

    fn extents_within(&self, array: LocalId, block: BlockId) -> Option<Vec<SharedExtent>> {
        self.kernel.blocks[block].stmts.iter().find_map(|stmt| match stmt {
            Stmt::Shared { array: found, .. } if *found == array => {
                stmt.shared_extents().map(|(_, extents)| extents)
            }
            _ => stmt.blocks().find_map(|inner| self.extents_within(array, inner)),
        })
    }

    /// Whether the array has an element per thread, and each thread accesses only its own.
    fn is_per_thread(&self, array: LocalId, dims: &[SharedExtent]) -> bool {
        let task = &self.kernel.tasks[self.task.index()];
        let threads = task.kind.threads().unwrap_or(u32::MAX);
        matches!(dims, [SharedExtent::Constant(len)] if *len >= threads)
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
