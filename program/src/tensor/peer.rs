//! Copies between tensors of different programs.

use std::{panic::Location, ptr};

use quadrants_runtime::enqueue_between;

use super::transfer::{as_bytes, as_bytes_mut, words};
use crate::{
    Error, Result,
    arguments::operation_tensors::OperationTensors,
    launcher::operation_names::OperationUse,
    state::{StreamState, device_tensor::DeviceTensor, order::order_after},
    thread_state::{capture, current_stream::with_current_or_default},
    value::layout::CopyRange,
};

/// The name of the copy, and its uses of the two tensors, each in the tensor's program.
const COPY: (&str, OperationUse, OperationUse) =
    ("Tensor::copy_to", OperationUse::reads("self"), OperationUse::writes("to"));

/// What captures call it.
const WHAT: &str = "a copy between two programs";

/// How many bytes a copy through host memory has there at once.
const MAX_PIECE_BYTES: usize = 64 << 20;

impl DeviceTensor {
    /// Copies the first `count` elements of a tensor of another program.
    pub(super) fn copy_from_other(
        &self,
        from: &Self,
        count: usize,
        at: &'static Location<'static>,
    ) -> Result<()> {
        let (here, there) = (&self.program.shared, &from.program.shared);
        capture::refuse(here, WHAT)?;
        capture::refuse(there, WHAT)?;
        let spans = self.storage.copies(&self.runs(count), &from.storage, &from.runs(count));
        let (from_layout, to) = (from.storage.layout(), self.storage.layout());
        let spans = spans.ok_or(Error::CopyLayout { from: from_layout, to })?;
        if !here.context.is_peer(&there.context) {
            return self.copy_through_host(from, count);
        }
        with_current_or_default(&from.program, |source| {
            with_current_or_default(&self.program, |target| {
                self.copy_from_peer((from, source), target, count, &spans, at)
            })
        })
    }

    /// Enqueues the copy on `target`, between the earlier and the later work of both streams.
    fn copy_from_peer(
        &self,
        (from, source): (&Self, &StreamState),
        target: &StreamState,
        count: usize,
        spans: &[CopyRange],
        at: &'static Location<'static>,
    ) -> Result<()> {
        let (here, there) = (&self.program.shared, &from.program.shared);
        source.refuse_captured()?;
        target.refuse_captured()?;
        from.order_fill_before(&source.stream)?;
        self.order_fill_before(&target.stream)?;
        order_after(there, source, from.buffer.writers())?;
        order_after(here, target, self.buffer.users())?;
        let shape = [count];
        let (mut reads, mut writes) = (OperationTensors::default(), OperationTensors::default());
        reads.push(from, &shape, COPY.1);
        writes.push(self, &shape, COPY.2);
        let _exclusions = self.exclude(from);
        there.submit_operation(source, COPY.0, &reads, at, || {
            here.submit_operation(target, COPY.0, &writes, at, || {
                enqueue_between(&source.stream, &target.stream, || {
                    let (dst, src) = (self.buffer.address(), from.buffer.address());
                    spans.iter().try_for_each(|span| {
                        let (dst, src) = (dst.offset(span.device), src.offset(span.host));
                        let (device, peer) = (here.context.device(), there.context.direct_device());
                        let stream = target.stream.handle();
                        // SAFETY: both buffers have the bytes. They do not overlap: one is borrowed by `&mut`, the
                        // other by `&`. The caller stamps each on a stream whose later work comes after the copy, so
                        // that neither memory nor device is freed before it is complete.
                        here.context.observe(unsafe {
                            device.copy_from_peer_async(dst, &**peer, src, span.bytes, stream)
                        })
                    })
                })
                .map_err(Error::from)
            })
        })
    }

    /// Locks out graphs that use the memory, in both programs: in one order in all threads.
    fn exclude<'a>(&'a self, from: &'a Self) -> impl Sized + use<'a> {
        let [here, there] = [self, from].map(|of| ptr::from_ref(&*of.program.shared));
        let (first, second) = if here < there { (self, from) } else { (from, self) };
        (first.exclude_graphs(), second.exclude_graphs())
    }

    fn exclude_graphs(&self) -> impl Sized + '_ {
        self.program.shared.host_exclusion.lock(|| self.buffer.is_shared())
    }

    /// Copies piece by piece through host memory, in the order of host reads and writes.
    #[track_caller]
    fn copy_through_host(&self, from: &Self, count: usize) -> Result<()> {
        let element = from.storage.bytes.div_ceil(from.storage.count().max(1)).max(1);
        let mut piece = (MAX_PIECE_BYTES / element).clamp(1, count.max(1));
        let contiguous = !from.is_strided() && !self.is_strided();
        if !contiguous {
            piece = count.max(1);
        }
        let mut memory = words(&from.storage.resized(piece));
        for first in (0..count).step_by(piece) {
            let elements = piece.min(count - first);
            let part = |of: &Self| if contiguous { of.part(first, None) } else { of.again() };
            let (source, mut target) = (part(from), part(self));
            let host = source.storage.resized(elements);
            source.read_bytes(&host, &mut as_bytes_mut(&mut memory)[..host.bytes])?;
            target
                .write_bytes(&target.storage.resized(elements), &as_bytes(&memory)[..host.bytes])?;
        }
        Ok(())
    }
}
