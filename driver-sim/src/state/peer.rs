//! One world's part of copies between two.

use super::WorldState;
use crate::{
    code::{Code, Result},
    copy_shape::CopyShape,
    op::{OpKind, Operation, Work},
    remote::{PeerCopyBytes, Remote},
    stream::StreamRef,
};

/// The sequences of reads for other worlds start at this number, above those of streams and graph nodes.
const PEER_SEQUENCES: u64 = 1 << 40;
/// The position of these reads among the streams of a seed.
const PEER_TURN: u64 = 1 << 40;

impl WorldState {
    /// A copy between memory of two contexts that are the same.
    pub(crate) fn copy_within(
        &mut self,
        dst: u64,
        src: u64,
        bytes: usize,
        stream: StreamRef,
    ) -> Result<()> {
        self.copy(OpKind::CopyPeer, dst, src, CopyShape::one(bytes), stream)
    }

    /// Enqueues the start of a copy to this world. Also returns the stream's handle.
    pub(crate) fn start_peer_copy(&mut self, stream: StreamRef) -> Result<(Remote, u64)> {
        let start = self.enqueue(stream, Work::Marker, OpKind::CopyPeer, &[], None)?;
        Ok((self.remote(start), self.stream_handle(stream)))
    }

    /// Enqueues the read of a copy to another world, whose stream has the handle.
    pub(crate) fn read_for_peer(
        &mut self,
        src: u64,
        bytes: usize,
        parcel: PeerCopyBytes,
        (start, stream): (Remote, u64),
    ) -> Remote {
        let work = Work::PeerRead { src, bytes, parcel };
        let read = Operation { work, kind: OpKind::CopyPeer, event: None, remote: Some(start) };
        // Reads for other worlds are not ordered with each other.
        let sequence = PEER_SEQUENCES + self.queue.next_id();
        let op = self.push(read, (stream, PEER_TURN, sequence), &[]);
        self.enqueued(op);
        self.remote(op)
    }

    /// Enqueues the write of a copy to this world.
    pub(crate) fn write_from_peer(
        &mut self,
        dst: u64,
        bytes: usize,
        parcel: PeerCopyBytes,
        (read, stream): (Remote, StreamRef),
    ) -> Result<()> {
        let work = Work::PeerWrite { dst, bytes, parcel };
        let write = Operation { work, kind: OpKind::CopyPeer, event: None, remote: Some(read) };
        self.enqueue_operation(stream, write, &[]).map(drop)
    }

    /// Lets the context access the memory of another one.
    pub(crate) fn enable_peer(&mut self, peer: u16) -> Result<()> {
        if peer == self.ordinal {
            return Err(Code::INVALID_DEVICE);
        }
        if self.peers.contains(&peer) {
            return Err(Code::PEER_ACCESS_ALREADY_ENABLED);
        }
        self.peers.push(peer);
        Ok(())
    }
}
