void run(void **buffers, const long *sizes) {
    const float *a = buffers[0], *b = buffers[1];
    float *out = buffers[2];
    const float alpha = 1.5f;
    long m = sizes[0], n = sizes[1];
#pragma omp parallel for schedule(dynamic)
    for (long i = 0; i < m; i++) {
        for (long j = 0; j < n; j++) out[i * n + j] = b[i * n + j];
        for (long k = i + 1; k < m; k++)
            for (long j = 0; j < n; j++) out[i * n + j] += a[k * m + i] * b[k * n + j];
        for (long j = 0; j < n; j++) out[i * n + j] *= alpha;
    }
}
