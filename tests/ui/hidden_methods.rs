//! A method that hides a func of its name from rustc, and gives another type of the same layout.

use quadrants::{self as qd, Tensor};

#[derive(Clone, Copy, qd::KernelValue)]
struct S(u32);

/// A type of the same name and layout as another, with other funcs.
mod other {
    use quadrants as qd;

    #[derive(Clone, Copy, qd::KernelValue)]
    pub struct S(pub u32);
}

#[derive(Clone, Copy, qd::KernelValue)]
struct Maker(u32);

impl Maker {
    fn made(self) -> other::S {
        other::S(1)
    }

    fn new(at: u32) -> other::S {
        other::S(at)
    }
}

#[qd::func]
trait Made {
    fn made(self) -> S;
    fn new(at: u32) -> S;
}

#[qd::func]
impl Made for Maker {
    fn made(self) -> S {
        S(1)
    }

    fn new(at: u32) -> S {
        S(at)
    }
}

#[qd::kernel]
fn hidden(maker: Maker, x: &mut Tensor<u32, 1>) {
    for i in 0..x.len() {
        x[i] = maker.made().0 + Maker::new(2).0;
    }
}

fn main() {}
