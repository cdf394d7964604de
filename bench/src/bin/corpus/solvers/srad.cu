extern "C" __global__ void start(const float *image, float *v, int n) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < n) v[i * n + j] = expf(image[i * n + j]);
}

extern "C" __global__ void clear(float *sums) { sums[0] = sums[1] = 0; }

extern "C" __global__ void reduce(const float *v, float *sums, int n) {
    __shared__ float sum[256], squares[256];
    int t = threadIdx.x, at = blockIdx.x * 256 + t;
    float value = at < n * n ? v[at] : 0;
    sum[t] = value;
    squares[t] = value * value;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (t < half) {
            sum[t] += sum[t + half];
            squares[t] += squares[t + half];
        }
        __syncthreads();
    }
    if (t == 0) {
        atomicAdd(&sums[0], sum[0]);
        atomicAdd(&sums[1], squares[0]);
    }
}

extern "C" __global__ void coefficient(const float *v, const float *sums, float *c, float *north, float *south,
                                       float *west, float *east, int n) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n) return;
    float mean = sums[0] / (n * n), variance = sums[1] / (n * n) - mean * mean, q0 = variance / (mean * mean);
    float here = v[i * n + j];
    float dn = v[max(i - 1, 0) * n + j] - here, ds = v[min(i + 1, n - 1) * n + j] - here;
    float dw = v[i * n + max(j - 1, 0)] - here, de = v[i * n + min(j + 1, n - 1)] - here;
    float g = (dn * dn + ds * ds + dw * dw + de * de) / (here * here);
    float l = (dn + ds + dw + de) / here;
    float part = 1 + 0.25f * l;
    float q = (0.5f * g - 0.0625f * l * l) / (part * part);
    float value = 1 / (1 + (q - q0) / (q0 * (1 + q0)));
    c[i * n + j] = fminf(fmaxf(value, 0), 1);
    north[i * n + j] = dn;
    south[i * n + j] = ds;
    west[i * n + j] = dw;
    east[i * n + j] = de;
}

extern "C" __global__ void diffuse(float lambda, float *v, const float *c, const float *north, const float *south,
                                   const float *west, const float *east, int n) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n) return;
    float here = c[i * n + j];
    float divergence = here * north[i * n + j] + c[min(i + 1, n - 1) * n + j] * south[i * n + j] +
                       here * west[i * n + j] + c[i * n + min(j + 1, n - 1)] * east[i * n + j];
    v[i * n + j] += 0.25f * lambda * divergence;
}
