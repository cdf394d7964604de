//! Sample kernels with block loops: shared arrays, barriers and collectives.

use quadrants_ir::{
    AtomicOp, BinaryOp, CollectiveOp, DivRemOp, ExprKind, Offloaded, Options, ReduceOp, ScalarType,
    SharedExtent, Stmt,
};

use crate::Builder;

pub(super) fn all() -> Vec<Offloaded> {
    let ints = [ScalarType::I32, ScalarType::U64, ScalarType::U32, ScalarType::I64];
    let floats = [ScalarType::F32, ScalarType::I64, ScalarType::F64, ScalarType::U32];
    vec![
        blocks(),
        shared_types("shared_types", false),
        shared_types("dynamic_types", true),
        dynamic_grid(),
        exchanges(),
        warps(),
        transpose(),
        own_elements(),
        filled(),
        arrays(),
        reductions("reductions", ints),
        reductions("reductions_of_floats", floats),
    ]
}

/// Each thread has an array of its own, some leave a phase because of an index out of range, and threads exchange pairs
/// through an array of two dimensions.
fn arrays() -> Offloaded {
    let mut b = Builder::new("arrays");
    let y = b.tensor("y", ScalarType::U32, 1);
    let [count, two, three, threads] = [4u64, 2, 3, 16].map(|v| b.constant(v));
    b.blocks(count, 16, |b, block| {
        let pairs = b.shared_component("pairs", ScalarType::U32, &[4, 4], 2);
        let place = |b: &mut Builder, t, choice: u64| {
            let row = b.binary(BinaryOp::Shr, t, two);
            let column = b.binary(BinaryOp::And, t, three);
            [row, column, b.constant(choice)]
        };
        b.each(|b, t| {
            let counts = b.array("counts", ScalarType::U32, 17);
            let flags = b.array("flags", ScalarType::Bool, 3);
            let at = b.binary(BinaryOp::Add, t, block);
            let at = b.named("at", at);
            b.check_index(counts.1, at, 17);
            let number = b.cast(ScalarType::U32, t);
            b.array_store(counts, at, number);
            let (first, yes) = (b.constant(0u64), b.constant(true));
            b.array_store(flags, first, yes);
            let value = b.array_load("value", counts, t);
            let flag = b.array_load("flag", flags, first);
            let none = b.constant(9u32);
            let value = b.select(flag, value, none);
            let all = place(b, t, 0);
            b.shared_store(pairs, &all, value);
            let all = place(b, t, 1);
            b.shared_store(pairs, &all, number);
        });
        b.each(|b, t| {
            let [row, column, choice] = place(b, t, 1);
            let swapped = b.shared_load("swapped", pairs, &[column, row, choice]);
            let own = place(b, t, 0);
            let own = b.shared_load("own", pairs, &own);
            let sum = b.binary(BinaryOp::Add, swapped, own);
            let first = b.binary(BinaryOp::Mul, block, threads);
            let at = b.binary(BinaryOp::Add, first, t);
            b.push_store(y, &[at], sum);
        });
    });
    b.finish()
}

