constexpr int BLOCK = 1024;

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

extern "C" __global__ void scan_blocks(const unsigned *x, unsigned *y, unsigned *totals, int n) {
    __shared__ unsigned sums[BLOCK];
    int i = blockIdx.x * BLOCK + threadIdx.x;
    unsigned sum = scan(sums, i < n ? x[i] : 0);
    if (i < n) y[i] = sum;
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

extern "C" __global__ void add_totals(unsigned *y, const unsigned *totals, int n) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= BLOCK && i < n) y[i] += totals[i / BLOCK - 1];
}
