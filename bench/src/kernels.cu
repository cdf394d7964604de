// The rivals on the device: each case in the ways in which one would write it by hand. A bench takes the fastest.
typedef unsigned int u32;
typedef unsigned long long u64;

extern "C" __global__ void saxpy(float a, const float* __restrict__ x, float* __restrict__ y, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}

extern "C" __global__ void saxpy_wide(float a, const float4* __restrict__ x, float4* __restrict__ y, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n / 4) return;
    float4 p = x[i], q = y[i];
    q.x += a * p.x; q.y += a * p.y; q.z += a * p.z; q.w += a * p.w;
    y[i] = q;
}

// Four elements a thread, a block's width apart.
extern "C" __global__ void saxpy_apart(float a, const float* __restrict__ x, float* __restrict__ y, u32 n) {
    u32 first = blockIdx.x * blockDim.x * 4 + threadIdx.x;
    float p[4], q[4];
    if (first + 3 * blockDim.x < n) {
#pragma unroll
        for (u32 k = 0; k < 4; k++) p[k] = x[first + k * blockDim.x];
#pragma unroll
        for (u32 k = 0; k < 4; k++) q[k] = y[first + k * blockDim.x];
#pragma unroll
        for (u32 k = 0; k < 4; k++) y[first + k * blockDim.x] = q[k] + a * p[k];
    } else {
        for (u32 k = 0; k < 4; k++) if (first + k * blockDim.x < n) y[first + k * blockDim.x] += a * x[first + k * blockDim.x];
    }
}

extern "C" __global__ void jacobi(const float* __restrict__ a, float* __restrict__ b, u32 n) {
    u32 j = blockIdx.x * blockDim.x + threadIdx.x + 1, i = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (i >= n - 1 || j >= n - 1) return;
    u64 k = (u64)i * n + j;
    b[k] = 0.2f * (a[k] + a[k - n] + a[k + n] + a[k - 1] + a[k + 1]);
}

// Each thread walks down a column, and keeps what the next row needs.
template <u32 ROWS> __device__ void walk(const float* __restrict__ a, float* __restrict__ b, u32 n) {
    u32 j = blockIdx.x * blockDim.x + threadIdx.x + 1, i = (blockIdx.y * blockDim.y + threadIdx.y) * ROWS + 1;
    if (j >= n - 1 || i >= n - 1) return;
    u64 k = (u64)i * n + j;
    float up = a[k - n], own = a[k];
    u32 end = i + ROWS < n - 1 ? i + ROWS : n - 1;
#pragma unroll 4
    for (; i < end; i++, k += n) {
        float down = a[k + n];
        b[k] = 0.2f * (own + up + down + a[k - 1] + a[k + 1]);
        up = own;
        own = down;
    }
}
extern "C" __global__ void jacobi_walk8(const float* __restrict__ a, float* __restrict__ b, u32 n) { walk<8>(a, b, n); }
extern "C" __global__ void jacobi_walk16(const float* __restrict__ a, float* __restrict__ b, u32 n) { walk<16>(a, b, n); }

// Some rows a thread at once: all that is read of them first.
template <u32 ROWS> __device__ void rows(const float* __restrict__ a, float* __restrict__ b, u32 n) {
    u32 j = blockIdx.x * blockDim.x + threadIdx.x + 1, i = (blockIdx.y * blockDim.y + threadIdx.y) * ROWS + 1;
    if (j >= n - 1 || i >= n - 1) return;
    u64 k = (u64)i * n + j;
    if (i + ROWS <= n - 1) {
        float v[ROWS + 2], l[ROWS], r[ROWS];
#pragma unroll
        for (u32 q = 0; q < ROWS + 2; q++) v[q] = a[k + (u64)q * n - n];
#pragma unroll
        for (u32 q = 0; q < ROWS; q++) { l[q] = a[k + (u64)q * n - 1]; r[q] = a[k + (u64)q * n + 1]; }
#pragma unroll
        for (u32 q = 0; q < ROWS; q++) b[k + (u64)q * n] = 0.2f * (v[q + 1] + v[q] + v[q + 2] + l[q] + r[q]);
    } else {
        for (; i < n - 1; i++, k += n) b[k] = 0.2f * (a[k] + a[k - n] + a[k + n] + a[k - 1] + a[k + 1]);
    }
}
extern "C" __global__ void jacobi_rows2(const float* __restrict__ a, float* __restrict__ b, u32 n) { rows<2>(a, b, n); }
extern "C" __global__ void jacobi_rows4(const float* __restrict__ a, float* __restrict__ b, u32 n) { rows<4>(a, b, n); }
extern "C" __global__ void jacobi_rows8(const float* __restrict__ a, float* __restrict__ b, u32 n) { rows<8>(a, b, n); }

