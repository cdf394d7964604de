//! Rodinia kmeans: One step of k-means: each point joins the nearest centre, and each centre moves to the mean of its
//! points.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, I32},
    CudaLaunch, Sizes, uniform,
};

/// Features of a point, and clusters.
const FEATURES: usize = 16;
const CLUSTERS: usize = 12;

#[qd::kernel]
fn step(
    points: &Tensor<f32, 2>,
    centres: &Tensor<f32, 2>,
    member: &mut Tensor<i32, 1>,
    sums: &mut Tensor<f32, 2>,
    counts: &mut Tensor<i32, 1>,
    moved: &mut Tensor<f32, 2>,
) {
    let [clusters, features] = centres.shape();
    for i in 0..member.len() {
        let mut nearest = 0;
        let mut least = f32::MAX;
        for c in 0..clusters {
            let mut distance = 0.0;
            for f in 0..features {
                let d = points[[f, i]] - centres[[c, f]];
                distance += d * d;
            }
            if distance < least {
                least = distance;
                nearest = c;
            }
        }
        member[i] = nearest as i32;
    }
    for (c, f) in qd::ndrange(sums.shape()) {
        sums[[c, f]] = 0.0;
        if f == 0 {
            counts[c] = 0;
        }
    }
    for i in 0..member.len() {
        let c = member[i] as usize;
        qd::atomic_add(&mut counts[c], 1);
        for f in 0..features {
            qd::atomic_add(&mut sums[[c, f]], points[[f, i]]);
        }
    }
    for (c, f) in qd::ndrange(moved.shape()) {
        moved[[c, f]] =
            if counts[c] > 0 { sums[[c, f]] / counts[c] as f32 } else { centres[[c, f]] };
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 1 << 20, cpu: 1 << 15, small: 301 };
    let Some(case) = corpus.case("rodinia/kmeans", sizes) else { return Ok(()) };
    let n = case.n();
    // Multiples of 1/8: distances and sums are exact, so all sides choose the same centres.
    let points: Vec<f32> =
        uniform(FEATURES * n, 1).map(|x| (8.0 * x) as u32 as f32 / 8.0).collect();
    let centres: Vec<f32> =
        (0..CLUSTERS * FEATURES).map(|k| points[k % FEATURES * n + k / FEATURES]).collect();
    let program = corpus.program();
    let (tp, tc) = (
        program.tensor_from(&points, [FEATURES, n])?,
        program.tensor_from(&centres, [CLUSTERS, FEATURES])?,
    );
    let state = (
        program.zeros::<i32, 1>([n])?,
        program.zeros::<f32, 2>([CLUSTERS, FEATURES])?,
        program.zeros::<i32, 1>([CLUSTERS])?,
        program.zeros::<f32, 2>([CLUSTERS, FEATURES])?,
    );
    let table = || vec![0.0f32; CLUSTERS * FEATURES];
    let buffers = [
        points.into(),
        centres.into(),
        vec![0i32; n].into(),
        table().into(),
        vec![0i32; CLUSTERS].into(),
        table().into(),
    ];
    let (size, features, clusters) = (I32(n as i32), I32(FEATURES as i32), I32(CLUSTERS as i32));
    let steps = vec![
        CudaLaunch::linear(
            "assign",
            n,
            &[Buffer(0), Buffer(1), Buffer(2), size, features, clusters],
        ),
        CudaLaunch::linear(
            "clear",
            CLUSTERS * FEATURES,
            &[Buffer(3), Buffer(4), features, clusters],
        ),
        CudaLaunch::linear("add", n, &[Buffer(0), Buffer(2), Buffer(3), Buffer(4), size, features]),
        CudaLaunch::linear(
            "divide",
            CLUSTERS * FEATURES,
            &[Buffer(1), Buffer(3), Buffer(4), Buffer(5), features, clusters],
        ),
    ];
    case.buffers(buffers)
        .results(&[(2, 0.0), (5, 1e-5)])
        .cuda(include_str!("kmeans.cu"), steps)
        .c(include_str!("kmeans.c"), &[n, FEATURES, CLUSTERS])
        .run(
            state,
            |(member, sums, counts, moved)| step(&tp, &tc, member, sums, counts, moved).launch(),
            |(member, .., moved)| Ok(vec![member.to_vec()?.into(), moved.to_vec()?.into()]),
        )
}
