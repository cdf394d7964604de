#include <omp.h>

// Each thread counts what it keeps of its part; then it copies it behind that of the threads before.
void run(void **buffers, const long *sizes) {
    const float *x = buffers[0], limit = 0.7f;
    float *out = buffers[3];
    long n = sizes[0], counts[257] = {0};
#pragma omp parallel num_threads(omp_get_max_threads() < 256 ? omp_get_max_threads() : 256)
    {
        long threads = omp_get_num_threads(), thread = omp_get_thread_num();
        long begin = n * thread / threads, end = n * (thread + 1) / threads, count = 0, to = 0;
        for (long i = begin; i < end; i++) count += x[i] > limit;
        counts[thread + 1] = count;
#pragma omp barrier
        for (long k = 0; k <= thread; k++) to += counts[k];
        for (long i = begin; i < end; i++)
            if (x[i] > limit) out[to++] = x[i];
    }
}
