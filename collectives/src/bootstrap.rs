//! The rendezvous of the processes that form one communicator.
//!
//! Every process has a [`RankConfig`], usually from the variables of its launcher ([`RankConfig::from_env`]), and calls
//! [`ProcessGroup::join`]. Rank 0 listens on exactly the configured address and port; the others connect to it. Both
//! sides of a connection prove that they know the [`Secret`] of the run. The connections stay open as long as the
//! [`ProcessGroup`] lives: they carry [broadcasts](ProcessGroup::broadcast) from rank 0 and
//! [barriers](ProcessGroup::barrier), and they tell every process when another one dies ([`ProcessGroup::lost`]).
//!
//! ```
//! use quadrants_collectives::bootstrap::{ProcessGroup, RankConfig};
//!
//! // Without a launcher: a group of one. Else `RankConfig::from_env()`.
//! let group = ProcessGroup::join(&RankConfig::single())?;
//! let id = group.broadcast(b"the id that rank 0 made")?;
//! assert_eq!(id, b"the id that rank 0 made");
//! assert_eq!(group.lost(), None);
//! # Ok::<(), quadrants_collectives::bootstrap::Error>(())
//! ```
//!
//! # Address
//!
//! Rank 0 binds the configured address, not the wildcard address. On a machine whose host name resolves to a loopback
//! address (Debian's `127.0.1.1`), the host name of rank 0 cannot be reached from other machines; use an IP address.
//!
//! `torchrun` itself usually listens on `MASTER_PORT` and then sets `TORCHELASTIC_USE_AGENT_STORE=True`; the rendezvous
//! uses the next port in that case. `QUADRANTS_RENDEZVOUS_PORT` chooses another port.
//!
//! # Security
//!
//! A process without the secret cannot join, cannot pose as rank 0, and cannot change, repeat, reorder or insert
//! messages. It can delay a run (it can fill the network, and a process on the path can cut connections). Messages are
//! authenticated and not encrypted: an eavesdropper can read the payloads. An eavesdropper, or a process that answers
//! in place of rank 0, can also test guesses of the secret, so it must be random: `openssl rand -hex 32`. A process
//! that knows the secret is trusted. Processes of earlier runs with the same secret, address and port are not told
//! apart from those of this run.
//!
//! Without the variable `QUADRANTS_RENDEZVOUS_SECRET`, only loopback addresses are allowed. The secret is then in a
//! file that only the user can read, `quadrants-UID/rendezvous-secret` in the temporary folder; the first process makes
//! it.

#![forbid(unsafe_code)]

mod call_bytes;
mod comparison;
mod config;
mod connect;
mod error;
mod frame;
mod group_state;
mod handshake;
mod link;
mod listen;
mod message;
mod process_group;
mod secret;
#[cfg(test)]
mod tests;

pub(crate) use comparison::Refusal;
pub use config::RankConfig;
pub use error::{Error, Rejection, Result};
pub use process_group::{MAX_PAYLOAD, ProcessGroup};
pub use secret::Secret;
