extern "C" __global__ void start(const float *input, float *a, int n) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < n) a[i * n + j] = input[i * n + j];
}

extern "C" __global__ void row(int k, float *a, int n) {
    int j = k + blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= n) return;
    float sum = a[k * n + j];
    for (int m = 0; m < k; m++) sum -= a[k * n + m] * a[m * n + j];
    a[k * n + j] = sum;
}

extern "C" __global__ void column(int k, float *a, int n) {
    int i = k + 1 + blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = a[i * n + k];
    for (int m = 0; m < k; m++) sum -= a[i * n + m] * a[m * n + k];
    a[i * n + k] = sum / a[k * n + k];
}
