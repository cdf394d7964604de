use quadrants as qd;
use quadrants::Tensor;

#[qd::kernel]
fn chained(x: &mut Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    qd::stream_parallel(|| {
        for i in 0..x.len() {
            x[i] = 1.0;
        }
    });
    qd::stream_parallel(|| {
        for i in 0..y.len() {
            y[i] = x[i];
        }
    });
}

#[qd::kernel]
fn shared(x: &mut Tensor<f32, 1>) {
    qd::stream_parallel(|| x[0] = 1.0);
    qd::stream_parallel(|| x[0] = 2.0);
}

#[qd::kernel]
fn fields_of_shared_elements(y: &mut Tensor<f32, 1>) {
    qd::block_for(4, 32, |b| {
        let mut pairs = b.shared::<(f32, qd::Vector<f32, 2>)>(33);
        b.each(|t| {
            pairs[t].0 = 1.0;
            pairs[t + 1].1 = qd::Vector([2.0, 3.0]);
        });
        b.each(|t| pairs[t].1[0] = pairs[t + 1].1[0]);
        b.each(|t| y[b.index() * 32 + t] = pairs[t].0);
    });
}

fn main() {}
