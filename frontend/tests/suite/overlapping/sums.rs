//! Prefix sums, and tickets of shared counters, that may be equal.

use quadrants_frontend::builder::Value;
use quadrants_ir::{
    MathFn, ReduceOp,
    ScalarType::{I32, U32, U64},
};

use super::{THREADS, check, check_with};

#[test]
fn positions_that_may_be_equal_are_refused() {
    check("flags that are changed by atomics", |p, wrong| {
        p.b.block_for(2u64, THREADS, |block| {
            let keep = block.shared("keep", U32, THREADS);
            block.each(|t| keep.store(t, p.own(block, t)));
            let before = block.scan(ReduceOp::Add, true, |t| keep.load(t) & 1u32);
            block.each(|t| {
                if wrong {
                    keep.atomic_max(t, 1u32);
                }
            });
            block.each(|t| {
                p.b.if_((keep.load(t) & 1u32).equals(1u32), || {
                    p.write(block.index() * 32u64 + before.load(t).cast(U64));
                });
            });
        });
    });
    check("flags that a branch changes", |p, wrong| {
        p.b.block_for(2u64, THREADS, |block| {
            let keep = block.shared("keep", U32, THREADS);
            block.each(|t| keep.store(t, p.own(block, t)));
            let before = block.scan(ReduceOp::Add, true, |t| keep.load(t) & 1u32);
            if wrong {
                p.b.if_(p.n.gt(2u64), || block.each(|t| keep.store(t, 1u32)));
            }
            block.each(|t| {
                p.b.if_((keep.load(t) & 1u32).equals(1u32), || {
                    p.write(block.index() * 32u64 + before.load(t).cast(U64));
                });
            });
        });
    });
    check("flags of another turn", |p, wrong| {
        p.b.block_for(2u64, THREADS, |block| {
            let keep = block.shared("keep", U32, THREADS);
            block.each(|t| keep.store(t, p.own(block, t)));
            let outer = block.scan(ReduceOp::Add, true, |t| keep.load(t) & 1u32);
            p.b.range_for(0u64, p.n, |_| {
                let inner = block.scan(ReduceOp::Add, true, |t| keep.load(t) & 1u32);
                block.each(|t| {
                    p.b.if_((keep.load(t) & 1u32).equals(1u32), || {
                        let before = if wrong { outer.load(t) } else { inner.load(t) };
                        p.write(block.index() * 32u64 + before.cast(U64));
                    });
                });
                block.each(|t| keep.store(t, 1u32));
            });
        });
    });
    check("flags that are changed in the phase that uses them", |p, wrong| {
        p.b.block_for(2u64, THREADS, |block| {
            let keep = block.shared("keep", U32, THREADS);
            block.each(|t| keep.store(t, p.own(block, t)));
            let before = block.scan(ReduceOp::Add, true, |t| keep.load(t) & 1u32);
            block.each(|t| {
                if wrong {
                    keep.store(t, 1u32);
                }
                p.b.if_((keep.load(t) & 1u32).equals(1u32), || {
                    p.write(block.index() * 32u64 + before.load(t).cast(U64));
                });
            });
        });
    });
    check("flags that are changed in the phase of the sum", |p, wrong| {
        p.b.block_for(2u64, THREADS, |block| {
            let keep = block.shared("keep", U32, THREADS);
            block.each(|t| keep.store(t, p.own(block, t)));
            let before = block.scan(ReduceOp::Add, true, |t| {
                let flag = p.b.var("flag", keep.load(t)).get() & 1u32;
                if wrong {
                    keep.store(t, 1u32);
                }
                flag
            });
            block.each(|t| {
                p.b.if_((keep.load(t) & 1u32).equals(1u32), || {
                    p.write(block.index() * 32u64 + before.load(t).cast(U64));
                });
            });
        });
    });
    check("a comparison with NaN", |p, wrong| {
        p.b.block_for(2u64, THREADS, |block| {
            let own = |t| p.f.load(block.index() * 32u64 + t);
            let before = block.scan(ReduceOp::Add, true, |t| own(t).gt(0.5f32).cast(U32));
            block.each(|t| {
                let keep = if wrong { !own(t).le(0.5f32) } else { own(t).gt(0.5f32) };
                p.b.if_(keep, || p.write(block.index() * 32u64 + before.load(t).cast(U64)));
            });
        });
    });
    check("a comparison of a sum of floats", |p, wrong| {
        p.b.block_for(2u64, THREADS, |block| {
            let own = |t| {
                let value = p.f.load(block.index() * 32u64 + t);
                if wrong { value * 3.0f32 + 0.1f32 } else { value }
            };
            let before = block.scan(ReduceOp::Add, true, |t| own(t).gt(0.5f32).cast(U32));
            block.each(|t| {
                p.b.if_(own(t).gt(0.5f32), || {
                    p.write(block.index() * 32u64 + before.load(t).cast(U64));
                });
            });
        });
    });
    check("amounts that may be negative", |p, wrong| {
        p.b.block_for(2u64, THREADS, |block| {
            let own = |t| {
                let value = p.own(block, t).cast(I32);
                let value = if wrong { value } else { value & 1i32 };
                value.lt(1i32).select(value, 1i32)
            };
            let before = block.scan(ReduceOp::Add, true, own);
            block.each(|t| {
                p.b.if_(own(t).equals(1i32), || {
                    p.write(block.index() * 32u64 + before.load(t).cast(U64));
                });
            });
        });
    });
    for [least, most] in [[1u32 << 26, 1 << 27], [1, 1 << 30]] {
        check("amounts whose sum may wrap", |p, wrong| {
            p.b.block_for(1u64, THREADS, |block| {
                let mask = if wrong { most } else { least } * 2 - 1;
                let before = block.scan(ReduceOp::Add, true, |t| p.own(block, t) & mask);
                block.each(|t| {
                    p.b.if_((p.own(block, t) & mask).gt(0u32), || {
                        p.write(before.load(t).cast(U64));
                    });
                });
            });
        });
    }
    for amount in [0u32, 1 << 28, u32::MAX] {
        check("tickets that may repeat", |p, wrong| {
            p.b.block_for(1u64, THREADS, |block| {
                let counts = block.shared("counts", U32, 1);
                block.each(|_| {
                    let by = if wrong { amount } else { 1 << 27 };
                    p.write(counts.atomic_add(0u64, by).cast(U64));
                });
            });
        });
    }
    check_with("tickets of a loop that may repeat", 1 << 27, |p, wrong| {
        p.b.block_for(1u64, THREADS, |block| {
            let counts = block.shared("counts", U32, 1);
            block.each(|_| {
                p.b.range_for(0u64, p.n, |_| {
                    p.write(counts.atomic_add(0u64, 1 + u32::from(wrong)).cast(U64));
                });
            });
        });
    });
    check("a counter that another atomic resets", |p, wrong| {
        p.b.block_for(1u64, THREADS, |block| {
            let counts = block.shared("counts", U32, 1);
            block.each(|t| {
                p.write(counts.atomic_add(0u64, 1u32).cast(U64));
                p.b.if_(t.equals(3u64), || {
                    if wrong {
                        counts.atomic_min(0u64, 0u32);
                    }
                });
            });
        });
    });
    check("tickets of two arrays", |p, wrong| {
        p.b.block_for(1u64, THREADS, |block| {
            let counts = block.shared("counts", U32, 1);
            let others = block.shared("others", U32, 1);
            let others = if wrong { others } else { counts };
            block.each(|t| {
                p.b.if_else(
                    (t % 2u64).equals(0u64),
                    || p.write(counts.atomic_add(0u64, 1u32).cast(U64)),
                    || p.write(others.atomic_add(0u64, 1u32).cast(U64)),
                );
            });
        });
    });
    for apart in [[0u64, 1], [1, 0]] {
        check("tickets that are one apart", |p, wrong| {
            let [even, odd] = if wrong { apart } else { [0, 0] };
            p.b.block_for(1u64, THREADS, |block| {
                let counts = block.shared("counts", U32, 1);
                block.each(|t| {
                    p.b.if_else(
                        (t % 2u64).equals(0u64),
                        || p.write(counts.atomic_add(0u64, 1u32).cast(U64) + even),
                        || p.write(counts.atomic_add(0u64, 1u32).cast(U64) + odd),
                    );
                });
            });
        });
    }
    check("a ticket of an earlier phase", |p, wrong| {
        p.b.block_for(1u64, THREADS, |block| {
            let counts = block.shared("counts", U32, 1);
            let sums = block.scan(ReduceOp::Add, false, |_| {
                let ticket = p.b.var("ticket", counts.atomic_add(0u64, 1u32)).get();
                ticket.math(MathFn::Min, &[p.b.constant(100u32)])
            });
            block.each(|t| p.b.if_(t.equals(0u64), || counts.store(0u64, 0u32)));
            block.each(|t| {
                let ticket = counts.atomic_add(0u64, 1u32);
                p.b.if_(t.equals(1u64) & ticket.lt(100u32), || p.write(ticket.cast(U64)));
                let apart = if wrong { 0u64 } else { 100 };
                p.b.if_(t.equals(0u64), || p.write(sums.load(t).cast(U64) + apart));
            });
        });
    });
    check("prefix sums of two amounts", |p, wrong| {
        p.b.block_for(1u64, THREADS, |block| {
            let own = |t| p.own(block, t) & 1u32;
            let other = |t| if wrong { p.own(block, t) >> 1u32 & 1u32 } else { own(t) };
            let sums = block.scan(ReduceOp::Add, true, own);
            let others = block.scan(ReduceOp::Add, true, other);
            block.each(|t| {
                let write = |keep: Value<'_>, at: Value<'_>| {
                    p.b.if_(keep.equals(1u32), || p.write(at.cast(U64)));
                };
                p.b.if_else(
                    (t % 2u64).equals(0u64),
                    || write(own(t), sums.load(t)),
                    || write(other(t), others.load(t)),
                );
            });
        });
    });
    check("sums below zero", |p, wrong| {
        p.b.block_for(2u64, THREADS, |block| {
            let own = |t| {
                let value = (p.own(block, t) & 1u32).cast(I32);
                if wrong { p.b.constant(0i32) - value } else { value }
            };
            let sums = block.scan(ReduceOp::Add, true, own);
            block.each(|t| {
                let pitch = if wrong { 1u64 } else { 40 };
                p.b.if_(t.equals(31u64), || {
                    p.write(block.index() * pitch + 40u64 + sums.load(t).cast(U64));
                });
            });
        });
    });
    // A compiler may contract the operations in one place and not in the other. A local has one value.
    check("a float of the block that is computed in two places", |p, wrong| {
        p.b.block_for(2u64, THREADS, |block| {
            let loaded = p.b.var("loaded", p.f.load(block.index())).get();
            let value = p.b.var("value", loaded * 3.0f32 + 0.1f32).get();
            let keep = || match wrong {
                true => (loaded * 3.0f32 + 0.1f32).gt(0.5f32),
                false => value.gt(0.5f32),
            };
            let before = block.scan(ReduceOp::Add, true, |_| keep().cast(U32));
            block.each(|t| {
                p.b.if_(keep(), || p.write(block.index() * 32u64 + before.load(t).cast(U64)));
            });
        });
    });
    check("a counter that is reset in its phase", |p, wrong| {
        p.b.block_for(1u64, THREADS, |block| {
            let counts = block.shared("counts", U32, 1);
            block.each(|t| {
                p.write(counts.atomic_add(0u64, 1u32).cast(U64));
                p.b.if_(t.equals(3u64), || {
                    if wrong {
                        p.b.race_free(|| counts.store(0u64, 0u32));
                    }
                });
            });
        });
    });
    check("tickets of several counters", |p, wrong| {
        p.b.block_for(1u64, THREADS, |block| {
            let counts = block.shared("counts", U32, 2);
            block.each(|t| {
                let cell = if wrong { t } else { p.number(0) };
                p.write(counts.atomic_add(cell, 1u32).cast(U64));
            });
        });
    });
    check("tickets of two phases", |p, wrong| {
        p.b.block_for(2u64, THREADS, |block| {
            let counts = block.shared("counts", U32, 1);
            block.each(|_| {
                let at = counts.atomic_add(0u64, 1u32).cast(U64);
                p.b.if_(at.lt(32u64), || p.write(block.index() * 32u64 + at));
            });
            block.each(|_| {
                let at = counts.atomic_add(0u64, 1u32).cast(U64);
                let most = if wrong { 33u64 } else { 32 };
                p.b.if_(at.lt(most), || p.write(block.index() * 32u64 + at));
            });
        });
    });
    check("the sum of another amount", |p, wrong| {
        p.b.block_for(1u64, THREADS, |block| {
            let keep = |t| p.own(block, t) & 1u32;
            let other = |t| p.own(block, t) >> 1u32 & 1u32;
            let before = block.scan(ReduceOp::Add, true, keep);
            let right = block.reduce(ReduceOp::Add, keep);
            let wrong_sum = block.reduce(ReduceOp::Add, other);
            block.each(|t| {
                let sum = if wrong { wrong_sum } else { right }.cast(U64);
                let ones = before.load(t).cast(U64);
                // The other amount counts only where the write depends on it.
                p.b.if_(other(t).le(1u32), || {
                    p.b.if_else(keep(t).equals(1u32), || p.write(ones), || p.write(sum + t - ones));
                });
            });
        });
    });
    check("a maximum in place of a sum", |p, wrong| {
        p.b.block_for(1u64, THREADS, |block| {
            let keep = |t| p.own(block, t) & 1u32;
            let op = if wrong { ReduceOp::Max } else { ReduceOp::Add };
            let before = block.scan(op, true, keep);
            block.each(|t| {
                p.b.if_(keep(t).equals(1u32), || p.write(before.load(t).cast(U64)));
            });
        });
    });
    check("a reduction to a maximum", |p, wrong| {
        p.b.block_for(1u64, THREADS, |block| {
            let keep = |t| p.own(block, t) & 1u32;
            let before = block.scan(ReduceOp::Add, true, keep);
            let op = if wrong { ReduceOp::Max } else { ReduceOp::Add };
            let sum = block.reduce(op, keep).cast(U64);
            block.each(|t| {
                let ones = before.load(t).cast(U64);
                p.b.if_else(keep(t).equals(1u32), || p.write(ones), || p.write(sum + t - ones));
            });
        });
    });
    check("the flag of a neighbour", |p, wrong| {
        p.b.block_for(1u64, THREADS, |block| {
            let keep = block.shared("keep", U32, THREADS + 1);
            block.each(|t| keep.store(t, p.own(block, t) & 1u32));
            let before = block.scan(ReduceOp::Add, true, |t| keep.load(t) & 1u32);
            block.each(|t| {
                let flag = keep.load(if wrong { t + 1u64 } else { t }) & 1u32;
                p.b.if_(flag.equals(1u32), || p.write(before.load(t).cast(U64)));
            });
        });
    });
}
