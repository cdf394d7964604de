extern "C" __global__ void forward(const float *input, const float *target, const float *weights, float *output,
                                   float *delta, int inputs, int outputs) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= outputs) return;
    float sum = 0;
    for (int i = 0; i < inputs; i++) sum += input[i] * weights[i * outputs + j];
    float value = 1.0f / (1.0f + expf(-sum));
    output[j] = value;
    delta[j] = value * (1.0f - value) * (target[j] - value);
}

extern "C" __global__ void update(const float *input, const float *weights, const float *changes, const float *delta,
                                  float *new_weights, float *new_changes, int inputs, int outputs) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= inputs || j >= outputs) return;
    int at = i * outputs + j;
    float change = 0.3f * delta[j] * input[i] + 0.2f * changes[at];
    new_weights[at] = weights[at] + change;
    new_changes[at] = change;
}
