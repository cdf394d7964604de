//! Aggregates: tuples, arrays, structs, vectors and matrices. The IR has only scalars, so an aggregate is lowered to
//! one expression per scalar, and its name to one local per scalar.
//!
//! An index that is not constant selects among the elements: a read is a tree of selects, a write an assignment to
//! each element that changes only one. If a loop with constant bounds is unrolled, the compiler folds both. A value
//! with many elements is in [local memory](super::local_array) instead.

use std::ops::Range;

use quadrants_ir::{
    BinaryOp, Const, ExprId, ExprKind as Ir, LocalId, ScalarType, SiteKind, Stmt, types::Type,
};

use super::{
    Lowerer, Result,
    local_array::MAX_REGISTER_ELEMENTS,
    method::composite_type,
    scope::{Binding, Leaf, NamedValue, Scalar, Value, ValueId},
};
use crate::{
    syntax::{Expr, ExprKind, Pattern, Span},
    visit::assigns,
};

/// Maximum number of elements of a value in registers with an index that is not constant.
const MAX_SELECT_ELEMENTS: usize = 256;

/// A part of an aggregate that has a name.
pub(super) struct Place {
    pub(super) value: ValueId,
    pub(super) ty: Type,
    /// The first scalar of the part if all indices are 0.
    pub(super) first: usize,
    pub(super) indices: Vec<DynamicIndex>,
    /// The scalars that the indices select among; empty if there are none.
    range: Range<usize>,
}

/// An index that is not constant.
pub(super) struct DynamicIndex {
    pub(super) value: ExprId,
    pub(super) extent: usize,
    /// The number of scalars from one element to the next.
    pub(super) stride: usize,
}

/// An index that is in range, or checked by an assertion.
pub(super) enum CheckedIndex {
    Constant(usize),
    Value(ExprId),
}

impl Place {
    fn whole(value: ValueId, ty: Type) -> Self {
        Self { value, ty, first: 0, indices: Vec::new(), range: 0..0 }
    }

    /// The number of elements that the indices select among.
    fn elements(&self) -> usize {
        self.indices.iter().map(|index| index.extent).fold(1, usize::saturating_mul)
    }
}

impl Lowerer {
    /// Lowers `expr`, which must be of type `ty`.
    pub(super) fn value_as(&mut self, expr: &Expr, ty: Type) -> Result<Value> {
        let value = self.value(expr, Some(ty))?;
        self.check_same_type(value.ty, ty, expr.span)?;
        Ok(value)
    }

    /// Lowers expressions in Rust's evaluation order, each with its type.
    pub(super) fn values(&mut self, list: &[(&Expr, Type)]) -> Result<Vec<Value>> {
        let mut values = Vec::with_capacity(list.len());
        for (at, (expr, ty)) in list.iter().enumerate() {
            let mut value = self.value_as(expr, *ty)?;
            let assigned_later = list[at + 1..].iter().any(|(later, _)| assigns(later));
            for leaf in &mut value.leaves {
                *leaf = self.emit.limit_depth(*leaf);
                if assigned_later {
                    *leaf = self.emit.snapshot(*leaf);
                }
            }
            values.push(value);
        }
        Ok(values)
    }

