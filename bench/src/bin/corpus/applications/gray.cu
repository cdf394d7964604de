extern "C" __global__ void gray(unsigned threshold, const unsigned char *image, unsigned char *brightness,
                                unsigned char *above, int height, int width) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int i = y * width + x;
    unsigned red = image[3 * i], green = image[3 * i + 1], blue = image[3 * i + 2];
    unsigned value = (77 * red + 150 * green + 29 * blue) / 256;
    brightness[i] = value;
    above[i] = value > threshold ? 255 : 0;
}
