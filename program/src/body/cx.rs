//! The argument block as a body reads it.

use std::{marker::PhantomData, panic::Location};

use quadrants_ir::{
    abi::{ERROR_WORD, FIRST_PARAM_WORD, LAUNCH_WORD, SCRATCH_WORD},
    types::ParamType,
};

use super::{
    element_ref::{Component, Memory},
    failure::{ErrorKind, Errors},
    level::{Interior, Level},
    parallel::LoopInt,
    view::{View, WithProven},
};
use crate::{Element, KernelValue};

/// One launch of a body: its argument block, and the level and form that it runs in.
pub struct Cx<'a, L, const CHECKED: bool> {
    args: &'a [u64],
    /// The interiors of the loops, in the checked form.
    inside: &'a [u64],
    result_word: usize,
    pub(super) errors: Errors,
    level: PhantomData<L>,
}

/// The parameters of a launch, taken in order.
pub struct Args<'a, const CHECKED: bool> {
    words: &'a [u64],
    errors: Errors,
}

/// A type that a kernel takes by reference: the tensor as host code knows it, or a struct of such.
///
/// # Safety
/// `take` takes what `PARAM` says, so that a body sees the tensors that its proofs are of.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a kernel's parameter by reference",
    label = "not a tensor",
    note = "a kernel takes tensors, and structs of them that derive `Tensors`, by `&` or `&mut`, and numbers by value"
)]
pub unsafe trait TensorParam {
    /// What stands for it in a body.
    type View<const CHECKED: bool>: WithProven;

    /// What it is to the IR, by `&mut`.
    const PARAM: ParamType;

    /// Takes it from an argument block.
    fn take<const CHECKED: bool>(args: &mut Args<'_, CHECKED>) -> Self::View<CHECKED>;
}

impl<'a, L: Level, const CHECKED: bool> Cx<'a, L, CHECKED> {
    /// # Safety
    /// The processor has the instructions of `L`. `args` and `inside` are laid out as
    /// `quadrants_ir::abi` says for the kernel whose body runs; the addresses are valid for what the body
    /// does there (in the proven form every access of the body is in range, in the checked form every one
    /// of the iterations in an interior) as long as this is used, and no other code touches that memory
    /// meanwhile in a way that races with it.
    pub(super) unsafe fn new(args: &'a [u64], inside: &'a [u64], result_word: usize) -> Self {
        // SAFETY: the caller vouches for the addresses in the block.
        let errors = unsafe { Errors::new(args[ERROR_WORD] as *mut _, args[LAUNCH_WORD]) };
        Self { args, inside, result_word, errors, level: PhantomData }
    }

    /// The interior of a loop, whose words begin at `at`; an empty one where nothing is proven, or the
    /// processor lacks the instructions that interiors are compiled for.
    #[inline(always)]
    pub(super) fn interior<I: LoopInt, const N: usize>(&self, at: Option<usize>) -> [(I, I); N] {
        let words = at.and_then(|at| self.inside.get(at..at + 2 * N));
        let words = words.filter(|_| CHECKED && Interior::available());
        std::array::from_fn(|k| match words {
            Some(words) => (I::from_bits64(words[2 * k]), I::from_bits64(words[2 * k + 1])),
            None => (I::ZERO, I::ZERO),
        })
    }

    /// The parameters.
    #[inline(always)]
    #[must_use]
    pub fn args(&self) -> Args<'a, CHECKED> {
        Args { words: &self.args[FIRST_PARAM_WORD..], errors: self.errors }
    }

    /// `assert!` in an iteration, which is over where it fails: that is reported as a device error.
    #[inline(always)]
    #[must_use]
    #[track_caller]
    pub fn holds(&self, condition: bool) -> bool {
        if !condition {
            self.errors.report(ErrorKind::Assert, Location::caller(), &[]);
        }
        condition
    }

    /// Writes the kernel's value.
    #[inline(always)]
    pub fn finish<T: Element>(&self, value: T) {
        let scratch = self.args[SCRATCH_WORD] as *mut u64;
        let value: quadrants_ir::Const = value.into();
        // SAFETY: the maker of `self` vouches for the scratch memory, which has a word for the
        // result of a kernel that has one.
        unsafe { scratch.add(self.result_word).write(value.bits()) }
    }

    /// Calls `f(a)` as code of the level.
    #[inline(always)]
    pub(super) fn call<A, F: Fn(A)>(&self, f: &F, a: A) {
        // SAFETY: the maker of `self` says that the processor has the instructions.
        unsafe { L::call(f, a) }
    }

    /// The same as code for loops that wait for memory.
    #[inline(always)]
    pub(super) fn call_memory_bound<A, F: Fn(A)>(&self, f: &F, a: A) {
        // SAFETY: as above, and that level has all instructions of this one.
        unsafe { L::MemoryBound::call(f, a) }
    }

    /// The same, by value: only an argument can be a closure with an attribute.
    #[inline(always)]
    pub(super) fn call_by_value<A, F: Fn(A)>(&self, f: F, a: A) {
        self.call(&f, a);
    }

    /// Calls `f(a)` as code for iterations of an [`interior`](Self::interior).
    #[inline(always)]
    pub(super) fn call_interior<A, F: Fn(A)>(&self, f: F, a: A) {
        // SAFETY: there are such iterations only where the processor has the instructions.
        unsafe { Interior::call(&f, a) }
    }
}

impl<const CHECKED: bool> Args<'_, CHECKED> {
    /// The next parameter, a value.
    #[inline(always)]
    pub fn value<T: KernelValue>(&mut self) -> T {
        T::from_scalars(&mut || self.word())
    }

    /// The next parameter, a tensor.
    #[inline(always)]
    pub fn tensor<P: TensorParam>(&mut self) -> P::View<CHECKED> {
        P::take(self)
    }

    /// The next parameter as the view of a tensor.
    #[inline(always)]
    #[must_use]
    pub fn view<T: KernelValue, const N: usize>(&mut self) -> View<T, N, CHECKED> {
        let mut shape = [0; N];
        let mut next = |scalars| {
            let first = self.word() as *mut u8;
            shape = std::array::from_fn(|_| self.word() as usize);
            if const { T::LAYOUT.scalar().is_some() } {
                return Component { first, step: 1, plane: 0 };
            }
            if scalars > 1 {
                self.word();
            }
            Component { first, step: self.word() as usize, plane: self.word() as usize }
        };
        // SAFETY: the maker of the `Cx` vouches for the block's addresses and extents.
        unsafe {
            let storage = T::storage(&mut Memory::new(&mut next));
            View::new(storage, shape, self.errors)
        }
    }

    #[inline(always)]
    fn word(&mut self) -> u64 {
        let (first, rest) = self.words.split_first().expect("the block has a word per parameter");
        self.words = rest;
        *first
    }
}
