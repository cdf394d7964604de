//! Launches: a kernel call with its arguments, and the path of a launch from there to the device.
//!
//! [`Launch`] collects [arguments](crate::arguments) and submits them: by the fast path (`fast_path.rs`), which reuses
//! a cached launch decision, or by the slow path (`slow_path.rs`, `submit.rs`). Both enqueue the plan of the kernel
//! (`launcher/plan.rs`).

mod argument_copies;
pub(crate) mod fast_path;
pub(crate) mod kernel;
mod operation;
pub(crate) mod prepared;
pub(crate) mod slow_path;
mod stamp_guard;
mod strided;
pub(crate) mod submit;
mod unload;

use std::{marker::PhantomData, mem, panic::Location, sync::Arc};

use quadrants_ir::types::Type;

use self::{
    argument_copies::copies_strided,
    fast_path::{FastPath, submit_fast},
    slow_path::submit_slow,
    strided::with_strides,
};
use crate::{
    Error, KernelValue, Program, Result, Stream,
    arguments::{Arg, ArgList, ReusedArgList, target::LaunchTarget},
    kernel::kernel_def::KernelDef,
    launcher::{explain::Explanation, launch_cache::Checks},
    state::{ProgramInner, ProgramShared, StreamState},
    thread_state::current_stream::with_current,
};

/// A kernel call with arguments that is not submitted yet. Calling a kernel returns one.
#[must_use = "a launch does nothing until `launch` or `launch_on` submits it"]
#[derive(Debug)]
pub struct Launch<'a, R = ()> {
    kernel: &'a KernelDef,
    args: ReusedArgList<'a>,
    result: PhantomData<fn() -> R>,
}

/// The type of a kernel's value: nothing, or a kernel value.
pub trait KernelResult: Sized + sealed::Sealed {
    /// The type of the value.
    #[doc(hidden)]
    const TYPE: Option<Type>;

    /// The value from the words that the kernel wrote, one per scalar.
    #[doc(hidden)]
    fn from_words(words: &[u64]) -> Self;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for () {}
    impl<T: crate::KernelValue> Sealed for T {}
}

impl KernelResult for () {
    const TYPE: Option<Type> = None;

    fn from_words(_: &[u64]) {}
}

impl<T: KernelValue> KernelResult for T {
    const TYPE: Option<Type> = Some(T::LAYOUT);

    fn from_words(words: &[u64]) -> Self {
        let mut words = words.iter();
        T::from_scalars(&mut || words.next().copied().unwrap_or_default())
    }
}

impl<'a, R: KernelResult> Launch<'a, R> {
    /// A launch of `kernel` without arguments.
    #[inline(always)]
    pub fn new(kernel: &'a KernelDef) -> Self {
        Self { kernel, args: ReusedArgList::new(), result: PhantomData }
    }

    /// Appends an argument.
    #[inline(always)]
    pub fn arg(mut self, arg: impl Arg<'a>) -> Self {
        self.push(arg);
        self
    }

    /// [`arg`](Self::arg) by reference.
    #[doc(hidden)]
    #[inline(always)]
    pub fn push(&mut self, arg: impl Arg<'a>) {
        arg.push_to(&mut self.args);
    }

    /// Submits the launch to this thread's current stream: the stream of the innermost [`Stream::scope`], or else the
    /// program's default stream. Waits for the kernel where it returns a value or has a [`host_mut`](crate::host_mut)
    /// argument.
    ///
    /// # Errors
    /// [`Error::Kernel`] where an earlier kernel on the stream reported an error that was not returned yet; errors of
    /// building and compiling the kernel; [`Error::Race`]; or an error of the device.
    #[track_caller]
    pub fn launch(self) -> Result<R> {
        self.submit_to_current(Checks::On)
    }

    /// Submits the launch to `stream`.
    ///
    /// # Errors
    /// As for [`launch`](Self::launch), and [`Error::OtherProgram`] where the stream and the tensors belong to
    /// different programs.
    #[track_caller]
    pub fn launch_on(self, stream: &Stream) -> Result<R> {
        self.submit_to(stream, Checks::On)
    }

    /// Builds the kernel for `program` without launching it. The arguments only select the kernel; they are not used.
    /// On a GPU, both forms of the kernel are compiled and loaded, so that no later launch has to. An
    /// [export](Program::export_cache) of the program includes the kernel.
    ///
    /// # Errors
    /// Errors of building, compiling and loading the kernel.
    ///
    /// # Examples
    /// See [`Program::export_cache`].
    pub fn prepare(self, program: &Program) -> Result<()> {
        let shared = program.shared();
        shared.launcher.prepare(&shared.loader, self.variant(shared)?.0)
    }

    /// Explains how the launch would run, without running it: for each loop, whether its accesses are checked and which
    /// could not be proven, how it is scheduled, and its grid. Compiles the kernel if that is not done yet.
    /// `QUADRANTS_EXPLAIN=1` prints the same to stderr for every launch with new sizes.
    ///
    /// # Errors
    /// As for [`launch`](Self::launch), except for those of the device.
    pub fn explain(self, program: &Program) -> Result<Explanation> {
        let shared = program.shared();
        let (kernel, args) = self.variant(shared)?;
        let (_, context) = shared.launcher.context_of(&shared.loader, kernel)?;
        context.explain(&shared.loader, &args.codes, args.words)
    }

    /// The kernel that the launch runs, and its arguments.
    fn variant(&self, shared: &ProgramShared) -> Result<(&'a KernelDef, ArgList<'a>)> {
        if !copies_strided(shared) {
            return with_strides(self.kernel, &self.args);
        }
        // The launch works on copies, which are contiguous.
        let mut args = ArgList::new();
        self.args.iter().for_each(|arg| args.push_as_contiguous(arg));
        Ok((self.kernel, args))
    }

    /// The kernel's IR, for tests that interpret it.
    ///
    /// # Errors
    /// [`Error::Build`]
    #[doc(hidden)]
    pub fn ir(&self) -> Result<quadrants_ir::Kernel> {
        let name = || self.kernel.name().to_owned();
        self.kernel.ir().map_err(|source| Error::Build { kernel: name(), source })
    }

    /// Submits the launch to the current stream without index checks.
    ///
    /// # Safety
    /// Every index that the kernel uses is in range.
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
    /// Every index that the kernel uses is in range.
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
        let launched = match R::TYPE {
            None => submit_fast(args, kernel, program, stream, checks),
            Some(_) => FastPath::Declined(args),
        };
        if let FastPath::Launched = launched {
            // The variant has no data; without this, the compiler emits a check for it.
            mem::forget(launched);
            return Ok(R::from_words(&[]));
        }
        let target = LaunchTarget { stream, checks, at };
        submit_slow(program, kernel, launched, R::TYPE, target).map(|words| R::from_words(&words))
    }
}
