//! Counts what one iteration of a task does: bytes of tensors and operations.

use super::LaunchAnalysis;
use crate::{
    Array, BinaryOp, BlockId, DivRemOp, Element, ExprId, ExprKind, LocalId, MathFn, Offloaded,
    ScalarType, Stmt, TaskId, TaskKind, abi::ArgLayout,
};

/// What one iteration of a loop does, or one block of a grid, or the serial code of a task, as the code says: all
/// branches, and each trip of inner loops. Of a loop whose bounds only the device knows, one trip counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IterationWork {
    /// Bytes that are read from tensors. Caches may have some of them.
    pub read_bytes: u64,
    /// Bytes that are written to tensors.
    pub written_bytes: u64,
    /// Operations on `f32` and `f16`. A multiplication with an addition counts as two, every other function as one.
    pub float_operations: u64,
    /// Operations on `f64`, likewise.
    pub double_operations: u64,
    /// Operations on integers and bools.
    pub integer_operations: u64,
    /// Whether there is a loop of which one trip counts.
    pub has_open_loop: bool,
    /// Whether there is a loop over a range.
    pub has_loop: bool,
}

impl LaunchAnalysis {
    /// Counts the work of an iteration of a task in a launch with this argument block. Nothing for an argument block
    /// that is too short.
    #[must_use]
    pub fn work(&self, kernel: &Offloaded, id: TaskId, args: &[u64]) -> IterationWork {
        let Some(args) = args.get(..self.arguments) else { return IterationWork::default() };
        let layout = ArgLayout::new(&kernel.params);
        let task = &kernel.tasks[id.index()];
        let threads = match task.kind {
            TaskKind::BlockFor { threads, .. } => threads.into(),
            _ => 1,
        };
        let mut count = WorkCounter {
            kernel,
            layout,
            args,
            threads,
            values: vec![None; kernel.locals.len()],
            counted: vec![0; kernel.exprs.len()],
            stmts: 0,
            work: IterationWork::default(),
        };
        // The prelude runs once per thread; it defines what bounds of inner loops may use.
        count.block(task.prelude, 0);
        count.block(task.body, 1);
        count.work
    }
}

struct WorkCounter<'a> {
    kernel: &'a Offloaded,
    layout: ArgLayout,
    args: &'a [u64],
    /// The number of threads of a phase.
    threads: u64,
    /// The last statement that each expression was counted for: a statement evaluates it once.
    counted: Vec<u32>,
    stmts: u32,
    /// The values of immutable locals, where they are known.
    values: Vec<Option<i128>>,
    work: IterationWork,
}

