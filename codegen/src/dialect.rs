//! Where the members of the C family differ.

use quadrants_ir::{AtomicOp, ScalarType};

/// One member of the C family. What all members share is in the printer.
pub trait Dialect {
    /// What stands before the type of an argument block that is passed by value.
    fn by_value(&self) -> &'static str;

    /// An expression that combines `value` into the element at `address` (both are printed
    /// expressions, the address a primary one) atomically for the whole device, and gives the old element. `ty` is a number
    /// type, and an integer one where `op` compares.
    fn atomic(&self, op: AtomicOp, ty: ScalarType, address: &str, value: &str) -> String;

    /// An expression that sets the `u64` in device memory at `address` (a printed primary expression)
    /// to `value`, atomically for the whole device, and gives what it was.
    fn exchange(&self, address: &str, value: &str) -> String;

    /// A statement that orders earlier writes before later ones as the host sees them.
    fn system_fence(&self) -> &'static str;
}
