void run(void **buffers, const long *sizes) {
    const float *input = buffers[0], *b = buffers[1];
    float *a = buffers[2], *y = buffers[3], *x = buffers[4];
    long n = sizes[0];
#pragma omp parallel for
    for (long i = 0; i < n * n; i++) a[i] = input[i];
    for (long i = 0; i < n; i++) y[i] = b[i];
    for (long k = 0; k < n - 1; k++) {
#pragma omp parallel for
        for (long i = k + 1; i < n; i++) {
            a[i * n + k] /= a[k * n + k];
            for (long j = k + 1; j < n; j++) a[i * n + j] -= a[i * n + k] * a[k * n + j];
        }
    }
    for (long k = 0; k < n - 1; k++) {
#pragma omp parallel for
        for (long i = k + 1; i < n; i++) y[i] -= a[i * n + k] * y[k];
    }
    for (long k = n - 1; k >= 0; k--) {
        x[k] = y[k] / a[k * n + k];
#pragma omp parallel for
        for (long i = 0; i < k; i++) y[i] -= a[i * n + k] * x[k];
    }
}
