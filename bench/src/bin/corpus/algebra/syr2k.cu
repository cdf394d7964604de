extern "C" __global__ void syr2k(float alpha, float beta, const float *a, const float *b, const float *c, float *out,
                                 int n, int m) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j > i) return;
    float sum = 0;
    for (int k = 0; k < m; k++) sum += a[i * m + k] * b[j * m + k] + b[i * m + k] * a[j * m + k];
    out[i * n + j] = alpha * sum + beta * c[i * n + j];
}
