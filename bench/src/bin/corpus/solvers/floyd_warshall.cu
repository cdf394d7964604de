extern "C" __global__ void start(const int *edges, int *paths, int n) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < n) paths[i * n + j] = edges[i * n + j];
}

extern "C" __global__ void floyd_warshall(int k, int *paths, int n) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n) return;
    int through = paths[i * n + k] + paths[k * n + j];
    if (through < paths[i * n + j]) paths[i * n + j] = through;
}