    /// Lowers `expr` of any type.
    pub(super) fn value(&mut self, expr: &Expr, expected: Option<Type>) -> Result<Value> {
        let span = expr.span;
        match &expr.kind {
            ExprKind::If { cond, then, otherwise } => {
                let ty = self.infer_type(expr).or(expected);
                let ty = ty.unwrap_or_else(|| Type::Scalar(self.default_type(expr)));
                match otherwise {
                    Some(otherwise) => self.if_value(cond, then, otherwise, ty),
                    None => Err(self.inconsistent(span, "an `if` with a value needs an `else`")),
                }
            }
            ExprKind::Block(block) => self.block_value(block, expected, span),
            ExprKind::Loop { ty, body, label } => {
                self.loop_value(*ty, body, label.as_deref(), span)
            }
            ExprKind::Unsafe(block) => {
                self.in_unsafe(|this| this.block_value(block, expected, span))
            }
            ExprKind::Call { func, args, .. } => match self.call(*func, args, span)? {
                Some(value) => Ok(value),
                None => Err(self.inconsistent(span, "this func returns no value")),
            },
            ExprKind::Name(name) => match self.frame.lookup(name) {
                Some(Binding::Value(value)) => {
                    let named = self.named_values[value].clone();
                    self.check_size(named.ty, span)?;
                    Ok(Value { ty: named.ty, leaves: self.read_named(&named) })
                }
                _ => self.scalar_value(expr, expected),
            },
            ExprKind::Const(ix) => self.table_constant(*ix, span),
            ExprKind::Aggregate { ty, parts } => {
                let ty = self.type_at(*ty, span)?;
                self.aggregate(ty, parts, span)
            }
            ExprKind::Struct { ty, fields, base } => {
                let ty = self.type_at(*ty, span)?;
                self.struct_literal(ty, fields, base.as_deref(), span)
            }
            ExprKind::Repeat { ty, value } => {
                let ty = self.type_at(*ty, span)?;
                self.repeat(ty, value, span)
            }
            ExprKind::Associated { ty, name, args, .. } => {
                let ty = self.type_at(*ty, span)?;
                self.associated(ty, name, args, span)
            }
            ExprKind::Field { .. } | ExprKind::Element { .. } => self.part_value(expr),
            ExprKind::Index { base, .. } if self.names_aggregate(base) => self.part_value(expr),
            ExprKind::Method { receiver, name, args, .. } => match self.infer_type(receiver) {
                Some(ty) if ty.scalar().is_none() => {
                    self.aggregate_method(receiver, ty, name, args, expected, span)
                }
                Some(Type::Scalar(scalar)) if let Some(ty) = composite_type(name, scalar) => {
                    self.composite_method(receiver, (scalar, ty), args, span)
                }
                _ => self.scalar_value(expr, expected),
            },
            ExprKind::Binary { op, lhs, rhs }
                if self.is_aggregate(lhs) || self.is_aggregate(rhs) =>
            {
                self.aggregate_binary(*op, lhs, rhs, span)
            }
            ExprKind::Unary { op, value } if self.is_aggregate(value) => {
                let value = self.value(value, expected)?;
                self.negate(*op, value, span)
            }
            _ => self.scalar_value(expr, expected),
        }
    }

    fn scalar_value(&mut self, expr: &Expr, expected: Option<Type>) -> Result<Value> {
        let value = self.scalar(expr, expected.and_then(Type::scalar))?;
        Ok(Value::scalar(self.emit.ty(value), value))
    }

    /// The scalar of a value, which must be one.
    pub(super) fn single_scalar(&self, value: &Value, span: Span) -> Result<ExprId> {
        match (value.ty, &value.leaves[..]) {
            (Type::Scalar(_), [value]) => Ok(*value),
            (ty, _) => Err(self.inconsistent(span, format!("expected a number, found {ty}"))),
        }
    }

    pub(super) fn check_same_type(&self, found: Type, wanted: Type, span: Span) -> Result<()> {
        if found == wanted {
            Ok(())
        } else {
            Err(self.inconsistent(span, format!("expected {wanted}, found {found}")))
        }
    }

    pub(super) fn is_aggregate(&self, expr: &Expr) -> bool {
        self.infer_type(expr).is_some_and(|ty| ty.scalar().is_none())
    }

    /// Defines locals for a value; returns the binding of its name.
    pub(super) fn name_value(&mut self, name: &str, value: Value, mutable: bool) -> Binding {
        if let (Type::Scalar(_), [value]) = (value.ty, &value.leaves[..]) {
            return Binding::Local(self.emit.define(name, *value, mutable));
        }
        let mut names = Vec::with_capacity(value.leaves.len());
        value.ty.each_leaf(name, &mut |name, _| names.push(name.to_owned()));
        let memory = self.memory_leaves(name, value.ty, mutable);
        let mut leaves = Vec::with_capacity(value.leaves.len());
        for (at, (value, name)) in value.leaves.iter().zip(names).enumerate() {
            leaves.push(match (memory.get(&at), self.emit.kind(*value)) {
                (Some(leaf), _) => {
                    self.initialize_memory(leaf, *value);
                    Leaf::Memory(*leaf)
                }
                (None, Ir::Const(value)) if !mutable => Leaf::Scalar(Scalar::Const(*value)),
                (None, _) => Leaf::Local(self.emit.define(&name, *value, mutable)),
            });
        }
        self.bind_named(NamedValue { ty: value.ty, leaves, is_owned: true })
    }

