//! [`Body`], the trait that `#[kernel]` implements, and [`NativeBody`], the compiled instances of a CPU body.

use std::{fmt, sync::OnceLock};

use quadrants_ir::abi::Form;

use super::{
    cx::Cx,
    level::{self, Level},
};
use crate::error::BoxError;

/// A kernel's CPU body and IR. The macro `#[kernel]` implements it.
///
/// # Safety
/// Only `#[kernel]` may implement it. `ir` must return the kernel that `run` runs: a launch proves the accesses on the
/// IR, and `run` performs them, unchecked in the proven form. `run` must take each parameter from `cx` once, in order
/// and with its type, and must not use it after it returns.
pub unsafe trait Body {
    /// The kernel's name.
    const NAME: &'static str;

    /// The kernel's IR.
    ///
    /// # Errors
    /// If the kernel cannot be lowered.
    fn ir() -> Result<quadrants_ir::Kernel, BoxError>;

    /// Runs the kernel. `WIDE` is the number of iterations of a strip with one local, which depends on the level.
    fn run<L: Level, const CHECKED: bool, const WIDE: usize>(cx: &Cx<'_, L, CHECKED>);
}

/// The instances of a CPU body: one per instruction level in the proven form, and one in the checked form.
#[derive(Clone, Copy)]
pub struct NativeBody {
    baseline: Instance,
    #[cfg(target_arch = "x86_64")]
    avx2: Instance,
    #[cfg(target_arch = "x86_64")]
    avx512: Instance,
    checked: Instance,
}

/// # Safety
/// As [`NativeBody::run`]; in addition, the processor must have the instance's instructions.
type Instance = unsafe fn(&[u64], &[u64], Run);

/// What a run of a body needs besides its arguments.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// The word of the temporaries for the kernel's result.
    pub result_word: usize,
    /// Whether the kernel prints.
    pub prints: bool,
}

impl NativeBody {
    /// The instances of `B`.
    #[must_use]
    pub const fn of<B: Body>() -> Self {
        Self {
            baseline: instance::<B, level::Baseline, false, { level::STRIP_LEN }>,
            #[cfg(target_arch = "x86_64")]
            avx2: instance::<B, level::Avx2, false, { level::STRIP_LEN }>,
            #[cfg(target_arch = "x86_64")]
            avx512: instance::<B, level::Avx512, false, { level::STRIP_LEN_AVX512 }>,
            checked: instance::<B, level::Baseline, true, { level::STRIP_LEN }>,
        }
    }

    /// Runs the kernel and returns when all of it has run.
    ///
    /// `args` is an argument block as `quadrants_ir::abi` lays it out, up to the last parameter. `interiors` are the
    /// words after it: the loops' interiors in the checked form; if empty, no iteration is proven. The kernel's result,
    /// if it has one, is written to word `run.result_word` of the block's temporaries. Device errors are recorded in
    /// the block's error record.
    ///
    /// The proven form runs at the best level of this processor, the checked form at the baseline.
    ///
    /// # Panics
    /// If the body panics other than by a device error, for example by an arithmetic overflow.
    ///
    /// # Safety
    /// The words must be those of this kernel's parameters. Their addresses must be valid for the kernel's accesses,
    /// and no other code may access that memory in a way that races with the kernel. In the proven form every access
    /// must be in range; in the checked form, every access of the iterations in an interior.
    pub unsafe fn run(&self, args: &[u64], interiors: &[u64], run: Run, form: Form) {
        let instance = match form {
            Form::Checked => self.checked,
            Form::Proven => self.best(),
        };
        // SAFETY: the caller's promises; `best` checked the processor's instructions.
        unsafe { instance(args, interiors, run) }
    }

    /// Runs the proven form at every level that this processor has, from the baseline up, and calls `before` with the
    /// level's name before each run.
    ///
    /// # Safety
    /// As for [`run`](Self::run) in the proven form, after each call of `before`.
    #[cfg(test)]
    pub(super) unsafe fn run_each_level(
        &self,
        args: &[u64],
        result_word: usize,
        mut before: impl FnMut(&'static str),
    ) {
        for (name, instance) in self.levels() {
            before(name);
            // SAFETY: the caller's promises; `levels` checked the processor's instructions.
            unsafe { instance(args, &[], Run { result_word, prints: false }) }
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
unsafe fn instance<B: Body, L: Level, const CHECKED: bool, const WIDE: usize>(
    args: &[u64],
    interiors: &[u64],
    run: Run,
) {
    // SAFETY: the caller's promises.
    let cx = unsafe { Cx::<L, CHECKED>::new(args, interiors, run) };
    let _printer = cx.printer();
    cx.errors.run(|| {
        cx.call_by_value(
            #[inline(always)]
            |()| B::run::<L, CHECKED, WIDE>(&cx),
            (),
        );
    });
}
