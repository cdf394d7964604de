// Tiles of 64 by 64 elements for blocks of 256 threads, 4 by 4 elements for each thread.
#define TILE 64
#define DEPTH 16

extern "C" __global__ void product(const float *left, const float *right, float *out, int rows, int columns,
                                   int inner) {
    __shared__ float a[DEPTH][TILE + 1], b[DEPTH][TILE];
    int t = threadIdx.x, x = t % 16, y = t / 16;
    int top = blockIdx.y * TILE, side = blockIdx.x * TILE;
    float sums[4][4] = {};
    for (int first = 0; first < inner; first += DEPTH) {
        for (int e = t; e < TILE * DEPTH; e += 256) {
            int i = top + e / DEPTH, k = first + e % DEPTH;
            a[e % DEPTH][e / DEPTH] = i < rows && k < inner ? left[i * inner + k] : 0;
        }
        for (int e = t; e < TILE * DEPTH; e += 256) {
            int k = first + e / TILE, j = side + e % TILE;
            b[e / TILE][e % TILE] = k < inner && j < columns ? right[k * columns + j] : 0;
        }
        __syncthreads();
        for (int k = 0; k < DEPTH; k++) {
            float column[4], row[4];
            for (int i = 0; i < 4; i++) column[i] = a[k][y + 16 * i];
            for (int j = 0; j < 4; j++) row[j] = b[k][x + 16 * j];
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) sums[i][j] += column[i] * row[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            int row = top + y + 16 * i, column = side + x + 16 * j;
            if (row < rows && column < columns) out[row * columns + column] = sums[i][j];
        }
}
