#include <math.h>

enum { RADIUS = 4 };

static inline long clamp(long a, long low, long high) { return a < low ? low : a > high ? high : a; }

void run(void **buffers, const long *sizes) {
    const unsigned char *image = buffers[0];
    const float *x = buffers[1], *y = buffers[2];
    float *weights = buffers[3], *cumulative = buffers[4];
    int *chosen = buffers[6];
    long n = sizes[0], height = sizes[1], width = sizes[2];
#pragma omp parallel for
    for (long i = 0; i < n; i++) {
        long row = lroundf(y[i]), column = lroundf(x[i]);
        float likelihood = 0;
        for (long dy = -RADIUS; dy <= RADIUS; dy++)
            for (long dx = -RADIUS; dx <= RADIUS; dx++) {
                long r = clamp(row + dy, 0, height - 1), c = clamp(column + dx, 0, width - 1);
                float value = image[r * width + c];
                float back = value - 100.0f, object = value - 228.0f;
                likelihood += (back * back - object * object) / 50.0f;
            }
        weights[i] = expf(likelihood / 8100.0f);
    }
    double sum = 0;
    for (long i = 0; i < n; i++) {
        sum += weights[i];
        cumulative[i] = sum;
    }
#pragma omp parallel for
    for (long i = 0; i < n; i++) {
        float u = (i + 0.5f) / n * cumulative[n - 1];
        long low = 0, high = n - 1;
        while (low < high) {
            long middle = (low + high) / 2;
            if (cumulative[middle] >= u)
                high = middle;
            else
                low = middle + 1;
        }
        chosen[i] = low;
    }
}
