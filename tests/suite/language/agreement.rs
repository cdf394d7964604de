//! User items with the names of built-ins and emitted code: every backend resolves them alike.

// The way the code is written is under test.
#![allow(clippy::all, clippy::pedantic, dead_code)]

use quadrants::{self as qd, Tensor, Vector};
use quadrants_tests::{TestBackend, on_all_backends};

/// On the host, equal to everything.
#[derive(Clone, Copy, Debug, qd::KernelValue)]
struct Loose {
    at: usize,
    weight: f32,
}

impl PartialEq for Loose {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

#[qd::kernel]
fn compared(p: Loose, q: Loose, x: &mut Tensor<u32, 1>) {
    for i in 0..1 {
        if p == q {
            // In range only where the two are really the same.
            x[i + p.at - q.at] = 1;
        }
        if p != q {
            x[i + 1] = 1;
        }
        if [p, p] == [p, q] {
            x[i + 2] = 1;
        }
        if (p, 1) == (q, 1) {
            x[i + 3] = 1;
        }
    }
}

#[on_all_backends]
fn structs_are_compared_field_by_field(backend: TestBackend) {
    let Some(on) = backend.open() else { return };
    if backend == TestBackend::Cpu && cfg!(debug_assertions) {
        // There, a result that is not that of `PartialEq` is reported.
        let (p, q) = (Loose { at: 3, weight: 0.5 }, Loose { at: 2, weight: 0.5 });
        let mut x = on.program.zeros::<u32, 1>([4]).unwrap();
        let error = compared(p, q, &mut x).launch().map(|()| x.to_vec()).expect_err("reported");
        assert!(error.to_string().contains("PartialEq"), "{error}");
        return;
    }
    let run = |p: Loose, q: Loose| {
        let mut x = on.program.zeros::<u32, 1>([4]).unwrap();
        compared(p, q, &mut x).launch().unwrap();
        x.to_vec().unwrap()
    };
    let p = Loose { at: 3, weight: 0.5 };
    assert_eq!(run(p, p), [1, 0, 1, 1]);
    assert_eq!(run(p, Loose { at: 2, ..p }), [0, 1, 0, 0]);
    assert_eq!(run(p, Loose { weight: f32::NAN, ..p }), [0, 1, 0, 0]);
    assert_eq!(run(p, Loose { weight: -0.5, ..p }), [0, 1, 0, 0]);
}

/// A type whose methods have the names of built-in ones.
#[derive(Clone, Copy, qd::KernelValue)]
struct Named {
    a: u32,
    b: Vector<f32, 2>,
}

#[qd::func]
impl Named {
    fn len(self) -> usize {
        self.a as usize + 1
    }

    fn max(self, other: u32, third: u32) -> u32 {
        self.a.max(other).max(third)
    }

    fn norm(&self) -> f32 {
        self.b.norm() + 1.0
    }

    fn sum(self) -> Self {
        Named { a: self.a + self.max(2, 9), b: self.b }
    }

    fn grow(&mut self, by: u32) -> u32 {
        let before = self.a;
        self.a += by;
        self.b *= 2.0;
        if by > 100 {
            return 0;
        }
        self.shrink();
        before
    }

    fn shrink(&mut self) {
        self.a -= 1;
    }

