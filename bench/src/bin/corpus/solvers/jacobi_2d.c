static void step(const float *a, float *b, long n) {
#pragma omp parallel for
    for (long i = 1; i < n - 1; i++)
        for (long j = 1; j < n - 1; j++)
            b[i * n + j] =
                0.2f * (a[i * n + j] + a[i * n + j - 1] + a[i * n + j + 1] + a[(i + 1) * n + j] + a[(i - 1) * n + j]);
}

void run(void **buffers, const long *sizes) {
    const float *a0 = buffers[0];
    float *a = buffers[1], *b = buffers[2];
    long n = sizes[0], steps = sizes[1];
#pragma omp parallel for
    for (long i = 0; i < n * n; i++) a[i] = a0[i];
    for (long t = 0; t < steps; t++) {
        step(a, b, n);
        step(b, a, n);
    }
}
