//! Tuples, arrays and structs: the IR knows scalars alone, so a value of several is lowered to the
//! expressions of its scalars, and a name for it to as many locals.
//!
//! An index that is no constant chooses among the elements: reading it is a tree of selects, writing it an assignment
//! to each element that keeps all but one. Behind a loop of constant bounds, a compiler folds both to what was meant.

use quadrants_ir::{
    BinaryOp, Const, ExprId, ExprKind as Ir, LocalId, ScalarType, SiteKind, Stmt, types::Type,
};

use super::{
    Lowerer, Result,
    scope::{Binding, Held, Leaf, Scalar, Value, ValueId},
};
use crate::{
    syntax::{Expr, ExprKind, Pattern, Span},
    visit::assigns,
};

/// More elements than this are no choice for an index.
const MOST_CHOICES: usize = 256;

/// A part of a named value.
pub(super) struct Place {
    pub(super) value: ValueId,
    pub(super) ty: Type,
    /// The part's first scalar, if every index were 0.
    first: usize,
    indices: Vec<Index>,
}

/// An index that is no constant.
struct Index {
    at: ExprId,
    extent: usize,
    /// How many scalars further the next element is.
    stride: usize,
}

impl Lowerer {
    /// The value of `expr`, which must be of type `ty`.
    pub(super) fn want_parts(&mut self, expr: &Expr, ty: Type) -> Result<Value> {
        let value = self.parts(expr, Some(ty))?;
        self.same(value.ty, ty, expr.span)?;
        Ok(value)
    }

    /// The values of expressions that Rust evaluates in this order, each of its type.
    pub(super) fn parts_list(&mut self, list: &[(&Expr, Type)]) -> Result<Vec<Value>> {
        let mut values = Vec::with_capacity(list.len());
        for (at, (expr, ty)) in list.iter().enumerate() {
            let mut value = self.want_parts(expr, *ty)?;
            let overtaken = list[at + 1..].iter().any(|(later, _)| assigns(later));
            for leaf in &mut value.leaves {
                *leaf = self.emit.shallow(*leaf);
                if overtaken {
                    *leaf = self.emit.hold(*leaf);
                }
            }
            values.push(value);
        }
        Ok(values)
    }

    /// The value of `expr`, whatever its type.
    pub(super) fn parts(&mut self, expr: &Expr, expected: Option<Type>) -> Result<Value> {
        let span = expr.span;
        match &expr.kind {
            ExprKind::If { cond, then, otherwise } => {
                let ty = self.infer_type(expr).or(expected);
                let ty = ty.unwrap_or_else(|| Type::Scalar(self.default_type(expr)));
                match otherwise {
                    Some(otherwise) => self.choose(cond, then, otherwise, ty),
                    None => Err(self.type_error(span, "an `if` with a value needs an `else`")),
                }
            }
            ExprKind::Block(block) => self.block_value(block, expected, span),
            ExprKind::Loop { ty, body, label } => {
                self.loop_value(*ty, body, label.as_deref(), span)
            }
            ExprKind::Unsafe(block) => {
                self.asserting(|this| this.block_value(block, expected, span))
            }
            ExprKind::Call { func, args, .. } => match self.call(*func, args, span)? {
                Some(value) => Ok(value),
                None => Err(self.type_error(span, "this func has no value")),
            },
            ExprKind::Name(name) => match self.frame.lookup(name) {
                Some(Binding::Value(value)) => {
                    let held = self.values[value].clone();
                    Ok(Value { ty: held.ty, leaves: self.read_all(&held) })
                }
                _ => self.one(expr, expected),
            },
            ExprKind::Const(ix) => self.listed(*ix, span),
            ExprKind::Aggregate { ty, parts } => {
                let ty = self.type_at(*ty, span)?;
                self.made_of(ty, parts, span)
            }
            ExprKind::Struct { ty, fields } => {
                let ty = self.type_at(*ty, span)?;
                self.made_of_fields(ty, fields, span)
            }
            ExprKind::Repeat { ty, value } => {
                let ty = self.type_at(*ty, span)?;
                self.repeated(ty, value, span)
            }
            ExprKind::Associated { ty, name, args } => {
                let ty = self.type_at(*ty, span)?;
                self.associated(ty, name, args, span)
            }
            ExprKind::Field { .. } | ExprKind::Element { .. } => self.part(expr),
            ExprKind::Index { base, .. } if self.has_parts(base) => self.part(expr),
            ExprKind::Method { receiver, name, args, .. } => match self.infer_type(receiver) {
                Some(ty) if ty.scalar().is_none() => {
                    self.linear_method(receiver, ty, name, args, span)
                }
                _ => self.one(expr, expected),
            },
            ExprKind::Binary { op, lhs, rhs } if self.is_linear(lhs) || self.is_linear(rhs) => {
                self.linear(*op, lhs, rhs, span)
            }
            ExprKind::Unary { op, value } if self.is_linear(value) => {
                let value = self.parts(value, expected)?;
                self.each_unary(*op, value, span)
            }
            _ => self.one(expr, expected),
        }
    }

