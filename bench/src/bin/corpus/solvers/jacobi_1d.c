void run(void **buffers, const long *sizes) {
    const float *a0 = buffers[0];
    float *a = buffers[1], *b = buffers[2];
    long n = sizes[0], steps = sizes[1];
#pragma omp parallel for
    for (long i = 0; i < n; i++) a[i] = a0[i];
    for (long t = 0; t < steps; t++) {
#pragma omp parallel for
        for (long i = 1; i < n - 1; i++) b[i] = 0.33333f * (a[i - 1] + a[i] + a[i + 1]);
#pragma omp parallel for
        for (long i = 1; i < n - 1; i++) a[i] = 0.33333f * (b[i - 1] + b[i] + b[i + 1]);
    }
}
