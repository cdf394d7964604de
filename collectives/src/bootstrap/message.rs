//! The messages of an established group.

use std::time::Duration;

use super::call_bytes::{CALL, decode_mismatch, encode_mismatch};
use super::frame::{Frame, MAC_BYTES};
use super::handshake::split_u32;
use super::{Error, MAX_PAYLOAD};
use crate::{call::CollectiveCall, call_matching::Mismatch, library_mismatch::LibraryMismatch};

/// The longest body of a frame after the handshake.
pub(crate) const MAX_MESSAGE_BYTES: usize = MAX_PAYLOAD + 16 + MAC_BYTES;
/// A message names at most so many ranks.
pub(crate) const MOST_RANKS: usize = 64;
/// A message has at most so many calls of a communicator.
pub(crate) const MOST_CALLS: usize = 1024;

/// The name of a library has at most so many bytes.
pub(crate) const MAX_NAME_BYTES: usize = 128;

/// Which operation, and its number among all of the group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GroupCall {
    pub(crate) number: u64,
    pub(crate) operation: GroupOperation,
}

/// An operation of all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GroupOperation {
    Broadcast = 0,
    Barrier = 1,
    /// The creation of a communicator whose calls are compared.
    Join = 2,
    /// That of one whose calls are not.
    JoinUnchecked = 3,
}

impl GroupOperation {
    /// Whether ranks name their libraries with it.
    pub(crate) fn is_join(self) -> bool {
        matches!(self, Self::Join | Self::JoinUnchecked)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Broadcast => "a broadcast",
            Self::Barrier => "a barrier",
            Self::Join | Self::JoinUnchecked => "joining a communicator",
        }
    }
}

/// Why an operation failed on rank 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OperationFailure {
    Timeout(Vec<usize>),
    Left(usize),
    OutOfOrder(usize),
}

/// A message. All but `Arrive`, `Compare`, `Heartbeat` and `Goodbye` come from rank 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Message {
    /// All ranks are there.
    Start,
    /// A sign of life.
    Heartbeat,
    /// Rank 0 is waiting for these ranks.
    Waiting(Vec<usize>),
    /// The sender has called an operation. With the name of its library if it joins a communicator.
    Arrive(GroupCall, String),
    /// All ranks have called it. With the payload of a broadcast.
    Release(GroupCall, Vec<u8>),
    /// An operation failed, and the group with it.
    Failed(OperationFailure),
    /// This rank is lost.
    Lost(usize),
    /// The sender leaves.
    Goodbye,
    /// The next calls of the sender in a communicator, which it will enqueue if they match.
    Compare(u64, Vec<CollectiveCall>),
    /// They match.
    Matched(u64),
    /// The calls of a communicator do not match.
    Mismatch(u64, Mismatch),
    /// All ranks have called this join of a communicator, but with different libraries.
    Refused(GroupCall, LibraryMismatch),
}

impl Message {
    /// The kind and the body of its frame.
    pub(crate) fn encode(&self) -> (u8, Vec<u8>) {
        match self {
            Self::Start => (16, vec![]),
            Self::Heartbeat => (17, vec![]),
            Self::Waiting(ranks) => (18, encode_ranks(ranks)),
            Self::Arrive(call, library) => (19, [&encode_call(*call), library.as_bytes()].concat()),
            Self::Release(call, payload) => {
                let mut body = encode_call(*call);
                body.extend_from_slice(payload);
                (20, body)
            }
            Self::Failed(OperationFailure::Timeout(ranks)) => (21, encode_ranks(ranks)),
            Self::Failed(OperationFailure::Left(rank)) => (22, encode_ranks(&[*rank])),
            Self::Failed(OperationFailure::OutOfOrder(rank)) => (23, encode_ranks(&[*rank])),
            Self::Lost(rank) => (24, encode_ranks(&[*rank])),
            Self::Goodbye => (25, vec![]),
            Self::Compare(communicator, calls) => {
                let mut body = communicator.to_le_bytes().to_vec();
                calls.iter().for_each(|call| body.extend_from_slice(&call.to_bytes()));
                (26, body)
            }
            Self::Matched(communicator) => (27, communicator.to_le_bytes().to_vec()),
            Self::Mismatch(communicator, mismatch) => {
                let mut body = communicator.to_le_bytes().to_vec();
                body.extend(encode_mismatch(mismatch));
                (28, body)
            }
            Self::Refused(call, LibraryMismatch { rank, library, other, other_library }) => {
                let mut body = encode_call(*call);
                body.extend(encode_ranks(&[*rank, *other]));
                body.push(library.len() as u8);
                body.extend_from_slice(library.as_bytes());
                body.extend_from_slice(other_library.as_bytes());
                (29, body)
            }
        }
    }

