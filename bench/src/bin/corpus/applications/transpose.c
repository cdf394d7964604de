void run(void **buffers, const long *sizes) {
    const float *a = buffers[0];
    float *b = buffers[1];
    long height = sizes[0], width = sizes[1];
#pragma omp parallel for
    for (long i = 0; i < height; i++)
        for (long j = 0; j < width; j++) b[j * height + i] = a[i * width + j];
}
