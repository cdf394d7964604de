void run(void **buffers, const long *sizes) {
    const float *a = buffers[0], *c = buffers[1];
    float *out = buffers[2];
    long nr = sizes[0], nq = sizes[1], np = sizes[2];
#pragma omp parallel for collapse(2)
    for (long r = 0; r < nr; r++)
        for (long q = 0; q < nq; q++) {
            const float *row = a + (r * nq + q) * np;
            float *sums = out + (r * nq + q) * np;
            for (long p = 0; p < np; p++) sums[p] = 0;
            for (long s = 0; s < np; s++)
                for (long p = 0; p < np; p++) sums[p] += row[s] * c[s * np + p];
        }
}
