//! Work of other libraries beside kernels of quadrants, each as a foreign operation, and beside a kernel in a region of
//! the host: [cuBLAS and hipBLAS](blas), [cuFFT](cufft) and [rocFFT](rocfft), [cuSPARSE](cusparse) and
//! [cuRAND](curand), with a program of each name. And [kernels between operations of Python libraries](python).

pub mod blas;
pub mod cufft;
pub mod curand;
pub mod cusparse;
pub mod measure;
pub mod poisson;
pub mod products;
pub mod python;
pub mod rocfft;

use quadrants as qd;

/// An error of these examples.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of quadrants.
    #[error(transparent)]
    Quadrants(#[from] qd::Error),
    /// A library is not installed.
    #[error("{name} was not found: install it, or add its folder to LD_LIBRARY_PATH")]
    NoLibrary {
        /// The library.
        name: &'static str,
    },
    /// A library lacks a function.
    #[error(transparent)]
    Symbol(#[from] libloading::Error),
    /// A call of a library failed.
    #[error("{call} returned the status {status}")]
    Status {
        /// The function.
        call: &'static str,
        /// The status that the function returned.
        status: i32,
    },
    /// A size is too large for the library.
    #[error("{n} rows or entries are too many for the library: at most 2^31 - 1")]
    TooLarge {
        /// The number of rows or entries.
        n: usize,
    },
    /// Results differ.
    #[error("{what} differ by {difference}")]
    Different {
        /// What was compared.
        what: &'static str,
        /// The largest difference.
        difference: f64,
    },
}

/// The result of these examples.
pub type Result<T, E = Error> = std::result::Result<T, E>;
