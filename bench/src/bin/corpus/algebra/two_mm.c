void run(void **buffers, const long *sizes) {
    const float *a = buffers[0], *b = buffers[1], *c = buffers[2], *d = buffers[3];
    float *product = buffers[4], *out = buffers[5];
    const float alpha = 1.5f, beta = 1.2f;
    long ni = sizes[0], nj = sizes[1], nk = sizes[2], nl = sizes[3];
#pragma omp parallel for
    for (long i = 0; i < ni; i++) {
        for (long j = 0; j < nj; j++) product[i * nj + j] = 0;
        for (long k = 0; k < nk; k++)
            for (long j = 0; j < nj; j++) product[i * nj + j] += alpha * a[i * nk + k] * b[k * nj + j];
    }
#pragma omp parallel for
    for (long i = 0; i < ni; i++) {
        for (long l = 0; l < nl; l++) out[i * nl + l] = beta * d[i * nl + l];
        for (long j = 0; j < nj; j++)
            for (long l = 0; l < nl; l++) out[i * nl + l] += product[i * nj + j] * c[j * nl + l];
    }
}
