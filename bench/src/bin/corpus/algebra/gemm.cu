extern "C" __global__ void gemm(float alpha, float beta, const float *a, const float *b, const float *c, float *out,
                                int n) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n) return;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += a[i * n + k] * b[k * n + j];
    out[i * n + j] = alpha * sum + beta * c[i * n + j];
}
