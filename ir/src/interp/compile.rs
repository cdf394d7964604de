//! Compiles a task to register code.
//!
//! Every local and every constant has its own register. Intermediate values of a statement use temporaries, which the
//! next statement reuses. A value that a statement uses twice is computed once.

use std::collections::HashMap;

use super::{
    machine::{JumpTarget, Op, Reg, SPECULATIVE},
    memory::Size,
    partial::PartialResult,
    select,
};
use crate::{
    Array, AtomicOp, BinaryOp, BlockCollective, BlockId, CollectiveOp, Const, Element, ExprId,
    ExprKind, Local, LocalId, LoopDim, MathFn, Offloaded, ParamId, ParamKind, ScalarType, SiteId,
    Stmt, Task, TempId, UnaryOp,
    abi::{self, ArgLayout, Form, TEMPORARIES_WORD},
    task_schedule::{ReductionTarget, TaskSchedule},
    visit::{Nodes, assigned_outer_locals},
};

#[derive(Clone, Debug)]
pub(crate) struct Code {
    /// The initial values of the registers after the arguments: the constants.
    pub(super) start: Vec<u64>,
    /// The registers of scalar parameters of less than 64 bits, with the masks of their valid bits.
    pub(super) masks: Vec<(Reg, u64)>,
    /// The code of the prelude and the bounds.
    pub(super) prelude: Vec<Op>,
    /// The dimensions; none for a serial task.
    pub(super) dims: Option<Vec<DimRegs>>,
    /// The site that reports bounds computed on the device.
    pub(super) bounds_site: Option<SiteId>,
    /// The code of one iteration.
    pub(super) body: Vec<Op>,
    /// How iterations run together, as scheduled.
    pub(super) threads: Threads,
}

/// How a thread executes several iterations.
#[derive(Clone, Debug, Default)]
pub(super) struct Threads {
    /// The number of iterations that run together, statement by statement; at least 1.
    pub(super) coarsening: usize,
    /// The ends of the statements in the code of an iteration.
    pub(super) statements: Vec<usize>,
    /// The first register that each iteration has for itself.
    pub(super) first: usize,
    /// The code that combines the partial results into their targets.
    pub(super) finish: Vec<Op>,
}

/// The registers of a dimension's loop variable and bounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct DimRegs {
    pub(super) ty: ScalarType,
    pub(super) var: Reg,
    pub(super) begin: Reg,
    pub(super) end: Reg,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodePart<'a> {
    Whole(Form),
    /// Only the bounds. The slice marks the prelude locals that they depend on.
    Bounds(&'a [bool]),
    /// Only the prelude locals that are marked.
    Locals(&'a [bool]),
}

pub(super) struct Compiler<'k> {
    pub(super) kernel: &'k Offloaded,
    nodes: Nodes<'k>,
    pub(super) layout: &'k ArgLayout,
    pub(super) form: Form,
    pub(super) code: Vec<Op>,
    pub(super) regs: Reg,
    consts: HashMap<u64, Reg>,
    locals: Vec<Option<Reg>>,
    /// The registers for temporaries. Those from `busy` on are free.
    pool: Vec<Reg>,
    busy: usize,
    /// For each expression, the last statement that computed it and the register.
    computed: Vec<(u64, Reg)>,
    pub(super) statement: u64,
    loops: Vec<PendingJumps>,
    /// The index of the current phase in `loops`.
    phase: Option<usize>,
    threads: u32,
    /// The register of the thread index in the current phase.
    thread: Reg,
    /// The first registers of the inputs of the current phase's collective, and of a shuffle's source lanes.
    inputs: [Reg; 2],
    /// The locals with a value per thread, and the first register of these values.
    per_thread: Vec<(LocalId, Reg)>,
    /// The first register and the extents of each constant shared array and each local array.
    pub(super) arrays: HashMap<LocalId, (Reg, Vec<u32>)>,
    /// The registers of each dynamic array, as [`Op::NewShared`] has them.
    pub(super) dynamic: HashMap<LocalId, Reg>,
    pub(super) schedule: &'k TaskSchedule,
    /// The partial results of reductions and of the privatized tensor.
    pub(super) partials: Vec<PartialResult<'k>>,
    /// In a speculative run, the register that records a failed check.
    speculative: Option<Reg>,
}

