extern "C" __global__ void update(const float *a, const float *u1, const float *v1, const float *u2, const float *v2,
                                  float *updated, int n) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n) return;
    updated[i * n + j] = a[i * n + j] + u1[i] * v1[j] + u2[i] * v2[j];
}

extern "C" __global__ void transposed(float beta, const float *updated, const float *y, const float *z, float *x,
                                      int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int j = 0; j < n; j++) sum += updated[j * n + i] * y[j];
    x[i] = beta * sum + z[i];
}

extern "C" __global__ void product(float alpha, const float *updated, const float *x, float *w, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int j = 0; j < n; j++) sum += updated[i * n + j] * x[j];
    w[i] = alpha * sum;
}
