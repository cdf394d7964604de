//! The printed IR, and with it the result of offloading.

use quadrants_ir::*;

use quadrants_samples::{Bool, Builder, F32, I32, U64};

#[test]
fn parameters_with_strides_are_marked() {
    let mut m = Builder::new("views");
    m.tensor("x", F32, 2);
    m.read_only("y", F32, 1);
    m.component("z[]._0", F32, 2, 3);
    m.kernel.params.iter_mut().for_each(|param| param.strided = true);
    assert_eq!(
        print(&m.kernel),
        "\
kernel views(x: &mut strided Tensor<f32, 2>, y: &strided Tensor<f32, 1>, z[]._0: &mut strided Component<f32, 2, 3>) {
}
"
    );
    let layout = abi::ArgLayout::new(&m.kernel.params);
    let [x, y, z] = [0, 1, 2].map(ParamId::new);
    let kind = |of: ParamId| m.kernel.params[of.index()].kind;
    assert_eq!([layout.word(x), layout.word(y), layout.word(z), layout.len()], [3, 8, 11, 19]);
    assert_eq!([x, y, z].map(|of| layout.element_strides(of, kind(of))), [6, 10, 17]);
    assert_eq!(layout.strides(z, kind(z)), [15, 16]);
}

#[test]
fn a_parallel_loop_stays_one_task() {
    let mut m = Builder::new("saxpy");
    let a = m.scalar("a", F32);
    let x =
        m.param("x", ParamKind::Tensor { elem: F32, rank: 1, writable: false, distinct: false });
    let y = m.tensor("y", F32, 1);
    let (i, xi, yi) = (m.local("i", U64), m.local("xi", F32), m.local("yi", F32));
    let (zero, end, at) = (m.constant(0u64), m.dim(x, 0), m.read(i));
    let (load_x, load_y) = (m.load(x, &[at]), m.load(y, &[at]));
    let (x_value, y_value) = (m.read(xi), m.read(yi));
    let product = m.binary(BinaryOp::Mul, a, x_value);
    let sum = m.binary(BinaryOp::Add, product, y_value);
    let store = m.store(y, &[at], sum);
    let stmts =
        vec![Stmt::Let { local: xi, value: load_x }, Stmt::Let { local: yi, value: load_y }, store];
    let body = m.parallel(&[(i, zero, end)], stmts);
    m.kernel.body = vec![body];
    assert_eq!(
        print(&m.kernel),
        "\
kernel saxpy(a: f32, x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    parallel for %0.i in 0u64..x.shape[0] {
        let %1.xi: f32 = x[%0.i]
        let %2.yi: f32 = y[%0.i]
        y[%0.i] = (a * %1.xi) + %2.yi
    }
}
"
    );
    let kernel = offload(&m.kernel).unwrap();
    assert_eq!(
        kernel.to_string(),
        "\
offloaded saxpy(a: f32, x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    task 0 [x read, y read write] {
        parallel for %0.i in 0u64..x.shape[0] {
            let %1.xi: f32 = x[%0.i]
            let %2.yi: f32 = y[%0.i]
            y[%0.i] = (a * %1.xi) + %2.yi
        }
    }
}
"
    );
    assert_eq!(kernel.tasks[0].line, 7);
    assert_eq!(kernel.function_name(TaskId::new(0)), "saxpy_0");
}

