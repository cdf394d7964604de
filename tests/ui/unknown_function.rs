use quadrants as qd;
use quadrants::Tensor;

#[qd::kernel]
fn unknown_function(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = missing_function(x[i]);
    }
}

#[qd::kernel]
fn unknown_function_in_module(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = std::cmp::missing_function(x[i]);
    }
}

#[qd::func]
fn unknown_function_in_func(x: f32) -> f32 {
    missing_function(x) + 1.0
}

#[qd::kernel]
fn space_without_import(x: &mut Tensor<f32, 2>) {
    for (i, j) in ndrange(x.shape()) {
        x[[i, j]] = 1.0;
    }
}

#[qd::kernel]
fn atomic_without_import(x: &mut Tensor<u32, 1>) {
    for i in 0..9 {
        atomic_add(&mut x[i % 3], 1);
    }
}

#[qd::kernel]
fn blocks_without_import(x: &mut Tensor<u32, 1>) {
    block_for(4, 32, |b| {
        b.each(|t| x[b.index() * 32 + t] = 1);
    });
}

#[qd::kernel]
fn streams_without_import(x: &mut Tensor<u32, 1>) {
    stream_parallel(|| x[0] = 1);
}

fn main() {}
