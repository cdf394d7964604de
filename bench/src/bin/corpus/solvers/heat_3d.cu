extern "C" __global__ void start(const float *a0, float *a, int n) {
    int k = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y,
        i = blockIdx.z * blockDim.z + threadIdx.z;
    if (i < n && j < n && k < n) a[(i * n + j) * n + k] = a0[(i * n + j) * n + k];
}

extern "C" __global__ void heat_3d(const float *a, float *b, int n) {
    int k = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y,
        i = blockIdx.z * blockDim.z + threadIdx.z;
    if (i < 1 || i >= n - 1 || j < 1 || j >= n - 1 || k < 1 || k >= n - 1) return;
    int at = (i * n + j) * n + k;
    b[at] = 0.125f * (a[at + n * n] - 2 * a[at] + a[at - n * n]) + 0.125f * (a[at + n] - 2 * a[at] + a[at - n]) +
            0.125f * (a[at + 1] - 2 * a[at] + a[at - 1]) + a[at];
}
