//! The check that all elements of a tensor of integers differ.

use quadrants_macros::kernel;
use quadrants_program::{
    Distinct, Int, Result, Tensor,
    dsl::{AtomicExchange, atomic_compare_exchange, atomic_or},
    emit::Scratch,
};

/// Checks on the device that all elements of a tensor differ, so that kernels can write by them.
///
/// A kernel that takes a [`&Distinct<T, N>`](Distinct) may write `out[index[i] as usize]` in a parallel loop. With a
/// `&Tensor<T, N>` that is a compile error, because two iterations may write the same element.
///
/// The check inserts the elements into a hash table, which needs up to 16 bytes of device memory per element. The host
/// waits for the work that wrote the tensor and for the check. A tensor that was not written since its last check is
/// not checked again.
///
/// # Errors
/// [`Error::NotDistinct`](crate::Error::NotDistinct) where two elements are equal;
/// [`Error::WrittenByGraph`](crate::Error::WrittenByGraph) where a captured graph writes the tensor;
/// [`Error::Capture`](crate::Error::Capture) inside of a capture; errors of the work that wrote the tensor, and of the
/// device.
///
/// # Examples
/// ```
/// use quadrants::{self as qd, Distinct, Tensor};
///
/// #[qd::kernel]
/// fn scatter(x: &Tensor<f32, 1>, to: &Distinct<u32, 1>, out: &mut Tensor<f32, 1>) {
///     for i in 0..to.len() {
///         out[to[i] as usize] = x[i];
///     }
/// }
///
/// let prog = qd::Program::open(qd::Arch::from_env_or_best())?;
/// let x = prog.tensor_from(&[1.0, 2.0, 3.0], [3])?;
/// let mut out = prog.zeros([3])?;
/// let to = prog.tensor_from(&[2, 0, 1], [3])?;
/// scatter(&x, qd::distinct(&to)?, &mut out).launch()?;
/// assert_eq!(out.to_vec()?, [2.0, 3.0, 1.0]);
///
/// let twice = prog.tensor_from(&[2_u32, 0, 2], [3])?;
/// let error = qd::distinct(&twice).unwrap_err();
/// assert!(error.to_string().starts_with("elements 0 and 2 of the tensor are both 2"));
/// # Ok::<(), qd::Error>(())
/// ```
pub fn distinct<T: Int, const N: usize>(index: &Tensor<T, N>) -> Result<&Distinct<T, N>> {
    Distinct::checked(index, |scratch, index| match u32::try_from(index.len()) {
        Ok(_) => repeats::<T, u32>(scratch, index),
        Err(_) => repeats::<T, u64>(scratch, index),
    })
}

/// Whether a tensor has an element twice. `P` can hold the number of elements.
fn repeats<T: Int, P: Int + AtomicExchange>(
    scratch: &Scratch,
    index: &Tensor<T, 1>,
) -> Result<bool> {
    // Less than half of it is used, so that chains are short.
    let slots = (2 * index.len()).next_power_of_two();
    let mut table = scratch.zeros::<P>(slots)?;
    let mut found = scratch.zeros::<u32>(1)?;
    let stream = scratch.create_stream()?;
    insert(64 - slots.ilog2(), index, &mut table, &mut found).launch_on(&stream)?;
    Ok(found.to_vec()? != [0])
}

/// Inserts the positions of all elements, from 1 on, into an open-addressing hash table, whose free slots are 0. The
/// table has a power of two of slots, and `shift` is the number of bits of a hash that do not select the slot.
#[kernel(crate = crate)]
fn insert<T: Int, P: Int + AtomicExchange>(
    shift: u32,
    index: &Tensor<T, 1>,
    table: &mut Tensor<P, 1>,
    found: &mut Tensor<u32, 1>,
) {
    for i in 0..index.len() {
        let value = index[i];
        let position = P::from_usize(i + 1);
        // The golden ratio spreads sequences; its product's high bits depend on all bits of the value.
        let mut slot = (value.to_u64().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> shift) as usize;
        loop {
            let seen = atomic_compare_exchange(&mut table[slot], P::ZERO, position);
            if seen == P::ZERO {
                break;
            }
            if index[seen.to_usize() - 1] == value {
                atomic_or(&mut found[0], 1);
                break;
            }
            slot = if slot + 1 == table.len() { 0 } else { slot + 1 };
        }
    }
}
