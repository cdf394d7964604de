//! Guards and chunks that leave a race.

use quadrants::{self as qd, Tensor};

#[qd::kernel]
fn two_iterations(m: usize, o: &mut Tensor<u32, 1>) {
    for i in 0..m {
        if i == m - 1 {
            o[0] = 1;
        }
        if i + 2 == m {
            o[0] = 2;
        }
    }
}

#[qd::kernel]
fn either_iteration(o: &mut Tensor<u32, 1>) {
    for i in 0..o.len() {
        if i == 0 || i == 1 {
            o[0] = i as u32;
        }
    }
}

#[qd::kernel]
fn one_of_two_dimensions(x: &Tensor<u32, 2>, o: &mut Tensor<u32, 1>) {
    for (i, j) in qd::ndrange(x.shape()) {
        if i == 0 {
            o[0] = x[[i, j]];
        }
    }
}

#[qd::kernel]
fn in_the_other_branch(o: &mut Tensor<u32, 1>) {
    for i in 0..o.len() {
        if i == 3 {
            o[1] = 1;
        } else {
            o[0] = 2;
        }
    }
}

#[qd::kernel]
fn a_multiple_of_the_variable(m: usize, o: &mut Tensor<u32, 1>) {
    for i in 0..m {
        if i / 2 == 3 {
            o[0] = i as u32;
        }
    }
}

#[qd::kernel]
fn chunks_that_overlap(n: usize, o: &mut Tensor<u32, 1>) {
    for i in 0..n {
        for k in i * 4..i * 4 + 5 {
            o[k] = 1;
        }
    }
}

#[qd::kernel]
fn chunks_to_the_end(n: usize, o: &mut Tensor<u32, 1>) {
    for i in 0..n {
        for k in i * 4..o.len() {
            o[k] = 1;
        }
    }
}

#[qd::kernel]
fn two_equal_variables(m: usize, o: &mut Tensor<u32, 1>) {
    for (i, j) in qd::ndrange([m, m]) {
        if i == j {
            o[0] = 1;
        }
    }
}

#[qd::kernel]
fn a_minimum_of_long_chunks(n: usize, o: &mut Tensor<u32, 1>) {
    for i in 0..n {
        let begin = i * 4;
        let end = (begin + 5).min(begin + 9);
        for k in begin..end {
            o[k] = 1;
        }
    }
}

#[qd::kernel]
fn an_end_that_changes(n: usize, o: &mut Tensor<u32, 1>) {
    for i in 0..n {
        let mut end = i * 4 + 4;
        if n > 3 {
            end += 9;
        }
        for k in i * 4..end {
            o[k] = 1;
        }
    }
}

fn main() {}
