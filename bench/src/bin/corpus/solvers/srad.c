#include <math.h>

void run(void **buffers, const long *sizes) {
    const float *image = buffers[0];
    float *v = buffers[1], *c = buffers[2], *north = buffers[3], *south = buffers[4], *west = buffers[5],
          *east = buffers[6];
    const float lambda = 0.5f;
    long n = sizes[0], steps = sizes[1];
#pragma omp parallel for
    for (long i = 0; i < n * n; i++) v[i] = expf(image[i]);
    for (long s = 0; s < steps; s++) {
        float sum = 0, squares = 0;
#pragma omp parallel for reduction(+ : sum, squares)
        for (long i = 0; i < n * n; i++) {
            sum += v[i];
            squares += v[i] * v[i];
        }
        float mean = sum / (n * n), variance = squares / (n * n) - mean * mean, q0 = variance / (mean * mean);
#pragma omp parallel for
        for (long i = 0; i < n; i++) {
            long above = i > 0 ? i - 1 : 0, below = i < n - 1 ? i + 1 : n - 1;
            for (long j = 0; j < n; j++) {
                long before = j > 0 ? j - 1 : 0, after = j < n - 1 ? j + 1 : n - 1;
                float here = v[i * n + j];
                float dn = v[above * n + j] - here, ds = v[below * n + j] - here;
                float dw = v[i * n + before] - here, de = v[i * n + after] - here;
                float g = (dn * dn + ds * ds + dw * dw + de * de) / (here * here);
                float l = (dn + ds + dw + de) / here;
                float part = 1 + 0.25f * l;
                float q = (0.5f * g - 0.0625f * l * l) / (part * part);
                float value = 1 / (1 + (q - q0) / (q0 * (1 + q0)));
                c[i * n + j] = value < 0 ? 0 : value > 1 ? 1 : value;
                north[i * n + j] = dn;
                south[i * n + j] = ds;
                west[i * n + j] = dw;
                east[i * n + j] = de;
            }
        }
#pragma omp parallel for
        for (long i = 0; i < n; i++) {
            long below = i < n - 1 ? i + 1 : n - 1;
            for (long j = 0; j < n; j++) {
                long after = j < n - 1 ? j + 1 : n - 1;
                float here = c[i * n + j];
                float divergence = here * north[i * n + j] + c[below * n + j] * south[i * n + j] +
                                   here * west[i * n + j] + c[i * n + after] * east[i * n + j];
                v[i * n + j] += 0.25f * lambda * divergence;
            }
        }
    }
}
