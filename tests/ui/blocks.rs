//! Blocks of threads: where phases stand, what stands outside them, and what races in them.
use quadrants as qd;
use quadrants::Tensor;

#[qd::kernel]
fn in_a_loop(y: &mut Tensor<f32, 1>) {
    #[qd::serial]
    for i in 0..4 {
        qd::block_for(4, 32, |b| b.each(|t| y[b.index() * 32 + t] = 1.0));
    }
}

#[qd::kernel]
fn of_no_constant(n: usize, y: &mut Tensor<f32, 1>) {
    qd::block_for(4, n, |b| {
        let mut tile = b.shared::<f32>(32);
        b.each(|t| tile[t] = 1.0);
        b.each(|t| y[b.index() * n + t] = tile[t]);
    });
    qd::block_for(4, 2048, |b| b.each(|_| {}));
}

/// The host does not know these lengths before the launch.
#[qd::kernel]
fn unknown_lengths(n: usize, mut m: usize, x: &Tensor<u32, 1>, y: &mut Tensor<f32, 1>) {
    let read = x[0] as usize;
    let mut count = n;
    count += 1;
    m += 1;
    qd::block_for(4, 32, |b| {
        let inside = n + 1;
        let mut a = b.shared::<f32>(inside);
        let mut c = b.shared::<f32>(read);
        let mut d = b.shared::<f32>(count);
        let mut e = b.shared::<f32>(b.index() + 1);
        let mut f = b.shared_2d::<f32>([n, 12 / n]);
        let mut g = b.shared::<f32>(x[n] as usize);
        let mut h = b.shared::<f32>(m);
        b.each(|t| y[b.index() * 32 + t] = a[t] + c[t] + d[t] + e[t] + f[[0, t]] + g[t] + h[t]);
    });
}

/// Two threads write one element, whatever the length is.
#[qd::kernel]
fn dynamic_lengths(n: usize, y: &mut Tensor<f32, 1>) {
    qd::block_for(4, 32, |b| {
        let mut a = b.shared::<f32>(n);
        b.each(|t| a[t / 2] = 1.0);
        b.each(|t| y[b.index() * 32 + t] = a[t]);
    });
}

#[qd::kernel]
fn outside_phases(x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    qd::block_for(4, 32, |b| {
        let mut tile = b.shared::<f32>(32);
        y[b.index()] = x[b.index()];
        tile[0] = 1.0;
        let first = tile[0];
        assert!(first > 0.0);
        qd::atomic_add(&mut y[0], first);
    });
}

#[qd::kernel]
fn phases_in_phases(y: &mut Tensor<f32, 1>) {
    qd::block_for(4, 32, |b| {
        b.each(|t| {
            let mut tile = b.shared::<f32>(32);
            b.each(|s| tile[s] = 1.0);
            y[b.index() * 32 + t] = tile[t];
        });
    });
}

#[qd::kernel]
fn assigns_across_phases(x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    qd::block_for(4, 32, |b| {
        let mut sum = 0.0;
        b.each(|t| sum += x[b.index() * 32 + t]);
        b.each(|t| y[b.index() * 32 + t] = sum);
    });
}

#[qd::kernel]
fn other_syntax(y: &mut Tensor<f32, 1>) {
    qd::block_for(4, 32, |b, c| {});
    qd::block_for(4, 32, |b| {
        b.each(|(t, s)| {});
        y[b] = b.shared::<f32>(4)[0];
    });
}

#[qd::kernel]
fn races_in_a_phase(x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    qd::block_for(y.len() / 32, 32, |b| {
        let mut tile = b.shared::<f32>(33);
        b.each(|t| {
            tile[t] = x[b.index() * 32 + t];
            y[b.index() * 32 + t] = tile[t + 1];
        });
    });
}

#[qd::kernel]
fn races_with_itself(x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    qd::block_for(y.len() / 32, 32, |b| {
        let mut total = b.shared::<f32>(1);
        b.each(|t| total[0] += x[b.index() * 32 + t]);
        b.each(|t| y[b.index() * 32 + t] = total[0]);
    });
}

