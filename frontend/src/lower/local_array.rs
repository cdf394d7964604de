//! Local arrays in the memory of a thread.
//!
//! A named value with a dynamic index that selects among many elements is not kept in registers: it becomes one
//! [`Stmt::Array`] per scalar type, and its scalars become elements of these arrays. Which values these are is known
//! only after their uses are lowered, so a kernel with such values is lowered again, with the [`ArrayPlan`] that the
//! previous pass has found. The passes number the values alike, because the numbers do not depend on the plan.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use quadrants_ir::{
    Array, BinaryOp, Element, ExprId, ExprKind as Ir, LocalId, ScalarType, SiteId, SiteKind,
    Stmt as IrStmt,
    types::{MAX_LEAVES, Type},
};

use super::{
    Lowerer, Result,
    aggregate::Place,
    scope::{Binding, Leaf, NamedValue, Value, ValueId},
};
use crate::syntax::{Expr, ExprKind, Span};

/// Maximum number of elements that a dynamic index selects among in registers. A read of 16 elements takes 15 selects
/// and a write 16, about as long as an access to local memory, and matrices of up to 4 × 4 numbers stay in registers.
pub(super) const MAX_REGISTER_ELEMENTS: usize = 16;

/// Where named values are stored.
#[derive(Clone, Default)]
pub(super) struct ArrayPlan {
    /// The ranges of scalars that are in local memory.
    memory: HashMap<ValueId, Vec<Range<usize>>>,
    /// The values that several tasks use. Local memory belongs to one task.
    in_several_tasks: HashSet<ValueId>,
    pub(super) has_changed: bool,
}

/// A scalar in local memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct LocalMemoryScalar {
    array: LocalId,
    /// The number of the element.
    at: usize,
    site: SiteId,
    mutable: bool,
    /// The task that defines the array.
    task: u32,
    value: ValueId,
}

