//! Which driver is simulated.

/// The simulated driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Family {
    Cuda,
    Hip,
}
