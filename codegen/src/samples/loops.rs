//! Sample kernels with unusual loops and tensors: bounds computed on the device, tensors of zero and of many
//! dimensions, and tensors of structs.

use quadrants_ir::{AtomicOp, BinaryOp, Offloaded, Options, ScalarType, Stmt};

use super::build::SampleBuilder;

pub(super) fn all() -> Vec<Offloaded> {
    vec![device_bounds(), ranks(), components(), histogram(), bytes(), covered()]
}

/// Loops whose bounds are loaded from a tensor, of all integer types; some have wrapped.
fn device_bounds() -> Offloaded {
    let mut b = SampleBuilder::new("device_bounds", Options::default());
    let counts = b.tensor("counts", ScalarType::I64, 1, false);
    let line = b.tensor("line", ScalarType::I64, 1, true);
    let plane = b.tensor("plane", ScalarType::I64, 2, true);
    let [zero, first, second] = [0u64, 1, 2].map(|v| b.constant(v));
    let [few, most, far] = [7i64, 31, 1 << 60].map(|v| b.constant(v));
    let mut ends = Vec::new();
    b.serial(|b| {
        for (at, mask) in [(zero, most), (first, few)] {
            let count = b.load("count", counts, &[at]);
            let count = b.binary(BinaryOp::And, count, mask);
            let odd = b.load("odd", counts, &[second]);
            let one = b.constant(1i64);
            let odd = b.binary(BinaryOp::And, odd, one);
            let odd = b.binary(BinaryOp::Eq, odd, one);
            let wrapped = b.select(odd, far, count);
            ends.push((b.named("n", count), b.named("end", wrapped)));
        }
    });
    let [(n, end), (m, wrapped)] = [ends[0], ends[1]];
    let below = b.unary(quadrants_ir::UnaryOp::Neg, n);
    b.parallel(&[("i", below, end)], |b, i| {
        let at = b.binary(BinaryOp::Add, i[0], n);
        let at = b.cast(at, ScalarType::U64);
        b.store(line, &[at], i[0]);
    });
    let rows = b.cast(wrapped, ScalarType::U64);
    let columns = b.cast(m, ScalarType::I32);
    let start = b.constant(1i32);
    b.parallel(&[("j", zero, rows), ("k", start, columns)], |b, at| {
        let k = b.cast(at[1], ScalarType::U64);
        b.store(plane, &[at[0], k], n);
    });
    let third = b.cast(n, ScalarType::U32);
    let none = b.constant(0u32);
    b.parallel(&[("i", none, third)], |b, i| {
        let at = b.cast(i[0], ScalarType::U64);
        let value = b.cast(i[0], ScalarType::I64);
        b.store(line, &[at], value);
    });
    b.finish()
}

/// Tensors of every rank, accessed in and out of range.
fn ranks() -> Offloaded {
    let mut b = SampleBuilder::new("ranks", Options::default());
    let tensors: Vec<_> =
        (0..=6u8).map(|rank| b.tensor(&format!("t{rank}"), ScalarType::I32, rank, true)).collect();
    let begin = b.scalar("begin", ScalarType::U32);
    let three = b.constant(3u32);
    let end = b.binary(BinaryOp::Add, begin, three);
    b.parallel(&[("i", begin, end)], |b, i| {
        let one = b.constant(1u64);
        let at = b.cast(i[0], ScalarType::U64);
        let odd = b.binary(BinaryOp::And, at, one);
        for (rank, &tensor) in tensors.iter().enumerate() {
            // The outermost index differs, so that iterations share no element except the scalar.
            let index: Vec<_> = (0..rank).map(|axis| if axis == 0 { at } else { odd }).collect();
            if rank == 0 {
                let value = b.constant(5i32);
                b.store(tensor, &index, value);
                continue;
            }
            let old = b.load("old", tensor, &index);
            let scalar = b.load("scalar", tensors[0], &[]);
            let sum = b.binary(BinaryOp::Add, old, scalar);
            b.store(tensor, &index, sum);
        }
    });
    b.finish()
}

