#include <math.h>

void run(void **buffers, const long *sizes) {
    const float *kx = buffers[0], *ky = buffers[1], *kz = buffers[2], *magnitude = buffers[3];
    const float *x = buffers[4], *y = buffers[5], *z = buffers[6];
    float *real = buffers[7], *imaginary = buffers[8];
    long samples = sizes[0], n = sizes[1];
#pragma omp parallel for
    for (long i = 0; i < n; i++) {
        float re = 0, im = 0;
        for (long k = 0; k < samples; k++) {
            float angle = 6.2831853f * (kx[k] * x[i] + ky[k] * y[i] + kz[k] * z[i]);
            re += magnitude[k] * cosf(angle);
            im += magnitude[k] * sinf(angle);
        }
        real[i] = re;
        imaginary[i] = im;
    }
}
