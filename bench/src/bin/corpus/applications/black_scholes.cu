__device__ float normal_distribution(float d) {
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float polynomial =
        k * (0.31938153f + k * (-0.35656378f + k * (1.7814779f + k * (-1.8212559f + k * 1.3302745f))));
    float tail = 0.3989423f * expf(-0.5f * d * d) * polynomial;
    return d > 0 ? 1.0f - tail : tail;
}

extern "C" __global__ void price(float rate, float volatility, const float *spot, const float *strike,
                                 const float *years, float *call, float *put, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = spot[i], x = strike[i], t = years[i];
    float root = sqrtf(t);
    float d1 = (logf(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
    float d2 = d1 - volatility * root;
    float n1 = normal_distribution(d1), n2 = normal_distribution(d2);
    float discounted = x * expf(-rate * t);
    call[i] = s * n1 - discounted * n2;
    put[i] = discounted * (1.0f - n2) - s * (1.0f - n1);
}
