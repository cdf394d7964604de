static inline long clamp(long a, long high) { return a < 0 ? 0 : a > high ? high : a; }

void run(void **buffers, const long *sizes) {
    const float *image = buffers[0], *weights = buffers[1];
    float *rows = buffers[2], *out = buffers[3];
    long height = sizes[0], width = sizes[1], taps = sizes[2];
#pragma omp parallel for
    for (long y = 0; y < height; y++)
        for (long x = 0; x < width; x++) {
            float sum = 0;
            for (long k = 0; k < taps; k++)
                sum += weights[k] * image[y * width + clamp(x + k - taps / 2, width - 1)];
            rows[y * width + x] = sum;
        }
#pragma omp parallel for
    for (long y = 0; y < height; y++) {
        for (long x = 0; x < width; x++) out[y * width + x] = 0;
        for (long k = 0; k < taps; k++) {
            const float *row = rows + clamp(y + k - taps / 2, height - 1) * width;
            for (long x = 0; x < width; x++) out[y * width + x] += weights[k] * row[x];
        }
    }
}
