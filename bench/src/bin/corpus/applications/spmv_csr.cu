extern "C" __global__ void spmv(const int *starts, const int *columns, const float *values, const float *x, float *y,
                                int rows) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    float sum = 0;
    for (int k = starts[i]; k < starts[i + 1]; k++) sum += values[k] * x[columns[k]];
    y[i] = sum;
}
