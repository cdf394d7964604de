//! Sample kernels whose iterations loop over a row each, as for sparse matrices: with indices loaded from memory, and
//! sums.

use quadrants_ir::{BinaryOp, Offloaded, ScalarType};

use crate::Builder;

pub(super) fn all() -> Vec<Offloaded> {
    // For 64 elements: all in range, and some out of range.
    vec![rows("rows", 63, 31), rows("rows_beyond", 127, 95)]
}

/// Row starts and row lengths are at most `most`; the last row starts beyond half of the tensor.
fn rows(name: &str, most: u32, long: u32) -> Offloaded {
    let mut b = Builder::new(name);
    let starts = b.read_only("starts", ScalarType::U32, 1);
    let columns = b.read_only("columns", ScalarType::U32, 1);
    let values = b.read_only("values", ScalarType::I32, 1);
    let table = b.read_only("table", ScalarType::I32, 2);
    let y = b.tensor("y", ScalarType::I32, 1);
    let (none, len) = (b.constant(0u64), b.dim(y, 0));
    let most = b.constant(most);
    let long = b.constant(long);
    let limited = |b: &mut Builder, value, most| b.binary(BinaryOp::And, value, most);
    b.parallel_loop(&[("i", none, len)], |b, i| {
        let start = b.let_load("start", starts, i);
        let start = limited(b, start, long);
        let begin = b.named("begin", start);
        let count = b.let_load("count", columns, i);
        let count = limited(b, count, long);
        let end = b.binary(BinaryOp::Add, begin, count);
        let zero = b.constant(0i32);
        let sum = b.define("sum", zero, true);
        b.walk("k", [begin, end], |b, k| {
            let at = b.cast(ScalarType::U64, k);
            let value = b.let_load("value", values, &[at]);
            let column = b.let_load("column", columns, &[at]);
            let column = limited(b, column, most);
            let column = b.cast(ScalarType::U64, column);
            let other = b.let_load("other", values, &[column]);
            let product = b.binary(BinaryOp::Mul, value, other);
            let before = b.read(sum);
            let after = b.binary(BinaryOp::Add, before, product);
            b.assign(sum, after);
        });
        // Two loop-carried values that depend on each other, and a signed index that starts below zero.
        let [first, second] = ["first", "second"].map(|name| b.define(name, zero, true));
        let [two, low, seven] = [2i64, -2, 7].map(|v| b.constant(v));
        let high = b.cast(ScalarType::I64, count);
        let high = b.binary(BinaryOp::And, high, seven);
        let row = b.constant(7u64);
        let row = b.binary(BinaryOp::And, i[0], row);
        b.walk("k", [low, high], |b, k| {
            let at = b.binary(BinaryOp::Add, k, two);
            let at = b.cast(ScalarType::U64, at);
            let eighth = b.constant(7u64);
            let narrow = b.binary(BinaryOp::And, at, eighth);
            let value = b.let_load("value", table, &[row, narrow]);
            let other = b.let_load("other", values, &[at]);
            let (old, last) = (b.read(first), b.read(second));
            let next = b.binary(BinaryOp::Add, last, value);
            b.assign(first, next);
            let next = b.binary(BinaryOp::Xor, old, other);
            b.assign(second, next);
        });
        // From the start of the row.
        let three = b.constant(3u64);
        let base = b.binary(BinaryOp::Mul, row, three);
        let length = b.cast(ScalarType::U64, count);
        b.walk("k", [none, length], |b, k| {
            let at = b.binary(BinaryOp::Add, base, k);
            let value = b.let_load("value", values, &[at]);
            let before = b.read(sum);
            let after = b.binary(BinaryOp::Sub, before, value);
            b.assign(sum, after);
        });
        let (sum, first, second) = (b.read(sum), b.read(first), b.read(second));
        let both = b.binary(BinaryOp::Xor, first, second);
        let all = b.binary(BinaryOp::Add, sum, both);
        b.push_store(y, i, all);
    });
    let four = b.constant(4u64);
    b.blocks(four, 16, |b, block| {
        let tile = b.shared("tile", ScalarType::I32, &[16]);
        let sixteen = b.constant(16u64);
        let first = b.binary(BinaryOp::Mul, block, sixteen);
        let first = b.named("first", first);
        b.each(|b, t| {
            let at = b.binary(BinaryOp::Add, first, t);
            let value = b.let_load("value", values, &[at]);
            b.shared_store(tile, &[t], value);
        });
        b.each(|b, t| {
            let at = b.binary(BinaryOp::Add, first, t);
            let end = b.let_load("end", columns, &[at]);
            let quarter = b.constant(2u32);
            let few = b.binary(BinaryOp::Shr, most, quarter);
            let end = b.binary(BinaryOp::And, end, few);
            let zero = b.constant(0i32);
            let sum = b.define("sum", zero, true);
            let start = b.constant(0u32);
            b.walk("k", [start, end], |b, k| {
                let place = b.cast(ScalarType::U64, k);
                let value = b.shared_load("value", tile, &[place]);
                let before = b.read(sum);
                let after = b.binary(BinaryOp::Add, before, value);
                b.assign(sum, after);
            });
            let value = b.let_load("value", y, &[at]);
            let sum = b.read(sum);
            let value = b.binary(BinaryOp::Add, value, sum);
            b.push_store(y, &[at], value);
        });
    });
    b.finish()
}
