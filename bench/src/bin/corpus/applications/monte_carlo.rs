//! HeCBench monte carlo: The price of a European call option as the mean payoff of random paths; the random numbers are
//! hashes of counters.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, F32, I32},
    CudaLaunch, Sizes,
};

/// Paths that one iteration simulates.
const PATHS: u32 = 64;

/// The hash function PCG-RXS-M-XS of O'Neill.
#[qd::func]
fn hash(counter: u32) -> u32 {
    let state = counter.wrapping_mul(747796405).wrapping_add(2891336453);
    let word = ((state >> ((state >> 28) + 4)) ^ state).wrapping_mul(277803737);
    (word >> 22) ^ word
}

/// A number above 0, up to 1.
#[qd::func]
fn uniform(counter: u32) -> f32 {
    ((hash(counter) >> 8) + 1) as f32 / 16777216.0
}

#[qd::kernel]
#[allow(clippy::too_many_arguments)] // the market and the option
fn simulate(
    spot: f32,
    strike: f32,
    rate: f32,
    volatility: f32,
    years: f32,
    payoffs: &mut Tensor<f32, 1>,
    mean: &mut Tensor<f32, 1>,
) {
    let n = payoffs.len();
    let drift = (rate - 0.5 * volatility * volatility) * years;
    let spread = volatility * years.sqrt();
    let mut total = 0.0;
    for i in 0..n {
        let mut sum = 0.0;
        for k in 0..PATHS {
            let path = i as u32 * PATHS + k;
            let radius = (-2.0 * uniform(2 * path).ln()).sqrt();
            let normal = radius * (std::f32::consts::TAU * uniform(2 * path + 1)).cos();
            let last = spot * (drift + spread * normal).exp();
            sum += (last - strike).max(0.0);
        }
        payoffs[i] = sum;
        total += sum;
    }
    mean[0] = (-rate * years).exp() * total / (n as f32 * PATHS as f32);
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 1 << 21, cpu: 1 << 14, small: 333 };
    let Some(case) = corpus.case("hecbench/monte carlo", sizes) else { return Ok(()) };
    let n = case.n();
    let [spot, strike, rate, volatility, years] = [40.0, 38.0, 0.03, 0.25, 1.5];
    let program = corpus.program();
    let state = (program.zeros::<f32, 1>([n])?, program.zeros::<f32, 1>([1])?);
    let market = [spot, strike, rate, volatility, years].map(F32);
    let size = I32(n as i32);
    let steps = vec![
        CudaLaunch::new("clear", [1; 3], [1; 3], &[Buffer(2)]),
        CudaLaunch::linear("simulate", n, &[&market[..], &[Buffer(0), Buffer(2), size]].concat()),
        CudaLaunch::new(
            "average",
            [1; 3],
            [1; 3],
            &[F32(rate), F32(years), Buffer(2), Buffer(1), size],
        ),
    ];
    case.buffers([vec![0.0f32; n].into(), vec![0.0f32; 1].into(), vec![0.0f32; 1].into()])
        .results(&[(0, 1e-4), (1, 1e-4)])
        .cuda(include_str!("monte_carlo.cu"), steps)
        .c(include_str!("monte_carlo.c"), &[n])
        .run(
            state,
            |(payoffs, mean)| {
                simulate(spot, strike, rate, volatility, years, payoffs, mean).launch()
            },
            |(payoffs, mean)| Ok(vec![payoffs.to_vec()?.into(), mean.to_vec()?.into()]),
        )
}
