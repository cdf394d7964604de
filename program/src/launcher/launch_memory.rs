//! Device memory of single launches (temporaries, results, argument buffers), and pinned memory that stages argument
//! blocks.
//!
//! On the default stream the memory is kept: a later launch there is ordered after the earlier one, so that memory can
//! be reused as soon as its launch is enqueued, and repeated launches allocate nothing. On explicit streams it is
//! allocated and freed in stream order.

use std::collections::VecDeque;

use parking_lot::Mutex;
use quadrants_rhi::DevicePtr;
use quadrants_runtime::{self as rt, Buffer, Pinned, StreamOrigin};

use crate::Result;

/// The number of staged argument blocks in flight on a stream from which on the stream is queried.
const STAGED_BEFORE_QUERY: usize = 8;
/// The number from which on the stream is waited for.
const MAX_STAGED: usize = 256;

#[derive(Debug, Default)]
pub(crate) struct StreamLaunchMemory {
    persistent: Mutex<Vec<Buffer>>,
    /// With the position in the stream after which each block can be reused.
    staged: Mutex<VecDeque<(u64, Pinned)>>,
}

/// Device memory of one launch; given back in stream order on drop.
#[derive(Debug)]
pub(crate) struct LaunchMemory<'a> {
    stream: &'a rt::Stream,
    kept: &'a StreamLaunchMemory,
    memory: LaunchAllocation,
}

/// An argument block in pinned memory, for a copy that is about to be enqueued.
struct Staged<'a> {
    stream: &'a rt::Stream,
    kept: &'a StreamLaunchMemory,
    block: Option<Pinned>,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "on the stack of one launch")]
enum LaunchAllocation {
    Kept(Option<Buffer>),
    StreamOrdered(DevicePtr),
}

impl<'a> LaunchMemory<'a> {
    /// The address of the temporaries; 0 where there are none.
    pub(crate) fn address_of(temporaries: Option<&Self>) -> u64 {
        temporaries.map_or(0, |memory| memory.address().raw())
    }

    pub(crate) fn address(&self) -> DevicePtr {
        match &self.memory {
            LaunchAllocation::Kept(buffer) => {
                buffer.as_ref().map_or(DevicePtr::NULL, Buffer::address)
            }
            LaunchAllocation::StreamOrdered(memory) => *memory,
        }
    }
}

impl Drop for Staged<'_> {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            // Taken after the copy is enqueued: where this stamp is complete, so is the copy.
            let stamp = self.stream.next_stamp();
            self.kept.staged.lock().push_back((stamp.sequence, block));
        }
    }
}

impl Drop for LaunchMemory<'_> {
    fn drop(&mut self) {
        match &mut self.memory {
            LaunchAllocation::Kept(buffer) => {
                if let Some(buffer) = buffer.take() {
                    buffer.stamp_write(self.stream.next_stamp());
                    self.kept.persistent.lock().push(buffer);
                }
            }
            LaunchAllocation::StreamOrdered(memory) => {
                let context = self.stream.context();
                // SAFETY: allocated on this stream; the launch that uses it is enqueued on it, and
                // its region, if any, is joined to it.
                let freed = unsafe { context.device().free_async(*memory, self.stream.handle()) };
                // The free is work too: the drop of the stream must wait for it.
                let _ = self.stream.next_stamp();
                if let Err(error) = context.observe(freed) {
                    context.defer(error);
                }
            }
        }
    }
}

impl StreamLaunchMemory {
    /// Temporaries of at least `bytes` for a launch on `stream`, whose memory this is.
    pub(crate) fn allocate<'a>(
        &'a self,
        stream: &'a rt::Stream,
        bytes: usize,
    ) -> Result<LaunchMemory<'a>> {
        let context = stream.context();
        let memory = if stream.origin() == StreamOrigin::Default {
            let kept = {
                let mut kept = self.persistent.lock();
                kept.iter().rposition(|b| b.bytes() >= bytes).map(|index| kept.swap_remove(index))
            };
            let buffer = match kept {
                Some(buffer) => buffer,
                // SAFETY: read only by the kernel, which writes each temporary before it uses it, and by the launch,
                // which reads the value that the kernel wrote or the copy of the arguments.
                None => unsafe { Buffer::uninit(context, bytes.next_power_of_two().max(256))? },
            };
            LaunchAllocation::Kept(Some(buffer))
        } else {
            // SAFETY: the stream is live as long as it is borrowed.
            LaunchAllocation::StreamOrdered(unsafe { context.allocate(bytes, stream.handle())? })
        };
        Ok(LaunchMemory { stream, kept: self, memory })
    }

    /// Enqueues a copy of `words` to device memory on `stream`. The inner error is that of the copy.
    ///
    /// # Safety
    /// The memory at `to` has the bytes until the copy is complete.
    #[cold]
    pub(crate) unsafe fn upload(
        &self,
        stream: &rt::Stream,
        words: &[u64],
        to: DevicePtr,
    ) -> Result<rt::Result<()>> {
        let bytes = size_of_val(words);
        let block = self.take_staging_block(stream, bytes)?;
        let from = block.as_ptr();
        let _staged = Staged { stream, kept: self, block: Some(block) };
        // SAFETY: the block has the bytes, no copy from it is in flight, and it stays until this one is complete. The
        // rest is by the caller.
        let copied = unsafe {
            std::ptr::copy_nonoverlapping(words.as_ptr().cast(), from, bytes);
            stream.context().device().copy_htod_async(to, from, bytes, stream.handle())
        };
        Ok(stream.context().observe(copied))
    }

    fn take_staging_block(&self, stream: &rt::Stream, bytes: usize) -> Result<Pinned> {
        let in_flight = self.staged.lock().len();
        if in_flight >= MAX_STAGED {
            stream.synchronize()?;
        } else if in_flight >= STAGED_BEFORE_QUERY {
            stream.query()?;
        }
        let complete = {
            let mut staged = self.staged.lock();
            staged
                .iter()
                .position(|(sequence, b)| stream.is_complete(*sequence) && b.bytes() >= bytes)
                .and_then(|index| staged.remove(index))
        };
        match complete {
            Some((_, block)) => Ok(block),
            None => Ok(Pinned::new(stream.context(), bytes.next_power_of_two().max(256))?),
        }
    }
}
