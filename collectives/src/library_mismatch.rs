//! [`LibraryMismatch`]: the names of libraries, which ranks compare before they connect.

/// Two ranks of a communicator use different libraries, or different versions of one: these cannot communicate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "ranks {rank} and {other} use different libraries (rank {rank}: {library}, rank {other}: {other_library}); help: \
     all ranks must use the same version of one"
)]
#[non_exhaustive]
pub struct LibraryMismatch {
    /// A rank.
    pub rank: usize,
    /// The name and the version of its library: `NCCL 2.28.3`.
    pub library: String,
    /// Another rank.
    pub other: usize,
    /// The name and the version of its library.
    pub other_library: String,
}

/// What ranks without a library have, because their device is a CPU.
pub(crate) const CPU: &str = "the CPU's own operations";

/// What ranks have whose library cannot be loaded.
pub(crate) const NONE: &str = "no library";
