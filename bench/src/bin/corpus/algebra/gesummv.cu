extern "C" __global__ void gesummv(float alpha, float beta, const float *a, const float *b, const float *x, float *y,
                                   int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float ax = 0, bx = 0;
    for (int j = 0; j < n; j++) {
        ax += a[i * n + j] * x[j];
        bx += b[i * n + j] * x[j];
    }
    y[i] = alpha * ax + beta * bx;
}
