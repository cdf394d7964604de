void run(void **buffers, const long *sizes) {
    const float *r = buffers[0];
    float *y = buffers[1], *z = buffers[2];
    long n = sizes[0];
    float alpha = -r[0], beta = 1;
    y[0] = -r[0];
    for (long k = 1; k < n; k++) {
        float sum = 0;
        beta = (1 - alpha * alpha) * beta;
#pragma omp parallel for reduction(+ : sum)
        for (long i = 0; i < k; i++) sum += r[k - i - 1] * y[i];
        alpha = -(r[k] + sum) / beta;
#pragma omp parallel for
        for (long i = 0; i < k; i++) z[i] = y[i] + alpha * y[k - i - 1];
#pragma omp parallel for
        for (long i = 0; i < k; i++) y[i] = z[i];
        y[k] = alpha;
    }
}
