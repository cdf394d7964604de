//! Parts of a tensor that blocks reserve, and that may overlap.

use quadrants_ir::{
    MathFn, ReduceOp,
    ScalarType::{U32, U64},
};

use super::{THREADS, check, check_with};

#[test]
fn parts_of_blocks_that_may_overlap_are_refused() {
    check("a loop around the store", |p, wrong| {
        p.b.block_for(2u64, THREADS, |block| {
            let begin = block.shared("begin", U32, 1);
            match wrong {
                true => block.each(|t| {
                    p.b.range_for(0u64, p.n, |_| {
                        p.b.if_(t.equals(0u64), || p.reserve_here(begin, THREADS));
                    });
                }),
                false => p.reserve(block, begin, THREADS),
            }
            p.fill(block, begin);
        });
    });
    check("a loop around the phase", |p, wrong| {
        p.b.block_for(2u64, THREADS, |block| {
            let begin = block.shared("begin", U32, 1);
            let after = || p.fill(block, begin);
            p.b.range_for(0u64, p.n, |_| {
                p.reserve(block, begin, THREADS);
                if !wrong {
                    after();
                }
            });
            if wrong {
                after();
            }
        });
    });
    check("a branch around the phase", |p, wrong| {
        p.b.block_for(2u64, THREADS, |block| {
            let begin = block.shared("begin", U32, 1);
            p.b.if_(p.n.gt(2u64), || {
                p.reserve(block, begin, THREADS);
                if !wrong {
                    p.fill(block, begin);
                }
            });
            if wrong {
                p.fill(block, begin);
            }
        });
    });
    check("a part that is too short", |p, wrong| {
        p.b.block_for(2u64, THREADS, |block| {
            let begin = block.shared("begin", U32, 1);
            p.reserve(block, begin, THREADS - u32::from(wrong));
            p.fill(block, begin);
        });
    });
    check("a thread that does not exist", |p, wrong| {
        p.b.block_for(2u64, THREADS, |block| {
            let begin = block.shared("begin", U32, 1);
            let last = u64::from(THREADS) - u64::from(!wrong);
            block.each(|t| p.b.if_(t.equals(last), || p.reserve_here(begin, THREADS)));
            p.fill(block, begin);
        });
    });
    check("an index out of range", |p, wrong| {
        p.b.block_for(2u64, THREADS, |block| {
            let begin = block.shared("begin", U32, 2);
            let at = 1 + u64::from(wrong);
            block.each(|t| {
                p.b.if_(t.equals(0u64), || begin.store(at, p.count.atomic_add(0u64, THREADS)));
            });
            block.each(|t| p.write(begin.load(at).cast(U64) + t));
        });
    });
    check("a later addition", |p, wrong| {
        p.b.block_for(2u64, THREADS, |block| {
            let begin = block.shared("begin", U32, 1);
            p.reserve(block, begin, THREADS);
            block.each(|t| {
                let by = block.index().cast(U32);
                p.b.if_(t.equals(0u64), || {
                    if wrong {
                        begin.atomic_add(0u64, by);
                    }
                });
            });
            p.fill(block, begin);
        });
    });
    check("a second store in the phase", |p, wrong| {
        p.b.block_for(2u64, THREADS, |block| {
            let begin = block.shared("begin", U32, 1);
            block.each(|t| {
                p.b.if_(t.equals(0u64), || p.reserve_here(begin, THREADS));
                p.b.if_(t.equals(0u64), || {
                    if wrong {
                        begin.store(0u64, 7u32);
                    }
                });
            });
            p.fill(block, begin);
        });
    });
    check("a store in the phase that may follow", |p, wrong| {
        p.b.block_for(2u64, THREADS, |block| {
            let begin = block.shared("begin", U32, 1);
            block.each(|t| {
                p.b.if_(t.equals(0u64), || p.reserve_here(begin, THREADS));
                p.b.if_(t.equals(0u64) & p.n.gt(0u64), || {
                    p.b.if_(p.x.load(0u64).gt(3u32), || {
                        if wrong {
                            begin.store(0u64, 7u32);
                        }
                    });
                });
            });
            p.fill(block, begin);
        });
    });
    check("a condition around the store", |p, wrong| {
        p.b.block_for(2u64, THREADS, |block| {
            let begin = block.shared("begin", U32, 1);
            block.each(|t| {
                let reserve = || p.b.if_(t.equals(0u64), || p.reserve_here(begin, THREADS));
                match wrong {
                    true => p.b.if_(p.x.load(0u64).gt(3u32), reserve),
                    false => reserve(),
                }
            });
            p.fill(block, begin);
        });
    });
    check("a jump before the store", |p, wrong| {
        p.b.block_for(2u64, THREADS, |block| {
            let begin = block.shared("begin", U32, 1);
            block.each(|t| {
                let once = || {
                    p.b.if_(p.x.load(0u64).gt(3u32), || {
                        p.b.if_(p.x.load(1u64).gt(3u32), || {
                            if wrong {
                                p.b.break_();
                            }
                        });
                    });
                    p.b.if_(t.equals(0u64), || p.reserve_here(begin, THREADS));
                    p.b.break_();
                };
                p.b.while_(|| p.b.constant(true), once);
            });
            p.fill(block, begin);
        });
    });
    check("a begin that differs between blocks", |p, wrong| {
        p.b.block_for(2u64, THREADS, |block| {
            let begin = block.shared("begin", U32, 1);
            block.each(|t| {
                let first = if wrong { p.own(block, t) } else { p.x.load(0u64) };
                p.b.if_(t.equals(0u64), || begin.store(0u64, first));
            });
            block.each(|t| {
                p.write(begin.load(0u64).cast(U64) + block.index() * 32u64 + t);
            });
        });
    });
    check("an element that differs between blocks", |p, wrong| {
        p.b.block_for(2u64, THREADS, |block| {
            let begin = block.shared("begin", U32, 1);
            block.each(|t| {
                p.b.if_(t.lt(1u64), || {
                    let first = p.x.load(block.index());
                    p.b.race_free(|| begin.store(0u64, first));
                });
            });
            block.each(|t| {
                let first = if wrong { begin.load(0u64) } else { p.x.load(0u64) };
                p.write(first.cast(U64) + block.index() * 32u64 + t);
            });
        });
    });
    check("the amount of another thread", |p, wrong| {
        p.b.block_for(2u64, THREADS, |block| {
            let begin = block.shared("begin", U32, 1);
            let own = |t| p.own(block, t) & 7u32;
            block.each(|t| {
                let by = if wrong { own(t) } else { p.b.constant(7u32) };
                p.b.if_(t.equals(0u64), || begin.store(0u64, p.count.atomic_add(0u64, by)));
            });
            block.each(|t| {
                p.b.if_(t.equals(3u64) & own(t).gt(0u32), || {
                    p.write(begin.load(0u64).cast(U64) + own(t).cast(U64) - 1u64);
                });
            });
        });
    });
    check("the number of another thread", |p, wrong| {
        p.b.block_for(1u64, THREADS, |block| {
            let begin = block.shared("begin", U32, 1);
            block.each(|t| {
                p.b.if_(t.equals(1u64), || begin.store(0u64, (t * 4u64).cast(U32)));
            });
            block.each(|t| {
                p.write(if wrong { begin.load(0u64).cast(U64) } else { t * 4u64 });
            });
        });
    });
    check("a ticket that is stored and summed", |p, wrong| {
        p.b.block_for(1u64, THREADS, |block| {
            let begin = block.shared("begin", U32, 1);
            let sums = block.scan(ReduceOp::Add, false, |t| {
                let ticket = p.b.var("ticket", p.count.atomic_add(0u64, 1u32)).get();
                p.b.if_(t.equals(0u64), || p.b.race_free(|| begin.store(0u64, ticket)));
                ticket.math(MathFn::Min, &[p.b.constant(100u32)])
            });
            block.each(|t| {
                let first = begin.load(0u64);
                p.b.if_(t.equals(1u64) & first.lt(100u32), || p.write(first.cast(U64)));
                let apart = if wrong { 0u64 } else { 100 };
                p.b.if_(t.equals(0u64), || p.write(sums.load(t).cast(U64) + apart));
            });
        });
    });
    check("two counters", |p, wrong| {
        p.b.block_for(2u64, THREADS, |block| {
            let begin = block.shared("begin", U32, 1);
            let cell = block.index() % (1 + u64::from(wrong));
            block.each(|t| {
                p.b.if_(t.equals(0u64), || begin.store(0u64, p.count.atomic_add(cell, THREADS)));
            });
            p.fill(block, begin);
        });
    });
    check("a counter that may be out of range", |p, wrong| {
        p.b.block_for(2u64, THREADS, |block| {
            let begin = block.shared("begin", U32, 1);
            let cell = p.number(if wrong { 2 } else { 1 });
            block.each(|t| {
                p.b.if_(t.equals(0u64), || begin.store(0u64, p.count.atomic_add(cell, THREADS)));
            });
            p.fill(block, begin);
        });
    });
    check("a counter that is reset", |p, wrong| {
        p.b.block_for(2u64, THREADS, |block| {
            let begin = block.shared("begin", U32, 1);
            p.reserve(block, begin, THREADS);
            p.fill(block, begin);
            block.each(|t| {
                let first = t.equals(0u64) & block.index().equals(0u64);
                p.b.if_(first, || {
                    if wrong {
                        p.b.race_free(|| p.count.store(0u64, 0u32));
                    }
                });
            });
        });
    });
    for [turns, blocks] in [[1u64 << 27, 2], [2, 1 << 27]] {
        check_with("a counter that wraps", turns, |p, wrong| {
            p.b.block_for(blocks, THREADS, |block| {
                let begin = block.shared("begin", U32, 1);
                let turns = if wrong { p.n } else { p.n % 2u64 };
                p.b.range_for(0u64, turns, |_| {
                    p.reserve(block, begin, THREADS);
                    p.fill(block, begin);
                });
            });
        });
    }
    check_with("a counter that wraps in a phase", 1 << 27, |p, wrong| {
        p.b.block_for(2u64, THREADS, |block| {
            let begin = block.shared("begin", U32, 1);
            p.reserve(block, begin, THREADS);
            p.fill(block, begin);
            block.each(|t| {
                p.b.if_(t.equals(0u64), || {
                    let turns = if wrong { p.n } else { p.n % 2u64 };
                    p.b.range_for(0u64, turns, |_| p.count.atomic_add(0u64, THREADS));
                });
            });
        });
    });
    check("a grid of two dimensions", |p, wrong| {
        p.b.block_for([p.number(2), p.number(2)], THREADS, |block| {
            let begin = block.shared("begin", U32, 1);
            block.each(|t| {
                let part = block.index() * 2u64 + block.index_along(1);
                let part = if wrong { block.index() } else { part };
                p.b.if_(t.equals(0u64), || begin.store(0u64, (part * 32u64).cast(U32)));
            });
            p.fill(block, begin);
        });
    });
    check("another task writes the parts", |p, wrong| {
        p.b.stream_parallel(|| {
            p.b.block_for(2u64, THREADS, |block| {
                let begin = block.shared("begin", U32, 1);
                p.reserve(block, begin, THREADS);
                p.fill(block, begin);
            });
        });
        p.b.stream_parallel(|| {
            p.b.range_for(0u64, 8u64, |i| {
                let at = p.count.atomic_add(0u64, 1u32).cast(U64);
                p.write(if wrong { i } else { at });
            });
        });
    });
    check("another task resets the counter", |p, wrong| {
        p.b.stream_parallel(|| {
            p.b.block_for(2u64, THREADS, |block| {
                let begin = block.shared("begin", U32, 1);
                p.reserve(block, begin, THREADS);
                p.fill(block, begin);
            });
        });
        p.b.stream_parallel(|| {
            p.b.range_for(0u64, 1u64, |i| {
                let by = if wrong { 0u32 } else { 1 };
                p.b.race_free(|| match wrong {
                    true => p.count.store(i, by),
                    false => drop(p.b.var("old", p.count.atomic_add(i, by))),
                });
            });
        });
    });
}