__device__ void add_block(float v, float* s) {
    __shared__ float w[32];
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
    if ((threadIdx.x & 31) == 0) w[threadIdx.x >> 5] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = threadIdx.x < blockDim.x / 32 ? w[threadIdx.x] : 0.0f;
        for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
        if (threadIdx.x == 0) atomicAdd(s, v);
    }
}

extern "C" __global__ void sum(const float* __restrict__ x, float* s, u32 n) {
    float v = 0;
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
    add_block(v, s);
}

extern "C" __global__ void sum_wide(const float4* __restrict__ x, float* s, u32 n) {
    float v = 0;
#pragma unroll 4
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += gridDim.x * blockDim.x) {
        float4 p = x[i];
        v += (p.x + p.y) + (p.z + p.w);
    }
    add_block(v, s);
}

// Bins of a block's own, of which there are few.
extern "C" __global__ void histogram(const unsigned char* __restrict__ x, u32* bins, u32 n) {
    __shared__ u32 own[256];
    for (u32 k = threadIdx.x; k < 256; k += blockDim.x) own[k] = 0;
    __syncthreads();
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[x[i]], 1);
    __syncthreads();
    for (u32 k = threadIdx.x; k < 256; k += blockDim.x) if (own[k]) atomicAdd(&bins[k], own[k]);
}

// The same for each warp, and 16 bytes at a time.
extern "C" __global__ void histogram_wide(const uint4* __restrict__ x, u32* bins, u32 n) {
    __shared__ u32 own[8][256];
    for (u32 k = threadIdx.x; k < 8 * 256; k += blockDim.x) own[k / 256][k % 256] = 0;
    __syncthreads();
    u32* mine = own[threadIdx.x / 32];
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 16; i += gridDim.x * blockDim.x) {
        uint4 p = x[i];
        u32 q[4] = {p.x, p.y, p.z, p.w};
#pragma unroll
        for (u32 k = 0; k < 4; k++)
#pragma unroll
            for (u32 s = 0; s < 32; s += 8) atomicAdd(&mine[(q[k] >> s) & 255], 1);
    }
    __syncthreads();
    for (u32 k = threadIdx.x; k < 256; k += blockDim.x) {
        u32 total = 0;
        for (u32 w = 0; w < 8; w++) total += own[w][k];
        if (total) atomicAdd(&bins[k], total);
    }
}

extern "C" __global__ void mandelbrot(u32* out, u32 n, u32 most) {
    u32 j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n) return;
    float cr = -2.0f + 3.0f * (float)j / (float)n, ci = -1.5f + 3.0f * (float)i / (float)n, zr = 0, zi = 0;
    u32 it = 0;
    while (it < most && zr * zr + zi * zi < 4.0f) {
        float t = zr * zr - zi * zi + cr;
        zi = 2.0f * zr * zi + ci;
        zr = t;
        it++;
    }
    out[(u64)i * n + j] = it;
}

