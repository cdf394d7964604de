#include <math.h>

static inline float normal_distribution(float d) {
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float polynomial =
        k * (0.31938153f + k * (-0.35656378f + k * (1.7814779f + k * (-1.8212559f + k * 1.3302745f))));
    float tail = 0.3989423f * expf(-0.5f * d * d) * polynomial;
    return d > 0 ? 1.0f - tail : tail;
}

void run(void **buffers, const long *sizes) {
    const float *spot = buffers[0], *strike = buffers[1], *years = buffers[2];
    float *call = buffers[3], *put = buffers[4];
    long n = sizes[0];
    const float rate = 0.02f, volatility = 0.3f;
#pragma omp parallel for
    for (long i = 0; i < n; i++) {
        float s = spot[i], x = strike[i], t = years[i];
        float root = sqrtf(t);
        float d1 = (logf(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
        float d2 = d1 - volatility * root;
        float n1 = normal_distribution(d1), n2 = normal_distribution(d2);
        float discounted = x * expf(-rate * t);
        call[i] = s * n1 - discounted * n2;
        put[i] = discounted * (1.0f - n2) - s * (1.0f - n1);
    }
}
