//! A call of a rank: its arguments, and the memory that it accesses.

use std::{ffi::c_int, fmt};

use super::{
    arithmetic::{DataType, ReduceOp},
    status::Status,
};
use crate::stream::StreamRef;

/// A call, with checked arguments.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// The function.
    pub(crate) name: &'static str,
    pub(crate) signature: Signature,
    pub(crate) role: Role,
    pub(crate) send: u64,
    pub(crate) recv: u64,
    pub(crate) stream: StreamRef,
}

/// The address and size in bytes of what a rank sends or receives, if it does.
pub(crate) type Buffer = Option<(u64, usize)>;

/// What must be the same in the calls of all ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Signature {
    pub(crate) kind: CollectiveKind,
    pub(crate) count: usize,
    pub(crate) data_type: DataType,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CollectiveKind {
    AllReduce(ReduceOp),
    Reduce(ReduceOp, usize),
    Broadcast(usize),
    AllGather,
    ReduceScatter(ReduceOp),
    /// A send and its receive.
    Transfer,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// Of a collective call.
    All,
    SendTo(usize),
    ReceiveFrom(usize),
}

/// The arguments as C callers pass them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arguments {
    pub(crate) send: u64,
    pub(crate) recv: u64,
    pub(crate) count: usize,
    pub(crate) data_type: c_int,
}

impl Signature {
    pub(crate) fn bytes(&self) -> usize {
        self.count * self.data_type.bytes()
    }
}

impl Request {
    /// Checks the arguments of a rank's call in a communicator of `size` ranks.
    pub(crate) fn new(
        name: &'static str,
        (kind, role): (CollectiveKind, Role),
        Arguments { send, recv, count, data_type }: Arguments,
        stream: StreamRef,
        (rank, size): (usize, usize),
    ) -> Result<Self, Status> {
        let data_type = DataType::from_number(data_type)?;
        let peer = match (kind, role) {
            (CollectiveKind::Reduce(_, root) | CollectiveKind::Broadcast(root), _) => root,
            (_, Role::SendTo(peer) | Role::ReceiveFrom(peer)) => peer,
            _ => 0,
        };
        let bytes = count.checked_mul(data_type.bytes()).and_then(|bytes| bytes.checked_mul(size));
        if peer >= size || bytes.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
            return Err(Status::INVALID_ARGUMENT);
        }
        let signature = Signature { kind, count, data_type };
        let request = Self { name, signature, role, send, recv, stream };
        request.check_buffers(rank, size)?;
        Ok(request)
    }

    /// What the rank sends and receives.
    pub(crate) fn buffers(&self, rank: usize, size: usize) -> (Buffer, Buffer) {
        let bytes = self.signature.bytes();
        let (sent, received) = match (self.signature.kind, self.role) {
            (CollectiveKind::AllReduce(_), _) => (Some(bytes), Some(bytes)),
            (CollectiveKind::Reduce(_, root), _) => (Some(bytes), (rank == root).then_some(bytes)),
            (CollectiveKind::Broadcast(root), _) => ((rank == root).then_some(bytes), Some(bytes)),
            (CollectiveKind::AllGather, _) => (Some(bytes), Some(bytes * size)),
            (CollectiveKind::ReduceScatter(_), _) => (Some(bytes * size), Some(bytes)),
            (CollectiveKind::Transfer, Role::ReceiveFrom(_)) => (None, Some(bytes)),
            (CollectiveKind::Transfer, _) => (Some(bytes), None),
        };
        (sent.map(|bytes| (self.send, bytes)), received.map(|bytes| (self.recv, bytes)))
    }

    /// Buffers are not null. They do not overlap, except where the operation is in place as NCCL defines it.
    fn check_buffers(&self, rank: usize, size: usize) -> Result<(), Status> {
        let (sent, received) = self.buffers(rank, size);
        let null =
            |buffer: Buffer| buffer.is_some_and(|(address, bytes)| address == 0 && bytes > 0);
        if null(sent) || null(received) {
            return Err(Status::INVALID_ARGUMENT);
        }
        let (Some((send, sent)), Some((recv, received))) = (sent, received) else { return Ok(()) };
        let own = (rank * self.signature.bytes()) as u64;
        let in_place = match self.signature.kind {
            CollectiveKind::AllGather => send == recv.wrapping_add(own),
            CollectiveKind::ReduceScatter(_) => recv == send.wrapping_add(own),
            _ => send == recv,
        };
        let end = |start: u64, bytes: usize| start.saturating_add(bytes as u64);
        let overlap = send < end(recv, received) && recv < end(send, sent);
        if overlap && !in_place { Err(Status::INVALID_ARGUMENT) } else { Ok(()) }
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, data_type) = (self.count, self.data_type.name());
        match self.kind {
            CollectiveKind::AllReduce(op) => write!(f, "ncclAllReduce ({}", op.name()),
            CollectiveKind::Reduce(op, root) => write!(f, "ncclReduce (root {root}, {}", op.name()),
            CollectiveKind::Broadcast(root) => write!(f, "ncclBroadcast (root {root}"),
            CollectiveKind::AllGather => write!(f, "ncclAllGather ("),
            CollectiveKind::ReduceScatter(op) => write!(f, "ncclReduceScatter ({}", op.name()),
            CollectiveKind::Transfer => write!(f, "ncclSend and ncclRecv ("),
        }?;
        let comma = if matches!(self.kind, CollectiveKind::AllGather | CollectiveKind::Transfer) {
            ""
        } else {
            ", "
        };
        write!(f, "{comma}{count} of {data_type})")
    }
}
