//! Partial results: what the iterations of a thread combine before it reaches memory, as the schedule says.

use super::{
    compile::{Compiler, END},
    machine::{CombineOp, Op, Reg},
    select,
};
use crate::{
    Element, ParamId, ScalarType, SiteId,
    abi::{self, Form, TEMPORARIES_WORD},
    task_schedule::{Privatized, Reduction, ReductionTarget},
};

/// The maximum number of elements of a tensor with private copies.
const PRIVATE_ELEMENTS: u32 = 2048;

/// A partial result, in registers.
#[derive(Clone, Copy)]
pub(super) struct PartialResult<'k> {
    target: PartialTarget<'k>,
    combine: CombineOp,
    /// The register that records that a value was combined. The values follow.
    used: Reg,
    len: u32,
}

#[derive(Clone, Copy)]
enum PartialTarget<'k> {
    Reduction(&'k ReductionTarget, Option<SiteId>, ScalarType),
    Tensor(ParamId),
}

impl PartialResult<'_> {
    fn first(&self) -> Reg {
        self.used + 1
    }

    /// Sets the values of a thread that has combined nothing.
    pub(super) fn initialize(&self, registers: &mut [u64]) {
        registers[self.first() as usize..][..self.len as usize].fill(self.identity());
    }

    /// The value that changes no other one. For minima and maxima of floats it is a NaN, because a number is preferred
    /// to it.
    fn identity(&self) -> u64 {
        match self.combine {
            CombineOp::AddF32 => u64::from((-0.0f32).to_bits()),
            CombineOp::AddF64 => (-0.0f64).to_bits(),
            CombineOp::MinF32 | CombineOp::MaxF32 => u64::from(f32::NAN.to_bits()),
            CombineOp::MinF64 | CombineOp::MaxF64 => f64::NAN.to_bits(),
            combine => combine.identity(),
        }
    }
}

impl<'k> Compiler<'k> {
    /// Allocates the partial results.
    pub(super) fn begin_partials(&mut self) {
        let schedule = self.schedule;
        for Reduction { target, op, ty, site } in &schedule.reductions {
            let used = self.consecutive(2);
            let (target, combine) =
                (PartialTarget::Reduction(target, *site, *ty), select::combine(*op, *ty));
            self.partials.push(PartialResult { target, combine, used, len: 1 });
        }
        if let Some(Privatized { tensor, op, ty }) = schedule.privatized {
            let used = self.consecutive(1 + PRIVATE_ELEMENTS);
            let combine = select::combine(op, ty);
            let (target, len) = (PartialTarget::Tensor(tensor), PRIVATE_ELEMENTS);
            self.partials.push(PartialResult { target, combine, used, len });
        }
    }

    /// Combines a value into the partial result of a target. Returns false if it has none.
    pub(super) fn combine_partially(&mut self, target: &ReductionTarget, value: Reg) -> bool {
        let is_of_target =
            |of: PartialTarget<'_>| matches!(of, PartialTarget::Reduction(of, ..) if of == target);
        let partials = &self.partials;
        let Some(partial) = partials.iter().find(|one| is_of_target(one.target)).copied() else {
            return false;
        };
        let at = self.constant(0);
        self.combine_at(partial, at, value);
        true
    }

