#include <math.h>

void run(void **buffers, const long *sizes) {
    const float *in = buffers[0];
    float *y1 = buffers[1], *y2 = buffers[2], *out = buffers[3];
    long w = sizes[0], h = sizes[1];
    float alpha = 0.25f, e = expf(-alpha), k = (1 - e) * (1 - e) / (1 + 2 * alpha * e - expf(2 * alpha));
    float a1 = k, a2 = k * e * (alpha - 1), a3 = k * e * (alpha + 1), a4 = -k * e * e;
    float b1 = powf(2, -alpha), b2 = -e * e;
#pragma omp parallel for
    for (long i = 0; i < w; i++) {
        float ym1 = 0, ym2 = 0, xm1 = 0;
        for (long j = 0; j < h; j++) {
            y1[i * h + j] = a1 * in[i * h + j] + a2 * xm1 + b1 * ym1 + b2 * ym2;
            xm1 = in[i * h + j];
            ym2 = ym1;
            ym1 = y1[i * h + j];
        }
    }
#pragma omp parallel for
    for (long i = 0; i < w; i++) {
        float yp1 = 0, yp2 = 0, xp1 = 0, xp2 = 0;
        for (long j = h - 1; j >= 0; j--) {
            y2[i * h + j] = a3 * xp1 + a4 * xp2 + b1 * yp1 + b2 * yp2;
            xp2 = xp1;
            xp1 = in[i * h + j];
            yp2 = yp1;
            yp1 = y2[i * h + j];
        }
    }
#pragma omp parallel for
    for (long i = 0; i < w * h; i++) out[i] = y1[i] + y2[i];
#pragma omp parallel for
    for (long j = 0; j < h; j++) {
        float ym1 = 0, ym2 = 0, xm1 = 0;
        for (long i = 0; i < w; i++) {
            y1[i * h + j] = a1 * out[i * h + j] + a2 * xm1 + b1 * ym1 + b2 * ym2;
            xm1 = out[i * h + j];
            ym2 = ym1;
            ym1 = y1[i * h + j];
        }
    }
#pragma omp parallel for
    for (long j = 0; j < h; j++) {
        float yp1 = 0, yp2 = 0, xp1 = 0, xp2 = 0;
        for (long i = w - 1; i >= 0; i--) {
            y2[i * h + j] = a3 * xp1 + a4 * xp2 + b1 * yp1 + b2 * yp2;
            xp2 = xp1;
            xp1 = out[i * h + j];
            yp2 = yp1;
            yp1 = y2[i * h + j];
        }
    }
#pragma omp parallel for
    for (long i = 0; i < w * h; i++) out[i] = y1[i] + y2[i];
}
