//! Instruction levels: functions with `#[target_feature]` that compile an inlined closure for newer processors.

use std::hint::black_box;

/// A set of processor instructions that a body is compiled for.
///
/// A [`Cx`](super::Cx) of a level exists only on processors that have its instructions.
pub trait Level: Copy + Send + Sync + 'static {
    /// The level for memory-bound loops. It requires no instructions that this level lacks.
    type MemoryBound: Level;

    /// Calls `f(a)`, compiled for this level; `f` must be `#[inline(always)]`.
    ///
    /// # Safety
    /// The processor must have the level's instructions.
    unsafe fn call<A, F: Fn(A)>(f: &F, a: A);

    /// Whether the processor has the level's instructions.
    fn available() -> bool;
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

macro_rules! levels {
    ($(
        $(#[$cfg:meta])*
        $level:ident, $memory_bound:ident, $function:ident, [$($feature:tt)*], $available:expr;
    )*) => {$(
        $(#[$cfg])*
        impl Level for $level {
            type MemoryBound = $memory_bound;

            #[inline(always)]
            unsafe fn call<A, F: Fn(A)>(f: &F, a: A) {
                $($feature)*
                fn $function<A, F: Fn(A)>(f: &F, a: A) {
                    f(a);
                }
                // Never inlined, so that the loop is compiled once for the calling thread and the pool's threads. rustc
                // 1.95 ignores `#[inline(never)]` next to `#[target_feature]`.
                let function: unsafe fn(&F, A) = black_box($function::<A, F>);
                // SAFETY: the caller guarantees that the processor has the instructions.
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
    // Memory-bound loops use 32-byte vectors: LLVM processes four registers per round, and with 64-byte registers on
    // two or three tensors the hardware prefetcher falls behind. 32-byte vectors are 10 to 33 % faster there.
    #[cfg(target_arch = "x86_64")]
    Avx512, Avx2, avx512, [#[target_feature(
        enable = "avx512f,avx512vl,avx512dq,avx512bw,avx512cd,avx2,fma,bmi1,bmi2,lzcnt,popcnt"
    )]],
        Avx2::available() && std::is_x86_feature_detected!("avx512f")
            && std::is_x86_feature_detected!("avx512vl") && std::is_x86_feature_detected!("avx512dq")
            && std::is_x86_feature_detected!("avx512bw") && std::is_x86_feature_detected!("avx512cd");
}
