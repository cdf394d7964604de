//! [`SharedStream`]: a stream of cudarc as a stream of a program.

use std::{ops::Deref, sync::Arc};

use cudarc::driver::{CudaContext, CudaStream, sys::CUstream};

use super::{Error, Result, check_context};
use crate::{Program, Stream, rhi::StreamHandle};

/// The handle of the per-thread default stream.
const PER_THREAD: u64 = 2;

/// A stream of cudarc that is a [`Stream`] of a program, too. Work of both is in the order of the calls.
///
/// Wrap a stream once and keep the wrapper: making one allocates. It keeps the stream of cudarc alive. Dropping it
/// waits for its work, as for any [`Stream`].
#[derive(Debug)]
pub struct SharedStream {
    // Dropped first: it uses the stream of cudarc.
    ours: Stream,
    program: Program,
    theirs: Arc<CudaStream>,
}

impl SharedStream {
    /// Wraps a stream of cudarc, also its default stream.
    ///
    /// # Errors
    /// [`Error::OtherBackend`], [`Error::OtherDevice`], [`Error::OtherContext`]; [`Error::PerThreadStream`]; and
    /// [`Error::Quadrants`] with an error of the device, with [`crate::Error::ForeignCapture`] while cudarc captures
    /// the stream, or with an error of an earlier kernel on the default stream.
    pub fn new(program: &Program, stream: Arc<CudaStream>) -> Result<Self> {
        check_context(program, stream.context(), "the stream")?;
        let handle = handle_of(&stream);
        if handle.0 == PER_THREAD {
            return Err(Error::PerThreadStream);
        }
        // SAFETY: the context was compared above. The result owns a handle of cudarc's stream, which destroys the
        // stream, or promised to keep it alive, and drops the wrapper first.
        let ours = unsafe { Stream::from_raw(program, handle)? };
        Ok(Self { ours, program: program.clone(), theirs: stream })
    }

    /// The stream as one of cudarc.
    #[must_use]
    pub fn cudarc(&self) -> &Arc<CudaStream> {
        &self.theirs
    }

    /// The program.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The driver's handle, without a note that it was given out.
    pub(super) fn raw(&self) -> StreamHandle {
        handle_of(&self.theirs)
    }

    pub(super) fn check_context_of(&self, other: &CudaContext, what: &'static str) -> Result<()> {
        let own = self.theirs.context();
        let (found, expected) = (other.ordinal(), own.ordinal());
        if found != expected {
            return Err(Error::OtherDevice { what, found, expected });
        }
        if other.cu_ctx() != own.cu_ctx() {
            return Err(Error::OtherContext { what, ordinal: found });
        }
        Ok(())
    }
}

impl Deref for SharedStream {
    type Target = Stream;

    fn deref(&self) -> &Stream {
        &self.ours
    }
}

/// A stream of a program as one of cudarc. Dropping it does not destroy the stream.
///
/// cudarc does not count it: a context that has only such streams and the default one tracks no events. For memory of
/// both, share a stream of cudarc, by [`SharedStream`].
///
/// # Errors
/// As for [`SharedStream::new`], where the context is compared.
///
/// # Safety
/// - All clones of the result, and all slices that were allocated on it, are dropped before `stream` is.
/// - What cudarc enqueues on it is no work that the program sees. It accesses memory of tensors only by the views of
///   [`SharedStream::foreign`], or in the closure of [`Program::foreign`] under its conditions.
pub unsafe fn borrow_stream(
    program: &Program,
    context: &Arc<CudaContext>,
    stream: &Stream,
) -> Result<Arc<CudaStream>> {
    check_context(program, context, super::CONTEXT)?;
    // The program's own check of the stream.
    program.foreign("the stream", stream, [], [], |_| ())?;
    // SAFETY: a stream of this context, which is alive as long as the result, by the caller.
    Ok(unsafe { context.wrap_borrowed_stream(stream.handle().0 as usize as CUstream) })
}

fn handle_of(stream: &CudaStream) -> StreamHandle {
    StreamHandle(stream.cu_stream() as usize as u64)
}
