#include <math.h>

void run(void **buffers, const long *sizes) {
    const float *latitudes = buffers[0], *longitudes = buffers[1];
    float *distances = buffers[2], *closest = buffers[4], least = INFINITY;
    int *found = buffers[3];
    long n = sizes[0], at = 0;
    const float latitude = 100.0625f, longitude = 50.0625f;
#pragma omp parallel for
    for (long i = 0; i < n; i++) {
        float dy = latitudes[i] - latitude, dx = longitudes[i] - longitude;
        distances[i] = sqrtf(dy * dy + dx * dx);
    }
#pragma omp parallel
    {
        float own = INFINITY;
        long own_at = 0;
#pragma omp for nowait
        for (long i = 0; i < n; i++)
            if (distances[i] < own) {
                own = distances[i];
                own_at = i;
            }
#pragma omp critical
        if (own < least || (own == least && own_at < at)) {
            least = own;
            at = own_at;
        }
    }
    found[0] = at;
    closest[0] = least;
}
