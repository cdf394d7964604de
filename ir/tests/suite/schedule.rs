//! Scheduling: a scheduled kernel computes the same as the kernel that was written, and states its decisions.

use quadrants_ir::{
    abi::{Form, Forms},
    interp::{Interpreter, Memory},
    launch_analysis::LaunchAnalysis,
    schedule::{can_inspect, schedule},
    *,
};

use quadrants_samples::{
    builder::Builder,
    generate::{Rng, Style, generate},
    run::{Outcome, RECORD, SampleArg, argument_block, run},
    shrink::{Sample, shrink},
    sized,
};

/// At full size.
const KERNELS: u64 = 4000;

/// Each decision is made for some of the random kernels, so that the comparison covers it.
#[test]
fn scheduled_random_kernels_compute_the_same() {
    let mut decisions = [0; 6];
    for seed in 1..=sized(KERNELS) {
        // Iterations of one loop are independent in these kernels.
        let (kernel, args) = generate(&mut Rng::new(seed), Style { exact: true, separate: true });
        let sample = (kernel, args);
        if let Some(forms) = differs(&sample) {
            let differs = |sample: &Sample| differs(sample).is_some();
            let (kernel, args) = shrink(sample, |samples| samples.iter().position(differs));
            let simple = simplify(&offload(&kernel).unwrap());
            let scheduled = schedule(&simple, forms);
            let form = forms.of(TaskId::new(0));
            panic!(
                "seed {seed}\n{simple}\n{scheduled}\n{args:?}\n{:?}\nexpected {:?}\nfound {:?}",
                verify_offloaded(&scheduled),
                run(&simple, form, &args),
                run(&scheduled, form, &args)
            );
        }
        let simple = simplify(&offload(&sample.0).unwrap());
        for forms in [Forms::PROVEN, Forms::CHECKED, Forms::NARROW] {
            let scheduled = schedule(&simple, forms);
            for schedule in scheduled.tasks.iter().map(|task| &task.schedule) {
                decisions[0] += usize::from(schedule.coarsening > 1);
                decisions[1] += schedule.reductions.len();
                decisions[2] += usize::from(schedule.privatized.is_some());
                decisions[3] += schedule.speculated.len();
                decisions[5] += usize::from(schedule.narrow_indices);
            }
            decisions[4] += usize::from(scheduled.blocks != simple.blocks);
        }
    }
    assert!(decisions.iter().all(|count| *count > 0), "{decisions:?}");
}

/// The forms in which the scheduled kernel is invalid or computes something else.
fn differs((kernel, args): &Sample) -> Option<Forms> {
    let simple = simplify(&offload(kernel).unwrap());
    let words = argument_block(&simple, args, &mut interp::SliceMemory::new());
    let most = LaunchAnalysis::new(&simple).forms(&words);
    [Forms::CHECKED, Forms::PROVEN, Forms::NARROW].into_iter().find(|forms| {
        if forms.is_proven() && !most.is_proven()
            || *forms == Forms::NARROW && !most.has_narrow_indices()
        {
            return false;
        }
        let (form, scheduled) = (forms.of(TaskId::new(0)), schedule(&simple, *forms));
        verify_offloaded(&scheduled).is_err()
            || outcome(&simple, form, args) != outcome(&scheduled, form, args)
    })
}

/// What a launch leaves. Of an error, only that there was one: which iteration reports first is not specified.
fn outcome(kernel: &Offloaded, form: Form, args: &[SampleArg]) -> String {
    match run(kernel, form, args) {
        // Printed, all NaNs are equal: the bits of computed NaNs are unspecified.
        Ok(Outcome { tensors, results, error }) => {
            format!("{tensors:?} {results:?} {}", error.is_some())
        }
        Err(fault) => format!("{fault:?}"),
    }
}