    pub(super) fn bind_named(&mut self, named: NamedValue) -> Binding {
        match (named.ty, &named.leaves[..]) {
            (Type::Scalar(_), [Leaf::Scalar(scalar)]) => return Binding::Scalar(*scalar),
            (Type::Scalar(_), [Leaf::Local(local)]) => return Binding::Local(*local),
            _ => {}
        }
        self.named_values.push(named);
        Binding::Value(self.named_values.len() - 1)
    }

    /// Defines mutable locals for a value of `ty`, initially zero.
    pub(super) fn zeroed_locals(&mut self, name: &str, ty: Type) -> Vec<LocalId> {
        let mut leaves = Vec::new();
        ty.each_leaf(name, &mut |name, ty| leaves.push((name.to_owned(), ty)));
        let mut local = |(name, ty): (String, ScalarType)| {
            let zero = self.emit.constant(Const::from_bits(ty, 0));
            self.emit.define(&name, zero, true)
        };
        leaves.drain(..).map(&mut local).collect()
    }

    pub(super) fn read_locals(&mut self, ty: Type, locals: &[LocalId]) -> Value {
        Value { ty, leaves: locals.iter().map(|local| self.emit.read(*local)).collect() }
    }

    /// Assigns a value's scalars to locals. The value must not read them.
    pub(super) fn assign_locals(&mut self, locals: &[LocalId], value: &Value) {
        for (local, value) in locals.iter().zip(&value.leaves) {
            self.emit.assign(*local, *value);
        }
    }

    pub(super) fn read_named(&mut self, named: &NamedValue) -> Vec<ExprId> {
        named.leaves.iter().map(|leaf| self.read_leaf(*leaf)).collect()
    }

    fn read_leaf(&mut self, leaf: Leaf) -> ExprId {
        match leaf {
            Leaf::Local(local) => self.emit.read(local),
            Leaf::Scalar(Scalar::Param(param, ty)) => self.emit.param(param, ty),
            Leaf::Scalar(Scalar::Const(value)) => self.emit.constant(value),
            Leaf::Memory(leaf) => self.read_memory(&leaf),
        }
    }

    fn aggregate(&mut self, ty: Type, parts: &[Expr], span: Span) -> Result<Value> {
        // `Vector([a, b])`: made from an array.
        if let (Type::Vector(..) | Type::Matrix(..), [array]) = (ty, parts) {
            let value = self.value(array, None)?;
            if value.ty.leaf_types() != ty.leaf_types() {
                self.check_same_type(value.ty, ty, span)?;
            }
            return Ok(Value { ty, leaves: value.leaves });
        }
        let Some(wanted) = part_types(ty) else {
            return Err(self.inconsistent(span, format!("{ty} has no such parts")));
        };
        if wanted.len() != parts.len() {
            return Err(self.inconsistent(span, format!("{ty} has {} parts", wanted.len())));
        }
        let list: Vec<_> = parts.iter().zip(wanted).collect();
        let values = self.values(&list)?;
        Ok(Value { ty, leaves: values.into_iter().flat_map(|value| value.leaves).collect() })
    }

    fn struct_literal(
        &mut self,
        ty: Type,
        fields: &[(String, Expr)],
        base: Option<&Expr>,
        span: Span,
    ) -> Result<Value> {
        let mut list = Vec::with_capacity(fields.len());
        let mut firsts = Vec::with_capacity(fields.len());
        for (name, value) in fields {
            let Some((of_field, first)) = ty.field(name) else {
                return Err(self.inconsistent(span, format!("{ty} has no field `{name}`")));
            };
            list.push((value, of_field));
            firsts.push(first);
        }
        // Rust evaluates the base last.
        list.extend(base.map(|base| (base, ty)));
        let mut values = self.values(&list)?;
        if base.is_some()
            && let Some(mut whole) = values.pop()
        {
            for (first, value) in firsts.into_iter().zip(values) {
                let end = first + value.leaves.len();
                whole.leaves.splice(first..end, value.leaves);
            }
            return Ok(whole);
        }
        let mut in_order: Vec<_> = firsts.into_iter().zip(values).collect();
        in_order.sort_by_key(|(first, _)| *first);
        let leaves: Vec<_> = in_order.into_iter().flat_map(|(_, value)| value.leaves).collect();
        if leaves.len() == ty.leaves() {
            Ok(Value { ty, leaves })
        } else {
            Err(self.inconsistent(span, "a field is missing"))
        }
    }

