//! [`Body`], the trait that `#[kernel]` implements, and [`NativeBody`], the compiled instances of a CPU body.

use std::{fmt, sync::OnceLock};

use super::{
    cx::Cx,
    level::{self, Level, Multiversioned},
    run::Run,
};
use crate::error::BoxError;

/// A kernel's CPU body and IR. The macro `#[kernel]` implements it.
///
/// # Safety
/// Only `#[kernel]` may implement it. `ir` must return the kernel that `run` runs: a launch proves the accesses on the
/// IR, and `run` performs them, unchecked where they are proven. `run` must take each parameter from `cx` once, in
/// order and with its type, and must not use it after it returns.
pub unsafe trait Body {
    /// The kernel's name.
    const NAME: &'static str;

    /// The kernel's IR.
    ///
    /// # Errors
    /// If the kernel cannot be lowered.
    fn ir() -> Result<quadrants_ir::Kernel, BoxError>;

    /// Runs the kernel. `WIDE` is the number of iterations of a strip with one local, which depends on the level.
    fn run<L: Level, const WIDE: usize>(cx: &Cx<'_, L>);
}

/// The instances of a CPU body: one per instruction level.
#[derive(Clone, Copy)]
pub struct NativeBody {
    baseline: Instance,
    #[cfg(target_arch = "x86_64")]
    avx2: Instance,
    #[cfg(target_arch = "x86_64")]
    avx512: Instance,
}

/// # Safety
/// As [`NativeBody::run`]; in addition, the processor must have the instance's instructions.
type Instance = unsafe fn(&[u64], &[u64], Run);

/// Whether debug builds compile bodies for the baseline only. Without optimization the other levels gain nothing, and
/// take most of the time to compile a crate of kernels. Not the default: users may optimize their kernels in debug
/// builds, which this crate cannot see. This workspace sets the variable in `.cargo/config.toml`.
const ONE_LEVEL: bool =
    cfg!(debug_assertions) && !cfg!(test) && option_env!("QUADRANTS_CPU_BASELINE").is_some();

impl NativeBody {
    /// The instances of `B`.
    #[must_use]
    pub const fn of<B: Body>() -> Self {
        Self {
            baseline: instance::<B, level::Baseline, { level::STRIP_LEN }>,
            #[cfg(target_arch = "x86_64")]
            avx2: match ONE_LEVEL {
                true => instance::<B, level::Baseline, { level::STRIP_LEN }>,
                false => instance::<B, level::Avx2, { level::STRIP_LEN }>,
            },
            #[cfg(target_arch = "x86_64")]
            avx512: match ONE_LEVEL {
                true => instance::<B, level::Baseline, { level::STRIP_LEN }>,
                false => instance::<B, level::Avx512, { level::STRIP_LEN_AVX512 }>,
            },
        }
    }

    /// Runs the kernel at the best level of this processor, and returns when all of it has run.
    ///
    /// `args` is an argument block as `quadrants_ir::abi` lays it out, up to the last parameter. `interiors` are the
    /// words after it: the interiors of the loops, for those that are checked; if empty, they are. The kernel's result,
    /// if it has one, is written to word `run.result_word` of the block's temporaries. Device errors are recorded in
    /// the block's error record.
    ///
    /// # Panics
    /// If the body panics other than by a device error, for example by an arithmetic overflow.
    ///
    /// # Safety
    /// The words must be those of this kernel's parameters. Their addresses must be valid for the kernel's accesses,
    /// and no other code may access that memory in a way that races with the kernel. Every access must be
    /// in range, except those of the parts that `run.checked` names; of checked loops, every access of the iterations
    /// in an interior.
    pub unsafe fn run(&self, args: &[u64], interiors: &[u64], run: Run) {
        // SAFETY: the caller's promises; `best` checked the processor's instructions.
        unsafe { self.best()(args, interiors, run) }
    }

    /// Runs the kernel, as `run` says, at every level that this processor has, from the baseline up, and calls `before`
    /// with the level's name before each run.
    ///
    /// # Safety
    /// As for [`run`](Self::run), after each call of `before`.
    #[cfg(test)]
    pub(super) unsafe fn run_each_level(
        &self,
        args: &[u64],
        run: Run,
        mut before: impl FnMut(&'static str),
    ) {
        for (name, instance) in self.levels() {
            before(name);
            // SAFETY: the caller's promises; `levels` checked the processor's instructions.
            unsafe { instance(args, &[], run) }
        }
    }

    fn best(&self) -> Instance {
        // Cached: a query takes a dozen tests, about as long as a small launch.
        static BEST: OnceLock<usize> = OnceLock::new();
        let best = *BEST.get_or_init(|| self.levels().count() - 1);
        match best {
            #[cfg(target_arch = "x86_64")]
            1 => self.avx2,
            #[cfg(target_arch = "x86_64")]
            2 => self.avx512,
            _ => self.baseline,
        }
    }

    /// The instances that this processor can run, from the baseline up. Each level includes the instructions of those
    /// below it.
    fn levels(&self) -> impl Iterator<Item = (&'static str, Instance)> {
        [
            ("baseline", level::Baseline::available(), self.baseline),
            #[cfg(target_arch = "x86_64")]
            ("avx2", level::Avx2::available(), self.avx2),
            #[cfg(target_arch = "x86_64")]
            ("avx512", level::Avx512::available(), self.avx512),
        ]
        .into_iter()
        .filter_map(|(name, available, instance)| available.then_some((name, instance)))
    }
}

impl fmt::Debug for NativeBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.levels().map(|(name, _)| name)).finish()
    }
}

/// # Safety
/// As [`Instance`].
unsafe fn instance<B: Body, L: Level, const WIDE: usize>(
    args: &[u64],
    interiors: &[u64],
    run: Run,
) {
    // SAFETY: the caller's promises.
    let cx = unsafe { Cx::<L>::new(args, interiors, run) };
    let _printer = cx.launch.printer();
    cx.launch.errors.run(&mut || cx.run_at_level::<B, _>(WholeBody::<L, WIDE>(&cx)));
}

/// What the code of a whole body is called with.
struct WholeBody<'a, 'b, L, const WIDE: usize>(&'a Cx<'b, L>);

impl<B: Body, L: Level, const WIDE: usize> Multiversioned<WholeBody<'_, '_, L, WIDE>> for B {
    #[inline(always)]
    fn code(WholeBody(cx): WholeBody<'_, '_, L, WIDE>) {
        B::run::<L, WIDE>(cx);
    }
}
