//! Cases, the subject that they run on, and their outcomes.

use std::{any::Any, fmt, sync::Arc};

use quadrants_rhi::{Device, Error, Image};

/// The device under test.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The device.
    pub device: Arc<dyn Device>,
    /// Another device of the same driver. `None` runs the cases about two devices on one.
    pub peer: Option<Arc<dyn Device>>,
    /// A kernel for the cases that launch one. `None` skips these cases.
    pub add: Option<AddKernel>,
    /// A value that must live as long as the device is used.
    pub keep: Option<Arc<dyn Any + Send + Sync>>,
}

/// A kernel that adds `k` to each of `n` words: `for i in 0..n { p[i] += k }`, wrapping.
#[derive(Debug, Clone)]
pub struct AddKernel {
    /// The image that contains it.
    pub image: Image<'static>,
    /// The name of the function.
    pub function: String,
    /// Makes its argument block of `p`, `n` and `k`.
    pub args: fn(u64, u64, u32) -> Vec<u64>,
    /// The number of threads per block. The kernel is launched with at least `n` threads.
    pub block_dim: u32,
}

/// A test of one rule of the contract.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Case {
    /// Its name: module and function.
    pub name: &'static str,
    /// Runs it.
    pub run: fn(&Subject) -> Result<Outcome, CaseFailure>,
}

/// The outcome of a case that did not fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The device keeps the rule.
    Passed,
    /// The case does not apply to the device, for this reason.
    Skipped(&'static str),
}

/// The reason why a case failed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum CaseFailure {
    /// The device returned an unexpected error.
    Device(Error),
    /// The device violated the contract.
    Contract(String),
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Case").field(&self.name).finish()
    }
}

impl fmt::Display for CaseFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Device(error) => write!(f, "an unexpected error: {error}"),
            Self::Contract(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for CaseFailure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Device(error) => Some(error),
            Self::Contract(_) => None,
        }
    }
}

impl From<Error> for CaseFailure {
    fn from(error: Error) -> Self {
        Self::Device(error)
    }
}
