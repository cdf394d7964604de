typedef struct {
    float x, y, z, w;
} Vector;

void run(void **buffers, const long *sizes) {
    const Vector *place = buffers[0];
    const unsigned *neighbours = buffers[1];
    Vector *out = buffers[2];
    long most = sizes[0], n = sizes[1];
    const float cutoff = 2.1f;
#pragma omp parallel for
    for (long i = 0; i < n; i++) {
        Vector here = place[i], force = {0, 0, 0, 0};
        for (long k = 0; k < most; k++) {
            Vector there = place[neighbours[k * n + i]];
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
}
