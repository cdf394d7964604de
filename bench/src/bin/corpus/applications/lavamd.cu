constexpr int COUNT = 64;

extern "C" __global__ void forces(float alpha, int boxes, const float4 *place, const float *charge, float4 *out,
                                  int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float a2 = 2 * alpha * alpha;
    int home = i / COUNT;
    int x = home % boxes, y = home / boxes % boxes, z = home / (boxes * boxes);
    float4 a = place[i], sum = make_float4(0, 0, 0, 0);
    for (int bz = max(z - 1, 0); bz < min(z + 2, boxes); bz++)
        for (int by = max(y - 1, 0); by < min(y + 2, boxes); by++)
            for (int bx = max(x - 1, 0); bx < min(x + 2, boxes); bx++) {
                int first = ((bz * boxes + by) * boxes + bx) * COUNT;
                for (int j = first; j < first + COUNT; j++) {
                    float4 b = place[j];
                    float r2 = a.w + b.w - (a.x * b.x + a.y * b.y + a.z * b.z);
                    float v = charge[j] * expf(-a2 * r2);
                    sum.x += 2 * v * (a.x - b.x);
                    sum.y += 2 * v * (a.y - b.y);
                    sum.z += 2 * v * (a.z - b.z);
                    sum.w += v;
                }
            }
    out[i] = sum;
}