/// If the writes of a task that can be inspected are left out, it accesses the same elements and has the same errors.
#[test]
fn inspections_of_random_kernels_find_the_same_accesses() {
    let (mut inspected, mut failed) = (0, 0);
    for seed in 1..=sized(KERNELS) {
        let style = Style { exact: true, separate: seed % 2 == 0 };
        let (kernel, args) = generate(&mut Rng::new(seed), style);
        let simple = simplify(&offload(&kernel).unwrap());
        for at in (0..simple.tasks.len()).filter(|at| can_inspect(&simple, TaskId::new(*at as u32)))
        {
            let inspection = without_writes(&simple, at);
            let (expected, found) =
                (accesses(&simple, at, &args), accesses(&inspection, at, &args));
            inspected += 1;
            failed += usize::from(expected.1);
            assert!(expected == found, "seed {seed}\n{simple}\n{inspection}\n{args:?}");
        }
    }
    assert!(failed > 50 && inspected > 2 * failed, "{failed} of {inspected}");
}

/// The addresses that a task accesses, in order, and whether it reports an error.
fn accesses(kernel: &Offloaded, at: usize, args: &[SampleArg]) -> (Vec<u64>, bool) {
    struct Recorded(interp::SliceMemory, Vec<u64>);
    impl interp::Memory for Recorded {
        fn load(&mut self, address: u64, bytes: usize) -> Result<u64, interp::ExecFault> {
            self.1.push(address);
            self.0.load(address, bytes)
        }
        fn store(
            &mut self,
            address: u64,
            bytes: usize,
            bits: u64,
        ) -> Result<(), interp::ExecFault> {
            self.1.push(address);
            self.0.store(address, bytes, bits)
        }
    }
    let mut memory = Recorded(interp::SliceMemory::new(), Vec::new());
    let words = argument_block(kernel, args, &mut memory.0);
    let interpreter = Interpreter::new(kernel).with_fuel(1_000_000);
    let task = TaskId::new(at as u32);
    interpreter.run_task(task, Form::Checked, &words, &mut memory).unwrap();
    let Recorded(mut memory, mut addresses) = memory;
    // An atomic operation loads and stores.
    addresses.dedup();
    let state = memory.load(RECORD, 4).unwrap() as u32;
    (addresses, state == abi::ErrorRecord::FULL)
}

/// The kernel with loads instead of the stores and atomic operations of a task.
fn without_writes(kernel: &Offloaded, at: usize) -> Offloaded {
    let mut kernel = kernel.clone();
    let mut open = vec![kernel.tasks[at].prelude, kernel.tasks[at].body];
    while let Some(block) = open.pop() {
        let mut stmts = std::mem::take(&mut kernel.blocks[block].stmts);
        for stmt in &mut stmts {
            open.extend(stmt.blocks());
            let mut effects: Vec<ExprId> = stmt.exprs().collect();
            while let Some(effect) = effects.pop() {
                let expr = &mut kernel.exprs[effect];
                effects.extend(expr.kind.operands());
                if let ExprKind::Atomic { element, .. } = &expr.kind {
                    expr.kind = ExprKind::Load(element.clone());
                }
            }
            if let Stmt::Store { element, .. } = stmt
                && let Array::Tensor(param) = element.array
            {
                let ty = kernel.params[param.index()].kind.elem().unwrap();
                let load = Expr::new(ty, ExprKind::Load(element.clone()));
                *stmt = Stmt::Eval { value: kernel.exprs.push(load) };
            }
        }
        kernel.blocks[block].stmts = stmts;
    }
    kernel
}

