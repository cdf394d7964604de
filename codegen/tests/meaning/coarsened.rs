//! Random loops whose iterations a thread executes together, with 32-bit indices and counters: variables of every
//! integer type, ranges that do not begin at 0, conversions, and 64-bit arithmetic with the variables.
//!
//! `QUADRANTS_TEST_SEED` is the first seed, and `QUADRANTS_TEST_KERNELS` the number of kernels.

use std::env;

use quadrants_ir::{
    AtomicOp, BinaryOp, Const, DivRemOp, ExprId, Offloaded, ParamId,
    ScalarType::{self, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64},
    Stmt,
    abi::{CoarseningLimit, Form, Passing},
    launch_analysis::LaunchAnalysis,
    offload,
    schedule::schedule,
    simplify, verify_offloaded,
};
use quadrants_samples::{
    self as samples, Builder,
    case::Case,
    generate::Rng,
    host_program::{HostProgram, HostText},
    run::SampleArg,
};

use super::checks;
use crate::print_scheduled;

/// The types of loop variables.
const VARIABLES: [ScalarType; 5] = [U64, U64, I64, I32, U32];
/// The types to which the variables are converted, and in which values are computed.
const CONVERTED: [ScalarType; 11] = [I8, U8, I16, U16, I32, U32, I64, U64, F16, F32, F64];
const COMPUTED: [ScalarType; 6] = [I32, U32, I64, U64, F32, F64];
/// What the extents of the tensors that are read exceed the counts of the loop by.
const MARGIN: u64 = 4;

struct Loop {
    kernel: Offloaded,
    args: Vec<SampleArg>,
    /// The strides of the first tensor, if they are not those of its shape.
    strides: Option<Vec<u64>>,
}

struct Body<'r> {
    rng: &'r mut Rng,
    b: Builder,
    /// Values of the types in [`COMPUTED`] or [`CONVERTED`].
    values: Vec<ExprId>,
}

impl Body<'_> {
    /// A value of a type in [`COMPUTED`].
    fn value(&mut self, ty: ScalarType, depth: u32) -> ExprId {
        if depth == 0 || self.rng.chance(20) {
            let value = self.rng.pick(&self.values.clone());
            return self.converted(ty, value);
        }
        let (lhs, rhs) = (self.value(ty, depth - 1), self.value(ty, depth - 1));
        match self.rng.below(8) {
            0 if ty.is_int() => {
                let by = self.constant(ty, self.distance(ty));
                let op = self.rng.pick(&[BinaryOp::Shl, BinaryOp::Shr]);
                self.b.binary(op, lhs, by)
            }
            1 if ty.is_int() => {
                let factor = self.rng.pick(&[5_000_000_000, 3, 1 << 31, u64::MAX, 0x1_0000_0001]);
                let factor = self.constant(ty, factor);
                self.b.binary(BinaryOp::Mul, lhs, factor)
            }
            2 => {
                let of = self.rng.pick(&COMPUTED);
                let (a, b) = (self.value(of, depth - 1), self.value(of, depth - 1));
                let op = self.rng.pick(&[BinaryOp::Lt, BinaryOp::Eq, BinaryOp::Ge]);
                let cond = self.b.binary(op, a, b);
                self.b.select(cond, lhs, rhs)
            }
            3 => {
                let through = self.rng.pick(&CONVERTED);
                let narrow = self.converted(through, lhs);
                self.converted(ty, narrow)
            }
            4 if ty.is_int() => {
                let op = self.rng.pick(&[BinaryOp::And, BinaryOp::Or, BinaryOp::Xor]);
                self.b.binary(op, lhs, rhs)
            }
            _ => {
                // GCC 12 computes `x - x - x` as `-x` also for floats.
                let op = match ty.is_float() {
                    true => self.rng.pick(&[BinaryOp::Add, BinaryOp::Mul]),
                    false => self.rng.pick(&[BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul]),
                };
                self.b.binary(op, lhs, rhs)
            }
        }
    }

    /// An index, at a distance.
    fn moved(&mut self, place: ExprId, distance: u64) -> ExprId {
        if distance == 0 {
            return place;
        }
        let distance = self.b.constant(distance);
        self.b.binary(BinaryOp::Add, place, distance)
    }

    fn distance(&self, ty: ScalarType) -> u64 {
        if ty.size() == 8 { 33 } else { 7 }
    }

    fn constant(&mut self, ty: ScalarType, bits: u64) -> ExprId {
        let mask = if ty.size() == 8 { u64::MAX } else { (1 << (8 * ty.size())) - 1 };
        self.b.constant(Const::from_bits(ty, bits & mask))
    }

    fn converted(&mut self, ty: ScalarType, value: ExprId) -> ExprId {
        let mut value = value;
        // Elements of few bits are converted from and to the type in which they are computed.
        for next in [self.b.ty(value).wide(), ty.wide(), ty] {
            if self.b.ty(value) != next {
                value = self.b.cast(next, value);
            }
        }
        value
    }
}

