constexpr int BLOCK = 256;

// The scan of Hillis and Steele.
__device__ unsigned scan(unsigned *sums, unsigned x) {
    int t = threadIdx.x;
    sums[t] = x;
    __syncthreads();
    for (int by = 1; by < BLOCK; by *= 2) {
        unsigned before = t >= by ? sums[t - by] : 0;
        __syncthreads();
        sums[t] += before;
        __syncthreads();
    }
    return sums[t];
}

extern "C" __global__ void decide(float limit, const float *x, unsigned *places, int n) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) places[i] = x[i] > limit;
}

extern "C" __global__ void scan_blocks(unsigned *places, unsigned *totals, int n) {
    __shared__ unsigned sums[BLOCK];
    int i = blockIdx.x * BLOCK + threadIdx.x;
    unsigned sum = scan(sums, i < n ? places[i] : 0);
    if (i < n) places[i] = sum;
    if (threadIdx.x == BLOCK - 1) totals[blockIdx.x] = sum;
}

extern "C" __global__ void scan_totals(unsigned *totals, int blocks) {
    __shared__ unsigned sums[BLOCK];
    unsigned before = 0;
    for (int first = 0; first < blocks; first += BLOCK) {
        int i = first + threadIdx.x;
        unsigned sum = scan(sums, i < blocks ? totals[i] : 0);
        if (i < blocks) totals[i] = before + sum;
        before += sums[BLOCK - 1];
        __syncthreads();
    }
}

extern "C" __global__ void scatter(float limit, const float *x, const unsigned *places, const unsigned *totals,
                                   float *out, int n) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n || x[i] <= limit) return;
    unsigned before = i >= BLOCK ? totals[i / BLOCK - 1] : 0;
    out[before + places[i] - 1] = x[i];
}
