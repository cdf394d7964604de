//! The errors of collective operations.

use std::{fmt, panic::Location, sync::Arc, time::Duration};

use quadrants_program::{Error as ProgramError, Severity, rhi};

use crate::{bootstrap, call_matching::Mismatch, library_mismatch::LibraryMismatch};

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of a collective operation or of a communicator.
///
/// `{}` prints what happened and how to fix it, with the text of the [source](std::error::Error::source).
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of a program: of its device, its tensors or its streams.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The processes of a run did not find each other.
    #[error(transparent)]
    Bootstrap(#[from] bootstrap::Error),
    /// The library for collective operations cannot be loaded.
    #[error("{0}")]
    Library(#[from] rhi::Error),
    /// The ranks of one communicator have devices of different backends, or there is no library for the backend.
    #[error(
        "devices of the backend `{backend}` have no collective operations{}; help: use devices of one GPU backend, or of \
         the CPU, and `copy_to` between others",
        if *.mixed { " with those of another backend" } else { "" }
    )]
    Backend {
        /// The backend.
        backend: &'static str,
        /// Whether another rank has another backend.
        mixed: bool,
    },
    /// There is no rank of that number, or no communicator of that size.
    #[error(
        "rank {rank} is not a rank of a communicator with {size} ranks; help: use a rank in 0..{size}"
    )]
    Rank {
        /// The rank.
        rank: usize,
        /// The number of ranks.
        size: usize,
    },
    /// The numbers of elements do not fit together.
    #[error(
        "`{operation}` with {size} ranks of a tensor of {from} elements needs one of {expected} elements, but it has {to}; \
         help: select a part with `slice` or `flat`"
    )]
    Length {
        /// The operation.
        operation: &'static str,
        /// The number of ranks.
        size: usize,
        /// The number of elements of the first tensor.
        from: usize,
        /// What the second tensor must have.
        expected: usize,
        /// What it has.
        to: usize,
    },
    /// A tensor cannot be scattered in equal parts.
    #[error(
        "`{operation}` with {size} ranks needs a tensor whose length is a multiple of {size}, but it has {from} elements; \
         help: pass a slice of it"
    )]
    Parts {
        /// The operation.
        operation: &'static str,
        /// The number of ranks.
        size: usize,
        /// The number of elements of the tensor.
        from: usize,
    },
    /// A tensor's elements are not contiguous in memory.
    #[error(
        "`{operation}` needs tensors whose elements are contiguous; help: `try_clone` copies one into such a tensor"
    )]
    Strided {
        /// The operation.
        operation: &'static str,
    },
    /// Bytes are not those of an id.
    #[error(
        "an id of a communicator has 128 bytes, but {bytes} were given; help: pass all bytes of `UniqueId::to_bytes`"
    )]
    Id {
        /// Their number.
        bytes: usize,
    },
    /// The rank has joined the communicator of an id already, or the others have joined without it.
    #[error("rank {rank} cannot join: the id is used; help: make an id for each communicator")]
    Joined {
        /// The rank.
        rank: usize,
    },
    /// A group was dropped with operations, without a call of `run`. `Program::take_deferred_errors` returns it, as the
    /// source of an error.
    #[error(
        "a group was dropped, and its {operations} operations were not enqueued (the first is `{first}` at {at}); \
         help: call `run`"
    )]
    NotRun {
        /// The number of operations.
        operations: usize,
        /// The first one.
        first: &'static str,
        /// Where it was added to the group.
        at: &'static Location<'static>,
    },
    /// An id of the CPU was used in another process: CPUs have no transport between processes.
    #[error(
        "the ranks of a communicator on the CPU must be in one process; help: use a GPU backend, or a thread for each rank"
    )]
    OtherProcess,
    /// An operation failed now. The communicator was aborted: what its operations write is undefined.
    #[error(
        "`{operation}` of rank {rank} failed, and the communicator was aborted: {failure}; help: make another one"
    )]
    Failed {
        /// The operation.
        operation: &'static str,
        /// The rank of this communicator.
        rank: usize,
        /// The failure that aborted the communicator.
        #[source]
        failure: Arc<Failure>,
    },
    /// The communicator was aborted before, because of a failure or by [`abort`](crate::Communicator::abort).
    #[error("the communicator of rank {rank} was aborted{}; help: make another one", cause(.failure))]
    Aborted {
        /// The rank of this communicator.
        rank: usize,
        /// The failure; none after a call of `abort`.
        #[source]
        failure: Option<Arc<Failure>>,
    },
}

