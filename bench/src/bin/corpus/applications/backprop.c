#include <math.h>

void run(void **buffers, const long *sizes) {
    const float *input = buffers[0], *target = buffers[1], *weights = buffers[2], *changes = buffers[3];
    float *output = buffers[4], *delta = buffers[5], *new_weights = buffers[6], *new_changes = buffers[7];
    long inputs = sizes[0], outputs = sizes[1];
    for (long j = 0; j < outputs; j++) output[j] = 0;
#pragma omp parallel for reduction(+ : output[:outputs])
    for (long i = 0; i < inputs; i++)
        for (long j = 0; j < outputs; j++) output[j] += input[i] * weights[i * outputs + j];
    for (long j = 0; j < outputs; j++) {
        float value = 1.0f / (1.0f + expf(-output[j]));
        output[j] = value;
        delta[j] = value * (1.0f - value) * (target[j] - value);
    }
#pragma omp parallel for
    for (long i = 0; i < inputs; i++)
        for (long j = 0; j < outputs; j++) {
            long at = i * outputs + j;
            float change = 0.3f * delta[j] * input[i] + 0.2f * changes[at];
            new_weights[at] = weights[at] + change;
            new_changes[at] = change;
        }
}
