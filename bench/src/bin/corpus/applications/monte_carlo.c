#include <math.h>

enum { PATHS = 64 };

static inline unsigned hash(unsigned counter) {
    unsigned state = counter * 747796405u + 2891336453u;
    unsigned word = ((state >> ((state >> 28) + 4)) ^ state) * 277803737u;
    return (word >> 22) ^ word;
}

static inline float uniform(unsigned counter) { return ((hash(counter) >> 8) + 1) / 16777216.0f; }

void run(void **buffers, const long *sizes) {
    float *payoffs = buffers[0], *mean = buffers[1];
    long n = sizes[0];
    const float spot = 40, strike = 38, rate = 0.03f, volatility = 0.25f, years = 1.5f;
    const float drift = (rate - 0.5f * volatility * volatility) * years, spread = volatility * sqrtf(years);
    float total = 0;
#pragma omp parallel for reduction(+ : total)
    for (long i = 0; i < n; i++) {
        float sum = 0;
        for (unsigned k = 0; k < PATHS; k++) {
            unsigned path = i * PATHS + k;
            float radius = sqrtf(-2.0f * logf(uniform(2 * path)));
            float normal = radius * cosf(6.2831853f * uniform(2 * path + 1));
            float last = spot * expf(drift + spread * normal);
            sum += fmaxf(last - strike, 0.0f);
        }
        payoffs[i] = sum;
        total += sum;
    }
    mean[0] = expf(-rate * years) * total / ((float)n * PATHS);
}
