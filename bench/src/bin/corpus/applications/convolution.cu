constexpr int RADIUS = 3, SIDE = 2 * RADIUS + 1;

extern "C" __global__ void convolve(const float *image, const float *mask, float *out, int height, int width) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0;
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            int row = y + i - RADIUS, column = x + j - RADIUS;
            if (row >= 0 && row < height && column >= 0 && column < width)
                sum += mask[i * SIDE + j] * image[row * width + column];
        }
    out[y * width + x] = sum;
}

// Each block of 16 by 32 threads loads its pixels and those around them once.
extern "C" __global__ void tiled(const float *__restrict__ image, const float *__restrict__ mask,
                                 float *__restrict__ out, int height, int width) {
    constexpr int H = 16, W = 32;
    __shared__ float tile[H + 2 * RADIUS][W + 2 * RADIUS], weights[SIDE][SIDE];
    int top = blockIdx.y * H, left = blockIdx.x * W, thread = threadIdx.y * W + threadIdx.x;
    if (thread < SIDE * SIDE) weights[thread / SIDE][thread % SIDE] = mask[thread];
    for (int i = threadIdx.y; i < H + 2 * RADIUS; i += H)
        for (int j = threadIdx.x; j < W + 2 * RADIUS; j += W) {
            int row = top + i - RADIUS, column = left + j - RADIUS;
            bool inside = row >= 0 && row < height && column >= 0 && column < width;
            tile[i][j] = inside ? image[row * width + column] : 0;
        }
    __syncthreads();
    int x = left + threadIdx.x, y = top + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0;
#pragma unroll
    for (int i = 0; i < SIDE; i++)
#pragma unroll
        for (int j = 0; j < SIDE; j++) sum += weights[i][j] * tile[threadIdx.y + i][threadIdx.x + j];
    out[y * width + x] = sum;
}
