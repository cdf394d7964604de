static void product(const float *left, const float *right, float *out, long rows, long columns, long inner) {
#pragma omp parallel for
    for (long i = 0; i < rows; i++) {
        for (long j = 0; j < columns; j++) out[i * columns + j] = 0;
        for (long k = 0; k < inner; k++)
            for (long j = 0; j < columns; j++) out[i * columns + j] += left[i * inner + k] * right[k * columns + j];
    }
}

void run(void **buffers, const long *sizes) {
    const float *a = buffers[0], *b = buffers[1], *c = buffers[2], *d = buffers[3];
    float *e = buffers[4], *f = buffers[5], *g = buffers[6];
    long ni = sizes[0], nj = sizes[1], nk = sizes[2], nl = sizes[3], nm = sizes[4];
    product(a, b, e, ni, nj, nk);
    product(c, d, f, nj, nl, nm);
    product(e, f, g, ni, nl, nj);
}
