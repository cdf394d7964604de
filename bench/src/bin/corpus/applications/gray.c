void run(void **buffers, const long *sizes) {
    const unsigned char *image = buffers[0];
    unsigned char *brightness = buffers[1], *above = buffers[2];
    long n = sizes[0] * sizes[1];
    unsigned threshold = sizes[2];
#pragma omp parallel for
    for (long i = 0; i < n; i++) {
        unsigned red = image[3 * i], green = image[3 * i + 1], blue = image[3 * i + 2];
        unsigned value = (77 * red + 150 * green + 29 * blue) / 256;
        brightness[i] = value;
        above[i] = value > threshold ? 255 : 0;
    }
}
