//! Counts the kernels that need `unsafe`: simulations should hardly need it.

use std::fmt;

/// Kernels, and how many of them need `unsafe`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Share {
    pub(crate) kernels: usize,
    pub(crate) with_unsafe: usize,
}

impl Share {
    /// Counts in the source of a file of kernels; a kernel ends where the next one begins.
    pub(crate) fn of(text: &str) -> Self {
        let code: Vec<&str> =
            text.lines().map(|line| line.split("//").next().unwrap_or(line)).collect();
        let code = code.join("\n");
        let mut kernels = code.split("#[qd::kernel");
        // The part before the first kernel.
        kernels.next();
        let mut share = Self::default();
        for kernel in kernels {
            share.kernels += 1;
            share.with_unsafe += usize::from(kernel.contains("unsafe {"));
        }
        share
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, of which {} with `unsafe`", self.kernels, self.with_unsafe)
    }
}
