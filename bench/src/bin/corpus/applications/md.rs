//! SHOC md: The Lennard-Jones force on each atom by its neighbours within a cutoff; the lists of neighbours are given.

use quadrants::{self as qd, Result, Tensor, Vector};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, F32, I32},
    CudaLaunch, Sizes, uniform_f32,
};

/// The length of all lists; the nearest sites of a lattice of atoms.
const NEIGHBOURS: usize = 56;
const LJ1: f32 = 1.5;
const LJ2: f32 = 2.0;

#[qd::kernel]
fn forces(
    cutoff: f32,
    place: &Tensor<Vector<f32, 4>, 1>,
    neighbours: &Tensor<u32, 2>,
    out: &mut Tensor<Vector<f32, 4>, 1>,
) {
    for i in 0..place.len() {
        let here = place[i];
        let mut force = Vector::<f32, 4>::zero();
        for k in 0..neighbours.shape()[0] {
            let d = here - place[neighbours[[k, i]] as usize];
            let r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
            if r2 < cutoff * cutoff {
                let inverse = 1.0 / r2;
                let sixth = inverse * inverse * inverse;
                force += d * (inverse * sixth * (LJ1 * sixth - LJ2));
            }
        }
        out[i] = force;
    }
}

/// The lattice's 56 sites nearest to a site.
fn sites() -> Vec<[i64; 3]> {
    let mut sites: Vec<_> = (0..343)
        .map(|k| [k / 49 - 3, k / 7 % 7 - 3, k % 7 - 3])
        .filter(|site| *site != [0, 0, 0])
        .collect();
    sites.sort_by_key(|[x, y, z]| x * x + y * y + z * z);
    sites.truncate(NEIGHBOURS);
    sites
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 96, cpu: 20, small: 7 };
    let Some(case) = corpus.case("shoc/md", sizes) else { return Ok(()) };
    let side = case.n();
    let n = side * side * side;
    let random = uniform_f32(3 * n, 1);
    // Multiples of 1/64: squares of distances near the cutoff are exact, so all sides choose the same neighbours.
    let place: Vec<_> = (0..n)
        .map(|i| {
            let site = [i % side, i / side % side, i / (side * side)];
            let [x, y, z] =
                [0, 1, 2].map(|d| site[d] as f32 + (16.0 * random[3 * i + d]).floor() / 64.0);
            Vector([x, y, z, 0.0])
        })
        .collect();
    let wrapped = |x: usize, by: i64| (x as i64 + by).rem_euclid(side as i64) as usize;
    let mut neighbours = Vec::with_capacity(NEIGHBOURS * n);
    for [x, y, z] in sites() {
        for k in 0..side {
            for j in 0..side {
                let row = (wrapped(k, z) * side + wrapped(j, y)) * side;
                neighbours.extend((0..side).map(|i| (row + wrapped(i, x)) as u32));
            }
        }
    }
    let cutoff = 2.1;
    let program = corpus.program();
    let (tp, tn) =
        (program.tensor_from(&place, [n])?, program.tensor_from(&neighbours, [NEIGHBOURS, n])?);
    let out = program.zeros::<Vector<f32, 4>, 1>([n])?;
    let flat = |values: &[Vector<f32, 4>]| values.iter().flat_map(|v| v.0).collect::<Vec<f32>>();
    let args =
        [F32(cutoff), Buffer(0), Buffer(1), Buffer(2), I32(NEIGHBOURS as i32), I32(n as i32)];
    case.buffers([flat(&place).into(), neighbours.into(), vec![0.0f32; 4 * n].into()])
        .results(&[(2, 1e-4)])
        .cuda(include_str!("md.cu"), vec![CudaLaunch::linear("forces", n, &args)])
        .c(include_str!("md.c"), &[NEIGHBOURS, n])
        .run(
            out,
            |out| forces(cutoff, &tp, &tn, out).launch(),
            |out| Ok(vec![flat(&out.to_vec()?).into()]),
        )
}
