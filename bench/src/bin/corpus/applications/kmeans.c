#include <float.h>
#include <string.h>

void run(void **buffers, const long *sizes) {
    const float *points = buffers[0], *centres = buffers[1];
    int *member = buffers[2], *counts = buffers[4];
    float *sums = buffers[3], *moved = buffers[5];
    long n = sizes[0], features = sizes[1], clusters = sizes[2];
#pragma omp parallel for
    for (long i = 0; i < n; i++) {
        int nearest = 0;
        float least = FLT_MAX;
        for (long c = 0; c < clusters; c++) {
            float distance = 0;
            for (long f = 0; f < features; f++) {
                float d = points[f * n + i] - centres[c * features + f];
                distance += d * d;
            }
            if (distance < least) {
                least = distance;
                nearest = c;
            }
        }
        member[i] = nearest;
    }
    memset(sums, 0, clusters * features * sizeof(float));
    memset(counts, 0, clusters * sizeof(int));
#pragma omp parallel for reduction(+ : sums[:clusters * features], counts[:clusters])
    for (long i = 0; i < n; i++) {
        long c = member[i];
        counts[c]++;
        for (long f = 0; f < features; f++) sums[c * features + f] += points[f * n + i];
    }
    for (long k = 0; k < clusters * features; k++) {
        int count = counts[k / features];
        moved[k] = count > 0 ? sums[k] / count : centres[k];
    }
}
