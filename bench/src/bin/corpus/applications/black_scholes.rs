//! HeCBench black-scholes: Prices of European call and put options by the formula of Black and Scholes.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, F32, I32},
    CudaLaunch, Sizes, uniform_f32,
};

/// The distribution function of the normal distribution, by the polynomial 26.2.17 of Abramowitz and Stegun.
#[qd::func]
fn normal_distribution(d: f32) -> f32 {
    let k = 1.0 / (1.0 + 0.2316419 * d.abs());
    let polynomial =
        k * (0.31938153 + k * (-0.35656378 + k * (1.7814779 + k * (-1.8212559 + k * 1.3302745))));
    let tail = 0.3989423 * (-0.5 * d * d).exp() * polynomial;
    if d > 0.0 { 1.0 - tail } else { tail }
}

#[qd::kernel]
#[allow(clippy::too_many_arguments)] // the market, the options and their prices
fn price(
    rate: f32,
    volatility: f32,
    spot: &Tensor<f32, 1>,
    strike: &Tensor<f32, 1>,
    years: &Tensor<f32, 1>,
    call: &mut Tensor<f32, 1>,
    put: &mut Tensor<f32, 1>,
) {
    for i in 0..spot.len() {
        let (s, x, t) = (spot[i], strike[i], years[i]);
        let root = t.sqrt();
        let d1 = ((s / x).ln() + (rate + 0.5 * volatility * volatility) * t) / (volatility * root);
        let d2 = d1 - volatility * root;
        let (n1, n2) = (normal_distribution(d1), normal_distribution(d2));
        let discounted = x * (-rate * t).exp();
        call[i] = s * n1 - discounted * n2;
        put[i] = discounted * (1.0 - n2) - s * (1.0 - n1);
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 1 << 24, cpu: 1 << 17, small: 3001 };
    let Some(case) = corpus.case("hecbench/black-scholes", sizes) else { return Ok(()) };
    let n = case.n();
    let (rate, volatility) = (0.02, 0.3);
    let between = |seed, low: f32, high: f32| {
        let mut values = uniform_f32(n, seed);
        values.iter_mut().for_each(|x| *x = low + (high - low) * *x);
        values
    };
    let (spot, strike, years) =
        (between(1, 5.0, 30.0), between(2, 1.0, 100.0), between(3, 0.25, 10.0));
    let program = corpus.program();
    let (ts, tx, tt) = (
        program.tensor_from(&spot, [n])?,
        program.tensor_from(&strike, [n])?,
        program.tensor_from(&years, [n])?,
    );
    let state = (program.zeros::<f32, 1>([n])?, program.zeros::<f32, 1>([n])?);
    let zeros = vec![0.0f32; n];
    let mut args = vec![F32(rate), F32(volatility)];
    args.extend((0..5).map(Buffer));
    args.push(I32(n as i32));
    case.buffers([spot.into(), strike.into(), years.into(), (&zeros).into(), zeros.into()])
        .results(&[(3, 1e-5), (4, 1e-5)])
        .cuda(include_str!("black_scholes.cu"), vec![CudaLaunch::linear("price", n, &args)])
        .c(include_str!("black_scholes.c"), &[n])
        .run(
            state,
            |(call, put)| price(rate, volatility, &ts, &tx, &tt, call, put).launch(),
            |(call, put)| Ok(vec![call.to_vec()?.into(), put.to_vec()?.into()]),
        )
}
