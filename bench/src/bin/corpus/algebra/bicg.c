void run(void **buffers, const long *sizes) {
    const float *a = buffers[0], *p = buffers[1], *r = buffers[2];
    float *q = buffers[3], *s = buffers[4];
    long m = sizes[0], n = sizes[1];
    for (long j = 0; j < n; j++) s[j] = 0;
#pragma omp parallel for reduction(+ : s[:n])
    for (long i = 0; i < m; i++) {
        float sum = 0;
        for (long j = 0; j < n; j++) {
            s[j] += r[i] * a[i * n + j];
            sum += a[i * n + j] * p[j];
        }
        q[i] = sum;
    }
}