/// Each block reverses its part of a tensor, counts into its own histogram, and runs phases in a loop. Some threads
/// leave a phase early.
fn blocks() -> Offloaded {
    let mut b = Builder::new("blocks");
    let x = b.read_only("x", ScalarType::I32, 1);
    let y = b.tensor("y", ScalarType::I32, 1);
    let bins = b.tensor("bins", ScalarType::U32, 1);
    let [count, threads, last] = [4u64, 16, 15].map(|v| b.constant(v));
    b.blocks(count, 16, |b, block| {
        let tile = b.shared("tile", ScalarType::I32, &[16]);
        let counts = b.shared("counts", ScalarType::U32, &[40]);
        let start = b.binary(BinaryOp::Mul, block, threads);
        let start = b.named("start", start);
        b.each(|b, t| {
            let at = b.binary(BinaryOp::Add, start, t);
            let value = b.let_load("value", x, &[at]);
            b.shared_store(tile, &[t], value);
        });
        let [zero, rounds] = [0u64, 3].map(|v| b.constant(v));
        b.repeat("round", [zero, rounds], false, |b, round| {
            b.each(|b, t| {
                let odd = b.binary(BinaryOp::And, t, round);
                let none = b.constant(0u64);
                let skips = b.binary(BinaryOp::Eq, odd, none);
                b.branch(skips, |b| b.push(Stmt::Continue), |_| {});
                let old = b.shared_load("old", tile, &[t]);
                let low = b.constant(7i32);
                let low = b.binary(BinaryOp::And, old, low);
                let at = b.cast(ScalarType::U64, low);
                let one = b.constant(1u32);
                let add = b.shared_atomic(AtomicOp::Add, counts, at, one);
                b.push(Stmt::Eval { value: add });
            });
            b.each(|b, t| {
                let mirrored = b.binary(BinaryOp::Sub, last, t);
                let counted = b.shared_load("counted", counts, &[mirrored]);
                let counted = b.cast(ScalarType::I32, counted);
                let own = b.shared_load("own", tile, &[t]);
                let sum = b.binary(BinaryOp::Add, own, counted);
                b.shared_store(tile, &[t], sum);
            });
        });
        b.each(|b, t| {
            let mirrored = b.binary(BinaryOp::Sub, last, t);
            let value = b.shared_load("value", tile, &[mirrored]);
            let at = b.binary(BinaryOp::Add, start, t);
            b.push_store(y, &[at], value);
            let none = b.constant(0u64);
            let first = b.binary(BinaryOp::Eq, block, none);
            b.branch(
                first,
                |b| {
                    let seen = b.shared_load("seen", counts, &[t]);
                    b.push_store(bins, &[t], seen);
                },
                |_| {},
            );
            let zero = b.constant(0i32);
            let positive = b.binary(BinaryOp::Ge, value, zero);
            b.push_assert(positive, "counts do not make it negative");
        });
    });
    b.finish()
}

/// Shared arrays of all types with all atomics, indices that may be out of range, and a number of blocks that depends
/// on the launch. If `is_dynamic`, the extents of the arrays depend on it too.
fn shared_types(name: &str, is_dynamic: bool) -> Offloaded {
    let mut b = Builder::new(name);
    let n = b.scalar("n", ScalarType::U32);
    let out = b.tensor("out", ScalarType::I64, 1);
    let types = [
        ScalarType::Bool,
        ScalarType::I32,
        ScalarType::I64,
        ScalarType::U32,
        ScalarType::U64,
        ScalarType::F32,
        ScalarType::F64,
    ];
    let count = b.cast(ScalarType::U64, n);
    let mask = b.constant(15u64);
    let count = b.binary(BinaryOp::And, count, mask);
    let mut extent = SharedExtent::Constant(6);
    if is_dynamic {
        b.serial_block(|b| {
            let nine = b.constant(9u64);
            let len = b.let_div_rem("rest", DivRemOp::Rem, count, nine);
            extent = b.define("len", len, false).into();
        });
    }
    b.blocks(count, 8, |b, block| {
        let arrays = types.map(|ty| b.dynamic(&format!("of_{ty}"), ty, &[extent], None));
        b.each(|b, t| {
            let sum = b.binary(BinaryOp::Add, block, t);
            for (array, ty) in arrays.into_iter().zip(types) {
                let value = if ty == ScalarType::Bool {
                    b.binary(BinaryOp::Gt, sum, mask)
                } else {
                    b.cast(ty, sum)
                };
                b.shared_store(array, &[t], value);
                if ty != ScalarType::Bool {
                    let zero = b.constant(0u64);
                    let add = b.shared_atomic(AtomicOp::Add, array, zero, value);
                    b.push(Stmt::Eval { value: add });
                }
                if ty.is_int() {
                    let four = b.constant(4u64);
                    let least = b.shared_atomic(AtomicOp::Min, array, four, value);
                    let least = b.named("least", least);
                    let most = b.shared_atomic(AtomicOp::Max, array, t, least);
                    b.push(Stmt::Eval { value: most });
                }
            }
        });
        b.each(|b, t| {
            let mut sum = b.constant(0i64);
            for (array, ty) in arrays.into_iter().zip(types) {
                let value = b.shared_load("value", array, &[t]);
                let value =
                    if ty == ScalarType::I64 { value } else { b.cast(ScalarType::I64, value) };
                sum = b.binary(BinaryOp::Add, sum, value);
            }
            b.push_store(out, &[t], sum);
        });
    });
    b.finish()
}

