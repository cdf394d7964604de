void run(void **buffers, const long *sizes) {
    const float *input = buffers[0], *power = buffers[1], *factors = buffers[4];
    float *t = buffers[2], *next = buffers[3];
    float step = factors[0], x = factors[1], y = factors[2], z = factors[3];
    long n = sizes[0], steps = sizes[1];
#pragma omp parallel for
    for (long i = 0; i < n * n; i++) t[i] = input[i];
    for (long s = 0; s < steps; s++) {
#pragma omp parallel for
        for (long i = 0; i < n; i++)
            for (long j = 0; j < n; j++) {
                float here = t[i * n + j];
                float north = i == 0 ? here : t[(i - 1) * n + j], south = i == n - 1 ? here : t[(i + 1) * n + j];
                float west = j == 0 ? here : t[i * n + j - 1], east = j == n - 1 ? here : t[i * n + j + 1];
                float flow = (south + north - 2 * here) * y + (east + west - 2 * here) * x + (80.0f - here) * z;
                next[i * n + j] = here + step * (power[i * n + j] + flow);
            }
        float *swap = t;
        t = next;
        next = swap;
    }
}
