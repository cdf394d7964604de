extern "C" __global__ void diagonal(int d, const unsigned char *sequence, int *table, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = i + d;
    if (j >= n) return;
    int best = max(table[i * n + j - 1], table[(i + 1) * n + j]);
    int inner = table[(i + 1) * n + j - 1];
    if (i + 1 < j)
        best = max(best, inner + (sequence[i] + sequence[j] == 3 ? 1 : 0));
    else
        best = max(best, inner);
    for (int k = i + 1; k < j; k++) best = max(best, table[i * n + k] + table[(k + 1) * n + j]);
    table[i * n + j] = best;
}
