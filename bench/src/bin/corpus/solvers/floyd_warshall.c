void run(void **buffers, const long *sizes) {
    const int *edges = buffers[0];
    int *paths = buffers[1];
    long n = sizes[0];
#pragma omp parallel for
    for (long i = 0; i < n * n; i++) paths[i] = edges[i];
    for (long k = 0; k < n; k++) {
#pragma omp parallel for
        for (long i = 0; i < n; i++)
            for (long j = 0; j < n; j++) {
                int through = paths[i * n + k] + paths[k * n + j];
                paths[i * n + j] = through < paths[i * n + j] ? through : paths[i * n + j];
            }
    }
}