/// The address of an element.
enum Address {
    /// In a tensor, by the linear index.
    Linear(Reg, Reg, Size),
    /// In a tensor of scalars, by two indices.
    Dense(Reg, [Reg; 2], Size),
    /// In a constant shared array or a local array: its first register, its length and the register of the linear
    /// index.
    Shared(Reg, u32, Reg),
    /// In a dynamic array: its registers and the register of the linear index.
    Dynamic(Reg, Reg),
}

/// The jumps of a loop whose targets are not known yet.
#[derive(Default)]
struct PendingJumps {
    breaks: Vec<usize>,
    continues: Vec<usize>,
}

pub(super) const END: JumpTarget = JumpTarget::MAX;

pub(crate) fn compile(
    kernel: &Offloaded,
    layout: &ArgLayout,
    task: &Task,
    part: CodePart<'_>,
) -> Code {
    compile_with_locals(kernel, layout, task, part).0
}

/// Also returns the registers of the locals.
fn compile_with_locals(
    kernel: &Offloaded,
    layout: &ArgLayout,
    task: &Task,
    part: CodePart<'_>,
) -> (Code, Vec<Option<Reg>>) {
    let form = if let CodePart::Whole(form) = part { form } else { Form::Proven };
    let mut compiler = Compiler {
        kernel,
        nodes: kernel.into(),
        layout,
        form,
        code: Vec::new(),
        regs: layout.len() as Reg,
        consts: HashMap::new(),
        locals: vec![None; kernel.locals.len()],
        pool: Vec::new(),
        busy: 0,
        computed: vec![(0, 0); kernel.exprs.len()],
        statement: 0,
        loops: Vec::new(),
        phase: None,
        threads: task.kind.threads().unwrap_or(1),
        thread: 0,
        inputs: [0; 2],
        per_thread: Vec::new(),
        arrays: HashMap::new(),
        dynamic: HashMap::new(),
        schedule: &task.schedule,
        partials: Vec::new(),
        speculative: None,
    };
    for stmt in &kernel.blocks[task.prelude].stmts {
        match (part, stmt) {
            (CodePart::Bounds(needed) | CodePart::Locals(needed), Stmt::Let { local, .. })
                if !needed[local.index()] => {}
            _ => compiler.stmt(stmt),
        }
    }
    let dims = task.kind.dims().filter(|_| !matches!(part, CodePart::Locals(_)));
    let dims = dims.map(|dims| dims.iter().map(|dim| compiler.dim(dim)).collect());
    let prelude = std::mem::take(&mut compiler.code);
    let mut threads = Threads { coarsening: 1, ..Threads::default() };
    let mut body = Vec::new();
    if matches!(part, CodePart::Whole(_)) {
        compiler.begin_partials();
        threads.first = compiler.regs as usize;
        for stmt in &kernel.blocks[task.body].stmts {
            compiler.stmt(stmt);
            threads.statements.push(compiler.code.len());
        }
        body = std::mem::take(&mut compiler.code);
        threads.coarsening = task.schedule.coarsening.max(1) as usize;
        threads.finish = compiler.end_partials();
    }
    let locals = compiler.locals.clone();
    let bounds_site = task.kind.bounds_site();
    (Code { bounds_site, threads, body, ..compiler.finish(prelude, dims) }, locals)
}

/// The code of the prelude locals that are marked, and the registers of all locals that it computes.
pub(crate) fn compile_locals(
    kernel: &Offloaded,
    layout: &ArgLayout,
    task: &Task,
    needed: &[bool],
) -> (Code, Vec<Option<Reg>>) {
    compile_with_locals(kernel, layout, task, CodePart::Locals(needed))
}

