#include <math.h>

typedef struct {
    float re, im;
} Complex;

void run(void **buffers, const long *sizes) {
    const Complex *x = buffers[0];
    long half = sizes[0] / 2;
    for (long stride = 1, s = 0; stride <= half; stride *= 2, s++) {
        Complex *y = buffers[1 + s % 2];
#pragma omp parallel for
        for (long i = 0; i < half; i++) {
            long p = i / stride, q = i % stride;
            float angle = -3.14159265f * (p * stride) / half;
            float c = cosf(angle), s = sinf(angle);
            Complex a = x[i], b = x[i + half];
            float re = a.re - b.re, im = a.im - b.im;
            y[2 * p * stride + q] = (Complex){a.re + b.re, a.im + b.im};
            y[2 * p * stride + q + stride] = (Complex){re * c - im * s, re * s + im * c};
        }
        x = y;
    }
}
