//! Sample kernels with unusual loops and tensors: bounds computed on the device, tensors of zero and of many
//! dimensions, and tensors of structs.

use quadrants_ir::{AtomicOp, BinaryOp, DivRemOp, Offloaded, ScalarType, Stmt};

use crate::Builder;

pub(super) fn all() -> Vec<Offloaded> {
    vec![
        device_bounds(),
        ranks(),
        components(),
        histogram(),
        bytes(),
        covered(),
        gathered(),
        listed(),
        borders(),
        tabled(),
    ]
}

/// Loops whose bounds are loaded from a tensor, of all integer types; some have wrapped.
fn device_bounds() -> Offloaded {
    let mut b = Builder::new("device_bounds");
    let counts = b.read_only("counts", ScalarType::I64, 1);
    let line = b.tensor("line", ScalarType::I64, 1);
    let plane = b.tensor("plane", ScalarType::I64, 2);
    let [zero, first, second] = [0u64, 1, 2].map(|v| b.constant(v));
    let [few, most, far] = [7i64, 31, 1 << 60].map(|v| b.constant(v));
    let mut ends = Vec::new();
    b.serial_block(|b| {
        for (at, mask) in [(zero, most), (first, few)] {
            let count = b.let_load("count", counts, &[at]);
            let count = b.binary(BinaryOp::And, count, mask);
            let odd = b.let_load("odd", counts, &[second]);
            let one = b.constant(1i64);
            let odd = b.binary(BinaryOp::And, odd, one);
            let odd = b.binary(BinaryOp::Eq, odd, one);
            let wrapped = b.select(odd, far, count);
            ends.push((b.named("n", count), b.named("end", wrapped)));
        }
    });
    let [(n, end), (m, wrapped)] = [ends[0], ends[1]];
    let below = b.unary(quadrants_ir::UnaryOp::Neg, n);
    b.parallel_loop(&[("i", below, end)], |b, i| {
        let at = b.binary(BinaryOp::Add, i[0], n);
        let at = b.cast(ScalarType::U64, at);
        b.push_store(line, &[at], i[0]);
    });
    let rows = b.cast(ScalarType::U64, wrapped);
    let columns = b.cast(ScalarType::I32, m);
    let start = b.constant(1i32);
    b.parallel_loop(&[("j", zero, rows), ("k", start, columns)], |b, at| {
        let k = b.cast(ScalarType::U64, at[1]);
        b.push_store(plane, &[at[0], k], n);
    });
    let third = b.cast(ScalarType::U32, n);
    let none = b.constant(0u32);
    b.parallel_loop(&[("i", none, third)], |b, i| {
        let at = b.cast(ScalarType::U64, i[0]);
        let value = b.cast(ScalarType::I64, i[0]);
        b.push_store(line, &[at], value);
    });
    b.finish()
}

/// Tensors of every rank, accessed in and out of range.
fn ranks() -> Offloaded {
    let mut b = Builder::new("ranks");
    let tensors: Vec<_> =
        (0..=6u8).map(|rank| b.tensor(&format!("t{rank}"), ScalarType::I32, rank)).collect();
    let begin = b.scalar("begin", ScalarType::U32);
    let three = b.constant(3u32);
    let end = b.binary(BinaryOp::Add, begin, three);
    b.parallel_loop(&[("i", begin, end)], |b, i| {
        let one = b.constant(1u64);
        let at = b.cast(ScalarType::U64, i[0]);
        let odd = b.binary(BinaryOp::And, at, one);
        for (rank, &tensor) in tensors.iter().enumerate() {
            // The outermost index differs, so that iterations share no element except the scalar.
            let index: Vec<_> = (0..rank).map(|axis| if axis == 0 { at } else { odd }).collect();
            if rank == 0 {
                let value = b.constant(5i32);
                b.push_store(tensor, &index, value);
                continue;
            }
            let old = b.let_load("old", tensor, &index);
            let scalar = b.let_load("scalar", tensors[0], &[]);
            let sum = b.binary(BinaryOp::Add, old, scalar);
            b.push_store(tensor, &index, sum);
        }
    });
    b.finish()
}

