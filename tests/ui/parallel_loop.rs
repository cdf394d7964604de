use quadrants as qd;
use quadrants::Tensor;

#[qd::kernel]
fn writes_shared(x: &Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = 0.0;
    }
}

#[qd::kernel]
fn assigns_outer(x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    let mut last = 0.0;
    for i in 0..x.len() {
        last = x[i];
    }
    y[0] = last;
}

#[qd::kernel]
fn prefix_sums(x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    let mut sum = 0.0;
    for i in 0..x.len() {
        sum += x[i];
        y[i] = sum;
    }
}

#[qd::kernel]
fn recurrence(x: &Tensor<f32, 1>) -> f32 {
    let mut state = 0.0;
    for i in 0..x.len() {
        state = state * 0.5 + x[i];
    }
    state
}

#[qd::kernel]
fn two_operations(x: &Tensor<f32, 1>) -> f32 {
    let mut value = 0.0;
    for i in 0..x.len() {
        value += x[i];
        value = value.max(1.0);
    }
    value
}

#[qd::kernel]
fn depends_on_the_sum(x: &Tensor<f32, 1>) -> f32 {
    let mut sum = 0.0;
    for i in 0..x.len() {
        if sum < 10.0 {
            sum += x[i];
        }
    }
    sum
}

#[qd::kernel]
fn counts_improvements(x: &Tensor<f32, 1>) -> u32 {
    let mut best = 0.0;
    let mut count = 0;
    for i in 0..x.len() {
        if x[i] > best {
            best = x[i];
            count += 1;
        }
    }
    count
}

#[qd::kernel]
fn changes_the_local_in_the_value(x: &Tensor<u32, 1>) -> u32 {
    let mut sum = 0;
    for i in 0..x.len() {
        sum = sum + {
            sum += 1;
            x[i]
        };
    }
    sum
}

#[qd::kernel]
fn counts_until_found(x: &Tensor<f32, 1>, tries: &mut Tensor<u32, 1>) -> bool {
    let mut found = false;
    for i in 0..x.len() {
        found = found || x[i] > 1.0 && qd::atomic_add(&mut tries[0], 1) > 0;
    }
    found
}

#[qd::func]
fn noted(all: &mut Tensor<f32, 1>, i: usize, value: f32) -> f32 {
    all[i] += value;
    value
}

#[qd::kernel]
fn chooses_by_a_func_that_writes(x: &Tensor<f32, 1>, all: &mut Tensor<f32, 1>) -> u64 {
    let mut least = 9.0;
    let mut at = 0;
    for i in 0..x.len() {
        let value = noted(all, i, x[i]);
        if value < least {
            least = value;
            at = i as u64;
        }
    }
    at
}

#[qd::kernel]
fn prints_the_sum(x: &Tensor<f32, 1>) -> f32 {
    let mut sum = 0.0;
    for i in 0..x.len() {
        sum += x[i];
        println!("{sum}");
    }
    sum
}

#[qd::kernel]
fn of_another_block(x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    let mut sum = 0.0;
    qd::stream_parallel(|| {
        for i in 0..x.len() {
            sum += x[i];
        }
    });
    qd::stream_parallel(|| {
        y[0] = 1.0;
    });
}

#[qd::kernel]
fn products(x: &Tensor<f32, 1>) -> f32 {
    let mut product = 1.0;
    for i in 0..x.len() {
        product *= x[i];
    }
    product
}

#[qd::kernel]
fn histogram(x: &Tensor<u32, 1>) -> u32 {
    let mut counts = [0; 8];
    for i in 0..x.len() {
        counts[(x[i] % 8) as usize] += 1;
    }
    counts[0]
}

#[qd::kernel]
fn overlapping_parts(x: &Tensor<f32, 2>) -> f32 {
    let mut sums = [[0.0, 1.0], [2.0, 3.0]];
    for i in 0..x.shape()[0] {
        sums[0] = [x[[i, 0]], x[[i, 1]]];
        sums[0][1] += x[[i, 0]];
    }
    sums[0][0]
}

#[qd::kernel]
fn hidden(x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) -> f32 {
    let mut sum = 0.0;
    for i in 0..x.len() {
        sum += x[i];
        let sum = x[i] * 2.0;
        y[i] = sum;
    }
    sum
}

#[qd::kernel]
fn keeps_nan(x: &Tensor<f32, 1>) -> f32 {
    let mut least = 0.0;
    for i in 0..x.len() {
        least = if least < x[i] { least } else { x[i] };
    }
    least
}

struct Own;

impl Own {
    fn min(a: f32, b: f32) -> f32 {
        a - b
    }
}

#[qd::kernel]
fn own_min(x: &Tensor<f32, 1>) -> f32 {
    let mut least = 0.0;
    for i in 0..x.len() {
        least = Own::min(least, x[i]);
    }
    least
}

#[qd::kernel]
fn of_blocks(x: &Tensor<f32, 1>) -> f32 {
    let mut sum = 0.0;
    qd::block_for(4, 64, |b| {
        let part = b.reduce_add(|t| x[t]);
        sum += part;
    });
    sum
}

#[qd::kernel(strict)]
fn in_any_order(x: &Tensor<f32, 1>) -> f32 {
    let mut sum = 0.0;
    for i in 0..x.len() {
        sum += x[i];
    }
    sum
}

#[qd::kernel]
fn breaks(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        if x[i] > 1.0 {
            break;
        }
        x[i] = 0.0;
    }
}

#[qd::kernel]
fn returns(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        if x[i] > 1.0 {
            return;
        }
        x[i] = 0.0;
    }
}

#[qd::kernel]
fn labels(x: &mut Tensor<f32, 1>) {
    'rows: for i in 0..x.len() {
        for _ in 0..3 {
            if x[i] > 1.0 {
                break 'rows;
            }
        }
    }
}

#[qd::kernel]
fn tries(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = Some(1.0)?;
    }
}

#[derive(Clone, Copy, qd::KernelValue)]
struct Found {
    value: f32,
    count: usize,
}

#[qd::kernel]
fn counts_in_a_selection(x: &Tensor<f32, 1>) -> (f32, usize) {
    let (mut best, mut count) = (1.0, 0);
    for i in 0..x.len() {
        if x[i] < best {
            (best, count) = (x[i], count + 1);
        }
    }
    (best, count)
}

#[qd::kernel]
fn counts_in_a_part(x: &Tensor<f32, 1>) -> Found {
    let mut best = Found { value: 1.0, count: 0 };
    for i in 0..x.len() {
        if x[i] < best.value {
            best.value = x[i];
            best.count += 1;
        }
    }
    best
}

#[qd::kernel]
fn keeps_the_second(x: &Tensor<f32, 1>) -> f32 {
    let (mut best, mut second) = (1.0, 1.0);
    for i in 0..x.len() {
        if x[i] < best {
            (second, best) = (best, x[i]);
        }
    }
    second
}

fn main() {}
