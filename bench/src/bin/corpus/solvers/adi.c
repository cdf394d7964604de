void run(void **buffers, const long *sizes) {
    const double *u0 = buffers[0];
    double *u = buffers[1], *v = buffers[2], *p = buffers[3], *q = buffers[4];
    long n = sizes[0], steps = sizes[1];
    double rate = (double)(n * n) / steps, a = -rate, b = 1 + 2 * rate, d = -0.5 * rate, e = 1 + rate;
#pragma omp parallel for
    for (long i = 0; i < n * n; i++) u[i] = u0[i];
    for (long t = 0; t < steps; t++) {
#pragma omp parallel for
        for (long i = 1; i < n - 1; i++) {
            v[i] = 1;
            p[i * n] = 0;
            q[i * n] = v[i];
            for (long j = 1; j < n - 1; j++) {
                p[i * n + j] = -a / (a * p[i * n + j - 1] + b);
                q[i * n + j] = (-d * u[j * n + i - 1] + (1 + 2 * d) * u[j * n + i] - d * u[j * n + i + 1] -
                                a * q[i * n + j - 1]) /
                               (a * p[i * n + j - 1] + b);
            }
            v[(n - 1) * n + i] = 1;
            for (long j = n - 2; j >= 1; j--) v[j * n + i] = p[i * n + j] * v[(j + 1) * n + i] + q[i * n + j];
        }
#pragma omp parallel for
        for (long i = 1; i < n - 1; i++) {
            u[i * n] = 1;
            p[i * n] = 0;
            q[i * n] = u[i * n];
            for (long j = 1; j < n - 1; j++) {
                p[i * n + j] = -d / (d * p[i * n + j - 1] + e);
                q[i * n + j] = (-a * v[(i - 1) * n + j] + (1 + 2 * a) * v[i * n + j] - a * v[(i + 1) * n + j] -
                                d * q[i * n + j - 1]) /
                               (d * p[i * n + j - 1] + e);
            }
            u[i * n + n - 1] = 1;
            for (long j = n - 2; j >= 1; j--) u[i * n + j] = p[i * n + j] * u[i * n + j + 1] + q[i * n + j];
        }
    }
}