/// What decides whether a loop can be inspected: where the index comes from.
#[test]
fn a_loop_is_inspected_if_it_does_not_write_what_its_indices_depend_on() {
    type Index = fn(&mut Builder, [ParamId; 3], &[ExprId]) -> ExprId;
    let cases: [(&str, bool, Index); 7] = [
        ("read", true, |b, [at, ..], i| b.let_load("k", at, i)),
        ("written before", false, |b, [at, own, _], i| {
            let k = b.let_load("k", at, i);
            let store = b.store(own, i, k);
            b.push(store);
            b.let_load("again", own, i)
        }),
        ("written after", false, |b, [at, own, _], i| {
            let (k, old) = (b.let_load("k", at, i), b.let_load("old", own, i));
            let store = b.store(own, i, k);
            b.push(store);
            old
        }),
        ("written elsewhere", true, |b, [at, own, _], i| {
            let k = b.let_load("k", at, i);
            let store = b.store(own, i, k);
            b.push(store);
            k
        }),
        ("ticket", false, |b, [_, own, _], _| {
            let (zero, one) = (b.constant(0u64), b.constant(1u32));
            let value = b.atomic(AtomicOp::Add, own, &[zero], one);
            let local = b.local("ticket", ScalarType::U32);
            b.push(Stmt::Let { local, value });
            b.read(local)
        }),
        ("bits of a float", false, |b, [_, _, x], i| {
            let value = b.let_load("value", x, i);
            b.expr(ScalarType::U32, ExprKind::Bits { value })
        }),
        ("expensive", false, |b, [at, ..], i| {
            let k = b.let_load("k", at, i);
            let three = b.constant(3u32);
            (0..30).fold(k, |k, _| b.binary(BinaryOp::Mul, k, three))
        }),
    ];
    for (name, expected, index) in cases {
        let mut b = Builder::new("kernel");
        let at = b.read_only("at", ScalarType::U32, 1);
        let own = b.tensor("own", ScalarType::U32, 1);
        let x = b.read_only("x", ScalarType::F32, 1);
        let y = b.tensor("y", ScalarType::F32, 1);
        let (zero, len) = (b.constant(0u64), b.dim(y, 0));
        b.parallel_loop(&[("i", zero, len)], |b, i| {
            let k = index(b, [at, own, x], i);
            let k = b.cast(ScalarType::U64, k);
            let value = b.let_load("x_at", x, &[k]);
            let value = (0..5).fold(value, |value, _| b.binary(BinaryOp::Mul, value, value));
            let store = b.store(y, i, value);
            b.push(store);
        });
        let kernel = b.finish();
        assert_eq!(verify_offloaded(&kernel), Ok(()), "{name}");
        for kernel in [simplify(&kernel), kernel] {
            assert_eq!(can_inspect(&kernel, TaskId::new(0)), expected, "{name}\n{kernel}");
        }
    }
}

/// The printer computes parts that occur twice before the selection, also where the other arm is taken.
#[test]
fn sums_in_the_arms_of_a_selection_are_not_exact() {
    let mut b = Builder::new("kernel");
    let (x, y) = (b.read_only("x", ScalarType::F32, 1), b.tensor("y", ScalarType::F32, 2));
    let (zero, eight) = (b.constant(0u64), b.constant(8u64));
    let (rows, columns, len) = (b.dim(y, 0), b.dim(y, 1), b.dim(x, 0));
    b.parallel_loop(&[("i", zero, rows), ("j", zero, columns)], |b, at| {
        let [i, j] = [at[0], at[1]];
        let sum = b.binary(BinaryOp::Add, i, j);
        let power = (0..5).fold(i, |power, _| b.binary(BinaryOp::Mul, power, i));
        let last = b.binary(BinaryOp::Sub, len, eight);
        let end = b.math(MathFn::Min, &[power, last]);
        let is_small = b.binary(BinaryOp::Lt, i, eight);
        let index = b.select(is_small, end, sum);
        b.repeat("k", [zero, eight], false, |b, k| {
            let at = b.binary(BinaryOp::Add, index, k);
            let value = b.let_load("value", x, &[at]);
            let store = b.store(y, &[i, j], value);
            b.push(store);
        });
    });
    let kernel = simplify(&b.finish());
    // The power is below 2^31 only where it is selected.
    let words = [0, 0, 42, 0, 10_000, 0, 2000, 50];
    assert_eq!(LaunchAnalysis::new(&kernel).forms(&words), Forms::NARROW, "{kernel}");
    let scheduled = schedule(&kernel, Forms::NARROW);
    let exprs = &scheduled.exprs;
    fn has_exact(exprs: &Arena<Expr>, at: ExprId) -> bool {
        exprs[at].exact || exprs[at].kind.operands().any(|operand| has_exact(exprs, operand))
    }
    let selections = exprs.iter().filter_map(|(_, expr)| match expr.kind {
        ExprKind::Select { then, otherwise, .. } if expr.ty == ScalarType::I32 => {
            Some([then, otherwise])
        }
        _ => None,
    });
    let arms: Vec<ExprId> = selections.flatten().collect();
    assert!(!arms.is_empty() && exprs.iter().any(|(_, expr)| expr.exact), "{scheduled}");
    assert!(arms.iter().all(|arm| !has_exact(exprs, *arm)), "{scheduled}");
}

