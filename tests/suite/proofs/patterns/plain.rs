//! Tensors that record which iteration of a plain loop accesses which element.

use std::{
    cell::RefCell,
    collections::HashMap,
    ops::{Index, IndexMut},
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Touch {
    Read,
    Write,
    Atomic,
}

/// The accesses of a loop.
#[derive(Default)]
struct Log {
    iteration: usize,
    /// The tensor by the address of its elements, the element, the iteration, and the kind.
    touched: Vec<((usize, usize), usize, Touch)>,
    outside: bool,
}

/// What a loop did.
pub(crate) struct Outcome {
    /// Whether two iterations conflict.
    pub(crate) races: bool,
    /// Whether an index was out of range.
    pub(crate) outside: bool,
}

thread_local! {
    static LOG: RefCell<Log> = RefCell::default();
}

pub(crate) fn start() {
    LOG.take();
}

pub(crate) fn begin(iteration: usize) {
    LOG.with_borrow_mut(|log| log.iteration = iteration);
}

pub(crate) fn finish() -> Outcome {
    let Log { touched, outside, .. } = LOG.take();
    let mut elements: HashMap<_, Vec<(usize, Touch)>> = HashMap::new();
    for (element, iteration, touch) in touched {
        elements.entry(element).or_default().push((iteration, touch));
    }
    let conflict = |all: &Vec<(usize, Touch)>| {
        let by = |touch: Touch| all.iter().filter(move |one| one.1 == touch).map(|one| one.0);
        // Each conflict is between a write and anything, or between a read and an atomic.
        let written = by(Touch::Write).any(|at| all.iter().any(|other| other.0 != at));
        written || by(Touch::Atomic).any(|at| by(Touch::Read).any(|other| other != at))
    };
    Outcome { races: elements.values().any(conflict), outside }
}

/// A tensor of a plain loop.
pub(crate) struct Tensor<T, const N: usize> {
    elements: Vec<T>,
    shape: [usize; N],
    /// Out of range.
    nowhere: T,
}

impl<T: Copy + Default, const N: usize> Tensor<T, N> {
    pub(crate) fn new(elements: Vec<T>, shape: [usize; N]) -> Self {
        Self { elements, shape, nowhere: T::default() }
    }

    pub(crate) fn elements(&self) -> &[T] {
        &self.elements
    }

    pub(crate) fn shape(&self) -> [usize; N] {
        self.shape
    }

    pub(crate) fn len(&self) -> usize {
        self.elements.len()
    }

    fn element(&self, index: [usize; N], touch: Touch) -> Option<usize> {
        let dims = index.iter().zip(&self.shape);
        let at = dims.clone().fold(0usize, |at, (i, n)| at.wrapping_mul(*n).wrapping_add(*i));
        LOG.with_borrow_mut(|log| {
            if dims.clone().any(|(i, n)| i >= n) {
                log.outside = true;
                return None;
            }
            log.touched.push(((self.elements.as_ptr() as usize, at), log.iteration, touch));
            Some(at)
        })
    }
}

impl<T: Copy + Default, const N: usize> Index<[usize; N]> for Tensor<T, N> {
    type Output = T;

    fn index(&self, index: [usize; N]) -> &T {
        self.element(index, Touch::Read).map_or(&self.nowhere, |at| &self.elements[at])
    }
}

impl<T: Copy + Default, const N: usize> IndexMut<[usize; N]> for Tensor<T, N> {
    fn index_mut(&mut self, index: [usize; N]) -> &mut T {
        match self.element(index, Touch::Write) {
            Some(at) => &mut self.elements[at],
            None => &mut self.nowhere,
        }
    }
}

impl<T: Copy + Default> Index<usize> for Tensor<T, 1> {
    type Output = T;

    fn index(&self, index: usize) -> &T {
        &self[[index]]
    }
}

impl<T: Copy + Default> IndexMut<usize> for Tensor<T, 1> {
    fn index_mut(&mut self, index: usize) -> &mut T {
        &mut self[[index]]
    }
}

/// The library's functions.
pub(crate) mod qd {
    use super::{LOG, Touch};

    /// All indices below `shape`.
    pub(crate) fn ndrange<R: Product>(shape: R) -> Vec<R::Tuple> {
        shape.all()
    }

    pub(crate) fn atomic_add(to: &mut u32, by: u32) -> u32 {
        LOG.with_borrow_mut(|log| {
            // The access by which `to` was borrowed.
            if let Some(last) = log.touched.iter_mut().rev().find(|one| one.2 == Touch::Write) {
                last.2 = Touch::Atomic;
            }
        });
        let old = *to;
        *to = old.wrapping_add(by);
        old
    }

    pub(crate) trait Product {
        type Tuple;
        fn all(self) -> Vec<Self::Tuple>;
    }

    impl Product for [usize; 1] {
        type Tuple = usize;
        fn all(self) -> Vec<usize> {
            (0..self[0]).collect()
        }
    }

    impl Product for [usize; 2] {
        type Tuple = (usize, usize);
        fn all(self) -> Vec<(usize, usize)> {
            (0..self[0]).flat_map(|i| (0..self[1]).map(move |j| (i, j))).collect()
        }
    }

    impl Product for [usize; 3] {
        type Tuple = (usize, usize, usize);
        fn all(self) -> Vec<(usize, usize, usize)> {
            let [l, m, n] = self;
            let plane = move |i| (0..m).flat_map(move |j| (0..n).map(move |k| (i, j, k)));
            (0..l).flat_map(plane).collect()
        }
    }
}
