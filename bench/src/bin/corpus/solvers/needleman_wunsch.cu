extern "C" __global__ void diagonal(int d, int penalty, const int *similarity, int *score, int n) {
    int first = max(d + 1 - n, 1), end = min(d, n);
    int i = first + blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= end) return;
    int at = i * n + d - i;
    int aligned = score[at - n - 1] + similarity[at];
    int gap = max(score[at - 1], score[at - n]) - penalty;
    score[at] = max(aligned, gap);
}
