extern "C" __global__ void median(const unsigned char *image, unsigned char *out, int height, int width) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    unsigned char v[9];
    for (int dy = 0; dy < 3; dy++)
        for (int dx = 0; dx < 3; dx++) {
            int row = min(max(y + dy - 1, 0), height - 1), column = min(max(x + dx - 1, 0), width - 1);
            v[3 * dy + dx] = image[row * width + column];
        }
    for (int i = 0; i < 5; i++)
        for (int j = i + 1; j < 9; j++)
            if (v[j] < v[i]) {
                unsigned char t = v[i];
                v[i] = v[j];
                v[j] = t;
            }
    out[y * width + x] = v[4];
}
