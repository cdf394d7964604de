//! The errors of the rendezvous.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A result with this module's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of the rendezvous or of a group.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An environment variable is missing or invalid.
    #[error("the environment variable {variable} {problem}; help: {set_by}")]
    Variable {
        /// The variable.
        variable: &'static str,
        /// Its value. `None` if it is not set or empty. Never the secret.
        value: Option<String>,
        /// What is wrong, with the value.
        problem: String,
        /// What sets the variable.
        set_by: &'static str,
    },
    /// A field of the configuration is invalid.
    #[error("invalid rendezvous configuration: {what}")]
    Config {
        /// The field, and the rule that it violates.
        what: String,
    },
    /// There is no secret, and the address is not a loopback address.
    #[error(
        "a rendezvous at {address}, which is not a loopback address, needs a secret; help: before the launcher, \
         export QUADRANTS_RENDEZVOUS_SECRET=$(openssl rand -hex 32), with the same value on all machines"
    )]
    SecretMissing {
        /// The resolved address.
        address: SocketAddr,
    },
    /// The file with the user's secret cannot be used.
    #[error(
        "the secret file {} cannot be used: {reason}; help: remove it, or set QUADRANTS_RENDEZVOUS_SECRET to the same \
         value for all processes",
        .path.display()
    )]
    SecretFile {
        /// The file or its folder.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Rank 0 cannot listen.
    #[error(
        "rank 0 cannot listen on {address} port {port}: {source}; help: MASTER_ADDR must be an address of the machine \
         of rank 0, and the port must be free (QUADRANTS_RENDEZVOUS_PORT chooses another one)"
    )]
    Listen {
        /// The configured address.
        address: String,
        /// The configured port.
        port: u16,
        /// The system's error.
        source: Arc<io::Error>,
    },
    /// Something took longer than the timeout.
    #[error("{what} took longer than {after:?}{}{}; help: look at the output of the other ranks, which need the same address, port and secret", missing_ranks(.missing), rejections(*.rejected))]
    Timeout {
        /// What did not finish.
        what: String,
        /// The timeout.
        after: Duration,
        /// Ranks that did not take part, as far as this process knows: at most 64 of them, except on rank 0.
        missing: Vec<usize>,
        /// Connections that rank 0 rejected. 0 on other ranks.
        rejected: u64,
    },
    /// A process closed its connection without leaving in order, or was silent for too long.
    #[error("rank {rank} was lost; help: look at the output of that process")]
    PeerLost {
        /// The rank that was lost.
        rank: usize,
    },
    /// A process left the group, and an operation needs it.
    #[error("rank {rank} left the group; help: all ranks must make the same calls before they end")]
    Left {
        /// The rank that left the group.
        rank: usize,
    },
    /// Rank 0 rejected this process, or so says what answers in its place: a rejection is not authenticated.
    #[error("rank 0 rejected this process: {reason}")]
    Rejected {
        /// The reason.
        reason: Rejection,
    },
    /// A system call failed.
    #[error("{what} failed: {source}")]
    Io {
        /// The operation.
        what: String,
        /// The system's error.
        source: Arc<io::Error>,
    },
    /// A peer sent something that this protocol does not allow.
    #[error(
        "a process sent what the protocol of the rendezvous does not allow: {what}; help: if another program uses the port, \
         choose another one (QUADRANTS_RENDEZVOUS_PORT)"
    )]
    Protocol {
        /// What was wrong.
        what: String,
    },
    /// A rank called another operation than rank 0.
    #[error(
        "rank {rank} called another operation than rank 0; help: all ranks must make the same calls, in the same order"
    )]
    OutOfOrder {
        /// The rank that called another operation.
        rank: usize,
    },
    /// A payload is too long.
    #[error(
        "a payload of {length} bytes is longer than {limit}; help: send larger data by a collective operation"
    )]
    TooLong {
        /// The length of the payload in bytes.
        length: usize,
        /// The largest length.
        limit: usize,
    },
}

impl Error {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { what: what.into(), source: Arc::new(source) }
    }

    pub(crate) fn protocol(what: impl Into<String>) -> Self {
        Self::Protocol { what: what.into() }
    }
}

/// Why rank 0 rejected a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rejection {
    /// Rank 0 speaks another version of the protocol.
    #[error("it speaks version {supported} of the protocol; help: use one build for all ranks")]
    Version {
        /// Rank 0's version.
        supported: u32,
    },
    /// The secrets differ.
    #[error(
        "the secrets differ; help: QUADRANTS_RENDEZVOUS_SECRET must have the same value for all processes, or be unset \
         for all, which run as one user on one machine"
    )]
    Secret,
    /// The world sizes differ.
    #[error(
        "the world sizes differ, and rank 0 has {expected}; help: WORLD_SIZE must have the same value for all processes"
    )]
    WorldSize {
        /// Rank 0's world size.
        expected: u32,
    },
    /// The rank is not less than the world size.
    #[error(
        "the rank is not less than the world size {world_size}; help: use a rank in 0..{world_size}"
    )]
    RankOutOfRange {
        /// Rank 0's world size.
        world_size: u32,
    },
    /// There is a process with this rank.
    #[error(
        "another process has rank {rank}; help: give each process of a run its own rank, and each run its own \
         QUADRANTS_RENDEZVOUS_PORT"
    )]
    DuplicateRank {
        /// The rank.
        rank: u32,
    },
}

impl Rejection {
    /// The code and its argument, as sent.
    pub(crate) fn code(self) -> (u8, u32) {
        match self {
            Self::Version { supported } => (0, supported),
            Self::Secret => (1, 0),
            Self::WorldSize { expected } => (2, expected),
            Self::RankOutOfRange { world_size } => (3, world_size),
            Self::DuplicateRank { rank } => (4, rank),
        }
    }

    pub(crate) fn from_code(code: u8, argument: u32) -> Option<Self> {
        Some(match code {
            0 => Self::Version { supported: argument },
            1 => Self::Secret,
            2 => Self::WorldSize { expected: argument },
            3 => Self::RankOutOfRange { world_size: argument },
            4 => Self::DuplicateRank { rank: argument },
            _ => return None,
        })
    }
}

fn missing_ranks(missing: &[usize]) -> String {
    match missing {
        [] => String::new(),
        [one] => format!("; missing: rank {one}"),
        many => {
            let shown: Vec<_> = many.iter().take(16).map(ToString::to_string).collect();
            let more = if many.len() > 16 { ", …" } else { "" };
            format!("; missing: ranks {}{more}", shown.join(", "))
        }
    }
}

fn rejections(count: u64) -> String {
    match count {
        0 => String::new(),
        1 => "; 1 connection was rejected".into(),
        _ => format!("; {count} connections were rejected"),
    }
}
