use quadrants as qd;
use quadrants::Tensor;

#[qd::kernel]
fn several(x: &mut Tensor<f32, 1>) {
    let (a, ..) = (1.0, 2.0);
    for i in 0..x.len() {
        match (i, 1) {
            (0, _) => x[i] = a,
            _ => x[i] = b,
        }
    }
    for v in [1.0, 2.0] {
        x[0] = v;
    }
    eprintln!("done");
    while let Some(y) = Some(1.0) {
        x[0] = y;
    }
}

#[qd::kernel]
fn unknown_method(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = x[i].squared();
    }
}

fn main() {}
