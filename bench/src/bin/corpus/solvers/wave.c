void run(void **buffers, const long *sizes) {
    static const float c[5] = {-205.0f / 72, 8.0f / 5, -1.0f / 5, 8.0f / 315, -1.0f / 560};
    const float *u0 = buffers[0], *speed = buffers[1];
    float *u = buffers[2], *other = buffers[3];
    long n = sizes[0], steps = sizes[1];
#pragma omp parallel for
    for (long at = 0; at < n * n * n; at++) {
        u[at] = u0[at];
        other[at] = 0;
    }
    for (long t = 0; t < steps; t++) {
#pragma omp parallel for
        for (long i = 4; i < n - 4; i++)
            for (long j = 4; j < n - 4; j++)
                for (long k = 4; k < n - 4; k++) {
                    long at = (i * n + j) * n + k;
                    float laplacian = 3 * c[0] * u[at];
                    for (long r = 1; r < 5; r++)
                        laplacian += c[r] * (u[at + r * n * n] + u[at - r * n * n] + u[at + r * n] + u[at - r * n] +
                                             u[at + r] + u[at - r]);
                    other[at] = 2 * u[at] - other[at] + speed[at] * laplacian;
                }
        float *swap = u;
        u = other;
        other = swap;
    }
}
