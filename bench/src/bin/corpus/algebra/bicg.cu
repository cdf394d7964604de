extern "C" __global__ void product(const float *a, const float *x, float *y, int m, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m) return;
    float sum = 0;
    for (int j = 0; j < n; j++) sum += a[i * n + j] * x[j];
    y[i] = sum;
}

extern "C" __global__ void transposed(const float *a, const float *x, float *y, int m, int n) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= n) return;
    float sum = 0;
    for (int i = 0; i < m; i++) sum += a[i * n + j] * x[i];
    y[j] = sum;
}