impl WorkCounter<'_> {
    /// Counts a block that runs `times` times.
    fn block(&mut self, block: BlockId, times: u64) {
        for stmt in &self.kernel.blocks[block].stmts {
            self.stmts += 1;
            stmt.exprs().for_each(|value| self.expr(value, times));
            match stmt {
                Stmt::Let { local, value } => self.define(*local, *value),
                Stmt::Store { element, value } => {
                    let bytes = self.bytes(element, *value);
                    add(&mut self.work.written_bytes, times, bytes);
                }
                _ => {}
            }
            let trips = match stmt {
                Stmt::For { begin, end, .. } => self.trips(*begin, *end),
                Stmt::Loop { .. } => None,
                Stmt::Phase { .. } => Some(self.threads),
                _ => Some(1),
            };
            self.work.has_open_loop |= trips.is_none();
            self.work.has_loop |= matches!(stmt, Stmt::For { .. });
            for inner in stmt.blocks() {
                self.block(inner, times.saturating_mul(trips.unwrap_or(1)));
            }
        }
    }

    fn define(&mut self, local: LocalId, value: ExprId) {
        if !self.kernel.locals[local].mutable {
            self.values[local.index()] = self.value(value);
        }
    }

    fn trips(&self, begin: ExprId, end: ExprId) -> Option<u64> {
        let count = self.value(end)? - self.value(begin)?;
        u64::try_from(count.max(0)).ok()
    }

    /// The bytes of an element with the type of a value, if it is one of a tensor.
    fn bytes(&self, element: &Element, value: ExprId) -> u64 {
        match element.array {
            Array::Tensor(_) => self.kernel.exprs[value].ty.size() as u64,
            Array::Shared(_) | Array::Local(_) => 0,
        }
    }

    /// Counts an expression that is evaluated `times` times, with its operands.
    fn expr(&mut self, value: ExprId, times: u64) {
        if std::mem::replace(&mut self.counted[value.index()], self.stmts) == self.stmts {
            return;
        }
        let expr = &self.kernel.exprs[value];
        let mut ty = expr.ty;
        let operations = match &expr.kind {
            ExprKind::Const(_)
            | ExprKind::Local(_)
            | ExprKind::Param(_)
            | ExprKind::Dim { .. }
            | ExprKind::Temp(_)
            | ExprKind::Bits { .. } => 0,
            ExprKind::Load(element) => {
                let bytes = self.bytes(element, value);
                add(&mut self.work.read_bytes, times, bytes);
                0
            }
            ExprKind::Atomic { element, .. } => {
                let bytes = self.bytes(element, value);
                add(&mut self.work.read_bytes, times, bytes);
                add(&mut self.work.written_bytes, times, bytes);
                1
            }
            ExprKind::Math { function: MathFn::MulAdd, .. } => 2,
            ExprKind::Binary { lhs, .. } => {
                // Of a comparison, the type of the operands.
                ty = self.kernel.exprs[*lhs].ty;
                1
            }
            ExprKind::Unary { .. }
            | ExprKind::Math { .. }
            | ExprKind::Cast { .. }
            | ExprKind::Select { .. }
            | ExprKind::DivRem { .. } => 1,
        };
        let counter = match ty {
            ScalarType::F16 | ScalarType::F32 => &mut self.work.float_operations,
            ScalarType::F64 => &mut self.work.double_operations,
            _ => &mut self.work.integer_operations,
        };
        add(counter, times, operations);
        for operand in expr.kind.operands() {
            self.expr(operand, times);
        }
    }

    /// The value of an expression that the arguments determine, without wrapping.
    fn value(&self, value: ExprId) -> Option<i128> {
        let expr = &self.kernel.exprs[value];
        let number = |word: u64, ty: ScalarType| match ty {
            ScalarType::I32 => Some(i128::from(word as u32 as i32)),
            ScalarType::I64 => Some(i128::from(word as i64)),
            ScalarType::U32 => Some(i128::from(word as u32)),
            ScalarType::U64 => Some(i128::from(word)),
            _ => None,
        };
        match &expr.kind {
            ExprKind::Const(value) => number(value.bits(), expr.ty),
            ExprKind::Local(local) => self.values[local.index()],
            ExprKind::Param(param) => number(self.args[self.layout.word(*param)], expr.ty),
            ExprKind::Dim { tensor, axis } => {
                let word = self.layout.word(*tensor) + 1 + usize::from(*axis);
                Some(i128::from(self.args[word]))
            }
            ExprKind::Cast { value } => self.value(*value),
            ExprKind::Binary { op, lhs, rhs } => {
                let (lhs, rhs) = (self.value(*lhs)?, self.value(*rhs)?);
                match op {
                    BinaryOp::Add => lhs.checked_add(rhs),
                    BinaryOp::Sub => lhs.checked_sub(rhs),
                    BinaryOp::Mul => lhs.checked_mul(rhs),
                    _ => None,
                }
            }
            ExprKind::DivRem { op, lhs, rhs, .. } => {
                let (lhs, rhs) = (self.value(*lhs)?, self.value(*rhs)?);
                match op {
                    DivRemOp::Div => lhs.checked_div(rhs),
                    DivRemOp::Rem => lhs.checked_rem(rhs),
                }
            }
            _ => None,
        }
    }
}

fn add(counter: &mut u64, times: u64, each: u64) {
    *counter = counter.saturating_add(times.saturating_mul(each));
}
