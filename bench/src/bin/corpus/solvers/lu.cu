extern "C" __global__ void start(const float *input, float *a, int n) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < n) a[i * n + j] = input[i * n + j];
}

extern "C" __global__ void divide(int k, float *a, int n) {
    int i = k + 1 + blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i * n + k] /= a[k * n + k];
}

extern "C" __global__ void subtract(int k, float *a, int n) {
    int j = k + 1 + blockIdx.x * blockDim.x + threadIdx.x, i = k + 1 + blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < n) a[i * n + j] -= a[i * n + k] * a[k * n + j];
}