extern "C" __global__ void nbody(const float* __restrict__ x, const float* __restrict__ y, const float* __restrict__ z,
                                 const float* __restrict__ m, float* __restrict__ ax, float* __restrict__ ay,
                                 float* __restrict__ az, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float xi = x[i], yi = y[i], zi = z[i], sx = 0, sy = 0, sz = 0;
    for (u32 j = 0; j < n; j++) {
        float dx = x[j] - xi, dy = y[j] - yi, dz = z[j] - zi;
        float r2 = dx * dx + dy * dy + dz * dz + 1e-3f;
        float inv = 1.0f / sqrtf(r2), w = m[j] * inv * inv * inv;
        sx += dx * w; sy += dy * w; sz += dz * w;
    }
    ax[i] = sx; ay[i] = sy; az[i] = sz;
}

extern "C" __global__ void __launch_bounds__(256) nbody_tiled(const float* __restrict__ x, const float* __restrict__ y,
                                       const float* __restrict__ z, const float* __restrict__ m, float* __restrict__ ax,
                                       float* __restrict__ ay, float* __restrict__ az, u32 n) {
    __shared__ float4 t[256];
    u32 i = blockIdx.x * 256 + threadIdx.x;
    float xi = x[i], yi = y[i], zi = z[i], sx = 0, sy = 0, sz = 0;
    for (u32 first = 0; first < n; first += 256) {
        u32 j = first + threadIdx.x;
        t[threadIdx.x] = make_float4(x[j], y[j], z[j], m[j]);
        __syncthreads();
#pragma unroll 16
        for (u32 k = 0; k < 256; k++) {
            float4 o = t[k];
            float dx = o.x - xi, dy = o.y - yi, dz = o.z - zi;
            float r2 = dx * dx + dy * dy + dz * dz + 1e-3f;
            float inv = 1.0f / sqrtf(r2), w = o.w * inv * inv * inv;
            sx += dx * w; sy += dy * w; sz += dz * w;
        }
        __syncthreads();
    }
    ax[i] = sx; ay[i] = sy; az[i] = sz;
}

extern "C" __global__ void chain(float* x, float a, float b, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    for (u32 k = 0; k < 256; k++) v = v * a + b;
    x[i] = v;
}

extern "C" __global__ void chain_unrolled(float* x, float a, float b, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
#pragma unroll
    for (u32 k = 0; k < 256; k++) v = v * a + b;
    x[i] = v;
}

extern "C" __global__ void stencil(const float* __restrict__ a, float* __restrict__ b, u32 n) {
    u32 k = blockIdx.x * blockDim.x + threadIdx.x + 1, j = blockIdx.y * blockDim.y + threadIdx.y + 1,
        i = blockIdx.z * blockDim.z + threadIdx.z + 1;
    if (i >= n - 1 || j >= n - 1 || k >= n - 1) return;
    u64 at = ((u64)i * n + j) * n + k, plane = (u64)n * n;
    b[at] = 0.4f * a[at] + 0.1f * (a[at - plane] + a[at + plane] + a[at - n] + a[at + n] + a[at - 1] + a[at + 1]);
}

extern "C" __global__ void stencil_walk(const float* __restrict__ a, float* __restrict__ b, u32 n) {
    u32 k = blockIdx.x * blockDim.x + threadIdx.x + 1, j = blockIdx.y * blockDim.y + threadIdx.y + 1, i = blockIdx.z * 16 + 1;
    if (j >= n - 1 || k >= n - 1) return;
    u64 at = ((u64)i * n + j) * n + k, plane = (u64)n * n;
    float before = a[at - plane], own = a[at];
    u32 end = i + 16 < n - 1 ? i + 16 : n - 1;
#pragma unroll 4
    for (; i < end; i++, at += plane) {
        float after = a[at + plane];
        b[at] = 0.4f * own + 0.1f * (before + after + a[at - n] + a[at + n] + a[at - 1] + a[at + 1]);
        before = own;
        own = after;
    }
}

