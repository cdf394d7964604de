extern "C" __global__ void trmm(float alpha, const float *a, const float *b, float *out, int m, int n) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= m || j >= n) return;
    float sum = b[i * n + j];
    for (int k = i + 1; k < m; k++) sum += a[k * m + i] * b[k * n + j];
    out[i * n + j] = alpha * sum;
}
