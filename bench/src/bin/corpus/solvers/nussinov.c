static int max(int a, int b) { return a > b ? a : b; }

void run(void **buffers, const long *sizes) {
    const unsigned char *sequence = buffers[0];
    int *table = buffers[1];
    long n = sizes[0];
    for (long d = 1; d < n; d++) {
#pragma omp parallel for
        for (long i = 0; i < n - d; i++) {
            long j = i + d;
            int best = max(table[i * n + j - 1], table[(i + 1) * n + j]);
            int inner = table[(i + 1) * n + j - 1];
            if (i + 1 < j)
                best = max(best, inner + (sequence[i] + sequence[j] == 3 ? 1 : 0));
            else
                best = max(best, inner);
            for (long k = i + 1; k < j; k++) best = max(best, table[i * n + k] + table[(k + 1) * n + j]);
            table[i * n + j] = best;
        }
    }
}