    fn made(a: u32) -> Self {
        Self { a, b: Vector::splat(3.0) }
    }
}

#[qd::kernel]
fn named(given: Named, x: &mut Tensor<f32, 1>, y: &mut Tensor<Named, 1>) {
    for i in 0..1 {
        let mut all = [given, Named::made(7)];
        let mut k = 0;
        // The index is evaluated once, before the argument.
        let old = all[{
            k += 1;
            k
        }]
        .grow(k as u32 + all[0].a);
        let len = given.len();
        x[i] = old as f32;
        x[i + 1] = all[1].a as f32;
        x[i + 2] = len as f32;
        x[i + 3] = given.max(2, 50) as f32;
        x[i + 4] = given.norm();
        x[i + 5] = given.sum().a as f32;
        x[i + 6] = Named::len(given) as f32;
        x[i + 7] = y[i].grow(5) as f32;
        let mut local = y[i];
        local.shrink();
        x[i + 8] = local.a as f32 + local.b[1];
        x[i + 9] = all.len() as f32;
    }
}

#[on_all_backends]
fn user_methods_may_have_the_names_of_built_ins(on: TestBackend) {
    let Some(on) = on.open() else { return };
    let given = Named { a: 4, b: Vector([3.0, 4.0]) };
    let mut x = on.program.zeros::<f32, 1>([10]).unwrap();
    let mut y = on.program.tensor_from(&[given], [1]).unwrap();
    named(given, &mut x, &mut y).launch().unwrap();
    let expected = [7.0, 11.0, 5.0, 50.0, 6.0, 13.0, 5.0, 4.0, 15.0, 2.0];
    assert_eq!(x.to_vec().unwrap(), expected);
    assert_eq!(y.to_vec().unwrap()[0].a, 8);
    // The same on the host.
    let mut host = given;
    assert_eq!((host.grow(5), host.a, host.len(), host.norm()), (4, 8, 9, 11.0));
    assert_eq!((given.max(2, 50), given.sum().a, Named::made(2).b[0]), (50, 13, 3.0));
}

mod twin {
    use super::*;

    pub(super) trait Twin: Sized {
        fn __func_pick(self, i: usize) -> usize {
            i + (1 << 40)
        }
        fn __call(i: usize) -> usize {
            i + (1 << 40)
        }
        fn rev(self) -> Self {
            self
        }
        fn zip(self, _with: usize) -> usize {
            1 << 40
        }
        fn read(self) -> usize {
            1 << 40
        }
        fn at(self, _nth: u64) -> usize {
            1 << 40
        }
        fn len(self) -> usize {
            1 << 40
        }
        fn value<X: Default>(self) -> X {
            X::default()
        }
        fn push<X>(self, _given: X) {}
        fn of<X>(self) {}
        fn pass<X>(self, given: X) -> X {
            given
        }
        fn lane(self, _at: usize) -> Self {
            self
        }
        fn index(self) -> usize {
            1 << 40
        }
    }

    impl<T> Twin for T {}

    #[derive(Clone, Copy, qd::KernelValue)]
    pub(super) struct Picks(u32);

    #[qd::func]
    impl Picks {
        pub(super) fn pick(self, i: usize) -> usize {
            i + self.0 as usize
        }
    }

    #[qd::func]
    pub(super) fn place(i: usize) -> usize {
        i
    }

    #[qd::kernel]
    pub(super) fn summed<T: qd::Float>(by: T, x: &Tensor<u32, 1>, sums: &mut Tensor<u32, 1>) {
        for i in 0..x.len() {
            qd::atomic_add(&mut sums[0], x[i]);
        }
        for i in (0..x.len()).step_by(2) {
            qd::atomic_add(&mut sums[1], x[i]);
        }
        qd::block_for(2, 32, |b| {
            b.each(|t| {
                if t == 0 {
                    qd::atomic_add(&mut sums[2], b.index() as u32 + by.to_u32());
                }
            });
        });
    }

    #[qd::kernel]
    pub(super) fn picked(s: Picks, x: &mut Tensor<u32, 1>) {
        for i in 0..x.len() {
            x[place(s.pick(i))] = i as u32 + 1;
        }
    }

