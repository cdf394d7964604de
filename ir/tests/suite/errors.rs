//! Device errors and faults of the interpreter, and its ranges of iterations.

use quadrants_ir::{
    abi::{ErrorRecord, Form},
    interp::{ExecFault, Interpreter, Memory, SliceMemory},
    *,
};

use quadrants_samples::{
    Bool, Builder, F32, I32, U64,
    run::{Outcome, RECORD, SampleArg, argument_block, run},
};

const TASK: TaskId = TaskId::new(0);

fn floats(shape: &[u64]) -> SampleArg {
    let count: u64 = shape.iter().product();
    let elements = (0..count).map(|i| (i as f32).into()).collect();
    SampleArg::Tensor { shape: shape.to_vec(), elements }
}

/// `for i in 0..6 { x[i, 1, 2] = x[0, i, 2] }` over a tensor of three dimensions.
fn out_of_range() -> Offloaded {
    let mut m = Builder::new("out_of_range");
    let x = m.tensor("x", F32, 3);
    let (i, v) = (m.local("i", U64), m.local("v", F32));
    let (zero, one, two, six) =
        (m.constant(0u64), m.constant(1u64), m.constant(2u64), m.constant(6u64));
    let at = m.read(i);
    let value = m.load(x, &[zero, at, two]);
    let loaded = m.read(v);
    let store = m.store(x, &[at, one, two], loaded);
    let body = m.parallel(&[(i, zero, six)], vec![Stmt::Let { local: v, value }, store]);
    m.kernel.body = vec![body];
    offload(&m.kernel).unwrap()
}

#[test]
fn an_index_error_records_index_and_shape() {
    let kernel = out_of_range();
    let shape = [8, 4, 3];
    let Outcome { tensors, error, .. } = run(&kernel, Form::Checked, &[floats(&shape)]).unwrap();
    // x[0, 4, 2] is the first read out of range: site 0, then index and shape.
    assert_eq!(error, Some((0, vec![0, 4, 2, 8, 4, 3])));
    let at = |i: usize, j: usize, k: usize| tensors[0][(i * 4 + j) * 3 + k];
    assert_eq!(at(3, 1, 2), Const::from(11.0f32));
    assert_eq!(at(4, 1, 2), Const::from(0.0f32), "a read out of range gives zero");
}

#[test]
fn the_error_record_has_launch_and_task_and_keeps_the_first_error() {
    let kernel = out_of_range();
    let mut memory = SliceMemory::new();
    let words = argument_block(&kernel, &[floats(&[2, 4, 3])], &mut memory);
    let interpreter = Interpreter::new(&kernel);
    // In reverse order, so that another error is the first: x[5, 1, 2] of the last iteration.
    for i in (0..6).rev() {
        interpreter.run_range(TASK, Form::Checked, &words, &mut memory, i..i + 1).unwrap();
    }
    let mut word = |offset| memory.load(RECORD + offset, 4).unwrap() as u32;
    assert_eq!((word(0), word(4), word(8)), (ErrorRecord::FULL, 0, 42));
    assert_eq!((word(16), word(20), word(24 + 8)), (0, 6, 5));
}

#[test]
fn the_proven_form_does_not_check_indices() {
    let kernel = out_of_range();
    let fault = run(&kernel, Form::Proven, &[floats(&[2, 4, 3])]).unwrap_err();
    assert!(matches!(fault, ExecFault::Address { bytes: 4, write: true, .. }), "{fault}");
}

#[test]
fn a_failed_assertion_ends_its_iteration() {
    // for i in 0..4 { assert!(i != 1); x[i] = 9.0 }
    let mut m = Builder::new("asserting");
    let x = m.tensor("x", F32, 1);
    let i = m.local("i", U64);
    let (zero, one, four, nine) =
        (m.constant(0u64), m.constant(1u64), m.constant(4u64), m.constant(9.0f32));
    let at = m.read(i);
    let cond = m.binary(BinaryOp::Ne, at, one);
    let assert = m.assert(cond, "i is not 1");
    let store = m.store(x, &[at], nine);
    let body = m.parallel(&[(i, zero, four)], vec![assert, store]);
    m.kernel.body = vec![body];
    let outcome = run(&offload(&m.kernel).unwrap(), Form::Proven, &[floats(&[4])]).unwrap();
    assert_eq!(outcome.error, Some((0, vec![])));
    let expected = [9.0f32, 1.0, 9.0, 9.0].map(Const::from);
    assert_eq!(outcome.tensors[0], expected);
}

#[test]
fn division_by_zero_gives_zero_and_an_error_but_overflow_wraps() {
    let mut m = Builder::new("dividing");
    let (n, d) = (m.scalar("n", I32), m.scalar("d", I32));
    let quotient = m.local("q", I32);
    let value = m.div_rem(DivRemOp::Div, n, d);
    let serial = m.serial(vec![Stmt::Let { local: quotient, value }]);
    let value = m.read(quotient);
    m.kernel.results = vec![I32];
    m.kernel.body = vec![serial, TopStmt::Return(vec![value])];
    let kernel = offload(&m.kernel).unwrap();
    for (n, d, result, error) in
        [(7, -2, -3, None), (i32::MIN, -1, i32::MIN, None), (7, 0, 0, Some((0, vec![])))]
    {
        let args = [SampleArg::Scalar(n.into()), SampleArg::Scalar(d.into())];
        let outcome = run(&kernel, Form::Checked, &args).unwrap();
        assert_eq!((outcome.results, outcome.error), (vec![result.into()], error));
    }
}

