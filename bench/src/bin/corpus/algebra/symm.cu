extern "C" __global__ void symm(float alpha, float beta, const float *a, const float *b, const float *c, float *out,
                                int m, int n) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int k = 0; k <= i; k++) sum += a[i * m + k] * b[k * n + j];
    for (int k = i + 1; k < m; k++) sum += a[k * m + i] * b[k * n + j];
    out[i * n + j] = alpha * sum + beta * c[i * n + j];
}
