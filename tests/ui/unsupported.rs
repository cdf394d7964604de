use quadrants as qd;
use quadrants::Tensor;

#[qd::kernel]
fn several(x: &mut Tensor<f32, 1>) {
    let (a @ (b, _), c) = ((1.0, 2.0), 3.0);
    for i in 0..x.len() {
        match [i, 1] {
            [0, _] => x[i] = a,
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

#[qd::kernel]
fn shape_as_tuple(x: &mut Tensor<f32, 2>) {
    let (h, w) = x.shape();
    for (i, j) in qd::ndrange((0..h, 0..w)) {
        x[[i, j]] = 1.0;
    }
}

#[qd::kernel]
fn conversions(x: &mut Tensor<i32, 1>) {
    for i in 0..x.len() {
        x[i] = i32::try_from(i).unwrap();
        x[i] += (i as u128) as i32;
    }
}

#[qd::kernel]
fn label_of_another_block(x: &mut Tensor<i32, 1>) {
    for i in 0..x.len() {
        'block: {
            if i > 3 {
                continue;
            }
            x[i] = 1;
            break 'block;
        }
    }
}

#[qd::kernel]
struct NoFunction {
    x: f32,
}

#[qd::func]
mod no_function {}

fn main() {}
