//! Rodinia backprop: One layer of a neural network: its output, and the update of its weights by gradient descent with
//! momentum.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, I32},
    CudaLaunch, Sizes, uniform_f32,
};

const RATE: f32 = 0.3;
const MOMENTUM: f32 = 0.2;

#[qd::kernel]
#[allow(clippy::too_many_arguments)] // the layer before and after the step
fn train(
    input: &Tensor<f32, 1>,
    target: &Tensor<f32, 1>,
    weights: &Tensor<f32, 2>,
    changes: &Tensor<f32, 2>,
    output: &mut Tensor<f32, 1>,
    delta: &mut Tensor<f32, 1>,
    new_weights: &mut Tensor<f32, 2>,
    new_changes: &mut Tensor<f32, 2>,
) {
    let [inputs, outputs] = weights.shape();
    for j in 0..outputs {
        let mut sum = 0.0;
        for i in 0..inputs {
            sum += input[i] * weights[[i, j]];
        }
        let value = 1.0 / (1.0 + (-sum).exp());
        output[j] = value;
        delta[j] = value * (1.0 - value) * (target[j] - value);
    }
    for (i, j) in qd::ndrange(weights.shape()) {
        let change = RATE * delta[j] * input[i] + MOMENTUM * changes[[i, j]];
        new_weights[[i, j]] = weights[[i, j]] + change;
        new_changes[[i, j]] = change;
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 4096, cpu: 1024, small: 67 };
    let Some(case) = corpus.case("rodinia/backprop", sizes) else { return Ok(()) };
    let n = case.n();
    let (inputs, outputs) = (n + 3, n);
    let shape = [inputs, outputs];
    let input = uniform_f32(inputs, 1);
    let target = uniform_f32(outputs, 2);
    let centered = |seed| {
        let mut values = uniform_f32(inputs * outputs, seed);
        values.iter_mut().for_each(|x| *x = 0.1 * (*x - 0.5));
        values
    };
    let (weights, changes) = (centered(3), centered(4));
    let program = corpus.program();
    let (ti, tt) =
        (program.tensor_from(&input, [inputs])?, program.tensor_from(&target, [outputs])?);
    let (tw, tc) = (program.tensor_from(&weights, shape)?, program.tensor_from(&changes, shape)?);
    let state = (
        program.zeros::<f32, 1>([outputs])?,
        program.zeros::<f32, 1>([outputs])?,
        program.zeros::<f32, 2>(shape)?,
        program.zeros::<f32, 2>(shape)?,
    );
    let (layer, matrix) = (vec![0.0f32; outputs], vec![0.0f32; inputs * outputs]);
    let buffers = [
        input.into(),
        target.into(),
        weights.into(),
        changes.into(),
        (&layer).into(),
        layer.into(),
        (&matrix).into(),
        matrix.into(),
    ];
    let (rows, columns) = (I32(inputs as i32), I32(outputs as i32));
    let steps = vec![
        CudaLaunch::linear(
            "forward",
            outputs,
            &[Buffer(0), Buffer(1), Buffer(2), Buffer(4), Buffer(5), rows, columns],
        ),
        CudaLaunch::grid_2d(
            "update",
            shape,
            &[Buffer(0), Buffer(2), Buffer(3), Buffer(5), Buffer(6), Buffer(7), rows, columns],
        ),
    ];
    case.buffers(buffers)
        .results(&[(4, 1e-4), (6, 1e-4), (7, 1e-4)])
        .cuda(include_str!("backprop.cu"), steps)
        .c(include_str!("backprop.c"), &shape)
        .run(
            state,
            |(output, delta, weights, changes)| {
                train(&ti, &tt, &tw, &tc, output, delta, weights, changes).launch()
            },
            |(output, _, weights, changes)| {
                Ok(vec![
                    output.to_vec()?.into(),
                    weights.to_vec()?.into(),
                    changes.to_vec()?.into(),
                ])
            },
        )
}
