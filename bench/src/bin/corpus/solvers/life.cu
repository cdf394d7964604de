extern "C" __global__ void start(const unsigned char *input, unsigned char *cells, int n) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < n) cells[i * n + j] = input[i * n + j];
}

extern "C" __global__ void life(const unsigned char *cells, unsigned char *next, int n) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n) return;
    int up = (i + n - 1) % n, down = (i + 1) % n, left = (j + n - 1) % n, right = (j + 1) % n;
    int neighbours = cells[up * n + left] + cells[up * n + j] + cells[up * n + right] + cells[i * n + left] +
                     cells[i * n + right] + cells[down * n + left] + cells[down * n + j] + cells[down * n + right];
    next[i * n + j] = neighbours == 3 || (neighbours == 2 && cells[i * n + j] == 1);
}
