//! Instruction levels: the functions that turn an inlined closure into code for better processors.

use std::hint::black_box;

/// A set of instructions that a body is compiled for.
///
/// A [`Cx`](super::Cx) of a level is made only on a processor that has its instructions.
pub trait Level: Copy + Send + Sync + 'static {
    /// What loops are compiled for that wait for memory: nothing that this level lacks.
    type MemoryBound: Level;

    /// Calls `f(a)` compiled for this level, where `f` is `#[inline(always)]`.
    ///
    /// # Safety
    /// The processor has the level's instructions.
    unsafe fn call<A, F: Fn(A)>(f: &F, a: A);

    /// Whether the processor has the level's instructions.
    fn available() -> bool;
}

/// What every processor of the target has.
#[derive(Clone, Copy, Debug)]
pub(super) enum Baseline {}

/// AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug)]
pub(super) enum Avx2 {}

/// AVX-512 as of Skylake-X and Zen 4.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug)]
pub(super) enum Avx512 {}

/// What interiors of checked loops are compiled for. One level, as a body has enough instances: the
/// one that nearly all processors have, and that gains most.
#[cfg(target_arch = "x86_64")]
pub(super) type Interior = Avx2;
/// What interiors of checked loops are compiled for.
#[cfg(not(target_arch = "x86_64"))]
pub(super) type Interior = Baseline;

/// How many iterations a strip has that keeps one number of each. So many hide what an operation on it takes: with 8 numbers
/// in a register and two such operations begun in each cycle, none has to wait for the one before within 4 cycles.
pub(super) const STRIP_LEN: usize = 64;
/// The same with 16 numbers in a register, of which there are twice as many.
#[cfg(target_arch = "x86_64")]
pub(super) const STRIP_LEN_AVX512: usize = 128;

macro_rules! levels {
    ($($(#[$cfg:meta])* $level:ident, $memory_bound:ident, $function:ident, [$($feature:tt)*], $available:expr;)*) => {$(
        $(#[$cfg])*
        impl Level for $level {
            type MemoryBound = $memory_bound;

            #[inline(always)]
            unsafe fn call<A, F: Fn(A)>(f: &F, a: A) {
                $($feature)*
                fn $function<A, F: Fn(A)>(f: &F, a: A) {
                    f(a);
                }
                // Never inlined, so that the loop is compiled once for the caller's own thread and
                // the pool's threads. rustc 1.95 drops `#[inline(never)]` beside `#[target_feature]`.
                let function: unsafe fn(&F, A) = black_box($function::<A, F>);
                // SAFETY: the caller says that the processor has the instructions.
                unsafe { function(f, a) }
            }

            fn available() -> bool {
                $available
            }
        }
    )*};
}

levels! {
    Baseline, Baseline, baseline, [], true;
    #[cfg(target_arch = "x86_64")]
    Avx2, Avx2, avx2, [#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]],
        std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma")
            && std::is_x86_feature_detected!("bmi1") && std::is_x86_feature_detected!("bmi2")
            && std::is_x86_feature_detected!("lzcnt") && std::is_x86_feature_detected!("popcnt");
    // LLVM has four registers under way in each round of a loop. Of 64 bytes each, on lines of two or three tensors at once,
    // that keeps the processor's own reading ahead from keeping up: of 32 bytes, memory is a tenth to a third faster.
    #[cfg(target_arch = "x86_64")]
    Avx512, Avx2, avx512, [#[target_feature(
        enable = "avx512f,avx512vl,avx512dq,avx512bw,avx512cd,avx2,fma,bmi1,bmi2,lzcnt,popcnt"
    )]],
        Avx2::available() && std::is_x86_feature_detected!("avx512f")
            && std::is_x86_feature_detected!("avx512vl") && std::is_x86_feature_detected!("avx512dq")
            && std::is_x86_feature_detected!("avx512bw") && std::is_x86_feature_detected!("avx512cd");
}