/// A loop that reads neighbours and stores what it computes.
fn random_loop(seed: u64) -> Loop {
    let mut rng = Rng::new(seed);
    let rank = 1 + rng.index(3);
    let mut b = Builder::new(&format!("coarsened_{seed}"));
    let (elem, stored) = (rng.pick(&COMPUTED), rng.pick(&COMPUTED));
    let x = b.read_only("x", elem, rank as u8);
    let y = b.tensor("y", stored, rank as u8);
    let sums = b.tensor("sums", U32, 1);
    let scalar_ty = rng.pick(&COMPUTED);
    let scalar = b.scalar("s", scalar_ty);
    let counts: Vec<u64> = (0..rank)
        .map(|axis| if rank == 1 { rng.below(90) } else { rng.below([25, 9, 6][axis]) })
        .collect();
    let (mut dims, mut firsts) = (Vec::new(), Vec::new());
    let from_tensor = rng.chance(30);
    for (axis, count) in counts.iter().enumerate() {
        let ty = rng.pick(&VARIABLES);
        let first = match rng.below(4) {
            0 | 1 => 0,
            2 => 1 + rng.below(5) as i64,
            _ if ty.is_wide_signed_int() => -1 - rng.below(40) as i64,
            _ => 3,
        };
        let mask = if ty.size() == 8 { u64::MAX } else { (1 << (8 * ty.size())) - 1 };
        let bits = |value: i64| value.cast_unsigned() & mask;
        let begin = b.constant(Const::from_bits(ty, bits(first)));
        let end = match ty {
            U64 if from_tensor && first == 0 => b.dim(y, axis as u8),
            _ => b.constant(Const::from_bits(ty, bits(first + *count as i64))),
        };
        dims.push((["i", "j", "k"][axis], begin, end));
        firsts.push(Const::from_bits(ty, bits(first)));
    }
    let sum = rng.below(6);
    let mut body = Body { rng: &mut rng, b: Builder::new(""), values: vec![scalar] };
    let mut inner = |b: &mut Builder, variables: &[ExprId]| {
        std::mem::swap(b, &mut body.b);
        body.values.extend(variables);
        let at: Vec<ExprId> = variables
            .iter()
            .zip(&firsts)
            .map(|(variable, first)| {
                let zero = first.bits() == 0;
                if zero {
                    return body.converted(U64, *variable);
                }
                let first = body.b.constant(*first);
                let place = body.b.binary(BinaryOp::Sub, *variable, first);
                body.converted(U64, place)
            })
            .collect();
        let shape = body.rng.below(10);
        if shape == 0 {
            // Many loads, which iterations that are adjacent in the outermost dimension share.
            for distance in 0..25 {
                let mut index = at.clone();
                index[0] = body.moved(at[0], distance / 5);
                let last = rank - 1;
                index[last] = body.moved(index[last], distance % 5 * u64::from(last > 0));
                let loaded = body.b.let_load("near", x, &index);
                body.values.push(loaded);
            }
        } else {
            for name in ["a", "b", "c"].into_iter().take(1 + body.rng.index(3)) {
                let index: Vec<_> = at
                    .iter()
                    .map(|place| {
                        let distance = body.rng.below(MARGIN + 1);
                        body.moved(*place, distance)
                    })
                    .collect();
                let loaded = body.b.let_load(name, x, &index);
                body.values.push(loaded);
            }
        }
        if shape < 4 && shape > 0 {
            // A serial loop, which is unrolled.
            let ty = body.rng.pick(&[U64, I32, I64]);
            let (begin, count) = (body.constant(ty, shape - 1), 1 + body.rng.below(2));
            let end = body.constant(ty, shape - 1 + count);
            let start = body.value(I64, 1);
            let sum = body.b.define("sum", start, true);
            let axis = body.rng.index(rank);
            body.b.walk("w", [begin, end], |b, step| {
                let wide = if ty == U64 { step } else { b.cast(U64, step) };
                let mut index = at.clone();
                index[axis] = b.binary(BinaryOp::Add, at[axis], wide);
                let loaded = b.let_load("l", x, &index);
                let loaded = if b.ty(loaded) == I64 { loaded } else { b.cast(I64, loaded) };
                let step = if ty == I64 { step } else { b.cast(I64, step) };
                let value = b.binary(BinaryOp::Mul, loaded, step);
                let old = b.read(sum);
                let value = b.binary(BinaryOp::Add, old, value);
                b.assign(sum, value);
            });
            let sum = body.b.read(sum);
            body.values.push(sum);
        }
        if body.rng.chance(40) {
            let ty = body.rng.pick(&[I32, U32, I64, U64]);
            let (lhs, by) = (body.value(ty, 1), body.rng.pick(&[3, 7, 1000]));
            let by = body.constant(ty, by);
            let op = body.rng.pick(&[DivRemOp::Div, DivRemOp::Rem]);
            let quotient = body.b.let_div_rem("q", op, lhs, by);
            body.values.push(quotient);
        }
        if body.rng.chance(50) {
            let ty = body.rng.pick(&COMPUTED);
            let value = body.value(ty, 2);
            let named = body.b.define("v", value, true);
            let (read, cond) = (body.b.read(named), body.value(I64, 1));
            body.values.push(read);
            let other = body.value(ty, 1);
            let limit = body.b.constant(5_i64);
            let cond = body.b.binary(BinaryOp::Gt, cond, limit);
            body.b.branch(cond, |b| b.assign(named, other), |_| {});
        }
        let value = body.value(stored, 4);
        if body.rng.chance(30) {
            let (other, cond) = (body.value(stored, 2), body.value(I32, 2));
            let three = body.b.constant(3_i32);
            let cond = body.b.binary(BinaryOp::Lt, cond, three);
            body.b.branch(cond, |b| b.push_store(y, &at, value), |b| b.push_store(y, &at, other));
        } else {
            body.b.push_store(y, &at, value);
        }
        if sum < 2 {
            let added = body.value(U32, 2);
            let at = match sum {
                0 => body.b.constant(1_u64),
                _ => {
                    let (some, mask) = (body.value(U64, 1), body.b.constant(3_u64));
                    body.b.binary(BinaryOp::And, some, mask)
                }
            };
            let atomic = body.b.atomic(AtomicOp::Add, sums, &[at], added);
            body.b.push(Stmt::Eval { value: atomic });
        }
        std::mem::swap(b, &mut body.b);
    };
    b.parallel_loop(&dims, &mut inner);
    let mut kernel = b.kernel;
    let with_margin: Vec<u64> = counts.iter().map(|count| count + MARGIN).collect();
    let strided = rng.chance(25);
    kernel.params[x.index()].strided = strided;
    let kernel = simplify(&offload(&kernel).unwrap_or_else(|error| panic!("{seed}: {error}")));
    verify_offloaded(&kernel).unwrap();
    let mut tensor = |ty: ScalarType, shape: &[u64], room: u64| {
        let count = room * shape.iter().product::<u64>();
        let elements = (0..count).map(|_| rng.value(ty)).collect();
        SampleArg::Tensor { shape: shape.to_vec(), elements }
    };
    let room = if strided { 2 } else { 1 };
    let args = vec![
        tensor(elem, &with_margin, room),
        tensor(stored, &counts, 1),
        tensor(U32, &[4], 1),
        SampleArg::Scalar(rng.value(scalar_ty)),
    ];
    // Column-major order, with a gap after each element.
    let strides = |axis: usize| 2 * with_margin[..axis].iter().product::<u64>();
    let strides = strided.then(|| (0..rank).map(strides).collect());
    Loop { kernel, args, strides }
}

