extern "C" __global__ void start(const float *u0, float *u, float *previous, int n) {
    int k = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y,
        i = blockIdx.z * blockDim.z + threadIdx.z;
    if (i >= n || j >= n || k >= n) return;
    int at = (i * n + j) * n + k;
    u[at] = u0[at];
    previous[at] = 0;
}

extern "C" __global__ void wave(const float *speed, const float *u, float *other, int n) {
    const float c[5] = {-205.0f / 72, 8.0f / 5, -1.0f / 5, 8.0f / 315, -1.0f / 560};
    int k = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y,
        i = blockIdx.z * blockDim.z + threadIdx.z;
    if (i < 4 || i >= n - 4 || j < 4 || j >= n - 4 || k < 4 || k >= n - 4) return;
    int at = (i * n + j) * n + k;
    float laplacian = 3 * c[0] * u[at];
    for (int r = 1; r < 5; r++)
        laplacian += c[r] * (u[at + r * n * n] + u[at - r * n * n] + u[at + r * n] + u[at - r * n] + u[at + r] +
                             u[at - r]);
    other[at] = 2 * u[at] - other[at] + speed[at] * laplacian;
}

// Micikevicius, 3D finite difference computation on GPUs (2009): a block of 8 by 32 threads goes through 32 planes,
// with a tile of the current plane in shared memory and the values before and after it in registers.
extern "C" __global__ void wave_tiled(const float *speed, const float *u, float *other, int n) {
    const float c[5] = {-205.0f / 72, 8.0f / 5, -1.0f / 5, 8.0f / 315, -1.0f / 560};
    __shared__ float tile[16][40];
    int x = threadIdx.x + 4, y = threadIdx.y + 4, k = 32 * blockIdx.x + x, j = 8 * blockIdx.y + y;
    int first = 4 + 32 * blockIdx.z, end = min(first + 32, n - 4), plane = n * n;
    bool loads = j < n && k < n, computes = j < n - 4 && k < n - 4;
    float q[9];
    for (int r = 0; r < 8; r++) q[r + 1] = loads ? u[(first - 4 + r) * plane + j * n + k] : 0;
    for (int i = first; i < end; i++) {
        int at = i * plane + j * n + k;
        for (int r = 0; r < 8; r++) q[r] = q[r + 1];
        q[8] = loads ? u[at + 4 * plane] : 0;
        __syncthreads();
        tile[y][x] = q[4];
        if (threadIdx.y < 4) {
            tile[y - 4][x] = loads ? u[at - 4 * n] : 0;
            tile[y + 8][x] = j + 8 < n && k < n ? u[at + 8 * n] : 0;
        }
        if (threadIdx.x < 4) {
            tile[y][x - 4] = loads ? u[at - 4] : 0;
            tile[y][x + 32] = j < n && k + 32 < n ? u[at + 32] : 0;
        }
        __syncthreads();
        if (!computes) continue;
        float laplacian = 3 * c[0] * q[4];
        for (int r = 1; r < 5; r++)
            laplacian += c[r] * (q[4 + r] + q[4 - r] + tile[y + r][x] + tile[y - r][x] + tile[y][x + r] +
                                 tile[y][x - r]);
        other[at] = 2 * q[4] - other[at] + speed[at] * laplacian;
    }
}
