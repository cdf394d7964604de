// The loops of the CPU cases in C: what a careful programmer writes for OpenMP. Compiled when the bench runs,
// with and without -ffast-math, by the system's own compiler.

#include <math.h>

#define PARALLEL _Pragma("omp parallel for schedule(static)")

void touch(float *a, long n) {
    PARALLEL
    for (long i = 0; i < n; i++) a[i] += 1.0f;
}

void saxpy(float a, const float *restrict x, float *restrict y, long n) {
    PARALLEL
    for (long i = 0; i < n; i++) y[i] += a * x[i];
}

void jacobi(const float *restrict a, float *restrict b, long n) {
    PARALLEL
    for (long i = 1; i < n - 1; i++) {
        const float *up = a + (i - 1) * n, *row = a + i * n, *down = a + (i + 1) * n;
        for (long j = 1; j < n - 1; j++)
            b[i * n + j] = 0.2f * (row[j] + up[j] + down[j] + row[j - 1] + row[j + 1]);
    }
}

void sum(const float *x, float *total, long n) {
    float part = 0.0f;
    _Pragma("omp parallel for schedule(static) reduction(+ : part)")
    for (long i = 0; i < n; i++) part += x[i];
    *total += part;
}

void mandelbrot(unsigned most, unsigned *out, long n) {
    _Pragma("omp parallel for schedule(dynamic, 8)")
    for (long i = 0; i < n; i++) {
        for (long j = 0; j < n; j++) {
            float cr = -2.0f + 3.0f * (float)j / (float)n, ci = -1.5f + 3.0f * (float)i / (float)n;
            float zr = 0.0f, zi = 0.0f;
            unsigned steps = 0;
            while (steps < most && zr * zr + zi * zi < 4.0f) {
                float next = zr * zr - zi * zi + cr;
                zi = 2.0f * zr * zi + ci;
                zr = next;
                steps++;
            }
            out[i * n + j] = steps;
        }
    }
}

void nbody(const float *x, const float *y, const float *z, const float *m, float *restrict ax,
           float *restrict ay, float *restrict az, long n) {
    PARALLEL
    for (long i = 0; i < n; i++) {
        float sx = 0.0f, sy = 0.0f, sz = 0.0f;
        for (long j = 0; j < n; j++) {
            float dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
            float inverse = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + 1e-3f);
            float w = m[j] * inverse * inverse * inverse;
            sx += dx * w;
            sy += dy * w;
            sz += dz * w;
        }
        ax[i] = sx;
        ay[i] = sy;
        az[i] = sz;
    }
}

void chains(float *x, float a, float b, long n) {
    _Pragma("omp parallel for simd schedule(static)")
    for (long i = 0; i < n; i++) {
        float v = x[i];
        for (int k = 0; k < 256; k++) v = v * a + b;
        x[i] = v;
    }
}
