//! `macro_rules!` macros of the user in kernels and funcs.

use quadrants::{self as qd, KernelValue, Result, Tensor, Vector};
use quadrants_tests::{TestBackend, on_all_backends};

#[qd::func]
macro_rules! square {
    ($x:expr) => {{
        let t = $x;
        t * t
    }};
}

/// Recursive, with a list of any length.
#[qd::func]
macro_rules! largest {
    ($one:expr) => { $one };
    ($one:expr, $($more:expr),+ $(,)?) => {{
        let t = largest!($($more),+);
        let one = $one;
        if one > t { one } else { t }
    }};
}

#[qd::func]
macro_rules! rotate {
    ($a:ident, $b:ident) => {
        let t = $a;
        $a = $b + 1;
        $b = t;
    };
}

/// Statements with a serial loop, a `match`, an assertion and a text.
#[qd::func]
macro_rules! accumulate {
    ($sum:ident += $value:expr; $n:expr) => {
        for k in 0..$n {
            let part = match k % 3 {
                0 => $value,
                rest if rest == 1 => $value + 1,
                other => $value + other as i32,
            };
            assert!(part > -1000, "part {part} of {k}");
            $sum += part;
        }
    };
}

#[derive(KernelValue, Clone, Copy, Debug, PartialEq)]
struct Pair {
    t: i32,
    other: i32,
}

/// A local with the name of a field, in a value and in a pattern.
#[qd::func]
macro_rules! pair {
    ($a:expr, $b:expr) => {{
        let t = $a;
        let other = $b;
        let Pair { t, other } = Pair { t, other };
        Pair { t: other, other: t }
    }};
}

/// Operators around a call do not take its expansion apart.
#[qd::func]
macro_rules! sum {
    ($($x:expr),*) => { 0 $(+ $x)* };
}

#[qd::func]
macro_rules! fill {
    ($($out:ident = $value:expr),*) => {
        $(for i in 0..$out.len() { $out[i] = $value + i as i32; })*
    };
}

mod exported {
    /// By its path, as other modules and crates call it.
    #[quadrants::func]
    macro_rules! doubled_elsewhere {
        ($x:expr) => {
            $x * 2
        };
    }
    pub(crate) use doubled_elsewhere as doubled;
}
use exported::doubled;

#[qd::func]
fn by_func(x: i32) -> i32 {
    square!(x) + doubled!(square!(x + 1))
}

#[qd::func]
impl Pair {
    fn product(self) -> i32 {
        square!(self.t) - exported::doubled!(self.other)
    }
}

#[qd::kernel]
fn everything(n: usize, x: &Tensor<i32, 1>, out: &mut Tensor<i32, 2>) {
    // Defined here: it uses the tensor's name.
    macro_rules! left {
        ($i:expr) => {
            if $i > 0 { x[$i - 1] } else { 0 }
        };
    }
    for i in 0..x.len() {
        let t = x[i];
        out[[0, i]] = square!(t + 1) + t;
        out[[1, i]] = largest!(t, left!(i), 7 - t, square!(t) % 5);
        let (mut a, mut b) = (t, 3);
        rotate!(a, b);
        out[[2, i]] = a * 100 + b;
        let mut part = 0;
        accumulate!(part += t; n);
        out[[3, i]] = part;
        let rest = pair!(t, 4);
        out[[4, i]] = rest.t * 1000 + rest.other;
        out[[5, i]] = 2 * sum!(t, 1, left!(i)) * 3 - -sum!(t);
        out[[6, i]] = by_func(t) + rest.product();
        if matches!(square!(t) % 4, 0 | 1) && i as i32 == sum!(i as i32) {
            assert_eq!(doubled!(t), t + t, "{}", square!(t));
            out[[7, i]] = doubled!({
                let a = sum!(t, t);
                a + 1
            });
        } else {
            out[[7, i]] = -1;
        }
    }
}

/// The same by rustc alone.
fn expected(n: usize, x: &[i32], i: usize) -> [i32; 8] {
    let t = x[i];
    let left = if i > 0 { x[i - 1] } else { 0 };
    let by_rustc = |x: i32| square!(x) + doubled!(square!(x + 1));
    let (mut a, mut b) = (t, 3);
    rotate!(a, b);
    let mut part = 0;
    accumulate!(part += t; n);
    let rest = pair!(t, 4);
    [
        square!(t + 1) + t,
        largest!(t, left, 7 - t, square!(t) % 5),
        a * 100 + b,
        part,
        rest.t * 1000 + rest.other,
        2 * sum!(t, 1, left) * 3 - -sum!(t),
        by_rustc(t) + square!(rest.t) - exported::doubled!(rest.other),
        if matches!(square!(t) % 4, 0 | 1) { doubled!(t + t + 1) } else { -1 },
    ]
}

