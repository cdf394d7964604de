//! Errors of code generation and compilation.

use quadrants_ir::VerifyError;

/// The result of a compiler call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a kernel could not be compiled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The compiler's library was not found.
    #[error(
        "{compiler} was not found; searched: {}; help: install it, or set QUADRANTS_{}_LIBRARY to its path",
        searched.join("; "), .compiler.to_uppercase()
    )]
    CompilerNotFound {
        /// The name of the compiler.
        compiler: &'static str,
        /// The searched locations, in order, with the reason why each failed.
        searched: Vec<String>,
    },
    /// The library was found but lacks a required function.
    #[error(
        "`{library}` is not a usable {compiler}: the function `{symbol}` is missing; help: install a newer release, or \
         set QUADRANTS_{}_LIBRARY to its path", .compiler.to_uppercase()
    )]
    MissingSymbol {
        /// The name of the compiler.
        compiler: &'static str,
        /// The path of the library.
        library: String,
        /// The missing function.
        symbol: &'static str,
    },
    /// The compiler does not support the device's architecture.
    #[error("{compiler} cannot compile for `{arch}`; it supports {}; help: install a release that supports the device", known.join(", "))]
    UnknownArch {
        /// The identity of the compiler.
        compiler: String,
        /// The requested architecture.
        arch: String,
        /// The supported architectures.
        known: Vec<String>,
    },
    /// The kernel does not pass verification.
    #[error(
        "the kernel's IR is invalid: {0}; help: if a macro made the kernel, this is a bug in quadrants, report it with the \
         source of the kernel"
    )]
    InvalidKernel(#[from] VerifyError),
    /// The compiler rejected the source text of a kernel.
    #[error(
        "{compiler} rejected the source of kernel `{kernel}`; help: this is a bug in quadrants, report it with the source \
         that QUADRANTS_DUMP writes:\n{log}"
    )]
    Rejected {
        /// The name of the compiler.
        compiler: &'static str,
        /// The name of the kernel.
        kernel: String,
        /// The compiler's output.
        log: String,
        /// The source text.
        text: String,
    },
    /// A call of the compiler's library failed for a reason other than the source text.
    #[error("{symbol} failed with {name} ({code}); help: check the installation of the compiler with `quadrants doctor`{}{log}", if log.is_empty() { "" } else { ":\n" })]
    Call {
        /// The C function.
        symbol: &'static str,
        /// The returned code.
        code: i32,
        /// The name of the code.
        name: String,
        /// The compiler's output, if there is any.
        log: String,
    },
}
