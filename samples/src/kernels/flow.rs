//! Sample kernels of statements and loops: ranges of every type and rank, branches, assertions, serial blocks with
//! temporaries and results, and names that are reserved in C++.

use quadrants_ir::{BinaryOp, Const, Offloaded, RegionBlockId, ScalarType, Stmt, TopStmt};

use crate::Builder;

pub(super) fn all() -> Vec<Offloaded> {
    let mut kernels = vec![
        volume(),
        control(),
        asserts(),
        serial(),
        names(),
        groups(),
        element_types(),
        sharing(6),
    ];
    for ty in ScalarType::ALL.into_iter().filter(|ty| ty.is_int()) {
        kernels.push(ranges(ty));
    }
    kernels
}

/// Loops with constant and argument bounds of every type, including the extreme values.
fn ranges(ty: ScalarType) -> Offloaded {
    let mut b = Builder::new(&format!("ranges_{ty}"));
    let out = b.tensor("out", ty, 1);
    let begin = b.scalar("begin", ty);
    let end = b.scalar("end", ty);
    let (low, high) = ty.int_range().unwrap_or_default();
    let [low, near_low, zero, near_high, high] =
        [low, low + 3, 0, high - 3, high].map(|v| b.constant(Const::from_bits(ty, v as u64)));
    let sum = b.binary(BinaryOp::Add, begin, end);
    let bounds = [
        (low, near_low),
        (near_high, high),
        (zero, end),
        (begin, high),
        (begin, end),
        (begin, sum),
        (high, low),
    ];
    for (begin, end) in bounds {
        b.parallel_loop(&[("i", begin, end)], |b, i| {
            let offset = b.binary(BinaryOp::Sub, i[0], begin);
            let at = b.cast(ScalarType::U64, offset);
            b.push_store(out, &[at], i[0]);
        });
    }
    b.finish()
}

/// Three dimensions of different types.
fn volume() -> Offloaded {
    let mut b = Builder::new("volume");
    let out = b.tensor("out", ScalarType::F64, 3);
    let planes = b.dim(out, 0);
    let columns = b.dim(out, 2);
    let columns = b.cast(ScalarType::I32, columns);
    let [one, three] = [1u32, 3].map(|v| b.constant(v));
    let zero = b.constant(0u64);
    let first = b.constant(0i32);
    b.parallel_loop(&[("i", zero, planes), ("j", one, three), ("k", first, columns)], |b, at| {
        let j = b.cast(ScalarType::U64, at[1]);
        let k = b.cast(ScalarType::U64, at[2]);
        let old = b.let_load("old", out, &[at[0], j, k]);
        let i = b.cast(ScalarType::F64, at[0]);
        let sum = b.binary(BinaryOp::Add, old, i);
        b.push_store(out, &[at[0], j, k], sum);
    });
    b.finish()
}

fn control() -> Offloaded {
    let mut b = Builder::new("control");
    let data = b.tensor("data", ScalarType::I32, 1);
    let (zero, len) = (b.constant(0u64), b.dim(data, 0));
    b.parallel_loop(&[("i", zero, len)], |b, i| {
        let at = i[0];
        let [nothing, one, limit] = [0i32, 1, 100].map(|v| b.constant(v));
        let start = b.let_load("start", data, &[at]);
        let negative = b.binary(BinaryOp::Lt, start, nothing);
        b.branch(negative, |b| b.push(Stmt::Continue), |_| {});
        let sum = b.define("sum", nothing, true);
        let bound = b.define("bound", limit, true);
        let end = b.read(bound);
        b.repeat("k", [nothing, end], true, |b, k| {
            let current = b.read(sum);
            let next = b.binary(BinaryOp::Add, current, k);
            b.assign(sum, next);
            b.assign(bound, nothing);
            let large = b.binary(BinaryOp::Gt, next, limit);
            let same = b.binary(BinaryOp::Eq, next, start);
            b.branch(
                large,
                |b| b.push(Stmt::Break),
                |b| b.branch(same, |b| b.push(Stmt::Continue), |b| b.assign(sum, next)),
            );
        });
        b.forever(|b| {
            let current = b.read(sum);
            let next = b.binary(BinaryOp::Sub, current, one);
            b.assign(sum, next);
            let done = b.binary(BinaryOp::Le, current, nothing);
            b.branch(done, |b| b.push(Stmt::Break), |b| b.assign(sum, next));
        });
        let value = b.read(sum);
        b.push_store(data, &[at], value);
    });
    b.finish()
}

/// Assertions at every depth, in a parallel and in a serial task.
fn asserts() -> Offloaded {
    let mut b = Builder::new("asserts");
    let data = b.tensor("data", ScalarType::F32, 1);
    let (zero, len) = (b.constant(0u64), b.dim(data, 0));
    let [nothing, one] = [0.0f32, 1.0].map(|v| b.constant(v));
    b.parallel_loop(&[("i", zero, len)], |b, i| {
        let x = b.let_load("x", data, i);
        let positive = b.binary(BinaryOp::Gt, x, nothing);
        b.push_assert(positive, "x > 0");
        b.repeat("k", [zero, len], false, |b, k| {
            let y = b.let_load("y", data, &[k]);
            let small = b.binary(BinaryOp::Lt, y, one);
            b.push_assert(small, "y < 1");
            let sum = b.binary(BinaryOp::Add, x, y);
            b.push_store(data, i, sum);
        });
        let last = b.named("last", x);
        b.push_store(data, i, last);
    });
    b.serial_block(|b| {
        b.repeat("k", [zero, len], false, |b, k| {
            let y = b.let_load("y", data, &[k]);
            let small = b.binary(BinaryOp::Lt, y, one);
            b.push_assert(small, "y < 1");
        });
    });
    b.finish()
}

