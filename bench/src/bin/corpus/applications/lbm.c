static const int CX[19] = {0, 1, -1, 0, 0, 0, 0, 1, -1, 1, -1, 1, -1, 1, -1, 0, 0, 0, 0};
static const int CY[19] = {0, 0, 0, 1, -1, 0, 0, 1, -1, -1, 1, 0, 0, 0, 0, 1, -1, 1, -1};
static const int CZ[19] = {0, 0, 0, 0, 0, 1, -1, 0, 0, 0, 0, 1, -1, -1, 1, 1, -1, -1, 1};

static inline float weight(long k) { return k == 0 ? 1.0f / 3 : k < 7 ? 1.0f / 18 : 1.0f / 36; }

void run(void **buffers, const long *sizes) {
    const float *f = buffers[0], omega = 1.2f;
    float *g = buffers[1];
    long depth = sizes[0], height = sizes[1], width = sizes[2];
#pragma omp parallel for collapse(2)
    for (long z = 0; z < depth; z++)
        for (long y = 0; y < height; y++)
            for (long x = 0; x < width; x++) {
                float here[19], density = 0, vx = 0, vy = 0, vz = 0;
                for (long k = 0; k < 19; k++) {
                    long from_x = (x - CX[k] + width) % width;
                    long from_y = (y - CY[k] + height) % height;
                    long from_z = (z - CZ[k] + depth) % depth;
                    float value = f[((k * depth + from_z) * height + from_y) * width + from_x];
                    here[k] = value;
                    density += value;
                    vx += CX[k] * value;
                    vy += CY[k] * value;
                    vz += CZ[k] * value;
                }
                vx /= density;
                vy /= density;
                vz /= density;
                float square = 1.5f * (vx * vx + vy * vy + vz * vz);
                for (long k = 0; k < 19; k++) {
                    float along = 3 * (CX[k] * vx + CY[k] * vy + CZ[k] * vz);
                    float equilibrium = weight(k) * density * (1 + along + 0.5f * along * along - square);
                    g[((k * depth + z) * height + y) * width + x] = here[k] + omega * (equilibrium - here[k]);
                }
            }
}
