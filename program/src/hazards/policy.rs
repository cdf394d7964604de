//! The policy of a program for hazards.

use std::str::FromStr;

use quadrants_rhi::environment;

use crate::{Error, Result, variables::HAZARDS_VARIABLE};

/// The policy for hazards: launches on different streams that use the same bytes, of which one writes, without an order
/// between them.
///
/// Streams are ordered by events, and by host waits for a stream, an event, the device or a tensor's elements.
///
/// A kernel counts as a user of all elements of a tensor argument or slice; of a tensor of structs, only of the fields
/// that it names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Hazards {
    /// No tracking. Ordering streams is up to the user. The default where debug assertions are off.
    Explicit,
    /// Reports each pair of launches once, by `tracing::warn!` and
    /// [`Program::take_hazards`](crate::Program::take_hazards). Without a `tracing` subscriber, standard error gets
    /// the warning. The default where debug assertions are on.
    Report,
    /// Rejects the later launch with [`Error::Hazard`].
    Check,
    /// Inserts a wait: the later launch's stream waits for the work that the other stream has so far.
    /// [`Program::inserted_waits`](crate::Program::inserted_waits) counts these.
    Auto,
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
