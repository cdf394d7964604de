extern "C" __global__ void start_a(const float *input, float *a, int n) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < n) a[i * n + j] = input[i * n + j];
}

extern "C" __global__ void start_y(const float *b, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = b[i];
}

extern "C" __global__ void divide(int k, float *a, int n) {
    int i = k + 1 + blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i * n + k] /= a[k * n + k];
}

extern "C" __global__ void subtract(int k, float *a, int n) {
    int j = k + 1 + blockIdx.x * blockDim.x + threadIdx.x, i = k + 1 + blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < n) a[i * n + j] -= a[i * n + k] * a[k * n + j];
}

extern "C" __global__ void forward(int k, const float *a, float *y, int n) {
    int i = k + 1 + blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] -= a[i * n + k] * y[k];
}

extern "C" __global__ void backward(int k, const float *a, float *y, float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > k) return;
    float value = y[k] / a[k * n + k];
    if (i == k)
        x[k] = value;
    else
        y[i] -= a[i * n + k] * value;
}
