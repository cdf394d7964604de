// Emulates a device on the host: what printed kernels need of their compiler, in the dialects of CUDA, HIP and the
// tests. A grid runs thread by thread. The threads of a block with barriers are host threads that run one at a time,
// from barrier to barrier.
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>
#ifdef __unix__
#include <unistd.h>
#endif

#define __global__
#define __shared__ static
#define __device__
#define __grid_constant__
#define __noinline__ __attribute__((noinline))

// Of two zeros, the negative one is the smaller, as on devices; the library leaves that open.
static inline float least(float a, float b) { return a == b ? (std::signbit(a) ? a : b) : fminf(a, b); }
static inline double least(double a, double b) { return a == b ? (std::signbit(a) ? a : b) : fmin(a, b); }
static inline float largest(float a, float b) { return a == b ? (std::signbit(a) ? b : a) : fmaxf(a, b); }
static inline double largest(double a, double b) { return a == b ? (std::signbit(a) ? b : a) : fmax(a, b); }
#define fminf least
#define fmin least
#define fmaxf largest
#define fmax largest

struct Place {
    unsigned x, y, z;
};
static thread_local Place threadIdx;
static Place blockIdx, blockDim, gridDim;

// The threads of a block take turns, in the order of their indices.
static std::mutex lock;
static std::condition_variable come[1024];
static unsigned turn;
// The index of the thread in its block.
static thread_local unsigned number;
static void wait_for_turn() {
    std::unique_lock<std::mutex> held(lock);
    come[number].wait(held, [] { return turn == number; });
}
static void end_turn() {
    std::lock_guard<std::mutex> held(lock);
    turn = (turn + 1) % (blockDim.x * blockDim.y * blockDim.z);
    come[turn].notify_one();
}
// All preceding threads have arrived here; when this thread's turn comes again, so have all others.
static void __syncthreads() {
    end_turn();
    wait_for_turn();
}

// All threads of a block call these. Values alternate between two buffers, because a thread may be one call ahead.
template <class T>
static T shuffle(T value, unsigned lane) {
    static T given[2][1024];
    static thread_local unsigned place;
    place = 1 - place;
    given[place][number] = value;
    __syncthreads();
    return given[place][number / 32 * 32 + lane % 32];
}
static unsigned ballot(bool vote) {
    unsigned bits = 0;
    for (unsigned lane = 0; lane < 32; lane++) {
        const bool there = number / 32 * 32 + lane < blockDim.x;
        const unsigned other = shuffle((unsigned)vote, lane);
        if (there) bits |= other << lane;
    }
    return bits;
}
template <class T>
static T __shfl_sync(unsigned, T value, int lane, int) { return shuffle(value, (unsigned)lane); }
template <class T>
static T __shfl(T value, int lane, int) { return shuffle(value, (unsigned)lane); }
static unsigned __ballot_sync(unsigned, bool vote) { return ballot(vote); }
static unsigned long long __ballot(bool vote) {
    const unsigned bits = ballot(vote);
    return number & 32 ? (unsigned long long)bits << 32 : bits;
}
static unsigned __lane_id() { return number % 64; }

template <class To, class From>
static To bits(From value) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    memcpy(&to, &value, sizeof to);
    return to;
}
static float __uint_as_float(unsigned value) { return bits<float>(value); }
static unsigned __float_as_uint(float value) { return bits<unsigned>(value); }
static double __longlong_as_double(long long value) { return bits<double>(value); }
static long long __double_as_longlong(double value) { return bits<long long>(value); }
static int __popc(unsigned value) { return __builtin_popcount(value); }
static int __popcll(unsigned long long value) { return __builtin_popcountll(value); }
static int __clz(int value) { return value == 0 ? 32 : __builtin_clz((unsigned)value); }
static int __clzll(long long value) { return value == 0 ? 64 : __builtin_clzll((unsigned long long)value); }
static unsigned long long __brevll(unsigned long long value) {
    unsigned long long reversed = 0;
    for (int bit = 0; bit < 64; ++bit, value >>= 1) reversed = reversed << 1 | (value & 1);
    return reversed;
}
static unsigned __brev(unsigned value) { return (unsigned)(__brevll(value) >> 32); }
static int __ffs(int value) { return __builtin_ffs(value); }
static int __ffsll(long long value) { return __builtin_ffsll(value); }

static void fence() {}
static void __threadfence_system() {}

template <class T>
static T sum(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
        using U = std::make_unsigned_t<T>;
        return (T)((U)a + (U)b);
    } else {
        return a + b;
    }
}
template <class T>
static T replace(T* place, T value) {
    T old = *place;
    *place = value;
    return old;
}
// The type is that of the element.
template <class T>
struct Same {
    typedef T type;
};
template <class T>
static T __ldg(const T* place) { return *place; }
template <class T>
static T atomicAdd(T* place, typename Same<T>::type value) { return replace(place, sum(*place, value)); }
template <class T>
static T atomicMin(T* place, typename Same<T>::type value) { return replace(place, value < *place ? value : *place); }
template <class T>
static T atomicMax(T* place, typename Same<T>::type value) { return replace(place, value > *place ? value : *place); }
template <class T>
static T atomicAnd(T* place, typename Same<T>::type value) { return replace(place, static_cast<T>(*place & value)); }
template <class T>
static T atomicOr(T* place, typename Same<T>::type value) { return replace(place, static_cast<T>(*place | value)); }
template <class T>
static T atomicXor(T* place, typename Same<T>::type value) { return replace(place, static_cast<T>(*place ^ value)); }
// The claim of an error record has no address: there is one thread, which reports if no report is pending.
template <class T>
static T atomicExch(T* place, typename Same<T>::type value) {
    if constexpr (std::is_same_v<T, unsigned long long>) {
        if (!place) return ~value;
    }
    return replace(place, value);
}
template <class T>
static T atomicExchange(T* place, typename Same<T>::type value) { return replace(place, value); }
static unsigned long long exchange(unsigned long long* place, unsigned long long value) { return atomicExch(place, value); }
template <class T>
static T atomicCAS(T* place, typename Same<T>::type expected, typename Same<T>::type value) {
    return replace(place, *place == expected ? value : *place);
}
template <class T>
static void compareExchange(T* place, T* expected, T value) { *expected = atomicCAS(place, *expected, value); }

