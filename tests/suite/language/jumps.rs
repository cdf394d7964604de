//! Labeled breaks and continues, and loops that have a value.

use quadrants::{self as qd, Vector};
use quadrants_tests::{TestBackend, on_all_backends};

use super::{Array, Same, differential, source};

/// The first pair of numbers below `limit` that multiply to `product`, and how far the search went.
#[qd::func]
fn factors(product: u32, limit: u32) -> (u32, u32) {
    let mut tried = 0;
    let found = 'search: loop {
        for a in 2..limit {
            for b in a..limit {
                tried += 1;
                if a * b == product {
                    break 'search a;
                }
                if a * b > product {
                    break;
                }
            }
            if tried > 40 {
                return (0, tried);
            }
        }
        if tried > 30 {
            break 0;
        }
    };
    (found, tried)
}

source! { labels;
    fn run(x: &Tensor<u32, 1>, out: &mut Tensor<u32, 2>) {
        'each: for i in 0..x.len() {
            // Out of two loops, and on with the outer one.
            let mut sum = 0;
            'outer: for k in 0..x[i] {
                for l in 0..10 {
                    if l == k + 3 {
                        continue 'outer;
                    }
                    if k * l == 12 {
                        break 'outer;
                    }
                    let mut m = 0;
                    while m < l {
                        m += 1;
                        if m == 7 {
                            continue 'outer;
                        }
                        if m * k == 18 {
                            break 'outer;
                        }
                        sum += m;
                    }
                    sum += 100;
                }
                sum += 1000;
            }
            out[[i, 0]] = sum;

            // Across loops over an `ndrange`, with a loop between.
            let mut count = 0;
            'rounds: while count < 50 {
                count += 1;
                for (k, l) in qd::ndrange((0..4, 0..5)) {
                    for _ in 0..2 {
                        count += 1;
                        if k * l == 6 && x[i] % 2 == 0 {
                            continue 'rounds;
                        }
                        if k == 3 && l == 3 {
                            break 'rounds;
                        }
                    }
                }
                count += 7;
            }
            out[[i, 1]] = count;

            // A reused label means the innermost loop that has it.
            let mut inner = 0;
            'outer: for k in 0..3 {
                for l in 0..3 {
                    if l > k {
                        continue 'outer;
                    }
                    inner += 1;
                }
                inner += 10;
            }
            out[[i, 2]] = inner;

            // Of the parallel loop: its iteration ends.
            for k in 0..x[i] {
                if k == 5 {
                    continue 'each;
                }
                out[[i, 3]] = k + 1;
            }
            out[[i, 4]] = 1;
        }
        let mut row = 0;
        'rows: while row < x.len() {
            row += 1;
            for k in 0..x.len() {
                if x[k] > 20 {
                    break 'rows;
                }
                if k >= row {
                    continue 'rows;
                }
                out[[row - 1, 5]] += 1;
            }
        }
    }
}

source! { values;
    fn run(limit: u32, x: &Tensor<u32, 1>, out: &mut Tensor<u32, 2>) {
        for i in 0..x.len() {
            let mut n = x[i];
            out[[i, 0]] = loop {
                if n % 3 == 0 {
                    break n / 3;
                }
                n += 1;
                if n > limit {
                    break 1000;
                }
            };
            let (least, tried) = factors(x[i], limit);
            out[[i, 1]] = least;
            out[[i, 2]] = tried;
            // Several scalars at once; a branch that leaves has no value of its own.
            let mut at = Vector([1.0f32, 2.0]);
            let mut turns = 0;
            let end = loop {
                let by = if turns > x[i] { break at * 2.0 } else { 0.5 };
                at = Vector([at[1] + by, at[0] - by]);
                turns += 1;
                match turns {
                    6 => break Vector([0.0, 1.0]),
                    4 if limit > 50 => continue,
                    _ => at[0] += 1.0,
                }
            };
            out[[i, 3]] = (end[0] * 8.0 + 100.0) as u32;
            out[[i, 4]] = (end[1] * 8.0 + 100.0) as u32;
            // A loop in a loop's value.
            out[[i, 5]] = 'outer: loop {
                let inner = loop {
                    n += 1;
                    if n % 5 == 0 {
                        break n;
                    }
                    if n % 7 == 0 {
                        break 'outer n * 10;
                    }
                };
                if inner % 2 == 0 {
                    break inner;
                }
            };
        }
    }
}

source! { in_assertions;
    fn run(x: &Tensor<u32, 1>, out: &mut Tensor<u32, 2>) {
        'each: for i in 0..x.len() {
            assert!({
                if x[i] % 3 == 1 {
                    continue 'each;
                }
                x[i] < 100
            });
            out[[i, 0]] = x[i] + 1;
        }
    }
}

fn numbers() -> Array<u32, 1> {
    Array::of(&[0, 1, 4, 6, 7, 12, 19, 35])
}

#[on_all_backends]
fn labeled_break_and_continue_leave_the_named_loop(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let (x, out) = (numbers(), Array::zeros([8, 6]));
    differential!(&on.program, labels [] [x] [out]);
    let out = Array::zeros([8, 6]);
    differential!(&on.program, in_assertions [] [x] [out]);
    Ok(())
}

#[on_all_backends]
fn loop_expressions_have_values(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let (x, out) = (numbers(), Array::zeros([8, 6]));
    for limit in [9, 60] {
        let out = out.clone();
        differential!(&on.program, values[limit][x][out]);
    }
    Ok(())
}
