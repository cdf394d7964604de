extern "C" __global__ void along_rows(const float *image, const float *weights, float *rows, int height, int width,
                                      int taps) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0;
    for (int k = 0; k < taps; k++)
        sum += weights[k] * image[y * width + min(max(x + k - taps / 2, 0), width - 1)];
    rows[y * width + x] = sum;
}

extern "C" __global__ void along_columns(const float *rows, const float *weights, float *out, int height, int width,
                                         int taps) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0;
    for (int k = 0; k < taps; k++)
        sum += weights[k] * rows[min(max(y + k - taps / 2, 0), height - 1) * width + x];
    out[y * width + x] = sum;
}
