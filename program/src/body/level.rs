//! Instruction levels: functions with `#[target_feature]` that compile the same code for newer processors.

/// A set of processor instructions that a body is compiled for.
///
/// A [`Cx`](super::Cx) of a level exists only on processors that have its instructions.
pub trait Level: Copy + Send + Sync + 'static {
    /// The level for memory-bound loops. It requires no instructions that this level lacks.
    type MemoryBound: Level;

    /// Runs [`C::code`](Multiversioned::code), compiled for this level.
    ///
    /// # Safety
    /// The processor must have the level's instructions.
    unsafe fn run<C: Multiversioned<A>, A>(arguments: A);

    /// Whether the processor has the level's instructions.
    fn available() -> bool;
}

/// Code that is compiled once for each instruction level. `A` is what it is called with.
///
/// rustc puts the instances of a trait's method into the codegen unit of the module that `Self` is from. So `Self` is a
/// type of the kernel's module: the kernels of a crate are spread over its codegen units and compiled in parallel.
pub trait Multiversioned<A> {
    /// The code. Implementations are `#[inline(always)]`.
    fn code(arguments: A);

    /// The code for every processor of the target.
    fn baseline(arguments: A) {
        Self::code(arguments);
    }

    /// The code for [`Avx2`].
    ///
    /// # Safety
    /// The processor must have the level's instructions.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn avx2(arguments: A) {
        Self::code(arguments);
    }

    /// The code for [`Avx512`].
    ///
    /// # Safety
    /// The processor must have the level's instructions.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(
        enable = "avx512f,avx512vl,avx512dq,avx512bw,avx512cd,avx2,fma,bmi1,bmi2,lzcnt,popcnt"
    )]
    unsafe fn avx512(arguments: A) {
        Self::code(arguments);
    }
}

/// The instructions that every processor of the target has.
#[derive(Clone, Copy, Debug)]
pub(super) enum Baseline {}

/// AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug)]
pub(super) enum Avx2 {}

/// AVX-512 as in Skylake-X and Zen 4.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug)]
pub(super) enum Avx512 {}

/// The number of iterations of a strip with one local. It hides the latency of arithmetic: with 8 floats per register
/// and two operations issued per cycle, 64 iterations cover a latency of 4 cycles.
pub(super) const STRIP_LEN: usize = 64;
/// The same for registers of 16 floats.
#[cfg(target_arch = "x86_64")]
pub(super) const STRIP_LEN_AVX512: usize = 128;

impl Level for Baseline {
    type MemoryBound = Self;

    #[inline(always)]
    unsafe fn run<C: Multiversioned<A>, A>(arguments: A) {
        C::baseline(arguments);
    }

    fn available() -> bool {
        true
    }
}

#[cfg(target_arch = "x86_64")]
impl Level for Avx2 {
    type MemoryBound = Self;

    #[inline(always)]
    unsafe fn run<C: Multiversioned<A>, A>(arguments: A) {
        // SAFETY: the caller guarantees that the processor has the instructions.
        unsafe { C::avx2(arguments) }
    }

    fn available() -> bool {
        std::is_x86_feature_detected!("avx2")
            && std::is_x86_feature_detected!("fma")
            && std::is_x86_feature_detected!("bmi1")
            && std::is_x86_feature_detected!("bmi2")
            && std::is_x86_feature_detected!("lzcnt")
            && std::is_x86_feature_detected!("popcnt")
    }
}

// Memory-bound loops use 32-byte vectors: LLVM processes four registers per round, and with 64-byte registers on two or
// three tensors the hardware prefetcher falls behind. 32-byte vectors are 10 to 33 % faster there.
#[cfg(target_arch = "x86_64")]
impl Level for Avx512 {
    type MemoryBound = Avx2;

    #[inline(always)]
    unsafe fn run<C: Multiversioned<A>, A>(arguments: A) {
        // SAFETY: the caller guarantees that the processor has the instructions.
        unsafe { C::avx512(arguments) }
    }

    fn available() -> bool {
        Avx2::available()
            && std::is_x86_feature_detected!("avx512f")
            && std::is_x86_feature_detected!("avx512vl")
            && std::is_x86_feature_detected!("avx512dq")
            && std::is_x86_feature_detected!("avx512bw")
            && std::is_x86_feature_detected!("avx512cd")
    }
}
