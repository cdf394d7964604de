//! Patterns next to those that are free of races.

use quadrants::{self as qd, Tensor};

/// Two cells share a list.
#[qd::kernel]
fn tickets_of_another_cell(
    cell: &Tensor<u32, 1>,
    count: &mut Tensor<u32, 1>,
    list: &mut Tensor<u32, 2>,
) {
    for i in 0..cell.len() {
        let c = cell[i] as usize;
        let at = qd::atomic_add(&mut count[c], 1) as usize;
        list[[c / 2, at]] = i as u32;
    }
}

#[qd::kernel]
fn a_counter_that_is_also_stored(count: &mut Tensor<u32, 1>, o: &mut Tensor<u32, 1>) {
    for i in 0..o.len() {
        let at = qd::atomic_add(&mut count[0], 1) as usize;
        o[at] = i as u32;
        count[0] = 0;
    }
}

#[qd::kernel]
fn two_counters(count: &mut Tensor<u32, 1>, o: &mut Tensor<u32, 1>) {
    for i in 0..o.len() {
        let at = qd::atomic_add(&mut count[0], 1) as usize;
        o[at] = i as u32;
        let at = qd::atomic_add(&mut count[1], 1) as usize;
        o[at] = i as u32;
    }
}

#[qd::kernel]
fn one_more_than_reserved(count: &mut Tensor<u32, 1>, o: &mut Tensor<u32, 1>) {
    for i in 0..o.len() {
        let at = qd::atomic_add(&mut count[0], 1) as usize;
        o[at] = i as u32;
        o[at + 1] = i as u32;
    }
}

#[qd::kernel]
fn a_limited_ticket(count: &mut Tensor<u32, 1>, o: &mut Tensor<u32, 1>) {
    for i in 0..o.len() {
        let at = qd::atomic_add(&mut count[0], 1) as usize;
        o[at.min(7)] = i as u32;
    }
}

#[qd::kernel]
fn the_other_residues(x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>) {
    for i in 0..x.len() {
        if i % 3 != 1 {
            o[i / 3] = x[i];
        }
    }
}

#[qd::kernel]
fn both_orders(n: usize, a: &mut Tensor<u32, 2>) {
    for (i, j) in qd::ndrange([n, n]) {
        if i != j {
            a[[i, j]] = a[[j, i]];
        }
    }
}

#[qd::kernel]
fn one_past_the_diagonal(n: usize, a: &mut Tensor<u32, 2>) {
    for i in 0..n {
        for j in 0..i + 2 {
            a[[j, i]] = a[[i, j]];
        }
    }
}

#[qd::kernel]
fn a_packed_triangle_with_long_rows(n: usize, o: &mut Tensor<u32, 1>) {
    for i in 0..n {
        for j in 0..i + 2 {
            o[i * (i + 1) / 2 + j] = 1;
        }
    }
}

#[qd::kernel]
fn a_packed_triangle_of_squares(n: usize, o: &mut Tensor<u32, 1>) {
    for i in 0..n {
        for j in 0..=i {
            o[i * i / 2 + j] = 1;
        }
    }
}

#[qd::kernel]
fn a_condition_on_another_variable(n: usize, o: &mut Tensor<u32, 1>) {
    for (i, j) in qd::ndrange([n, n]) {
        if j == 0 {
            o[0] = i as u32;
        }
    }
}

#[qd::kernel]
fn bits_that_are_lost(x: &Tensor<u32, 1>, o: &mut Tensor<u32, 2>) {
    for i in 0..x.len() {
        o[[i >> 3, i & 3]] = x[i];
    }
}

#[qd::kernel]
fn a_bit_that_is_set(x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>) {
    for i in 0..x.len() {
        o[i | 8] = x[i];
    }
}

#[qd::kernel]
fn offsets_of_a_changed_tensor(o: &mut Tensor<u32, 1>) {
    for i in 0..o.len() {
        o[o[0] as usize + i] = 1;
    }
}

#[qd::kernel]
fn chunks_between_offsets(starts: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>) {
    for i in 0..starts.len() - 1 {
        for k in starts[i]..starts[i + 1] {
            o[k as usize] = 1;
        }
    }
}

#[qd::kernel]
fn a_sum_of_another_chunk(n: usize, o: &mut Tensor<u32, 1>) {
    for i in 0..n {
        let mut sum = 0;
        for k in i * 4..i * 4 + 4 {
            sum += o[k];
        }
        o[i] = sum;
    }
}

#[qd::kernel]
fn a_pointer_that_overlaps(n: usize, o: &mut Tensor<u32, 1>) {
    for i in 0..n {
        let mut p = i * 4;
        for _k in 0..5 {
            o[p] = 1;
            p += 1;
        }
    }
}

#[qd::kernel]
fn a_reduction_with_a_short_distance(x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>) {
    qd::block_for(x.len() / 64, 64, |b| {
        let mut a = b.shared::<u32>(64);
        b.each(|t| a[t] = x[b.index() * 64 + t]);
        b.each(|t| {
            if t < 32 {
                a[t] += a[t + 31];
            }
        });
        b.each(|t| o[b.index() * 64 + t] = a[t]);
    });
}

#[qd::kernel]
fn quotients_that_round_in_two_ways(n: i32, o: &mut Tensor<i32, 1>) {
    for i in -n..n {
        if i / 4 != i >> 2 {
            o[0] = i;
        }
    }
}

/// Conditions on different parts of elements do not exclude each other.
#[qd::kernel]
fn conditions_on_other_parts(x: &Tensor<[u32; 2], 1>, o: &mut Tensor<u32, 1>) {
    for i in 1..x.len() {
        if x[i][0] == 0 {
            o[i] = 1;
        }
        if x[i - 1][1] != 0 {
            o[i - 1] = 2;
        }
    }
}

#[qd::kernel]
fn conditions_on_what_the_loop_changes(x: &mut Tensor<u32, 1>, o: &mut Tensor<u32, 1>) {
    for i in 1..x.len() {
        unsafe { x[i] ^= 1 };
        if unsafe { x[i] } == 0 {
            o[i] = 1;
        }
        if unsafe { x[i - 1] } != 0 {
            o[i - 1] = 2;
        }
    }
}

fn main() {}
