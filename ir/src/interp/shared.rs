//! Shared arrays. Constant ones are registers. Dynamic ones have words in the block's shared memory, which grows as
//! they are defined.

use super::{
    compile::Compiler,
    machine::{CombineOp, Op, Reg},
    memory::ExecFault,
};
use crate::{Array, Element, LocalId, SharedExtent, abi::Form};

/// The registers of a dynamic array: the offset in shared memory, three extents, and the length.
pub(super) const REGISTERS: usize = 5;

/// The maximum number of words of a block's shared memory. Launches on devices have far lower limits.
const MAX_WORDS: u64 = 1 << 24;

impl Compiler<'_> {
    pub(super) fn shared_array(&mut self, array: LocalId, dims: &[SharedExtent]) {
        let constants: Option<Vec<u32>> = dims.iter().map(|dim| dim.constant()).collect();
        if let Some(dims) = constants {
            let first = self.array(dims.iter().product());
            self.arrays.insert(array, (first, dims));
            return;
        }
        let registers = self.regs;
        self.regs += REGISTERS as Reg;
        let one = SharedExtent::Constant(1);
        for (at, dim) in dims.iter().chain([&one; 2]).take(3).enumerate() {
            let value = match *dim {
                SharedExtent::Constant(number) => self.constant(number.into()),
                SharedExtent::Local(local) => self.local(local),
            };
            self.code.push(Op::Move(registers + 1 + at as Reg, value));
        }
        self.code.push(Op::NewShared { array: registers });
        self.dynamic.insert(array, registers);
    }

    /// Checks the indices of a dynamic array, if the element is in one. Returns the registers of the array and the
    /// register of the linear index.
    pub(super) fn dynamic(
        &mut self,
        element: &Element,
        index: &[Reg],
        clear: Reg,
    ) -> Option<(Reg, Reg)> {
        let Array::Shared(array) = element.array else { return None };
        let tensor = *self.dynamic.get(&array)?;
        // The registers are like those of a tensor: extents after the first.
        let at = self.flat(tensor, index);
        self.check(tensor, index, clear, element.site);
        Some((tensor, at))
    }

    /// Checks the indices of a shared array. Returns the first register of a shared or local array, its length and the
    /// register of the linear index.
    pub(super) fn shared(
        &mut self,
        element: &Element,
        index: &[Reg],
        clear: Reg,
    ) -> (Reg, u32, Reg) {
        let (array, is_shared) = match element.array {
            Array::Tensor(_) => (None, false),
            Array::Shared(array) => (Some(array), true),
            Array::Local(array) => (Some(array), false),
        };
        let site = self.site(element.site);
        let array = array.and_then(|array| self.arrays.get(&array));
        let (first, dims) = array.cloned().unwrap_or_default();
        let len = dims.iter().product();
        let (at, check) = match (index, &dims[..]) {
            (&[i, j, k], &[planes, rows, columns]) => {
                let (row, at) = (self.temporary(), self.temporary());
                let (height, width) = (self.constant(rows.into()), self.constant(columns.into()));
                self.code.push(Op::MulAdd64(row, i, height, j));
                self.code.push(Op::MulAdd64(at, row, width, k));
                let dims = [planes, rows, columns];
                (at, Op::CheckShared3 { index: [i, j, k], dims, clear, site })
            }
            (&[i, j], &[rows, columns]) => {
                let at = self.temporary();
                let width = self.constant(u64::from(columns));
                self.code.push(Op::MulAdd64(at, i, width, j));
                let dims = [rows, columns];
                (at, Op::CheckShared2 { index: [i, j], dims, clear, site })
            }
            _ => {
                let index = index.first().copied().unwrap_or_default();
                (index, Op::CheckShared { index, len, clear, site })
            }
        };
        if is_shared && self.form == Form::Checked {
            self.code.push(check);
        }
        (first, len, at)
    }

    /// An atomic: the combination, the expected value of a compare-exchange, and the value.
    pub(super) fn shared_atomic(
        &mut self,
        element: &Element,
        indices: &[Reg],
        to: Reg,
        (combine, expected, value): (CombineOp, Option<Reg>, Reg),
    ) -> Op {
        if let Some((array, index)) = self.dynamic(element, indices, to) {
            return match expected {
                Some(expected) => Op::DynamicCompareExchange { to, array, index, expected, value },
                None => Op::DynamicAtomic(to, array, index, value, combine),
            };
        }
        let (first, len, index) = self.shared(element, indices, to);
        match expected {
            Some(expected) => Op::SharedCompareExchange { to, first, len, index, expected, value },
            None => Op::SharedAtomic(to, first, len, index, value, combine),
        }
    }
}

/// The register of an element of a constant shared array.
#[inline(always)]
pub(super) fn register(first: Reg, len: u32, at: u64, write: bool) -> Result<usize, ExecFault> {
    if at < u64::from(len) {
        Ok(first as usize + at as usize)
    } else {
        Err(ExecFault::Address { address: at.wrapping_mul(8), bytes: 8, write })
    }
}

/// Allocates a dynamic array of zeros, whose extents are in its registers.
pub(super) fn allocate(shared: &mut Vec<u64>, registers: &mut [u64]) -> Result<(), ExecFault> {
    let [offset, rows, columns, scalars, len] = registers else { return Ok(()) };
    let words = rows.checked_mul(*columns).and_then(|all| all.checked_mul(*scalars));
    let start = shared.len() as u64;
    let fits = words.filter(|words| *words <= MAX_WORDS && start + words <= MAX_WORDS);
    let bytes = usize::MAX;
    let words = fits.ok_or(ExecFault::Address { address: start * 8, bytes, write: true })?;
    (*offset, *len) = (start, words);
    shared.resize((start + words) as usize, 0);
    Ok(())
}

/// The word of an element of a dynamic array.
pub(super) fn word<'a>(
    shared: &'a mut [u64],
    registers: &[u64],
    at: u64,
    write: bool,
) -> Result<&'a mut u64, ExecFault> {
    let (offset, len) = (registers[0], registers[REGISTERS - 1]);
    let word = (at < len).then(|| shared.get_mut((offset + at) as usize)).flatten();
    word.ok_or(ExecFault::Address { address: at.wrapping_mul(8), bytes: 8, write })
}
