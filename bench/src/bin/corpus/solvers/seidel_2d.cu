extern "C" __global__ void start(const float *a0, float *a, int n) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < n) a[i * n + j] = a0[i * n + j];
}

extern "C" __global__ void wavefront(int wave, float *a, int n) {
    int first = max(1, (wave - n + 3) / 2), end = min(n - 1, (wave + 1) / 2);
    int i = first + blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= end) return;
    int j = wave - 2 * i, at = i * n + j;
    a[at] = (a[at - n - 1] + a[at - n] + a[at - n + 1] + a[at - 1] + a[at] + a[at + 1] + a[at + n - 1] + a[at + n] +
             a[at + n + 1]) /
            9.0f;
}
