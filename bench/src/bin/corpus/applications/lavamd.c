#include <math.h>

enum { COUNT = 64 };

typedef struct {
    float x, y, z, w;
} Vector;

static inline long max(long a, long b) { return a > b ? a : b; }
static inline long min(long a, long b) { return a < b ? a : b; }

void run(void **buffers, const long *sizes) {
    const Vector *place = buffers[0];
    const float *charge = buffers[1];
    Vector *out = buffers[2];
    long boxes = sizes[0], n = boxes * boxes * boxes * COUNT;
    const float alpha = 0.5f, a2 = 2 * alpha * alpha;
#pragma omp parallel for
    for (long i = 0; i < n; i++) {
        long home = i / COUNT, x = home % boxes, y = home / boxes % boxes, z = home / (boxes * boxes);
        Vector a = place[i], sum = {0, 0, 0, 0};
        for (long bz = max(z - 1, 0); bz < min(z + 2, boxes); bz++)
            for (long by = max(y - 1, 0); by < min(y + 2, boxes); by++)
                for (long bx = max(x - 1, 0); bx < min(x + 2, boxes); bx++) {
                    long first = ((bz * boxes + by) * boxes + bx) * COUNT;
                    for (long j = first; j < first + COUNT; j++) {
                        Vector b = place[j];
                        float r2 = a.w + b.w - (a.x * b.x + a.y * b.y + a.z * b.z);
                        float v = charge[j] * expf(-a2 * r2);
                        sum.x += 2 * v * (a.x - b.x);
                        sum.y += 2 * v * (a.y - b.y);
                        sum.z += 2 * v * (a.z - b.z);
                        sum.w += v;
                    }
                }
        out[i] = sum;
    }
}
