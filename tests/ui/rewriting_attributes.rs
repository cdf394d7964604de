use quadrants as qd;
use quadrants::Tensor;

/// What changes no tokens may stand anywhere.
#[qd::kernel]
#[allow(unused_variables)]
#[cfg_attr(all(), inline)]
#[rustfmt::skip]
fn accepted(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = of_a_func(x[i]);
    }
}

// Any attribute that is a macro.
#[qd::func]
#[qd::func]
fn of_a_func(x: f32) -> f32 {
    x
}

#[qd::kernel]
#[cfg_attr(all(), qd::func)]
fn of_a_kernel(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = 1.0;
    }
}

#[derive(Clone, Copy, qd::KernelValue)]
struct Pair(f32, f32);

#[qd::func]
#[qd::func]
impl Pair {
    #[qd::func]
    fn sum_of(self) -> f32 {
        self.0 + self.1
    }
}

fn main() {}
