extern "C" __global__ void start(const float *r, float *y, float *alpha_beta) {
    y[0] = -r[0];
    alpha_beta[0] = -r[0];
    alpha_beta[1] = 1;
}

extern "C" __global__ void reflect(int k, const float *r, const float *y, float *alpha_beta) {
    __shared__ float sums[256];
    int t = threadIdx.x;
    float sum = 0;
    for (int i = t; i < k; i += 256) sum += r[k - i - 1] * y[i];
    sums[t] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (t < half) sums[t] += sums[t + half];
        __syncthreads();
    }
    if (t == 0) {
        float beta = (1 - alpha_beta[0] * alpha_beta[0]) * alpha_beta[1];
        alpha_beta[0] = -(r[k] + sums[0]) / beta;
        alpha_beta[1] = beta;
    }
}

extern "C" __global__ void combine(int k, const float *y, float *z, const float *alpha_beta) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < k) z[i] = y[i] + alpha_beta[0] * y[k - i - 1];
}

extern "C" __global__ void copy(int k, const float *z, float *y, const float *alpha_beta) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < k) y[i] = z[i];
    if (i == k) y[i] = alpha_beta[0];
}
