//! Simplification: kernels get smaller and compute the same.

use quadrants_ir::{abi::Form, *};

use quadrants_samples::{
    Builder, F32, I32, U64,
    generate::{Rng, Style, generate},
    run::{SampleArg, argument_block, run},
    shrink::{Sample, shrink},
    sized,
};

/// At full size.
const KERNELS: u64 = 4000;

#[test]
fn simplified_random_kernels_compute_the_same() {
    let (mut before, mut after) = (0, 0);
    let (mut were_proven, mut are_proven) = (0, 0);
    for seed in 1..=sized(KERNELS) {
        let (kernel, args) = generate(&mut Rng::new(seed), Style::default());
        let sample = (kernel, args);
        if differs(&sample) {
            let (kernel, args) = shrink(sample, |samples| samples.iter().position(differs));
            let offloaded = offload(&kernel).unwrap();
            let simple = simplify(&offloaded);
            panic!(
                "seed {seed}\n{offloaded}\n{simple}\n{args:?}\n{:?}\nexpected {:?}\nfound {:?}",
                verify_offloaded(&simple),
                run(&offloaded, Form::Checked, &args),
                run(&simple, Form::Checked, &args)
            );
        }
        let offloaded = offload(&sample.0).unwrap();
        let simple = simplify(&offloaded);
        before += offloaded.to_string().len();
        after += simple.to_string().len();
        were_proven += u64::from(is_proven(&offloaded, &sample.1));
        are_proven += u64::from(is_proven(&simple, &sample.1));
    }
    assert!(after * 10 < before * 9, "{before} bytes of text became {after}");
    // A constant may reveal an overflow to the prover that it could not see before.
    assert!(are_proven > were_proven, "{were_proven} kernels were proven, {are_proven} are");
}

/// Whether the simplified kernel is invalid, computes something else, or is proven less often.
fn differs((kernel, args): &Sample) -> bool {
    let offloaded = offload(kernel).unwrap();
    let simple = simplify(&offloaded);
    if verify_offloaded(&simple).is_err() {
        return true;
    }
    // Printed, all NaNs are equal: the bits of computed NaNs are unspecified.
    let outcome = |kernel, form| format!("{:?}", run(kernel, form, args));
    let same = |form| outcome(&offloaded, form) == outcome(&simple, form);
    let proven = [&offloaded, &simple].iter().all(|kernel| is_proven(kernel, args));
    !same(Form::Checked) || proven && !same(Form::Proven)
}

fn is_proven(kernel: &Offloaded, args: &[SampleArg]) -> bool {
    let words = argument_block(kernel, args, &mut interp::SliceMemory::new());
    kernel.tasks().all(|(task, _)| launch_analysis::prove(kernel, task, &words))
}

/// The lowering of `let n = 2 * 4; for i in 0..x.len() { if n > 7 { x[i + 0] = f(x[i], n) } }`.
#[test]
fn constants_copies_and_dead_branches_are_removed_and_accesses_stay() {
    let mut m = Builder::new("simple");
    let x = m.tensor("x", F32, 1);
    let (two, four, seven) = (m.constant(2i32), m.constant(4i32), m.constant(7i32));
    let (zero, len) = (m.constant(0u64), m.dim(x, 0));
    let half = m.constant(0.5f32);
    let n = m.local("n", I32);
    let product = m.binary(BinaryOp::Mul, two, four);
    let serial = m.serial(vec![Stmt::Let { local: n, value: product }]);
    let i = m.local("i", U64);
    let at = m.read(i);
    let loaded = m.load(x, &[at]);
    let (element, held) = (m.local("element", F32), m.local("held", F32));
    let read = m.read(element);
    let scale = m.read(n);
    let scale = m.cast(F32, scale);
    let (unused, ignored) = (m.local("unused", F32), m.local("ignored", F32));
    let again = m.load(x, &[at]);
    let next = m.read(held);
    let value = m.binary(BinaryOp::Mul, next, scale);
    let same = m.binary(BinaryOp::Add, at, zero);
    let store = m.store(x, &[same], value);
    let then = m.block(vec![
        Stmt::Let { local: element, value: loaded },
        Stmt::Let { local: held, value: read },
        Stmt::Let { local: unused, value },
        Stmt::Let { local: ignored, value: again },
        store,
    ]);
    let never = m.store(x, &[zero], half);
    let otherwise = m.block(vec![never]);
    let size = m.read(n);
    let cond = m.binary(BinaryOp::Gt, size, seven);
    let parallel = m.parallel(&[(i, zero, len)], vec![Stmt::If { cond, then, otherwise }]);
    m.kernel.body = vec![serial, parallel];
    let simple = simplify(&offload(&m.kernel).unwrap());
    verify_offloaded(&simple).unwrap();
    let expected = "\
offloaded simple(x: &mut Tensor<f32, 1>) {
    task 0 [x read write] {
        parallel for %1.i in 0u64..x.shape[0] {
            let %3.held: f32 = x[%1.i]
            let %5.ignored: f32 = x[%1.i]
            x[%1.i] = %3.held * 8.0f32
        }
    }
}
";
    assert_eq!(simple.to_string(), expected);
    assert_eq!(simple.sites, offload(&m.kernel).unwrap().sites);
}