/// Tensors of several scalars per element, accessed in and out of range: elements and scalars of them.
fn components() -> Offloaded {
    let mut b = Builder::new("components");
    let place = b.component("p[].place", ScalarType::I32, 1, 3);
    let kind = b.component("p[].kind.0", ScalarType::I16, 1, 1);
    let sums = b.component("sums[]", ScalarType::U32, 0, 2);
    let grid = b.component("grid[].flow", ScalarType::F64, 2, 4);
    let begin = b.scalar("begin", ScalarType::U32);
    let five = b.constant(5u32);
    let end = b.binary(BinaryOp::Add, begin, five);
    b.parallel_loop(&[("i", begin, end)], |b, i| {
        let [one, three] = [1u64, 3].map(|v| b.constant(v));
        let at = b.cast(ScalarType::U64, i[0]);
        let old = b.let_load("old", kind, &[at]);
        // Also beyond the scalars of an element in range.
        let choice = b.binary(BinaryOp::And, at, three);
        let x = b.let_load("x", place, &[at, one]);
        let wide = b.cast(ScalarType::I32, old);
        let sum = b.binary(BinaryOp::Add, x, wide);
        b.push_store(place, &[at, choice], sum);
        let low = b.cast(ScalarType::I16, sum);
        b.push_store(kind, &[at], low);
        let flow = b.let_load("flow", grid, &[one, at, choice]);
        b.push_store(grid, &[at, one, choice], flow);
        let odd = b.binary(BinaryOp::And, at, one);
        let by = b.cast(ScalarType::U32, sum);
        let first = b.atomic(AtomicOp::Add, sums, &[odd], by);
        b.push(Stmt::Eval { value: first });
    });
    b.parallel_loop(&[("j", begin, end)], |b, j| {
        let one = b.constant(1u64);
        let value = b.atomic(AtomicOp::Max, sums, &[one], j[0]);
        b.push(Stmt::Eval { value });
    });
    b.finish()
}

/// A table, an array that starts like one and is written, and an unrolled loop over both.
fn tabled() -> Offloaded {
    let mut b = Builder::new("tabled");
    let at = b.read_only("at", ScalarType::U32, 1);
    let y = b.tensor("y", ScalarType::I32, 1);
    let (zero, len) = (b.constant(0u64), b.dim(y, 0));
    b.parallel_loop(&[("i", zero, len)], |b, i| {
        let (table, changed) =
            (b.array("table", ScalarType::I32, 5), b.array("changed", ScalarType::I32, 3));
        // The zero at the end is not stored.
        for (index, value) in [3, -1, 4, -1].into_iter().enumerate() {
            let (index, value) = (b.constant(index as u64), b.constant(value));
            b.array_store(table, index, value);
        }
        let seven = b.constant(7i32);
        b.array_store(changed, zero, seven);
        let (five, three) = (b.constant(5u64), b.constant(3u64));
        let k = b.let_load("k", at, i);
        let k = b.cast(ScalarType::U64, k);
        let index = b.let_div_rem("index", DivRemOp::Rem, k, five);
        let value = b.array_load("value", table, index);
        let to = b.let_div_rem("to", DivRemOp::Rem, k, three);
        b.array_store(changed, to, value);
        let sum = b.define("sum", value, true);
        b.walk("l", [zero, three], |b, l| {
            let own = b.array_load("own", changed, l);
            let factor = b.array_load("factor", table, l);
            let (old, more) = (b.read(sum), b.binary(BinaryOp::Mul, own, factor));
            let new = b.binary(BinaryOp::Add, old, more);
            b.assign(sum, new);
        });
        let sum = b.read(sum);
        b.push_store(y, i, sum);
    });
    b.finish()
}

