//! Regressions of proofs that were too weak: each test once accessed out of bounds, raced, or used stale data.

use quadrants::{self as qd, Error, KernelErrorCause, Result, Tensor};
use quadrants_tests::{TestBackend, on_all_backends};

/// The first comparison narrows the sum, which then no longer looks wrapped.
#[qd::kernel]
fn behind_two_guards(at: &Tensor<u64, 1>, x: &mut Tensor<u32, 1>) {
    for i in 0..1 {
        let a = at[i];
        if a.wrapping_add(5) < 10 && a.wrapping_add(5) != 7 {
            x[(a >> 60) as usize] = 1;
        }
    }
}

#[qd::kernel]
fn behind_two_guards_of_a_product(at: &Tensor<u64, 1>, x: &mut Tensor<u32, 1>) {
    for i in 0..1 {
        let a = at[i];
        if a.wrapping_mul(4) < 10 && a.wrapping_mul(4) != 7 {
            x[(a >> 60) as usize] = 1;
        }
    }
}

#[on_all_backends]
fn a_wrapping_sum_proves_nothing_about_its_operands(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    for (which, number) in [u64::MAX - 1, 1 << 63].into_iter().enumerate() {
        let at = program.tensor_from(&[number], [1])?;
        let mut whole = program.tensor_from(&[5u32; 64], [64])?;
        let failed = {
            let (mut x, _beyond) = whole.split_at_mut(8)?;
            let launched = match which {
                0 => behind_two_guards(&at, &mut x).launch(),
                _ => behind_two_guards_of_a_product(&at, &mut x).launch(),
            };
            launched.and_then(|()| program.sync())
        };
        assert!(matches!(failed, Err(Error::Kernel(_))), "{number}: {failed:?}");
        assert_eq!(whole.to_vec()?, [5; 64], "{number}");
    }
    Ok(())
}

/// Opaque to the kernel compiler.
#[qd::func]
fn none_of(i: usize) -> usize {
    i.saturating_sub(i)
}

#[qd::kernel]
fn a_changed_ticket(count: &mut Tensor<u32, 1>, out: &mut Tensor<u32, 2>) {
    for i in 0..1000 {
        let mut k = qd::atomic_add(&mut count[0], 1);
        k %= 2;
        out[[none_of(i), k as usize]] = i as u32;
    }
}

#[qd::kernel]
fn a_ticket_handed_on(count: &mut Tensor<u32, 1>, out: &mut Tensor<u32, 2>) {
    for i in 0..1000 {
        let got = qd::atomic_add(&mut count[0], 1);
        let mut k = got;
        if k > 3 {
            k = 3;
        }
        out[[none_of(i), k as usize]] = i as u32;
    }
}

#[on_all_backends]
fn a_modified_ticket_is_not_unique(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut count = on.program.zeros::<u32, 1>([1])?;
    let mut out = on.program.zeros::<u32, 2>([1, 1000])?;
    let launches = [
        a_changed_ticket(&mut count, &mut out).launch(),
        a_ticket_handed_on(&mut count, &mut out).launch(),
    ];
    for launched in launches {
        assert!(matches!(launched, Err(Error::Race { .. })), "{launched:?}");
    }
    Ok(())
}

#[qd::kernel]
fn bounded_behind_an_assertion(n: &Tensor<usize, 1>, x: &mut Tensor<u32, 1>) {
    assert!(n[0] < 10, "too many");
    let m = n[0];
    for i in 0..m {
        x[i] = 1;
    }
}

#[qd::kernel]
fn leaves_a_number(n: &Tensor<usize, 1>, x: &mut Tensor<usize, 1>) {
    let m = n[1];
    for i in 0..x.len() {
        x[i] = m;
    }
}

