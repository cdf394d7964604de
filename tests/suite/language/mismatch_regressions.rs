//! Programs for which the CPU body and the IR once had different meanings.

// The way the code is written is under test.
#![allow(clippy::all, clippy::pedantic, dead_code)]

use quadrants::{self as qd, KernelValue, Matrix, Tensor};
use quadrants_tests::{TestBackend, on_all_backends};

/// Counts its calls.
#[derive(Clone, Copy, KernelValue)]
struct Asked(usize);

#[qd::func]
impl Asked {
    fn next(&mut self) -> usize {
        self.0 += 1;
        self.0
    }
}

#[qd::kernel]
fn indexed(j: usize, x: &mut Tensor<u32, 1>) {
    for i in 0..1 {
        let m = [[1u32, 2, 3], [4, 5, 6], [7, 8, 9]];
        let deep = [m, m, m];
        let t = [Matrix([[1u32, 2], [3, 4]]); 3];
        let mut k = 0;
        let mut asked = Asked(0);
        x[i] = m[{
            k += 1;
            k
        }][j];
        x[i + 1] = k as u32;
        x[i + 2] = deep[asked.next()][j][j + 1];
        x[i + 3] = t[asked.next()][[j, 1]] + asked.0 as u32;
        x[i + 4] = m[asked.next() - 2][qd::atomic_add(&mut x[6], 1) as usize];
    }
}

#[on_all_backends]
fn an_inner_index_is_evaluated_once(on: TestBackend) {
    let Some(on) = on.open() else { return };
    let mut x = on.program.zeros::<u32, 1>([7]).unwrap();
    indexed(0, &mut x).launch().unwrap();
    assert_eq!(x.to_vec().unwrap(), [4, 1, 2, 4, 4, 0, 1]);
    let failed = indexed(3, &mut x).launch().and_then(|()| on.program.sync());
    assert!(failed.unwrap_err().to_string().contains("is out of range for its shape"));
}

#[qd::kernel]
fn literals(x: &mut Tensor<u64, 1>, y: &mut Tensor<f64, 1>, b: bool) {
    for i in 0..1 {
        x[i] = u8::max(!0, 1) as u64;
        x[i + 1] = u8::wrapping_add(200, 100) as u64;
        x[i + 2] = u64::count_ones(!0) as u64;
        x[i + 3] = u8::leading_zeros(1) as u64;
        x[i + 4] = u64::wrapping_shl(1, 40);
        x[i + 5] = u16::saturating_add(60000, 10000) as u64;
        x[i + 6] = f64::from_bits(0x3ff0_0000_0000_0000) as u64;
        x[i + 7] = (f32::from_bits(0x3f80_0000) as u64).max(0);
        y[i] = f32::sqrt(2.0) as f64;
        y[i + 1] = (if b { 1.000000059604644775390626 } else { 2.0 }) as f32 as f64;
        y[i + 2] = (match b {
            true => 1.000000059604644775390626,
            false => 2.0,
        }) as f32 as f64;
    }
}

#[on_all_backends]
fn literals_have_the_types_that_rustc_infers(on: TestBackend) {
    let Some(on) = on.open() else { return };
    let mut x = on.program.zeros::<u64, 1>([8]).unwrap();
    let mut y = on.program.zeros::<f64, 1>([3]).unwrap();
    literals(&mut x, &mut y, true).launch().unwrap();
    assert_eq!(x.to_vec().unwrap(), [255, 44, 64, 7, 1 << 40, 65535, 1, 1]);
    assert_eq!(y.to_vec().unwrap(), [f64::from(2.0_f32.sqrt()), 1.0, 1.0]);
}

#[qd::kernel]
fn raw(y: &mut Tensor<u32, 1>) {
    for i in 0..y.len() {
        let k = i + 1;
        let r#n = k as u32;
        {
            let r#k = 40;
            y[i] = k + n;
        }
    }
}

#[on_all_backends]
fn a_raw_identifier_names_the_same_item(on: TestBackend) {
    let Some(on) = on.open() else { return };
    let mut y = on.program.zeros::<u32, 1>([2]).unwrap();
    raw(&mut y).launch().unwrap();
    assert_eq!(y.to_vec().unwrap(), [41, 42]);
}

#[qd::kernel]
fn matched(_match1: usize, n: u32, c: &mut Tensor<u32, 1>, x: &mut Tensor<u32, 1>) {
    for i in 0..1 {
        x[match i {
            _ => _match1,
        }] = 1;
        x[i] = match n {
            4 | _ if qd::atomic_add(&mut c[0], 1) == 1 => 1,
            _ => 2,
        };
        x[i + 1] = match n {
            k @ (4 | 3..=9) if qd::atomic_add(&mut c[1], k) == 4 => 1,
            _ => 2,
        };
    }
}

#[on_all_backends]
fn match_guards_run_for_each_alternative(on: TestBackend) {
    let Some(on) = on.open() else { return };
    let [mut c, mut x] = [2, 3].map(|n| on.program.zeros::<u32, 1>([n]).unwrap());
    matched(2, 4, &mut c, &mut x).launch().unwrap();
    assert_eq!((c.to_vec().unwrap(), x.to_vec().unwrap()), (vec![2, 8], vec![1, 1, 1]));
}