#[test]
fn endless_loops_run_out_of_fuel() {
    let mut m = Builder::new("endless");
    let empty = m.block(vec![]);
    let serial = m.serial(vec![Stmt::Loop { body: empty }]);
    m.kernel.body = vec![serial];
    let kernel = offload(&m.kernel).unwrap();
    let interpreter = Interpreter::new(&kernel).with_fuel(100);
    let mut memory = SliceMemory::new();
    let fault = interpreter.run_task(TASK, Form::Proven, &[0, 0, 1], &mut memory);
    assert_eq!(fault, Err(ExecFault::OutOfFuel));
}

#[test]
fn invalid_calls_return_faults() {
    let kernel = out_of_range();
    let interpreter = Interpreter::new(&kernel);
    let mut memory = SliceMemory::new();
    let short = interpreter.run_task(TASK, Form::Checked, &[0; 6], &mut memory);
    assert_eq!(short, Err(ExecFault::Arguments { needed: 7, found: 6 }));
    let other = interpreter.run_task(TaskId::new(1), Form::Checked, &[0; 7], &mut memory);
    assert_eq!(other, Err(ExecFault::NoTask { task: 1 }));
}

#[test]
fn ranges_of_iterations_run_in_any_order() {
    // for i in -1..2, j in 0..3, k in 1..3 { x[counter] = i * 100 + j * 10 + k }
    let mut m = Builder::new("parts");
    let x = m.tensor("x", I32, 3);
    let vars = ["i", "j", "k"].map(|name| m.local(name, I32));
    let bounds = [(-1, 2), (0, 3), (1, 3)];
    let dims: Vec<_> = vars
        .into_iter()
        .zip(bounds)
        .map(|(var, (begin, end))| (var, m.constant(begin), m.constant(end)))
        .collect();
    let one = m.constant(1i32);
    let [i, j, k] = vars.map(|var| m.read(var));
    let (row, plane) = (m.binary(BinaryOp::Add, i, one), m.binary(BinaryOp::Sub, k, one));
    let index = [row, j, plane].map(|index| m.cast(U64, index));
    let (hundred, ten) = (m.constant(100i32), m.constant(10i32));
    let hundreds = m.binary(BinaryOp::Mul, i, hundred);
    let tens = m.binary(BinaryOp::Mul, j, ten);
    let sum = m.binary(BinaryOp::Add, hundreds, tens);
    let value = m.binary(BinaryOp::Add, sum, k);
    let store = m.store(x, &index, value);
    let body = m.parallel(&dims, vec![store]);
    m.kernel.body = vec![body];
    let kernel = offload(&m.kernel).unwrap();
    let empty = SampleArg::Tensor { shape: vec![3, 3, 2], elements: vec![(-999i32).into(); 18] };
    let whole = run(&kernel, Form::Checked, std::slice::from_ref(&empty)).unwrap();
    let expected: Vec<Const> = (-1..2)
        .flat_map(|i| (0..3).flat_map(move |j| (1..3).map(move |k| i * 100 + j * 10 + k)))
        .map(Const::from)
        .collect();
    assert_eq!((&whole.tensors[0], &whole.error), (&expected, &None));

    let mut memory = SliceMemory::new();
    let words = argument_block(&kernel, &[empty], &mut memory);
    let interpreter = Interpreter::new(&kernel);
    for part in [11..40, 0..4, 4..11, 18..30, 5..5] {
        interpreter.run_range(TASK, Form::Proven, &words, &mut memory, part).unwrap();
    }
    let bytes: Vec<u8> = expected.iter().flat_map(|v| (v.bits() as u32).to_le_bytes()).collect();
    assert_eq!(memory.bytes(words[3]), Some(&bytes[..]));
}

#[test]
fn bools_in_memory_are_one_byte() {
    // for i in 0..3 { x[i] = !x[i] }
    let mut m = Builder::new("bools");
    let x = m.tensor("x", Bool, 1);
    let (i, v) = (m.local("i", U64), m.local("v", Bool));
    let (zero, end, at) = (m.constant(0u64), m.dim(x, 0), m.read(i));
    let value = m.load(x, &[at]);
    let old = m.read(v);
    let not = m.expr(Bool, ExprKind::Unary { op: UnaryOp::Not, value: old });
    let store = m.store(x, &[at], not);
    let body = m.parallel(&[(i, zero, end)], vec![Stmt::Let { local: v, value }, store]);
    m.kernel.body = vec![body];
    let values = [true, false, true];
    let arg = SampleArg::Tensor { shape: vec![3], elements: values.map(Const::from).to_vec() };
    let outcome = run(&offload(&m.kernel).unwrap(), Form::Proven, &[arg]).unwrap();
    assert_eq!(outcome.tensors[0], values.map(|v| Const::from(!v)));
}
