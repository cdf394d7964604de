extern "C" __global__ void stage(int stride, const float2 *x, float2 *y, int half) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= half) return;
    int p = i / stride, q = i % stride;
    float sin, cos;
    sincosf(-3.14159265f * (p * stride) / half, &sin, &cos);
    float2 a = x[i], b = x[i + half];
    float re = a.x - b.x, im = a.y - b.y;
    y[2 * p * stride + q] = make_float2(a.x + b.x, a.y + b.y);
    y[2 * p * stride + q + stride] = make_float2(re * cos - im * sin, re * sin + im * cos);
}
