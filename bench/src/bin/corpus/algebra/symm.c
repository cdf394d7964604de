void run(void **buffers, const long *sizes) {
    const float *a = buffers[0], *b = buffers[1], *c = buffers[2];
    float *out = buffers[3];
    const float alpha = 1.5f, beta = 1.2f;
    long m = sizes[0], n = sizes[1];
#pragma omp parallel for
    for (long i = 0; i < m; i++) {
        for (long j = 0; j < n; j++) out[i * n + j] = beta * c[i * n + j];
        for (long k = 0; k <= i; k++)
            for (long j = 0; j < n; j++) out[i * n + j] += alpha * a[i * m + k] * b[k * n + j];
        for (long k = i + 1; k < m; k++)
            for (long j = 0; j < n; j++) out[i * n + j] += alpha * a[k * m + i] * b[k * n + j];
    }
}