/// Serial code around a loop: a duplicated definition, an element passed in a temporary, a variable that a later serial
/// task assigns, a result.
#[test]
fn locals_are_passed_in_temporaries_or_duplicated() {
    let mut m = Builder::new("travel");
    let n = m.scalar("n", I32);
    let x = m.tensor("x", F32, 1);
    let (twice, first, total) =
        (m.local("twice", I32), m.local("first", F32), m.variable("total", F32));
    let (unused, i) = (m.local("unused", I32), m.local("i", I32));
    let j = m.local("j", I32);
    let (zero, two, index_zero) = (m.constant(0i32), m.constant(2i32), m.constant(0u64));
    let value = m.binary(BinaryOp::Mul, n, two);
    let double = Stmt::Let { local: twice, value };
    let value = m.binary(BinaryOp::Sub, n, two);
    let not_needed = Stmt::Let { local: unused, value };
    let value = m.load(x, &[index_zero]);
    let load = Stmt::Let { local: first, value };
    let value = m.constant(0.0f32);
    let start = Stmt::Let { local: total, value };
    let (first_value, total_value) = (m.read(first), m.read(total));

    let at = m.read(i);
    let at = m.cast(U64, at);
    let store = m.store(x, &[at], first_value);
    let end = m.read(twice);
    let head = m.serial(vec![double, not_needed, load, start]);
    let parallel = m.parallel(&[(i, zero, end)], vec![store]);

    let limit = m.constant(1.5f32);
    let cond = m.binary(BinaryOp::Lt, first_value, limit);
    let sum = m.binary(BinaryOp::Add, total_value, first_value);
    let add = m.block(vec![Stmt::Assign { local: total, value: sum }]);
    let value = m.math(MathFn::Sqrt, &[limit]);
    let root = m.block(vec![Stmt::Assign { local: total, value }]);
    let tail = m.serial(vec![Stmt::If { cond, then: add, otherwise: root }]);
    let again = m.parallel(&[(j, zero, end)], vec![]);
    m.kernel.results = vec![F32];
    m.kernel.body = vec![head, parallel, tail, again, TopStmt::Return(vec![total_value])];
    let kernel = offload(&m.kernel).unwrap();
    verify_offloaded(&kernel).unwrap();
    assert_eq!(
        kernel.to_string(),
        "\
offloaded travel(n: i32, x: &mut Tensor<f32, 1>) -> f32 {
    temp t0: f32
    temp t1: f32
    task 0 [x read] {
        serial {
            let %1.first: f32 = x[0u64]
            let mut %2.total: f32 = 0.0f32
            t0 = %1.first
            t1 = %2.total
        }
    }
    task 1 [x write] {
        let %0.twice: i32 = n * 2i32
        let %1.first: f32 = t0
        parallel for %4.i in 0i32..%0.twice {
            x[%4.i as u64] = %1.first
        }
    }
    task 2 {
        let %1.first: f32 = t0
        let mut %2.total: f32 = t1
        serial {
            if %1.first < 1.5f32 {
                %2.total = %2.total + %1.first
            }
            else {
                %2.total = sqrt(1.5f32)
            }
            t1 = %2.total
        }
    }
    task 3 {
        let %0.twice: i32 = n * 2i32
        parallel for %5.j in 0i32..%0.twice {
        }
    }
    task 4 {
        let mut %2.total: f32 = t1
        serial {
            result = %2.total
        }
    }
}
"
    );
}

#[test]
fn a_result_is_set_in_the_preceding_serial_task() {
    let mut m = Builder::new("first");
    let x = m.tensor("x", I32, 2);
    let (v, zero) = (m.local("v", I32), m.constant(0u64));
    let value = m.load(x, &[zero, zero]);
    let serial = m.serial(vec![Stmt::Let { local: v, value }]);
    let value = m.read(v);
    let value = m.expr(I32, ExprKind::Unary { op: UnaryOp::Neg, value });
    m.kernel.results = vec![I32];
    m.kernel.body = vec![serial, TopStmt::Return(vec![value])];
    assert_eq!(
        offload(&m.kernel).unwrap().to_string(),
        "\
offloaded first(x: &mut Tensor<i32, 2>) -> i32 {
    task 0 [x read] {
        serial {
            let %0.v: i32 = x[0u64, 0u64]
            result = -%0.v
        }
    }
}
"
    );
}

