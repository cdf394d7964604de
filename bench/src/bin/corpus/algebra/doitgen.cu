extern "C" __global__ void doitgen(const float *a, const float *c, float *out, int nq, int np) {
    int p = blockIdx.x * blockDim.x + threadIdx.x, q = blockIdx.y * blockDim.y + threadIdx.y, r = blockIdx.z;
    if (q >= nq || p >= np) return;
    float sum = 0;
    for (int s = 0; s < np; s++) sum += a[(r * nq + q) * np + s] * c[s * np + p];
    out[(r * nq + q) * np + p] = sum;
}
