static int max(int a, int b) { return a > b ? a : b; }

void run(void **buffers, const long *sizes) {
    const int *similarity = buffers[0];
    int *score = buffers[1];
    const int penalty = 10;
    long n = sizes[0];
    for (long d = 2; d < 2 * n - 1; d++) {
        long first = d + 1 - n > 1 ? d + 1 - n : 1, end = d < n ? d : n;
#pragma omp parallel for
        for (long i = first; i < end; i++) {
            long at = i * n + d - i;
            int aligned = score[at - n - 1] + similarity[at];
            int gap = max(score[at - 1], score[at - n]) - penalty;
            score[at] = max(aligned, gap);
        }
    }
}
