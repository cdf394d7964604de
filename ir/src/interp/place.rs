//! The places of elements in their tensors.

use super::{
    compile::Compiler,
    machine::{Op, Reg},
};
use crate::{ParamId, ParamKind};

impl Compiler<'_> {
    /// Whether the linear index of an element is its distance from the first in scalars.
    pub(super) fn is_dense(&self, tensor: ParamId) -> bool {
        let param = &self.kernel.params[tensor.index()];
        matches!(param.kind, ParamKind::Tensor { .. }) && !param.strided
    }

    /// The register with the distance of an element's scalar from the tensor's address, in scalars.
    pub(super) fn element(&mut self, param: ParamId, index: &[Reg]) -> Reg {
        let tensor = self.tensor(param);
        let (kind, strided) =
            (self.kernel.params[param.index()].kind, self.kernel.params[param.index()].strided);
        let (of_tensor, choice) = index.split_at(usize::from(kind.rank()).min(index.len()));
        let element = match strided {
            true => self.strided(self.layout.element_strides(param, kind) as Reg, of_tensor),
            false => self.flat(tensor, of_tensor),
        };
        let ParamKind::Component { .. } = kind else { return element };
        let [step, plane] = self.layout.strides(param, kind).map(|word| word as Reg);
        let at = self.temporary();
        self.code.push(Op::Mul64(at, element, step));
        if let [choice] = *choice {
            let further = self.temporary();
            self.code.push(Op::Mul64(further, choice, plane));
            self.code.push(Op::Add64(at, at, further));
        }
        at
    }

    /// The register with the distance of an element from the first, with the strides from register `first` on.
    fn strided(&mut self, first: Reg, index: &[Reg]) -> Reg {
        let mut sum = self.constant(0);
        for (stride, &i) in (first..).zip(index) {
            let (product, next) = (self.temporary(), self.temporary());
            self.code.push(Op::Mul64(product, i, stride));
            self.code.push(Op::Add64(next, sum, product));
            sum = next;
        }
        sum
    }

    /// The register with the linear index of an element.
    pub(super) fn flat(&mut self, tensor: Reg, index: &[Reg]) -> Reg {
        let (first, inner) = match *index {
            [] => return self.constant(0),
            [i] => return i,
            [first, ref inner @ ..] => (first, inner),
        };
        let at = self.temporary();
        match *inner {
            [j] => self.code.push(Op::Index2(at, tensor, first, j)),
            [j, k] => self.code.push(Op::Index3(at, tensor, first, j, k)),
            _ => {
                self.code.push(Op::Move(at, first));
                for (axis, &k) in (1..).zip(inner) {
                    self.code.push(Op::Mul64(at, at, tensor + 1 + axis));
                    self.code.push(Op::Add64(at, at, k));
                }
            }
        }
        at
    }
}
