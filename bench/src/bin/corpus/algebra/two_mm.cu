extern "C" __global__ void first(float alpha, const float *a, const float *b, float *product, int ni, int nj, int nk) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= ni || j >= nj) return;
    float sum = 0;
    for (int k = 0; k < nk; k++) sum += a[i * nk + k] * b[k * nj + j];
    product[i * nj + j] = alpha * sum;
}

extern "C" __global__ void second(float beta, const float *product, const float *c, const float *d, float *out, int ni,
                                  int nl, int nj) {
    int l = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= ni || l >= nl) return;
    float sum = 0;
    for (int j = 0; j < nj; j++) sum += product[i * nj + j] * c[j * nl + l];
    out[i * nl + l] = sum + beta * d[i * nl + l];
}
