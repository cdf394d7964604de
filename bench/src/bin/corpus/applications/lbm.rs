//! Parboil lbm: One step of the lattice Boltzmann method with 19 velocities in a periodic box; each velocity has its
//! own array.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, F32, I32},
    CudaLaunch, Sizes, uniform_f32,
};

const CX: [i32; 19] = [0, 1, -1, 0, 0, 0, 0, 1, -1, 1, -1, 1, -1, 1, -1, 0, 0, 0, 0];
const CY: [i32; 19] = [0, 0, 0, 1, -1, 0, 0, 1, -1, -1, 1, 0, 0, 0, 0, 1, -1, 1, -1];
const CZ: [i32; 19] = [0, 0, 0, 0, 0, 1, -1, 0, 0, 0, 0, 1, -1, -1, 1, 1, -1, -1, 1];

#[qd::func]
fn weight(k: usize) -> f32 {
    if k == 0 {
        1.0 / 3.0
    } else if k < 7 {
        1.0 / 18.0
    } else {
        1.0 / 36.0
    }
}

#[qd::kernel]
fn step(omega: f32, f: &Tensor<f32, 4>, g: &mut Tensor<f32, 4>) {
    let [_, depth, height, width] = f.shape();
    for (z, y, x) in qd::ndrange([depth, height, width]) {
        let mut here = [0.0; 19];
        let mut density = 0.0;
        let mut vx = 0.0;
        let mut vy = 0.0;
        let mut vz = 0.0;
        for k in 0..19 {
            let from_x = (x as i32 - CX[k]).rem_euclid(width as i32) as usize;
            let from_y = (y as i32 - CY[k]).rem_euclid(height as i32) as usize;
            let from_z = (z as i32 - CZ[k]).rem_euclid(depth as i32) as usize;
            let value = f[[k, from_z, from_y, from_x]];
            here[k] = value;
            density += value;
            vx += CX[k] as f32 * value;
            vy += CY[k] as f32 * value;
            vz += CZ[k] as f32 * value;
        }
        vx /= density;
        vy /= density;
        vz /= density;
        let square = 1.5 * (vx * vx + vy * vy + vz * vz);
        for k in 0..19 {
            let along = 3.0 * (CX[k] as f32 * vx + CY[k] as f32 * vy + CZ[k] as f32 * vz);
            let equilibrium = weight(k) * density * (1.0 + along + 0.5 * along * along - square);
            g[[k, z, y, x]] = here[k] + omega * (equilibrium - here[k]);
        }
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 160, cpu: 32, small: 9 };
    let Some(case) = corpus.case("parboil/lbm", sizes) else { return Ok(()) };
    let n = case.n();
    let cells = n * n * n;
    let mut f = uniform_f32(19 * cells, 1);
    for (k, plane) in f.chunks_mut(cells).enumerate() {
        plane.iter_mut().for_each(|x| *x = weight(k) * (0.9 + 0.2 * *x));
    }
    let omega = 1.2;
    let program = corpus.program();
    let shape = [19, n, n, n];
    let (tf, out) = (program.tensor_from(&f, shape)?, program.zeros::<f32, 4>(shape)?);
    let size = I32(n as i32);
    let launch = CudaLaunch::new(
        "step",
        [n.div_ceil(64), n.div_ceil(4), n],
        [64, 4, 1],
        &[F32(omega), Buffer(0), Buffer(1), size, size, size],
    );
    case.buffers([f.into(), vec![0.0f32; 19 * cells].into()])
        .results(&[(1, 1e-5)])
        .cuda(include_str!("lbm.cu"), vec![launch])
        .c(include_str!("lbm.c"), &[n, n, n])
        .run(out, |out| step(omega, &tf, out).launch(), |out| Ok(vec![out.to_vec()?.into()]))
}