#[derive(Clone, Copy, KernelValue)]
struct Drinks {
    a: u32,
}

impl Drinks {
    /// Shadows the trait's func for rustc: no borrow prevents its argument from changing the receiver.
    fn drink(self, k: u32) -> u32 {
        k
    }
}

#[qd::func]
trait Drink {
    fn drink(&mut self, k: u32) -> u32;
}

#[qd::func]
impl Drink for Drinks {
    fn drink(&mut self, k: u32) -> u32 {
        self.a += k;
        self.a
    }
}

#[qd::kernel]
fn drinks(x: &mut Tensor<u32, 1>) {
    for i in 0..1 {
        let mut s = Drinks { a: 100 };
        x[i] = s.drink({
            s.a = 5;
            2
        });
        x[i + 1] = s.a;
    }
}

#[on_all_backends]
fn a_receiver_that_its_arguments_change_matches_rust(on: TestBackend) {
    let Some(on) = on.open() else { return };
    let mut x = on.program.zeros::<u32, 1>([2]).unwrap();
    drinks(&mut x).launch().unwrap();
    assert_eq!(x.to_vec().unwrap(), [7, 7]);
}

#[qd::kernel]
fn divided(m: &mut Tensor<Matrix<i32, 2, 2>, 1>, x: &mut Tensor<u32, 1>, q: &Tensor<Drinks, 1>) {
    for i in 0..m.len() {
        let mut n = 7;
        n /= {
            n = 40;
            2
        };
        assert!(match x[i] {
            3 => false,
            v => v < 9,
        });
        x[i] = if n > 3 { q[i].drunk(1) ^ n } else { 2 };
        m[i] = m[i].inverse();
    }
}

#[qd::func]
impl Drinks {
    fn drunk(&self, by: u32) -> u32 {
        self.a + by
    }
}

#[on_all_backends]
fn valid_programs_once_rejected_compile(on: TestBackend) {
    let Some(on) = on.open() else { return };
    let mut m = on.program.tensor_from(&[Matrix([[1, 1], [1, 2]])], [1]).unwrap();
    let mut x = on.program.zeros::<u32, 1>([1]).unwrap();
    let q = on.program.tensor_from(&[Drinks { a: 3 }], [1]).unwrap();
    divided(&mut m, &mut x, &q).launch().unwrap();
    assert_eq!(
        (m.to_vec().unwrap()[0], x.to_vec().unwrap()),
        (Matrix([[2, -1], [-1, 1]]), vec![16])
    );
    let mut singular = on.program.tensor_from(&[Matrix([[1, 2], [2, 4]])], [1]).unwrap();
    x.fill(0).unwrap();
    let failed = divided(&mut singular, &mut x, &q).launch().and_then(|()| on.program.sync());
    let error = failed.unwrap_err().to_string();
    assert!(error.contains("zero"), "{error}");
}

#[qd::kernel]
fn shadowed(x: &Tensor<u32, 1>, y: &mut Tensor<u32, 2>, z: &mut Tensor<u32, 1>) {
    for i in 0..z.len() {
        let j = i;
        // A value that all iterations share, by the name of the loop's variable.
        let i = 0usize;
        let mut s = 0u32;
        for k in 0..4u32 {
            s += k;
        }
        if x.len() > 0 {
            s += x[i * 100_000_000];
        }
        z[j] = s;
    }
    for (i, j) in qd::ndrange(y.shape()) {
        let a = j;
        let j = 7u32;
        let mut s = 0;
        for k in 0..3 {
            s = s * 3 + j + k;
        }
        y[[i, a]] = s;
    }
}

#[on_all_backends]
fn a_local_may_shadow_its_loop_variable(on: TestBackend) {
    let Some(on) = on.open() else { return };
    let x = on.program.tensor_from(&[1; 6], [6]).unwrap();
    let mut y = on.program.zeros::<u32, 2>([2, 100]).unwrap();
    let mut z = on.program.zeros::<u32, 1>([100]).unwrap();
    shadowed(&x, &mut y, &mut z).launch().unwrap();
    assert_eq!(z.to_vec().unwrap(), [7; 100]);
    assert_eq!(y.to_vec().unwrap(), [96; 200]);
}

#[qd::kernel]
fn of_none<const N: usize>(n: usize, y: &mut Tensor<i32, 1>) {
    for i in 0..y.len() {
        let a = [3; N];
        let mut s = 1;
        for k in 0..N {
            s += a[k];
        }
        if n > 5 {
            s += a[n];
        }
        y[i] = s;
    }
}

#[on_all_backends]
fn an_index_of_an_empty_array_is_an_error(on: TestBackend) {
    let Some(on) = on.open() else { return };
    let mut y = on.program.zeros::<i32, 1>([2]).unwrap();
    of_none::<0>(0, &mut y).launch().unwrap();
    assert_eq!(y.to_vec().unwrap(), [1; 2]);
    of_none::<2>(0, &mut y).launch().unwrap();
    assert_eq!(y.to_vec().unwrap(), [7; 2]);
    let failed = of_none::<0>(6, &mut y).launch().and_then(|()| on.program.sync());
    let error = failed.unwrap_err().to_string();
    assert!(error.contains("is out of range for its shape"), "{error}");
}
