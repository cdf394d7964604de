//! Rodinia nn: Nearest neighbour: the distances of all records from a place, and the first record with the least.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, F32, I32},
    CudaLaunch, Sizes, uniform,
};

#[qd::kernel]
#[allow(clippy::too_many_arguments)] // the place, the records and the results
fn nearest(
    latitude: f32,
    longitude: f32,
    latitudes: &Tensor<f32, 1>,
    longitudes: &Tensor<f32, 1>,
    distances: &mut Tensor<f32, 1>,
    found: &mut Tensor<i32, 1>,
    closest: &mut Tensor<f32, 1>,
) {
    for i in 0..distances.len() {
        let (dy, dx) = (latitudes[i] - latitude, longitudes[i] - longitude);
        distances[i] = (dy * dy + dx * dx).sqrt();
    }
    let mut least = f32::INFINITY;
    let mut at = 0;
    for i in 0..distances.len() {
        if distances[i] < least {
            least = distances[i];
            at = i;
        }
    }
    found[0] = at as i32;
    closest[0] = least;
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 1 << 24, cpu: 1 << 19, small: 3001 };
    let Some(case) = corpus.case("rodinia/nn", sizes) else { return Ok(()) };
    let n = case.n();
    // Multiples of 1/8: the distances of near records are exact, so all sides find the same one.
    let coordinates = |seed| -> Vec<f32> {
        uniform(n, seed).map(|x| (1440.0 * x).floor() as f32 / 8.0).collect()
    };
    let (latitudes, longitudes) = (coordinates(1), coordinates(2));
    let (latitude, longitude) = (100.0625, 50.0625);
    let program = corpus.program();
    let (ta, to) = (program.tensor_from(&latitudes, [n])?, program.tensor_from(&longitudes, [n])?);
    let state = (
        program.zeros::<f32, 1>([n])?,
        program.zeros::<i32, 1>([1])?,
        program.zeros::<f32, 1>([1])?,
    );
    let (buffers, size) = ([0, 1, 2].map(Buffer), I32(n as i32));
    let args = [&[F32(latitude), F32(longitude)], &buffers[..], &[size]].concat();
    let (blocks, threads) = (n.div_ceil(256 * 16), [256, 1, 1]);
    let steps = vec![
        CudaLaunch::linear("distance", n, &args),
        CudaLaunch::new(
            "nearest_of_blocks",
            [blocks, 1, 1],
            threads,
            &[Buffer(2), Buffer(5), size],
        ),
        CudaLaunch::new(
            "nearest",
            [1; 3],
            threads,
            &[Buffer(2), Buffer(5), Buffer(3), Buffer(4), I32(blocks as i32)],
        ),
    ];
    let buffers = [
        latitudes.into(),
        longitudes.into(),
        vec![0.0f32; n].into(),
        vec![0i32; 1].into(),
        vec![0.0f32; 1].into(),
        vec![0i32; blocks].into(),
    ];
    case.buffers(buffers)
        .results(&[(2, 1e-6), (3, 0.0), (4, 0.0)])
        .cuda(include_str!("nearest.cu"), steps)
        .c(include_str!("nearest.c"), &[n])
        .run(
            state,
            |(distances, found, closest)| {
                nearest(latitude, longitude, &ta, &to, distances, found, closest).launch()
            },
            |(distances, found, closest)| {
                Ok(vec![
                    distances.to_vec()?.into(),
                    found.to_vec()?.into(),
                    closest.to_vec()?.into(),
                ])
            },
        )
}
