//! Names, conversions and literals whose meaning the CPU body and the IR must agree on.

// The kernels are written as a review wrote them.
#![allow(
    clippy::all,
    clippy::pedantic,
    dead_code,
    overflowing_literals,
    unconditional_panic,
    unused_macros
)]

use quadrants::{self as qd, KernelValue, Tensor, f16};
use quadrants_tests::{TestBackend, on_all_backends};

/// Both a conversion and a func have the name `from`.
#[derive(Clone, Copy, KernelValue)]
struct Index(usize);

impl From<usize> for Index {
    fn from(at: usize) -> Self {
        Self(at + (1 << 40))
    }
}

#[qd::func]
impl Index {
    fn from(at: usize) -> Index {
        Index(at)
    }
}

#[qd::kernel]
fn write_by_from(x: &mut Tensor<u64, 1>) {
    for i in 0..x.len() {
        x[Index::from(i).0] = 3;
    }
}

#[on_all_backends]
fn from_of_a_type_is_its_func(on: TestBackend) {
    let Some(on) = on.open() else { return };
    let mut x = on.program.zeros::<u64, 1>([5]).unwrap();
    write_by_from(&mut x).launch().unwrap();
    assert_eq!(x.to_vec().unwrap(), [3; 5]);
}

/// A user's trait with the names of conversions.
trait Convert: Sized {
    fn from_u32(value: u32) -> Self;
    fn from_f32(value: f32) -> Self;
    fn to_u32(self) -> u32;
}

impl Convert for f16 {
    fn from_u32(_: u32) -> Self {
        f16::from_f32(30000.0)
    }
    fn from_f32(_: f32) -> Self {
        f16::MAX
    }
    fn to_u32(self) -> u32 {
        30000
    }
}

#[qd::kernel]
fn convert(x: &mut Tensor<f64, 1>, y: &Tensor<f64, 1>) {
    for i in 0..1 {
        x[i] = f32::to_u32(1.5) as f64;
        x[i + 1] = f16::from_f32(2.5).to_f32() as f64;
        x[i + 2] = f64::to_i32(-7.75) as f64;
        x[i + 3] = i64::to_f32(16777217) as f64;
        if y.len() > 1 {
            x[i + 4] = y[(i64::to_i32(2147483648) >> 31) as usize & 1];
        }
    }
}

#[on_all_backends]
fn conversions_by_path_have_the_type_of_their_name(on: TestBackend) {
    let Some(on) = on.open() else { return };
    let mut x = on.program.zeros::<f64, 1>([5]).unwrap();
    let y = on.program.tensor_from(&[5.0, 6.0], [2]).unwrap();
    convert(&mut x, &y).launch().unwrap();
    assert_eq!(x.to_vec().unwrap(), [1.0, 2.5, -7.0, 16777216.0, 6.0]);
}

/// A kernel calls its own `assert!`.
macro_rules! assert {
    ($value:ident > 0, $message:expr) => {{
        const LIMIT: usize = 1 << 40;
        let _fixed: u64 = $value;
    }};
}

const LIMIT: usize = 1;

#[qd::kernel]
fn assert_in_scope(x: &mut Tensor<i64, 1>) {
    for i in 0..1 {
        let k = 3;
        assert!(k > 0, "positive");
        x[i + LIMIT] = (k - 4) as i64;
    }
}

#[on_all_backends]
fn assert_in_a_kernel_is_not_a_macro_of_the_users_crate(on: TestBackend) {
    let Some(on) = on.open() else { return };
    let mut x = on.program.zeros::<i64, 1>([2]).unwrap();
    assert_in_scope(&mut x).launch().unwrap();
    std::assert_eq!(x.to_vec().unwrap(), [0, -1]);
}

#[qd::kernel]
fn raw_names(r#fn: &mut Tensor<u32, 1>, r#in: u32, r#plain: u32) {
    for i in 0..r#fn.len() {
        r#fn[i] = r#in + plain + r#fn.len() as u32;
    }
}

#[derive(Clone, Copy, KernelValue)]
struct Raw {
    r#ordinary: u32,
    r#match: u32,
}

#[qd::kernel]
fn raw_fields(raw: Raw, x: &mut Tensor<u32, 1>) {
    for i in 0..x.len() {
        x[i] = raw.ordinary + raw.r#match;
    }
}

