//! What a call enqueues.

use super::{
    matched_call::RankCall,
    part::ReceivedData,
    request::{CollectiveKind, Request},
};
use crate::stream::StreamRef;

/// What a call of a rank enqueues.
#[derive(Debug)]
pub(crate) struct PlannedCall {
    /// The function.
    pub(crate) name: &'static str,
    pub(crate) stream: StreamRef,
    pub(crate) call: RankCall,
    /// The address and size of what is read.
    pub(crate) read: Option<(u64, usize)>,
    /// The same of what is written.
    pub(crate) write: Option<(u64, usize, ReceivedData)>,
}

pub(crate) fn plan(request: &Request, call: RankCall, (rank, size): (usize, usize)) -> PlannedCall {
    let (read, write) = request.buffers(rank, size);
    let data_type = request.signature.data_type;
    let reduction = |op, from| ReceivedData::Reduction { data_type, op, from };
    let outcome = match request.signature.kind {
        CollectiveKind::AllReduce(op) | CollectiveKind::Reduce(op, _) => reduction(op, 0),
        CollectiveKind::ReduceScatter(op) => reduction(op, rank * request.signature.bytes()),
        CollectiveKind::Broadcast(root) => ReceivedData::Copy(root),
        CollectiveKind::AllGather => ReceivedData::Concatenation,
        CollectiveKind::Transfer => ReceivedData::Copy(0),
    };
    let write = write.map(|(address, bytes)| (address, bytes, outcome));
    PlannedCall { name: request.name, stream: request.stream, call, read, write }
}
