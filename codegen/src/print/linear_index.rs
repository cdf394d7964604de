//! Prints linear indices of elements as a part shared with adjacent elements, plus a constant distance. The device
//! compiler then computes the shared part once for adjacent elements, and the distances once per launch.

use quadrants_ir::{
    BinaryOp, ExprId, ExprKind, LocalId, ParamId, ScalarType, launch_analysis::MAX_INDEX_DISTANCE,
};

use super::{
    consts,
    expr::{Precedence, PrintedExpr},
    task::TaskPrinter,
};

impl TaskPrinter<'_> {
    /// The linear index of an element, as a sum. 64-bit indices wrap, so the order of additions does not matter; the
    /// launch has proven that 32-bit indices do not overflow in this order.
    pub(super) fn offset(&mut self, tensor: ParamId, index: &[ExprId]) -> PrintedExpr {
        if self.kernel.params[tensor.index()].strided {
            return self.sum_of_strides(tensor, index);
        }
        let narrow = self.narrow_index(index);
        let (ty, index) = match &narrow {
            Some(index) => (ScalarType::I32, &index[..]),
            None => (ScalarType::U64, index),
        };
        let zero = consts::zero(ty);
        let mut common = PrintedExpr::new(Precedence::Primary, "0");
        let mut constants = Vec::new();
        for (axis, &id) in index.iter().enumerate() {
            let (value, constant) = self.linear(id, ty);
            constants.push(constant);
            common = match axis {
                0 => value,
                _ => {
                    let dim = self.tensor_extent(tensor, axis, ty);
                    let outer = common.at(Precedence::Multiplicative);
                    match value.text {
                        ref text if *text == zero => {
                            PrintedExpr::new(Precedence::Multiplicative, format!("{outer} * {dim}"))
                        }
                        _ => {
                            let inner = value.at(Precedence::Multiplicative);
                            PrintedExpr::new(
                                Precedence::Additive,
                                format!("{outer} * {dim} + {inner}"),
                            )
                        }
                    }
                }
            };
        }
        if constants.iter().all(|constant| *constant == 0) {
            return common;
        }
        let mut text = match common.text == zero {
            true => String::new(),
            false => common.at(Precedence::Additive),
        };
        for (axis, &constant) in constants.iter().enumerate().filter(|(_, c)| **c != 0) {
            let mut factors = Vec::new();
            let last = axis + 1 == index.len();
            if constant.unsigned_abs() != 1 || last {
                factors.push(consts::int(ty, constant.unsigned_abs() as i128));
            }
            factors
                .extend((axis + 1..index.len()).map(|inner| self.tensor_extent(tensor, inner, ty)));
            match (text.is_empty(), constant < 0) {
                (true, false) => {}
                (true, true) => text = format!("{zero} - "),
                (false, false) => text += " + ",
                (false, true) => text += " - ",
            }
            text += &factors.join(" * ");
        }
        PrintedExpr::new(Precedence::Additive, text)
    }

    /// The linear index of an element of a strided tensor. It has 64 bits also in a task with 32-bit indices: the
    /// elements may be further apart than their number says.
    fn sum_of_strides(&mut self, tensor: ParamId, index: &[ExprId]) -> PrintedExpr {
        let index: Vec<_> =
            index.iter().map(|at| self.value(*at).at(Precedence::Multiplicative)).collect();
        let sum = self.strided_offset(tensor, &index).unwrap_or_default();
        PrintedExpr::new(Precedence::Additive, sum)
    }

    /// The 32-bit values of an index, if the linear index is computed with 32 bits: in a task with 32-bit indices,
    /// where the number of elements fits.
    fn narrow_index(&self, index: &[ExprId]) -> Option<Vec<ExprId>> {
        if !self.kernel.tasks[self.task.index()].schedule.narrow_indices {
            return None;
        }
        let narrow = |id: &ExprId| match self.kernel.exprs[*id].kind {
            ExprKind::Cast { value }
                if matches!(self.kernel.exprs[value].ty, ScalarType::I32 | ScalarType::U32) =>
            {
                Some(value)
            }
            ExprKind::Const(value) if value.bits() <= MAX_INDEX_DISTANCE => Some(*id),
            _ => None,
        };
        index.iter().map(narrow).collect()
    }

    fn tensor_extent(&mut self, tensor: ParamId, axis: usize, ty: ScalarType) -> String {
        match ty {
            ScalarType::I32 => self.narrow_dim(tensor, axis as u8),
            _ => self.dim(tensor, axis as u8),
        }
    }

    /// An index as a variable part of type `ty` and a constant.
    fn linear(&mut self, id: ExprId, ty: ScalarType) -> (PrintedExpr, i64) {
        let kernel = self.kernel;
        if ty == ScalarType::I32 && kernel.exprs[id].ty == ScalarType::U32 {
            return (self.value(id).cast(ty), 0);
        }
        match &kernel.exprs[id].kind {
            ExprKind::Const(value) => match value.as_int().map(i64::try_from) {
                Some(Ok(constant)) => {
                    (PrintedExpr::new(Precedence::Primary, consts::zero(ty)), constant)
                }
                _ => (self.value(id), 0),
            },
            ExprKind::Binary { op: op @ (BinaryOp::Add | BinaryOp::Sub), lhs, rhs } => {
                let constant = |at: ExprId| match &kernel.exprs[at].kind {
                    ExprKind::Const(value) => i64::try_from(value.as_int()?).ok(),
                    _ => None,
                };
                let (inner, added) = match (op, constant(*lhs), constant(*rhs)) {
                    (BinaryOp::Add, _, Some(added)) => (*lhs, Some(added)),
                    (BinaryOp::Add, Some(added), None) => (*rhs, Some(added)),
                    (BinaryOp::Sub, _, Some(taken)) => (*lhs, taken.checked_neg()),
                    _ => (id, None),
                };
                let Some(added) = added else { return (self.value(id), 0) };
                let (text, before) = self.linear(inner, ty);
                match before.checked_add(added) {
                    Some(sum)
                        if ty != ScalarType::I32 || sum.unsigned_abs() <= MAX_INDEX_DISTANCE =>
                    {
                        (text, sum)
                    }
                    _ => (self.value(id), 0),
                }
            }
            ExprKind::Local(local) => self.linear_variable(*local, id, ty),
            // Adjacent values do not overflow their type.
            ExprKind::Cast { value } if kernel.exprs[id].ty == ty => {
                match kernel.exprs[*value].kind {
                    ExprKind::Local(local) => self.linear_variable(local, id, ty),
                    _ => (self.value(id), 0),
                }
            }
            _ => (self.value(id), 0),
        }
    }

    /// A local that is an index or the operand of a conversion that is one, `id`, as a variable part of type `ty` and a
    /// constant.
    fn linear_variable(
        &mut self,
        local: LocalId,
        id: ExprId,
        ty: ScalarType,
    ) -> (PrintedExpr, i64) {
        let Some((first, distance)) = self.offset_vars.get(&local).cloned() else {
            return (self.value(id), 0);
        };
        let has = if self.has_narrow_counters() { ScalarType::I32 } else { ScalarType::U64 };
        let first = PrintedExpr::primary(first);
        (if has == ty { first } else { first.cast(ty) }, distance)
    }
}
