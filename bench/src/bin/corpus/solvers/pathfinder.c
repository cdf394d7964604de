static int min(int a, int b) { return a < b ? a : b; }

void run(void **buffers, const long *sizes) {
    const int *wall = buffers[0];
    int *costs = buffers[1], *next = buffers[2];
    long n = sizes[0], rows = sizes[1];
#pragma omp parallel for
    for (long j = 0; j < n; j++) costs[j] = wall[j];
    for (long i = 1; i < rows; i++) {
#pragma omp parallel for
        for (long j = 0; j < n; j++) {
            int least = costs[j];
            if (j > 0) least = min(least, costs[j - 1]);
            if (j < n - 1) least = min(least, costs[j + 1]);
            next[j] = wall[i * n + j] + least;
        }
        int *swap = costs;
        costs = next;
        next = swap;
    }
}
