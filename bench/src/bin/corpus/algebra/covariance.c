void run(void **buffers, const long *sizes) {
    const float *data = buffers[0];
    float *mean = buffers[1], *centered = buffers[2], *out = buffers[3];
    long n = sizes[0], m = sizes[1];
#pragma omp parallel for
    for (long j = 0; j < m; j++) {
        float sum = 0;
        for (long i = 0; i < n; i++) sum += data[i * m + j];
        mean[j] = sum / n;
    }
#pragma omp parallel for
    for (long i = 0; i < n; i++)
        for (long j = 0; j < m; j++) centered[i * m + j] = data[i * m + j] - mean[j];
#pragma omp parallel for schedule(dynamic)
    for (long i = 0; i < m; i++) {
        for (long j = i; j < m; j++) out[i * m + j] = 0;
        for (long k = 0; k < n; k++)
            for (long j = i; j < m; j++) out[i * m + j] += centered[k * m + i] * centered[k * m + j];
        for (long j = i; j < m; j++) {
            out[i * m + j] /= n - 1;
            out[j * m + i] = out[i * m + j];
        }
    }
}
