//! What the threads of a block cannot exchange.
use quadrants as qd;
use quadrants::Tensor;

#[qd::kernel]
fn of_other_types(x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    qd::block_for(4, 32, |b| {
        let sum = b.reduce_add(|t| x[b.index() * 32 + t] > 0.0);
        let any = b.any(|t| x[b.index() * 32 + t]);
        let taken = b.shuffle(|t| x[b.index() * 32 + t]);
        let small = b.scan_add(|t| t as u8);
        b.each(|t| y[b.index() * 32 + t] = taken[t]);
    });
}

fn main() {}