// Some compilers predefine these names.
#define __hip_atomic_fetch_add(place, value, order, scope) atomicAdd(place, value)
#define __hip_atomic_fetch_min(place, value, order, scope) atomicMin(place, value)
#define __hip_atomic_fetch_max(place, value, order, scope) atomicMax(place, value)
#define __hip_atomic_fetch_and(place, value, order, scope) atomicAnd(place, value)
#define __hip_atomic_fetch_or(place, value, order, scope) atomicOr(place, value)
#define __hip_atomic_fetch_xor(place, value, order, scope) atomicXor(place, value)
#define __hip_atomic_compare_exchange_strong(place, expected, value, success, failure, scope) \
    compareExchange(place, expected, value)
#define __hip_atomic_exchange(place, value, order, scope) atomicExch(place, value)

template <class Args, class Function>
static void run_grid(const uint64_t* words, size_t count, Place grid, Place block, bool barriers, Function function) {
    static_assert(std::is_trivially_copyable_v<Args>);
    // In the checked form, interiors follow.
    if (sizeof(Args) > 8 * count) {
        fprintf(stderr, "the struct has %zu bytes, the block %zu words\n", sizeof(Args), count);
        exit(3);
    }
    Args args;
    memcpy(&args, words, sizeof args);
    gridDim = grid;
    blockDim = block;
    const unsigned blocks = grid.x * grid.y * grid.z, threads = block.x * block.y * block.z;
    for (unsigned b = 0; b < blocks; b++) {
        blockIdx = {b % grid.x, b / grid.x % grid.y, b / grid.x / grid.y};
        if (barriers) {
            std::vector<std::thread> running;
            turn = 0;
            for (unsigned t = 0; t < threads; t++) {
                running.emplace_back([&, t] {
                    number = t;
                    threadIdx = {t % block.x, t / block.x % block.y, t / block.x / block.y};
                    wait_for_turn();
                    function(args);
                    end_turn();
                });
            }
            for (auto& thread : running) thread.join();
            continue;
        }
        for (unsigned t = 0; t < threads; t++) {
            threadIdx = {t % block.x, t / block.x % block.y, t / block.x / block.y};
            function(args);
        }
    }
}

static uint64_t read_word() {
    uint64_t word;
    if (fread(&word, 8, 1, stdin) != 1) exit(2);
    return word;
}

static void run_task(uint64_t kernel, uint64_t task, const uint64_t* words, size_t count, Place grid, Place block, bool barriers);

// Where the address of a buffer is stored: in the argument block, or with the top bit in a buffer, whose number precedes
// the offset in bytes.
static uint64_t* place_of(uint64_t word, std::vector<uint64_t>& words, std::vector<std::vector<uint64_t>>& buffers) {
    if (word >> 63) return &buffers[word >> 32 & 0x7fffffff][(word & 0xffffffff) / 8];
    return &words[word];
}

// Runs the cases: kernel, whether the grid is large, argument block, buffers, tasks. Writes the buffers after each
// case.
int main() {
    uint64_t kernel;
    while (fread(&kernel, 8, 1, stdin) == 1) {
#ifdef __unix__
        // An incorrectly printed kernel may not terminate.
        alarm(10);
#endif
        const bool large = read_word() != 0;
        std::vector<uint64_t> words(read_word());
        for (uint64_t& word : words) word = read_word();
        std::vector<std::vector<uint64_t>> buffers(read_word());
        std::vector<uint64_t> places;
        for (auto& buffer : buffers) {
            const uint64_t word = read_word(), length = read_word();
            buffer.resize(length / 8);
            for (uint64_t& value : buffer) value = read_word();
            *place_of(word, words, buffers) = (uint64_t)(uintptr_t)buffer.data();
            places.push_back(word);
        }
        for (uint64_t tasks = read_word(); tasks > 0; tasks--) {
            const uint64_t task = read_word(), rank = read_word();
            Place grid = {1, 1, 1}, block = {1, 1, 1};
            const bool barriers = rank >> 32;
            if (barriers) {
                grid.x = large ? 2 : 1;
                block.x = (unsigned)rank;
            } else if (large) {
                grid = {2, rank > 1 ? 3u : 1u, rank > 2 ? 2u : 1u};
                block = {3, rank > 1 ? 2u : 1u, rank > 2 ? 2u : 1u};
            }
            run_task(kernel, task, words.data(), words.size(), grid, block, barriers);
        }
        // Addresses in buffers are not compared.
        for (uint64_t place : places) *place_of(place, words, buffers) = 0;
        // An empty buffer has no address.
        for (auto& buffer : buffers) {
            if (!buffer.empty()) fwrite(buffer.data(), 8, buffer.size(), stdout);
        }
        fflush(stdout);
    }
}
