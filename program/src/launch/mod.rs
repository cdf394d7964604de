//! A launch under construction: a kernel with its arguments.

pub(crate) mod arguments;
pub(crate) mod block_head;
pub(crate) mod context;
pub(crate) mod error_record;
pub(crate) mod errors;
pub(crate) mod fast_path;
pub(crate) mod fork_join;
pub(crate) mod grid;
pub(crate) mod inline_list;
pub(crate) mod launch_cache;
pub(crate) mod launcher;
pub(crate) mod plan;
pub(crate) mod prepared;
pub(crate) mod region_graph;
pub(crate) mod report_slot;
pub(crate) mod seqlock;
pub(crate) mod stamp_guard;
pub(crate) mod submit;
pub(crate) mod temporaries;

use std::{marker::PhantomData, mem, panic::Location, sync::Arc};

use quadrants_ir::ScalarType;

use crate::{
    Element, Error, Program, Result, Stream,
    kernel::kernel_def::KernelDef,
    launch::{
        arguments::{Arg, Args},
        fast_path::{FastPath, submit_fast},
        submit::{Checks, LaunchTarget},
    },
    program::ProgramInner,
    stream::{StreamState, current::with_current},
};

/// A kernel with its arguments, not yet launched. Calling a kernel gives one.
#[must_use = "a launch does nothing until `launch` or `launch_on` submits it"]
#[derive(Debug)]
pub struct Launch<'a, R = ()> {
    kernel: &'a KernelDef,
    args: Args<'a>,
    result: PhantomData<fn() -> R>,
}

/// What a kernel can return: nothing, or a scalar.
pub trait KernelResult: Sized + sealed::Sealed {
    /// The type of the value.
    #[doc(hidden)]
    const TYPE: Option<ScalarType>;

    /// The value, from the word that the kernel wrote; no word where the kernel returns nothing.
    #[doc(hidden)]
    fn from_word(word: Option<u64>) -> Self;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for () {}
    impl<T: crate::Element> Sealed for T {}
}

impl KernelResult for () {
    const TYPE: Option<ScalarType> = None;

    fn from_word(_: Option<u64>) {}
}

impl<T: Element> KernelResult for T {
    const TYPE: Option<ScalarType> = Some(T::TYPE);

    fn from_word(word: Option<u64>) -> Self {
        T::from_bits64(word.unwrap_or_default())
    }
}

impl<'a, R: KernelResult> Launch<'a, R> {
    /// A launch of `kernel` without arguments yet.
    #[inline(always)]
    pub fn new(kernel: &'a KernelDef) -> Self {
        Self { kernel, args: Args::new(), result: PhantomData }
    }

    /// Appends an argument.
    #[inline(always)]
    pub fn arg(mut self, arg: impl Arg<'a>) -> Self {
        self.push(arg);
        self
    }

    /// As [`arg`](Self::arg), where it stands.
    #[doc(hidden)]
    #[inline(always)]
    pub fn push(&mut self, arg: impl Arg<'a>) {
        arg.push_to(&mut self.args);
    }

    /// Submits the launch to this thread's current stream: that of the innermost
    /// [`Stream::scope`], else the program's default stream. A kernel with a value waits for it, and so does one
    /// that is given [`host_mut`](crate::host_mut).
    ///
    /// # Errors
    /// [`Error::Kernel`] where an earlier kernel on the stream reported an error that was not yet
    /// returned; why the kernel cannot be built or compiled; or what the device returns.
    #[track_caller]
    pub fn launch(self) -> Result<R> {
        self.submit_to_current(Checks::On)
    }

    /// Submits the launch to `stream`.
    ///
    /// # Errors
    /// As for [`launch`](Self::launch), and [`Error::OtherProgram`] where stream and tensors are of
    /// different programs.
    #[track_caller]
    pub fn launch_on(self, stream: &Stream) -> Result<R> {
        self.submit_to(stream, Checks::On)
    }

    /// Builds the kernel for `program` and launches nothing: the arguments say which kernel it is, and are not used.
    /// On a GPU both of its forms are compiled and loaded, so that no launch has to; and an
    /// [export](Program::export_cache) of the program has it.
    ///
    /// # Errors
    /// Why the kernel cannot be built, compiled or loaded.
    ///
    /// # Examples
    /// See [`Program::export_cache`].
    pub fn prepare(self, program: &Program) -> Result<()> {
        let shared = program.shared();
        shared.launcher.prepare(shared, self.kernel)
    }

    /// The kernel's IR, for tests that interpret it.
    ///
    /// # Errors
    /// [`Error::Build`] where it cannot be made.
    #[doc(hidden)]
    pub fn ir(&self) -> Result<quadrants_ir::Kernel> {
        let name = || self.kernel.name().to_owned();
        self.kernel.ir().map_err(|source| Error::Build { kernel: name(), source })
    }

    /// Submits the launch to the current stream without index checks.
    ///
    /// # Safety
    /// Every index that the kernel uses is within its tensor's shape.
    ///
    /// # Errors
    /// As for [`launch`](Self::launch).
    #[track_caller]
    pub unsafe fn launch_unchecked(self) -> Result<R> {
        self.submit_to_current(Checks::Off)
    }

    /// Submits the launch to `stream` without index checks.
    ///
    /// # Safety
    /// Every index that the kernel uses is within its tensor's shape.
    ///
    /// # Errors
    /// As for [`launch_on`](Self::launch_on).
    #[track_caller]
    pub unsafe fn launch_unchecked_on(self, stream: &Stream) -> Result<R> {
        self.submit_to(stream, Checks::Off)
    }

    #[track_caller]
    #[inline]
    fn submit_to_current(self, checks: Checks) -> Result<R> {
        let (at, program) = (Location::caller(), self.args.program);
        with_current(program, |current| {
            let default = || program.map(|program| (program, &program.default));
            match current.or_else(default) {
                Some((program, stream)) => self.submit(program, stream, checks, at),
                None => Err(Error::NoProgram { kernel: self.kernel.name().to_owned() }),
            }
        })
    }

    #[track_caller]
    #[inline]
    fn submit_to(self, stream: &Stream, checks: Checks) -> Result<R> {
        self.submit(&stream.program, &stream.state, checks, Location::caller())
    }

    #[inline]
    fn submit(
        self,
        program: &Arc<ProgramInner>,
        stream: &Arc<StreamState>,
        checks: Checks,
        at: &'static Location<'static>,
    ) -> Result<R> {
        let Self { kernel, args, .. } = self;
        let submit_fast = match R::TYPE {
            None => submit_fast(args, kernel, program, stream, checks),
            Some(_) => FastPath::Declined(args),
        };
        if let FastPath::Launched = submit_fast {
            // Nothing is in it; but the compiler would ask.
            mem::forget(submit_fast);
            return Ok(R::from_word(None));
        }
        let target = LaunchTarget { stream, checks, at };
        program
            .shared
            .launcher
            .submit_slow(program, kernel, submit_fast, R::TYPE, target)
            .map(R::from_word)
    }
}
