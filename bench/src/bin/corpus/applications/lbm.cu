__constant__ int CX[19] = {0, 1, -1, 0, 0, 0, 0, 1, -1, 1, -1, 1, -1, 1, -1, 0, 0, 0, 0};
__constant__ int CY[19] = {0, 0, 0, 1, -1, 0, 0, 1, -1, -1, 1, 0, 0, 0, 0, 1, -1, 1, -1};
__constant__ int CZ[19] = {0, 0, 0, 0, 0, 1, -1, 0, 0, 0, 0, 1, -1, -1, 1, 1, -1, -1, 1};

__device__ float weight(int k) { return k == 0 ? 1.0f / 3 : k < 7 ? 1.0f / 18 : 1.0f / 36; }

extern "C" __global__ void step(float omega, const float *f, float *g, int depth, int height, int width) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
    if (x >= width || y >= height) return;
    float here[19], density = 0, vx = 0, vy = 0, vz = 0;
    for (int k = 0; k < 19; k++) {
        int from_x = (x - CX[k] + width) % width;
        int from_y = (y - CY[k] + height) % height;
        int from_z = (z - CZ[k] + depth) % depth;
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
    for (int k = 0; k < 19; k++) {
        float along = 3 * (CX[k] * vx + CY[k] * vy + CZ[k] * vz);
        float equilibrium = weight(k) * density * (1 + along + 0.5f * along * along - square);
        g[((k * depth + z) * height + y) * width + x] = here[k] + omega * (equilibrium - here[k]);
    }
}
