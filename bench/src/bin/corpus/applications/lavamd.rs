//! Rodinia lavamd: Potential and forces between the particles of each box and those of the boxes around it.

use quadrants::{self as qd, Result, Tensor, Vector};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, F32, I32},
    CudaLaunch, Sizes, uniform_f32,
};

/// Particles in a box.
const COUNT: usize = 64;

/// `place` has the coordinates, and a fourth component for half the square of their length.
#[qd::kernel]
fn forces(
    alpha: f32,
    boxes: usize,
    place: &Tensor<Vector<f32, 4>, 1>,
    charge: &Tensor<f32, 1>,
    out: &mut Tensor<Vector<f32, 4>, 1>,
) {
    let a2 = 2.0 * alpha * alpha;
    for i in 0..place.len() {
        let home = i / COUNT;
        let (x, y, z) = (home % boxes, home / boxes % boxes, home / (boxes * boxes));
        let a = place[i];
        let mut sum = Vector::<f32, 4>::zero();
        for bz in z.saturating_sub(1)..(z + 2).min(boxes) {
            for by in y.saturating_sub(1)..(y + 2).min(boxes) {
                for bx in x.saturating_sub(1)..(x + 2).min(boxes) {
                    let first = ((bz * boxes + by) * boxes + bx) * COUNT;
                    for j in first..first + COUNT {
                        let b = place[j];
                        let r2 = a[3] + b[3] - (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]);
                        let v = charge[j] * (-a2 * r2).exp();
                        let d = a - b;
                        sum += Vector([2.0 * v * d[0], 2.0 * v * d[1], 2.0 * v * d[2], v]);
                    }
                }
            }
        }
        out[i] = sum;
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 16, cpu: 4, small: 3 };
    let Some(case) = corpus.case("rodinia/lavamd", sizes) else { return Ok(()) };
    let boxes = case.n();
    let n = boxes * boxes * boxes * COUNT;
    let alpha = 0.5;
    let random = uniform_f32(3 * n, 1);
    let place: Vec<_> = (0..n)
        .map(|i| {
            let b = i / COUNT;
            let corner = [b % boxes, b / boxes % boxes, b / (boxes * boxes)];
            let [x, y, z] = [0, 1, 2].map(|d| corner[d] as f32 + random[3 * i + d]);
            Vector([x, y, z, 0.5 * (x * x + y * y + z * z)])
        })
        .collect();
    let charge = uniform_f32(n, 2);
    let program = corpus.program();
    let (tp, tc) = (program.tensor_from(&place, [n])?, program.tensor_from(&charge, [n])?);
    let out = program.zeros::<Vector<f32, 4>, 1>([n])?;
    let flat = |values: &[Vector<f32, 4>]| values.iter().flat_map(|v| v.0).collect::<Vec<f32>>();
    let args = [F32(alpha), I32(boxes as i32), Buffer(0), Buffer(1), Buffer(2), I32(n as i32)];
    let step = CudaLaunch::new("forces", [n.div_ceil(128), 1, 1], [128, 1, 1], &args);
    case.buffers([flat(&place).into(), charge.into(), vec![0.0f32; 4 * n].into()])
        .results(&[(2, 1e-3)])
        .cuda(include_str!("lavamd.cu"), vec![step])
        .c(include_str!("lavamd.c"), &[boxes])
        .run(
            out,
            |out| forces(alpha, boxes, &tp, &tc, out).launch(),
            |out| Ok(vec![flat(&out.to_vec()?).into()]),
        )
}