/// A constant array between dynamic ones of two dimensions, of which one is a component of aggregates.
fn dynamic_grid() -> Offloaded {
    let mut b = Builder::new("dynamic_grid");
    let x = b.read_only("x", ScalarType::I32, 2);
    let y = b.tensor("y", ScalarType::I64, 1);
    let (mut rows, mut columns) = (None, None);
    b.serial_block(|b| {
        let (height, width) = (b.dim(x, 0), b.dim(x, 1));
        let one = b.constant(1u64);
        let padded = b.binary(BinaryOp::Add, width, one);
        rows = Some(b.define("rows", height, false));
        columns = Some(b.define("columns", padded, false));
    });
    let [rows, columns] = [rows, columns].map(|local| local.map_or(0.into(), SharedExtent::from));
    let [count, four, threads] = [3u64, 4, 32].map(|v| b.constant(v));
    b.blocks(count, 32, |b, block| {
        let flags = b.dynamic("flags", ScalarType::Bool, &[rows, columns], None);
        let fixed = b.shared("fixed", ScalarType::I32, &[32]);
        let pairs = b.dynamic("pairs", ScalarType::F64, &[4.into(), columns], Some(2));
        let last = b.dynamic("last", ScalarType::I64, &[columns], None);
        b.each(|b, t| {
            let (row, column) = (b.let_div_rem("row", DivRemOp::Div, t, four), t);
            let column = b.let_div_rem("column", DivRemOp::Rem, column, four);
            let value = b.let_load("value", x, &[row, column]);
            let zero = b.constant(0i32);
            let positive = b.binary(BinaryOp::Gt, value, zero);
            b.shared_store(flags, &[row, column], positive);
            b.shared_store(fixed, &[t], value);
            let wide = b.cast(ScalarType::F64, value);
            let choice = b.binary(BinaryOp::Shr, t, four);
            b.shared_store(pairs, &[column, row, choice], wide);
            let wide = b.cast(ScalarType::I64, t);
            let add = b.shared_atomic(AtomicOp::Add, last, row, wide);
            b.push(Stmt::Eval { value: add });
        });
        b.each(|b, t| {
            let row = b.let_div_rem("row", DivRemOp::Div, t, four);
            let column = b.let_div_rem("column", DivRemOp::Rem, t, four);
            let flag = b.shared_load("flag", flags, &[row, column]);
            let own = b.shared_load("own", fixed, &[t]);
            let choice = b.binary(BinaryOp::Shr, t, four);
            let pair = b.shared_load("pair", pairs, &[column, row, choice]);
            let sum = b.shared_load("sum", last, &[column]);
            let [flag, own, pair] = [flag, own, pair].map(|v| b.cast(ScalarType::I64, v));
            let mut all = sum;
            for part in [flag, own, pair] {
                all = b.binary(BinaryOp::Add, all, part);
            }
            let first = b.binary(BinaryOp::Mul, block, threads);
            let at = b.binary(BinaryOp::Add, first, t);
            b.push_store(y, &[at], all);
        });
    });
    b.finish()
}

/// Reductions and scans of all types, in blocks whose last warp has one thread.
fn exchanges() -> Offloaded {
    let mut b = Builder::with_options("exchanges", Options { strict: true, ..Options::default() });
    let x = b.read_only("x", ScalarType::I32, 1);
    let y = b.tensor("y", ScalarType::U64, 1);
    let types = [
        ScalarType::I32,
        ScalarType::I64,
        ScalarType::U32,
        ScalarType::U64,
        ScalarType::F32,
        ScalarType::F64,
    ];
    let ops = [ReduceOp::Add, ReduceOp::Min, ReduceOp::Max];
    let scan = |exclusive| ops.map(|op| CollectiveOp::Scan { op, exclusive });
    let all = [ops.map(CollectiveOp::Reduce), scan(false), scan(true)].concat();
    let [count, last] = [2u64, 63].map(|v| b.constant(v));
    b.blocks(count, 33, |b, block| {
        let mut made = Vec::new();
        for ty in types {
            for op in &all {
                made.push(b.collective(op.name(), *op, ty, |b, t| {
                    let at = b.binary(BinaryOp::Xor, t, block);
                    let at = b.binary(BinaryOp::And, at, last);
                    let value = b.let_load("value", x, &[at]);
                    (if ty == ScalarType::I32 { value } else { b.cast(ty, value) }, None)
                }));
            }
        }
        b.each(|b, t| {
            let mut sum = b.constant(0u64);
            for local in made {
                let (value, by) = (b.read(local), b.constant(31u64));
                let value = match b.ty(value) {
                    ScalarType::F32 => b.expr(ScalarType::U32, ExprKind::Bits { value }),
                    ScalarType::F64 => b.expr(ScalarType::U64, ExprKind::Bits { value }),
                    _ => value,
                };
                let value = match b.ty(value) {
                    ScalarType::U64 => value,
                    _ => b.cast(ScalarType::U64, value),
                };
                let product = b.binary(BinaryOp::Mul, sum, by);
                let added = b.binary(BinaryOp::Add, product, value);
                sum = b.named("sum", added);
            }
            let at = b.binary(BinaryOp::And, t, last);
            let add = b.atomic(AtomicOp::Add, y, &[at], sum);
            b.push(Stmt::Eval { value: add });
        });
    });
    b.finish()
}

