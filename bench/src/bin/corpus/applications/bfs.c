#include <stdbool.h>

void run(void **buffers, const long *sizes) {
    const unsigned *starts = buffers[0], *edges = buffers[1];
    bool *frontier = buffers[2], *next = buffers[3], *visited = buffers[4];
    int *level = buffers[5];
    long n = sizes[0], depth = sizes[1];
#pragma omp parallel for
    for (long i = 0; i < n; i++) {
        frontier[i] = i == 0;
        next[i] = false;
        visited[i] = i == 0;
        level[i] = i == 0 ? 0 : -1;
    }
    for (long d = 1; d <= depth; d++) {
#pragma omp parallel for
        for (long i = 0; i < n; i++) {
            if (!frontier[i]) continue;
            frontier[i] = false;
            for (unsigned e = starts[i]; e < starts[i + 1]; e++) {
                unsigned to = edges[e];
                if (!visited[to]) {
#pragma omp atomic write
                    next[to] = true;
                }
            }
        }
#pragma omp parallel for
        for (long i = 0; i < n; i++) {
            if (!next[i]) continue;
            next[i] = false;
            frontier[i] = true;
            visited[i] = true;
            level[i] = d;
        }
    }
}
