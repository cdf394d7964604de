//! A hazard as users see it: two launches, and what each does with the same memory.

use std::{fmt, ops::Range, panic::Location};

/// Two launches that use the same bytes, of which one writes, without an order between them.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Hazard {
    /// The launch that was submitted first.
    pub earlier: HazardUse,
    /// The launch that was submitted later.
    pub later: HazardUse,
}

/// One of the two launches of a [`Hazard`].
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct HazardUse {
    /// The name of the kernel.
    pub kernel: String,
    /// The tensor parameter.
    pub parameter: String,
    /// Whether the launch writes the parameter's tensor.
    pub writes: bool,
    /// The used bytes of the tensor's memory, from the first to the last.
    pub bytes: Range<usize>,
    /// The number of the stream, as [`Stream::id`](crate::Stream::id) returns it.
    pub stream: u32,
    /// The source location of the launch.
    pub at: &'static Location<'static>,
}

impl HazardUse {
    pub(crate) fn does(&self) -> &'static str {
        if self.writes { "writes" } else { "reads" }
    }
}

impl fmt::Display for Hazard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { earlier, later } = self;
        write!(
            f,
            "`{}` on stream {} ({}) {} `{}`, and nothing orders it after `{}` on stream {} ({}), which {} the same \
             memory as `{}`; help: record an event on stream {} after `{}`, and make stream {} wait for it",
            later.kernel,
            later.stream,
            later.at,
            later.does(),
            later.parameter,
            earlier.kernel,
            earlier.stream,
            earlier.at,
            earlier.does(),
            earlier.parameter,
            earlier.stream,
            earlier.kernel,
            later.stream,
        )
    }
}
