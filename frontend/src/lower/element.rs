//! Elements of tensors of aggregates, and parts of such elements. Each scalar has a location: a component of the
//! tensor, and an index within the component.

use std::rc::Rc;

use quadrants_ir::{
    Array, AtomicOp, BinaryOp, ExprId, ExprKind as Ir, LocalId, ParamId, ScalarType, types::Type,
};

use super::{
    Lowerer, Result,
    aggregate::CheckedIndex,
    scope::{Binding, Value},
};
use crate::syntax::{Expr, ExprKind, Span};

/// An element of a tensor, or a part of one.
pub(super) struct ElementPlace {
    /// The first component of the tensor or shared array.
    first: Array,
    index: Vec<ExprId>,
    pub(super) ty: Type,
    /// The first component of the part.
    component: usize,
    /// The number of scalars of each component, of all components.
    scalars: Rc<[usize]>,
    offset: ScalarOffset,
    span: Span,
}

impl ElementPlace {
    /// Whether a component has several scalars per element, so that accesses have another index.
    fn has_choice(&self, component: usize) -> bool {
        self.scalars.get(component).is_some_and(|scalars| *scalars > 1)
    }
}

/// The index of a scalar within the component's part of an element: a linear combination of indices.
#[derive(Clone, Default)]
struct ScalarOffset {
    terms: Vec<(ExprId, u64)>,
    constant: u64,
}

impl ScalarOffset {
    /// The offset of the first element of an array of `len` at this offset.
    fn scaled_by(mut self, len: usize) -> Self {
        let len = len as u64;
        self.terms.iter_mut().for_each(|(_, by)| *by *= len);
        self.constant *= len;
        self
    }

    fn at(&self, index: usize) -> Self {
        Self { constant: self.constant + index as u64, ..self.clone() }
    }
}

impl Lowerer {
    /// Whether a name is an aggregate, or a tensor of aggregates.
    pub(super) fn names_aggregate(&self, base: &str) -> bool {
        match self.frame.lookup(base) {
            Some(Binding::Value(_)) => true,
            Some(Binding::Tensor { elem, .. } | Binding::Shared { elem, .. }) => {
                elem.scalar().is_none()
            }
            _ => false,
        }
    }