/// Shuffles of all types and ballots in blocks whose last warp is short. Some inputs are changed by other phases, and
/// some results decide uniform branches.
fn warps() -> Offloaded {
    let mut b = Builder::new("warps");
    let x = b.read_only("x", ScalarType::I32, 1);
    let y = b.tensor("y", ScalarType::I64, 1);
    let types = [
        ScalarType::Bool,
        ScalarType::I32,
        ScalarType::I64,
        ScalarType::U32,
        ScalarType::U64,
        ScalarType::F32,
        ScalarType::F64,
    ];
    let [count, size] = [1u64, 40].map(|v| b.constant(v));
    b.blocks(count, 40, |b, block| {
        let tile = b.shared("tile", ScalarType::I32, &[40]);
        let start = b.binary(BinaryOp::Mul, block, size);
        let start = b.named("start", start);
        let mut made: Vec<_> = types
            .into_iter()
            .map(|ty| {
                b.collective("taken", CollectiveOp::Shuffle, ty, |b, t| {
                    let at = b.binary(BinaryOp::Add, start, t);
                    let value = b.let_load("value", x, &[at]);
                    let (five, odd) = (b.constant(5u64), b.constant(1i32));
                    let from = b.binary(BinaryOp::Xor, t, five);
                    let value = match ty {
                        ScalarType::I32 => {
                            b.shared_store(tile, &[t], value);
                            value
                        }
                        ScalarType::Bool => {
                            let low = b.binary(BinaryOp::And, value, odd);
                            b.binary(BinaryOp::Eq, low, odd)
                        }
                        _ => b.cast(ty, value),
                    };
                    (value, Some(from))
                })
            })
            .collect();
        let vote = |b: &mut Builder, t| {
            let value = b.shared_load("value", tile, &[t]);
            let limit = b.constant(0i32);
            (b.binary(BinaryOp::Gt, value, limit), None)
        };
        made.push(b.collective("votes", CollectiveOp::Ballot, ScalarType::U32, vote));
        for op in [ReduceOp::And, ReduceOp::Or] {
            let op = CollectiveOp::Reduce(op);
            made.push(b.collective(op.name(), op, ScalarType::Bool, vote));
        }
        b.each(|b, t| {
            let mut sum = b.constant(0i64);
            for local in made {
                let (value, three) = (b.read(local), b.constant(3i64));
                let value = if b.ty(value) == ScalarType::I64 {
                    value
                } else {
                    b.cast(ScalarType::I64, value)
                };
                sum = b.binary(BinaryOp::Mul, sum, three);
                sum = b.binary(BinaryOp::Add, sum, value);
            }
            let at = b.binary(BinaryOp::Add, start, t);
            b.push_store(y, &[at], sum);
        });
    });
    b.finish()
}

/// A matrix transpose through shared rows with one element of padding.
fn transpose() -> Offloaded {
    let mut b = Builder::new("transpose");
    let x = b.read_only("x", ScalarType::F32, 2);
    let y = b.tensor("y", ScalarType::F32, 2);
    let [one, three, seven] = [1u64, 3, 7].map(|v| b.constant(v));
    b.blocks(one, 64, |b, _| {
        let tile = b.shared("tile", ScalarType::F32, &[8, 9]);
        let place = |b: &mut Builder, t| {
            let row = b.binary(BinaryOp::Shr, t, three);
            let column = b.binary(BinaryOp::And, t, seven);
            [row, column]
        };
        b.each(|b, t| {
            let [row, column] = place(b, t);
            let value = b.let_load("value", x, &[row, column]);
            b.shared_store(tile, &[row, column], value);
        });
        b.each(|b, t| {
            let [row, column] = place(b, t);
            let value = b.shared_load("value", tile, &[column, row]);
            b.push_store(y, &[row, column], value);
        });
    });
    b.finish()
}

