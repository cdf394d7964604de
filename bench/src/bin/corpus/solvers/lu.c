void run(void **buffers, const long *sizes) {
    const float *input = buffers[0];
    float *a = buffers[1];
    long n = sizes[0];
#pragma omp parallel for
    for (long i = 0; i < n * n; i++) a[i] = input[i];
    for (long k = 0; k < n - 1; k++) {
#pragma omp parallel for
        for (long i = k + 1; i < n; i++) {
            a[i * n + k] /= a[k * n + k];
            for (long j = k + 1; j < n; j++) a[i * n + j] -= a[i * n + k] * a[k * n + j];
        }
    }
}
