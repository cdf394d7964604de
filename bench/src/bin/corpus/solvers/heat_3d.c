static void step(const float *a, float *b, long n) {
#pragma omp parallel for
    for (long i = 1; i < n - 1; i++)
        for (long j = 1; j < n - 1; j++)
            for (long k = 1; k < n - 1; k++) {
                long at = (i * n + j) * n + k;
                b[at] = 0.125f * (a[at + n * n] - 2 * a[at] + a[at - n * n]) +
                        0.125f * (a[at + n] - 2 * a[at] + a[at - n]) + 0.125f * (a[at + 1] - 2 * a[at] + a[at - 1]) +
                        a[at];
            }
}

void run(void **buffers, const long *sizes) {
    const float *a0 = buffers[0];
    float *a = buffers[1], *b = buffers[2];
    long n = sizes[0], steps = sizes[1];
#pragma omp parallel for
    for (long i = 0; i < n * n * n; i++) a[i] = a0[i];
    for (long t = 0; t < steps; t++) {
        step(a, b, n);
        step(b, a, n);
    }
}
