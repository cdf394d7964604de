//! Traits with `#[func]` for types of other crates, methods of structs of tensors, `*self`, and functions with the
//! names of built-in ones.

// Kernels say things in more ways than one.
#![allow(clippy::all, clippy::pedantic)]

use quadrants::{self as qd, KernelValue, Tensor, Tensors, Vector};
use quadrants_tests::{TestBackend, on_all_backends};

use super::{Array, Same, differential, source};

#[qd::func]
trait Score {
    fn norm(self) -> i32;
    fn scaled(&self, by: i32) -> Self;
    fn bump(&mut self, by: i32) -> i32;
    fn zero() -> Self;
}

#[qd::func]
impl Score for i32 {
    fn norm(self) -> i32 {
        self.wrapping_mul(self)
    }

    fn scaled(&self, by: i32) -> i32 {
        self.wrapping_mul(by)
    }

    fn bump(&mut self, by: i32) -> i32 {
        *self += by;
        *self += by;
        if *self > 1000 {
            *self = 7;
            return -1;
        }
        *self + 1
    }

    fn zero() -> i32 {
        5
    }
}

#[qd::func]
impl Score for bool {
    fn norm(self) -> i32 {
        if self { 5 } else { 7 }
    }

    fn scaled(&self, by: i32) -> bool {
        *self && by > 0
    }

    fn bump(&mut self, by: i32) -> i32 {
        *self = by > 2;
        by
    }

    fn zero() -> Self {
        true
    }
}

#[qd::func]
impl Score for (i32, f32) {
    fn norm(self) -> i32 {
        self.0
    }

    fn scaled(&self, by: i32) -> (i32, f32) {
        (self.0 * by, self.1)
    }

    fn bump(&mut self, by: i32) -> i32 {
        (*self).0 += by;
        let (a, b) = *self;
        *self = (a + 1, b + 1.5);
        a
    }

    fn zero() -> Self {
        (1, 2.0)
    }
}

#[qd::func]
impl<const N: usize> Score for [i32; N] {
    fn norm(self) -> i32 {
        self[0] + N as i32
    }

    fn scaled(&self, by: i32) -> Self {
        let mut scaled = *self;
        for k in 0..N {
            scaled[k] *= by;
        }
        scaled
    }

    fn bump(&mut self, by: i32) -> i32 {
        self[N - 1].bump(by)
    }

    fn zero() -> Self {
        [3; N]
    }
}

#[qd::func]
trait Half {
    fn half(self) -> Self;
}

#[qd::func]
impl Half for f32 {
    fn half(self) -> f32 {
        self * 0.5
    }
}

/// An alias hides that a type is of another crate.
type Pair = Vector<f32, 2>;

#[qd::func]
impl Half for Pair {
    fn half(self) -> Self {
        self * 0.5
    }
}

#[qd::func]
fn score<T: Score>(mut of: T, by: i32) -> i32 {
    let first = of.bump(by);
    first.wrapping_add(of.norm()).wrapping_add(T::norm(T::zero())).wrapping_add(of.scaled(2).norm())
}

#[qd::func]
fn halved<T: Half>(of: T) -> T {
    of.half()
}

source! { foreign;
    fn run(x: &mut Tensor<i32, 1>, y: &mut Tensor<f32, 1>, z: &mut Tensor<i32, 2>) {
        for i in 0..x.len() {
            let mut local = x[i];
            z[[i, 0]] = local.bump(local);
            z[[i, 1]] = local;
            z[[i, 2]] = x[i].bump(3);
            let mut pair = (local, y[i]);
            z[[i, 3]] = pair.0.bump(2) + pair.bump(4);
            z[[i, 4]] = pair.0;
            let mut list = [local, 2, 3];
            z[[i, 5]] = list[i % 3].bump(5) + list.bump(1);
            z[[i, 6]] = list[0] + 10 * list[1] + 100 * list[2];
            let mut flag = local > 3;
            z[[i, 7]] = flag.bump(3) + flag.norm() + true.norm() + (local < 5).scaled(1).norm();
            z[[i, 8]] = score(local, 3) + score(flag, 1) + score(list, 2) + score(pair, 1);
            z[[i, 9]] = i32::zero() + score([1, 2], 1) + local.scaled(3).norm() + (3_i32).norm();
            y[i] = y[i].half() + halved(Vector([pair.1, 1.0]))[0] + halved(8.0) + Vector([0.5, y[i]]).half()[1];
        }
    }
}

