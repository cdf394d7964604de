//! Assertions of kernels and funcs: a failed one reports the text of std with the values, on every backend, and
//! evaluates the values of its text only then.

use std::panic::{UnwindSafe, catch_unwind};

use quadrants::{self as qd, KernelErrorCause, KernelValue, Tensor, Vector};
use quadrants_tests::{TestBackend, on_all_backends};

use super::kernel_error;

/// The panic message of a closure.
fn panic_text<R>(f: impl FnOnce() -> R + UnwindSafe) -> String {
    let payload = catch_unwind(f).err().expect("a panic");
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => (*payload.downcast::<&str>().unwrap()).to_owned(),
    }
}

#[derive(Clone, Copy, PartialEq, Debug, KernelValue)]
enum Side {
    Near,
    Far = 7,
}

#[derive(Clone, Copy, PartialEq, Debug, KernelValue)]
struct Hit {
    at: Vector<f32, 2>,
    side: Side,
}

const LINE: u32 = line!() + 5;
#[qd::kernel]
#[rustfmt::skip]
fn asserts(which: u32, a: i32, b: f64, x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    for i in 0..y.len() {
        if which == 0 && i == 2 { assert!(a < 0, "a is {a}, b is {b:.2}, {{i}} is {:>4}, {:?}", i, x[i]); }
        if which == 1 { assert_eq!(a, 4); }
        if which == 2 && i == 1 { assert_eq!(x[i] * 0.0, b as f32, "of {i:02} and {name}", name = a + 1,); }
        if which == 3 { assert_ne!(3, a, "{}", a != 3); }
        if which == 4 { assert_eq!(hit(x[0], Side::Far), hit(x[0], Side::Near)); }
        if which == 5 { y[i] = checked(a, x, 1); }
        if which == 6 { debug_assert!(a == 0); }
        if which == 7 { debug_assert_eq!(a, 0, "{}", a); }
        if which == 8 { match a { 3 => assert_ne!(a, 3), _ => debug_assert_ne!(a, 1) } }
        y[i] = 1.0;
    }
}

#[qd::func]
fn hit(x: f32, side: Side) -> Hit {
    Hit { at: Vector([x, 2.0]), side }
}

#[qd::func]
fn checked(a: i32, x: &Tensor<f32, 1>, at: usize) -> f32 {
    assert_eq!([a; 2], [1, 3], "element {at} is {:?}", (x[at], at > 0));
    1.0
}

/// The text of std for the assertions of `asserts`.
fn expected(which: u32, a: i32, b: f64, x: [f32; 4]) -> String {
    let i = if which == 0 { 2 } else { 1 };
    let hit = |side| Hit { at: Vector([x[0], 2.0]), side };
    panic_text(|| match which {
        0 => assert!(a < 0, "a is {a}, b is {b:.2}, {{i}} is {:>4}, {:?}", i, x[i]),
        1 => assert_eq!(a, 4),
        2 => assert_eq!(x[i] * 0.0, b as f32, "of {i:02} and {name}", name = a + 1),
        3 => assert_ne!(3, a, "{}", a != 3),
        4 => assert_eq!(hit(Side::Far), hit(Side::Near)),
        5 => assert_eq!([a; 2], [1, 3], "element {} is {:?}", 1, (x[1], true)),
        6 => assert!(a == 0),
        7 => assert_eq!(a, 0, "{}", a),
        _ => assert_ne!(a, 3),
    })
}

#[on_all_backends]
fn a_failed_assertion_reports_the_text_of_std_with_its_values(
    backend: TestBackend,
) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = [0.5, -3.0, 1e20, 7.0];
    let x_on = on.program.tensor_from(&x, [4])?;
    let mut y = on.program.zeros([4])?;
    let mut launched = |which, a| {
        let launched = asserts(which, a, 2.0, &x_on, &mut y).launch();
        launched.and_then(|()| on.program.sync())
    };
    for which in 0..9 {
        if !cfg!(debug_assertions) && matches!(which, 6 | 7) {
            launched(which, 3)?;
            continue;
        }
        let error = kernel_error(launched(which, 3), || Ok(()));
        let text = match &error.cause {
            KernelErrorCause::Assert { message } if which == 0 => message.clone(),
            cause => cause.to_string(),
        };
        assert_eq!(text, expected(which, 3, 2.0, x), "{which}");
        let line = if which == 5 { LINE + 20 } else { LINE + which };
        assert_eq!((error.kernel.as_str(), error.line), ("asserts", line), "{which}");
        launched(which, if which == 1 { 4 } else { -1 }).or_else(|error| match which {
            2 | 4..=7 => Ok(()),
            _ => Err(error),
        })?;
    }
    let error = kernel_error(launched(2, 3), || Ok(()));
    let KernelErrorCause::Comparison { operator, left, right, message } = error.cause else {
        panic!("{error:?}")
    };
    assert_eq!((operator, left.as_str(), right.as_str()), ("==", "-0.0", "2.0"));
    assert_eq!(message.as_deref(), Some("of 01 and 4"));
    launched(9, 3)
}

