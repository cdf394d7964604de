extern "C" __global__ void distance(float latitude, float longitude, const float *latitudes, const float *longitudes,
                                    float *distances, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float dy = latitudes[i] - latitude, dx = longitudes[i] - longitude;
    distances[i] = sqrtf(dy * dy + dx * dx);
}

// Of two records, the nearer one; of equally near ones, the first. -1 is none.
__device__ int nearer(const float *distances, int a, int b) {
    if (a < 0 || b < 0) return max(a, b);
    if (distances[a] != distances[b]) return distances[a] < distances[b] ? a : b;
    return min(a, b);
}

// The nearest of the block's candidates.
__device__ int reduce(const float *distances, int candidate) {
    __shared__ int candidates[256];
    int t = threadIdx.x;
    candidates[t] = candidate;
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (t < half) candidates[t] = nearer(distances, candidates[t], candidates[t + half]);
    }
    return candidates[0];
}

extern "C" __global__ void nearest_of_blocks(const float *distances, int *candidates, int n) {
    int best = -1;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        best = nearer(distances, best, i);
    best = reduce(distances, best);
    if (threadIdx.x == 0) candidates[blockIdx.x] = best;
}

extern "C" __global__ void nearest(const float *distances, const int *candidates, int *found, float *closest,
                                   int blocks) {
    int best = -1;
    for (int k = threadIdx.x; k < blocks; k += blockDim.x) best = nearer(distances, best, candidates[k]);
    best = reduce(distances, best);
    if (threadIdx.x == 0) {
        *found = best;
        *closest = distances[best];
    }
}
