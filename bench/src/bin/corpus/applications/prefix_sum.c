#include <omp.h>

// Each thread scans a part; then it adds what is before its part.
void run(void **buffers, const long *sizes) {
    const unsigned *x = buffers[0];
    unsigned *y = buffers[1], totals[257] = {0};
    long n = sizes[0];
#pragma omp parallel num_threads(omp_get_max_threads() < 256 ? omp_get_max_threads() : 256)
    {
        long threads = omp_get_num_threads(), thread = omp_get_thread_num();
        long begin = n * thread / threads, end = n * (thread + 1) / threads;
        unsigned sum = 0;
        for (long i = begin; i < end; i++) {
            sum += x[i];
            y[i] = sum;
        }
        totals[thread + 1] = sum;
#pragma omp barrier
        unsigned before = 0;
        for (long k = 0; k <= thread; k++) before += totals[k];
        if (thread > 0)
            for (long i = begin; i < end; i++) y[i] += before;
    }
}
