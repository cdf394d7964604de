#include <math.h>

void run(void **buffers, const long *sizes) {
    const float *a = buffers[0];
    float *rest = buffers[1], *q = buffers[2], *r = buffers[3];
    long m = sizes[0], n = sizes[1];
#pragma omp parallel for
    for (long i = 0; i < m; i++)
        for (long j = 0; j < n; j++) rest[i * n + j] = a[i * n + j];
    for (long k = 0; k < n; k++) {
        float square = 0, *products = r + k * n;
        for (long i = 0; i < m; i++) square += rest[i * n + k] * rest[i * n + k];
        float norm = sqrtf(square);
        for (long j = 0; j < n; j++) products[j] = 0;
#pragma omp parallel for reduction(+ : products[:n])
        for (long i = 0; i < m; i++) {
            q[i * n + k] = rest[i * n + k] / norm;
            for (long j = k + 1; j < n; j++) products[j] += q[i * n + k] * rest[i * n + j];
        }
        products[k] = norm;
#pragma omp parallel for
        for (long i = 0; i < m; i++)
            for (long j = k + 1; j < n; j++) rest[i * n + j] -= q[i * n + k] * products[j];
    }
}
