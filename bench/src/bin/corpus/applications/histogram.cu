extern "C" __global__ void clear(unsigned *bins) { bins[threadIdx.x] = 0; }

extern "C" __global__ void histogram(const unsigned char *x, unsigned *bins, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&bins[x[i]], 1u);
}

// Each block counts in shared memory.
extern "C" __global__ void shared_bins(const unsigned char *x, unsigned *bins, int n) {
    __shared__ unsigned counts[256];
    counts[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&counts[x[i]], 1u);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], counts[threadIdx.x]);
}
