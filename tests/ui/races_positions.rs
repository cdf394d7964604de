//! Positions in thread blocks that may be equal.

use quadrants::{self as qd, Tensor};

#[qd::kernel]
fn of_all_blocks(o: &mut Tensor<u32, 1>) {
    qd::block_for(o.len() / 32, 32, |b| {
        let mut count = b.shared::<u32>(1);
        b.each(|t| {
            let at = qd::atomic_add(&mut count[0], 1) as usize;
            o[at] = t as u32 + 1;
        });
    });
}

#[qd::kernel]
fn without_reservation(x: &Tensor<u32, 1>, o: &mut Tensor<u32, 2>) {
    qd::block_for(o.shape()[0], 32, |b| {
        let mut count = b.shared::<u32>(1);
        b.each(|t| {
            let at = qd::atomic_add(&mut count[0], x[t] % 2) as usize;
            if at < 32 {
                o[[b.index(), at]] = t as u32;
            }
        });
    });
}

#[qd::kernel]
fn of_two_counters(o: &mut Tensor<u32, 1>) {
    qd::block_for(o.len() / 32, 32, |b| {
        let mut count = b.shared::<u32>(2);
        let mut list = b.shared::<u32>(32);
        b.each(|t| {
            let at = qd::atomic_add(&mut count[t % 2], 1) as usize;
            list[at] = t as u32 + 1;
        });
        b.each(|t| o[b.index() * 32 + t] = list[t]);
    });
}

#[qd::kernel]
fn set_in_the_phase(o: &mut Tensor<u32, 1>) {
    qd::block_for(o.len() / 32, 32, |b| {
        let mut count = b.shared::<u32>(1);
        let mut list = b.shared::<u32>(32);
        b.each(|t| {
            if t == 5 {
                count[0] = 0;
            }
            let at = qd::atomic_add(&mut count[0], 1) as usize;
            list[at] = t as u32 + 1;
        });
        b.each(|t| o[b.index() * 32 + t] = list[t]);
    });
}

fn main() {}
