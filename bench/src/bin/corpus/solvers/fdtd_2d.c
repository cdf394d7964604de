void run(void **buffers, const long *sizes) {
    const float *ex0 = buffers[0], *ey0 = buffers[1], *hz0 = buffers[2];
    float *ex = buffers[3], *ey = buffers[4], *hz = buffers[5];
    long n = sizes[0], steps = sizes[1];
#pragma omp parallel for
    for (long i = 0; i < n * n; i++) {
        ex[i] = ex0[i];
        ey[i] = ey0[i];
        hz[i] = hz0[i];
    }
    for (long t = 0; t < steps; t++) {
        for (long j = 0; j < n; j++) ey[j] = (float)t;
#pragma omp parallel for
        for (long i = 1; i < n; i++)
            for (long j = 0; j < n; j++) ey[i * n + j] -= 0.5f * (hz[i * n + j] - hz[(i - 1) * n + j]);
#pragma omp parallel for
        for (long i = 0; i < n; i++)
            for (long j = 1; j < n; j++) ex[i * n + j] -= 0.5f * (hz[i * n + j] - hz[i * n + j - 1]);
#pragma omp parallel for
        for (long i = 0; i < n - 1; i++)
            for (long j = 0; j < n - 1; j++)
                hz[i * n + j] -= 0.7f * (ex[i * n + j + 1] - ex[i * n + j] + ey[(i + 1) * n + j] - ey[i * n + j]);
    }
}