    /// The value of an expression that has one scalar.
    fn one(&mut self, expr: &Expr, expected: Option<Type>) -> Result<Value> {
        let value = self.value(expr, expected.and_then(Type::scalar))?;
        Ok(Value::scalar(self.emit.ty(value), value))
    }

    /// The one scalar of a value.
    pub(super) fn only(&self, value: &Value, span: Span) -> Result<ExprId> {
        match (value.ty, &value.leaves[..]) {
            (Type::Scalar(_), [value]) => Ok(*value),
            (ty, _) => Err(self.type_error(span, format!("expected a number, found {ty}"))),
        }
    }

    pub(super) fn same(&self, found: Type, wanted: Type, span: Span) -> Result<()> {
        if found == wanted {
            Ok(())
        } else {
            Err(self.type_error(span, format!("expected {wanted}, found {found}")))
        }
    }

    /// Whether an expression is of a type that is no scalar.
    pub(super) fn is_linear(&self, expr: &Expr) -> bool {
        self.infer_type(expr).is_some_and(|ty| ty.scalar().is_none())
    }

    /// Binds a value to a name.
    pub(super) fn name(&mut self, name: &str, value: Value, mutable: bool) -> Binding {
        if let (Type::Scalar(_), [value]) = (value.ty, &value.leaves[..]) {
            return Binding::Local(self.emit.define(name, *value, mutable));
        }
        let mut names = Vec::with_capacity(value.leaves.len());
        value.ty.each_leaf(name, &mut |name, _| names.push(name.to_owned()));
        let leaves =
            value.leaves.iter().zip(names).map(|(value, name)| match self.emit.kind(*value) {
                Ir::Const(value) if !mutable => Leaf::Scalar(Scalar::Const(*value)),
                _ => Leaf::Local(self.emit.define(&name, *value, mutable)),
            });
        let leaves = leaves.collect();
        self.hold_as(Held { ty: value.ty, leaves })
    }

    /// A binding to what is held already.
    pub(super) fn hold_as(&mut self, held: Held) -> Binding {
        if let (Type::Scalar(_), [leaf]) = (held.ty, &held.leaves[..]) {
            return (*leaf).into();
        }
        self.values.push(held);
        Binding::Value(self.values.len() - 1)
    }

    /// Names for the zeros of a type, to be assigned later.
    pub(super) fn zeros(&mut self, name: &str, ty: Type) -> Vec<LocalId> {
        let mut leaves = Vec::new();
        ty.each_leaf(name, &mut |name, ty| leaves.push((name.to_owned(), ty)));
        let mut local = |(name, ty): (String, ScalarType)| {
            let zero = self.emit.constant(Const::from_bits(ty, 0));
            self.emit.define(&name, zero, true)
        };
        leaves.drain(..).map(&mut local).collect()
    }

    /// What locals hold.
    pub(super) fn value_of(&mut self, ty: Type, locals: &[LocalId]) -> Value {
        Value { ty, leaves: locals.iter().map(|local| self.emit.read(*local)).collect() }
    }

    /// Assigns a value's scalars to locals. None of them may be read by the value.
    pub(super) fn assign_all(&mut self, locals: &[LocalId], value: &Value) {
        for (local, value) in locals.iter().zip(&value.leaves) {
            self.emit.assign(*local, *value);
        }
    }

    pub(super) fn read_all(&mut self, held: &Held) -> Vec<ExprId> {
        held.leaves.iter().map(|leaf| self.read_leaf(*leaf)).collect()
    }

    fn read_leaf(&mut self, leaf: Leaf) -> ExprId {
        match leaf {
            Leaf::Local(local) => self.emit.read(local),
            Leaf::Scalar(Scalar::Param(param, ty)) => self.emit.param(param, ty),
            Leaf::Scalar(Scalar::Const(value)) => self.emit.constant(value),
        }
    }