/// Loops of several dimensions whose rows begin few iterations after a multiple of 32: with 64-bit and 32-bit
/// variables, at 3, 33 and 2, and without iterations. Rows that begin at 9 and at a value of the launch do not.
fn borders() -> Offloaded {
    let mut b = Builder::new("borders");
    let x = b.read_only("x", ScalarType::I32, 2);
    let y = b.tensor("y", ScalarType::I32, 2);
    let flat = b.tensor("flat", ScalarType::I32, 1);
    let z = b.tensor("z", ScalarType::I32, 2);
    let [zero, one, three, five, six, nine, late] =
        [0u64, 1, 3, 5, 6, 9, 33].map(|value| b.constant(value));
    let [rows, columns] = [0, 1].map(|axis| b.dim(y, axis));
    let len = b.dim(flat, 0);
    b.parallel_loop(&[("i", one, rows), ("j", three, columns)], |b, at| {
        let left = b.binary(BinaryOp::Sub, at[1], three);
        let [value, more] = [at[1], left].map(|j| b.let_load("value", x, &[at[0], j]));
        let sum = b.binary(BinaryOp::Add, value, more);
        b.push_store(y, at, sum);
    });
    for begin in [late, nine, rows] {
        b.parallel_loop(&[("k", zero, one), ("l", begin, len)], |b, at| {
            let own = b.let_load("own", flat, &[at[1]]);
            let [more, l] = [at[0], at[1]].map(|value| b.cast(ScalarType::I32, value));
            let sum = b.binary(BinaryOp::Add, own, more);
            let sum = b.binary(BinaryOp::Add, sum, l);
            b.push_store(flat, &[at[1]], sum);
        });
    }
    let [first, second, end] = [-1i32, 2, 7].map(|value| b.constant(value));
    b.parallel_loop(&[("m", first, end), ("n", second, end)], |b, at| {
        let own = b.binary(BinaryOp::Add, at[0], at[1]);
        let index = [at[0], at[1]].map(|value| b.cast(ScalarType::U64, value));
        let row = b.binary(BinaryOp::Add, index[0], one);
        b.push_store(z, &[row, index[1]], own);
    });
    let few = b.binary(BinaryOp::Sub, rows, six);
    b.parallel_loop(&[("p", zero, rows), ("q", five, few)], |b, at| {
        let seven = b.constant(7i32);
        b.push_store(z, at, seven);
    });
    b.finish()
}

/// Indices from tensors, most of them out of range, in loops of one and two dimensions whose iterations load first and
/// then store. Of two stores the second may be out of range.
fn gathered() -> Offloaded {
    let mut b = Builder::new("gathered");
    let at = b.read_only("at", ScalarType::U32, 1);
    let x = b.read_only("x", ScalarType::I32, 1);
    let y = b.tensor("y", ScalarType::I32, 1);
    let z = b.tensor("z", ScalarType::I32, 1);
    let rows = b.read_only("rows", ScalarType::U32, 2);
    let grid = b.read_only("grid", ScalarType::I32, 2);
    let sums = b.tensor("sums", ScalarType::I32, 2);
    let (zero, len) = (b.constant(0u64), b.dim(y, 0));
    b.parallel_loop(&[("i", zero, len)], |b, i| {
        let two = b.constant(2u64);
        let k = b.let_load("k", at, i);
        let k = b.cast(ScalarType::U64, k);
        let value = b.let_load("value", x, &[k]);
        let own = b.let_load("own", y, i);
        let sum = b.binary(BinaryOp::Add, value, own);
        b.push_store(y, i, sum);
        let after = b.binary(BinaryOp::Add, i[0], two);
        b.push_store(z, &[after], value);
    });
    let extents = [0, 1].map(|axis| b.dim(sums, axis));
    b.parallel_loop(&[("j", zero, extents[0]), ("l", zero, extents[1])], |b, at| {
        let down = b.let_load("down", rows, at);
        let down = b.cast(ScalarType::U64, down);
        let row = b.binary(BinaryOp::Add, at[0], down);
        let value = b.let_load("value", grid, &[row, at[1]]);
        let own = b.let_load("own", sums, at);
        let sum = b.binary(BinaryOp::Add, value, own);
        b.push_store(sums, at, sum);
    });
    b.finish()
}

