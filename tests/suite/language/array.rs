//! Host arrays with the indexing of tensors, and their comparison with tensors.

use std::{
    fmt::Debug,
    ops::{Index, IndexMut},
};

use quadrants::{Element, KernelValue, Layout, Program, Result, Tensor, f16};

/// A tensor's counterpart for host functions.
#[derive(Clone, Debug)]
pub(crate) struct Array<T, const N: usize> {
    elements: Vec<T>,
    shape: [usize; N],
    layout: Layout,
}

/// Equality to a relative tolerance; with none, of all bits, except that all NaNs are the same.
pub(crate) trait Same: Debug {
    /// Whether the two are the same.
    fn same(&self, other: &Self, tolerance: f64) -> bool;
}

impl<T: Element, const N: usize> Array<T, N> {
    /// Zeros.
    pub(crate) fn zeros(shape: [usize; N]) -> Self {
        Self::new(&vec![T::default(); shape.iter().product()], shape)
    }
}

impl<T: KernelValue, const N: usize> Array<T, N> {
    /// These elements, in row-major order.
    pub(crate) fn new(elements: &[T], shape: [usize; N]) -> Self {
        assert_eq!(elements.len(), shape.iter().product::<usize>());
        Self { elements: elements.to_vec(), shape, layout: Layout::default() }
    }

    /// The same, as a tensor of another layout.
    pub(crate) fn laid(self, layout: Layout) -> Self {
        Self { layout, ..self }
    }

    /// A tensor with these elements.
    pub(crate) fn on(&self, program: &Program) -> Result<Tensor<T, N>> {
        program.tensor_with(&self.elements, self.shape, self.layout)
    }

    /// As of a tensor.
    #[allow(clippy::len_without_is_empty)] // kernels have `len` alone
    pub(crate) fn len(&self) -> usize {
        self.elements.len()
    }

    /// As of a tensor.
    pub(crate) fn shape(&self) -> [usize; N] {
        self.shape
    }

    fn at(&self, index: [usize; N]) -> usize {
        assert!(index.iter().zip(&self.shape).all(|(at, extent)| at < extent), "{index:?}");
        index.iter().zip(&self.shape).fold(0, |flat, (at, extent)| flat * extent + at)
    }
}

impl<T: KernelValue> Array<T, 1> {
    /// These elements.
    pub(crate) fn of(elements: &[T]) -> Self {
        Self::new(elements, [elements.len()])
    }
}

impl<T: KernelValue, const N: usize> Index<[usize; N]> for Array<T, N> {
    type Output = T;
    fn index(&self, index: [usize; N]) -> &T {
        &self.elements[self.at(index)]
    }
}

impl<T: KernelValue, const N: usize> IndexMut<[usize; N]> for Array<T, N> {
    fn index_mut(&mut self, index: [usize; N]) -> &mut T {
        let at = self.at(index);
        &mut self.elements[at]
    }
}

impl<T: KernelValue> Index<usize> for Array<T, 1> {
    type Output = T;
    fn index(&self, index: usize) -> &T {
        &self.elements[index]
    }
}

impl<T: KernelValue> IndexMut<usize> for Array<T, 1> {
    fn index_mut(&mut self, index: usize) -> &mut T {
        &mut self.elements[index]
    }
}

/// Compares a tensor with the array that it should be.
pub(crate) fn same<T: KernelValue + Same, const N: usize>(
    what: &str,
    found: &Tensor<T, N>,
    expected: &Array<T, N>,
    tolerance: f64,
) -> Result<()> {
    let wrong: Vec<String> = found
        .to_vec()?
        .iter()
        .zip(&expected.elements)
        .enumerate()
        .filter(|(_, (found, expected))| !found.same(expected, tolerance))
        .map(|(at, (found, expected))| format!("element {at} is {found:?}, not {expected:?}"))
        .collect();
    assert!(wrong.is_empty(), "{what}: {} wrong: {:#?}", wrong.len(), &wrong[..wrong.len().min(9)]);
    Ok(())
}

macro_rules! exact {
    ($($ty:ty)*) => {$(
        impl Same for $ty {
            fn same(&self, other: &Self, _: f64) -> bool {
                self == other
            }
        }
    )*};
}

exact!(() bool i8 i16 i32 i64 u8 u16 u32 u64 usize);

macro_rules! floats {
    ($($ty:ty)*) => {$(
        impl Same for $ty {
            fn same(&self, other: &Self, tolerance: f64) -> bool {
                let error = (f64::from(*self) - f64::from(*other)).abs();
                self.to_bits() == other.to_bits()
                    || self.is_nan() && other.is_nan()
                    || tolerance > 0.0 && error <= tolerance * f64::from(*other).abs().max(1e-3)
            }
        }
    )*};
}

floats!(f16 f32 f64);
