void run(void **buffers, const long *sizes) {
    const float *a = buffers[0], *x1 = buffers[1], *x2 = buffers[2], *y1 = buffers[3], *y2 = buffers[4];
    float *out1 = buffers[5], *out2 = buffers[6];
    long n = sizes[0];
#pragma omp parallel for
    for (long i = 0; i < n; i++) {
        float sum = x1[i];
        for (long j = 0; j < n; j++) sum += a[i * n + j] * y1[j];
        out1[i] = sum;
    }
    for (long i = 0; i < n; i++) out2[i] = x2[i];
#pragma omp parallel for reduction(+ : out2[:n])
    for (long j = 0; j < n; j++)
        for (long i = 0; i < n; i++) out2[i] += a[j * n + i] * y2[j];
}