/// Iterations with lists of indices, many of them out of range: a loop over a list with a condition, loads and another
/// loop under conditions, a division that may be by zero, several loads of one element, and stores with constant
/// indices.
fn listed() -> Offloaded {
    let mut b = Builder::new("listed");
    let starts = b.read_only("starts", ScalarType::U32, 1);
    let list = b.read_only("list", ScalarType::U32, 1);
    let points = b.component("points[]", ScalarType::F32, 1, 4);
    let weights = b.read_only("weights", ScalarType::I32, 1);
    let table = b.read_only("table", ScalarType::I32, 2);
    let y = b.tensor("y", ScalarType::I32, 1);
    let moved = b.component("moved[]", ScalarType::F32, 1, 2);
    let z = b.tensor("z", ScalarType::I32, 2);
    let (zero, len) = (b.constant(0u64), b.dim(y, 0));
    b.parallel_loop(&[("i", zero, len)], |b, i| {
        let components = [0u64, 1, 2, 3].map(|v| b.constant(v));
        let [few, more, third, half] = [7u64, 8, 16, 32].map(|v| b.constant(v));
        let i = i[0];
        // Of half of the iterations, indices of the list are out of range, and of others, some indices in it.
        let [third, half] = [third, half].map(|bit| b.binary(BinaryOp::And, i, bit));
        let start = b.let_load("start", starts, &[i]);
        let start = b.cast(ScalarType::U64, start);
        let begin = b.binary(BinaryOp::And, start, more);
        let begin = b.binary(BinaryOp::Add, begin, half);
        let begin = b.binary(BinaryOp::Add, begin, half);
        let next = b.binary(BinaryOp::Add, i, components[1]);
        let count = b.let_load("count", starts, &[next]);
        let count = b.cast(ScalarType::U64, count);
        let count = b.binary(BinaryOp::And, count, few);
        let end = b.binary(BinaryOp::Add, begin, count);
        let own = components.map(|at| b.let_load("own", points, &[i, at]));
        let nothing = b.constant(0i32);
        let still = b.constant(0f32);
        let sum = b.define("sum", nothing, true);
        let moves = [0, 1].map(|_| b.define("move", still, true));
        b.walk("k", [begin, end], |b, k| {
            let j = b.let_load("j", list, &[k]);
            let j = b.cast(ScalarType::U64, j);
            let mask = b.constant(63u64);
            let j = b.binary(BinaryOp::And, j, mask);
            let j = b.binary(BinaryOp::Add, j, third);
            let other = [components[0], components[3]].map(|at| b.let_load("p", points, &[j, at]));
            let weight = b.let_load("weight", weights, &[j]);
            let near = b.binary(BinaryOp::Lt, own[0], other[0]);
            b.branch(
                near,
                |b| {
                    let before = b.read(sum);
                    let after = b.binary(BinaryOp::Add, before, weight);
                    b.assign(sum, after);
                },
                |b| b.assign(moves[1], other[1]),
            );
        });
        let divisor = b.constant(3i32);
        let total = b.read(sum);
        let divisor = b.binary(BinaryOp::And, total, divisor);
        let part = b.let_div_rem("part", DivRemOp::Div, total, divisor);
        let odd = b.constant(1i32);
        let bits = b.binary(BinaryOp::And, part, odd);
        let odd = b.binary(BinaryOp::Eq, bits, odd);
        b.branch(
            odd,
            |b| {
                let far = b.let_load("far", weights, &[start]);
                b.assign(sum, far);
                let [four, ten] = [4u64, 10].map(|v| b.constant(v));
                b.walk("row", [components[0], four], |b, row| {
                    let low = b.binary(BinaryOp::And, i, ten);
                    let value = b.let_load("value", table, &[row, low]);
                    let before = b.read(sum);
                    let after = b.binary(BinaryOp::Add, before, value);
                    b.assign(sum, after);
                });
            },
            |b| {
                let value = b.let_load("value", weights, &[i]);
                b.assign(sum, value);
            },
        );
        let total = b.read(sum);
        b.push_store(y, &[i], total);
        for (at, value) in moves.into_iter().enumerate() {
            let value = b.read(value);
            b.push_store(moved, &[i, components[at]], value);
        }
        b.push_store(z, &[components[1], i], part);
    });
    b.finish()
}