/// Where a rewrite lets an index move out of a loop, that is also computed where the loop has no iterations.
#[test]
fn sums_that_move_out_of_loops_are_not_exact() {
    let mut b = Builder::new("kernel");
    let (s, m) = (b.scalar("s", ScalarType::U64), b.scalar("m", ScalarType::U64));
    let (x, y) = (b.read_only("x", ScalarType::F32, 1), b.tensor("y", ScalarType::F32, 2));
    let (zero, four) = (b.constant(0u64), b.constant(4u64));
    let (rows, columns, len) = (b.dim(y, 0), b.dim(y, 1), b.dim(x, 0));
    b.parallel_loop(&[("i", zero, rows), ("j", zero, columns)], |b, at| {
        let array = b.array("array", ScalarType::F32, 4);
        b.walk("r", [zero, m], |b, _| {
            b.walk("k", [zero, four], |b, k| {
                // Without the check, which unrolling removes, the index moves at once.
                b.check_index(array.1, k, 4);
                let square = b.binary(BinaryOp::Mul, s, s);
                let last = b.binary(BinaryOp::Sub, len, four);
                let index = b.math(MathFn::Min, &[square, last]);
                let value = b.let_load("value", x, &[index]);
                b.array_store(array, k, value);
                let store = b.store(y, at, value);
                b.push(store);
            });
        });
    });
    let kernel = simplify(&b.finish());
    let plan = LaunchAnalysis::new(&kernel);
    let forms = |s, m| plan.forms(&[0, 0, 42, s, m, 0, 100, 0, 20, 50]);
    assert_eq!((forms(1 << 20, 0), forms(9, 9)), (Forms::NARROW, Forms::NARROW), "{kernel}");
    assert_ne!(forms(1 << 20, 9), Forms::NARROW);
    let scheduled = schedule(&kernel, Forms::NARROW).to_string();
    let moved = scheduled.lines().find(|line| line.contains("x_at: u64 =")).expect(&scheduled);
    assert!(moved.contains("(s as i32) * (s as i32)") && !moved.contains("exact"), "{scheduled}");
}

/// Rows that begin at most 8 iterations after a multiple of 32 begin at the multiple, in loops of several dimensions
/// without checks.
#[test]
fn rows_begin_at_whole_cache_lines() {
    let skipped = |begins: &[u64], forms| {
        let mut b = Builder::new("kernel");
        let y = b.tensor("y", ScalarType::F32, begins.len() as u8);
        let dims: Vec<_> = begins
            .iter()
            .enumerate()
            .map(|(axis, begin)| ("i", b.constant(*begin), b.dim(y, axis as u8)))
            .collect();
        b.parallel_loop(&dims, |b, at| {
            let zero = b.constant(0.0f32);
            b.push_store(y, at, zero);
        });
        schedule(&simplify(&b.finish()), forms).tasks[0].schedule.skipped
    };
    for forms in [Forms::PROVEN, Forms::NARROW] {
        let rows =
            [0, 1, 4, 8, 9, 31, 32, 33, 70, 1 << 40].map(|begin| skipped(&[2, begin], forms));
        assert_eq!(rows, [0, 1, 4, 8, 0, 0, 0, 1, 6, 0], "{forms:?}");
        assert_eq!([skipped(&[1], forms), skipped(&[4, 1, 3], forms)], [0, 3], "{forms:?}");
    }
    assert_eq!(skipped(&[2, 1], Forms::CHECKED), 0);
}