/// Why a communicator failed. A host wait returns it among the sources of
/// [`Error::Runtime`](quadrants_program::Error::Runtime).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// A call of the library failed.
    #[error("{error}{}", in_parentheses(.details))]
    Call {
        /// The call and its status.
        #[source]
        error: rhi::Error,
        /// What else the library says.
        details: String,
    },
    /// The library reports that an operation failed after it was enqueued.
    #[error("the library reports {name}{}; help: look at the output of the other ranks", in_parentheses(.details))]
    Async {
        /// The name of the status: `ncclRemoteError`.
        name: &'static str,
        /// What else the library says.
        details: String,
    },
    /// Another process of the run has ended, or cannot be reached.
    #[error("rank {rank} of the run is lost; help: look at the output of that process")]
    PeerLost {
        /// The rank that was lost.
        rank: usize,
    },
    /// Not all ranks have joined or enqueued the operation in time.
    #[error(
        "not complete after {} seconds; help: all ranks must join, and enqueue the same operations in the same order (a \
         thread that has several ranks enqueues an operation of all of them in one `Group`)",
        after.as_secs_f32()
    )]
    Timeout {
        /// The time limit.
        after: Duration,
    },
    /// Two ranks have called different operations. Nothing was enqueued for the later one.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    /// The libraries of two ranks differ. The communicator was not created, and nothing was enqueued.
    #[error(transparent)]
    Libraries(#[from] LibraryMismatch),
    /// The calls of this rank could not be compared with those of other processes.
    #[error("its calls could not be compared with those of the other ranks: {0}")]
    Comparison(#[source] bootstrap::Error),
    /// Another rank of this process was aborted.
    #[error("rank {rank} was aborted{}", cause(.failure))]
    PeerAborted {
        /// The rank.
        rank: usize,
        /// Why; none after a call of `abort`.
        #[source]
        failure: Option<Arc<Failure>>,
    },
    /// The failed part could not be enqueued.
    #[error("it was enqueued in part: {0}")]
    Enqueue(#[source] ProgramError),
}

impl fmt::Debug for Error {
    /// What a `main` that returns the error prints: its text, with the remedy on a line of its own.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program(error) => error.fmt(f),
            other => f.write_str(&other.to_string().replace("; help: ", "\n  help: ")),
        }
    }
}

impl Failure {
    /// Whether a call of the library failed.
    pub(crate) fn is_call(&self) -> bool {
        matches!(self, Self::Call { .. })
    }

    /// Whether it is the failure of other ranks just as much.
    pub(crate) fn is_of_all(&self) -> bool {
        matches!(
            self,
            Self::Mismatch(_)
                | Self::Libraries(_)
                | Self::PeerLost { .. }
                | Self::PeerAborted { .. }
        )
    }
}

impl Error {
    /// The state of the device's context after the error.
    #[must_use]
    pub fn severity(&self) -> Severity {
        match self {
            Self::Program(error) => error.severity(),
            Self::Failed { .. } => Severity::LostData,
            _ => Severity::Recoverable,
        }
    }
}

fn in_parentheses(details: &str) -> String {
    if details.is_empty() { String::new() } else { format!(" ({details})") }
}

fn cause(failure: &Option<Arc<Failure>>) -> String {
    failure.as_ref().map(|failure| format!(" after a failure: {failure}")).unwrap_or_default()
}
