void run(void **buffers, const long *sizes) {
    const unsigned *starts = buffers[0], *columns = buffers[1];
    const float *values = buffers[2], *x = buffers[3];
    float *y = buffers[4];
    long rows = sizes[0];
#pragma omp parallel for
    for (long i = 0; i < rows; i++) {
        float sum = 0;
        for (unsigned k = starts[i]; k < starts[i + 1]; k++) sum += values[k] * x[columns[k]];
        y[i] = sum;
    }
}
