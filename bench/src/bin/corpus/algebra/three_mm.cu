extern "C" __global__ void product(const float *left, const float *right, float *out, int rows, int columns,
                                   int inner) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= rows || j >= columns) return;
    float sum = 0;
    for (int k = 0; k < inner; k++) sum += left[i * inner + k] * right[k * columns + j];
    out[i * columns + j] = sum;
}