impl ArrayPlan {
    /// The ranges of a value in local memory, in order and disjoint.
    fn ranges(&self, value: ValueId) -> Vec<Range<usize>> {
        let mut ranges = self.memory.get(&value).cloned().unwrap_or_default();
        ranges.sort_unstable_by_key(|range| (range.start, range.end));
        let mut merged: Vec<Range<usize>> = Vec::new();
        for range in ranges {
            match merged.last_mut() {
                Some(last) if range.start < last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        merged
    }

    pub(super) fn contains(&self, value: ValueId) -> bool {
        self.memory.contains_key(&value)
    }

    fn add(&mut self, value: ValueId, range: Range<usize>) {
        let ranges = self.memory.entry(value).or_default();
        if !ranges.contains(&range) {
            ranges.push(range);
            self.has_changed = true;
        }
    }

    fn keep_in_registers(&mut self, value: ValueId) {
        self.has_changed |= self.in_several_tasks.insert(value);
        self.memory.remove(&value);
    }
}

impl Lowerer {
    /// Whether a part of the next named value is in local memory.
    pub(super) fn next_is_in_memory(&self) -> bool {
        self.plan.memory.contains_key(&self.named_values.len())
    }

    /// Requests local memory for a range of a named value's scalars, which a dynamic index selects among, in the next
    /// pass. Returns whether the value can be in local memory.
    pub(super) fn request_memory(&mut self, value: ValueId, range: Range<usize>) -> bool {
        if !self.named_values[value].is_owned || self.plan.in_several_tasks.contains(&value) {
            return false;
        }
        self.found.add(value, range);
        true
    }

    /// Defines the arrays of the next named value, and returns its scalars in local memory.
    pub(super) fn memory_leaves(
        &mut self,
        name: &str,
        ty: Type,
        mutable: bool,
    ) -> HashMap<usize, LocalMemoryScalar> {
        let ranges = self.plan.ranges(self.named_values.len());
        self.define_arrays(name, ty, mutable, &ranges)
    }

    fn define_arrays(
        &mut self,
        name: &str,
        ty: Type,
        mutable: bool,
        ranges: &[Range<usize>],
    ) -> HashMap<usize, LocalMemoryScalar> {
        let types = ty.leaf_types();
        let mut leaves = HashMap::new();
        for range in ranges {
            let mut arrays: Vec<(ScalarType, Vec<usize>)> = Vec::new();
            for at in range.clone() {
                match arrays.iter_mut().find(|(ty, _)| *ty == types[at]) {
                    Some((_, scalars)) => scalars.push(at),
                    None => arrays.push((types[at], vec![at])),
                }
            }
            for (ty, scalars) in arrays {
                let len = u32::try_from(scalars.len()).unwrap_or(u32::MAX);
                let array = self.emit.local(name, ty, false);
                self.emit.stmt(IrStmt::Array { array, len });
                let kind = SiteKind::ArrayIndex { name: name.to_owned(), shape: vec![len] };
                // Accesses are not checked, so nothing reports this site.
                let site = self.add_site(kind, Span { line: 0, ..Span::default() });
                for (at, scalar) in scalars.into_iter().enumerate() {
                    let (task, value) = (self.task, self.named_values.len());
                    let leaf = LocalMemoryScalar { array, at, site, mutable, task, value };
                    leaves.insert(scalar, leaf);
                }
            }
        }
        leaves
    }

    /// Binds `[value; len]`, which may be nested. If it is in local memory, a loop fills it.
    pub(super) fn bind_repeated(
        &mut self,
        name: &str,
        mutable: bool,
        ty: Type,
        mut value: &Expr,
    ) -> Result<Binding> {
        let span = value.span;
        let (mut element, mut count) = (ty, 1);
        while let (Type::Array(inner, len), ExprKind::Repeat { value: of, .. }) =
            (element, &value.kind)
        {
            (element, value, count) = (*inner, of, count * len);
        }
        self.check_size(element, span)?;
        let value = self.value_as(value, element)?;
        let fixed: Vec<_> = value.leaves.iter().map(|leaf| self.emit.reuse(*leaf)).collect();
        let id = self.named_values.len();
        let all = 0..ty.leaves();
        let is_large = all.end > MAX_LEAVES && !self.plan.in_several_tasks.contains(&id);
        if count > 1 && (is_large || self.plan.ranges(id) == [all.clone()]) {
            let leaves = self.define_arrays(name, ty, mutable, std::slice::from_ref(&all));
            self.fill(&leaves, &fixed, count);
            let leaves = all.filter_map(|at| leaves.get(&at).copied().map(Leaf::Memory)).collect();
            return Ok(self.bind_named(NamedValue { ty, leaves, is_owned: true }));
        }
        self.check_size(ty, span)?;
        let mut leaves = Vec::with_capacity(fixed.len() * count);
        for _ in 0..count {
            leaves.extend(fixed.iter().map(|leaf| self.emit.copy(*leaf)));
        }
        Ok(self.name_value(name, Value { ty, leaves }, mutable))
    }

    /// Writes `count` copies of a value to new arrays, which are zero.
    fn fill(&mut self, leaves: &HashMap<usize, LocalMemoryScalar>, value: &[ExprId], count: usize) {
        let is_zero = |this: &Self, leaf: ExprId| matches!(this.emit.kind(leaf), Ir::Const(value) if value.bits() == 0);
        if value.iter().all(|leaf| is_zero(self, *leaf)) {
            return;
        }
        let begin = self.emit.constant(0u64);
        let end = self.emit.constant(count as u64);
        let var = self.emit.local("at", ScalarType::U64, false);
        self.emit.open();
        for (scalar, leaf) in value.iter().enumerate() {
            let (Some(first), Some(next)) =
                (leaves.get(&scalar), leaves.get(&(scalar + value.len())))
            else {
                continue;
            };
            let index = self.emit.read(var);
            let index = self.scaled(index, next.at - first.at, first.at);
            let value = self.emit.copy(*leaf);
            let element = memory_element(first, index);
            self.emit.stmt(IrStmt::Store { element, value });
        }
        let body = self.emit.close_block();
        self.emit.stmt(IrStmt::For { var, begin, end, body, unroll: None, down: false });
    }

    /// `index * by + add`.
    fn scaled(&mut self, mut index: ExprId, by: usize, add: usize) -> ExprId {
        if by != 1 {
            let by = self.emit.constant(by as u64);
            index = self.emit.binary(BinaryOp::Mul, index, by);
        }
        self.plus(index, add)
    }

    fn plus(&mut self, index: ExprId, add: usize) -> ExprId {
        if add == 0 {
            return index;
        }
        let add = self.emit.constant(add as u64);
        self.emit.binary(BinaryOp::Add, index, add)
    }

    /// Whether the code is in the task that defines the array; otherwise the next pass keeps the value in registers.
    fn is_in_task(&mut self, leaf: &LocalMemoryScalar) -> bool {
        if leaf.task != self.task {
            self.found.keep_in_registers(leaf.value);
        }
        leaf.task == self.task
    }

    pub(super) fn read_memory(&mut self, leaf: &LocalMemoryScalar) -> ExprId {
        let index = self.emit.constant(leaf.at as u64);
        self.load_memory(leaf, index)
    }

    fn load_memory(&mut self, leaf: &LocalMemoryScalar, index: ExprId) -> ExprId {
        let ty = self.emit.locals[leaf.array].ty;
        if !self.is_in_task(leaf) {
            return self.placeholder(ty);
        }
        self.emit.effect("element", ty, Ir::Load(memory_element(leaf, index)))
    }

    /// A value that another pass replaces.
    pub(super) fn placeholder(&mut self, ty: ScalarType) -> ExprId {
        let local = self.zeroed_locals("unknown", Type::Scalar(ty))[0];
        self.emit.read(local)
    }

    pub(super) fn write_memory(
        &mut self,
        leaf: &LocalMemoryScalar,
        value: ExprId,
        span: Span,
    ) -> Result<()> {
        let index = self.emit.constant(leaf.at as u64);
        self.store_memory(leaf, index, value, span)
    }

    fn store_memory(
        &mut self,
        leaf: &LocalMemoryScalar,
        index: ExprId,
        value: ExprId,
        span: Span,
    ) -> Result<()> {
        if !leaf.mutable {
            return Err(self.inconsistent(span, "this is not `mut` and cannot be assigned"));
        }
        if self.is_in_task(leaf) {
            let element = memory_element(leaf, index);
            self.emit.stmt(IrStmt::Store { element, value });
        }
        Ok(())
    }

    /// Writes the initial value of a scalar to an array, which is zero.
    pub(super) fn initialize_memory(&mut self, leaf: &LocalMemoryScalar, value: ExprId) {
        if !matches!(self.emit.kind(value), Ir::Const(value) if value.bits() == 0) {
            let index = self.emit.constant(leaf.at as u64);
            let element = memory_element(leaf, index);
            self.emit.stmt(IrStmt::Store { element, value });
        }
    }

    /// The memory of a scalar of a place with dynamic indices, and its element; `None` if the place is not in memory.
    fn memory_index(
        &mut self,
        place: &Place,
        scalar: usize,
    ) -> Option<(LocalMemoryScalar, ExprId)> {
        let first = place.first + scalar;
        let leaf = |this: &Self, at: usize| match this.named_values[place.value].leaves.get(at) {
            Some(Leaf::Memory(leaf)) => Some(*leaf),
            _ => None,
        };
        let memory = leaf(self, first)?;
        let mut strides = Vec::new();
        for index in &place.indices {
            let last = leaf(self, first + (index.extent - 1) * index.stride)?;
            if last.array != memory.array {
                return None;
            }
            strides.push((last.at - memory.at) / (index.extent - 1).max(1));
        }
        let mut sum = None;
        for (index, stride) in place.indices.iter().zip(strides) {
            let copy = self.emit.copy(index.value);
            let term = self.scaled(copy, stride, 0);
            sum = Some(match sum {
                Some(sum) => self.emit.binary(BinaryOp::Add, sum, term),
                None => term,
            });
        }
        let index = match sum {
            Some(sum) => self.plus(sum, memory.at),
            None => self.emit.constant(memory.at as u64),
        };
        Some((memory, index))
    }

    /// Reads a scalar of a place in local memory; `None` if it is not there.
    pub(super) fn read_place_memory(&mut self, place: &Place, scalar: usize) -> Option<ExprId> {
        let (leaf, index) = self.memory_index(place, scalar)?;
        Some(self.load_memory(&leaf, index))
    }

    /// Writes a scalar of a place in local memory. Returns false if it is not there.
    pub(super) fn write_place_memory(
        &mut self,
        place: &Place,
        scalar: usize,
        value: ExprId,
        span: Span,
    ) -> Result<bool> {
        let Some((leaf, index)) = self.memory_index(place, scalar) else { return Ok(false) };
        self.store_memory(&leaf, index, value, span)?;
        Ok(true)
    }

    /// Ends a task.
    pub(super) fn end_task(&mut self) {
        self.task += 1;
    }
}

fn memory_element(leaf: &LocalMemoryScalar, index: ExprId) -> Element {
    Element { array: Array::Local(leaf.array), index: vec![index], site: leaf.site }
}
