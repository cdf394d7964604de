extern "C" __global__ void start(const float *b, float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = b[i];
}

extern "C" __global__ void divide(int j, const float *l, float *x, int n) {
    x[j] /= l[j * n + j];
}

extern "C" __global__ void eliminate(int j, const float *l, float *x, int n) {
    int i = j + 1 + blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] -= l[i * n + j] * x[j];
}
