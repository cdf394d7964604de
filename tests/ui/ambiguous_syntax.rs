use quadrants as qd;
use quadrants::Tensor;

#[qd::kernel]
fn attributes(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        let k = i + 8;
        #[cfg(any())]
        let k = i;
        x[k] = match i {
            #[cfg(any())]
            0 => 1.0,
            _ => 2.0,
        };
        #[inline]
        {
            x[i] = 1.0;
        }
    }
}

#[qd::func]
fn of_a_parameter(#[cfg(any())] x: f32, y: f32) -> f32 {
    y
}

const zero: usize = 0;

#[qd::kernel]
fn a_constant_like_a_name(x: &mut Tensor<usize, 1>) {
    for i in 0..x.len() {
        x[i] = match i {
            zero => 1,
            _ => 2,
        };
    }
}

#[qd::kernel]
fn a_name_like_a_constant(x: &mut Tensor<usize, 1>) {
    for i in 0..x.len() {
        let FIRST = 3;
        x[i] = match i {
            FIRST => 1,
            _ => 2,
        };
    }
}

const N: usize = 8;

#[qd::kernel]
fn a_constant_in_types(x: &mut Tensor<usize, 1>) {
    for i in 0..x.len() {
        const N: usize = 2;
        const OF: [usize; N] = [1, 2];
        x[i] = OF[0];
    }
}

#[qd::kernel]
fn constants_of_later_ones(x: &mut Tensor<usize, 1>) {
    for i in 0..x.len() {
        const A: usize = B + 1;
        const B: usize = 2;
        x[i] = A;
    }
}

/// Emitted code names the parameter inside of the body.
#[qd::func]
fn hidden_parameter<const N: usize>(a: i64) -> i64 {
    let r = [a; N];
    {
        const N: usize = 2;
        let q = r;
        q[0] + N as i64
    }
}

fn main() {}
