extern "C" __global__ void start(bool *frontier, bool *next, bool *visited, int *level, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    frontier[i] = i == 0;
    next[i] = false;
    visited[i] = i == 0;
    level[i] = i == 0 ? 0 : -1;
}

extern "C" __global__ void visit(const int *starts, const int *edges, bool *frontier, bool *next, const bool *visited,
                                 int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || !frontier[i]) return;
    frontier[i] = false;
    for (int e = starts[i]; e < starts[i + 1]; e++) {
        int to = edges[e];
        if (!visited[to]) next[to] = true;
    }
}

extern "C" __global__ void update(int depth, bool *frontier, bool *next, bool *visited, int *level, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || !next[i]) return;
    next[i] = false;
    frontier[i] = true;
    visited[i] = true;
    level[i] = depth;
}
