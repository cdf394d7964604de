void run(void **buffers, const long *sizes) {
    const float *a = buffers[0], *b = buffers[1], *x = buffers[2];
    float *y = buffers[3];
    const float alpha = 1.5f, beta = 1.2f;
    long n = sizes[0];
#pragma omp parallel for
    for (long i = 0; i < n; i++) {
        float ax = 0, bx = 0;
        for (long j = 0; j < n; j++) {
            ax += a[i * n + j] * x[j];
            bx += b[i * n + j] * x[j];
        }
        y[i] = alpha * ax + beta * bx;
    }
}