/// Temporaries of every type, from a serial block to a loop, and a result.
fn serial() -> Offloaded {
    let mut b = Builder::new("serial");
    let data = ScalarType::ALL.map(|ty| b.tensor(&format!("data_{ty}"), ty, 1));
    let zero = b.constant(0u64);
    let mut locals = Vec::new();
    b.serial_block(|b| {
        for (tensor, ty) in data.into_iter().zip(ScalarType::ALL) {
            locals.push(b.let_load(&format!("first_{ty}"), tensor, &[zero]));
        }
    });
    let len = b.dim(data[0], 0);
    b.parallel_loop(&[("i", zero, len)], |b, i| {
        for (&tensor, &value) in data.iter().zip(&locals) {
            b.push_store(tensor, i, value);
        }
    });
    b.result(&[locals[5], locals[0], locals[3]]);
    b.finish()
}

/// Shadowing, keywords, and names of functions and types that the printed text uses itself.
fn names() -> Offloaded {
    let mut b = Builder::new("names");
    let int = b.tensor("int", ScalarType::F32, 1);
    let error = b.scalar("qd_error", ScalarType::F32);
    let args = b.scalar("args", ScalarType::F32);
    let (zero, len) = (b.constant(0u64), b.dim(int, 0));
    b.parallel_loop(&[("blockIdx", zero, len)], |b, i| {
        let mut value = b.binary(BinaryOp::Add, error, args);
        for name in
            ["x", "x", "x_1", "sinf", "fmaxf", "u64", "f32", "template", "qd_fail", "int_dim0"]
        {
            let named = b.named(name, value);
            value = b.binary(BinaryOp::Add, named, args);
        }
        let sine = b.math(quadrants_ir::MathFn::Sin, &[value]);
        let largest = b.math(quadrants_ir::MathFn::Max, &[sine, args]);
        b.push_store(int, i, largest);
    });
    b.finish()
}

/// Two `stream_parallel` blocks.
fn groups() -> Offloaded {
    let mut b = Builder::new("groups");
    let tensors = ["a", "b"].map(|name| b.tensor(name, ScalarType::F32, 1));
    for (group, tensor) in (1..).zip(tensors) {
        let (zero, len) = (b.constant(0u64), b.dim(tensor, 0));
        b.parallel_loop(&[("i", zero, len)], |b, i| {
            let old = b.let_load("old", tensor, i);
            let half = b.constant(0.5f32);
            let value = b.binary(BinaryOp::Mul, old, half);
            b.push_store(tensor, i, value);
        });
        let body = b.kernel.body.drain(b.kernel.body.len() - 1..).collect();
        b.kernel.body.push(TopStmt::RegionBlock { region_block: RegionBlockId::new(group), body });
    }
    b.finish()
}

/// Copies elements of every type.
fn element_types() -> Offloaded {
    let mut b = Builder::new("element_types");
    let pairs = ScalarType::ALL.map(|ty| {
        (b.read_only(&format!("from_{ty}"), ty, 2), b.tensor(&format!("to_{ty}"), ty, 2))
    });
    let zero = b.constant(0i64);
    let [rows, columns] = [0, 1].map(|axis| {
        let extent = b.dim(pairs[0].0, axis);
        b.cast(ScalarType::I64, extent)
    });
    b.parallel_loop(&[("i", zero, rows), ("j", zero, columns)], |b, at| {
        let index = [b.cast(ScalarType::U64, at[0]), b.cast(ScalarType::U64, at[1])];
        for (from, to) in pairs {
            let value = b.let_load("value", from, &index);
            b.push_store(to, &index, value);
        }
    });
    b.finish()
}

/// A chain of expressions, each using the previous one twice: as a tree it has `2.pow(depth)` nodes.
pub(super) fn sharing(depth: usize) -> Offloaded {
    let mut b = Builder::new("sharing");
    let out = b.tensor("out", ScalarType::I32, 1);
    let (zero, len) = (b.constant(0u64), b.dim(out, 0));
    let limit = b.constant(9i32);
    b.parallel_loop(&[("i", zero, len)], |b, i| {
        let x = b.let_load("x", out, i);
        let y = b.define("y", x, true);
        let mut sum = b.read(y);
        for _ in 0..depth {
            let product = b.binary(BinaryOp::Mul, sum, limit);
            sum = b.binary(BinaryOp::Sub, product, sum);
        }
        let low = b.binary(BinaryOp::Lt, x, limit);
        let high = b.binary(BinaryOp::Lt, sum, limit);
        b.branch(low, |b| b.assign(y, limit), |b| b.branch(high, |b| b.assign(y, sum), |_| {}));
        b.push_store(out, i, sum);
    });
    b.finish()
}