#[on_all_backends]
fn users_macros_expand_in_kernels(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let values: Vec<i32> = (0..40).map(|i| (i * 37 + 11) % 25 - 12).collect();
    let x = on.program.tensor_from(&values, [values.len()])?;
    let mut out = on.program.zeros::<i32, 2>([8, values.len()])?;
    everything(5, &x, &mut out).launch()?;
    let out = out.to_vec()?;
    for i in 0..values.len() {
        let found: Vec<i32> = (0..8).map(|row| out[row * values.len() + i]).collect();
        assert_eq!(found, expected(5, &values, i), "{i}: {}", values[i]);
    }
    Ok(())
}

/// Closures with operators and names of the caller.
#[qd::func]
macro_rules! operations {
    ($($name:ident = $op:tt),*) => {
        $(let $name = |a: i32, b: i32| a $op b;)*
    };
}

#[qd::func]
macro_rules! each {
    ($i:ident in $n:expr => $body:block) => {
        for $i in 0..$n $body
    };
}

#[qd::func]
macro_rules! polynomial {
    ($x:expr; $c:expr) => { $c };
    ($x:expr; $c:expr, $($more:expr),+) => { $c + $x * polynomial!($x; $($more),+) };
}

/// Locals with the names of an associated function, of a method, and of another macro, which it calls.
#[qd::func]
macro_rules! names {
    ($square:expr) => {{
        let zero = $square;
        let len = Vector::<i32, 2>::zero();
        let square = Vector::splat(zero) + len;
        square!(square[0]) + square.len() as i32
    }};
}

#[qd::func]
fn generic<T: qd::Number>(x: T) -> T {
    polynomial!(x; x, x + x, x)
}

#[qd::kernel]
fn other_fragments(x: &Tensor<i32, 1>, a: &mut Tensor<i32, 1>) -> i32 {
    each!(i in a.len() => {
        operations!(add = +, sub = -);
        a[i] = add(polynomial![x[i]; 1, 2, 3], sub(generic(x[i]), 1)) + { polynomial!(i as i32; 1) } + names!(x[i]);
    });
    polynomial! { 7; 1, 2 }
}

#[on_all_backends]
fn fragments_of_all_kinds_are_passed_on(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = on.program.tensor_from(&[-3, 0, 2, 5], [4])?;
    let mut a = on.program.zeros::<i32, 1>([4])?;
    assert_eq!(other_fragments(&x, &mut a).launch()?, 15);
    let expected =
        [-3, 0, 2, 5].map(|x| 1 + x * (2 + x * 3) + (x + x * (2 * x + x * x)) - 1 + 1 + x * x + 2);
    assert_eq!(a.to_vec()?, expected);
    Ok(())
}

#[qd::kernel]
fn by_loops(a: &mut Tensor<i32, 1>, b: &mut Tensor<i32, 1>) {
    fill!(a = 3, b = 5 * 2);
}

#[on_all_backends]
fn a_macro_makes_parallel_loops(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let (mut a, mut b) = (on.program.zeros::<i32, 1>([100])?, on.program.zeros::<i32, 1>([50])?);
    by_loops(&mut a, &mut b).launch()?;
    assert_eq!(a.to_vec()?, (3..103).collect::<Vec<_>>());
    assert_eq!(b.to_vec()?, (10..60).collect::<Vec<_>>());
    Ok(())
}

/// Two macros of the same name in one body, one after the other and one inside, and a kernel in a function.
#[on_all_backends]
fn definitions_in_bodies_follow_the_scopes(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    #[qd::kernel]
    fn scopes(out: &mut Tensor<i32, 1>) {
        macro_rules! value {
            () => {
                1
            };
        }
        for i in 0..out.len() {
            out[i] = value!() * 1000;
            macro_rules! value {
                () => {
                    2 + i as i32
                };
            }
            out[i] += value!() * 10;
            {
                macro_rules! value {
                    ($x:expr) => {
                        $x - 1
                    };
                }
                out[i] += value!(i as i32);
            }
            out[i] += value!() * 100;
        }
    }
    let mut out = on.program.zeros::<i32, 1>([9])?;
    scopes(&mut out).launch()?;
    let expected: Vec<i32> = (0..9).map(|i| 1000 + (2 + i) * 110 + i - 1).collect();
    assert_eq!(out.to_vec()?, expected);
    Ok(())
}
