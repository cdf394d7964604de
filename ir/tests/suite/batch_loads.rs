//! Batches of loads: loops of any length compute the same as those that were written.

use quadrants_ir::{abi::Form, schedule::schedule, *};

use quadrants_samples::{
    builder::Builder,
    generate::Rng,
    run::{SampleArg, run},
    sized,
};

/// At full size.
const KERNELS: u64 = 1500;
const ROWS: u64 = 7;
const COLUMNS: u64 = 40;

/// Random sums along the rows of a tensor, some of them with indices that depend on the sums so far.
#[test]
fn random_sums_compute_the_same() {
    let mut batched = [0, 0];
    for seed in 1..=sized(KERNELS) {
        let mut rng = Rng::new(seed);
        let kernel = simplify(&random(&mut rng));
        verify_offloaded(&kernel).unwrap();
        let elements = (0..ROWS * COLUMNS).map(|k| Const::from((k * 13 + seed) as u32 % 37));
        let ends = (0..ROWS).map(|_| Const::from(rng.below(COLUMNS + 1) as u32)).collect();
        let args = [
            SampleArg::Tensor { shape: vec![ROWS, COLUMNS], elements: elements.collect() },
            SampleArg::Tensor { shape: vec![ROWS], elements: ends },
            SampleArg::Tensor {
                shape: vec![ROWS],
                elements: vec![Const::from(0u32); ROWS as usize],
            },
        ];
        // All indices are in range.
        let scheduled = schedule(&kernel, Form::Proven);
        verify_offloaded(&scheduled).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{scheduled}"));
        let outcomes = [&kernel, &scheduled].map(|kernel| run(kernel, Form::Proven, &args));
        assert!(outcomes[0].as_ref().is_ok_and(|outcome| outcome.error.is_none()), "seed {seed}");
        let [expected, found] = outcomes.map(|outcome| format!("{outcome:?}"));
        assert_eq!(expected, found, "seed {seed}\n{kernel}\n{scheduled}");
        let has_batches = scheduled.locals.iter().any(|(_, local)| local.name == "batches");
        batched[usize::from(has_batches)] += 1;
    }
    assert!(batched.iter().all(|count| *count > sized(KERNELS) / 5), "{batched:?}");
}

fn random(rng: &mut Rng) -> Offloaded {
    let mut b = Builder::new("sums");
    let x = b.read_only("x", ScalarType::U32, 2);
    let ends = b.read_only("ends", ScalarType::U32, 1);
    let out = b.tensor("out", ScalarType::U32, 1);
    let (zero, rows) = (b.constant(0u64), b.dim(out, 0));
    b.parallel_loop(&[("i", zero, rows)], |b, row| {
        let sums = [1u32, 2].map(|start| {
            let start = b.constant(start);
            b.define("sum", start, true)
        });
        let end = b.let_load("end", ends, row);
        let end = b.cast(ScalarType::U64, end);
        let begin = match rng.chance(75) {
            true => b.constant(rng.below(4)),
            false => row[0],
        };
        b.walk("k", [begin, end], |b, k| body(b, rng, x, row[0], k, sums));
        let [first, second] = sums.map(|sum| b.read(sum));
        let total = b.binary(BinaryOp::Xor, first, second);
        b.push_store(out, row, total);
    });
    b.finish()
}

fn body(b: &mut Builder, rng: &mut Rng, x: ParamId, row: ExprId, k: ExprId, sums: [LocalId; 2]) {
    let columns = b.constant(COLUMNS);
    // Values of this iteration.
    let mut values = vec![b.cast(ScalarType::U32, k)];
    for _ in 0..2 + rng.below(5) {
        let value = values[rng.below(values.len() as u64) as usize];
        let other = values[rng.below(values.len() as u64) as usize];
        let sum = sums[rng.below(2) as usize];
        match rng.below(6) {
            0 | 1 => {
                let element = b.let_load("element", x, &[row, k]);
                values.push(element);
            }
            2 => {
                // An index that may depend on the sums: in range for all values.
                let old = b.read(sum);
                let wide = if rng.chance(20) { old } else { value };
                let wide = b.cast(ScalarType::U64, wide);
                let three = b.constant(31u64);
                let at = b.binary(BinaryOp::And, wide, three);
                let at = b.math(MathFn::Min, &[at, columns]);
                let element = b.let_load("other", x, &[row, at]);
                values.push(element);
            }
            3 => {
                let product = b.binary(BinaryOp::Mul, value, other);
                let product = b.named("product", product);
                values.push(product);
            }
            _ => {
                let old = b.read(sum);
                let scaled = b.binary(BinaryOp::Mul, old, value);
                let new = b.binary(BinaryOp::Add, scaled, other);
                b.assign(sum, new);
            }
        }
    }
    let old = b.read(sums[0]);
    let last = values[values.len() - 1];
    let new = b.binary(BinaryOp::Add, old, last);
    b.assign(sums[0], new);
}