#[on_all_backends]
fn raw_identifiers_name_parameters_and_fields(on: TestBackend) {
    let Some(on) = on.open() else { return };
    let mut x = on.program.zeros::<u32, 1>([3]).unwrap();
    raw_names(&mut x, 10, 100).launch().unwrap();
    std::assert_eq!(x.to_vec().unwrap(), [113; 3]);
    raw_fields(Raw { ordinary: 1, r#match: 2 }, &mut x).launch().unwrap();
    std::assert_eq!(x.to_vec().unwrap(), [3; 3]);
}

#[qd::kernel]
fn divide_by_literals(m: i8, n: i32, y: &mut Tensor<i32, 1>) {
    for i in 0..1 {
        y[i] = (m / 0xff_i8) as i32;
        y[i + 1] = (0x80i8 / (m + 127)) as i32;
        y[i + 2] = n / 0xffff_ffff;
    }
}

#[on_all_backends]
fn literals_that_wrap_divide_alike(on: TestBackend) {
    let Some(on) = on.open() else { return };
    let mut y = on.program.zeros::<i32, 1>([3]).unwrap();
    divide_by_literals(i8::MIN, i32::MIN, &mut y).launch().unwrap();
    std::assert_eq!(y.to_vec().unwrap(), [-128, -128, i32::MIN]);
}

#[qd::func]
fn fourth<const N: usize>(x: i32) -> i32 {
    let mut a = [x; N];
    a[1] = 2;
    a[3] + a[1]
}

#[qd::kernel]
fn index_short_array(y: &mut Tensor<i32, 1>) {
    for i in 0..y.len() {
        y[i] = fourth::<2>(i as i32);
    }
}

#[on_all_backends]
fn a_literal_index_out_of_range_is_a_kernel_error(on: TestBackend) {
    let Some(on) = on.open() else { return };
    let mut y = on.program.zeros::<i32, 1>([3]).unwrap();
    let failed = index_short_array(&mut y).launch().and_then(|()| on.program.sync());
    let text = failed.unwrap_err().to_string();
    std::assert!(text.contains("is out of range for its shape [2]"), "{text}");
}

/// A func trait and a plain implementation's method of its name: kernels call the func.
#[qd::func]
trait Pick {
    fn pick(self, at: usize) -> usize;
}

#[derive(Clone, Copy, KernelValue)]
struct Picker(usize);

impl Picker {
    fn pick(self, at: usize) -> usize {
        at + (1 << 40)
    }
}

#[qd::func]
impl Pick for Picker {
    fn pick(self, at: usize) -> usize {
        at + self.0
    }
}

#[qd::kernel]
fn write_by_pick<T: Pick>(picker: T, x: &mut Tensor<u64, 1>) {
    for i in 0..x.len() - 1 {
        x[picker.pick(i)] = 4;
    }
}

#[on_all_backends]
fn a_func_trait_calls_its_func(on: TestBackend) {
    let Some(on) = on.open() else { return };
    let mut x = on.program.zeros::<u64, 1>([4]).unwrap();
    write_by_pick(Picker(1), &mut x).launch().unwrap();
    std::assert_eq!(x.to_vec().unwrap(), [0, 4, 4, 4]);
}

mod renamed {
    use quadrants::{self as qd, Tensor, stream_parallel as x};

    #[qd::kernel]
    pub(super) fn fill_both(a: &mut Tensor<f32, 1>, b: &mut Tensor<f32, 1>) {
        x(|| {
            for i in 0..a.len() {
                a[i] = 1.0;
            }
        });
        x(|| {
            for i in 0..b.len() {
                b[i] = 2.0;
            }
        });
    }
}

#[on_all_backends]
fn stream_parallel_may_be_imported_under_another_name(on: TestBackend) {
    let Some(on) = on.open() else { return };
    let mut a = on.program.zeros::<f32, 1>([4]).unwrap();
    let mut b = on.program.zeros::<f32, 1>([3]).unwrap();
    renamed::fill_both(&mut a, &mut b).launch().unwrap();
    std::assert_eq!((a.to_vec().unwrap(), b.to_vec().unwrap()), (vec![1.0; 4], vec![2.0; 3]));
    if on.world.is_some() {
        let statistics = on.program.region_statistics();
        std::assert_eq!(statistics.by_events + statistics.as_graph, 1);
    }
}

#[qd::kernel]
fn convert_literals(c: bool, x: &mut Tensor<i64, 1>, y: &mut Tensor<f64, 1>) {
    for i in 0..1 {
        x[i] = usize::from_u64(1 << 40) as i64;
        x[i + 1] = i64::from_i64(if c { 3_000_000_000 } else { 0 });
        x[i + 2] = 4294967296.to_usize() as i64;
        x[i + 3] = i64::from(3000000000);
        y[i] = f64::from_f32(16777216.0 + 1.0 + 1.0);
        y[i + 1] = 0.1.to_f32() as f64;
    }
}

#[on_all_backends]
fn literals_in_conversions_have_the_types_that_rustc_gives_them(on: TestBackend) {
    let Some(on) = on.open() else { return };
    let mut x = on.program.zeros::<i64, 1>([4]).unwrap();
    let mut y = on.program.zeros::<f64, 1>([2]).unwrap();
    convert_literals(true, &mut x, &mut y).launch().unwrap();
    let wrapped = i64::from(3000000000_u32 as i32);
    std::assert_eq!(x.to_vec().unwrap(), [1 << 40, 3_000_000_000, 0, wrapped]);
    std::assert_eq!(y.to_vec().unwrap(), [16777216.0, f64::from(0.1_f64 as f32)]);
}

#[qd::kernel]
fn index_of_a_block(x: &mut Tensor<u32, 1>) {
    qd::block_for(2, 1, |b| {
        b.each(|t| {
            x[(b.index() + 2147483647) as usize - 2147483647 + t] = 1;
        });
    });
}

#[qd::kernel]
fn number_of_a_block(x: &mut Tensor<f32, 1>) {
    qd::block_for(4, 2, |b| {
        b.each(|t| {
            let k = b.index();
            x[b.index() * 2 + t] = k as f32;
        });
    });
}

#[on_all_backends]
fn the_index_of_a_block_is_a_usize(on: TestBackend) {
    let Some(on) = on.open() else { return };
    let mut x = on.program.zeros::<u32, 1>([2]).unwrap();
    index_of_a_block(&mut x).launch().unwrap();
    std::assert_eq!(x.to_vec().unwrap(), [1, 1]);
    let mut y = on.program.zeros::<f32, 1>([8]).unwrap();
    number_of_a_block(&mut y).launch().unwrap();
    std::assert_eq!(y.to_vec().unwrap(), [0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0]);
}

/// A plain method, by value, hides a func that changes its receiver: rustc then lets an argument change it too.
#[derive(Clone, Copy, KernelValue)]
struct Jar {
    at: usize,
}

impl Jar {
    fn take(self, k: usize) -> usize {
        k
    }
}

#[qd::func]
trait Take {
    fn take(&mut self, k: usize) -> usize;
}

#[qd::func]
impl Take for Jar {
    fn take(&mut self, k: usize) -> usize {
        self.at += k;
        self.at
    }
}

#[derive(Clone, Copy, KernelValue)]
struct Shelf {
    jar: Jar,
    jars: [Jar; 2],
}

#[qd::kernel]
fn receivers_that_arguments_change(z: usize, x: &mut Tensor<u64, 1>) {
    for i in 0..1_usize {
        let mut jars = [Jar { at: 1 }, Jar { at: 2 }];
        let mut shelf = Shelf { jar: Jar { at: 1 }, jars: [Jar { at: 1 }; 2] };
        let mut jar = Jar { at: 1 };
        // Of a part of a local, the value before the arguments is changed.
        let a = jars[z].take({
            jars[0].at = 1 << 40;
            2
        });
        x[a + i] = 7;
        let b = jars[0].take({
            jars = [Jar { at: 1 << 40 }; 2];
            2
        });
        x[b + i] += 1;
        let c = shelf.jar.take({
            shelf.jar.at = 1 << 40;
            2
        });
        x[c + i] += 10;
        let d = shelf.jars[z].take(shelf.jars[z].take(2));
        x[d + i] += 100;
        let e = jar.take({
            jar.at = 5;
            2
        });
        x[e + i] += 1000;
    }
}

#[on_all_backends]
fn an_argument_that_changes_its_receiver_does_so_on_all_backends(on: TestBackend) {
    let Some(on) = on.open() else { return };
    let mut x = on.program.zeros::<u64, 1>([16]).unwrap();
    receivers_that_arguments_change(0, &mut x).launch().unwrap();
    let x = x.to_vec().unwrap();
    assert_eq!((x[3], x[4], x[5], x[7]), (17, 100, 1, 1000), "{x:?}");
}

/// An operand is a mutable local's value before a later operand assigns it, whatever is computed of it.
#[qd::kernel]
fn operands_before_an_assignment(
    a: f32,
    b: f32,
    n: u32,
    t: &mut Tensor<u32, 1>,
    x: &mut Tensor<f32, 1>,
) {
    for i in 0..1_usize {
        let mut f = a;
        t[i] = f.to_bits() + {
            f = 2.0;
            n
        };
        let pair = (f.to_bits(), {
            f = 3.0;
            f.to_bits()
        });
        t[i + 1] = pair.0;
        f = a;
        t[i + 2] = u32::from(
            f.is_sign_negative() ^ {
                f = b;
                f > 0.0
            },
        );
        f = a;
        x[i] = b.copysign(f) + {
            f = -f;
            f
        };
        f = a;
        x[i + 1] = f.signum() + {
            f = 5.0;
            f
        };
        let mut bits = a.to_bits();
        x[i + 2] = f32::from_bits(bits) * {
            bits = 0;
            f
        };
    }
}

#[on_all_backends]
fn operands_are_read_in_order_on_all_backends(on: TestBackend) {
    let Some(on) = on.open() else { return };
    let mut t = on.program.zeros::<u32, 1>([3]).unwrap();
    let mut x = on.program.zeros::<f32, 1>([3]).unwrap();
    operands_before_an_assignment(-8.0, 1.5, 10, &mut t, &mut x).launch().unwrap();
    let expected = [(-8.0_f32).to_bits() + 10, 2.0_f32.to_bits(), 0];
    assert_eq!(t.to_vec().unwrap(), expected);
    assert_eq!(x.to_vec().unwrap(), [6.5, 4.0, -40.0]);
}

/// Defines a func, a kernel and a plain function with the same values.
macro_rules! casts_of_literals {
    (|$n:ident, $b:ident| $values:expr) => {
        #[qd::func]
        fn cast_literals(n: u32, b: bool) -> [u64; 13] {
            let ($n, $b) = (n, b);
            $values
        }

        #[qd::kernel]
        fn cast_literals_in_loop(n: u32, b: bool, x: &mut Tensor<u64, 1>, y: &mut Tensor<u64, 1>) {
            for i in 0..1_usize {
                let ($n, $b) = (n, b);
                let all = $values;
                let of_func = cast_literals(n, b);
                for k in 0..13_usize {
                    x[i + k] = all[k];
                    y[i + k] = of_func[k];
                }
            }
        }

        fn plain_cast_literals($n: u32, $b: bool) -> [u64; 13] {
            $values
        }
    };
}

// rustc infers literals from a cast through blocks and signs, and not through branches.
casts_of_literals!(|n, b| [
    (match n {
        _ => 3_000_000_000,
    }) as u64,
    (match n {
        _m => !3_000_000_000,
    }) as u64,
    !(match n {
        _ => {
            let _one = 1;
            -1
        }
    }) as u64,
    (match b {
        true | false => 200 + 100,
    }) as u8 as u64,
    { 3_000_000_000 } as u64,
    (if b { 3_000_000_000 } else { 1 }) as u64,
    -(if b { 3_000_000_000 } else { 1 }) as u64,
    {
        match n {
            7 => 1,
            _ => 3_000_000_000,
        }
    } as u64,
    (loop {
        break 3_000_000_000;
    }) as u64,
    (match n {
        _ => 1.000000059604644775390626,
    }) as f32 as u64,
    ((match n {
        _ => 1.000000059604644775390626,
    }) as f32)
        .to_bits() as u64,
    ((if b { 1.000000059604644775390626 } else { 0.0 }) as f32).to_bits() as u64,
    ({ 1.000000059604644775390626 } as f32).to_bits() as u64
]);

/// The access is in bounds by the literal that rustc wraps.
#[qd::kernel]
fn literal_as_index(n: u32, x: &mut Tensor<u64, 1>) {
    for i in 0..1_usize {
        x[i + ((match n {
            _ => 3_000_000_000,
        }) as u64
            >> 40) as usize] = 1;
    }
}

#[on_all_backends]
fn literals_under_casts_have_the_types_of_rustc(on: TestBackend) {
    let Some(on) = on.open() else { return };
    for (n, b) in [(1, true), (7, false)] {
        let mut x = on.program.zeros::<u64, 1>([13]).unwrap();
        let mut y = on.program.zeros::<u64, 1>([13]).unwrap();
        cast_literals_in_loop(n, b, &mut x, &mut y).launch().unwrap();
        let expected = plain_cast_literals(n, b);
        assert_eq!(y.to_vec().unwrap(), expected);
        assert_eq!(x.to_vec().unwrap(), expected);
    }
    let mut x = on.program.zeros::<u64, 1>([8]).unwrap();
    let launched = literal_as_index(1, &mut x).launch().and_then(|_| on.program.sync());
    let error = launched.unwrap_err().to_string();
    assert_eq!(error.contains("16777215").then_some(()), Some(()), "{error}");
}