    pub(super) fn picks() -> Picks {
        Picks(0)
    }
}

#[on_all_backends]
fn user_items_cannot_shadow_names_of_emitted_code(on: TestBackend) {
    let Some(on) = on.open() else { return };
    let mut x = on.program.zeros::<u32, 1>([3]).unwrap();
    twin::picked(twin::picks(), &mut x).launch().unwrap();
    assert_eq!(x.to_vec().unwrap(), [1, 2, 3]);
    let mut sums = on.program.zeros::<u32, 1>([3]).unwrap();
    twin::summed(5.0_f32, &x, &mut sums).launch().unwrap();
    assert_eq!(sums.to_vec().unwrap(), [6, 4, 11]);
}

#[qd::func]
trait Pick {
    fn pick(self, i: usize) -> usize;
    fn made(i: usize) -> usize;
}

#[derive(Clone, Copy, qd::KernelValue)]
struct First(u32);

#[qd::func]
impl Pick for First {
    fn pick(self, i: usize) -> usize {
        i + self.0 as usize
    }
    fn made(i: usize) -> usize {
        i + 1
    }
}

#[qd::kernel]
fn generic<T: Pick>(s: T, x: &mut Tensor<u32, 1>) {
    for i in 0..1 {
        x[s.pick(i)] = 5;
        x[T::made(i) + 1] = 6;
    }
}

#[on_all_backends]
fn trait_funcs_call_the_implementation_of_the_type(on: TestBackend) {
    let Some(on) = on.open() else { return };
    let mut x = on.program.zeros::<u32, 1>([3]).unwrap();
    generic(First(1), &mut x).launch().unwrap();
    assert_eq!(x.to_vec().unwrap(), [0, 5, 6]);
}

#[qd::kernel]
fn unordered(x: &mut Tensor<Vector<u32, 2>, 1>) {
    for i in 0..1 {
        let mut v = [Vector([1u32, 2]); 3];
        let mut n = 0;
        v[{
            n += 1;
            n
        }] += {
            n += 1;
            Vector([n as u32, 5])
        };
        x[i] = v[1];
    }
}

#[on_all_backends]
fn a_type_dependent_evaluation_order_is_rejected(on: TestBackend) {
    let Some(on) = on.open() else { return };
    let mut x = on.program.zeros::<Vector<u32, 2>, 1>([1]).unwrap();
    let error = unordered(&mut x).launch().unwrap_err();
    let reason = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
    assert!(
        format!("{error} {reason}").contains("bind one of them with `let`"),
        "{error} {reason}"
    );
}

/// A module in which the names of std mean something else.
mod renamed {
    #![allow(non_camel_case_types)]
    use quadrants::{self as qd, Tensor};

    type bool = u8;
    type usize = u16;
    type u64 = i8;
    struct Option;
    struct Result;
    mod core {}
    mod std {}

    #[qd::func]
    pub(super) fn halved(x: f32) -> f32 {
        x * 0.5
    }

    #[qd::kernel]
    pub(super) fn narrow(x: &mut Tensor<u32, 1>) {
        for i in 0..x.len() {
            // 300 as the module's `usize` and `u64`.
            x[i] = (halved(700.0) as usize).wrapping_add(65500) as u32 + (300.0 as u64) as u32;
        }
    }
}

#[on_all_backends]
fn types_resolve_in_the_scope_of_the_kernel(on: TestBackend) {
    let Some(on) = on.open() else { return };
    let mut x = on.program.zeros::<u32, 1>([1]).unwrap();
    renamed::narrow(&mut x).launch().unwrap();
    assert_eq!(x.to_vec().unwrap(), [314 + 127]);
}

#[qd::kernel]
fn in_strips(given: Named, q: &mut Tensor<Named, 1>, x: &mut Tensor<u32, 1>) {
    for i in 0..x.len() {
        let mut sum = i as u32;
        let named = Named::made(i as u32 % 5);
        for k in 0..6u32 {
            // A func with the name of a vectorized method, beside that method.
            sum = sum.max(k) + given.max(k, sum % 3) + named.max(k, 2);
        }
        sum += q[i].grow(sum % 7 + 1);
        x[i] = sum;
    }
}

#[on_all_backends]
fn funcs_with_built_in_names_run_in_strips(on: TestBackend) {
    let Some(on) = on.open() else { return };
    const N: u32 = 301;
    let given = Named { a: 4, b: Vector([3.0, 4.0]) };
    let all: Vec<_> = (0..N).map(|i| Named { a: i, ..given }).collect();
    let mut q = on.program.tensor_from(&all, [N as usize]).unwrap();
    let mut x = on.program.zeros::<u32, 1>([N as usize]).unwrap();
    in_strips(given, &mut q, &mut x).launch().unwrap();
    let expected = |i: u32| {
        let mut sum = i;
        for k in 0..6 {
            sum = sum.max(k) + 4.max(k).max(sum % 3) + (i % 5).max(k).max(2);
        }
        (sum + i, i + sum % 7)
    };
    for (i, (x, q)) in (0..N).zip(x.to_vec().unwrap().into_iter().zip(q.to_vec().unwrap())) {
        assert_eq!((x, q.a), expected(i), "{i}");
    }
}
