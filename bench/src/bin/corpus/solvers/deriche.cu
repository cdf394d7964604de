extern "C" __global__ void rows_forward(float a1, float a2, float b1, float b2, const float *in, float *y, int w,
                                        int h) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= w) return;
    float ym1 = 0, ym2 = 0, xm1 = 0;
    for (int j = 0; j < h; j++) {
        y[i * h + j] = a1 * in[i * h + j] + a2 * xm1 + b1 * ym1 + b2 * ym2;
        xm1 = in[i * h + j];
        ym2 = ym1;
        ym1 = y[i * h + j];
    }
}

extern "C" __global__ void rows_backward(float a3, float a4, float b1, float b2, const float *in, float *y, int w,
                                         int h) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= w) return;
    float yp1 = 0, yp2 = 0, xp1 = 0, xp2 = 0;
    for (int j = h - 1; j >= 0; j--) {
        y[i * h + j] = a3 * xp1 + a4 * xp2 + b1 * yp1 + b2 * yp2;
        xp2 = xp1;
        xp1 = in[i * h + j];
        yp2 = yp1;
        yp1 = y[i * h + j];
    }
}

extern "C" __global__ void columns_forward(float a1, float a2, float b1, float b2, const float *in, float *y, int w,
                                           int h) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= h) return;
    float ym1 = 0, ym2 = 0, xm1 = 0;
    for (int i = 0; i < w; i++) {
        y[i * h + j] = a1 * in[i * h + j] + a2 * xm1 + b1 * ym1 + b2 * ym2;
        xm1 = in[i * h + j];
        ym2 = ym1;
        ym1 = y[i * h + j];
    }
}

extern "C" __global__ void columns_backward(float a3, float a4, float b1, float b2, const float *in, float *y, int w,
                                            int h) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= h) return;
    float yp1 = 0, yp2 = 0, xp1 = 0, xp2 = 0;
    for (int i = w - 1; i >= 0; i--) {
        y[i * h + j] = a3 * xp1 + a4 * xp2 + b1 * yp1 + b2 * yp2;
        xp2 = xp1;
        xp1 = in[i * h + j];
        yp2 = yp1;
        yp1 = y[i * h + j];
    }
}

extern "C" __global__ void sum(const float *y1, const float *y2, float *out, int w, int h) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < w && j < h) out[i * h + j] = y1[i * h + j] + y2[i * h + j];
}
