//! Promise: the race check knows the bounds of loops that only the device computes.

use quadrants::{self as qd, Error, Tensor};
use quadrants_tests::{TestBackend, on_all_backends};

/// The extents are quotients of arguments, so that the device computes them.
#[qd::kernel]
fn quotients(n: usize, m: usize, by: usize, o: &mut Tensor<u32, 1>) {
    let w = n / m;
    for (i, j) in qd::ndrange([m, w]) {
        o[i * by + j] += 1;
    }
}

/// Parts that do not overlap.
#[qd::kernel]
fn halves(m: usize, o: &mut Tensor<u32, 1>) {
    let half = o.len() / m;
    for i in 0..half {
        o[i] += o[i + half];
    }
}

/// A reversal of bits in a wider type.
#[qd::kernel]
fn reversed(bits: u32, o: &mut Tensor<u32, 1>) {
    for i in 0..o.len() {
        let j = (i as u32).reverse_bits() as usize >> 26;
        if i < j && bits == 6 {
            (o[i], o[j]) = (o[j], o[i]);
        }
    }
}

#[on_all_backends]
fn bounds_that_the_device_computes_are_conditions(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut o = on.program.tensor_from(&[1_u32; 64], [64])?;
    quotients(64, 8, 8, &mut o).launch()?;
    quotients(60, 7, 8, &mut o).launch()?;
    assert!(matches!(quotients(64, 8, 7, &mut o).launch(), Err(Error::Race { .. })));
    halves(2, &mut o).launch()?;
    halves(4, &mut o).launch()?;
    let sums: Vec<u32> = (0..64)
        // The second launch writes 7 rows of 8 elements.
        .map(|k| 2 + u32::from(k / 8 < 7))
        .collect();
    let halved: Vec<u32> =
        (0..64).map(|k| sums[k] + if k < 32 { sums[k + 32] } else { 0 }).collect();
    let quartered = |k: usize| halved[k] + if k < 16 { halved[k + 16] } else { 0 };
    assert_eq!(o.to_vec()?, (0..64).map(quartered).collect::<Vec<_>>());
    reversed(6, &mut on.program.zeros([64])?).launch()?;
    Ok(())
}