/// A two-dimensional loop that reduces into one element of several tensors, also under a condition and twice, and into
/// a tensor that it also uses otherwise.
fn reductions(name: &str, types: [ScalarType; 4]) -> Offloaded {
    let mut b = Builder::new(name);
    let x = b.read_only("x", ScalarType::I32, 2);
    let sums = types.map(|ty| b.tensor(&format!("sum_{ty}"), ty, 1));
    let more = b.tensor("more", ScalarType::I32, 0);
    let ops = [AtomicOp::Add, AtomicOp::Min, AtomicOp::Add, AtomicOp::Max];
    let [zero, three] = [0u64, 3].map(|v| b.constant(v));
    let (rows, columns) = (b.dim(x, 0), b.dim(x, 1));
    b.parallel_loop(&[("i", zero, rows), ("j", zero, columns)], |b, at| {
        let loaded = b.let_load("loaded", x, at);
        let mask = b.constant(255i32);
        let value = b.binary(BinaryOp::And, loaded, mask);
        for ((ty, sum), op) in types.into_iter().zip(sums).zip(ops) {
            let value = if ty == ScalarType::I32 { loaded } else { b.cast(ty, value) };
            let combine = b.atomic(op, sum, &[three], value);
            b.push(Stmt::Eval { value: combine });
        }
        let first = b.binary(BinaryOp::Eq, at[0], three);
        b.branch(
            first,
            |b| {
                let value =
                    if types[0] == ScalarType::I32 { value } else { b.cast(types[0], value) };
                let again = b.atomic(AtomicOp::Add, sums[0], &[three], value);
                b.push(Stmt::Eval { value: again });
            },
            |_| {},
        );
        let one = b.constant(1i32);
        let counted = b.atomic(AtomicOp::Add, more, &[], one);
        b.push(Stmt::Eval { value: counted });
        let other = b.atomic(AtomicOp::Add, more, &[], value);
        b.named("before", other);
    });
    b.finish()
}

/// Shared arrays of which each thread uses only its own element in all phases, with threads that leave early. Also
/// arrays that are not so: one is too short, one is read by another thread, one has atomics.
fn own_elements() -> Offloaded {
    let mut b = Builder::new("own_elements");
    let x = b.read_only("x", ScalarType::I32, 1);
    let y = b.tensor("y", ScalarType::I32, 1);
    let [count, sixteen, fifteen] = [4u64, 16, 15].map(|v| b.constant(v));
    b.blocks(count, 16, |b, block| {
        let sums = b.shared("sums", ScalarType::I32, &[16]);
        let seen = b.shared("seen", ScalarType::Bool, &[20]);
        let short = b.shared("short", ScalarType::I32, &[12]);
        let other = b.shared("other", ScalarType::I32, &[16]);
        let counted = b.shared("counted", ScalarType::I32, &[16]);
        let start = b.binary(BinaryOp::Mul, block, sixteen);
        let start = b.named("start", start);
        let [zero, rounds] = [0u64, 3].map(|v| b.constant(v));
        b.repeat("round", [zero, rounds], false, |b, round| {
            b.each(|b, t| {
                let at = b.binary(BinaryOp::Add, start, t);
                let value = b.let_load("value", x, &[at]);
                let old = b.shared_load("old", sums, &[t]);
                let sum = b.binary(BinaryOp::Add, old, value);
                b.shared_store(other, &[t], sum);
                let odd = b.binary(BinaryOp::And, t, round);
                let skips = b.binary(BinaryOp::Eq, odd, zero);
                b.branch(skips, |b| b.push(Stmt::Continue), |_| {});
                b.shared_store(sums, &[t], sum);
                let positive = b.constant(0i32);
                let positive = b.binary(BinaryOp::Gt, sum, positive);
                b.shared_store(seen, &[t], positive);
                let add = b.shared_atomic(AtomicOp::Add, counted, t, value);
                b.push(Stmt::Eval { value: add });
            });
        });
        b.each(|b, t| {
            let mirrored = b.binary(BinaryOp::Sub, fifteen, t);
            let sum = b.shared_load("sum", sums, &[t]);
            let seen = b.shared_load("seen", seen, &[t]);
            let short = b.shared_load("short", short, &[t]);
            let other = b.shared_load("other", other, &[mirrored]);
            let counted = b.shared_load("counted", counted, &[t]);
            let chosen = b.select(seen, other, counted);
            let all = b.binary(BinaryOp::Add, sum, chosen);
            let all = b.binary(BinaryOp::Xor, all, short);
            let at = b.binary(BinaryOp::Add, start, t);
            b.push_store(y, &[at], all);
        });
    });
    b.finish()
}

