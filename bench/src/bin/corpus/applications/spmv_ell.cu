extern "C" __global__ void spmv(const int *columns, const float *values, const float *x, float *y, int length,
                                int rows) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    float sum = 0;
    for (int k = 0; k < length; k++) sum += values[k * rows + i] * x[columns[k * rows + i]];
    y[i] = sum;
}
