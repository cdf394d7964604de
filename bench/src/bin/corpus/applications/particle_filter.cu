constexpr int RADIUS = 4;

extern "C" __global__ void weigh(const unsigned char *image, const float *x, const float *y, float *weights,
                                 int height, int width, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int row = (int)roundf(y[i]), column = (int)roundf(x[i]);
    float likelihood = 0;
    for (int dy = -RADIUS; dy <= RADIUS; dy++)
        for (int dx = -RADIUS; dx <= RADIUS; dx++) {
            int r = min(max(row + dy, 0), height - 1), c = min(max(column + dx, 0), width - 1);
            float value = image[r * width + c];
            float back = value - 100.0f, object = value - 228.0f;
            likelihood += (back * back - object * object) / 50.0f;
        }
    weights[i] = expf(likelihood / 8100.0f);
}

// The scan of Hillis and Steele in each block.
extern "C" __global__ void scan_blocks(const float *weights, float *cumulative, float *sums, int n) {
    __shared__ float scan[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    scan[t] = i < n ? weights[i] : 0;
    __syncthreads();
    for (int by = 1; by < 256; by *= 2) {
        float before = t >= by ? scan[t - by] : 0;
        __syncthreads();
        scan[t] += before;
        __syncthreads();
    }
    if (i < n) cumulative[i] = scan[t];
    if (t == 255) sums[blockIdx.x] = scan[t];
}

extern "C" __global__ void scan_sums(float *sums, int blocks) {
    for (int k = 1; k < blocks; k++) sums[k] += sums[k - 1];
}

extern "C" __global__ void add_sums(float *cumulative, const float *sums, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= 256 && i < n) cumulative[i] += sums[i / 256 - 1];
}

extern "C" __global__ void choose(const float *cumulative, int *chosen, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float u = (i + 0.5f) / n * cumulative[n - 1];
    int low = 0, high = n - 1;
    while (low < high) {
        int middle = (low + high) / 2;
        if (cumulative[middle] >= u)
            high = middle;
        else
            low = middle + 1;
    }
    chosen[i] = low;
}
