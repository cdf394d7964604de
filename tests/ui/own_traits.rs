//! Traits with `#[func]`: what they and their implementations cannot be.

use quadrants::{self as qd, Tensor};

#[derive(Clone, Copy, qd::KernelValue)]
struct S(i32);

#[qd::func]
impl S {
    fn norm(self) -> i32 {
        1
    }
}

/// Names that types have already.
#[qd::func]
trait Known {
    fn norm(self) -> i32;
    fn midpoint(self, other: Self) -> Self;
}

#[qd::func]
impl Known for S {
    fn norm(self) -> i32 {
        2
    }
    fn midpoint(self, _other: S) -> S {
        self
    }
}

#[qd::func]
impl Known for u32 {
    fn norm(self) -> i32 {
        2
    }
    fn midpoint(self, _other: u32) -> u32 {
        self
    }
}

/// Two traits with a method of one name.
#[qd::func]
trait One {
    fn twice(self) -> i32;
}

#[qd::func]
impl One for i32 {
    fn twice(self) -> i32 {
        self
    }
}

mod hidden {
    use quadrants as qd;

    #[qd::func]
    pub trait Other {
        fn twice(self) -> i32;
    }

    #[qd::func]
    impl Other for i32 {
        fn twice(self) -> i32 {
            2 * self
        }
    }
}

#[qd::kernel]
fn twice(x: &mut Tensor<i32, 1>) {
    for i in 0..x.len() {
        x[i] = x[i].twice();
    }
}

#[qd::kernel]
fn by_trait(x: &mut Tensor<i32, 1>) {
    for i in 0..x.len() {
        x[i] = <i32 as One>::twice(x[i]);
    }
}

#[derive(Clone, Copy, qd::KernelValue)]
struct Holds<T>(T);

#[qd::func]
fn bound_of_another<T: qd::KernelValue>(of: Holds<T>) -> i32
where
    Holds<T>: One,
{
    of.twice()
}

#[qd::func]
trait WithBody {
    fn first(self) -> i32;
    fn second(self) -> i32 {
        3
    }
}

#[qd::func]
impl WithBody for bool {
    fn first(self) -> i32 {
        1
    }
}

#[qd::func]
impl<T: qd::Number> WithBody for T {
    fn first(self) -> i32 {
        1
    }
}

#[qd::func]
impl std::ops::Add for S {
    type Output = S;
    fn add(self, other: S) -> S {
        S(self.0 + other.0)
    }
}

#[qd::func]
impl Default for S {
    fn default() -> S {
        S(1)
    }
}

/// A mistake in an `impl`.
#[qd::func]
trait Mistaken {
    fn mistaken(self) -> i32;
    fn right(self) -> i32;
}

#[qd::func]
impl Mistaken for f32 {
    fn mistaken(self) -> i32 {
        let text = "text";
        1
    }
    fn right(self) -> i32 {
        self as i32
    }
}

#[qd::kernel]
fn calls(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = (x[i].right() + x[i].mistaken()) as f32;
    }
}

fn main() {}
