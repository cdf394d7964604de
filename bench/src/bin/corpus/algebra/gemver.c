void run(void **buffers, const long *sizes) {
    const float *a = buffers[0], *u1 = buffers[1], *v1 = buffers[2], *u2 = buffers[3], *v2 = buffers[4];
    const float *y = buffers[5], *z = buffers[6];
    float *updated = buffers[7], *x = buffers[8], *w = buffers[9];
    const float alpha = 1.5f, beta = 1.2f;
    long n = sizes[0];
#pragma omp parallel for
    for (long i = 0; i < n; i++)
        for (long j = 0; j < n; j++) updated[i * n + j] = a[i * n + j] + u1[i] * v1[j] + u2[i] * v2[j];
    for (long i = 0; i < n; i++) x[i] = z[i];
#pragma omp parallel for reduction(+ : x[:n])
    for (long j = 0; j < n; j++)
        for (long i = 0; i < n; i++) x[i] += beta * updated[j * n + i] * y[j];
#pragma omp parallel for
    for (long i = 0; i < n; i++) {
        float sum = 0;
        for (long j = 0; j < n; j++) sum += updated[i * n + j] * x[j];
        w[i] = alpha * sum;
    }
}
