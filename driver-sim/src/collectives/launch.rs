//! What a call enqueues.

use super::{
    meeting::Seat,
    part::Outcome,
    request::{Request, Shape},
};
use crate::stream::StreamRef;

/// A call that has its seat.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The function.
    pub(crate) name: &'static str,
    pub(crate) stream: StreamRef,
    pub(crate) seat: Seat,
    /// The address and size of what is read.
    pub(crate) read: Option<(u64, usize)>,
    /// The same of what is written.
    pub(crate) write: Option<(u64, usize, Outcome)>,
}

pub(crate) fn plan(request: &Request, seat: Seat, (rank, size): (usize, usize)) -> Entry {
    let (read, write) = request.buffers(rank, size);
    let data_type = request.signature.data_type;
    let reduction = |op, from| Outcome::Reduction { data_type, op, from };
    let outcome = match request.signature.shape {
        Shape::AllReduce(op) | Shape::Reduce(op, _) => reduction(op, 0),
        Shape::ReduceScatter(op) => reduction(op, rank * request.signature.bytes()),
        Shape::Broadcast(root) => Outcome::Copy(root),
        Shape::AllGather => Outcome::Concatenation,
        Shape::Transfer => Outcome::Copy(0),
    };
    let write = write.map(|(address, bytes)| (address, bytes, outcome));
    Entry { name: request.name, stream: request.stream, seat, read, write }
}
