#include <math.h>

enum { RADIUS = 4 };

static inline long clamp(long a, long high) { return a < 0 ? 0 : a > high ? high : a; }

void run(void **buffers, const long *sizes) {
    const float *image = buffers[0], space = 0.08f, range = 5.0f;
    float *out = buffers[1];
    long height = sizes[0], width = sizes[1];
#pragma omp parallel for
    for (long y = 0; y < height; y++)
        for (long x = 0; x < width; x++) {
            float here = image[y * width + x], sum = 0, total = 0;
            for (long dy = -RADIUS; dy <= RADIUS; dy++)
                for (long dx = -RADIUS; dx <= RADIUS; dx++) {
                    long row = clamp(y + dy, height - 1), column = clamp(x + dx, width - 1);
                    float there = image[row * width + column];
                    float difference = there - here, distance = dx * dx + dy * dy;
                    float weight = expf(-space * distance - range * difference * difference);
                    sum += weight * there;
                    total += weight;
                }
            out[y * width + x] = sum / total;
        }
}
