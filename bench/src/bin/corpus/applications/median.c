static inline long clamp(long a, long high) { return a < 0 ? 0 : a > high ? high : a; }

void run(void **buffers, const long *sizes) {
    const unsigned char *image = buffers[0];
    unsigned char *out = buffers[1];
    long height = sizes[0], width = sizes[1];
#pragma omp parallel for
    for (long y = 0; y < height; y++)
        for (long x = 0; x < width; x++) {
            unsigned char v[9];
            for (long dy = 0; dy < 3; dy++)
                for (long dx = 0; dx < 3; dx++) {
                    long row = clamp(y + dy - 1, height - 1), column = clamp(x + dx - 1, width - 1);
                    v[3 * dy + dx] = image[row * width + column];
                }
            for (long i = 0; i < 5; i++)
                for (long j = i + 1; j < 9; j++)
                    if (v[j] < v[i]) {
                        unsigned char t = v[i];
                        v[i] = v[j];
                        v[j] = t;
                    }
            out[y * width + x] = v[4];
        }
}
