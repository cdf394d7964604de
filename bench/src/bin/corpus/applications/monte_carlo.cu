constexpr unsigned PATHS = 64;

__device__ unsigned hash(unsigned counter) {
    unsigned state = counter * 747796405u + 2891336453u;
    unsigned word = ((state >> ((state >> 28) + 4)) ^ state) * 277803737u;
    return (word >> 22) ^ word;
}

__device__ float uniform(unsigned counter) { return ((hash(counter) >> 8) + 1) / 16777216.0f; }

extern "C" __global__ void clear(float *total) { *total = 0; }

extern "C" __global__ void simulate(float spot, float strike, float rate, float volatility, float years,
                                    float *payoffs, float *total, int n) {
    __shared__ float sums[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
    float drift = (rate - 0.5f * volatility * volatility) * years, spread = volatility * sqrtf(years), sum = 0;
    if (i < n) {
        for (unsigned k = 0; k < PATHS; k++) {
            unsigned path = i * PATHS + k;
            float radius = sqrtf(-2.0f * logf(uniform(2 * path)));
            float normal = radius * cosf(6.2831853f * uniform(2 * path + 1));
            float last = spot * expf(drift + spread * normal);
            sum += fmaxf(last - strike, 0.0f);
        }
        payoffs[i] = sum;
    }
    sums[t] = sum;
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (t < half) sums[t] += sums[t + half];
    }
    if (t == 0) atomicAdd(total, sums[0]);
}

extern "C" __global__ void average(float rate, float years, const float *total, float *mean, int n) {
    *mean = expf(-rate * years) * *total / ((float)n * PATHS);
}