fn case(of: &Loop) -> Case<'_> {
    let mut case = Case::with(&of.kernel, &of.args);
    if let Some(strides) = &of.strides {
        case.element_strides(ParamId::new(0), strides);
    }
    case.find_interiors();
    case
}

#[test]
fn iterations_that_run_together_compute_what_single_ones_do() {
    let number = |variable| env::var(variable).ok().and_then(|text| text.parse().ok());
    let many = if samples::full_size() { 1000 } else { 60 };
    let count: u64 = number("QUADRANTS_TEST_KERNELS").unwrap_or(many);
    let first: u64 = number("QUADRANTS_TEST_SEED").unwrap_or(1);
    let all: Vec<Loop> = (first..first + count).map(random_loop).collect();
    let (mut narrow, mut coarse, mut together) = (0, 0, 0);
    for part in all.chunks(100) {
        let mut texts = Vec::new();
        let mut cases = Vec::new();
        for of in part {
            let mut case = case(of);
            let forms = LaunchAnalysis::new(&of.kernel).forms(&case.words);
            let limit =
                [CoarseningLimit::Scheduled, CoarseningLimit::Double, CoarseningLimit::Single];
            let forms = match forms.is_proven() {
                true => forms.with_coarsening(limit[texts.len() % 9 / 4]),
                false => forms,
            };
            let task = &schedule(&of.kernel, forms).tasks[0].schedule;
            narrow += usize::from(task.narrow_counters);
            coarse += usize::from(task.coarsening > 1);
            together += usize::from(task.narrow_counters && task.coarsening > 1);
            let passing = [Passing::Value, Passing::Buffer][texts.len() % 2];
            let text = print_scheduled(&of.kernel, forms, passing);
            texts.push(HostText { kernel: &of.kernel, text, passing });
            for large in [false, true] {
                case.large = large;
                cases.push((texts.len() - 1, case.clone(), forms));
            }
        }
        let Some(program) = HostProgram::build(&texts, checks()).unwrap() else {
            println!("skipped: no C++ compiler");
            return;
        };
        let input: Vec<_> = cases.iter().map(|(at, case, _)| (*at, case)).collect();
        let ran = program.run(&input).unwrap();
        for (at, (text, case, forms)) in cases.iter().enumerate() {
            let form = if forms.is_proven() { Form::Proven } else { Form::Checked };
            let expected = case.interpret(form).unwrap();
            let found = ran.outputs.get(at).map(Vec::as_slice);
            if let Some(disagreement) = case.disagreement(&expected, found) {
                panic!(
                    "{} {forms:?}, large {}: {disagreement}\n{}\n{}\n{}",
                    case.kernel.name, case.large, ran.stderr, case.kernel, texts[*text].text
                );
            }
        }
    }
    println!("{} loops: {narrow} narrow, {coarse} coarsened, {together} both", all.len());
    assert!(
        3 * together > all.len() || all.len() < 50, // few seeds may be of one kind
        "{narrow}, {coarse}, {together}"
    );
}
