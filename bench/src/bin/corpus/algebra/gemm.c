void run(void **buffers, const long *sizes) {
    const float *a = buffers[0], *b = buffers[1], *c = buffers[2];
    float *out = buffers[3];
    const float alpha = 1.5f, beta = 1.2f;
    long n = sizes[0];
#pragma omp parallel for
    for (long i = 0; i < n; i++) {
        for (long j = 0; j < n; j++) out[i * n + j] = beta * c[i * n + j];
        for (long k = 0; k < n; k++)
            for (long j = 0; j < n; j++) out[i * n + j] += alpha * a[i * n + k] * b[k * n + j];
    }
}