/// As text, the bound of the loop has more than 2^60 operators.
#[test]
fn expressions_that_share_operands_are_scheduled() {
    let mut b = Builder::new("kernel");
    let s = b.scalar("s", ScalarType::U64);
    let (x, y) = (b.read_only("x", ScalarType::F32, 1), b.tensor("y", ScalarType::F32, 2));
    let zero = b.constant(0u64);
    let (rows, columns, len) = (b.dim(y, 0), b.dim(y, 1), b.dim(x, 0));
    b.parallel_loop(&[("i", zero, rows), ("j", zero, columns)], |b, at| {
        let sum = b.binary(BinaryOp::Add, at[0], s);
        let sum = (0..60).fold(sum, |sum, _| b.binary(BinaryOp::Add, sum, sum));
        let end = b.math(MathFn::Min, &[sum, len]);
        b.repeat("k", [zero, end], false, |b, k| {
            let value = b.let_load("value", x, &[k]);
            let store = b.store(y, at, value);
            b.push(store);
        });
    });
    let kernel = simplify(&b.finish());
    for forms in [Forms::PROVEN, Forms::NARROW] {
        assert_eq!(verify_offloaded(&schedule(&kernel, forms)), Ok(()), "{forms:?}");
    }
}

fn sample(name: &str) -> Offloaded {
    let found = quadrants_samples::all().into_iter().find(|kernel| kernel.name == name);
    simplify(&found.unwrap())
}

/// A checked iteration with loops or conditions runs without reports first, if it has no effects but stores at its end.
#[test]
fn checked_iterations_without_effects_run_speculatively() {
    let decisions = |kernel: &Offloaded, forms| {
        let schedule = &schedule(kernel, forms).tasks[0].schedule;
        (schedule.speculative_iterations, schedule.few_registers, schedule.joint_loads.len())
    };
    let listed = sample("listed");
    assert_eq!(decisions(&listed, Forms::CHECKED), (true, true, 0));
    assert_eq!(decisions(&listed, Forms::NARROW), (false, false, 0));
    // Straight iterations run several at a time instead.
    assert_eq!(decisions(&sample("gathered"), Forms::CHECKED), (false, false, 0));

    // A sum over a list needs no condition, so its loads overlap.
    let sum = |effect: &dyn Fn(&mut Builder, ParamId, ExprId, ExprId)| {
        let mut b = Builder::new("sum");
        let list = b.read_only("list", ScalarType::U32, 1);
        let x = b.read_only("x", ScalarType::I32, 1);
        let y = b.tensor("y", ScalarType::I32, 1);
        let (zero, len, end) = (b.constant(0u64), b.dim(y, 0), b.dim(list, 0));
        let nothing = b.constant(0i32);
        b.parallel_loop(&[("i", zero, len)], |b, i| {
            let sum = b.define("sum", nothing, true);
            b.walk("k", [zero, end], |b, k| {
                let j = b.let_load("j", list, &[k]);
                let j = b.cast(ScalarType::U64, j);
                let value = b.let_load("value", x, &[j]);
                let before = b.read(sum);
                let after = b.binary(BinaryOp::Add, before, value);
                b.assign(sum, after);
            });
            let sum = b.read(sum);
            effect(b, y, i[0], sum);
        });
        simplify(&b.finish())
    };
    let stored = sum(&|b, y, i, sum| b.push_store(y, &[i], sum));
    assert_eq!(decisions(&stored, Forms::CHECKED), (true, false, 0));
    let added = sum(&|b, y, i, sum| {
        let value = b.atomic(AtomicOp::Add, y, &[i], sum);
        b.push(Stmt::Eval { value });
    });
    assert_eq!(decisions(&added, Forms::CHECKED), (false, false, 0));
    let asserted = sum(&|b, y, i, sum| {
        let zero = b.constant(0i32);
        let positive = b.binary(BinaryOp::Lt, zero, sum);
        b.push_assert(positive, "positive");
        b.push_store(y, &[i], sum);
    });
    assert_eq!(decisions(&asserted, Forms::CHECKED), (false, false, 0));
}