extern "C" __global__ void transpose(const float* __restrict__ a, float* __restrict__ b, u32 n) {
    __shared__ float t[32][33];
    u32 x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (u32 k = 0; k < 32; k += 8) t[threadIdx.y + k][threadIdx.x] = a[(u64)(y + k) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (u32 k = 0; k < 32; k += 8) b[(u64)(y + k) * n + x] = t[threadIdx.x][threadIdx.y + k];
}

extern "C" __global__ void spmv(const u32* __restrict__ starts, const u32* __restrict__ columns, const float* __restrict__ values,
                                const float* __restrict__ x, float* __restrict__ y, u32 rows) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    float sum = 0;
    for (u32 k = starts[i]; k < starts[i + 1]; k++) sum += values[k] * x[columns[k]];
    y[i] = sum;
}

extern "C" __global__ void box_filter(const float* __restrict__ a, float* __restrict__ b, u32 n) {
    u32 k = blockIdx.x * blockDim.x + threadIdx.x + 1, j = blockIdx.y * blockDim.y + threadIdx.y + 1, i = blockIdx.z * blockDim.z + threadIdx.z + 1;
    if (i >= n - 1 || j >= n - 1 || k >= n - 1) return;
    float sum = 0;
    for (int di = -1; di <= 1; di++)
        for (int dj = -1; dj <= 1; dj++)
            for (int dk = -1; dk <= 1; dk++) sum += a[((u64)(i + di) * n + j + dj) * n + k + dk];
    b[((u64)i * n + j) * n + k] = sum / 27.0f;
}

extern "C" __global__ void lattice(float omega, const float* __restrict__ f, float* __restrict__ g, u32 n) {
    u32 x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n) return;
    u64 plane = (u64)n * n;
    u32 up = y > 0 ? y - 1 : n - 1, down = y + 1 < n ? y + 1 : 0, left = x > 0 ? x - 1 : n - 1, right = x + 1 < n ? x + 1 : 0;
    float f0 = f[(u64)y * n + x], f1 = f[plane + (u64)y * n + left], f2 = f[2 * plane + (u64)up * n + x];
    float f3 = f[3 * plane + (u64)y * n + right], f4 = f[4 * plane + (u64)down * n + x], f5 = f[5 * plane + (u64)up * n + left];
    float f6 = f[6 * plane + (u64)up * n + right], f7 = f[7 * plane + (u64)down * n + right], f8 = f[8 * plane + (u64)down * n + left];
    float density = f0 + f1 + f2 + f3 + f4 + f5 + f6 + f7 + f8;
    float vx = (f1 + f5 + f8 - f3 - f6 - f7) / density, vy = (f2 + f5 + f6 - f4 - f7 - f8) / density;
    float square = 1.5f * (vx * vx + vy * vy), axis = density / 9.0f, corner = density / 36.0f, s = vx + vy, d = vx - vy;
    auto equal = [&](float v) { return 1.0f + 3.0f * v + 4.5f * v * v - square; };
    u64 at = (u64)y * n + x;
    g[at] = f0 + omega * (density * (4.0f / 9.0f) * (1.0f - square) - f0);
    g[plane + at] = f1 + omega * (axis * equal(vx) - f1);
    g[2 * plane + at] = f2 + omega * (axis * equal(vy) - f2);
    g[3 * plane + at] = f3 + omega * (axis * equal(-vx) - f3);
    g[4 * plane + at] = f4 + omega * (axis * equal(-vy) - f4);
    g[5 * plane + at] = f5 + omega * (corner * equal(s) - f5);
    g[6 * plane + at] = f6 + omega * (corner * equal(-d) - f6);
    g[7 * plane + at] = f7 + omega * (corner * equal(-s) - f7);
    g[8 * plane + at] = f8 + omega * (corner * equal(d) - f8);
}

extern "C" __global__ void bitonic(u32* __restrict__ a, u32 half, u32 step, u32 size) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= half) return;
    u32 low = i / step * 2 * step + i % step, high = low + step;
    u32 x = a[low], y = a[high];
    if ((low / size % 2 == 0) == (x > y)) { a[low] = y; a[high] = x; }
}