    fn repeat(&mut self, ty: Type, value: &Expr, span: Span) -> Result<Value> {
        let Type::Array(element, len) = ty else {
            return Err(self.inconsistent(span, format!("{ty} is not an array")));
        };
        self.check_size(ty, span)?;
        let value = self.value_as(value, *element)?;
        let fixed: Vec<_> = value.leaves.iter().map(|leaf| self.emit.reuse(*leaf)).collect();
        let mut leaves = Vec::with_capacity(fixed.len() * len);
        for _ in 0..len {
            leaves.extend(fixed.iter().map(|leaf| self.emit.copy(*leaf)));
        }
        Ok(Value { ty, leaves })
    }

    /// Rejects types with too many scalars.
    pub(super) fn check_size(&self, ty: Type, span: Span) -> Result<()> {
        let most = quadrants_ir::types::MAX_LEAVES;
        if ty.leaves() <= most {
            return Ok(());
        }
        let what = format!(
            "a value of {} numbers is too large for the registers of a thread (at most {most}); help: initialize a local array with `[x; N]` and use its elements, or use a tensor",
            ty.leaves()
        );
        Err(self.type_error(span, what))
    }

    pub(super) fn bind_pattern(
        &mut self,
        pattern: &Pattern,
        value: &Value,
        span: Span,
    ) -> Result<()> {
        let no_parts =
            |this: &Self| Err(this.inconsistent(span, format!("{} has no such parts", value.ty)));
        match pattern {
            Pattern::Wild | Pattern::Rest => Ok(()),
            Pattern::Name { name, mutable, ty } => {
                let rustc = self.type_at(*ty, span)?;
                self.check_type(name, rustc, value.ty, span)?;
                let binding = self.name_value(name, value.clone(), *mutable);
                self.frame.bind(name, binding);
                Ok(())
            }
            Pattern::Parts(patterns) => {
                let (types, patterns) = match (value.ty, &patterns[..]) {
                    // `Vector([x, y])`
                    (Type::Vector(ty, len), [Pattern::Parts(patterns)]) => {
                        (Some(vec![Type::Scalar(ty); len]), patterns)
                    }
                    (ty, _) => (part_types(ty), patterns),
                };
                let Some(types) = types else { return no_parts(self) };
                let rest = patterns.iter().position(|pattern| matches!(pattern, Pattern::Rest));
                let (before, after) = match rest {
                    Some(rest) => (&patterns[..rest], &patterns[rest + 1..]),
                    None => (&patterns[..], &[][..]),
                };
                let Some(left_out) = types.len().checked_sub(before.len() + after.len()) else {
                    return no_parts(self);
                };
                if rest.is_none() && left_out > 0 {
                    return no_parts(self);
                }
                let left_out = std::iter::repeat_n(&Pattern::Wild, left_out);
                let mut first = 0;
                for (pattern, ty) in before.iter().chain(left_out).chain(after).zip(types) {
                    self.bind_pattern(pattern, &value.part(ty, first), span)?;
                    first += ty.leaves();
                }
                Ok(())
            }
            Pattern::Fields(fields) => {
                for (name, pattern) in fields {
                    let Some((ty, first)) = value.ty.field(name) else { return no_parts(self) };
                    self.bind_pattern(pattern, &value.part(ty, first), span)?;
                }
                Ok(())
            }
        }
    }

