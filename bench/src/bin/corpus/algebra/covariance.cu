extern "C" __global__ void means(const float *data, float *mean, int n, int m) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= m) return;
    float sum = 0;
    for (int i = 0; i < n; i++) sum += data[i * m + j];
    mean[j] = sum / n;
}

extern "C" __global__ void center(const float *data, const float *mean, float *centered, int n, int m) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= m) return;
    centered[i * m + j] = data[i * m + j] - mean[j];
}

extern "C" __global__ void covariance(const float *centered, float *out, int n, int m) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (j >= m || i > j) return;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += centered[k * m + i] * centered[k * m + j];
    sum /= n - 1;
    out[i * m + j] = sum;
    out[j * m + i] = sum;
}
