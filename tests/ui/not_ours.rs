use quadrants as qd;
use quadrants::Tensor;

fn atomic_add(element: &mut i32, value: i32) -> i32 {
    *element -= value;
    value
}

fn ndrange(of: [usize; 2]) -> qd::ndrange<[usize; 2]> {
    qd::ndrange([of[0] / 2, of[1]])
}

#[qd::kernel]
fn an_atomic(x: &mut Tensor<i32, 1>) {
    for i in 0..10 {
        atomic_add(&mut x[i % 2], 1);
    }
}

#[qd::kernel]
fn a_space(x: &mut Tensor<i32, 2>) {
    for (i, j) in ndrange(x.shape()) {
        x[[i, j]] = 1;
    }
}

fn main() {}