    fn made_of(&mut self, ty: Type, parts: &[Expr], span: Span) -> Result<Value> {
        // `Vector([a, b])`: of an array.
        if let (Type::Vector(..) | Type::Matrix(..), [array]) = (ty, parts) {
            let value = self.parts(array, None)?;
            if value.ty.leaf_types() != ty.leaf_types() {
                self.same(value.ty, ty, span)?;
            }
            return Ok(Value { ty, leaves: value.leaves });
        }
        let Some(wanted) = part_types(ty) else {
            return Err(self.type_error(span, format!("{ty} has no such parts")));
        };
        if wanted.len() != parts.len() {
            return Err(self.type_error(span, format!("{ty} has {} parts", wanted.len())));
        }
        let list: Vec<_> = parts.iter().zip(wanted).collect();
        let values = self.parts_list(&list)?;
        Ok(Value { ty, leaves: values.into_iter().flat_map(|value| value.leaves).collect() })
    }

    fn made_of_fields(&mut self, ty: Type, fields: &[(String, Expr)], span: Span) -> Result<Value> {
        let mut list = Vec::with_capacity(fields.len());
        let mut firsts = Vec::with_capacity(fields.len());
        for (name, value) in fields {
            let Some((of_field, first)) = ty.field(name) else {
                return Err(self.type_error(span, format!("{ty} has no field `{name}`")));
            };
            list.push((value, of_field));
            firsts.push(first);
        }
        let values = self.parts_list(&list)?;
        let mut in_order: Vec<_> = firsts.into_iter().zip(values).collect();
        in_order.sort_by_key(|(first, _)| *first);
        let leaves: Vec<_> = in_order.into_iter().flat_map(|(_, value)| value.leaves).collect();
        if leaves.len() == ty.leaves() {
            Ok(Value { ty, leaves })
        } else {
            Err(self.type_error(span, "a field is missing"))
        }
    }

    fn repeated(&mut self, ty: Type, value: &Expr, span: Span) -> Result<Value> {
        let Type::Array(element, len) = ty else {
            return Err(self.type_error(span, format!("{ty} is no array")));
        };
        self.check_size(ty, span)?;
        let value = self.want_parts(value, *element)?;
        let fixed: Vec<_> = value.leaves.iter().map(|leaf| self.emit.fix(*leaf)).collect();
        let mut leaves = Vec::with_capacity(fixed.len() * len);
        for _ in 0..len {
            leaves.extend(fixed.iter().map(|leaf| self.emit.again(*leaf)));
        }
        Ok(Value { ty, leaves })
    }

    /// Refuses values that are too many scalars.
    pub(super) fn check_size(&self, ty: Type, span: Span) -> Result<()> {
        let most = quadrants_ir::types::MAX_LEAVES;
        if ty.leaves() <= most {
            return Ok(());
        }
        let what = format!(
            "a value of {} numbers is too large for the registers of a thread (at most {most}); use a tensor",
            ty.leaves()
        );
        Err(self.type_error(span, what))
    }

    /// Binds the names of a pattern.
    pub(super) fn take_apart(
        &mut self,
        pattern: &Pattern,
        value: &Value,
        span: Span,
    ) -> Result<()> {
        let no =
            |this: &Self| Err(this.type_error(span, format!("{} has no such parts", value.ty)));
        match pattern {
            Pattern::Wild => Ok(()),
            Pattern::Name { name, mutable, ty } => {
                let rustc = self.type_at(*ty, span)?;
                self.agree(name, rustc, value.ty, span)?;
                let binding = self.name(name, value.clone(), *mutable);
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
                let Some(types) = types.filter(|types| types.len() == patterns.len()) else {
                    return no(self);
                };
                let mut first = 0;
                for (pattern, ty) in patterns.iter().zip(types) {
                    self.take_apart(pattern, &value.part(ty, first), span)?;
                    first += ty.leaves();
                }
                Ok(())
            }
            Pattern::Fields(fields) => {
                for (name, pattern) in fields {
                    let Some((ty, first)) = value.ty.field(name) else { return no(self) };
                    self.take_apart(pattern, &value.part(ty, first), span)?;
                }
                Ok(())
            }
        }
    }

