extern "C" __global__ void start(const float *a, float *rest, int m, int n) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < m && j < n) rest[i * n + j] = a[i * n + j];
}

// One block of 256 threads.
extern "C" __global__ void length(int k, const float *rest, float *q, float *r, int m, int n) {
    __shared__ float sums[256];
    int t = threadIdx.x;
    float sum = 0;
    for (int i = t; i < m; i += 256) sum += rest[i * n + k] * rest[i * n + k];
    sums[t] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (t < half) sums[t] += sums[t + half];
        __syncthreads();
    }
    if (t == 0) r[k * n + k] = sqrtf(sums[0]);
}

extern "C" __global__ void normalize(int k, const float *rest, float *q, const float *r, int m, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < m) q[i * n + k] = rest[i * n + k] / r[k * n + k];
}

extern "C" __global__ void subtract(int k, float *rest, const float *q, float *r, int m, int n) {
    int j = k + 1 + blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= n) return;
    float product = 0;
    for (int i = 0; i < m; i++) product += q[i * n + k] * rest[i * n + j];
    r[k * n + j] = product;
    for (int i = 0; i < m; i++) rest[i * n + j] -= q[i * n + k] * product;
}
