use quadrants as qd;
use quadrants::Tensor;

#[qd::kernel]
fn normalized(x: &Tensor<f32, 1>, sum: &mut Tensor<f32, 1>, out: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        qd::atomic_add(&mut sum[0], x[i]);
        out[i] = x[i] / sum[0];
    }
}

#[qd::kernel]
fn two_and_one_more(x: &Tensor<f32, 1>, count: &mut Tensor<usize, 1>, out: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        let k = qd::atomic_add(&mut count[0], 2);
        out[k] = x[i];
        out[k + 2] = x[i];
    }
}

#[qd::kernel]
fn counted_in_a_loop_of_any_length(
    starts: &Tensor<u32, 1>,
    count: &mut Tensor<u32, 1>,
    out: &mut Tensor<u32, 1>,
) {
    for v in 0..starts.len() - 1 {
        let (begin, end) = (starts[v] as usize, starts[v + 1] as usize);
        for e in begin..end {
            let at = qd::atomic_add(&mut count[0], 1);
            out[at as usize] = e as u32;
        }
    }
}

#[qd::kernel]
fn counted_by_parts(x: &Tensor<f32, 1>, count: &mut Tensor<u32, 1>, out: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        let k = qd::atomic_add(&mut count[0], 1) as usize;
        qd::atomic_max(&mut count[1], i as u32);
        out[k] = x[i];
        out[k + 1] = x[i];
    }
}

fn main() {}
