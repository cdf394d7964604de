constexpr int N = 8;

extern "C" __global__ void solve(const float *a, const float *b, float *x, int n) {
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= n) return;
    float m[N][N], v[N];
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) m[i][j] = a[(i * N + j) * n + s];
        v[i] = b[i * n + s];
    }
    for (int k = 0; k < N; k++)
        for (int i = k + 1; i < N; i++) {
            float factor = m[i][k] / m[k][k];
            for (int j = k + 1; j < N; j++) m[i][j] -= factor * m[k][j];
            v[i] -= factor * v[k];
        }
    for (int i = N - 1; i >= 0; i--) {
        for (int j = i + 1; j < N; j++) v[i] -= m[i][j] * v[j];
        v[i] /= m[i][i];
    }
    for (int i = 0; i < N; i++) x[i * n + s] = v[i];
}