#[test]
fn an_assertion_of_a_func_on_the_host_panics_with_the_text_of_std() {
    let text = |a| panic_text(move || on_host(a));
    assert_eq!(text(1), panic_text(|| assert_eq!(1, 2)));
    assert_eq!(text(2), panic_text(|| assert_ne!((2, 0.5), (2, 0.5), "{}", 2)));
    assert_eq!(text(3), "a is 3");
    assert_eq!(text(4), "assertion failed: a != 4");
    assert_eq!(on_host(5), 5);
}

#[qd::func]
fn on_host(a: i32) -> i32 {
    if a == 1 {
        assert_eq!(a, 2);
    }
    if a == 2 {
        assert_ne!((a, 0.5), (2, 0.5), "{a}");
    }
    assert!(a != 3, "a is {a}");
    assert!(a != 4);
    a
}

#[qd::kernel]
fn lazily(a: i32, count: &mut Tensor<u32, 1>, x: &mut Tensor<i32, 1>) {
    for i in 0..x.len() {
        assert!(a != 0, "{} {}", 7 / a, counted(count));
        assert_eq!(a, 5, "{}", counted(count));
        x[i] = 1;
    }
}

#[qd::func]
fn counted(count: &mut Tensor<u32, 1>) -> u32 {
    qd::atomic_add(&mut count[0], 1)
}

#[on_all_backends]
fn values_of_a_text_are_evaluated_where_the_assertion_fails(
    backend: TestBackend,
) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut count = on.program.zeros::<u32, 1>([1])?;
    let mut x = on.program.zeros::<i32, 1>([3])?;
    lazily(5, &mut count, &mut x).launch()?;
    assert_eq!((count.to_vec()?, x.to_vec()?), (vec![0], vec![1; 3]));
    let error = kernel_error(lazily(0, &mut count, &mut x).launch(), || on.program.sync());
    // The division in the text fails, and with it the iteration ends.
    assert_ne!(error.cause, KernelErrorCause::Assert { message: "a != 0".to_owned() });
    Ok(())
}

#[qd::kernel]
fn knows(n: usize, x: &mut Tensor<u32, 1>) {
    for i in 0..n {
        assert!(i < x.len(), "{i} is beyond {}", x.len());
        x[i] = i as u32;
    }
}

#[on_all_backends]
fn what_an_assertion_with_values_establishes_holds_after_it(
    backend: TestBackend,
) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut x = on.program.zeros::<u32, 1>([3])?;
    knows(3, &mut x).launch()?;
    let error = kernel_error(knows(4, &mut x).launch(), || on.program.sync());
    assert_eq!(error.cause, KernelErrorCause::Assert { message: "3 is beyond 3".to_owned() });
    assert_eq!(x.to_vec()?, [0, 1, 2]);
    Ok(())
}

#[qd::kernel]
fn wide(m: qd::Matrix<i32, 3, 3>, x: &mut Tensor<i32, 1>) {
    assert_eq!(m, m.transpose());
    for i in 0..x.len() {
        x[i] = i as i32;
    }
}

#[on_all_backends]
fn the_first_numbers_of_large_values_are_reported(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut x = on.program.zeros::<i32, 1>([3])?;
    let m = qd::Matrix([[1, 2, 3], [4, 5, 6], [7, 8, 9]]);
    let error = kernel_error(wide(m, &mut x).launch(), || on.program.sync());
    let KernelErrorCause::Comparison { left, right, .. } = error.cause else { panic!("{error:?}") };
    assert_eq!(left, format!("{m:?}"));
    assert_eq!(right, "Matrix([[1, 4, 7], […, …, …], […, …, …]])");
    Ok(())
}

super::kernel_of_a_macro::doubled!(of_another_file);

#[on_all_backends]
fn the_error_of_a_kernel_that_a_macro_makes_is_in_the_file_of_the_macro(
    backend: TestBackend,
) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut x = on.program.tensor_from(&[60], [1])?;
    let error = kernel_error(of_another_file(&mut x).launch(), || on.program.sync());
    assert!(error.file.ends_with("errors/kernel_of_a_macro.rs"), "{error:?}");
    let source = include_str!("kernel_of_a_macro.rs").lines().nth(error.line as usize - 1);
    assert_eq!(source.map(str::trim), Some(r#"assert!(x[i] < 100, "too large");"#));
    Ok(())
}
