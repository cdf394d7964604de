extern "C" __global__ void assign(const float *points, const float *centres, int *member, int n, int features,
                                  int clusters) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int nearest = 0;
    float least = 3.4e38f;
    for (int c = 0; c < clusters; c++) {
        float distance = 0;
        for (int f = 0; f < features; f++) {
            float d = points[f * n + i] - centres[c * features + f];
            distance += d * d;
        }
        if (distance < least) {
            least = distance;
            nearest = c;
        }
    }
    member[i] = nearest;
}

extern "C" __global__ void clear(float *sums, int *counts, int features, int clusters) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < clusters * features) sums[k] = 0;
    if (k < clusters) counts[k] = 0;
}

extern "C" __global__ void add(const float *points, const int *member, float *sums, int *counts, int n, int features) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int c = member[i];
    atomicAdd(&counts[c], 1);
    for (int f = 0; f < features; f++) atomicAdd(&sums[c * features + f], points[f * n + i]);
}

extern "C" __global__ void divide(const float *centres, const float *sums, const int *counts, float *moved,
                                  int features, int clusters) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= clusters * features) return;
    int count = counts[k / features];
    moved[k] = count > 0 ? sums[k] / count : centres[k];
}
