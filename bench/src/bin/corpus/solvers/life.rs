//! Conway's game of life on a periodic plane, one byte per cell.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, I32},
    CudaLaunch, Sizes, uniform,
};

const STEPS: usize = 10;

#[qd::kernel]
fn start(input: &Tensor<u8, 2>, cells: &mut Tensor<u8, 2>) {
    for (i, j) in qd::ndrange(cells.shape()) {
        cells[[i, j]] = input[[i, j]];
    }
}

#[qd::kernel]
fn step(cells: &Tensor<u8, 2>, next: &mut Tensor<u8, 2>) {
    let [h, w] = cells.shape();
    for (i, j) in qd::ndrange([h, w]) {
        let (up, down) = ((i + h - 1) % h, (i + 1) % h);
        let (left, right) = ((j + w - 1) % w, (j + 1) % w);
        let neighbours = cells[[up, left]]
            + cells[[up, j]]
            + cells[[up, right]]
            + cells[[i, left]]
            + cells[[i, right]]
            + cells[[down, left]]
            + cells[[down, j]]
            + cells[[down, right]];
        let lives = neighbours == 3 || (neighbours == 2 && cells[[i, j]] == 1);
        next[[i, j]] = lives as u8;
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 8192, cpu: 256, small: 45 };
    let Some(case) = corpus.case("stencil/life", sizes) else { return Ok(()) };
    let n = case.n();
    let cells: Vec<u8> = uniform(n * n, 1).map(|x| u8::from(x < 0.3)).collect();
    let program = corpus.program();
    let shape = [n, n];
    let input = program.tensor_from(&cells, shape)?;
    let state = (program.zeros(shape)?, program.zeros(shape)?);
    let of = |function, from, to| {
        CudaLaunch::grid_2d(function, shape, &[Buffer(from), Buffer(to), I32(n as i32)])
    };
    let mut steps = vec![of("start", 0, 1)];
    steps.extend((0..STEPS).map(|t| of("life", 1 + t % 2, 2 - t % 2)));
    let zero = || vec![0u8; n * n].into();
    case.buffers([cells.into(), zero(), zero()])
        .results(&[(1, 0.0)]) // the number of steps is even
        .cuda(include_str!("life.cu"), steps)
        .c(include_str!("life.c"), &[n, STEPS])
        .run(
            state,
            |(cells, next)| {
                start(&input, cells).launch()?;
                for _ in 0..STEPS {
                    step(cells, next).launch()?;
                    std::mem::swap(cells, next);
                }
                Ok(())
            },
            |(cells, _)| Ok(vec![cells.to_vec()?.into()]),
        )
}
