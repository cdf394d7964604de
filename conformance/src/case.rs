//! What a case is, what it is run on, and how it ends.

use std::{any::Any, fmt, sync::Arc};

use quadrants_rhi::{Device, Error, Image};

use crate::CASES;

/// What the suite runs on.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The device.
    pub device: Arc<dyn Device>,
    /// A kernel for the cases that launch one; without it they are skipped.
    pub add: Option<AddKernel>,
    /// Whatever else must live as long as the device is used.
    pub keep: Option<Arc<dyn Any + Send + Sync>>,
}

/// A kernel that adds `k` to each of `n` words: `for i in 0..n { p[i] += k }`, wrapping.
///
#[derive(Debug, Clone)]
pub struct AddKernel {
    /// The image that has it.
    pub image: Image<'static>,
    /// Its name.
    pub function: String,
    /// Its argument block for `p`, `n` and `k`.
    pub args: fn(u64, u64, u32) -> Vec<u64>,
    /// The threads of a block. The kernel is launched with at least `n` threads.
    pub block_dim: u32,
}

/// One thing that every device does.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Case {
    /// Its name: module and function.
    pub name: &'static str,
    /// Runs it.
    pub run: fn(&Subject) -> Result<Outcome, Failure>,
}

/// How a case ended that did not fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The device does it.
    Passed,
    /// The device cannot be asked, for this reason.
    Skipped(&'static str),
}

/// Why a case failed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Failure {
    /// The device returned an error where it should not.
    Device(Error),
    /// The device did something else than the contract says.
    Contract(String),
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Case").field(&self.name).finish()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Device(error) => write!(f, "an unexpected error: {error}"),
            Self::Contract(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Device(error) => Some(error),
            Self::Contract(_) => None,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Device(error)
    }
}

/// Runs one case as a test. For [`conformance_tests!`](crate::conformance_tests).
///
/// # Panics
/// Where the case fails or has no such name.
pub fn run_case(name: &str, setup: fn(&str) -> Option<Subject>) {
    let case = CASES.iter().find(|case| case.name == name);
    let case = case.unwrap_or_else(|| panic!("there is no case {name}"));
    let Some(subject) = setup(name) else {
        eprintln!("skipped: no device for {name}");
        return;
    };
    match (case.run)(&subject) {
        Ok(Outcome::Passed) => {}
        Ok(Outcome::Skipped(why)) => eprintln!("skipped: {why}"),
        Err(failure) => panic!("{name}: {failure}"),
    }
}
