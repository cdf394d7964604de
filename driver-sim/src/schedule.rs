//! Schedules: when operations run. They choose orders that are legal but unlikely on a device.

use std::fmt;

/// The rule by which a world chooses the operations to run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Schedule {
    /// An operation runs only when something waits for it, together with as few others as possible.
    #[default]
    Lazy,
    /// An operation runs when it is enqueued.
    Eager,
    /// At every call, some ready operations run, chosen by the seed. Some streams are slower than others.
    Random,
    /// As lazy. In addition, an operation that must run waits for every younger one that accesses the same memory and
    /// is not ordered after it. So each missing wait, also before a free, has an effect with every seed.
    Adversarial,
}

impl Schedule {
    /// The schedule with this name, as in the environment variable and the C interface.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [Self::Lazy, Self::Eager, Self::Random, Self::Adversarial];
        all.into_iter().find(|schedule| schedule.to_string() == name)
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lazy => "lazy",
            Self::Eager => "eager",
            Self::Random => "random",
            Self::Adversarial => "adversarial",
        })
    }
}