#[on_all_backends]
fn after_a_failed_assertion_no_task_uses_stale_temporaries(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let n = program.tensor_from(&[10usize, 5], [2])?;
    let mut numbers = program.zeros::<usize, 1>([4])?;
    let mut x = program.zeros::<u32, 1>([8])?;
    leaves_a_number(&n, &mut numbers).launch()?;
    let failed = bounded_behind_an_assertion(&n, &mut x).launch().and_then(|()| program.sync());
    match failed {
        Err(Error::Kernel(error)) => {
            assert!(matches!(error.cause, KernelErrorCause::Assert { .. }), "{error:?}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(x.to_vec()?, [0; 8]);
    Ok(())
}

#[qd::kernel]
fn appends(at: usize, count: &mut Tensor<u32, 1>, out: &mut Tensor<u32, 1>) {
    for i in 0..out.len() {
        let k = qd::atomic_add(&mut count[at], 1);
        out[k as usize] = i as u32;
    }
}

#[qd::kernel]
fn appends_in_two_blocks(at: usize, count: &mut Tensor<u32, 1>, out: &mut Tensor<u32, 1>) {
    qd::stream_parallel(|| {
        for i in 0..1 {
            let k = qd::atomic_add(&mut count[at], 1);
            out[k as usize] = i + 7;
        }
    });
    qd::stream_parallel(|| {
        for i in 0..1 {
            let k = qd::atomic_add(&mut count[at], 1);
            out[k as usize] = i + 9;
        }
    });
}

#[on_all_backends]
fn an_out_of_bounds_counter_gives_no_unique_ticket(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut count = on.program.zeros::<u32, 1>([2])?;
    let mut out = on.program.zeros::<u32, 1>([100])?;
    for at in [2, usize::MAX] {
        for launched in [
            appends(at, &mut count, &mut out).launch(),
            appends_in_two_blocks(at, &mut count, &mut out).launch(),
        ] {
            let Err(Error::Race { tensor, .. }) = launched else { panic!("{launched:?}") };
            assert_eq!(tensor, "out");
        }
    }
    assert_eq!((count.to_vec()?, out.to_vec()?), (vec![0; 2], vec![0; 100]));
    appends(1, &mut count, &mut out).launch()?;
    let mut given = out.to_vec()?;
    given.sort_unstable();
    assert_eq!(given, (0..100).collect::<Vec<u32>>());
    appends_in_two_blocks(0, &mut count, &mut out).launch()?;
    assert_eq!(count.to_vec()?, [2, 100]);
    Ok(())
}

/// Regression: a loop in parentheses is a parallel loop too; its proof was attributed to the
/// next.
#[allow(unused_parens)]
#[qd::kernel]
fn a_loop_in_parentheses(x: &mut Tensor<u32, 1>, y: &mut Tensor<u32, 1>) {
    (for i in 0..x.len() {
        x[i] = 1;
    });
    for i in 0..x.len() {
        y[i] = 2;
    }
}

macro_rules! with_a_loop {
    ($name:ident, $loop:expr) => {
        #[qd::kernel]
        fn $name(x: &mut Tensor<u32, 1>, y: &mut Tensor<u32, 1>) {
            $loop;
            for i in 0..x.len() {
                y[i] = 2;
            }
        }
    };
}

with_a_loop!(
    a_loop_that_a_macro_was_given,
    for i in 0..x.len() {
        x[i] = 1;
    }
);

#[on_all_backends]
fn every_loop_runs_exactly_the_proven_iterations(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    for kernel in [a_loop_in_parentheses, a_loop_that_a_macro_was_given] {
        let mut x = program.zeros::<u32, 1>([300])?;
        let mut whole = program.zeros::<u32, 1>([400])?;
        let failed = {
            let (mut y, _beyond) = whole.split_at_mut(10)?;
            kernel(&mut x, &mut y).launch().and_then(|()| program.sync())
        };
        assert!(matches!(failed, Err(Error::Kernel(_))), "{failed:?}");
        assert_eq!(x.to_vec()?, [1; 300]);
        assert_eq!(whole.to_vec()?[10..], [0; 390]);
    }
    Ok(())
}

#[qd::kernel]
fn in_wide_steps(from: i64, to: i64, by: usize, x: &mut Tensor<u32, 1>) {
    for i in (from..to).step_by(by) {
        x[i as usize] = 1;
    }
}

/// Regression: the length was computed as a signed number, so a loop longer than half of the range
/// seemed empty.
#[on_all_backends]
fn a_loop_over_more_than_half_of_the_integer_range_runs(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    for from in [i64::MIN, -5] {
        let mut x = program.zeros::<u32, 1>([10])?;
        let failed = in_wide_steps(from, i64::MAX, 1 << 62, &mut x).launch();
        let failed = failed.and_then(|()| program.sync());
        let Err(Error::Kernel(error)) = failed else { panic!("{failed:?}") };
        assert!(matches!(error.cause, KernelErrorCause::IndexOutOfRange { .. }), "{error:?}");
        // The third of four, where `from` is the smallest number.
        assert_eq!(x.to_vec()?[0], u32::from(from == i64::MIN));
    }
    Ok(())
}

// In these kernels a flag that decided a branch is assigned in the side that goes on.

#[qd::kernel]
fn set_where_the_first_side_continues(n: usize, x: &Tensor<u32, 1>, t: &mut Tensor<u32, 1>) {
    for i in 0..n {
        let mut b = n == 7;
        if b {
            continue;
        } else {
            b = i >= x.len();
        }
        t[i] = x[i];
        if b {
            t[i] += 1;
        }
    }
}

#[qd::kernel]
fn set_where_the_second_side_continues(n: usize, x: &Tensor<u32, 1>, t: &mut Tensor<u32, 1>) {
    for i in 0..n {
        let mut b = n == 7;
        b = !b;
        if b {
            b = i < x.len();
        } else {
            continue;
        }
        t[i] = x[i];
        if b {
            t[i] += 1;
        }
    }
}

#[qd::kernel]
fn set_where_the_negation_continues(n: usize, x: &Tensor<u32, 1>, t: &mut Tensor<u32, 1>) {
    for i in 0..n {
        let mut b = n == 7;
        b = !b;
        if !b {
            continue;
        } else {
            b = i < x.len();
        }
        t[i] = x[i];
        if b {
            t[i] += 1;
        }
    }
}

#[qd::kernel]
fn set_twice(n: usize, x: &Tensor<u32, 1>, t: &mut Tensor<u32, 1>) {
    for i in 0..n {
        let mut b = n == 7;
        if b {
            continue;
        } else {
            b = i >= x.len();
            b = !b;
            b = !b;
        }
        t[i] = x[i];
        if b {
            t[i] += 1;
        }
    }
}

#[qd::kernel]
fn set_in_an_inner_branch(n: usize, x: &Tensor<u32, 1>, t: &mut Tensor<u32, 1>) {
    for i in 0..n {
        let mut b = n == 7;
        if b {
            continue;
        } else if n > 2 {
            b = i >= x.len();
        }
        t[i] = x[i];
        if b {
            t[i] += 1;
        }
    }
}

#[qd::kernel]
fn set_again_after_an_inner_exit(n: usize, x: &Tensor<u32, 1>, t: &mut Tensor<u32, 1>) {
    for i in 0..n {
        let mut b = n != 50;
        if b {
            b = i < x.len();
            if n == 77 {
                continue;
            }
            b = n > 3;
        }
        if b {
            t[i] = x[i];
        }
    }
}

#[qd::kernel]
fn set_again_in_an_else(n: usize, x: &Tensor<u32, 1>, t: &mut Tensor<u32, 1>) {
    for i in 0..n {
        let mut b = n == 50;
        if !b {
            b = i >= x.len();
            if n == 77 {
                continue;
            }
            b = n < 3;
        }
        if !b {
            t[i] = x[i];
        }
    }
}

#[qd::kernel]
fn set_again_after_a_break(n: usize, x: &Tensor<u32, 1>, t: &mut Tensor<u32, 1>) {
    for i in 0..n {
        for k in 0..2 {
            let mut b = n != 50;
            if b {
                b = i < x.len();
                if n == 77 {
                    break;
                }
                if n == 78 {
                    break;
                }
                b = n > 3;
            }
            if b {
                t[i] = x[i] + k;
            }
        }
    }
}

#[on_all_backends]
fn a_flag_that_one_side_sets_tells_nothing_about_an_exit_of_the_other(
    backend: TestBackend,
) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let x = program.tensor_from(&[3u32, 4], [2])?;
    for which in 0..8 {
        let mut t = program.zeros::<u32, 1>([400])?;
        let launch = match which {
            0 => set_where_the_first_side_continues(5, &x, &mut t),
            1 => set_where_the_second_side_continues(5, &x, &mut t),
            2 => set_where_the_negation_continues(5, &x, &mut t),
            3 => set_twice(5, &x, &mut t),
            4 => set_in_an_inner_branch(5, &x, &mut t),
            5 => set_again_after_an_inner_exit(5, &x, &mut t),
            6 => set_again_in_an_else(5, &x, &mut t),
            _ => set_again_after_a_break(5, &x, &mut t),
        };
        let failed = launch.launch().and_then(|()| program.sync());
        let Err(Error::Kernel(error)) = failed else { panic!("{which}: {failed:?}") };
        assert!(
            matches!(error.cause, KernelErrorCause::IndexOutOfRange { .. }),
            "{which}: {error}"
        );
    }
    Ok(())
}
