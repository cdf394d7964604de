extern "C" __global__ void waves(const float *kx, const float *ky, const float *kz, const float *magnitude,
                                 const float *x, const float *y, const float *z, float *real, float *imaginary,
                                 int samples, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float xi = x[i], yi = y[i], zi = z[i], re = 0, im = 0;
    for (int k = 0; k < samples; k++) {
        float angle = 6.2831853f * (kx[k] * xi + ky[k] * yi + kz[k] * zi);
        re += magnitude[k] * cosf(angle);
        im += magnitude[k] * sinf(angle);
    }
    real[i] = re;
    imaginary[i] = im;
}
