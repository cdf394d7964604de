//! Rodinia hotspot: The temperature of a chip: heat flows between neighbours and to the surroundings, and each cell has
//! a power.

use quadrants::{self as qd, KernelValue, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, F32, I32},
    CudaLaunch, Sizes, uniform_f32,
};

const STEPS: usize = 10;
const AMBIENT: f32 = 80.0;

/// A time step divided by the heat capacity of a cell, and conductances to the neighbours and to the surroundings.
#[derive(Clone, Copy, KernelValue)]
struct Chip {
    step: f32,
    x: f32,
    y: f32,
    z: f32,
}

impl Chip {
    /// Silicon of 0.5 mm, in cells of 16 mm / 1024.
    fn silicon() -> Self {
        let (thickness, side, heat, conductivity) = (0.0005, 0.016 / 1024.0, 1.75e6, 100.0);
        let capacity = 0.5 * heat * thickness * side * side;
        let longest = 0.001 * (0.5 * thickness * heat) / 3e6;
        let across = 2.0 * conductivity * thickness;
        let z = conductivity * side * side / thickness;
        Self { step: longest / capacity, x: across, y: across, z }
    }
}

#[qd::kernel]
fn start(input: &Tensor<f32, 2>, t: &mut Tensor<f32, 2>) {
    for (i, j) in qd::ndrange(t.shape()) {
        t[[i, j]] = input[[i, j]];
    }
}

#[qd::kernel]
fn step(by: Chip, power: &Tensor<f32, 2>, t: &Tensor<f32, 2>, next: &mut Tensor<f32, 2>) {
    let [h, w] = t.shape();
    for (i, j) in qd::ndrange([h, w]) {
        let here = t[[i, j]];
        let north = if i == 0 { here } else { t[[i - 1, j]] };
        let south = if i == h - 1 { here } else { t[[i + 1, j]] };
        let west = if j == 0 { here } else { t[[i, j - 1]] };
        let east = if j == w - 1 { here } else { t[[i, j + 1]] };
        let flow = (south + north - 2.0 * here) * by.y
            + (east + west - 2.0 * here) * by.x
            + (AMBIENT - here) * by.z;
        next[[i, j]] = here + by.step * (power[[i, j]] + flow);
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 4096, cpu: 512, small: 45 };
    let Some(case) = corpus.case("rodinia/hotspot", sizes) else { return Ok(()) };
    let n = case.n();
    let [mut t, power] = [1, 2].map(|seed| uniform_f32(n * n, seed));
    t.iter_mut().for_each(|t| *t = 320.0 + 20.0 * *t);
    let program = corpus.program();
    let shape = [n, n];
    let (input, tp) = (program.tensor_from(&t, shape)?, program.tensor_from(&power, shape)?);
    let state = (program.zeros(shape)?, program.zeros(shape)?);
    let by = Chip::silicon();
    let size = I32(n as i32);
    let mut steps = vec![CudaLaunch::grid_2d("start", shape, &[Buffer(0), Buffer(2), size])];
    for t in 0..STEPS {
        let (from, to) = (2 + t % 2, 3 - t % 2);
        let factors = [F32(by.step), F32(by.x), F32(by.y), F32(by.z)];
        let rest = [Buffer(1), Buffer(from), Buffer(to), size];
        steps.push(CudaLaunch::grid_2d("hotspot", shape, &[factors, rest].concat()));
    }
    let factors = vec![by.step, by.x, by.y, by.z].into();
    let zero = || vec![0.0f32; n * n].into();
    case.buffers([t.into(), power.into(), zero(), zero(), factors])
        .results(&[(2, 3e-6)]) // the number of steps is even
        .cuda(include_str!("hotspot.cu"), steps)
        .c(include_str!("hotspot.c"), &[n, STEPS])
        .run(
            state,
            |(t, next)| {
                start(&input, t).launch()?;
                for _ in 0..STEPS {
                    step(by, &tp, t, next).launch()?;
                    std::mem::swap(t, next);
                }
                Ok(())
            },
            |(t, _)| Ok(vec![t.to_vec()?.into()]),
        )
}