/// Shared arrays that their first phase initializes, several elements of a box per thread, and arrays that it does not.
/// In a grid of blocks, which find values of other blocks in shared memory.
fn filled() -> Offloaded {
    let mut b = Builder::new("filled");
    let x = b.read_only("x", ScalarType::I32, 1);
    let y = b.tensor("y", ScalarType::I32, 1);
    let [rows, columns, two, three, four, eight, ten, sixteen] =
        [2u64, 3, 2, 3, 4, 8, 10, 16].map(|v| b.constant(v));
    let zero = b.constant(0u64);
    b.grid(&[rows, columns], 16, |b, at| {
        let block = b.binary(BinaryOp::Mul, at[0], three);
        let block = b.binary(BinaryOp::Add, block, at[1]);
        let start = b.binary(BinaryOp::Mul, block, sixteen);
        let start = b.named("start", start);
        let names = ["within", "beside"];
        let tiles = names.map(|name| b.shared(name, ScalarType::I32, &[8, 9]));
        let lines = ["spread", "some", "late", "half"];
        let lines = lines.map(|name| b.shared(name, ScalarType::I32, &[32]));
        let again = b.shared("again", ScalarType::I32, &[16]);
        let load = |b: &mut Builder, t| {
            let at = b.binary(BinaryOp::Add, start, t);
            b.let_load("value", x, &[at])
        };
        for tile in tiles {
            b.each(|b, t| {
                let value = load(b, t);
                let (i, j) = (
                    b.let_div_rem("quotient", DivRemOp::Div, t, eight),
                    b.let_div_rem("rest", DivRemOp::Rem, t, eight),
                );
                b.repeat("k", [zero, four], false, |b, k| {
                    let further = b.binary(BinaryOp::Mul, two, k);
                    let row = b.binary(BinaryOp::Add, i, further);
                    let k = b.cast(ScalarType::I32, k);
                    let value = b.binary(BinaryOp::Add, value, k);
                    b.shared_store(tile, &[row, j], value);
                });
            });
        }
        // In order: every other element; some threads; threads that did not leave; half of the elements.
        b.each(|b, t| {
            let value = load(b, t);
            let at = b.binary(BinaryOp::Mul, two, t);
            b.shared_store(lines[0], &[at], value);
        });
        b.each(|b, t| {
            let value = load(b, t);
            let few = b.binary(BinaryOp::Lt, t, ten);
            b.branch(few, |b| b.shared_store(lines[1], &[t], value), |_| {});
        });
        b.each(|b, t| {
            let value = load(b, t);
            let few = b.binary(BinaryOp::Lt, t, ten);
            b.branch(few, |b| b.push(Stmt::Continue), |_| {});
            b.shared_store(lines[2], &[t], value);
        });
        b.each(|b, t| {
            let value = load(b, t);
            b.shared_store(lines[3], &[t], value);
        });
        let sums = b.shared("sums", ScalarType::I32, &[16]);
        b.repeat("round", [zero, three], false, |b, round| {
            b.each(|b, t| {
                let value = load(b, t);
                let round = b.cast(ScalarType::I32, round);
                let value = b.binary(BinaryOp::Xor, value, round);
                b.shared_store(again, &[t], value);
            });
            b.each(|b, t| {
                let next = b.binary(BinaryOp::Add, t, three);
                let next = b.let_div_rem("rest", DivRemOp::Rem, next, sixteen);
                let value = b.shared_load("next", again, &[next]);
                let own = b.shared_load("own", sums, &[t]);
                let sum = b.binary(BinaryOp::Add, own, value);
                b.shared_store(sums, &[t], sum);
            });
        });
        b.each(|b, t| {
            let (i, j) = (
                b.let_div_rem("rest", DivRemOp::Rem, t, eight),
                b.let_div_rem("quotient", DivRemOp::Div, t, eight),
            );
            let mut sum = b.shared_load("sum", sums, &[t]);
            let turned = b.shared_load("turned", tiles[0], &[i, j]);
            let edge = b.shared_load("edge", tiles[1], &[i, eight]);
            sum = b.binary(BinaryOp::Add, sum, turned);
            sum = b.binary(BinaryOp::Add, sum, edge);
            for line in lines {
                let next = b.binary(BinaryOp::Add, t, sixteen);
                for at in [t, next] {
                    let value = b.shared_load("value", line, &[at]);
                    sum = b.binary(BinaryOp::Add, sum, value);
                }
            }
            let at = b.binary(BinaryOp::Add, start, t);
            b.push_store(y, &[at], sum);
        });
    });
    b.finish()
}
