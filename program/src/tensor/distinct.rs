//! [`Distinct`]: a tensor of integers whose elements are known to differ.
//!
//! The race check of kernels relies on it, so the elements must not change while it is used:
//!
//! * A reference to it is a shared borrow of the tensor, so safe code cannot write the tensor meanwhile.
//! * Graphs write without a borrow. A tensor that a captured launch or copy writes is refused.
//! * A graph that captured a `Distinct` is launched after the borrow ended. Its launches are refused unless the
//!   elements were checked since the last write.

use std::{fmt, ops::Deref, sync::Arc};

use quadrants_ir::types::ParamType;
use quadrants_rhi::StreamOptions;

use super::{Elements, Tensor};
use crate::{
    Error, Int, KernelValue, Result, Stream,
    body::{ArgumentReader, TensorParam, View},
    state::{ProgramInner, device_tensor::DeviceTensor},
    thread_state::capture,
    value::{identity::Identity, layout::Layout},
};

/// A [`Tensor`] of integers that has no element twice, such as a permutation.
///
/// The facade's `distinct` makes it of a tensor, after a check on the device. A kernel that takes a `&Distinct<T, N>`
/// may use its elements as indices of what it writes: different iterations then write different elements. In all other
/// respects it is a `&Tensor<T, N>`.
#[repr(transparent)]
pub struct Distinct<T, const N: usize>(Tensor<T, N>);

impl<T, const N: usize> Deref for Distinct<T, N> {
    type Target = Tensor<T, N>;

    fn deref(&self) -> &Tensor<T, N> {
        &self.0
    }
}

impl<T, const N: usize> fmt::Debug for Distinct<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Distinct").field(&self.0).finish()
    }
}

impl<T: Int, const N: usize> Distinct<T, N> {
    /// Relies on the caller's word that the tensor has no element twice.
    ///
    /// # Safety
    /// All elements differ, after the work that was submitted before this call, for as long as the reference is used.
    /// If a launch with it is captured, that also holds when the graph is launched, unless the tensor was written
    /// since: then the graph's launch is an error.
    ///
    /// # Errors
    /// [`Error::WrittenByGraph`]; [`Error::View`] where the tensor is not contiguous.
    pub unsafe fn new_unchecked(tensor: &Tensor<T, N>) -> Result<&Self> {
        tensor.check_contiguous("`Distinct`")?;
        if let Elements::Device(device_tensor) = &tensor.elements {
            device_tensor.check_distinct_possible()?;
            device_tensor.set_distinct(tensor.len());
        }
        Ok(Self::of(tensor))
    }

    fn of(tensor: &Tensor<T, N>) -> &Self {
        // SAFETY: the type has the layout of its only field.
        unsafe { &*std::ptr::from_ref(tensor).cast::<Self>() }
    }

    /// Checks a tensor, unless it was already checked since the last write. `repeats` finds out whether a tensor in
    /// device memory has an element twice; work that writes it is complete.
    ///
    /// # Errors
    /// [`Error::NotDistinct`], [`Error::WrittenByGraph`], [`Error::View`] where the tensor is not contiguous, errors of
    /// the work that wrote the tensor, and those of `repeats`.
    #[doc(hidden)]
    pub fn checked(
        tensor: &Tensor<T, N>,
        repeats: impl FnOnce(&Scratch, &Tensor<T, 1>) -> Result<bool>,
    ) -> Result<&Self> {
        tensor.check_address()?;
        tensor.check_contiguous("`distinct`")?;
        match &tensor.elements {
            Elements::Host(array) => {
                if let Some(repeated) = repetition(&array.gather()) {
                    return Err(repeated);
                }
            }
            Elements::Device(device_tensor) => {
                device_tensor.check_distinct_possible()?;
                if !device_tensor.is_distinct(tensor.len()) && !tensor.is_empty() {
                    let shared = &device_tensor.program.shared;
                    capture::refuse(shared, "a check that elements differ")?;
                    // Waits for all writers, and returns the errors of their launches.
                    device_tensor.read::<T>(1)?;
                    let scratch = Scratch(device_tensor.program.clone());
                    if repeats(&scratch, &tensor.part(0, [tensor.len()], [1]))? {
                        let repeated = repetition(&tensor.to_vec()?);
                        return Err(repeated.unwrap_or(Error::WrittenByGraph));
                    }
                    device_tensor.set_distinct(tensor.len());
                }
            }
        }
        Ok(Self::of(tensor))
    }
}

/// What a check allocates in the program of a tensor.
#[doc(hidden)]
#[derive(Debug)]
pub struct Scratch(Arc<ProgramInner>);

impl Scratch {
    /// A tensor of zeros.
    ///
    /// # Errors
    /// As for [`Program::zeros`](crate::Program::zeros).
    pub fn zeros<T: KernelValue>(&self, count: usize) -> Result<Tensor<T, 1>> {
        Tensor::zeros(&self.0, [count], Layout::default())
    }

    /// A stream.
    ///
    /// # Errors
    /// As for [`Program::create_stream`](crate::Program::create_stream).
    pub fn create_stream(&self) -> Result<Stream> {
        Stream::create(&self.0, StreamOptions::default())
    }
}

/// The error for the first element that is equal to an earlier one.
fn repetition<T: Int>(elements: &[T]) -> Option<Error> {
    let mut order: Vec<usize> = (0..elements.len()).collect();
    let less = |a: &usize, b: &usize| elements[*a].partial_cmp(&elements[*b]);
    order.sort_by(|a, b| less(a, b).unwrap_or(std::cmp::Ordering::Equal));
    let pairs = order.windows(2).filter(|pair| elements[pair[0]] == elements[pair[1]]);
    let first = pairs.min_by_key(|pair| pair[1])?;
    let value = format!("{:?}", elements[first[0]]);
    Some(Error::NotDistinct { value, positions: [first[0], first[1]] })
}

impl DeviceTensor {
    /// # Errors
    /// [`Error::WrittenByGraph`]
    fn check_distinct_possible(&self) -> Result<()> {
        if self.buffer.is_written_by_graph() { Err(Error::WrittenByGraph) } else { Ok(()) }
    }

    /// Whether the first `count` elements are known to differ since the last write.
    pub(crate) fn is_distinct(&self, count: usize) -> bool {
        count < 2 || self.buffer.is_distinct(self.address(), count)
    }

    fn set_distinct(&self, count: usize) {
        self.buffer.set_distinct(self.address(), count);
    }
}

// SAFETY: as for `Tensor`, whose view it has.
unsafe impl<T: Int, const N: usize> TensorParam for Distinct<T, N> {
    type View = View<T, N>;

    const PARAM: ParamType = match <Tensor<T, N> as TensorParam>::PARAM {
        ParamType::Tensor { elem, rank, .. } => {
            ParamType::Tensor { elem, rank, writable: false, distinct: true }
        }
        other => other,
    };

    const REFUSED: Option<&'static str> = <Tensor<T, N> as TensorParam>::REFUSED;

    // In the CPU body it is the view of a tensor.
    const TYPE_IDENTITY: &'static Identity = <Tensor<T, N> as TensorParam>::TYPE_IDENTITY;

    #[inline(always)]
    fn take(args: &mut ArgumentReader<'_>) -> View<T, N> {
        args.view()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_repetition_is_reported() {
        assert!(repetition(&[3_u32, 1, 2]).is_none());
        let Some(Error::NotDistinct { value, positions }) = repetition(&[5_i64, -1, 7, -1, 5, 7])
        else {
            panic!("no error");
        };
        assert_eq!((value.as_str(), positions), ("-1", [1, 3]));
    }
}