#[qd::kernel]
fn races_between_blocks(y: &mut Tensor<f32, 1>) {
    qd::block_for(8, 32, |b| {
        b.each(|t| y[b.index() * 16 + t] = 1.0);
        b.each(|t| {
            if t == 0 {
                y[0] = 2.0;
            }
        });
    });
}

#[qd::kernel]
fn exchanges_elsewhere(x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    qd::block_for(4, 32, |b| {
        let (sum, _) = (b.index(), 1.0);
        b.each(|t| {
            let own = b.scan_add(|s| x[s]);
            y[b.index() * 32 + t] = b.shuffle_xor(|s| x[s], 1)[t];
        });
        if sum > 1 && b.any(|t| x[t] > 0.0) {
            b.each(|t| y[b.index() * 32 + t] = 2.0);
        }
    });
}

#[qd::kernel]
fn values_of_threads(x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    qd::block_for(4, 32, |b| {
        let sums = b.scan_add(|t| x[b.index() * 32 + t]);
        let last = sums[31];
        b.each(|t| {
            let next = sums[t + 1];
            let k = t;
            let same = sums[k];
            sums[t] = 0.0;
            let all = sums;
            y[b.index() * 32 + t] = next + same;
        });
    });
}

#[qd::kernel]
fn assigns_while_it_gives(x: &Tensor<f32, 1>) {
    qd::block_for(4, 32, |b| {
        let mut count = 0;
        let sum = b.reduce_add(|t| {
            count += 1;
            x[b.index() * 32 + t]
        });
    });
}

#[qd::kernel]
fn grids_of_no_array(grid: [usize; 2], y: &mut Tensor<f32, 2>) {
    let [h, w] = y.shape();
    let blocks = [h, w / 32];
    qd::block_for(blocks, 32, |b| b.each(|t| y[[b.index()[0], b.index()[1] * 32 + t]] = 1.0));
}

#[qd::kernel]
fn grids_of_other_numbers(y: &mut Tensor<f32, 1>) {
    qd::block_for([2, 3i32], 32, |b| b.each(|_| {}));
}

#[qd::kernel]
fn grids_that_repeat(y: &mut Tensor<f32, 2>) {
    let [h, _] = y.shape();
    qd::block_for([h; 2], 32, |b| {
        let at = b.index();
        b.each(|t| y[[at[0], at[1] * 32 + t]] = 1.0);
    });
}

#[qd::kernel]
fn grids_of_four(y: &mut Tensor<f32, 2>) {
    qd::block_for([1, 2, 3, 4], 32, |b| b.each(|t| y[[b.index()[0], t]] = 1.0));
}

#[qd::kernel]
fn races_in_a_grid(x: &Tensor<f32, 2>, y: &mut Tensor<f32, 2>) {
    let [h, w] = y.shape();
    qd::block_for([h, w / 32], 32, |b| {
        let [row, column] = b.index();
        b.each(|t| y[[row, column + t]] = x[[row, column]]);
    });
    qd::block_for([h, w / 32], 32, |b| {
        let [row, _] = b.index();
        b.each(|t| y[[row, t]] = x[[row, t]]);
    });
}

#[qd::kernel]
fn fields_outside_phases(y: &mut Tensor<f32, 1>) {
    qd::block_for(4, 32, |b| {
        let mut pairs = b.shared::<(f32, qd::Vector<f32, 2>)>(32);
        pairs[0].0 = 1.0;
        let first = pairs[0].1[0];
        b.each(|t| y[b.index() * 32 + t] = pairs[t].0 + first);
    });
}

/// A shared array is not a scalar.
#[qd::kernel]
fn shared_array_as_value(y: &mut Tensor<f32, 1>) {
    qd::block_for(4, 32, |b| {
        let mut tile = b.shared::<f32>(32);
        b.each(|t| tile[t] = 1.0);
        b.each(|t| y[b.index() * 32 + t] = tile);
    });
}

fn main() {}