    /// Compiles an atomic on a reduced element or a privatized tensor. Returns false for others.
    pub(super) fn reduce(&mut self, element: &Element, index: &[Reg], value: Reg) -> bool {
        let Some(tensor) = element.tensor() else { return false };
        let found = self.partials.iter().find(|partial| match partial.target {
            PartialTarget::Reduction(ReductionTarget::Element(of, _), ..) => *of == tensor,
            PartialTarget::Tensor(of) => of == tensor,
            PartialTarget::Reduction(..) => false,
        });
        let Some(partial) = found.copied() else { return false };
        match partial.target {
            PartialTarget::Reduction(..) => {
                let at = self.constant(0);
                self.combine_at(partial, at, value);
            }
            PartialTarget::Tensor(_) => {
                let (base, to) = (self.tensor(tensor), self.temporary());
                let at = index[0];
                let (limit, small) = (self.constant(PRIVATE_ELEMENTS.into()), self.temporary());
                self.code.push(Op::LeU(small, base + 1, limit));
                let large = self.code.len();
                self.code.push(Op::Unless(small, END));
                self.check(base, index, to, element.site);
                self.combine_at(partial, at, value);
                let over = self.jump();
                self.patch_jumps(&[large]);
                self.check(base, index, to, element.site);
                self.code.push(Op::Atomic(to, base, at, value, partial.combine));
                self.patch_jumps(&[over]);
            }
        }
        true
    }

    /// The first operation is the one that a failed check skips.
    fn combine_at(&mut self, partial: PartialResult<'_>, at: Reg, value: Reg) {
        let (old, one) = (self.temporary(), self.constant(1));
        let PartialResult { combine, used, len, .. } = partial;
        self.code.push(Op::SharedAtomic(old, partial.first(), len, at, value, combine));
        self.code.push(Op::Move(used, one));
    }

    /// The code that combines the partial results into their targets.
    pub(super) fn end_partials(&mut self) -> Vec<Op> {
        for partial in self.partials.clone() {
            self.statement += 1;
            let unused = self.code.len();
            self.code.push(Op::Unless(partial.used, END));
            match partial.target {
                PartialTarget::Reduction(ReductionTarget::Temp(temp), _, ty) => {
                    let values_per_word = 8 / ty.size();
                    let index = self.constant((abi::temp_word(*temp) * values_per_word) as u64);
                    let (old, base) = (self.temporary(), TEMPORARIES_WORD as Reg);
                    self.code.push(Op::Atomic(old, base, index, partial.first(), partial.combine));
                }
                PartialTarget::Reduction(ReductionTarget::Element(tensor, index), site, _) => {
                    let index: Vec<Reg> = index.iter().map(|at| self.value(*at)).collect();
                    let at = self.element(*tensor, &index);
                    let (base, old) = (self.tensor(*tensor), self.temporary());
                    if let Some(site) = site.filter(|_| self.form == Form::Checked) {
                        self.check(base, &index, old, site);
                    }
                    self.code.push(Op::Atomic(old, base, at, partial.first(), partial.combine));
                }
                PartialTarget::Tensor(tensor) => self.end_private_copy(partial, tensor),
            }
            self.patch_jumps(&[unused]);
        }
        std::mem::take(&mut self.code)
    }

    /// Combines all elements of a private copy into the tensor.
    fn end_private_copy(&mut self, partial: PartialResult<'_>, tensor: ParamId) {
        let base = self.tensor(tensor);
        let (limit, small) = (self.constant(PRIVATE_ELEMENTS.into()), self.temporary());
        self.code.push(Op::LeU(small, base + 1, limit));
        let large = self.code.len();
        self.code.push(Op::Unless(small, END));
        let [at, value, old, test] = [(); 4].map(|()| self.temporary());
        let (zero, one) = (self.constant(0), self.constant(1));
        let identity = self.constant(partial.identity());
        self.code.push(Op::Move(at, zero));
        let start = self.code.len() as u32;
        self.code.push(Op::LtU(test, at, base + 1));
        let over = self.code.len();
        self.code.push(Op::Unless(test, END));
        self.code.push(Op::SharedLoad(value, partial.first(), partial.len, at));
        self.code.push(Op::Ne(test, value, identity));
        let unchanged = self.code.len();
        self.code.push(Op::Unless(test, END));
        self.code.push(Op::Atomic(old, base, at, value, partial.combine));
        self.patch_jumps(&[unchanged]);
        self.code.push(Op::Add64(at, at, one));
        self.code.push(Op::Jump(start));
        self.patch_jumps(&[large, over]);
    }
}