impl Compiler<'_> {
    fn finish(self, prelude: Vec<Op>, dims: Option<Vec<DimRegs>>) -> Code {
        let masks = self.kernel.params.iter().enumerate().filter_map(|(i, param)| {
            let ParamKind::Scalar(ty) = param.kind else { return None };
            let mask = Const::from_bits(ty, u64::MAX).bits();
            (mask != u64::MAX).then(|| (self.layout.word(ParamId::new(i as u32)) as Reg, mask))
        });
        let mut start = vec![0; self.regs as usize];
        for (bits, reg) in self.consts {
            start[reg as usize] = bits;
        }
        for partial in &self.partials {
            partial.initialize(&mut start);
        }
        let (masks, threads) = (masks.collect(), Threads::default());
        Code { start, masks, prelude, dims, bounds_site: None, body: self.code, threads }
    }

    fn dim(&mut self, dim: &LoopDim) -> DimRegs {
        self.statement += 1;
        let (begin, end) = (self.stable(dim.begin), self.stable(dim.end));
        let var = self.local(dim.var);
        DimRegs { ty: self.nodes.locals[dim.var].ty, var, begin, end }
    }

    fn block(&mut self, block: BlockId) {
        for stmt in &self.nodes.blocks[block].stmts {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        let busy = self.busy;
        self.statement += 1;
        match *stmt {
            Stmt::Let { local, value } | Stmt::Assign { local, value } => {
                let to = self.local(local);
                self.root(value, Some(to));
            }
            Stmt::Eval { value } => self.root(value, None),
            Stmt::Store { ref element, value } => {
                let value = self.value(value);
                let nothing = self.temporary();
                let op = match self.address(element, nothing) {
                    Address::Linear(tensor, at, size) => Op::Store1(value, tensor, at, size),
                    Address::Dense(tensor, [i, j], size) => Op::Store2(value, tensor, i, j, size),
                    Address::Shared(first, len, at) => Op::SharedStore(value, first, len, at),
                    Address::Dynamic(array, at) => Op::DynamicStore(value, array, at),
                };
                self.code.push(op);
            }
            Stmt::If { cond, then, otherwise } => self.branch(cond, then, otherwise),
            Stmt::For { var, begin, end, body, .. }
                if self.form == Form::Checked && self.schedule.speculated.contains(&body) =>
            {
                self.speculative_loop(var, [begin, end], body);
            }
            Stmt::For { var, begin, end, body, down, .. } => {
                self.for_loop(var, [begin, end], body, down);
            }
            Stmt::Loop { body } => self.loop_body(body, Op::Back(self.here())),
            Stmt::Break | Stmt::Continue => {
                let at = self.jump();
                if let Some(PendingJumps { breaks, continues }) = self.loops.last_mut() {
                    if matches!(stmt, Stmt::Break) { breaks } else { continues }.push(at);
                }
            }
            Stmt::Shared { .. } => {
                if let Some((array, dims)) = stmt.shared_extents() {
                    self.shared_array(array, &dims);
                }
            }
            Stmt::Array { array, len } => {
                let first = self.array(len);
                self.arrays.insert(array, (first, vec![len]));
            }
            Stmt::Phase { var, body, collective } => self.run_phase(var, body, collective),
            Stmt::CollectiveInput { value, from } => {
                let [first, lanes] = self.inputs;
                let value = self.value(value);
                self.code.push(Op::SharedStore(value, first, self.threads, self.thread));
                if let Some(from) = from {
                    let from = self.value(from);
                    self.code.push(Op::SharedStore(from, lanes, self.threads, self.thread));
                }
            }
            Stmt::Assert { cond, site, ref values } => {
                let cond = self.value(cond);
                let (first, count) = self.consecutive_values(values);
                self.code.push(Op::Assert { cond, site: site.raw(), first, count, to: END });
                let failed = self.code.len() - 1;
                // In a phase, a failed assertion ends the phase for this thread only.
                if let Some(phase) = self.phase {
                    self.loops[phase].continues.push(failed);
                }
            }
            Stmt::Print { site, ref values } => {
                let (first, count) = self.consecutive_values(values);
                self.code.push(Op::Print { site: site.raw(), first, count });
            }
            // Interpretation is sequential, and offloading removes `Combine`.
            Stmt::Reduce { .. } => {}
            Stmt::ReduceTemp { temp, op, value } => self.combine_word(temp, op, value),
            Stmt::SetTemp { temp, value } => self.store_word(abi::temp_word(temp), value),
            Stmt::SetResult { at, value } => {
                self.store_word(abi::result_word(self.kernel) + at as usize, value);
            }
        }
        self.busy = busy;
    }

    /// Combines into the first bytes of a temporary's word. The others are zero.
    fn combine_word(&mut self, temp: TempId, op: AtomicOp, value: ExprId) {
        let ty = self.kernel.exprs[value].ty;
        let value = self.value(value);
        let values_per_word = 8 / ty.size();
        let index = self.constant((abi::temp_word(temp) * values_per_word) as u64);
        let old = self.temporary();
        if self.combine_partially(&ReductionTarget::Temp(temp), value) {
            return;
        }
        let base = TEMPORARIES_WORD as Reg;
        self.code.push(Op::Atomic(old, base, index, value, select::combine(op, ty)));
    }

    fn store_word(&mut self, word: usize, value: ExprId) {
        let value = self.value(value);
        self.code.push(Op::StoreWord(value, TEMPORARIES_WORD as Reg, word as u32));
    }

    fn branch(&mut self, cond: ExprId, then: BlockId, otherwise: BlockId) {
        let empty = |block| self.nodes.blocks[block].stmts.is_empty();
        let (no_then, no_otherwise) = (empty(then), empty(otherwise));
        let over = self.jump_when(cond, no_then);
        self.block(if no_then { otherwise } else { then });
        if no_then || no_otherwise {
            return self.patch_jumps(&[over]);
        }
        let out = self.jump();
        self.patch_jumps(&[over]);
        self.block(otherwise);
        self.patch_jumps(&[out]);
    }

    /// Compiles a loop that runs without reports first. If a check failed, it runs again from the saved values.
    fn speculative_loop(&mut self, var: LocalId, bounds: [ExprId; 2], body: BlockId) {
        let [zero, failed] = [self.constant(0), self.register()];
        self.code.push(Op::Move(failed, zero));
        let mut saved = Vec::new();
        for local in assigned_outer_locals(self.nodes.blocks, body) {
            let (now, before) = (self.local(local), self.register());
            self.code.push(Op::Move(before, now));
            saved.push((now, before));
        }
        self.speculative = Some(failed);
        self.for_loop(var, bounds, body, false);
        self.speculative = None;
        let over = self.code.len();
        self.code.push(Op::Unless(failed, END));
        self.code.extend(saved.into_iter().map(|(now, before)| Op::Move(now, before)));
        // What the first run has computed may have been computed from values that it has changed since.
        self.statement += 1;
        self.for_loop(var, bounds, body, false);
        self.patch_jumps(&[over]);
    }

    /// The site of a check.
    pub(super) fn site(&self, site: SiteId) -> u32 {
        self.speculative.map_or(site.raw(), |failed| SPECULATIVE | failed)
    }

    fn for_loop(&mut self, var: LocalId, [begin, end]: [ExprId; 2], body: BlockId, down: bool) {
        let ty = self.nodes.locals[var].ty;
        let end = self.stable(end);
        let value = self.local(var);
        // A loop that counts down has an upward counter: the value is as far from the end as the counter is from the
        // begin.
        let var = if down { self.temporary() } else { value };
        self.compute_into(begin, var);
        let sum = self.temporary();
        if down {
            self.code.push(select::binary(BinaryOp::Add, ty)(sum, var, end));
            let one = self.constant(Const::from_bits(ty, 1).bits());
            self.code.push(select::binary(BinaryOp::Sub, ty)(sum, sum, one));
        }
        let less = select::compare(BinaryOp::Lt, ty);
        let over = self.code.len();
        self.code.push((less.jump_unless)(var, end, END));
        let start = self.here();
        if down {
            self.code.push(select::binary(BinaryOp::Sub, ty)(value, sum, var));
        }
        self.loop_body(body, select::next(ty)(var, end, start));
        self.patch_jumps(&[over]);
    }

    /// Runs the threads of a block one after another.
    fn run_phase(&mut self, var: LocalId, body: BlockId, collective: Option<BlockCollective>) {
        let var = self.local(var);
        self.thread = var;
        if let Some(BlockCollective { op, .. }) = collective {
            let values = [true, op == CollectiveOp::Shuffle];
            self.inputs = values.map(|wanted| if wanted { self.array(self.threads) } else { 0 });
        }
        let (zero, end) = (self.constant(0), self.constant(u64::from(self.threads)));
        self.code.push(Op::Move(var, zero));
        let start = self.here();
        self.phase = Some(self.loops.len());
        for (local, first) in self.per_thread.clone() {
            let to = self.local(local);
            self.code.push(Op::SharedLoad(to, first, self.threads, var));
        }
        self.loop_body(body, select::next(ScalarType::U64)(var, end, start));
        self.phase = None;
        let Some(BlockCollective { op, local }) = collective else { return };
        let ([first, from], len, to) = (self.inputs, self.threads, self.local(local));
        let ty = self.nodes.locals[local].ty;
        self.code.push(match op {
            CollectiveOp::Reduce(op) => {
                Op::Reduce { to, first, len, combine: select::reduce(op, ty) }
            }
            CollectiveOp::Scan { op, exclusive } => {
                let combine = select::reduce(op, ty);
                Op::Scan { first, len, combine, exclusive }
            }
            CollectiveOp::Shuffle => Op::Shuffle { first, len, from },
            CollectiveOp::Ballot => Op::Ballot { first, len },
        });
        if !op.is_uniform() {
            self.per_thread.push((local, first));
        }
    }

    /// Allocates zeroed registers for an array of the block.
    pub(super) fn array(&mut self, len: u32) -> Reg {
        let first = self.regs;
        self.regs += len;
        self.code.push(Op::Clear { first, len });
        first
    }

    /// Compiles the body of a loop, and `repeat`, which jumps back to its start.
    fn loop_body(&mut self, body: BlockId, repeat: Op) {
        self.loops.push(PendingJumps::default());
        self.block(body);
        let PendingJumps { breaks, continues } = self.loops.pop().unwrap_or_default();
        self.patch_jumps(&continues);
        self.code.push(repeat);
        self.patch_jumps(&breaks);
    }

    /// Emits a jump that is taken if `cond` has the value `when`. Returns its position, for
    /// [`patch_jumps`](Self::patch_jumps).
    fn jump_when(&mut self, cond: ExprId, when: bool) -> usize {
        match self.nodes.exprs[cond].kind {
            ExprKind::Unary { op: UnaryOp::Not, value } => return self.jump_when(value, !when),
            ExprKind::Binary { op, lhs, rhs } if op.is_comparison() => {
                let compare = select::compare(op, self.nodes.exprs[lhs].ty);
                let (lhs, rhs) = (self.value(lhs), self.value(rhs));
                let (a, b) = if compare.swap { (rhs, lhs) } else { (lhs, rhs) };
                let make = if when { compare.jump_if } else { compare.jump_unless };
                self.code.push(make(a, b, END));
            }
            _ => {
                let cond = self.value(cond);
                self.code.push(if when { Op::If(cond, END) } else { Op::Unless(cond, END) });
            }
        }
        self.code.len() - 1
    }

    pub(super) fn jump(&mut self) -> usize {
        self.code.push(Op::Jump(END));
        self.code.len() - 1
    }

    /// Sets the target of these jumps to the current position.
    pub(super) fn patch_jumps(&mut self, jumps: &[usize]) {
        let here = self.here();
        for &at in jumps {
            self.code[at].set_target(here);
        }
    }

    fn here(&self) -> JumpTarget {
        self.code.len() as JumpTarget
    }

    /// Copies values to new registers in a row. Returns the first register and the number of values.
    fn consecutive_values(&mut self, values: &[ExprId]) -> (Reg, u32) {
        let count = values.len() as u32;
        let values: Vec<Reg> = values.iter().map(|value| self.value(*value)).collect();
        let first = self.consecutive(count);
        for (at, value) in values.into_iter().enumerate() {
            self.code.push(Op::Move(first + at as Reg, value));
        }
        (first, count)
    }

    /// New registers in a row; returns the first.
    pub(super) fn consecutive(&mut self, len: u32) -> Reg {
        self.regs += len;
        self.regs - len
    }

    fn register(&mut self) -> Reg {
        self.regs += 1;
        self.regs - 1
    }

    pub(super) fn local(&mut self, local: LocalId) -> Reg {
        if let Some(reg) = self.locals[local.index()] {
            return reg;
        }
        let reg = self.register();
        self.locals[local.index()] = Some(reg);
        reg
    }

    pub(super) fn constant(&mut self, bits: u64) -> Reg {
        if let Some(reg) = self.consts.get(&bits) {
            return *reg;
        }
        let reg = self.register();
        self.consts.insert(bits, reg);
        reg
    }

    pub(super) fn temporary(&mut self) -> Reg {
        if self.busy == self.pool.len() {
            let reg = self.register();
            self.pool.push(reg);
        }
        self.busy += 1;
        self.pool[self.busy - 1]
    }

    /// A register with the value that no later statement changes.
    fn stable(&mut self, value: ExprId) -> Reg {
        let reg = self.value(value);
        let changes =
            |(id, local): (LocalId, &Local)| local.mutable && self.locals[id.index()] == Some(reg);
        if !self.nodes.locals.iter().any(changes) {
            return reg;
        }
        let to = self.temporary();
        self.code.push(Op::Move(to, reg));
        to
    }

    /// Computes the root expression of a statement, which may have a side effect.
    fn root(&mut self, value: ExprId, to: Option<Reg>) {
        let expr = &self.nodes.exprs[value];
        if !expr.kind.is_effect() {
            if let Some(to) = to {
                self.compute_into(value, to);
            }
            return;
        }
        let to = to.unwrap_or_else(|| self.temporary());
        match expr.kind {
            ExprKind::Load(ref element) => {
                let op = match self.address(element, to) {
                    Address::Linear(tensor, at, size) => Op::Load1(to, tensor, at, size),
                    Address::Dense(tensor, [i, j], size) => Op::Load2(to, tensor, i, j, size),
                    Address::Shared(first, len, at) => Op::SharedLoad(to, first, len, at),
                    Address::Dynamic(array, at) => Op::DynamicLoad(to, array, at),
                };
                self.code.push(op);
            }
            ExprKind::Atomic { op, ref element, expected, value } => {
                let expected = expected.map(|expected| self.value(expected));
                let value = self.value(value);
                let combine = select::combine(op, expr.ty);
                let indices = self.index(element);
                if self.reduce(element, &indices, value) {
                    return;
                }
                let op = match element.array {
                    Array::Tensor(param) => {
                        let index = self.element(param, &indices);
                        let tensor = self.tensor(param);
                        self.check(tensor, &indices, to, element.site);
                        match expected {
                            Some(expected) => {
                                Op::CompareExchange { to, tensor, index, expected, value, combine }
                            }
                            None => Op::Atomic(to, tensor, index, value, combine),
                        }
                    }
                    Array::Shared(_) | Array::Local(_) => {
                        self.shared_atomic(element, &indices, to, (combine, expected, value))
                    }
                };
                self.code.push(op);
            }
            ExprKind::DivRem { op, lhs, rhs, site } => {
                let (lhs, rhs) = (self.value(lhs), self.value(rhs));
                self.code.push(select::divide(op, expr.ty)(to, lhs, rhs, site.raw()));
            }
            _ => {}
        }
    }

    pub(super) fn tensor(&self, tensor: ParamId) -> Reg {
        self.layout.word(tensor) as Reg
    }

    fn size(&self, tensor: ParamId) -> Size {
        match self.kernel.params[tensor.index()].kind {
            ParamKind::Tensor { elem, .. }
            | ParamKind::Component { elem, .. }
            | ParamKind::Scalar(elem) => Size::of(elem),
        }
    }

    fn index(&mut self, element: &Element) -> Vec<Reg> {
        element.index.iter().map(|index| self.value(*index)).collect()
    }

    /// The place of an element. In the checked form: skips the next operation and clears the register `clear` if an
    /// index is out of range.
    fn address(&mut self, element: &Element, clear: Reg) -> Address {
        let index = self.index(element);
        let param = match element.array {
            Array::Tensor(param) => param,
            Array::Shared(_) | Array::Local(_) => {
                if let Some((array, at)) = self.dynamic(element, &index, clear) {
                    return Address::Dynamic(array, at);
                }
                let (first, len, at) = self.shared(element, &index, clear);
                return Address::Shared(first, len, at);
            }
        };
        let (tensor, size) = (self.tensor(param), self.size(param));
        let place = match index[..] {
            [i, j] if self.is_dense(param) => Address::Dense(tensor, [i, j], size),
            _ => Address::Linear(tensor, self.element(param, &index), size),
        };
        self.check(tensor, &index, clear, element.site);
        place
    }

    /// In the checked form: skips the next operation if an index is out of range.
    pub(super) fn check(&mut self, tensor: Reg, index: &[Reg], clear: Reg, site: SiteId) {
        if self.form == Form::Proven {
            return;
        }
        let site = self.site(site);
        let op = match *index {
            [i, j] => Op::Check2 { tensor, index: [i, j], clear, site },
            [i, j, k] => Op::Check3 { tensor, index: [i, j, k], clear, site },
            [i] => Op::Check1 { tensor, index: [i], clear, site },
            [] => return,
            _ => {
                let regs: Vec<Reg> = index.iter().map(|_| self.register()).collect();
                let moves = regs.iter().zip(index).map(|(to, from)| Op::Move(*to, *from));
                self.code.extend(moves);
                Op::CheckMore { tensor, first: regs[0], rank: index.len() as u8, clear, site }
            }
        };
        self.code.push(op);
    }

    /// The register of a pure value. Computes the value unless the statement already has.
    pub(super) fn value(&mut self, value: ExprId) -> Reg {
        match self.nodes.exprs[value].kind {
            ExprKind::Const(constant) => return self.constant(constant.bits()),
            ExprKind::Local(local) => return self.local(local),
            ExprKind::Param(param) => return self.layout.word(param) as Reg,
            ExprKind::Dim { tensor, axis } => return self.tensor(tensor) + 1 + Reg::from(axis),
            ExprKind::Bits { value: from } => return self.value(from),
            ExprKind::Cast { value: from } => {
                let types = (self.nodes.exprs[from].ty, self.nodes.exprs[value].ty);
                if select::cast(types.0, types.1).is_none() {
                    return self.value(from);
                }
            }
            _ => {}
        }
        let (statement, reg) = self.computed[value.index()];
        if statement == self.statement && statement != 0 {
            return reg;
        }
        let to = self.temporary();
        self.compute_into(value, to);
        self.computed[value.index()] = (self.statement, to);
        to
    }

    /// Computes a pure value into a register. The operands are read before it is written.
    fn compute_into(&mut self, value: ExprId, to: Reg) {
        let expr = &self.nodes.exprs[value];
        let ty = expr.ty;
        let op = match expr.kind {
            ExprKind::Temp(temp) => {
                let word = abi::temp_word(temp) as u32;
                Op::LoadWord(to, TEMPORARIES_WORD as Reg, word, Size::of(ty))
            }
            ExprKind::Unary { op, value } => select::unary(op, ty)(to, self.value(value)),
            ExprKind::Binary { op, lhs, rhs } if op.is_comparison() => {
                let compare = select::compare(op, self.nodes.exprs[lhs].ty);
                let (lhs, rhs) = (self.value(lhs), self.value(rhs));
                let (a, b) = if compare.swap { (rhs, lhs) } else { (lhs, rhs) };
                (compare.value)(to, a, b)
            }
            ExprKind::Binary { op: BinaryOp::Add, lhs, rhs } => self.sum(lhs, rhs, ty, to),
            ExprKind::Binary { op, lhs, rhs } => {
                select::binary(op, ty)(to, self.value(lhs), self.value(rhs))
            }
            ExprKind::Math { function, ref args } => match (function, &args[..]) {
                (MathFn::MulAdd, &[a, b, c]) => {
                    select::fused(ty)(to, self.value(a), self.value(b), self.value(c))
                }
                (_, &[a, b]) => select::math2(function, ty)(to, self.value(a), self.value(b)),
                _ => select::math1(function, ty).unwrap_or(Op::Move)(to, self.value(args[0])),
            },
            ExprKind::Cast { value } => {
                let make = select::cast(self.nodes.exprs[value].ty, ty).unwrap_or(Op::Move);
                make(to, self.value(value))
            }
            ExprKind::Bits { value } => Op::Move(to, self.value(value)),
            ExprKind::Select { cond, then, otherwise } => {
                let cond = self.value(cond);
                Op::Select(to, cond, self.value(then), self.value(otherwise))
            }
            _ => Op::Move(to, self.value(value)),
        };
        self.code.push(op);
    }

    /// Fuses a sum with a product that is one of its terms.
    fn sum(&mut self, lhs: ExprId, rhs: ExprId, ty: ScalarType, to: Reg) -> Op {
        for (product, other) in [(lhs, rhs), (rhs, lhs)] {
            let is_computed = self.computed[product.index()].0 == self.statement;
            if let ExprKind::Binary { op: BinaryOp::Mul, lhs: a, rhs: b } =
                self.nodes.exprs[product].kind
                && !is_computed
            {
                return select::mul_add(ty)(to, self.value(a), self.value(b), self.value(other));
            }
        }
        select::binary(BinaryOp::Add, ty)(to, self.value(lhs), self.value(rhs))
    }
}
