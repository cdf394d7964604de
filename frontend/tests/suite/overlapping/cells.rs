//! Counters and begins that are elements of one shared array, counters that are set before they count, and signed ones.

use quadrants_frontend::builder::{TensorParam, Threads};
use quadrants_ir::ScalarType::{I32, U32, U64};

use super::{Params, THREADS, check};

/// Each thread keeps its ticket, thread 0 adds the number of them, and each writes its place.
fn append<'b>(p: &Params<'b>, block: Threads<'b>, [found, begin]: [(TensorParam<'b>, u64); 2]) {
    let place = block.shared("place", U32, THREADS);
    count(block, found, place);
    add_total(p, block, [found, begin]);
    write_places(p, block, begin, place);
}

fn count<'b>(block: Threads<'b>, found: (TensorParam<'b>, u64), place: TensorParam<'b>) {
    block.each(|t| place.store(t, found.0.atomic_add(found.1, 1u32)));
}

fn add_total<'b>(
    p: &Params<'b>,
    block: Threads<'b>,
    [(found, at), (begin, to)]: [(TensorParam<'b>, u64); 2],
) {
    block.each(|t| {
        p.b.if_(t.equals(0u64), || {
            let all = found.load(at);
            begin.store(to, p.count.atomic_add(0u64, all));
        });
    });
}

fn write_places<'b>(
    p: &Params<'b>,
    block: Threads<'b>,
    (begin, at): (TensorParam<'b>, u64),
    place: TensorParam<'b>,
) {
    block.each(|t| p.write((begin.load(at) + place.load(t)).cast(U64)));
}

/// Sets an element to zero, by thread 0.
fn set<'b>(p: &Params<'b>, block: Threads<'b>, cells: TensorParam<'b>, at: u64) {
    block.each(|t| p.b.if_(t.equals(0u64), || cells.store(at, 0u32)));
}

#[test]
fn counters_and_begins_in_one_array_are_told_apart() {
    check("one array", |p, wrong| {
        p.b.block_for(2u64, THREADS, |block| {
            let cells = block.shared("cells", U32, 2);
            append(p, block, [(cells, 0), (cells, u64::from(!wrong))]);
        });
    });
    check("another element is set in between", |p, wrong| {
        p.b.block_for(2u64, THREADS, |block| {
            let cells = block.shared("cells", U32, 3);
            let place = block.shared("place", U32, THREADS);
            count(block, (cells, 0), place);
            set(p, block, cells, if wrong { 0 } else { 2 });
            add_total(p, block, [(cells, 0), (cells, 1)]);
            write_places(p, block, (cells, 1), place);
        });
    });
    check("another element is set after the total", |p, wrong| {
        p.b.block_for(2u64, THREADS, |block| {
            let cells = block.shared("cells", U32, 3);
            let place = block.shared("place", U32, THREADS);
            count(block, (cells, 0), place);
            add_total(p, block, [(cells, 0), (cells, 1)]);
            set(p, block, cells, if wrong { 1 } else { 0 });
            write_places(p, block, (cells, 1), place);
        });
    });
    check("an element with a varying index", |p, wrong| {
        p.b.block_for(2u64, THREADS, |block| {
            let cells = block.shared("cells", U32, 2);
            let other = block.shared("other", U32, THREADS);
            let place = block.shared("place", U32, THREADS);
            count(block, (cells, 0), place);
            block.each(|t| {
                p.b.race_free(|| match wrong {
                    true => cells.store(t % 2u64, 1u32),
                    false => other.store(t, 1u32),
                });
            });
            add_total(p, block, [(cells, 0), (cells, 1)]);
            write_places(p, block, (cells, 1), place);
        });
    });
    check("two counters in a tensor", |p, wrong| {
        p.b.range_for(0u64, 64u64, |_| {
            let at = p.count.atomic_add(0u64, 1u32).cast(U64);
            p.count.atomic_max(if wrong { 0u64 } else { 1 }, 7u32);
            p.write(at);
        });
    });
}

#[test]
fn counters_may_be_set_before_they_count() {
    check("set before the phase", |p, wrong| {
        p.b.block_for(2u64, THREADS, |block| {
            let (found, begin) = (block.shared("found", U32, 1), block.shared("begin", U32, 1));
            let place = block.shared("place", U32, THREADS);
            if !wrong {
                set(p, block, found, 0);
            }
            count(block, (found, 0), place);
            if wrong {
                set(p, block, found, 0);
            }
            add_total(p, block, [(found, 0), (begin, 0)]);
            write_places(p, block, (begin, 0), place);
        });
    });
    check("set in a loop", |p, wrong| {
        p.b.block_for(2u64, THREADS, |block| {
            let (found, begin) = (block.shared("found", U32, 1), block.shared("begin", U32, 1));
            let place = block.shared("place", U32, THREADS);
            let turns = |body: &dyn Fn()| p.b.range_for(0u64, p.n, |_| body());
            turns(&|| set(p, block, found, 0));
            count(block, (found, 0), place);
            let rest = || {
                add_total(p, block, [(found, 0), (begin, 0)]);
                write_places(p, block, (begin, 0), place);
            };
            match wrong {
                true => turns(&|| {
                    rest();
                    set(p, block, found, 0);
                }),
                false => rest(),
            }
        });
    });
    check("set to what may wrap", |p, wrong| {
        p.b.block_for(2u64, THREADS, |block| {
            let (found, begin) = (block.shared("found", U32, 1), block.shared("begin", U32, 1));
            let place = block.shared("place", U32, THREADS);
            let first = if wrong { u32::MAX - 3 } else { 5 };
            block.each(|t| p.b.if_(t.equals(0u64), || found.store(0u64, first)));
            count(block, (found, 0), place);
            add_total(p, block, [(found, 0), (begin, 0)]);
            write_places(p, block, (begin, 0), place);
        });
    });
}

#[test]
fn signed_counters_only_count_up() {
    check("a constant", |p, wrong| {
        p.b.block_for(1u64, THREADS, |block| {
            let found = block.shared("found", I32, 1);
            let list = block.shared("list", U32, 8 * THREADS);
            block.each(|t| {
                let at = p.b.var("at", found.atomic_add(0u64, 3i32)).get();
                if wrong {
                    p.b.if_(t.equals(5u64), || {
                        p.b.var("old", found.atomic_add(0u64, -1i32));
                    });
                }
                p.b.race_free(|| list.store(at.cast(U64), 1u32));
            });
        });
    });
    for under_condition in [false, true] {
        check("an amount from memory", |p, wrong| {
            p.b.block_for(1u64, THREADS, |block| {
                let found = block.shared("found", I32, 1);
                let list = block.shared("list", U32, 9 * THREADS);
                block.each(|t| {
                    let least = if wrong || under_condition { 1i32 } else { 0 };
                    let n = p.b.var("n", (p.own(block, t) % 9u32).cast(I32) - least).get();
                    let append = || {
                        let at = p.b.var("at", found.atomic_add(0u64, n)).get();
                        p.b.if_(n.gt(0i32), || p.b.race_free(|| list.store(at.cast(U64), 1u32)));
                    };
                    match under_condition && !wrong {
                        true => p.b.if_(n.gt(-1i32), append),
                        false => append(),
                    }
                });
            });
        });
    }
}
