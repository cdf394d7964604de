void run(void **buffers, const long *sizes) {
    const unsigned *columns = buffers[0];
    const float *values = buffers[1], *x = buffers[2];
    float *y = buffers[3];
    long length = sizes[0], rows = sizes[1];
#pragma omp parallel for
    for (long i = 0; i < rows; i++) {
        float sum = 0;
        for (long k = 0; k < length; k++) sum += values[k * rows + i] * x[columns[k * rows + i]];
        y[i] = sum;
    }
}
