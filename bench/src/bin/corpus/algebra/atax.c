void run(void **buffers, const long *sizes) {
    const float *a = buffers[0], *x = buffers[1];
    float *product = buffers[2], *y = buffers[3];
    long m = sizes[0], n = sizes[1];
    for (long j = 0; j < n; j++) y[j] = 0;
#pragma omp parallel for reduction(+ : y[:n])
    for (long i = 0; i < m; i++) {
        float sum = 0;
        for (long j = 0; j < n; j++) sum += a[i * n + j] * x[j];
        product[i] = sum;
        for (long j = 0; j < n; j++) y[j] += a[i * n + j] * sum;
    }
}
