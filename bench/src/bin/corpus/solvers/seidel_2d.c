void run(void **buffers, const long *sizes) {
    const float *a0 = buffers[0];
    float *a = buffers[1];
    long n = sizes[0];
#pragma omp parallel
    {
#pragma omp for
        for (long i = 0; i < n * n; i++) a[i] = a0[i];
        for (long wave = 3; wave <= 3 * (n - 2); wave++) {
            long first = (wave - n + 3) / 2, end = (wave + 1) / 2;
            if (first < 1) first = 1;
            if (end > n - 1) end = n - 1;
#pragma omp for
            for (long i = first; i < end; i++) {
                long at = i * n + wave - 2 * i;
                a[at] = (a[at - n - 1] + a[at - n] + a[at - n + 1] + a[at - 1] + a[at] + a[at + 1] + a[at + n - 1] +
                         a[at + n] + a[at + n + 1]) /
                        9.0f;
            }
        }
    }
}