    /// Lowers a field or element expression.
    fn part_value(&mut self, expr: &Expr) -> Result<Value> {
        if let Some(place) = self.local_place(expr)? {
            return Ok(self.read_place(&place));
        }
        if let Some(element) = self.tensor_element(expr)? {
            return self.read_element(&element);
        }
        let span = expr.span;
        match &expr.kind {
            ExprKind::Field { value, name } => {
                let value = self.value(value, None)?;
                match value.ty.field(name) {
                    Some((ty, first)) => Ok(value.part(ty, first)),
                    None => Err(self.inconsistent(span, format!("{} has no `{name}`", value.ty))),
                }
            }
            ExprKind::Element { value, index } => {
                let value = self.value(value, None)?;
                let binding = self.name_value("whole", value, false);
                let Binding::Value(value) = binding else {
                    return Err(self.inconsistent(span, "a number has no elements"));
                };
                let ty = self.named_values[value].ty;
                let place = Place::whole(value, ty);
                let place = self.place_element(place, index, expr)?;
                Ok(self.read_place(&place))
            }
            _ => Err(self.inconsistent(span, "this value has no parts")),
        }
    }

    /// The part of a named value that `expr` denotes; `None` if it is no such part.
    pub(super) fn local_place(&mut self, expr: &Expr) -> Result<Option<Place>> {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Name(name) => Ok(self.named_value(name)),
            ExprKind::Index { base, index } => {
                let place = self.named_value(base);
                place.map(|place| self.place_element(place, index, expr)).transpose()
            }
            ExprKind::Element { value, index } => {
                let place = self.local_place(value)?;
                place.map(|place| self.place_element(place, index, expr)).transpose()
            }
            ExprKind::Field { value, name } => {
                let Some(place) = self.local_place(value)? else { return Ok(None) };
                match place.ty.field(name) {
                    Some((ty, first)) => {
                        Ok(Some(Place { ty, first: place.first + first, ..place }))
                    }
                    None => Err(self.inconsistent(span, format!("{} has no `{name}`", place.ty))),
                }
            }
            _ => Ok(None),
        }
    }

    fn named_value(&self, name: &str) -> Option<Place> {
        match self.frame.lookup(name) {
            Some(Binding::Value(value)) => {
                let ty = self.named_values[value].ty;
                Some(Place::whole(value, ty))
            }
            _ => None,
        }
    }

    /// The element of a place with these indices, which `expr` denotes.
    fn place_element(&mut self, mut place: Place, index: &[Expr], expr: &Expr) -> Result<Place> {
        let span = expr.span;
        let Some((ty, extents)) = place.ty.element(index.len()) else {
            return Err(self.inconsistent(span, format!("{} has no such elements", place.ty)));
        };
        let indices = self.index(index)?;
        let indices = self.checked_indices(indices, &extents, expr);
        let whole = place.first..place.first + place.ty.leaves();
        let mut stride = whole.len();
        for (at, extent) in indices.into_iter().zip(extents) {
            stride /= extent.max(1);
            match at {
                CheckedIndex::Constant(at) => place.first += at * stride,
                CheckedIndex::Value(value) => {
                    if place.indices.is_empty() {
                        place.range = whole.clone();
                    }
                    place.indices.push(DynamicIndex { value, extent, stride });
                }
            }
        }
        place.ty = ty;
        self.choose_storage(&place, span)?;
        Ok(place)
    }

    /// Requests local memory for the range of a place whose indices select among many elements.
    fn choose_storage(&mut self, place: &Place, span: Span) -> Result<()> {
        if place.elements() <= MAX_REGISTER_ELEMENTS
            || self.is_in_memory(place)
            || self.request_memory(place.value, place.range.clone())
            || place.elements() <= MAX_SELECT_ELEMENTS
        {
            return Ok(());
        }
        let what = format!(
            "an index that is not a compile-time constant selects among more than {MAX_SELECT_ELEMENTS} elements of a \
             parameter, of a constant, or of a value that several loops use; help: copy it to a local of the loop, or \
             use a tensor"
        );
        Err(self.type_error(span, what))
    }

    pub(super) fn zeros(&mut self, ty: Type) -> Value {
        let zero = |ty| self.emit.constant(Const::from_bits(ty, 0));
        Value { ty, leaves: ty.leaf_types().into_iter().map(zero).collect() }
    }

    /// Checks the indices of `expr`, an element of a value with these extents.
    pub(super) fn checked_indices(
        &mut self,
        indices: Vec<ExprId>,
        extents: &[usize],
        expr: &Expr,
    ) -> Vec<CheckedIndex> {
        let mut checked = Vec::with_capacity(indices.len());
        let mut cond = None;
        for (at, extent) in indices.iter().zip(extents) {
            checked.push(match self.constant_index(*at, *extent) {
                Some(at) => CheckedIndex::Constant(at),
                None => CheckedIndex::Value(self.emit.reuse(*at)),
            });
        }
        for (at, extent) in checked.iter().zip(extents) {
            let CheckedIndex::Value(at) = *at else { continue };
            if self.is_below(at, *extent) {
                continue;
            }
            let (lhs, rhs) = (self.emit.copy(at), self.emit.constant(*extent as u64));
            let below = self.emit.binary(BinaryOp::Lt, lhs, rhs);
            cond = Some(match cond {
                Some(cond) => self.emit.binary(BinaryOp::And, cond, below),
                None => below,
            });
        }
        if let Some(cond) = cond {
            let index = checked.iter().map(|at| match at {
                CheckedIndex::Constant(at) => self.emit.constant(*at as u64),
                CheckedIndex::Value(at) => self.emit.copy(*at),
            });
            let index = index.collect();
            let shape = extents.iter().map(|extent| u32::try_from(*extent).unwrap_or(u32::MAX));
            let kind = SiteKind::ArrayIndex { name: indexed_path(expr), shape: shape.collect() };
            let site = self.add_site(kind, expr.span);
            self.emit.stmt(Stmt::Assert { cond, site, values: index });
        }
        checked
    }

    /// The value of a non-negative integer constant.
    pub(super) fn constant(&self, value: ExprId) -> Option<u64> {
        match self.emit.kind(value) {
            Ir::Const(value) => u64::try_from(value.as_int()?).ok(),
            _ => None,
        }
    }

    pub(super) fn constant_index(&self, index: ExprId, extent: usize) -> Option<usize> {
        self.constant(index).map(|index| index as usize).filter(|index| *index < extent)
    }

    /// Whether constant loop bounds or a constant divisor prove that an index is below an extent.
    fn is_below(&self, index: ExprId, extent: usize) -> bool {
        match self.emit.kind(index) {
            // The cast must not change values below the extent.
            Ir::Cast { value } => {
                let range = self.emit.ty(index).int_range();
                range.is_some_and(|(_, most)| extent as i128 <= most + 1)
                    && self.is_below(*value, extent)
            }
            Ir::Local(local) => {
                self.ranges.get(local).is_some_and(|(_, end)| *end <= extent as u64)
            }
            _ => false,
        }
    }

    pub(super) fn whole_value(&self, place: &Place) -> Option<ValueId> {
        let all = place.indices.is_empty() && self.named_values[place.value].ty == place.ty;
        all.then_some(place.value)
    }

    pub(super) fn read_place(&mut self, place: &Place) -> Value {
        let ty = place.ty;
        if place.indices.iter().any(|index| index.extent == 0) {
            // Every index of an empty array is out of range; the bounds check has reported it.
            return self.zeros(ty);
        }
        let waits = self.waits_for_memory(place);
        let leaf = |(at, scalar)| match self.read_place_memory(place, at) {
            Some(value) => value,
            None if waits => self.placeholder(scalar),
            None => self.select_scalar(place, place.first + at, 0),
        };
        let leaves = ty.leaf_types().into_iter().enumerate().map(leaf).collect();
        Value { ty, leaves }
    }

    /// Whether only the next pass has a place in local memory. This pass emits no selects for it.
    fn waits_for_memory(&self, place: &Place) -> bool {
        place.elements() > MAX_REGISTER_ELEMENTS
            && !self.is_in_memory(place)
            && self.found.contains(place.value)
    }

    fn is_in_memory(&self, place: &Place) -> bool {
        let leaves = &self.named_values[place.value].leaves;
        matches!(leaves.get(place.first), Some(Leaf::Memory(_)))
    }

    fn select_scalar(&mut self, place: &Place, first: usize, depth: usize) -> ExprId {
        let Some(index) = place.indices.get(depth) else {
            let leaf = self.named_values[place.value].leaves[first];
            return self.read_leaf(leaf);
        };
        self.select_element(place, index, first, depth, (0, index.extent))
    }

    /// The indexed element of those from `begin` to `end`, by binary selection.
    fn select_element(
        &mut self,
        place: &Place,
        index: &DynamicIndex,
        first: usize,
        depth: usize,
        (begin, end): (usize, usize),
    ) -> ExprId {
        if end - begin <= 1 {
            return self.select_scalar(place, first + begin * index.stride, depth + 1);
        }
        let middle = begin.midpoint(end);
        let then = self.select_element(place, index, first, depth, (begin, middle));
        let otherwise = self.select_element(place, index, first, depth, (middle, end));
        let lhs = self.emit.copy(index.value);
        let rhs = self.emit.constant(middle as u64);
        let cond = self.emit.binary(BinaryOp::Lt, lhs, rhs);
        self.emit.select(cond, then, otherwise)
    }

    /// Assigns a part of a named value.
    pub(super) fn write_place(&mut self, place: &Place, value: &Value, span: Span) -> Result<()> {
        let many = value.leaves.len() > 1 || !place.indices.is_empty();
        if self.waits_for_memory(place) {
            return Ok(());
        }
        for (at, value) in value.leaves.iter().enumerate() {
            if self.write_place_memory(place, at, *value, span)? {
                continue;
            }
            // The value of a scalar may read another scalar that is assigned first.
            let value = if many { self.emit.reuse(*value) } else { *value };
            self.write_leaf(place, place.first + at, 0, None, value, span)?;
        }
        Ok(())
    }

    fn write_leaf(
        &mut self,
        place: &Place,
        first: usize,
        depth: usize,
        only_if: Option<ExprId>,
        value: ExprId,
        span: Span,
    ) -> Result<()> {
        let Some(index) = place.indices.get(depth) else {
            let leaf = self.named_values[place.value].leaves[first];
            let value = match only_if {
                Some(cond) => {
                    let otherwise = self.read_leaf(leaf);
                    let cond = self.emit.copy(cond);
                    let then = self.emit.copy(value);
                    self.emit.select(cond, then, otherwise)
                }
                None => value,
            };
            match leaf {
                Leaf::Local(local) => self.emit.assign(local, value),
                Leaf::Memory(leaf) => self.write_memory(&leaf, value, span)?,
                Leaf::Scalar(_) => {
                    return Err(self.inconsistent(span, "this is not `mut` and cannot be assigned"));
                }
            }
            return Ok(());
        };
        for at in 0..index.extent {
            let lhs = self.emit.copy(index.value);
            let rhs = self.emit.constant(at as u64);
            let mut cond = self.emit.binary(BinaryOp::Eq, lhs, rhs);
            if let Some(outer) = only_if {
                let outer = self.emit.copy(outer);
                cond = self.emit.binary(BinaryOp::And, outer, cond);
            }
            let cond = self.emit.reuse(cond);
            self.write_leaf(place, first + at * index.stride, depth + 1, Some(cond), value, span)?;
        }
        Ok(())
    }
}

/// The path of the value that `expr` indexes, for error messages. Indices are left out.
fn indexed_path(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Element { value, .. } => path(value),
        ExprKind::Index { base, .. } => base.clone(),
        _ => path(expr),
    }
}

fn path(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Name(name) => name.clone(),
        ExprKind::Index { base, .. } => format!("{base}[]"),
        ExprKind::Element { value, .. } => format!("{}[]", path(value)),
        ExprKind::Field { value, name } => format!("{}.{name}", path(value)),
        _ => "an array".to_owned(),
    }
}

/// The types of the parts of a tuple, array or struct.
fn part_types(ty: Type) -> Option<Vec<Type>> {
    match ty {
        Type::Tuple(types) => Some(types.to_vec()),
        Type::Array(element, len) => Some(vec![*element; len]),
        Type::Struct(def) => Some(def.fields.iter().map(|field| field.ty).collect()),
        Type::Scalar(_) | Type::Vector(..) | Type::Matrix(..) => None,
    }
}