/// Two groups after a common definition. The second has a serial block with loops and an assertion.
#[test]
fn every_task_has_the_number_of_its_group() {
    let mut m = Builder::new("region");
    let n = m.scalar("n", U64);
    let (a, c) = (m.tensor("a", F32, 1), m.tensor("c", U64, 1));
    let (half, i, old, k) =
        (m.local("half", U64), m.local("i", U64), m.local("old", U64), m.local("k", U64));
    let (zero, one, two) = (m.constant(0u64), m.constant(1u64), m.constant(2u64));
    let value = m.div_rem(DivRemOp::Div, n, two);
    let shared = m.serial(vec![Stmt::Let { local: half, value }]);

    let (end, at) = (m.read(half), m.read(i));
    let value = m.constant(1.0f32);
    let store = m.store(a, &[at], value);
    let fill = m.parallel(&[(i, zero, end)], vec![store]);

    let value = m.atomic(AtomicOp::Add, c, &[zero], one);
    let count = Stmt::Let { local: old, value };
    let old_value = m.read(old);
    let cond = m.binary(BinaryOp::Le, old_value, end);
    let assert = m.assert(cond, "no more than half");
    let value = m.atomic(AtomicOp::Max, c, &[one], old_value);
    let most = m.block(vec![Stmt::Eval { value }, Stmt::Continue]);
    let each =
        Stmt::For { var: k, begin: zero, end: old_value, body: most, unroll: Some(4), down: true };
    let stop = m.block(vec![Stmt::Break]);
    let serial = m.serial(vec![count, assert, each, Stmt::Loop { body: stop }]);
    let select = ExprKind::Select { cond, then: zero, otherwise: one };
    let at = m.expr(U64, select);
    let last = m.local("l", U64);
    let store = m.store(c, &[at], old_value);
    let after = m.parallel(&[(last, zero, one)], vec![store]);

    let group =
        |number, body| TopStmt::RegionBlock { region_block: RegionBlockId::new(number), body };
    m.kernel.body = vec![shared, group(1, vec![fill]), group(2, vec![serial, after])];
    assert_eq!(
        print(&m.kernel),
        "\
kernel region(n: u64, a: &mut Tensor<f32, 1>, c: &mut Tensor<u64, 1>) {
    serial {
        let %0.half: u64 = n / 2u64
    }
    group 1 {
        parallel for %1.i in 0u64..%0.half {
            a[%1.i] = 1.0f32
        }
    }
    group 2 {
        serial {
            let %2.old: u64 = atomic_add(c[0u64], 1u64)
            assert %2.old <= %0.half, \"no more than half\"
            for unroll 4 down %3.k in 0u64..%2.old {
                atomic_max(c[1u64], %2.old)
                continue
            }
            loop {
                break
            }
        }
        parallel for %4.l in 0u64..1u64 {
            c[select(%2.old <= %0.half, 0u64, 1u64)] = %2.old
        }
    }
}
"
    );
    assert_eq!(
        offload(&m.kernel).unwrap().to_string(),
        "\
offloaded region(n: u64, a: &mut Tensor<f32, 1>, c: &mut Tensor<u64, 1>) {
    temp t0: u64
    task 0 group 1 [a write] {
        let %0.half: u64 = n / 2u64
        parallel for %1.i in 0u64..%0.half {
            a[%1.i] = 1.0f32
        }
    }
    task 1 group 2 [c atomic] {
        let %0.half: u64 = n / 2u64
        serial {
            t0 = 0u64
            let %2.old: u64 = atomic_add(c[0u64], 1u64)
            assert %2.old <= %0.half, \"no more than half\"
            for unroll 4 down %3.k in 0u64..%2.old {
                atomic_max(c[1u64], %2.old)
                continue
            }
            loop {
                break
            }
            t0 = %2.old
        }
    }
    task 2 group 2 [c write] {
        let %0.half: u64 = n / 2u64
        let %2.old: u64 = t0
        parallel for %4.l in 0u64..1u64 {
            c[select(%2.old <= %0.half, 0u64, 1u64)] = %2.old
        }
    }
}
"
    );
}

#[test]
fn pure_definitions_alone_create_no_task() {
    let mut m = Builder::new("nothing");
    let (flag, value) = (m.local("flag", Bool), m.constant(true));
    let serial = m.serial(vec![Stmt::Let { local: flag, value }]);
    m.kernel.body = vec![serial];
    assert_eq!(offload(&m.kernel).unwrap().to_string(), "offloaded nothing() {\n}\n");
}