/// NVRTC folds this comparison to true if it is printed as written.
#[test]
fn a_computed_nan_is_not_equal_to_itself() {
    let mut m = Builder::new("nan");
    let x = m.tensor("x", F32, 1);
    let (nan, zero, at) = (m.constant(f32::NAN), m.constant(0f32), m.constant(0u64));
    let sum = m.binary(BinaryOp::Add, nan, zero);
    let cond = m.binary(BinaryOp::Eq, sum, sum);
    let (then, otherwise) = (m.store(x, &[at], zero), m.store(x, &[at], sum));
    let (then, otherwise) = (m.block(vec![then]), m.block(vec![otherwise]));
    let serial = m.serial(vec![Stmt::If { cond, then, otherwise }]);
    m.kernel.body = vec![serial];
    let simple = simplify(&offload(&m.kernel).unwrap()).to_string();
    assert!(simple.contains("x[0u64] = NaNf32") && !simple.contains("=="), "{simple}");
}

/// `y[i * w] = 1; y[i * w] = 2`, each product an expression of its own.
#[test]
fn equal_expressions_are_merged() {
    let mut m = Builder::new("equal");
    let (y, w) = (m.tensor("y", F32, 1), m.scalar("w", U64));
    let (zero, one, two) = (m.constant(0u64), m.constant(1f32), m.constant(2f32));
    let i = m.local("i", U64);
    let mut store = |value| {
        let at = m.read(i);
        let index = m.binary(BinaryOp::Mul, at, w);
        m.store(y, &[index], value)
    };
    let stores = vec![store(one), store(two)];
    let len = m.dim(y, 0);
    m.kernel.body = vec![m.parallel(&[(i, zero, len)], stores)];
    let offloaded = offload(&m.kernel).unwrap();
    let indices = |kernel: &Offloaded| {
        let stmts = &kernel.blocks[kernel.tasks[0].body].stmts;
        let index = |stmt: &Stmt| match stmt {
            Stmt::Store { element, .. } => element.index[0],
            other => panic!("{other:?}"),
        };
        [index(&stmts[0]), index(&stmts[1])]
    };
    let [before, after] = [&offloaded, &simplify(&offloaded)].map(indices);
    assert!(before[0] != before[1] && after[0] == after[1]);
}

/// Loop-invariant products in indices: of accesses in each iteration, of accesses under a condition, of an inner loop's
/// variable, and of a variable that the loop assigns.
#[test]
fn invariant_parts_of_indices_are_hoisted() {
    let mut m = Builder::new("loops");
    let (x, y) = (m.tensor("x", F32, 1), m.tensor("y", F32, 2));
    let w = m.scalar("w", U64);
    let (zero, half) = (m.constant(0u64), m.constant(0.5f32));
    let [i, j, k] = ["i", "j", "k"].map(|name| m.local(name, U64));
    let moving = m.variable("moving", U64);
    let [at, row, column, place] = [i, j, k, moving].map(|local| m.read(local));
    let start = m.binary(BinaryOp::Mul, at, w);
    let of_row = m.binary(BinaryOp::Add, start, row);
    let loaded = m.load(x, &[of_row]);
    let (element, held) = (m.local("element", F32), m.local("held", F32));
    let scaled = m.binary(BinaryOp::Mul, row, w);
    let inner = m.binary(BinaryOp::Add, scaled, column);
    let inner_load = m.load(y, &[start, inner]);
    let innermost = m.block(vec![Stmt::Let { local: held, value: inner_load }]);
    let moved = m.binary(BinaryOp::Mul, place, w);
    let store = m.store(x, &[moved], half);
    let behind = m.binary(BinaryOp::Add, at, w);
    let guarded = m.store(x, &[behind], half);
    let (then, otherwise) = (m.block(vec![guarded]), m.block(vec![]));
    let cond = m.binary(BinaryOp::Lt, row, at);
    let body = m.block(vec![
        Stmt::Let { local: element, value: loaded },
        Stmt::For { var: k, begin: zero, end: w, body: innermost, unroll: None, down: false },
        store,
        Stmt::Assign { local: moving, value: row },
        Stmt::If { cond, then, otherwise },
    ]);
    let stmts = vec![
        Stmt::Let { local: moving, value: zero },
        Stmt::For { var: j, begin: zero, end: w, body, unroll: None, down: false },
    ];
    let len = m.dim(x, 0);
    m.kernel.body = vec![m.parallel(&[(i, zero, len)], stmts)];
    let simple = simplify(&offload(&m.kernel).unwrap());
    verify_offloaded(&simple).unwrap();
    let expected = "\
offloaded loops(x: &mut Tensor<f32, 1>, y: &mut Tensor<f32, 2>, w: u64) {
    task 0 [x read write, y read] {
        parallel for %0.i in 0u64..x.shape[0] {
            let mut %3.moving: u64 = 0u64
            let %6.x_at: u64 = %0.i * w
            for %1.j in 0u64..w {
                let %4.element: f32 = x[%6.x_at + %1.j]
                let %7.y_at: u64 = %1.j * w
                for %2.k in 0u64..w {
                    let %5.held: f32 = y[%6.x_at, %7.y_at + %2.k]
                }
                x[%3.moving * w] = 0.5f32
                %3.moving = %1.j
                if %1.j < %0.i {
                    x[%0.i + w] = 0.5f32
                }
            }
        }
    }
}
";
    assert_eq!(simple.to_string(), expected);
}
