//! Communicators and their collective calls. The functions of NCCL that make them are in
//! [`functions::collectives`](crate::functions::collectives).
//!
//! The ranks of a communicator are a [`RankSet`](rank_set::RankSet) of devices in this process; each rank has a
//! communicator in its world. The calls of the ranks that belong together are a [`MatchedCall`]. A call is several
//! operations in its rank's world: a start in the stream; a read of the send buffer after the starts of all ranks; a
//! write of the receive buffer after the reads of all ranks; and an end in the stream. So each world's race detector
//! sees its own side, and no two worlds are ever locked at once.
//!
//! A read or write does not run before the other ranks have made their calls. A host wait for it gives up its lock, and
//! is repeated when they have ([`peer::wait`](crate::peer::wait)).

mod arithmetic;
mod blocker;
mod communicator;
mod launch;
mod matched_call;
mod part;
pub(crate) mod progress;
mod rank_set;
mod request;
mod status;

pub(crate) use arithmetic::ReduceOp;
pub(crate) use blocker::Blocker;
pub(crate) use communicator::{CommunicatorPhase, SimCommunicator};
pub(crate) use launch::{PlannedCall, plan};
pub(crate) use matched_call::MatchedCall;
pub(crate) use part::CallPart;
pub(crate) use progress::changed;
pub(crate) use rank_set::{Rank, join_rank_set, new_unique_id};
pub(crate) use request::{Arguments, CollectiveKind, Request, Role};
pub(crate) use status::Status;
