//! The context of one launch of a CPU body ([`Cx`]) and its parameters ([`ArgumentReader`]), read from the argument
//! block.

use std::{marker::PhantomData, panic::Location};

use quadrants_ir::{
    abi::{ERROR_WORD, FIRST_PARAM_WORD, LAUNCH_WORD, TEMPORARIES_WORD},
    types::{ParamType, TensorField},
};

use super::{
    body_launch::BodyLaunch,
    check_mode::CheckMode,
    failure::Errors,
    level::{Level, Multiversioned},
    println::TextArgument,
    run::Run,
    view::{View, WithCheckMode},
};
use crate::{
    KernelValue,
    device_error::ErrorKind,
    value::{
        identity::Identity,
        memory::{Component, Memory},
    },
};

/// One launch of a CPU body: its argument block, what it checks, and the instruction level at which it runs.
pub struct Cx<'a, L> {
    args: &'a [u64],
    pub(super) launch: BodyLaunch<'a>,
    level: PhantomData<L>,
}

/// The parameters of a launch, read in order.
pub struct ArgumentReader<'a> {
    words: &'a [u64],
    errors: Errors,
    /// The check mode outside of loops.
    check_mode: CheckMode,
}

/// A type that a kernel takes by reference: a tensor, or a struct of tensors.
///
/// # Safety
/// `take` must read exactly the parameters that `PARAM` describes. The proofs of a launch are about those tensors.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a kernel or func by reference",
    label = "not a tensor or struct of tensors",
    note = "kernels and funcs take tensors, and structs that derive `Tensors`, by `&` or `&mut`, and other values without; \
            a thread block and its shared arrays stay in `block_for`, so give a func `b.index()` and elements"
)]
pub unsafe trait TensorParam {
    /// The type of the parameter in a CPU body.
    type View: WithCheckMode;

    /// The type of the parameter in the IR, when passed by `&mut`.
    const PARAM: ParamType;

    /// Why kernels cannot take the parameter. Emitted code [checks](accept) it.
    const REFUSED: Option<&'static str>;

    /// The identity of the type: see [`KernelValue::TYPE_IDENTITY`].
    const TYPE_IDENTITY: &'static Identity;

    /// Reads the parameter from an argument block.
    fn take(args: &mut ArgumentReader<'_>) -> Self::View;
}

/// Fails to compile where it is called if kernels cannot take a parameter: see [`TensorParam::REFUSED`].
///
/// # Panics
/// At compile time.
#[track_caller]
pub const fn accept(refused: Option<&'static str>) {
    if let Some(why) = refused {
        panic!("{}", why);
    }
}

/// The IR's description of a tensor in a struct of tensors.
#[must_use]
pub const fn tensor_field<P: TensorParam>(name: &'static str, writable: bool) -> TensorField {
    match P::PARAM {
        ParamType::Tensor { elem, rank, .. } => TensorField { name, elem, rank, writable },
        _ => panic!("a struct of tensors can contain only tensors"),
    }
}

impl<'a, L: Level> Cx<'a, L> {
    /// # Safety
    /// - The processor has the instructions of `L`.
    /// - `args` and `interiors` are laid out as `quadrants_ir::abi` says for the kernel whose body runs.
    /// - The addresses in `args` are valid for the body's accesses as long as this value is used. Every access is in
    ///   range, except those of the parts that `run.checked` names; of checked loops, every access of the iterations in
    ///   an interior.
    /// - Meanwhile no other code accesses that memory in a way that races with the body.
    pub(super) unsafe fn new(args: &'a [u64], interiors: &'a [u64], run: Run) -> Self {
        // SAFETY: the caller guarantees the addresses in the block.
        let errors = unsafe { Errors::new(args[ERROR_WORD] as *mut _, args[LAUNCH_WORD]) };
        Self { args, launch: BodyLaunch { interiors, run, errors }, level: PhantomData }
    }

    /// Whether the accesses outside of loops are proven.
    #[inline(always)]
    #[must_use]
    pub fn is_proven(&self) -> bool {
        !self.launch.run.checked.serial
    }

    /// The parameters of the launch.
    #[inline(always)]
    #[must_use]
    pub fn args(&self) -> ArgumentReader<'a> {
        let words = &self.args[FIRST_PARAM_WORD..];
        ArgumentReader {
            words,
            errors: self.launch.errors,
            check_mode: CheckMode::checked_unless(self.is_proven()),
        }
    }

    /// `assert!` in an iteration: reports a failed condition as a device error. The caller then ends the iteration.
    #[inline(always)]
    #[must_use]
    #[track_caller]
    pub fn holds(&self, condition: bool) -> bool {
        if !condition {
            self.launch.errors.report(ErrorKind::Assert, Location::caller(), &[]);
        }
        condition
    }

    /// A failed assertion with values in an iteration: reports a device error. The caller then ends the iteration.
    #[cold]
    #[inline(never)]
    #[track_caller]
    pub fn fail(&self, values: &[TextArgument]) {
        let values: Vec<u64> = TextArgument::scalars(values).map(|value| value.bits()).collect();
        self.launch.errors.report(ErrorKind::Assert, Location::caller(), &values);
    }

    /// Writes the kernel's result.
    #[inline(always)]
    pub fn finish<T: KernelValue>(&self, value: T) {
        let temporaries = self.args[TEMPORARIES_WORD] as *mut u64;
        let mut word = self.launch.run.result_word;
        value.push_scalars(&mut |scalar| {
            // SAFETY: the maker of `self` guarantees the temporaries, which have a word for each scalar of the result
            // of a kernel that has one.
            unsafe { temporaries.add(word).write(scalar.bits()) }
            word += 1;
        });
    }

    /// Runs [`C::code`](Multiversioned::code), compiled for level `L`.
    #[inline(always)]
    pub(super) fn run_at_level<C: Multiversioned<A>, A>(&self, arguments: A) {
        // SAFETY: the maker of `self` guarantees that the processor has the instructions.
        unsafe { L::run::<C, A>(arguments) }
    }
}

impl ArgumentReader<'_> {
    /// The next parameter as the view of one tensor.
    #[inline(always)]
    #[must_use]
    pub fn view<T: KernelValue, const N: usize>(&mut self) -> View<T, N> {
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
        // SAFETY: the maker of the `Cx` guarantees the block's addresses and extents.
        unsafe {
            let storage = T::storage(&mut Memory::new(&mut next));
            View::new(storage, shape, self.errors, self.check_mode)
        }
    }

    /// The next word.
    #[inline(always)]
    pub fn word(&mut self) -> u64 {
        let (first, rest) = self.words.split_first().expect("the block has a word per parameter");
        self.words = rest;
        *first
    }
}
