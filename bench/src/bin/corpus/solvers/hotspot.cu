extern "C" __global__ void start(const float *input, float *t, int n) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < n) t[i * n + j] = input[i * n + j];
}

extern "C" __global__ void hotspot(float step, float x, float y, float z, const float *power, const float *t,
                                   float *next, int n) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n) return;
    float here = t[i * n + j];
    float north = i == 0 ? here : t[(i - 1) * n + j], south = i == n - 1 ? here : t[(i + 1) * n + j];
    float west = j == 0 ? here : t[i * n + j - 1], east = j == n - 1 ? here : t[i * n + j + 1];
    float flow = (south + north - 2 * here) * y + (east + west - 2 * here) * x + (80.0f - here) * z;
    next[i * n + j] = here + step * (power[i * n + j] + flow);
}
