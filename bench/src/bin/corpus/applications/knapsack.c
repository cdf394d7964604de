void run(void **buffers, const long *sizes) {
    const unsigned *weights = buffers[0], *values = buffers[1];
    unsigned *before = buffers[2], *best = buffers[3];
    long n = sizes[0], items = sizes[1];
#pragma omp parallel for
    for (long c = 0; c < n; c++) before[c] = 0;
    for (long k = 0; k < items; k++) {
        long weight = weights[k];
        unsigned value = values[k];
#pragma omp parallel for
        for (long c = 0; c < n; c++) {
            unsigned with = c >= weight ? before[c - weight] + value : 0;
            best[c] = with > before[c] ? with : before[c];
        }
        unsigned *swap = before;
        before = best;
        best = swap;
    }
}
