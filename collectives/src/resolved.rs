//! The operations with the addresses of their tensors, as a library or the CPU's implementation runs them.

use std::ffi::{c_int, c_void};

use quadrants_program::rhi::{Error as RhiError, StreamHandle};

use crate::{
    Library,
    call::{CallKind, CollectiveCall},
    library::Progress,
    table::RawCommunicator,
};

/// A call with its addresses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resolved {
    pub(crate) call: CollectiveCall,
    /// The elements that are read; null where none are.
    pub(crate) from: *const c_void,
    /// The elements that are written; null where none are.
    pub(crate) to: *mut c_void,
}

impl Resolved {
    /// Calls the library.
    ///
    /// # Safety
    /// The addresses are of the elements that the call needs, on the communicator's device, and are valid for work on
    /// the stream. The communicator is live, and no other thread uses it. The call matches those that other ranks have
    /// made, as a [`Ledger`](crate::call_matching::Ledger) compares them.
    pub(crate) unsafe fn enqueue(
        self,
        library: &Library,
        communicator: RawCommunicator,
        stream: StreamHandle,
    ) -> Result<Progress, RhiError> {
        let Self { call: CollectiveCall { kind, count, data_type, .. }, from, to } = self;
        let (stream, of) = (stream.raw() as usize as *mut c_void, data_type as c_int);
        let rank = |rank: usize| rank as c_int;
        // SAFETY: by the caller.
        library.progress(|table| unsafe {
            match kind {
                CallKind::AllReduce(reduction) => {
                    table.all_reduce(from, to, count, of, reduction as c_int, communicator, stream)
                }
                CallKind::Reduce { reduction, root } => {
                    let (reduction, root) = (reduction as c_int, rank(root));
                    table.reduce(from, to, count, of, reduction, root, communicator, stream)
                }
                CallKind::Broadcast { root } => {
                    table.broadcast(from, to, count, of, rank(root), communicator, stream)
                }
                CallKind::AllGather => table.all_gather(from, to, count, of, communicator, stream),
                CallKind::ReduceScatter(reduction) => {
                    let reduction = reduction as c_int;
                    table.reduce_scatter(from, to, count, of, reduction, communicator, stream)
                }
                CallKind::Send { to: peer } => {
                    table.send(from, count, of, rank(peer), communicator, stream)
                }
                CallKind::Receive { from: peer } => {
                    table.receive(to, count, of, rank(peer), communicator, stream)
                }
            }
        })
    }
}
