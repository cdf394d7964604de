extern "C" __global__ void product(const float *a, const float *x, const float *y, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = x[i];
    for (int j = 0; j < n; j++) sum += a[i * n + j] * y[j];
    out[i] = sum;
}

extern "C" __global__ void transposed(const float *a, const float *x, const float *y, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = x[i];
    for (int j = 0; j < n; j++) sum += a[j * n + i] * y[j];
    out[i] = sum;
}
