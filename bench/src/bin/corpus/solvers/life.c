void run(void **buffers, const long *sizes) {
    const unsigned char *input = buffers[0];
    unsigned char *cells = buffers[1], *next = buffers[2];
    long n = sizes[0], steps = sizes[1];
#pragma omp parallel for
    for (long i = 0; i < n * n; i++) cells[i] = input[i];
    for (long t = 0; t < steps; t++) {
#pragma omp parallel for
        for (long i = 0; i < n; i++) {
            long up = (i + n - 1) % n, down = (i + 1) % n;
            for (long j = 0; j < n; j++) {
                long left = (j + n - 1) % n, right = (j + 1) % n;
                int neighbours = cells[up * n + left] + cells[up * n + j] + cells[up * n + right] +
                                 cells[i * n + left] + cells[i * n + right] + cells[down * n + left] +
                                 cells[down * n + j] + cells[down * n + right];
                next[i * n + j] = neighbours == 3 || (neighbours == 2 && cells[i * n + j] == 1);
            }
        }
        unsigned char *swap = cells;
        cells = next;
        next = swap;
    }
}
