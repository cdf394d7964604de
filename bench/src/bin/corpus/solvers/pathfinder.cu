extern "C" __global__ void start(const int *wall, int *costs, int n) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j < n) costs[j] = wall[j];
}

extern "C" __global__ void row(int i, const int *wall, const int *costs, int *next, int n) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= n) return;
    int least = costs[j];
    if (j > 0) least = min(least, costs[j - 1]);
    if (j < n - 1) least = min(least, costs[j + 1]);
    next[j] = wall[i * n + j] + least;
}
