void run(void **buffers, const long *sizes) {
    const float *input = buffers[0];
    float *a = buffers[1];
    long n = sizes[0];
#pragma omp parallel for
    for (long i = 0; i < n * n; i++) a[i] = input[i];
    for (long k = 0; k < n; k++) {
#pragma omp parallel for
        for (long j = k; j < n; j++) {
            float sum = a[k * n + j];
            for (long m = 0; m < k; m++) sum -= a[k * n + m] * a[m * n + j];
            a[k * n + j] = sum;
        }
#pragma omp parallel for
        for (long i = k + 1; i < n; i++) {
            float sum = a[i * n + k];
            for (long m = 0; m < k; m++) sum -= a[i * n + m] * a[m * n + k];
            a[i * n + k] = sum / a[k * n + k];
        }
    }
}