    /// The element or part of one that `expr` denotes; `None` if it is no part of a tensor.
    pub(super) fn tensor_element(&mut self, expr: &Expr) -> Result<Option<ElementPlace>> {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Index { base, index } => {
                let (first, elem, rank) = match self.frame.lookup(base) {
                    Some(Binding::Tensor { param, elem, .. }) => {
                        (Array::Tensor(param), elem, self.rank(param).into())
                    }
                    Some(Binding::Shared { array, elem, rank, .. }) => {
                        (Array::Shared(array), elem, rank)
                    }
                    _ => return Ok(None),
                };
                self.check_rank(base, rank, self.index_count(index), span)?;
                let index = self.index(index)?;
                let index = index.into_iter().map(|at| self.emit.reuse(at)).collect();
                let offset = ScalarOffset::default();
                let scalars = elem.components().into_iter().map(|part| part.scalars).collect();
                Ok(Some(ElementPlace {
                    first,
                    index,
                    ty: elem,
                    component: 0,
                    scalars,
                    offset,
                    span,
                }))
            }
            ExprKind::Field { value, name } => {
                let Some(element) = self.tensor_element(value)? else { return Ok(None) };
                let Some((ty, _)) = element.ty.field(name) else {
                    return Err(self.inconsistent(span, format!("{} has no `{name}`", element.ty)));
                };
                let component = element.component + element.ty.components_before(name);
                Ok(Some(ElementPlace { ty, component, span, ..element }))
            }
            ExprKind::Element { value, index } => {
                let Some(mut element) = self.tensor_element(value)? else { return Ok(None) };
                let Some((ty, extents)) = element.ty.element(index.len()) else {
                    let what = format!("{} has no such elements", element.ty);
                    return Err(self.inconsistent(span, what));
                };
                let indices = self.index(index)?;
                let indices = self.checked_indices(indices, &extents, expr);
                for (at, extent) in indices.into_iter().zip(extents) {
                    let mut offset = element.offset.scaled_by(extent);
                    match at {
                        CheckedIndex::Constant(at) => offset.constant += at as u64,
                        CheckedIndex::Value(at) => offset.terms.push((at, 1)),
                    }
                    element.offset = offset;
                }
                Ok(Some(ElementPlace { ty, span, ..element }))
            }
            _ => Ok(None),
        }
    }

    pub(super) fn read_element(&mut self, element: &ElementPlace) -> Result<Value> {
        self.check_size(element.ty, element.span)?;
        let mut leaves = Vec::new();
        for (component, offset) in scalars(element) {
            let (array, elem, index) = self.scalar_at(element, component, &offset)?;
            leaves.push(self.load(array, elem, index, element.span));
        }
        Ok(Value { ty: element.ty, leaves })
    }

    pub(super) fn write_element(&mut self, element: &ElementPlace, value: &Value) -> Result<()> {
        self.check_size(element.ty, element.span)?;
        for ((component, offset), value) in scalars(element).into_iter().zip(&value.leaves) {
            let (array, _, index) = self.scalar_at(element, component, &offset)?;
            self.store(array, index, *value, element.span);
        }
        Ok(())
    }

    /// An atomic on a scalar of an element that is not yet emitted.
    pub(super) fn atomic_element(
        &mut self,
        op: AtomicOp,
        place: &Expr,
        (expected, value): (Option<&Expr>, &Expr),
        span: Span,
    ) -> Result<(ScalarType, Ir)> {
        let Some(element) = self.tensor_element(place)? else {
            return Err(self.inconsistent(span, "an atomic needs an element of a tensor"));
        };
        let ([(component, offset)], Type::Scalar(ty)) = (&scalars(&element)[..], element.ty) else {
            let what = format!("an atomic needs a number, found {}", element.ty);
            return Err(self.inconsistent(span, what));
        };
        let operands: Vec<_> = expected.into_iter().chain([value]).map(|at| (at, ty)).collect();
        let operands = self.scalars(&operands)?;
        let (expected, value) = match operands[..] {
            [expected, value] => (Some(expected), value),
            [value] => (None, value),
            _ => return Err(self.inconsistent(span, "an atomic needs a value")),
        };
        let (array, _, index) = self.scalar_at(&element, *component, offset)?;
        Ok((ty, self.atomic_op(op, array, index, (expected, value), span)))
    }

    /// The array of a component, the type of its scalars, and the indices of the scalar at `offset`.
    fn scalar_at(
        &mut self,
        element: &ElementPlace,
        component: usize,
        offset: &ScalarOffset,
    ) -> Result<(Array, ScalarType, Vec<ExprId>)> {
        let (array, elem) = match element.first {
            Array::Tensor(first) => {
                let tensor = ParamId::new(first.raw() + component as u32);
                let kind = self.params.get(tensor.index());
                (Array::Tensor(tensor), kind.and_then(|kind| kind.elem()))
            }
            Array::Shared(first) | Array::Local(first) => {
                let array = LocalId::new(first.raw() + component as u32);
                (Array::Shared(array), self.emit.locals.get(array).map(|local| local.ty))
            }
        };
        let Some(elem) = elem else {
            return Err(self.unknown("a tensor's component", element.span));
        };
        let mut index: Vec<_> = element.index.iter().map(|at| self.emit.copy(*at)).collect();
        if element.has_choice(component) {
            index.push(self.offset_expr(offset));
        }
        Ok((array, elem, index))
    }

    fn offset_expr(&mut self, offset: &ScalarOffset) -> ExprId {
        let mut sum = None;
        for (at, by) in &offset.terms {
            let mut term = self.emit.copy(*at);
            if *by != 1 {
                let by = self.emit.constant(*by);
                term = self.emit.binary(BinaryOp::Mul, term, by);
            }
            sum = Some(match sum {
                Some(sum) => self.emit.binary(BinaryOp::Add, sum, term),
                None => term,
            });
        }
        let constant = |this: &mut Self| this.emit.constant(offset.constant);
        match sum {
            None => constant(self),
            Some(sum) if offset.constant == 0 => sum,
            Some(sum) => {
                let constant = constant(self);
                self.emit.binary(BinaryOp::Add, sum, constant)
            }
        }
    }
}

/// The component and the offset within it of each scalar, in order.
fn scalars(element: &ElementPlace) -> Vec<(usize, ScalarOffset)> {
    let mut list = Vec::new();
    each_scalar(element.ty, element.component, &element.offset, &mut list);
    list
}

fn each_scalar(
    ty: Type,
    component: usize,
    offset: &ScalarOffset,
    list: &mut Vec<(usize, ScalarOffset)>,
) {
    let several = |len: usize, list: &mut Vec<_>| {
        let all = offset.clone().scaled_by(len);
        list.extend((0..len).map(|at| (component, all.at(at))));
    };
    let mut fields = |types: &mut dyn Iterator<Item = Type>| {
        let mut component = component;
        for ty in types {
            each_scalar(ty, component, offset, list);
            component += ty.components().len();
        }
    };
    match ty {
        Type::Scalar(_) => list.push((component, offset.clone())),
        Type::Vector(_, len) => several(len, list),
        Type::Matrix(_, rows, columns) => several(rows * columns, list),
        Type::Array(element, len) => {
            let all = offset.clone().scaled_by(len);
            (0..len).for_each(|at| each_scalar(*element, component, &all.at(at), list));
        }
        Type::Tuple(parts) => fields(&mut parts.iter().copied()),
        Type::Struct(def) => fields(&mut def.fields.iter().map(|field| field.ty)),
    }
}