/// Tensors of several scalars per element, accessed in and out of range: elements and scalars of them.
fn components() -> Offloaded {
    let mut b = SampleBuilder::new("components", Options::default());
    let place = b.component("p[].place", ScalarType::I32, 1, 3);
    let kind = b.component("p[].kind.0", ScalarType::I16, 1, 1);
    let sums = b.component("sums[]", ScalarType::U32, 0, 2);
    let grid = b.component("grid[].flow", ScalarType::F64, 2, 4);
    let begin = b.scalar("begin", ScalarType::U32);
    let five = b.constant(5u32);
    let end = b.binary(BinaryOp::Add, begin, five);
    b.parallel(&[("i", begin, end)], |b, i| {
        let [one, three] = [1u64, 3].map(|v| b.constant(v));
        let at = b.cast(i[0], ScalarType::U64);
        let old = b.load("old", kind, &[at]);
        // Also beyond the scalars of an element in range.
        let choice = b.binary(BinaryOp::And, at, three);
        let x = b.load("x", place, &[at, one]);
        let wide = b.cast(old, ScalarType::I32);
        let sum = b.binary(BinaryOp::Add, x, wide);
        b.store(place, &[at, choice], sum);
        let low = b.cast(sum, ScalarType::I16);
        b.store(kind, &[at], low);
        let flow = b.load("flow", grid, &[one, at, choice]);
        b.store(grid, &[at, one, choice], flow);
        let odd = b.binary(BinaryOp::And, at, one);
        let by = b.cast(sum, ScalarType::U32);
        let first = b.atomic(AtomicOp::Add, sums, &[odd], by);
        b.push(Stmt::Eval { value: first });
    });
    b.parallel(&[("j", begin, end)], |b, j| {
        let one = b.constant(1u64);
        let value = b.atomic(AtomicOp::Max, sums, &[one], j[0]);
        b.push(Stmt::Eval { value });
    });
    b.finish()
}

/// Many elements combined into few: of each iteration, and of some iterations.
fn histogram() -> Offloaded {
    let mut b = SampleBuilder::new("histogram", Options::default());
    let x = b.tensor("x", ScalarType::I32, 1, false);
    let bins = b.tensor("bins", ScalarType::U32, 1, true);
    let least = b.tensor("least", ScalarType::I32, 1, true);
    let (zero, len) = (b.constant(0u64), b.dim(x, 0));
    b.parallel(&[("i", zero, len)], |b, i| {
        let [fifteen, one] = [15u32, 1].map(|v| b.constant(v));
        let value = b.load("value", x, i);
        let bits = b.cast(value, ScalarType::U32);
        let bin = b.binary(BinaryOp::And, bits, fifteen);
        let bin = b.cast(bin, ScalarType::U64);
        let value = b.atomic(AtomicOp::Add, bins, &[bin], one);
        b.push(Stmt::Eval { value });
    });
    b.parallel(&[("j", zero, len)], |b, j| {
        let (fifteen, even) = (b.constant(15u64), b.constant(1u64));
        let value = b.load("value", x, j);
        let odd = b.binary(BinaryOp::And, j[0], even);
        let odd = b.binary(BinaryOp::Eq, odd, even);
        b.branch(
            odd,
            |b| {
                let bin = b.cast(value, ScalarType::U64);
                let bin = b.binary(BinaryOp::And, bin, fifteen);
                let value = b.atomic(AtomicOp::Min, least, &[bin], value);
                b.push(Stmt::Eval { value });
            },
            |_| {},
        );
    });
    b.finish()
}

