extern "C" __global__ void forces(float cutoff, const float4 *place, const int *neighbours, float4 *out, int most,
                                  int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 here = place[i], force = make_float4(0, 0, 0, 0);
    for (int k = 0; k < most; k++) {
        float4 there = place[neighbours[k * n + i]];
        float dx = here.x - there.x, dy = here.y - there.y, dz = here.z - there.z;
        float r2 = dx * dx + dy * dy + dz * dz;
        if (r2 < cutoff * cutoff) {
            float inverse = 1.0f / r2;
            float sixth = inverse * inverse * inverse;
            float strength = inverse * sixth * (1.5f * sixth - 2.0f);
            force.x += dx * strength;
            force.y += dy * strength;
            force.z += dz * strength;
        }
    }
    out[i] = force;
}
