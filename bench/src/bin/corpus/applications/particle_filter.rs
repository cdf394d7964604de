//! Rodinia particle filter: One step of a particle filter: likelihoods from an image, weights, their running sum, and
//! resampling by search.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, I32},
    CudaLaunch, Sizes, uniform, uniform_f32,
};

/// Half the width of the square of pixels that a particle sees.
const RADIUS: i32 = 4;
const BLOCK: usize = 256;

#[qd::kernel]
fn weigh(
    image: &Tensor<u8, 2>,
    x: &Tensor<f32, 1>,
    y: &Tensor<f32, 1>,
    weights: &mut Tensor<f32, 1>,
) {
    let [height, width] = image.shape();
    for i in 0..x.len() {
        let (row, column) = (y[i].round() as i32, x[i].round() as i32);
        let mut likelihood = 0.0;
        for dy in -RADIUS..=RADIUS {
            for dx in -RADIUS..=RADIUS {
                let r = (row + dy).clamp(0, height as i32 - 1) as usize;
                let c = (column + dx).clamp(0, width as i32 - 1) as usize;
                let value = image[[r, c]] as f32;
                let (back, object) = (value - 100.0, value - 228.0);
                likelihood += (back * back - object * object) / 50.0;
            }
        }
        weights[i] = (likelihood / 8100.0).exp();
    }
}

/// The sums of the weights up to each particle, and the particles at equal distances in these sums.
#[qd::kernel]
fn resample(
    weights: &Tensor<f32, 1>,
    cumulative: &mut Tensor<f32, 1>,
    sums: &mut Tensor<f32, 1>,
    chosen: &mut Tensor<i32, 1>,
) {
    let n = weights.len();
    qd::block_for(sums.len(), BLOCK, |b| {
        let first = b.index() * BLOCK;
        let scan = b.scan_add(|t| if first + t < n { weights[first + t] } else { 0.0 });
        b.each(|t| {
            if first + t < n {
                cumulative[first + t] = scan[t];
            }
            if t == BLOCK - 1 {
                sums[b.index()] = scan[t];
            }
        });
    });
    #[qd::serial]
    for k in 1..sums.len() {
        sums[k] += sums[k - 1];
    }
    for i in BLOCK..n {
        cumulative[i] += sums[i / BLOCK - 1];
    }
    for i in 0..n {
        let u = (i as f32 + 0.5) / n as f32 * cumulative[n - 1];
        let mut low = 0;
        let mut high = n - 1;
        while low < high {
            let middle = (low + high) / 2;
            if cumulative[middle] >= u {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        chosen[i] = low as i32;
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 1 << 18, cpu: 1 << 14, small: 777 };
    let Some(case) = corpus.case("rodinia/particle filter", sizes) else { return Ok(()) };
    let n = case.n();
    let (height, width) = (480, 640);
    let image: Vec<u8> = uniform(height * width, 1).map(|x| (256.0 * x) as u8).collect();
    let scaled = |seed, size: usize| {
        let mut values = uniform_f32(n, seed);
        values.iter_mut().for_each(|x| *x *= size as f32 - 1.0);
        values
    };
    let (x, y) = (scaled(2, width), scaled(3, height));
    let program = corpus.program();
    let blocks = n.div_ceil(BLOCK);
    let (ti, tx, ty) = (
        program.tensor_from(&image, [height, width])?,
        program.tensor_from(&x, [n])?,
        program.tensor_from(&y, [n])?,
    );
    let state = (
        program.zeros::<f32, 1>([n])?,
        program.zeros::<f32, 1>([n])?,
        program.zeros::<f32, 1>([blocks])?,
        program.zeros::<i32, 1>([n])?,
    );
    let zeros = vec![0.0f32; n];
    let buffers = [
        image.into(),
        x.into(),
        y.into(),
        (&zeros).into(),
        zeros.into(),
        vec![0.0f32; blocks].into(),
        vec![0i32; n].into(),
    ];
    let size = I32(n as i32);
    let steps = vec![
        CudaLaunch::linear(
            "weigh",
            n,
            &[
                Buffer(0),
                Buffer(1),
                Buffer(2),
                Buffer(3),
                I32(height as i32),
                I32(width as i32),
                size,
            ],
        ),
        CudaLaunch::linear("scan_blocks", n, &[Buffer(3), Buffer(4), Buffer(5), size]),
        CudaLaunch::new("scan_sums", [1; 3], [1; 3], &[Buffer(5), I32(blocks as i32)]),
        CudaLaunch::linear("add_sums", n, &[Buffer(4), Buffer(5), size]),
        CudaLaunch::linear("choose", n, &[Buffer(4), Buffer(6), size]),
    ];
    case.buffers(buffers)
        .results(&[(3, 1e-4), (4, 1e-4), (6, 1e-3)])
        .cuda(include_str!("particle_filter.cu"), steps)
        .c(include_str!("particle_filter.c"), &[n, height, width])
        .run(
            state,
            |(weights, cumulative, sums, chosen)| {
                weigh(&ti, &tx, &ty, weights).launch()?;
                resample(weights, cumulative, sums, chosen).launch()
            },
            |(weights, cumulative, _, chosen)| {
                Ok(vec![
                    weights.to_vec()?.into(),
                    cumulative.to_vec()?.into(),
                    chosen.to_vec()?.into(),
                ])
            },
        )
}