/// An index with a lower bound only, or without one value, is not proven by any launch, so the loop has no interior.
/// One with an upper bound may be.
#[test]
fn indices_that_are_bounded_only_from_below_have_no_interior() {
    let interior = |op: BinaryOp, limit: i32| {
        let mut b = Builder::new("kernel");
        let next = b.read_only("next", ScalarType::I32, 1);
        let x = b.read_only("x", ScalarType::I32, 1);
        let y = b.tensor("y", ScalarType::I32, 1);
        let (zero, len, nothing) = (b.constant(0u64), b.dim(y, 0), b.constant(0i32));
        b.parallel_loop(&[("i", zero, len)], |b, i| {
            let sum = b.define("sum", nothing, true);
            let j = b.let_load("j", next, i);
            let limit = b.constant(limit);
            let is_valid = b.binary(op, j, limit);
            b.branch(
                is_valid,
                |b| {
                    let at = b.cast(ScalarType::U64, j);
                    let value = b.let_load("value", x, &[at]);
                    b.assign(sum, value);
                },
                |_| {},
            );
            let sum = b.read(sum);
            b.push_store(y, i, sum);
        });
        let schedule = &schedule(&simplify(&b.finish()), Forms::CHECKED).tasks[0].schedule;
        assert_ne!(schedule.interior, schedule.speculative_iterations);
        schedule.interior
    };
    assert!(!interior(BinaryOp::Ge, 0));
    assert!(!interior(BinaryOp::Gt, -1));
    assert!(!interior(BinaryOp::Ne, -1));
    assert!(interior(BinaryOp::Lt, 5));
    assert!(interior(BinaryOp::Eq, 5));
}

/// Checked loads that follow each other share a branch: three, or two of one element's row, and only if no index
/// depends on another load of the group.
#[test]
fn loads_share_a_check() {
    let groups = |loads: &dyn Fn(&mut Builder, ParamId, ExprId) -> ExprId| {
        let mut b = Builder::new("kernel");
        let at = b.read_only("at", ScalarType::U64, 1);
        let x = b.read_only("x", ScalarType::U64, 2);
        let y = b.tensor("y", ScalarType::U64, 1);
        let (zero, len) = (b.constant(0u64), b.dim(y, 0));
        b.parallel_loop(&[("i", zero, len)], |b, i| {
            let j = b.let_load("j", at, i);
            let value = loads(b, x, j);
            let value = b.atomic(AtomicOp::Max, y, &[value], i[0]);
            b.push(Stmt::Eval { value });
        });
        let scheduled = schedule(&simplify(&b.finish()), Forms::CHECKED);
        let schedule = &scheduled.tasks[0].schedule;
        assert!(!schedule.speculative_iterations && verify_offloaded(&scheduled).is_ok());
        schedule.joint_loads.iter().map(Vec::len).collect::<Vec<_>>()
    };
    let row = |b: &mut Builder, x: ParamId, j: ExprId, count: u64| {
        let loads: Vec<_> = (0..count)
            .map(|k| {
                let k = b.constant(k);
                b.let_load("value", x, &[j, k])
            })
            .collect();
        let first = loads[0];
        loads[1..].iter().fold(first, |sum, value| b.binary(BinaryOp::Add, sum, *value))
    };
    assert_eq!(groups(&|b, x, j| row(b, x, j, 1)), [0; 0]);
    assert_eq!(groups(&|b, x, j| row(b, x, j, 2)), [2]);
    assert_eq!(groups(&|b, x, j| row(b, x, j, 5)), [5]);
    assert_eq!(groups(&|b, x, j| row(b, x, j, 18)), [16, 2]);
    let chain = groups(&|b, x, j| {
        let first = b.let_load("first", x, &[j, j]);
        let second = b.let_load("second", x, &[first, j]);
        b.let_load("third", x, &[second, first])
    });
    assert_eq!(chain, [0; 0]);
    let diagonal = groups(&|b, x, j| {
        let one = b.constant(1u64);
        let next = b.binary(BinaryOp::Add, j, one);
        let values = [[j, next], [next, j]].map(|index| b.let_load("value", x, &index));
        b.binary(BinaryOp::Add, values[0], values[1])
    });
    assert_eq!(diagonal, [0; 0], "two loads without a common check");
}
