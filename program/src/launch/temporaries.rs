//! Device memory of single launches: temporaries, results and argument buffers.
//!
//! On the default stream the blocks persist: a later launch there is ordered behind the earlier one,
//! so that a block may be handed on as soon as its launch is enqueued, and repeated launches
//! allocate nothing. On explicit streams they are allocated and freed in stream order.

use std::{collections::VecDeque, sync::Arc};

use parking_lot::Mutex;
use quadrants_rhi::DevicePtr;
use quadrants_runtime::{Buffer, Context, Pinned, StreamOrigin};

use crate::{Result, stream::StreamState};

/// How many staged argument blocks may be in flight on a stream before it is asked, and before it is
/// waited for.
const STAGED_BEFORE_QUERY: usize = 8;
const STAGED_AT_MOST: usize = 256;

/// The blocks that a stream keeps.
#[derive(Debug, Default)]
pub(crate) struct StreamScratch {
    persistent: Mutex<Vec<Buffer>>,
    staged: Mutex<VecDeque<(u64, Pinned)>>,
}

/// Device memory for one launch; given back in stream order when dropped.
#[derive(Debug)]
pub(crate) struct LaunchBlock<'a> {
    stream: &'a StreamState,
    memory: Memory,
}

/// The words of an argument block, staged for the copy that is about to be enqueued.
#[derive(Debug)]
pub(crate) struct Staged<'a> {
    stream: &'a StreamState,
    block: Option<Pinned>,
}

#[derive(Debug)]
enum Memory {
    Persistent(Option<Buffer>),
    Ephemeral(DevicePtr),
}

impl<'a> LaunchBlock<'a> {
    /// At least `bytes` for a launch on `stream`.
    pub(crate) fn new(stream: &'a StreamState, bytes: usize) -> Result<Self> {
        let context = stream.stream.context();
        let memory = if stream.stream.origin() == StreamOrigin::Default {
            let found = {
                let mut idle = stream.scratch.persistent.lock();
                idle.iter().rposition(|b| b.bytes() >= bytes).map(|at| idle.swap_remove(at))
            };
            let buffer = match found {
                Some(buffer) => buffer,
                // SAFETY: read by the kernel alone, which writes each temporary before it uses it, and by
                // the launch, which reads the value that the kernel wrote or the arguments' copy.
                None => unsafe { Buffer::uninit(context, bytes.next_power_of_two().max(256))? },
            };
            Memory::Persistent(Some(buffer))
        } else {
            // SAFETY: the stream is live as long as its state.
            Memory::Ephemeral(unsafe { context.allocate(bytes, stream.stream.handle())? })
        };
        Ok(Self { stream, memory })
    }

    pub(crate) fn address(&self) -> DevicePtr {
        match &self.memory {
            Memory::Persistent(buffer) => buffer.as_ref().map_or(DevicePtr::NULL, Buffer::address),
            Memory::Ephemeral(memory) => *memory,
        }
    }
}

impl Staged<'_> {
    /// Where the words are.
    pub(crate) fn as_ptr(&self) -> *const u8 {
        self.block.as_ref().map_or(std::ptr::null(), |block| block.as_ptr().cast_const())
    }
}

impl Drop for Staged<'_> {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            // Taken behind the copy, so that whoever sees it complete has seen the copy too.
            let stamp = self.stream.stream.next_stamp();
            self.stream.scratch.staged.lock().push_back((stamp.sequence, block));
        }
    }
}

impl Drop for LaunchBlock<'_> {
    fn drop(&mut self) {
        match &mut self.memory {
            Memory::Persistent(buffer) => {
                if let Some(buffer) = buffer.take() {
                    buffer.stamp_write(self.stream.stream.next_stamp());
                    self.stream.scratch.persistent.lock().push(buffer);
                }
            }
            Memory::Ephemeral(memory) => {
                let context = self.stream.stream.context();
                // SAFETY: allocated on this stream; the launch that uses it is enqueued on it, and
                // its region, if any, is joined to it.
                let freed =
                    unsafe { context.device().free_async(*memory, self.stream.stream.handle()) };
                // The free is work too: who drops the stream waits for it.
                let _ = self.stream.stream.next_stamp();
                if let Err(error) = context.observe(freed) {
                    context.defer(error);
                }
            }
        }
    }
}

impl StreamScratch {
    /// Pinned memory that holds `words` until everything is complete that the stream has been given
    /// when the result is dropped.
    pub(crate) fn stage<'a>(stream: &'a StreamState, words: &[u64]) -> Result<Staged<'a>> {
        let context = stream.stream.context();
        let bytes = size_of_val(words);
        let block = Self::reusable(stream, context, bytes)?;
        // SAFETY: the block has the bytes, and no copy from it is in flight.
        unsafe {
            std::ptr::copy_nonoverlapping(words.as_ptr().cast(), block.as_ptr(), bytes);
        }
        Ok(Staged { stream, block: Some(block) })
    }

    fn reusable(stream: &StreamState, context: &Arc<Context>, bytes: usize) -> Result<Pinned> {
        let rt = &stream.stream;
        let staged = &stream.scratch.staged;
        let in_flight = staged.lock().len();
        if in_flight >= STAGED_AT_MOST {
            rt.synchronize()?;
        } else if in_flight >= STAGED_BEFORE_QUERY {
            rt.query()?;
        }
        let found = {
            let mut staged = staged.lock();
            staged
                .iter()
                .position(|(sequence, b)| rt.is_complete(*sequence) && b.bytes() >= bytes)
                .and_then(|at| staged.remove(at))
        };
        match found {
            Some((_, block)) => Ok(block),
            None => Ok(Pinned::new(context, bytes.next_power_of_two().max(256))?),
        }
    }
}
