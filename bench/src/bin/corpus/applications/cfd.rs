//! Rodinia cfd: The flux of the Euler equations into each cell of an unstructured mesh, through four faces per cell.

use quadrants::{self as qd, Result, Tensor, Vector};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, I32},
    CudaLaunch, Sizes, uniform_f32,
};

const GAMMA: f32 = 1.4;
/// Strength of the artificial viscosity.
const SMOOTHING: f32 = 0.2;

#[derive(Clone, Copy, qd::KernelValue)]
struct Cell {
    density: f32,
    momentum: Vector<f32, 3>,
    energy: f32,
    velocity: Vector<f32, 3>,
    pressure: f32,
    /// The speed of the fastest wave.
    speed: f32,
}

#[qd::func]
fn cell(u: &Tensor<f32, 2>, i: usize) -> Cell {
    let density = u[[0, i]];
    let momentum = Vector([u[[1, i]], u[[2, i]], u[[3, i]]]);
    let energy = u[[4, i]];
    let velocity = momentum / density;
    let pressure = (GAMMA - 1.0) * (energy - 0.5 * density * velocity.norm_squared());
    let speed = velocity.norm() + (GAMMA * pressure / density).sqrt();
    Cell { density, momentum, energy, velocity, pressure, speed }
}

/// `u` has density, momentum and energy; `neighbours` has −1 at walls.
#[qd::kernel]
fn flux(
    u: &Tensor<f32, 2>,
    neighbours: &Tensor<i32, 2>,
    normals: &Tensor<f32, 3>,
    out: &mut Tensor<f32, 2>,
) {
    for i in 0..u.shape()[1] {
        let a = cell(u, i);
        let mut density = 0.0;
        let mut momentum = Vector::<f32, 3>::zero();
        let mut energy = 0.0;
        for k in 0..4 {
            let normal = Vector([normals[[k, 0, i]], normals[[k, 1, i]], normals[[k, 2, i]]]);
            let j = neighbours[[k, i]];
            if j >= 0 {
                let b = cell(u, j as usize);
                let viscosity = 0.5 * SMOOTHING * normal.norm() * (a.speed + b.speed);
                let (va, vb) = (0.5 * normal.dot(a.velocity), 0.5 * normal.dot(b.velocity));
                density += va * a.density + vb * b.density + viscosity * (a.density - b.density);
                momentum += a.momentum * va
                    + b.momentum * vb
                    + normal * (0.5 * (a.pressure + b.pressure))
                    + (a.momentum - b.momentum) * viscosity;
                energy += va * (a.energy + a.pressure)
                    + vb * (b.energy + b.pressure)
                    + viscosity * (a.energy - b.energy);
            } else {
                momentum += normal * a.pressure;
            }
        }
        out[[0, i]] = density;
        out[[1, i]] = momentum[0];
        out[[2, i]] = momentum[1];
        out[[3, i]] = momentum[2];
        out[[4, i]] = energy;
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 1 << 22, cpu: 1 << 15, small: 309 };
    let Some(case) = corpus.case("rodinia/cfd", sizes) else { return Ok(()) };
    let n = case.n();
    let width = n.isqrt();
    let mut u = uniform_f32(5 * n, 1);
    u[..n].iter_mut().for_each(|density| *density += 1.0);
    u[4 * n..].iter_mut().for_each(|energy| *energy += 4.0);
    let neighbour = |k: usize| {
        let (i, to) = (k % n, [1, -1, width as i64, -(width as i64)][k / n]);
        let j = i as i64 + to;
        if (0..n as i64).contains(&j) { j as i32 } else { -1 }
    };
    let neighbours: Vec<i32> = (0..4 * n).map(neighbour).collect();
    let mut normals = uniform_f32(12 * n, 2);
    normals.iter_mut().for_each(|x| *x -= 0.5);
    let program = corpus.program();
    let (tu, tn, tf) = (
        program.tensor_from(&u, [5, n])?,
        program.tensor_from(&neighbours, [4, n])?,
        program.tensor_from(&normals, [4, 3, n])?,
    );
    let out = program.zeros::<f32, 2>([5, n])?;
    let args = [Buffer(0), Buffer(1), Buffer(2), Buffer(3), I32(n as i32)];
    case.buffers([u.into(), neighbours.into(), normals.into(), vec![0.0f32; 5 * n].into()])
        .results(&[(3, 1e-5)])
        .cuda(include_str!("cfd.cu"), vec![CudaLaunch::linear("flux", n, &args)])
        .c(include_str!("cfd.c"), &[n])
        .run(out, |out| flux(&tu, &tn, &tf, out).launch(), |out| Ok(vec![out.to_vec()?.into()]))
}