    /// The value of a field or element.
    fn part(&mut self, expr: &Expr) -> Result<Value> {
        if let Some(place) = self.place(expr)? {
            return Ok(self.read_place(&place));
        }
        if let Some(element) = self.element(expr)? {
            return self.read_element(&element);
        }
        let span = expr.span;
        match &expr.kind {
            ExprKind::Field { value, name } => {
                let value = self.parts(value, None)?;
                match value.ty.field(name) {
                    Some((ty, first)) => Ok(value.part(ty, first)),
                    None => Err(self.type_error(span, format!("{} has no `{name}`", value.ty))),
                }
            }
            ExprKind::Element { value, index } => {
                let value = self.parts(value, None)?;
                let binding = self.name("whole", value, false);
                let Binding::Value(value) = binding else {
                    return Err(self.type_error(span, "a number has no elements"));
                };
                let ty = self.values[value].ty;
                let place = Place { value, ty, first: 0, indices: Vec::new() };
                let place = self.element_of(place, index, span)?;
                Ok(self.read_place(&place))
            }
            _ => Err(self.type_error(span, "this has no parts")),
        }
    }

    /// The part of a named value that `expr` is; none where it is a part of something else.
    pub(super) fn place(&mut self, expr: &Expr) -> Result<Option<Place>> {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Name(name) => Ok(self.named_value(name)),
            ExprKind::Index { base, index } => match self.named_value(base) {
                Some(place) => self.element_of(place, index, span).map(Some),
                None => Ok(None),
            },
            ExprKind::Element { value, index } => match self.place(value)? {
                Some(place) => self.element_of(place, index, span).map(Some),
                None => Ok(None),
            },
            ExprKind::Field { value, name } => match self.place(value)? {
                Some(place) => match place.ty.field(name) {
                    Some((ty, first)) => {
                        Ok(Some(Place { ty, first: place.first + first, ..place }))
                    }
                    None => Err(self.type_error(span, format!("{} has no `{name}`", place.ty))),
                },
                None => Ok(None),
            },
            _ => Ok(None),
        }
    }

    fn named_value(&self, name: &str) -> Option<Place> {
        match self.frame.lookup(name) {
            Some(Binding::Value(value)) => {
                let ty = self.values[value].ty;
                Some(Place { value, ty, first: 0, indices: Vec::new() })
            }
            _ => None,
        }
    }

    fn element_of(&mut self, mut place: Place, index: &[Expr], span: Span) -> Result<Place> {
        let Some((ty, extents)) = place.ty.element(index.len()) else {
            return Err(self.type_error(span, format!("{} has no such elements", place.ty)));
        };
        let indices = self.index(index)?;
        let mut stride = ty.leaves() * extents.iter().product::<usize>();
        for (at, extent) in indices.into_iter().zip(extents) {
            stride /= extent.max(1);
            if let Some(at) = self.constant_below(at, extent) {
                place.first += at * stride;
                continue;
            }
            if extent > MOST_CHOICES {
                let what = format!(
                    "an index into an array of more than {MOST_CHOICES} elements has to be a constant; use a tensor"
                );
                return Err(self.type_error(span, what));
            }
            let at = self.fixed_below(at, extent, span);
            place.indices.push(Index { at, extent, stride });
        }
        place.ty = ty;
        Ok(place)
    }

    /// An index that is below an extent, as a number or else as a fixed value.
    pub(super) fn below(
        &mut self,
        at: ExprId,
        extent: usize,
        span: Span,
    ) -> std::result::Result<usize, ExprId> {
        match self.constant_below(at, extent) {
            Some(at) => Ok(at),
            None => Err(self.fixed_below(at, extent, span)),
        }
    }

    fn fixed_below(&mut self, at: ExprId, extent: usize, span: Span) -> ExprId {
        let at = self.emit.fix(at);
        if !self.is_below(at, extent) {
            self.assert_below(at, extent, span);
        }
        at
    }

    /// A constant that is no negative number.
    pub(super) fn constant(&self, value: ExprId) -> Option<u64> {
        match self.emit.kind(value) {
            Ir::Const(value) => u64::try_from(value.as_int()?).ok(),
            _ => None,
        }
    }

    fn constant_below(&self, at: ExprId, extent: usize) -> Option<usize> {
        self.constant(at).map(|at| at as usize).filter(|at| *at < extent)
    }

    /// Whether a loop's constant bounds, or a constant divisor, keep an index below an extent.
    fn is_below(&self, at: ExprId, extent: usize) -> bool {
        match self.emit.kind(at) {
            // A narrow type may not hold what is below.
            Ir::Cast { value } => {
                let held = self.emit.ty(at).int_range();
                held.is_some_and(|(_, most)| extent as i128 <= most + 1)
                    && self.is_below(*value, extent)
            }
            Ir::Local(local) => {
                self.ranges.get(local).is_some_and(|(_, end)| *end <= extent as u64)
            }
            _ => false,
        }
    }

    fn assert_below(&mut self, at: ExprId, extent: usize, span: Span) {
        let lhs = self.emit.again(at);
        let rhs = self.emit.constant(extent as u64);
        let cond = self.emit.binary(BinaryOp::Lt, lhs, rhs);
        let message = format!("an index is beyond the {extent} elements of an array");
        let site = self.site(SiteKind::Assert { message }, span);
        self.emit.stmt(Stmt::Assert { cond, site });
    }

    /// The named value that a place is all of.
    pub(super) fn whole(&self, place: &Place) -> Option<ValueId> {
        let all = place.indices.is_empty() && self.values[place.value].ty == place.ty;
        all.then_some(place.value)
    }

    pub(super) fn read_place(&mut self, place: &Place) -> Value {
        let ty = place.ty;
        if place.indices.iter().any(|index| index.extent == 0) {
            // No index is in range of an array without elements, which is reported before this is used.
            let zero = |ty| self.emit.constant(Const::from_bits(ty, 0));
            return Value { ty, leaves: ty.leaf_types().into_iter().map(zero).collect() };
        }
        let leaves =
            (0..ty.leaves()).map(|leaf| self.chosen(place, place.first + leaf, 0)).collect();
        Value { ty, leaves }
    }

    /// The scalar at `first`, moved on by the indices from `depth` on.
    fn chosen(&mut self, place: &Place, first: usize, depth: usize) -> ExprId {
        let Some(index) = place.indices.get(depth) else {
            let leaf = self.values[place.value].leaves[first];
            return self.read_leaf(leaf);
        };
        self.among(place, index, first, depth, (0, index.extent))
    }

    /// The one of the elements from `begin` to `end` that the index names, by halves.
    fn among(
        &mut self,
        place: &Place,
        index: &Index,
        first: usize,
        depth: usize,
        (begin, end): (usize, usize),
    ) -> ExprId {
        if end - begin <= 1 {
            return self.chosen(place, first + begin * index.stride, depth + 1);
        }
        let middle = begin.midpoint(end);
        let then = self.among(place, index, first, depth, (begin, middle));
        let otherwise = self.among(place, index, first, depth, (middle, end));
        let lhs = self.emit.again(index.at);
        let rhs = self.emit.constant(middle as u64);
        let cond = self.emit.binary(BinaryOp::Lt, lhs, rhs);
        self.emit.select(cond, then, otherwise)
    }

    /// Assigns to a part of a named value.
    pub(super) fn write_place(&mut self, place: &Place, value: &Value, span: Span) -> Result<()> {
        let many = value.leaves.len() > 1 || !place.indices.is_empty();
        for (at, value) in value.leaves.iter().enumerate() {
            // One scalar's value may read another that is assigned before it.
            let value = if many { self.emit.fix(*value) } else { *value };
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
            let Leaf::Local(local) = self.values[place.value].leaves[first] else {
                return Err(self.type_error(span, "this is not `mut` and cannot be assigned"));
            };
            let value = match only_if {
                Some(cond) => {
                    let cond = self.emit.again(cond);
                    let then = self.emit.again(value);
                    let otherwise = self.emit.read(local);
                    self.emit.select(cond, then, otherwise)
                }
                None => value,
            };
            self.emit.assign(local, value);
            return Ok(());
        };
        for at in 0..index.extent {
            let lhs = self.emit.again(index.at);
            let rhs = self.emit.constant(at as u64);
            let mut cond = self.emit.binary(BinaryOp::Eq, lhs, rhs);
            if let Some(outer) = only_if {
                let outer = self.emit.again(outer);
                cond = self.emit.binary(BinaryOp::And, outer, cond);
            }
            let cond = self.emit.fix(cond);
            self.write_leaf(place, first + at * index.stride, depth + 1, Some(cond), value, span)?;
        }
        Ok(())
    }
}

/// The types of the parts of a tuple, array or struct.
fn part_types(ty: Type) -> Option<Vec<Type>> {
    match ty {
        Type::Tuple(types) => Some(types.to_vec()),
        Type::Array(element, len) => Some(vec![*element; len]),
        Type::Struct(of) => Some(of.fields.iter().map(|field| field.ty).collect()),
        Type::Scalar(_) | Type::Vector(..) | Type::Matrix(..) => None,
    }
}
