//! The differences between the C-family languages that kernels are printed in.

use quadrants_ir::{AtomicOp, ScalarType};

/// A C-family language. Everything that these languages have in common is in the printer.
pub trait Dialect {
    /// The qualifier of an argument block that is passed by value.
    fn argument_qualifier(&self) -> &'static str;

    /// An attribute of a function whose blocks have at most `threads` threads, with a space after it.
    fn block_size_attribute(&self, threads: u32) -> String {
        let _ = threads;
        String::new()
    }

    /// An expression that reads `element` (a printed primary expression) of a tensor that nothing writes during the
    /// launch.
    fn read_only(&self, element: &str) -> String {
        element.to_owned()
    }

    /// An expression that atomically combines `value` into the element at `address` and returns the old element, with
    /// device scope. Both are printed expressions, the address a primary one. `ty` is a number type, and an integer
    /// type for `Min` and `Max`. Not called for `CompareExchange`.
    fn atomic(&self, op: AtomicOp, ty: ScalarType, address: &str, value: &str) -> String;

    /// A statement that atomically replaces the integer at `address` by `value` if it is equal to the variable
    /// `expected`, and sets the variable to the old integer, with device scope. The integer has type `u32` or `u64`;
    /// all operands are names.
    fn compare_exchange(&self, address: &str, expected: &str, value: &str) -> String;

    /// An expression that atomically sets the `u64` in device memory at `address` (a printed primary expression) to
    /// `value` and returns the old value, with device scope.
    fn exchange(&self, address: &str, value: &str) -> String;

    /// An expression that returns `value` of the thread at `lane` in the calling thread's group of 32 threads, all of
    /// which execute it. Both are printed primary expressions: `lane` a `u32` below 32, `value` a number of 32 or 64
    /// bits.
    fn shuffle(&self, value: &str, lane: &str) -> String;

    /// An expression of type `u32`: the mask of the threads in the calling thread's group of 32 whose `vote` is true.
    fn ballot(&self, vote: &str) -> String;

    /// A statement that orders earlier writes before later ones for the host.
    fn system_fence(&self) -> &'static str;
}
