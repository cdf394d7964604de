use quadrants as qd;
use quadrants::Tensor;

/// All threads write one element in the first turn.
#[qd::kernel]
fn by_zero(x: &mut Tensor<u32, 1>) {
    qd::block_for(x.len() / 32, 32, |b| {
        let mut s = b.shared::<u32>(128);
        for d in 0..4 {
            b.each(|t| s[t * d] = 1);
        }
        b.each(|t| x[b.index() * 32 + t] = s[t]);
    });
}

/// In the second turn, thread 0 reads what thread 2 writes.
#[qd::kernel]
fn without_a_condition(x: &mut Tensor<u32, 1>) {
    qd::block_for(x.len() / 32, 32, |b| {
        let mut s = b.shared::<u32>(64);
        let mut d = 32;
        while d > 1 {
            b.each(|t| s[t] += s[t + d]);
            d /= 2;
        }
        b.each(|t| x[b.index() * 32 + t] = s[t]);
    });
}

/// The groups of the last turn overlap.
#[qd::kernel]
fn one_too_many(x: &mut Tensor<u32, 1>) {
    qd::block_for(x.len() / 64, 32, |b| {
        let mut s = b.shared::<u32>(128);
        for stage in 0..5 {
            let p = 1 << stage;
            b.each(|t| {
                let k = t & (p - 1);
                s[((t - k) << 1) + k] = 1;
                s[((t - k) << 1) + k + p + 1] = 2;
            });
        }
        b.each(|t| x[b.index() * 64 + t] = s[t]);
    });
}

#[qd::func]
fn cell(key: u32) -> [usize; 2] {
    [(key % 4) as usize, (key / 4 % 2) as usize]
}

/// The list is of another cell than the ticket.
#[qd::kernel]
fn exchanged(keys: &Tensor<u32, 1>, count: &mut Tensor<u32, 2>, list: &mut Tensor<u32, 3>) {
    for i in 0..keys.len() {
        let [y, x] = cell(keys[i]);
        let at = qd::atomic_add(&mut count[[y, x]], 1) as usize;
        if at < list.shape()[2] {
            list[[y, y, at]] = i as u32 + 1;
        }
    }
}

fn main() {}
