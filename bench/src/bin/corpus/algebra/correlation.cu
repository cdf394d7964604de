extern "C" __global__ void means(const float *data, float *mean, int n, int m) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= m) return;
    float sum = 0;
    for (int i = 0; i < n; i++) sum += data[i * m + j];
    mean[j] = sum / n;
}

extern "C" __global__ void deviations(const float *data, const float *mean, float *deviation, int n, int m) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= m) return;
    float sum = 0;
    for (int i = 0; i < n; i++) {
        float difference = data[i * m + j] - mean[j];
        sum += difference * difference;
    }
    float value = sqrtf(sum / n);
    deviation[j] = value <= 0.1f ? 1.0f : value;
}

extern "C" __global__ void normalize(const float *data, const float *mean, const float *deviation, float *normalized,
                                     int n, int m) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= m) return;
    normalized[i * m + j] = (data[i * m + j] - mean[j]) / (sqrtf(n) * deviation[j]);
}

extern "C" __global__ void correlation(const float *normalized, float *out, int n, int m) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (j >= m || i > j) return;
    if (i == j) {
        out[i * m + j] = 1;
        return;
    }
    float sum = 0;
    for (int k = 0; k < n; k++) sum += normalized[k * m + i] * normalized[k * m + j];
    out[i * m + j] = sum;
    out[j * m + i] = sum;
}
