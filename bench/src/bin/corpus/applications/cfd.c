#include <math.h>

typedef struct {
    float density, mx, my, mz, energy, vx, vy, vz, pressure, speed;
} Cell;

static inline Cell cell(const float *u, long i, long n) {
    Cell c;
    c.density = u[i];
    c.mx = u[n + i], c.my = u[2 * n + i], c.mz = u[3 * n + i];
    c.energy = u[4 * n + i];
    c.vx = c.mx / c.density, c.vy = c.my / c.density, c.vz = c.mz / c.density;
    float square = c.vx * c.vx + c.vy * c.vy + c.vz * c.vz;
    c.pressure = 0.4f * (c.energy - 0.5f * c.density * square);
    c.speed = sqrtf(square) + sqrtf(1.4f * c.pressure / c.density);
    return c;
}

void run(void **buffers, const long *sizes) {
    const float *u = buffers[0], *normals = buffers[2];
    const int *neighbours = buffers[1];
    float *out = buffers[3];
    long n = sizes[0];
#pragma omp parallel for
    for (long i = 0; i < n; i++) {
        Cell a = cell(u, i, n);
        float density = 0, mx = 0, my = 0, mz = 0, energy = 0;
        for (long k = 0; k < 4; k++) {
            float nx = normals[3 * k * n + i], ny = normals[(3 * k + 1) * n + i], nz = normals[(3 * k + 2) * n + i];
            int j = neighbours[k * n + i];
            if (j >= 0) {
                Cell b = cell(u, j, n);
                float viscosity = 0.1f * sqrtf(nx * nx + ny * ny + nz * nz) * (a.speed + b.speed);
                float va = 0.5f * (nx * a.vx + ny * a.vy + nz * a.vz), vb = 0.5f * (nx * b.vx + ny * b.vy + nz * b.vz);
                float pressure = 0.5f * (a.pressure + b.pressure);
                density += va * a.density + vb * b.density + viscosity * (a.density - b.density);
                mx += a.mx * va + b.mx * vb + nx * pressure + (a.mx - b.mx) * viscosity;
                my += a.my * va + b.my * vb + ny * pressure + (a.my - b.my) * viscosity;
                mz += a.mz * va + b.mz * vb + nz * pressure + (a.mz - b.mz) * viscosity;
                energy += va * (a.energy + a.pressure) + vb * (b.energy + b.pressure)
                          + viscosity * (a.energy - b.energy);
            } else {
                mx += nx * a.pressure;
                my += ny * a.pressure;
                mz += nz * a.pressure;
            }
        }
        out[i] = density;
        out[n + i] = mx;
        out[2 * n + i] = my;
        out[3 * n + i] = mz;
        out[4 * n + i] = energy;
    }
}
