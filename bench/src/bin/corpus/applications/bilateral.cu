constexpr int RADIUS = 4;

extern "C" __global__ void bilateral(float space, float range, const float *image, float *out, int height, int width) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float here = image[y * width + x], sum = 0, total = 0;
    for (int dy = -RADIUS; dy <= RADIUS; dy++)
        for (int dx = -RADIUS; dx <= RADIUS; dx++) {
            int row = min(max(y + dy, 0), height - 1), column = min(max(x + dx, 0), width - 1);
            float there = image[row * width + column];
            float difference = there - here, distance = dx * dx + dy * dy;
            float weight = expf(-space * distance - range * difference * difference);
            sum += weight * there;
            total += weight;
        }
    out[y * width + x] = sum / total;
}
