//! Parboil histogram: How often each value of a byte occurs.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, I32},
    CudaLaunch, Sizes, uniform,
};

#[qd::kernel]
fn histogram(x: &Tensor<u8, 1>, bins: &mut Tensor<u32, 1>) {
    for k in 0..bins.len() {
        bins[k] = 0;
    }
    for i in 0..x.len() {
        qd::atomic_add(&mut bins[x[i] as usize], 1);
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 1 << 27, cpu: 1 << 21, small: 3333 };
    let Some(case) = corpus.case("parboil/histogram", sizes) else { return Ok(()) };
    let n = case.n();
    let x: Vec<u8> = uniform(n, 1).map(|x| (256.0 * x * x) as u8).collect();
    let program = corpus.program();
    let (tx, bins) = (program.tensor_from(&x, [n])?, program.zeros::<u32, 1>([256])?);
    let args = [Buffer(0), Buffer(1), I32(n as i32)];
    let clear = CudaLaunch::linear("clear", 256, &[Buffer(1)]);
    let shared = CudaLaunch::new("shared_bins", [n.div_ceil(256 * 64), 1, 1], [256, 1, 1], &args);
    case.buffers([x.into(), vec![0u32; 256].into()])
        .results(&[(1, 0.0)])
        .cuda(
            include_str!("histogram.cu"),
            vec![clear.clone(), CudaLaunch::linear("histogram", n, &args)],
        )
        .tuned(include_str!("histogram.cu"), vec![clear, shared])
        .c(include_str!("histogram.c"), &[n])
        .run(bins, |bins| histogram(&tx, bins).launch(), |bins| Ok(vec![bins.to_vec()?.into()]))
}