// The material point method in two dimensions: to the grid, on the grid, and back.
extern "C" __global__ void mpm_clear(float2* __restrict__ momentum, float* __restrict__ mass, u32 g) {
    u32 k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < g * g) { momentum[k] = make_float2(0, 0); mass[k] = 0; }
}

__device__ void spline(float f, float* w) {
    w[0] = 0.5f * (1.5f - f) * (1.5f - f);
    w[1] = 0.75f - (f - 1.0f) * (f - 1.0f);
    w[2] = 0.5f * (f - 0.5f) * (f - 0.5f);
}

extern "C" __global__ void mpm_scatter(const float2* __restrict__ place, const float2* __restrict__ speed, const float4* __restrict__ affine,
                                       const float* __restrict__ grown, float2* momentum, float* mass, float dt, u32 n, u32 g) {
    u32 p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= n) return;
    float side = 1.0f / g, volume = 0.25f * side * side;
    float2 at = place[p], v = speed[p];
    float4 c = affine[p];
    float stress = -dt * 4.0f * 400.0f * volume * (grown[p] - 1.0f) * g * g;
    float x = at.x * g, y = at.y * g;
    u32 i0 = (u32)(x - 0.5f), j0 = (u32)(y - 0.5f);
    float fx = x - i0, fy = y - j0, wx[3], wy[3];
    spline(fx, wx);
    spline(fy, wy);
#pragma unroll
    for (u32 i = 0; i < 3; i++)
#pragma unroll
        for (u32 j = 0; j < 3; j++) {
            float dx = (i - fx) * side, dy = (j - fy) * side, w = wx[i] * wy[j];
            u32 k = (i0 + i) * g + j0 + j;
            atomicAdd(&momentum[k].x, w * (volume * v.x + (stress + volume * c.x) * dx + volume * c.y * dy));
            atomicAdd(&momentum[k].y, w * (volume * v.y + volume * c.z * dx + (stress + volume * c.w) * dy));
            atomicAdd(&mass[k], w * volume);
        }
}

extern "C" __global__ void mpm_grid(float2* __restrict__ momentum, const float* __restrict__ mass, float dt, u32 g) {
    u32 j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= g || j >= g) return;
    u32 k = i * g + j;
    float m = mass[k];
    if (m <= 0) return;
    float2 v = momentum[k];
    v.x /= m;
    v.y = v.y / m - dt * 9.8f;
    if (i < 3 && v.x < 0) v.x = 0;
    if (i + 3 >= g && v.x > 0) v.x = 0;
    if (j < 3 && v.y < 0) v.y = 0;
    if (j + 3 >= g && v.y > 0) v.y = 0;
    momentum[k] = v;
}

extern "C" __global__ void mpm_gather(float2* __restrict__ place, float2* __restrict__ speed, float4* __restrict__ affine,
                                      float* __restrict__ grown, const float2* __restrict__ momentum, float dt, u32 n, u32 g) {
    u32 p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= n) return;
    float2 at = place[p];
    float x = at.x * g, y = at.y * g;
    u32 i0 = (u32)(x - 0.5f), j0 = (u32)(y - 0.5f);
    float fx = x - i0, fy = y - j0, wx[3], wy[3];
    spline(fx, wx);
    spline(fy, wy);
    float vx = 0, vy = 0;
    float4 c = make_float4(0, 0, 0, 0);
#pragma unroll
    for (u32 i = 0; i < 3; i++)
#pragma unroll
        for (u32 j = 0; j < 3; j++) {
            float dx = i - fx, dy = j - fy, w = wx[i] * wy[j], q = 4.0f * g * w;
            float2 v = momentum[(i0 + i) * g + j0 + j];
            vx += w * v.x;
            vy += w * v.y;
            c.x += q * v.x * dx;
            c.y += q * v.x * dy;
            c.z += q * v.y * dx;
            c.w += q * v.y * dy;
        }
    speed[p] = make_float2(vx, vy);
    affine[p] = c;
    place[p] = make_float2(at.x + dt * vx, at.y + dt * vy);
    grown[p] *= 1.0f + dt * (c.x + c.w);
}
