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

/// No number of columns but one keeps these apart.
#[qd::kernel]
fn rows_that_overlap(n: usize, m: usize, o: &mut Tensor<u32, 1>) {
    for i in 0..n {
        for j in 0..m {
            o[i + j] = 1;
        }
    }
}

#[qd::kernel]
fn columns_only(n: usize, m: usize, o: &mut Tensor<u32, 1>) {
    for _ in 0..n {
        for j in 0..m {
            o[j] = 1;
        }
    }
}

#[qd::kernel]
fn rows_longer_than_their_distance(n: usize, o: &mut Tensor<u32, 1>) {
    for i in 0..n {
        for j in 0..9 {
            o[i * 8 + j] = 1;
        }
    }
}

#[qd::kernel]
fn masked_by_a_constant(n: usize, o: &mut Tensor<u32, 1>) {
    for i in 0..n {
        o[i & 7] = 1;
    }
}

#[qd::kernel]
fn blocks_that_overlap(n: usize, w: usize, o: &mut Tensor<u32, 1>) {
    for i in (0..n).step_by(w) {
        for j in 0..=w {
            o[i + j] = 1;
        }
    }
}

#[qd::kernel]
fn constant_steps(n: usize, o: &mut Tensor<u32, 1>) {
    for i in (0..n).step_by(3) {
        o[i % 12] = 1;
    }
}

/// One mistake, though it writes two tensors.
#[qd::kernel]
fn time_steps_of_two_tensors(steps: usize, x: &mut Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    for _t in 0..steps {
        for i in 1..x.len() - 1 {
            y[i] = x[i - 1] + x[i + 1];
        }
        for i in 0..x.len() {
            x[i] = y[i];
        }
    }
}

/// Advances by another amount in the other iterations, which is not followed.
#[qd::kernel]
fn a_pointer_with_two_steps(w: usize, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>) {
    for i in 0..x.len() / w {
        let mut p = 2 * w * i;
        for j in 0..w {
            if x[i * w + j] > 3 {
                o[p] = 1;
                p += 2;
            } else {
                p += 1;
            }
        }
    }
}

fn main() {}