/// Many elements combined into few: of each iteration, and of some iterations.
fn histogram() -> Offloaded {
    let mut b = Builder::new("histogram");
    let x = b.read_only("x", ScalarType::I32, 1);
    let bins = b.tensor("bins", ScalarType::U32, 1);
    let least = b.tensor("least", ScalarType::I32, 1);
    let (zero, len) = (b.constant(0u64), b.dim(x, 0));
    b.parallel_loop(&[("i", zero, len)], |b, i| {
        let [fifteen, one] = [15u32, 1].map(|v| b.constant(v));
        let value = b.let_load("value", x, i);
        let bits = b.cast(ScalarType::U32, value);
        let bin = b.binary(BinaryOp::And, bits, fifteen);
        let bin = b.cast(ScalarType::U64, bin);
        let value = b.atomic(AtomicOp::Add, bins, &[bin], one);
        b.push(Stmt::Eval { value });
    });
    b.parallel_loop(&[("j", zero, len)], |b, j| {
        let (fifteen, even) = (b.constant(15u64), b.constant(1u64));
        let value = b.let_load("value", x, j);
        let odd = b.binary(BinaryOp::And, j[0], even);
        let odd = b.binary(BinaryOp::Eq, odd, even);
        b.branch(
            odd,
            |b| {
                let bin = b.cast(ScalarType::U64, value);
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
    let mut b = Builder::new("bytes");
    let from = b.scalar("from", ScalarType::U32);
    let bins = b.tensor("bins", ScalarType::U32, 1);
    let sums = b.tensor("sums", ScalarType::I32, 1);
    let types = [
        ScalarType::U8,
        ScalarType::I8,
        ScalarType::Bool,
        ScalarType::U16,
        ScalarType::I16,
        ScalarType::F16,
    ];
    let tensors = types.map(|ty| b.read_only(&format!("of_{ty}"), ty, 1));
    let most = b.constant(31u32);
    let from = b.binary(BinaryOp::And, from, most);
    let from = b.cast(ScalarType::U64, from);
    for (at, &tensor) in tensors.iter().enumerate() {
        let len = b.dim(tensor, 0);
        b.parallel_loop(&[("i", from, len)], |b, i| {
            let value = b.let_load("value", tensor, i);
            let add = match at {
                0 | 3 => {
                    let fifteen = b.constant(15u64);
                    let bin = b.cast(ScalarType::U32, value);
                    let bin = b.cast(ScalarType::U64, bin);
                    let bin = b.binary(BinaryOp::And, bin, fifteen);
                    let one = b.constant(1u32);
                    b.atomic(AtomicOp::Add, bins, &[bin], one)
                }
                _ => {
                    let place = b.constant(at as u64);
                    // For `f16` the bits are not the value.
                    let half = b.ty(value) == ScalarType::F16;
                    let value = if half { b.cast(ScalarType::F32, value) } else { value };
                    let value = b.cast(ScalarType::I32, value);
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
    let mut b = Builder::new("covered");
    let [rows, columns] = ["rows", "columns"].map(|name| b.scalar(name, ScalarType::U32));
    let plane = b.tensor("plane", ScalarType::F32, 2);
    let space = b.tensor("space", ScalarType::F64, 3);
    let [zero, one, two, three, four] = [0u64, 1, 2, 3, 4].map(|v| b.constant(v));
    let mut ends = Vec::new();
    b.serial_block(|b| {
        for count in [rows, columns] {
            let seven = b.constant(7u32);
            let count = b.binary(BinaryOp::And, count, seven);
            let count = b.cast(ScalarType::U64, count);
            ends.push(b.named("end", count));
        }
    });
    b.parallel_loop(&[("i", zero, ends[0]), ("j", zero, ends[1])], |b, at| {
        let sum = b.binary(BinaryOp::Add, at[0], at[1]);
        let low = b.binary(BinaryOp::And, sum, three);
        let skips = b.binary(BinaryOp::Eq, low, three);
        b.branch(skips, |b| b.push(Stmt::Continue), |_| {});
        b.repeat("k", [zero, three], false, |b, k| {
            let sum = b.binary(BinaryOp::Add, sum, k);
            let limit = b.constant(100u64);
            let small = b.binary(BinaryOp::Lt, sum, limit);
            b.push_assert(small, "small");
        });
        let [i, j, h] = [at[0], at[1], ends[0]].map(|value| b.cast(ScalarType::F32, value));
        let part = b.binary(BinaryOp::Div, i, h);
        let value = b.binary(BinaryOp::Add, part, j);
        b.push_store(plane, at, value);
    });
    b.parallel_loop(&[("i", one, four), ("j", zero, three), ("k", zero, two)], |b, at| {
        let [i, j, k] = [at[0], at[1], at[2]].map(|value| b.cast(ScalarType::F64, value));
        let sum = b.binary(BinaryOp::Mul, i, j);
        let sum = b.binary(BinaryOp::Sub, sum, k);
        b.push_store(space, at, sum);
    });
    b.finish()
}