/// Narrow elements of all types, from any alignment: into a histogram and into one element.
fn bytes() -> Offloaded {
    let mut b = SampleBuilder::new("bytes", Options::default());
    let from = b.scalar("from", ScalarType::U32);
    let bins = b.tensor("bins", ScalarType::U32, 1, true);
    let sums = b.tensor("sums", ScalarType::I32, 1, true);
    let types = [
        ScalarType::U8,
        ScalarType::I8,
        ScalarType::Bool,
        ScalarType::U16,
        ScalarType::I16,
        ScalarType::F16,
    ];
    let tensors = types.map(|ty| b.tensor(&format!("of_{ty}"), ty, 1, false));
    let most = b.constant(31u32);
    let from = b.binary(BinaryOp::And, from, most);
    let from = b.cast(from, ScalarType::U64);
    for (at, &tensor) in tensors.iter().enumerate() {
        let len = b.dim(tensor, 0);
        b.parallel(&[("i", from, len)], |b, i| {
            let value = b.load("value", tensor, i);
            let add = match at {
                0 | 3 => {
                    let fifteen = b.constant(15u64);
                    let bin = b.cast(value, ScalarType::U32);
                    let bin = b.cast(bin, ScalarType::U64);
                    let bin = b.binary(BinaryOp::And, bin, fifteen);
                    let one = b.constant(1u32);
                    b.atomic(AtomicOp::Add, bins, &[bin], one)
                }
                _ => {
                    let place = b.constant(at as u64);
                    // For `f16` the bits are not the value.
                    let half = b.ty(value) == ScalarType::F16;
                    let value = if half { b.cast(value, ScalarType::F32) } else { value };
                    let value = b.cast(value, ScalarType::I32);
                    b.atomic(AtomicOp::Add, sums, &[place], value)
                }
            };
            b.push(Stmt::Eval { value: add });
        });
    }
    b.finish()
}

/// Loops whose grid may have a thread per iteration, and whose iterations may end early.
fn covered() -> Offloaded {
    let mut b = SampleBuilder::new("covered", Options::default());
    let [rows, columns] = ["rows", "columns"].map(|name| b.scalar(name, ScalarType::U32));
    let plane = b.tensor("plane", ScalarType::F32, 2, true);
    let space = b.tensor("space", ScalarType::F64, 3, true);
    let [zero, one, two, three, four] = [0u64, 1, 2, 3, 4].map(|v| b.constant(v));
    let mut ends = Vec::new();
    b.serial(|b| {
        for count in [rows, columns] {
            let seven = b.constant(7u32);
            let count = b.binary(BinaryOp::And, count, seven);
            let count = b.cast(count, ScalarType::U64);
            ends.push(b.named("end", count));
        }
    });
    b.parallel(&[("i", zero, ends[0]), ("j", zero, ends[1])], |b, at| {
        let sum = b.binary(BinaryOp::Add, at[0], at[1]);
        let low = b.binary(BinaryOp::And, sum, three);
        let skips = b.binary(BinaryOp::Eq, low, three);
        b.branch(skips, |b| b.push(Stmt::Continue), |_| {});
        b.repeat("k", [zero, three], false, |b, k| {
            let sum = b.binary(BinaryOp::Add, sum, k);
            let limit = b.constant(100u64);
            let small = b.binary(BinaryOp::Lt, sum, limit);
            b.assert(small, "small");
        });
        let [i, j, h] = [at[0], at[1], ends[0]].map(|value| b.cast(value, ScalarType::F32));
        let part = b.binary(BinaryOp::Div, i, h);
        let value = b.binary(BinaryOp::Add, part, j);
        b.store(plane, at, value);
    });
    b.parallel(&[("i", one, four), ("j", zero, three), ("k", zero, two)], |b, at| {
        let [i, j, k] = [at[0], at[1], at[2]].map(|value| b.cast(value, ScalarType::F64));
        let sum = b.binary(BinaryOp::Mul, i, j);
        let sum = b.binary(BinaryOp::Sub, sum, k);
        b.store(space, at, sum);
    });
    b.finish()
}
