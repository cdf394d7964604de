//! A kernel's body in all its instances, and the choice between them.

use std::{fmt, sync::OnceLock};

use quadrants_ir::abi::Form;

use super::{cx::Cx, level};
use crate::{BoxError, body::Level};

/// What the macro implements for each kernel.
///
/// # Safety
/// Implement it by `#[kernel]` alone. `ir` gives the kernel that `run` runs: a launch proves its accesses on the IR, and
/// `run` makes them, unchecked in the proven form. `run` takes the parameters from `cx` in their order, once, each as
/// its type, and uses what it is given there as long as it runs.
pub unsafe trait Body {
    /// The kernel's name.
    const NAME: &'static str;

    /// The kernel's IR.
    ///
    /// # Errors
    /// Why the kernel cannot be lowered.
    fn ir() -> Result<quadrants_ir::Kernel, BoxError>;

    /// Runs the kernel. Strips of iterations that hold little have `WIDE` of them: as many as suit the level.
    fn run<L: Level, const CHECKED: bool, const WIDE: usize>(cx: &Cx<'_, L, CHECKED>);
}

/// A kernel's body, compiled for each level.
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
/// That of [`NativeBody::run`], and the processor has the instance's instructions.
type Instance = unsafe fn(&[u64], &[u64], usize);

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

    /// Runs the kernel on `args`, an argument block as `quadrants_ir::abi` lays it out, up to its last
    /// parameter, and returns when all of it has run. `inside` is what follows in the checked form, the
    /// interiors of the loops; without it, nothing is inside. The kernel's value, where it has one, is written to the word
    /// `result_word` of the block's scratch memory.
    ///
    /// The proven form runs at the best level of this processor, the checked one at the baseline.
    /// Device errors are recorded in the block's error record.
    ///
    /// # Panics
    /// Where the body panics other than by a device error, an overflow for example.
    ///
    /// # Safety
    /// The block's words are those of this kernel's parameters. Its addresses are valid for what the
    /// kernel does with them, and nothing else touches that memory meanwhile in a way that races
    /// with the kernel. In the proven form every access is in range, in the checked form every one of the
    /// iterations in an interior.
    pub unsafe fn run(&self, args: &[u64], inside: &[u64], result_word: usize, form: Form) {
        let instance = match form {
            Form::Checked => self.checked,
            Form::Proven => self.best(),
        };
        // SAFETY: the caller's promises, and `best` asked the processor.
        unsafe { instance(args, inside, result_word) }
    }

    /// Runs the proven form at every level that this processor has, from the baseline up, calling
    /// `before` ahead of each run. For tests and measurements.
    ///
    /// # Safety
    /// As for [`run`](Self::run) in the proven form, each time after `before`.
    pub unsafe fn run_each_level(
        &self,
        args: &[u64],
        result_word: usize,
        mut before: impl FnMut(&'static str),
    ) {
        for (name, instance) in self.levels() {
            before(name);
            // SAFETY: the caller's promises, and `levels` asked the processor.
            unsafe { instance(args, &[], result_word) }
        }
    }

    fn best(&self) -> Instance {
        // Asking the processor takes a dozen tests; a launch of few elements takes as long.
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

    /// The instances that this processor can run, from the baseline up: each level has all
    /// instructions of those below it.
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
/// As [`Instance`] says.
unsafe fn instance<B: Body, L: Level, const CHECKED: bool, const WIDE: usize>(
    args: &[u64],
    inside: &[u64],
    result_word: usize,
) {
    // SAFETY: the caller's promises.
    let cx = unsafe { Cx::<L, CHECKED>::new(args, inside, result_word) };
    cx.errors.run(|| {
        cx.call_by_value(
            #[inline(always)]
            |()| B::run::<L, CHECKED, WIDE>(&cx),
            (),
        );
    });
}
