//! The active capture of a thread: where operations of a program that is being captured are recorded instead of done.

use std::{cell::Cell, panic::Location, ptr};

use quadrants_rhi::StreamHandle;

use super::mode::SlowPathGuard;
use crate::{
    Error, Result,
    arguments::{ArgList, operation_tensors::OperationTensors, target::LaunchTarget},
    error::captured,
    kernel::kernel_def::KernelDef,
    state::{ProgramShared, StreamState, device_tensor::DeviceTensor},
    value::layout::CopyRange,
};

/// What records the operations of a captured program.
pub(crate) trait CaptureRecorder {
    fn program(&self) -> &ProgramShared;

    fn launch(
        &self,
        kernel: &KernelDef,
        args: &ArgList<'_>,
        has_value: bool,
        target: LaunchTarget<'_>,
    ) -> Result<()>;

    /// Records a copy of `bytes` to the ranges `spans` of the first `elements` elements of a tensor.
    fn copy(
        &self,
        to: &DeviceTensor,
        elements: usize,
        bytes: &[u8],
        spans: &[CopyRange],
        at: &'static Location<'static>,
    ) -> Result<()>;

    /// Records a copy of the first `elements` elements of a tensor to another one on a stream.
    fn device_copy(
        &self,
        to: &DeviceTensor,
        from: &DeviceTensor,
        elements: usize,
        spans: &[CopyRange],
        stream: &StreamState,
        at: &'static Location<'static>,
    ) -> Result<()>;

    /// Records a foreign operation, which `enqueue` enqueues on the given stream.
    fn foreign(
        &self,
        name: &'static str,
        tensors: &OperationTensors<'_>,
        stream: &StreamState,
        at: &'static Location<'static>,
        enqueue: &mut dyn FnMut(StreamHandle) -> Result<()>,
    ) -> Result<()>;

    fn record_event(&self, event: u64, stream: &StreamState);

    fn wait_event(&self, event: u64, stream: &StreamState) -> Result<()>;
}

/// The recorder of a capture, which lives in a stack frame below all that use this.
type ActiveRecorder = Option<ptr::NonNull<dyn CaptureRecorder>>;

thread_local! {
    /// The capture of this thread.
    static ACTIVE: Cell<ActiveRecorder> = const { Cell::new(None) };
}

/// Ends the capture on every exit path.
struct CaptureGuard(SlowPathGuard);

impl Drop for CaptureGuard {
    fn drop(&mut self) {
        ACTIVE.set(None);
    }
}

/// Runs `body` with `recorder` as the active capture of this thread.
///
/// # Errors
/// [`Error::Capture`] where this thread is capturing already.
pub(crate) fn capturing<R>(
    recorder: &(impl CaptureRecorder + 'static),
    body: impl FnOnce() -> Result<R>,
) -> Result<R> {
    if is_active() {
        return Err(Error::Capture { what: captured::CAPTURE });
    }
    let recorder: &dyn CaptureRecorder = recorder;
    let _guard = CaptureGuard(SlowPathGuard::begin());
    ACTIVE.set(Some(ptr::NonNull::from(recorder)));
    body()
}

/// Whether this thread is capturing.
#[inline]
pub(crate) fn is_active() -> bool {
    ACTIVE.get().is_some()
}

/// Runs `then` with the recorder of this thread's capture. Returns none where this thread does not capture the program.
#[inline]
pub(crate) fn with<R>(
    program: &ProgramShared,
    then: impl FnOnce(&dyn CaptureRecorder) -> R,
) -> Option<R> {
    let recorder = ACTIVE.get()?;
    // SAFETY: `capturing` borrows the recorder below this call, until its guard resets the pointer.
    let recorder = unsafe { recorder.as_ref() };
    ptr::eq(recorder.program(), program).then(|| then(recorder))
}

/// Rejects an operation that cannot be captured, where this thread captures the program.
///
/// # Errors
/// [`Error::Capture`]
#[inline]
pub(crate) fn refuse(program: &ProgramShared, what: &'static str) -> Result<()> {
    with(program, |_| Err(Error::Capture { what })).unwrap_or(Ok(()))
}
