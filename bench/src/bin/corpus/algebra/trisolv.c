// By rows, which are contiguous. A row needs all numbers before it, so this is serial.
void run(void **buffers, const long *sizes) {
    const float *l = buffers[0], *b = buffers[1];
    float *x = buffers[2];
    long n = sizes[0];
    for (long i = 0; i < n; i++) {
        float rest = b[i];
        for (long j = 0; j < i; j++) rest -= l[i * n + j] * x[j];
        x[i] = rest / l[i * n + i];
    }
}
