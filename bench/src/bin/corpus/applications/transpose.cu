extern "C" __global__ void transpose(const float *a, float *b, int height, int width) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < height && j < width) b[j * height + i] = a[i * width + j];
}

// Each block of 8 by 32 threads turns a tile of 32 by 32.
extern "C" __global__ void tiled(const float *a, float *b, int height, int width) {
    __shared__ float tile[32][33];
    int top = blockIdx.y * 32, left = blockIdx.x * 32;
    for (int k = threadIdx.y; k < 32; k += 8) {
        int i = top + k, j = left + threadIdx.x;
        if (i < height && j < width) tile[k][threadIdx.x] = a[i * width + j];
    }
    __syncthreads();
    for (int k = threadIdx.y; k < 32; k += 8) {
        int j = left + k, i = top + threadIdx.x;
        if (i < height && j < width) b[j * height + i] = tile[threadIdx.x][k];
    }
}