    /// `None` if the frame is no message.
    pub(crate) fn decode(frame: &Frame) -> Option<Self> {
        let body = &frame.body[..];
        Some(match frame.kind {
            16 => empty(body, Self::Start)?,
            17 => empty(body, Self::Heartbeat)?,
            18 => Self::Waiting(decode_ranks(body)?),
            19 => {
                let (call, rest) = decode_call(body)?;
                let library = decode_name(rest)?;
                (call.operation.is_join() || library.is_empty())
                    .then_some(Self::Arrive(call, library))?
            }
            20 => {
                let (call, payload) = decode_call(body)?;
                Self::Release(call, payload.to_vec())
            }
            21 => Self::Failed(OperationFailure::Timeout(decode_ranks(body)?)),
            22 => Self::Failed(OperationFailure::Left(decode_rank(body)?)),
            23 => Self::Failed(OperationFailure::OutOfOrder(decode_rank(body)?)),
            24 => Self::Lost(decode_rank(body)?),
            25 => empty(body, Self::Goodbye)?,
            26 => {
                let (communicator, calls) = body.split_first_chunk()?;
                let (calls, []) = calls.as_chunks::<CALL>() else { return None };
                let calls = calls.iter().map(CollectiveCall::from_bytes).collect::<Option<_>>();
                Self::Compare(u64::from_le_bytes(*communicator), calls?)
            }
            27 => Self::Matched(u64::from_le_bytes(body.try_into().ok()?)),
            28 => {
                let (communicator, mismatch) = body.split_first_chunk()?;
                let mismatch = decode_mismatch(mismatch)?;
                Self::Mismatch(u64::from_le_bytes(*communicator), mismatch)
            }
            29 => {
                let (call, rest) = decode_call(body)?;
                let (rank, rest) = split_u32(rest)?;
                let (other, rest) = split_u32(rest)?;
                let (length, rest) = rest.split_first()?;
                let (library, other_library) = rest.split_at_checked(usize::from(*length))?;
                let mismatch = LibraryMismatch {
                    rank: rank as usize,
                    library: decode_name(library)?,
                    other: other as usize,
                    other_library: decode_name(other_library)?,
                };
                call.operation.is_join().then_some(Self::Refused(call, mismatch))?
            }
            _ => return None,
        })
    }
}

impl OperationFailure {
    /// The error of an operation or of joining.
    pub(crate) fn error(self, what: &str, after: Duration) -> Error {
        match self {
            Self::Timeout(missing) => {
                Error::Timeout { what: what.into(), after, missing, rejected: 0 }
            }
            Self::Left(rank) => Error::Left { rank },
            Self::OutOfOrder(rank) => Error::OutOfOrder { rank },
        }
    }
}

fn empty(body: &[u8], message: Message) -> Option<Message> {
    body.is_empty().then_some(message)
}

fn encode_call(call: GroupCall) -> Vec<u8> {
    let mut body = call.number.to_le_bytes().to_vec();
    body.push(call.operation as u8);
    body
}

fn decode_call(body: &[u8]) -> Option<(GroupCall, &[u8])> {
    let (number, rest) = body.split_first_chunk()?;
    let (operation, rest) = rest.split_first()?;
    let operation = match operation {
        0 => GroupOperation::Broadcast,
        1 => GroupOperation::Barrier,
        2 => GroupOperation::Join,
        3 => GroupOperation::JoinUnchecked,
        _ => return None,
    };
    Some((GroupCall { number: u64::from_le_bytes(*number), operation }, rest))
}

fn decode_name(body: &[u8]) -> Option<String> {
    let name = str::from_utf8(body).ok()?;
    (name.len() <= MAX_NAME_BYTES && !name.contains(char::is_control)).then(|| name.to_owned())
}

fn encode_ranks(ranks: &[usize]) -> Vec<u8> {
    ranks.iter().take(MOST_RANKS).flat_map(|&rank| (rank as u32).to_le_bytes()).collect()
}

fn decode_ranks(mut body: &[u8]) -> Option<Vec<usize>> {
    let mut ranks = Vec::new();
    while !body.is_empty() {
        let (rank, rest) = split_u32(body)?;
        ranks.push(rank as usize);
        body = rest;
    }
    Some(ranks)
}

fn decode_rank(body: &[u8]) -> Option<usize> {
    decode_ranks(body)?.try_into().ok().map(|[rank]: [usize; 1]| rank)
}
