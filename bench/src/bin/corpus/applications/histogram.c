#include <string.h>

void run(void **buffers, const long *sizes) {
    const unsigned char *x = buffers[0];
    unsigned *bins = buffers[1];
    long n = sizes[0];
    memset(bins, 0, 256 * sizeof(unsigned));
#pragma omp parallel for reduction(+ : bins[:256])
    for (long i = 0; i < n; i++) bins[x[i]]++;
}
