//! Where the members of the C family differ.

use quadrants_ir::{AtomicOp, ScalarType};

/// One member of the C family. What all members share is in the printer.
pub trait Dialect {
    /// What stands before the type of an argument block that is passed by value.
    fn by_value(&self) -> &'static str;

    /// An expression that reads `element` (a printed primary expression) of a tensor that nothing writes while the
    /// kernel runs.
    fn read_only(&self, element: &str) -> String {
        element.to_owned()
    }

    /// An expression that combines `value` into the element at `address` (both are printed
    /// expressions, the address a primary one) atomically for the whole device, and gives the old element. `ty` is a number
    /// type, and an integer one where `op` compares.
    fn atomic(&self, op: AtomicOp, ty: ScalarType, address: &str, value: &str) -> String;

    /// An expression that sets the `u64` in device memory at `address` (a printed primary expression)
    /// to `value`, atomically for the whole device, and gives what it was.
    fn exchange(&self, address: &str, value: &str) -> String;

    /// An expression that gives `value` of the thread with the number `lane` among the 32 threads that the calling
    /// one is of; all of them call it. Both are printed primary expressions, `lane` a `u32` below 32, `value` a number
    /// of 32 or 64 bits.
    fn shuffle(&self, value: &str, lane: &str) -> String;

    /// An expression of type `u32`: the bits of those among the 32 threads that the calling one is of whose `vote` is
    /// true.
    fn ballot(&self, vote: &str) -> String;

    /// A statement that orders earlier writes before later ones as the host sees them.
    fn system_fence(&self) -> &'static str;
}
