#include <math.h>

void run(void **buffers, const long *sizes) {
    const float *data = buffers[0];
    float *mean = buffers[1], *deviation = buffers[2], *normalized = buffers[3], *out = buffers[4];
    long n = sizes[0], m = sizes[1];
#pragma omp parallel for
    for (long j = 0; j < m; j++) {
        float sum = 0;
        for (long i = 0; i < n; i++) sum += data[i * m + j];
        mean[j] = sum / n;
    }
#pragma omp parallel for
    for (long j = 0; j < m; j++) {
        float sum = 0;
        for (long i = 0; i < n; i++) sum += (data[i * m + j] - mean[j]) * (data[i * m + j] - mean[j]);
        float value = sqrtf(sum / n);
        deviation[j] = value <= 0.1f ? 1.0f : value;
    }
#pragma omp parallel for
    for (long i = 0; i < n; i++)
        for (long j = 0; j < m; j++)
            normalized[i * m + j] = (data[i * m + j] - mean[j]) / (sqrtf(n) * deviation[j]);
#pragma omp parallel for schedule(dynamic)
    for (long i = 0; i < m; i++) {
        out[i * m + i] = 1;
        for (long j = i + 1; j < m; j++) out[i * m + j] = 0;
        for (long k = 0; k < n; k++)
            for (long j = i + 1; j < m; j++) out[i * m + j] += normalized[k * m + i] * normalized[k * m + j];
        for (long j = i + 1; j < m; j++) out[j * m + i] = out[i * m + j];
    }
}
