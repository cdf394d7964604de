extern "C" __global__ void clear(unsigned *best, int n) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < n) best[c] = 0;
}

extern "C" __global__ void add_item(int weight, unsigned value, const unsigned *before, unsigned *best, int n) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < n) best[c] = c >= weight ? max(before[c], before[c - weight] + value) : before[c];
}
