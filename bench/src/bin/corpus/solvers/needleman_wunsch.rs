//! Rodinia needleman-wunsch: Needleman's and Wunsch's alignment of two sequences: the best score of all pairs of
//! prefixes, by anti-diagonals.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, I32},
    CudaLaunch, Sizes, uniform,
};

const PENALTY: i32 = 10;

/// Completes the elements (i, d - i).
#[qd::kernel]
fn diagonal(d: usize, penalty: i32, similarity: &Tensor<i32, 2>, score: &mut Tensor<i32, 2>) {
    let [h, w] = score.shape();
    for i in (d + 1).saturating_sub(w).max(1)..d.min(h) {
        let j = d - i;
        let aligned = score[[i - 1, j - 1]] + similarity[[i, j]];
        let gap = score[[i, j - 1]].max(score[[i - 1, j]]) - penalty;
        score[[i, j]] = aligned.max(gap);
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 2049, cpu: 1025, small: 46 };
    let Some(case) = corpus.case("rodinia/needleman-wunsch", sizes) else { return Ok(()) };
    let n = case.n();
    // Similarities of random letters, in the range of the matrix BLOSUM62; the first row and column are unused.
    let letters: Vec<usize> = uniform(2 * n, 1).map(|x| (x * 24.0) as usize).collect();
    let table: Vec<i32> = uniform(24 * 24, 2).map(|x| (x * 16.0) as i32 - 4).collect();
    let similarity: Vec<i32> =
        (0..n * n).map(|at| table[letters[at / n] * 24 + letters[n + at % n]]).collect();
    let mut score = vec![0; n * n];
    for i in 1..n {
        score[i * n] = -(i as i32) * PENALTY;
        score[i] = -(i as i32) * PENALTY;
    }
    let program = corpus.program();
    let input = program.tensor_from(&similarity, [n, n])?;
    let state = program.tensor_from(&score, [n, n])?;
    let diagonals = 2..2 * n - 1;
    let steps = diagonals
        .clone()
        .map(|d| {
            let args = [I32(d as i32), I32(PENALTY), Buffer(0), Buffer(1), I32(n as i32)];
            let elements = d.min(n) - (d + 1).saturating_sub(n).max(1);
            CudaLaunch::linear("diagonal", elements, &args)
        })
        .collect();
    case.buffers([similarity.into(), score.into()])
        .results(&[(1, 0.0)])
        .cuda(include_str!("needleman_wunsch.cu"), steps)
        .c(include_str!("needleman_wunsch.c"), &[n])
        .run(
            state,
            |score| {
                diagonals.clone().try_for_each(|d| diagonal(d, PENALTY, &input, score).launch())
            },
            |score| Ok(vec![score.to_vec()?.into()]),
        )
}
