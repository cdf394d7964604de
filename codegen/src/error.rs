//! What can go wrong between the IR and a module image.

use quadrants_ir::VerifyError;

/// The result of a compiler's method.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why there is no image.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The compiler's library is in none of the places where it can be.
    #[error("{compiler} was not found; searched: {}", searched.join("; "))]
    CompilerNotFound {
        /// The compiler's name.
        compiler: &'static str,
        /// Each place tried, in order, with what was wrong there.
        searched: Vec<String>,
    },
    /// The library was found, but is no compiler that can be used.
    #[error("`{library}` is not a usable {compiler}: it has no `{symbol}`")]
    MissingSymbol {
        /// The compiler's name.
        compiler: &'static str,
        /// The library.
        library: String,
        /// The function that it lacks.
        symbol: &'static str,
    },
    /// The compiler does not know the device's architecture.
    #[error("{compiler} cannot compile for `{arch}`; it knows {}", known.join(", "))]
    UnknownArch {
        /// The compiler's identity.
        compiler: String,
        /// The architecture asked for.
        arch: String,
        /// The architectures that it knows.
        known: Vec<String>,
    },
    /// The kernel breaks a rule of the IR, so that nothing can be made of it.
    #[error("the kernel cannot be compiled: {0}")]
    InvalidKernel(#[from] VerifyError),
    /// The compiler rejected the text that was made from a kernel.
    #[error("{compiler} rejected kernel `{kernel}`:\n{log}")]
    Rejected {
        /// The compiler's name.
        compiler: &'static str,
        /// The kernel's name.
        kernel: String,
        /// What the compiler said.
        log: String,
        /// The text it was given.
        text: String,
    },
    /// A call of the compiler's library failed for another reason than the text.
    #[error("{symbol} failed with {name} ({code}){}{log}", if log.is_empty() { "" } else { ":\n" })]
    Call {
        /// The C function.
        symbol: &'static str,
        /// What it returned.
        code: i32,
        /// The name of that code.
        name: String,
        /// What the compiler said, where it said something.
        log: String,
    },
}
