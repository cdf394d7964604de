// Replaces the HIP header when clang compiles kernels without a ROCm installation. Defines what emitted text uses, with
// compiler builtins. Mathematical functions are only declared, because nothing is linked.
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))

struct Place {
    unsigned x, y, z;
};
#define threadIdx \
    (Place{__builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(), __builtin_amdgcn_workitem_id_z()})
#define blockIdx \
    (Place{__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z()})
#define blockDim \
    (Place{__builtin_amdgcn_workgroup_size_x(), __builtin_amdgcn_workgroup_size_y(), __builtin_amdgcn_workgroup_size_z()})
#define gridDim \
    (Place{__builtin_amdgcn_grid_size_x() / blockDim.x, __builtin_amdgcn_grid_size_y() / blockDim.y, \
           __builtin_amdgcn_grid_size_z() / blockDim.z})

#define BITS(name, to, from) \
    static __device__ inline to name(from x) { return __builtin_bit_cast(to, x); }
BITS(__float_as_uint, unsigned, float)
BITS(__uint_as_float, float, unsigned)
BITS(__double_as_longlong, long long, double)
BITS(__longlong_as_double, double, long long)

static __device__ inline void __threadfence_system() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); }
static __device__ inline void __syncthreads() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
static __device__ inline unsigned __lane_id() {
    return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
}
static __device__ inline unsigned __shfl(unsigned value, int lane, int width) {
    const unsigned self = __lane_id();
    const int from = (lane & (width - 1)) + (int)(self & ~(unsigned)(width - 1));
    return (unsigned)__builtin_amdgcn_ds_bpermute(from << 2, (int)value);
}
static __device__ inline int __shfl(int value, int lane, int width) { return (int)__shfl((unsigned)value, lane, width); }
static __device__ inline float __shfl(float value, int lane, int width) {
    return __uint_as_float(__shfl(__float_as_uint(value), lane, width));
}
static __device__ inline unsigned long long __shfl(unsigned long long value, int lane, int width) {
    const unsigned low = __shfl((unsigned)value, lane, width), high = __shfl((unsigned)(value >> 32), lane, width);
    return (unsigned long long)high << 32 | low;
}
static __device__ inline long long __shfl(long long value, int lane, int width) {
    return (long long)__shfl((unsigned long long)value, lane, width);
}
static __device__ inline double __shfl(double value, int lane, int width) {
    return __longlong_as_double(__shfl(__double_as_longlong(value), lane, width));
}
// For a wave of any width; 33 is "not equal".
static __device__ inline unsigned long long __ballot(int vote) { return __builtin_amdgcn_uicmp((unsigned)vote, 0u, 33); }
static __device__ inline int __popc(unsigned x) { return __builtin_popcount(x); }
static __device__ inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static __device__ inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz((unsigned)x); }
static __device__ inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll((unsigned long long)x); }
static __device__ inline unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
static __device__ inline unsigned long long __brevll(unsigned long long x) { return __builtin_bitreverse64(x); }
static __device__ inline int __ffs(int x) { return __builtin_ffs(x); }
static __device__ inline int __ffsll(long long x) { return __builtin_ffsll(x); }

#define ONE(name) \
    extern "C" __device__ double name(double); \
    extern "C" __device__ float name##f(float);
#define TWO(name) \
    extern "C" __device__ double name(double, double); \
    extern "C" __device__ float name##f(float, float);
ONE(sqrt) ONE(sin) ONE(cos) ONE(tan) ONE(asin) ONE(acos) ONE(atan) ONE(sinh) ONE(cosh) ONE(tanh)
ONE(asinh) ONE(acosh) ONE(atanh)
ONE(exp) ONE(exp2) ONE(expm1) ONE(log) ONE(log2) ONE(log10) ONE(log1p) ONE(cbrt)
ONE(fabs) ONE(floor) ONE(ceil) ONE(round) ONE(trunc) ONE(rint)
TWO(pow) TWO(fmin) TWO(fmax) TWO(atan2) TWO(fmod) TWO(hypot) TWO(copysign)
extern "C" __device__ double fma(double, double, double);
extern "C" __device__ float fmaf(float, float, float);
