void run(void **buffers, const long *sizes) {
    const float *a = buffers[0], *c = buffers[1];
    float *out = buffers[2];
    const float alpha = 1.5f, beta = 1.2f;
    long n = sizes[0], m = sizes[1];
#pragma omp parallel for schedule(dynamic)
    for (long i = 0; i < n; i++)
        for (long j = 0; j <= i; j++) {
            float sum = 0;
            for (long k = 0; k < m; k++) sum += a[i * m + k] * a[j * m + k];
            out[i * n + j] = alpha * sum + beta * c[i * n + j];
        }
}
