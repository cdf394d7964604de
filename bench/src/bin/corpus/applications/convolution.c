enum { RADIUS = 3, SIDE = 2 * RADIUS + 1 };

void run(void **buffers, const long *sizes) {
    const float *image = buffers[0], *mask = buffers[1];
    float *out = buffers[2];
    long height = sizes[0], width = sizes[1];
#pragma omp parallel for
    for (long y = 0; y < height; y++)
        for (long x = 0; x < width; x++) {
            float sum = 0;
            for (long i = 0; i < SIDE; i++)
                for (long j = 0; j < SIDE; j++) {
                    long row = y + i - RADIUS, column = x + j - RADIUS;
                    if (row >= 0 && row < height && column >= 0 && column < width)
                        sum += mask[i * SIDE + j] * image[row * width + column];
                }
            out[y * width + x] = sum;
        }
}
