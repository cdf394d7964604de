//! Elements of tensors that are no single scalar, and parts of them: places in memory of which a component
//! and a number within it are known for each scalar.

use quadrants_ir::{AtomicOp, BinaryOp, ExprId, ExprKind as Ir, ParamId, ScalarType, types::Type};

use super::{
    Lowerer, Result,
    access::Array,
    scope::{Binding, Value},
};
use crate::syntax::{Expr, ExprKind, Span};

/// An element of a tensor, or a part of one.
pub(super) struct Element {
    /// The first component of the tensor.
    tensor: ParamId,
    index: Vec<ExprId>,
    pub(super) ty: Type,
    /// The first component of the part.
    component: usize,
    choice: Choice,
    span: Span,
}

/// Which of the values of a type that an element has: a sum of indices.
#[derive(Clone, Default)]
struct Choice {
    terms: Vec<(ExprId, u64)>,
    constant: u64,
}

impl Choice {
    /// That of an element of an array of `len`, less its index.
    fn of_array(mut self, len: usize) -> Self {
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
    /// Whether a name is that of a value or a tensor whose elements are no scalars.
    pub(super) fn has_parts(&self, base: &str) -> bool {
        match self.frame.lookup(base) {
            Some(Binding::Value(_)) => true,
            Some(Binding::Tensor { elem, .. }) => elem.scalar().is_none(),
            _ => false,
        }
    }

    /// The part of an element that `expr` is; none where it is a part of something else.
    pub(super) fn element(&mut self, expr: &Expr) -> Result<Option<Element>> {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Index { base, index } => {
                let Some(Binding::Tensor { param, elem, .. }) = self.frame.lookup(base) else {
                    return Ok(None);
                };
                self.check_rank(base, self.rank(param).into(), index.len(), span)?;
                let index = self.index(index)?;
                let index = index.into_iter().map(|at| self.emit.fix(at)).collect();
                let choice = Choice::default();
                Ok(Some(Element { tensor: param, index, ty: elem, component: 0, choice, span }))
            }
            ExprKind::Field { value, name } => {
                let Some(element) = self.element(value)? else { return Ok(None) };
                let Some((ty, _)) = element.ty.field(name) else {
                    return Err(self.type_error(span, format!("{} has no `{name}`", element.ty)));
                };
                let component = element.component + element.ty.components_before(name);
                Ok(Some(Element { ty, component, span, ..element }))
            }
            ExprKind::Element { value, index } => {
                let Some(mut element) = self.element(value)? else { return Ok(None) };
                let Some((ty, extents)) = element.ty.element(index.len()) else {
                    let what = format!("{} has no such elements", element.ty);
                    return Err(self.type_error(span, what));
                };
                for (at, extent) in self.index(index)?.into_iter().zip(extents) {
                    let mut choice = element.choice.of_array(extent);
                    match self.below(at, extent, span) {
                        Ok(number) => choice.constant += number as u64,
                        Err(index) => choice.terms.push((index, 1)),
                    }
                    element.choice = choice;
                }
                Ok(Some(Element { ty, span, ..element }))
            }
            _ => Ok(None),
        }
    }

    pub(super) fn read_element(&mut self, element: &Element) -> Result<Value> {
        self.check_size(element.ty, element.span)?;
        let mut leaves = Vec::new();
        for (component, choice) in scalars(element) {
            let (tensor, elem, index) = self.scalar_at(element, component, &choice)?;
            leaves.push(self.load(Array::Tensor(tensor), elem, index, element.span));
        }
        Ok(Value { ty: element.ty, leaves })
    }

    pub(super) fn write_element(&mut self, element: &Element, value: &Value) -> Result<()> {
        self.check_size(element.ty, element.span)?;
        for ((component, choice), value) in scalars(element).into_iter().zip(&value.leaves) {
            let (tensor, _, index) = self.scalar_at(element, component, &choice)?;
            self.store(Array::Tensor(tensor), index, *value, element.span);
        }
        Ok(())
    }