#[on_all_backends]
fn traits_with_func_are_for_all_types(on: TestBackend) -> quadrants::Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let x = Array::of(&[-4, -1, 2, 5, 8, 900]);
    let y = Array::of(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let z = Array::zeros([6, 10]);
    differential!(&on.program, foreign [] [] [x, y, z]);
    Ok(())
}

/// A state whose methods take it by reference.
#[derive(Clone, Copy, Debug, PartialEq, KernelValue)]
struct State {
    a: i32,
    b: [i32; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, KernelValue)]
enum Phase {
    Rise,
    Fall,
}

#[qd::func]
impl Phase {
    fn next(&self) -> Phase {
        match *self {
            Phase::Rise => Phase::Fall,
            Phase::Fall => Self::Rise,
        }
    }

    fn turn(&mut self) {
        *self = self.next();
    }
}

#[qd::func]
impl State {
    fn zero() -> Self {
        Self { a: 1, b: [2, 3] }
    }

    fn identity(a: i32) -> Self {
        Self { a, ..Self::zero() }
    }

    fn sum(&self) -> i32 {
        let State { a, b } = *self;
        assert!((*self).a == a);
        a + b[0] + b[1]
    }

    fn with(&self, a: i32) -> Self {
        State { a, ..*self }
    }

    fn advance(&mut self, by: i32) -> i32 {
        let before = *self;
        *self = Self { a: self.a + by, ..*self };
        (*self).b[1] += before.a;
        match *self {
            State { a: 0, .. } => 100,
            State { a, b: _ } => a + before.sum(),
        }
    }
}

source! { by_reference;
    fn run(x: &Tensor<i32, 1>, z: &mut Tensor<i32, 2>) {
        for i in 0..x.len() {
            let mut state = State::identity(x[i]);
            z[[i, 0]] = state.advance(i as i32);
            z[[i, 1]] = state.sum() + State::zero().with(4).sum();
            z[[i, 2]] = state.with(9).sum() + state.b[1];
            let mut phase = if x[i] > 2 { Phase::Rise } else { Phase::Fall };
            phase.turn();
            z[[i, 3]] = if phase == Phase::Rise { 1 } else { 2 };
            z[[i, 4]] = if phase.next().next() == Phase::Rise { 3 } else { 4 };
        }
    }
}

#[on_all_backends]
fn a_receiver_by_reference_may_be_dereferenced(on: TestBackend) -> quadrants::Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let x = Array::of(&[-3, -1, 2, 0, 8]);
    let z = Array::zeros([5, 5]);
    differential!(&on.program, by_reference [] [x] [z]);
    Ok(())
}

/// A graph: the neighbors of `v` are `to[first[v]..first[v + 1]]`.
#[derive(Tensors)]
struct Graph<'a> {
    first: &'a Tensor<u32, 1>,
    to: &'a Tensor<u32, 1>,
    weight: &'a mut Tensor<f32, 1>,
}

#[qd::func]
impl<'a> Graph<'a> {
    fn degree(&self, v: usize) -> usize {
        (self.first[v + 1] - self.first[v]) as usize
    }

    fn neighbor(&self, v: usize, k: usize) -> usize {
        assert!(k < self.degree(v));
        self.to[self.first[v] as usize + k] as usize
    }

    fn most(&self, v: usize) -> usize {
        let mut most = 0;
        'a: for k in 0..self.degree(v) {
            if k == 3 {
                break 'a;
            }
            most = most.max(self.neighbor(v, k));
        }
        most
    }

    fn set(&mut self, v: usize, to: f32) {
        if v == 1 {
            return;
        }
        self.weight[v] = to;
        self.add(v);
    }

    fn add(&mut self, v: usize) {
        self.weight[v] += self.degree(v) as f32;
    }
}

#[qd::func]
fn by_func(g: &Graph<'_>, v: usize) -> usize {
    g.degree(v)
}

#[qd::kernel]
fn walk(g: &mut Graph<'_>, by: f32) {
    for v in 0..g.weight.len() {
        let most = g.most(v);
        g.set(v, by + most as f32 + by_func(g, v) as f32);
    }
}

#[on_all_backends]
fn structs_of_tensors_have_methods(on: TestBackend) -> quadrants::Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let first = on.program.tensor_from(&[0, 2, 3, 3], [4])?;
    let to = on.program.tensor_from(&[2, 1, 0], [3])?;
    let mut weight = on.program.tensor_from(&[-1.0, -1.0, -1.0], [3])?;
    walk(&mut Graph { first: &first, to: &to, weight: &mut weight }, 0.5).launch()?;
    assert_eq!(weight.to_vec()?, [6.5, -1.0, 0.5]);
    Ok(())
}
