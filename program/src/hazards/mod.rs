//! Hazards: launches on different streams that use the same bytes, of which one writes, without an order between them.

mod clock;
mod tracker;

use std::{fmt, ops::Range, panic::Location, str::FromStr};

use quadrants_rhi::environment;

pub(crate) use clock::Clock;
pub(crate) use tracker::{LaunchUses, Tracker, order_after, wait_for_stamps, wait_tracked};

use crate::{Error, Result};

/// The environment variable that sets the [`Hazards`] policy of programs whose builder sets none:
/// `explicit`, `report`, `check` or `auto`.
pub const HAZARDS_VARIABLE: &str = "QUADRANTS_HAZARDS";

/// The policy for hazards: launches on different streams that use the same bytes, of which one writes, without an order
/// between them.
///
/// Streams are ordered by events, and by waits of the host for a stream, an event, the device or a tensor's elements.
///
/// A kernel counts as a user of all elements of a tensor argument or slice; of a tensor of structs, only of the fields
/// that it names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Hazards {
    /// No tracking. Ordering streams is up to the user. The default where debug assertions are off.
    Explicit,
    /// Reports each pair of launches once, by `tracing::warn!` and
    /// [`Program::take_hazards`](crate::Program::take_hazards). The default where debug assertions are on.
    Report,
    /// Rejects the later launch with [`Error::Hazard`].
    Check,
    /// Inserts a wait: the later launch's stream waits for the work that the other stream has so far.
    /// [`Program::inserted_waits`](crate::Program::inserted_waits) counts these.
    Auto,
}

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
    /// The kernel.
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

impl Default for Hazards {
    fn default() -> Self {
        if cfg!(debug_assertions) { Self::Report } else { Self::Explicit }
    }
}

impl FromStr for Hazards {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Ok(match name {
            "explicit" => Self::Explicit,
            "report" => Self::Report,
            "check" => Self::Check,
            "auto" => Self::Auto,
            _ => return Err(Error::UnknownHazards { name: name.to_owned() }),
        })
    }
}

impl Hazards {
    /// The policy that the environment sets, or the default.
    pub(crate) fn from_env() -> Result<Self> {
        match environment::text(HAZARDS_VARIABLE)? {
            Some(name) => name.parse(),
            None => Ok(Self::default()),
        }
    }
}

impl fmt::Display for Hazard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let does = |one: &HazardUse| if one.writes { "writes" } else { "reads" };
        let Self { earlier, later } = self;
        write!(
            f,
            "`{}` on stream {} ({}) {} `{}`, and nothing orders it after `{}` on stream {} ({}), which {} the same \
             memory as `{}`: record an event there and make stream {} wait for it",
            later.kernel,
            later.stream,
            later.at,
            does(later),
            later.parameter,
            earlier.kernel,
            earlier.stream,
            earlier.at,
            does(earlier),
            earlier.parameter,
            later.stream,
        )
    }
}