    /// An atomic on a scalar of an element, not yet emitted.
    pub(super) fn atomic_element(
        &mut self,
        op: AtomicOp,
        place: &Expr,
        value: &Expr,
        span: Span,
    ) -> Result<(ScalarType, Ir)> {
        let Some(element) = self.element(place)? else {
            return Err(self.type_error(span, "an atomic needs an element of a tensor"));
        };
        let ([(component, choice)], Type::Scalar(ty)) = (&scalars(&element)[..], element.ty) else {
            let what = format!("an atomic works on a number, not on {}", element.ty);
            return Err(self.type_error(span, what));
        };
        let value = self.want(value, ty)?;
        let value = self.emit.shallow(value);
        let (tensor, _, index) = self.scalar_at(&element, *component, choice)?;
        Ok((ty, self.atomic_op(op, Array::Tensor(tensor), index, value, span)))
    }

    /// A component, the type of its scalars, and the indices of one of them.
    fn scalar_at(
        &mut self,
        element: &Element,
        component: usize,
        choice: &Choice,
    ) -> Result<(ParamId, ScalarType, Vec<ExprId>)> {
        let tensor = ParamId::new(element.tensor.raw() + component as u32);
        let kind = self.params.get(tensor.index()).copied();
        let elem = kind.and_then(|kind| kind.elem());
        let (Some(kind), Some(elem)) = (kind, elem) else {
            return Err(self.unknown("a tensor's component", element.span));
        };
        let mut index: Vec<_> = element.index.iter().map(|at| self.emit.again(*at)).collect();
        if kind.component_extent().is_some() {
            index.push(self.chosen_scalar(choice));
        }
        Ok((tensor, elem, index))
    }

    fn chosen_scalar(&mut self, choice: &Choice) -> ExprId {
        let mut sum = None;
        for (at, by) in &choice.terms {
            let mut term = self.emit.again(*at);
            if *by != 1 {
                let by = self.emit.constant(*by);
                term = self.emit.binary(BinaryOp::Mul, term, by);
            }
            sum = Some(match sum {
                Some(sum) => self.emit.binary(BinaryOp::Add, sum, term),
                None => term,
            });
        }
        let constant = |this: &mut Self| this.emit.constant(choice.constant);
        match sum {
            None => constant(self),
            Some(sum) if choice.constant == 0 => sum,
            Some(sum) => {
                let constant = constant(self);
                self.emit.binary(BinaryOp::Add, sum, constant)
            }
        }
    }
}

/// The component and the choice within it of each scalar, in order.
fn scalars(element: &Element) -> Vec<(usize, Choice)> {
    let mut found = Vec::new();
    each_scalar(element.ty, element.component, &element.choice, &mut found);
    found
}

fn each_scalar(ty: Type, component: usize, choice: &Choice, found: &mut Vec<(usize, Choice)>) {
    let several = |len: usize, found: &mut Vec<_>| {
        let all = choice.clone().of_array(len);
        found.extend((0..len).map(|at| (component, all.at(at))));
    };
    let mut fields = |types: &mut dyn Iterator<Item = Type>| {
        let mut component = component;
        for ty in types {
            each_scalar(ty, component, choice, found);
            component += ty.components().len();
        }
    };
    match ty {
        Type::Scalar(_) => found.push((component, choice.clone())),
        Type::Vector(_, len) => several(len, found),
        Type::Matrix(_, rows, columns) => several(rows * columns, found),
        Type::Array(element, len) => {
            let all = choice.clone().of_array(len);
            (0..len).for_each(|at| each_scalar(*element, component, &all.at(at), found));
        }
        Type::Tuple(parts) => fields(&mut parts.iter().copied()),
        Type::Struct(of) => fields(&mut of.fields.iter().map(|field| field.ty)),
    }
}
