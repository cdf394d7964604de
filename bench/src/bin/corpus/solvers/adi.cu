extern "C" __global__ void start(const double *u0, double *u, int n) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < n) u[i * n + j] = u0[i * n + j];
}

extern "C" __global__ void columns(double a, double b, double d, double e, const double *u, double *v, double *p,
                                   double *q, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 1 || i >= n - 1) return;
    v[i] = 1;
    p[i * n] = 0;
    q[i * n] = v[i];
    for (int j = 1; j < n - 1; j++) {
        p[i * n + j] = -a / (a * p[i * n + j - 1] + b);
        q[i * n + j] = (-d * u[j * n + i - 1] + (1 + 2 * d) * u[j * n + i] - d * u[j * n + i + 1] -
                        a * q[i * n + j - 1]) /
                       (a * p[i * n + j - 1] + b);
    }
    v[(n - 1) * n + i] = 1;
    for (int j = n - 2; j >= 1; j--) v[j * n + i] = p[i * n + j] * v[(j + 1) * n + i] + q[i * n + j];
}

extern "C" __global__ void rows(double a, double b, double d, double e, double *u, const double *v, double *p,
                                double *q, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 1 || i >= n - 1) return;
    u[i * n] = 1;
    p[i * n] = 0;
    q[i * n] = u[i * n];
    for (int j = 1; j < n - 1; j++) {
        p[i * n + j] = -d / (d * p[i * n + j - 1] + e);
        q[i * n + j] = (-a * v[(i - 1) * n + j] + (1 + 2 * a) * v[i * n + j] - a * v[(i + 1) * n + j] -
                        d * q[i * n + j - 1]) /
                       (d * p[i * n + j - 1] + e);
    }
    u[i * n + n - 1] = 1;
    for (int j = n - 2; j >= 1; j--) u[i * n + j] = p[i * n + j] * u[i * n + j + 1] + q[i * n + j];
}
