//! Captured graphs: the launches, copies and event operations of a closure, recorded and launched as one, repeatedly.
//!
//! # Order
//! While the closure runs, its launches on any streams become nodes. A node is ordered after the node before it on its
//! stream, and after the nodes before each event that its stream waits for; nothing else orders two nodes. The whole
//! launch of a graph is ordered after earlier work of its stream and before later work.
//!
//! # Memory
//! A graph goes on using tensors that their owners can use again, without a borrow. On asynchronous devices this is
//! like other work in flight: all uses are stamped, and frees and host reads are ordered after them. Where kernels run
//! on the thread that launches them it would be a data race; there, all users of memory that a graph keeps take a lock
//! ([`HostExclusion`]).

mod args;
mod executable;
mod graph;
mod host_exclusion;
mod order;
mod record;

use std::{cell::Cell, panic::Location, ptr, sync::Arc};

pub use graph::{Graph, GraphLaunch};
pub(crate) use host_exclusion::HostExclusion;

use crate::{
    Error, Program, Result,
    kernel::kernel_def::KernelDef,
    launch::{arguments::ArgList, submit::LaunchTarget},
    program::{ProgramInner, ProgramShared},
    stream::StreamState,
    tensor::{DeviceTensor, layout::Span},
};
use record::Capture;

thread_local! {
    /// The capture of this thread.
    static CAPTURE: Cell<*const Capture> = const { Cell::new(ptr::null()) };
}

/// Ends the capture on every exit path.
struct CaptureGuard;

impl Drop for CaptureGuard {
    fn drop(&mut self) {
        CAPTURE.set(ptr::null());
    }
}

impl Program {
    /// Records what `record` does with this program on this thread, instead of doing it: launches on any of its streams
    /// (including regions), copies of host data into tensors, records of events, and waits of streams for them. The
    /// resulting [`Graph`] does all that with one call. It can be launched repeatedly, with arguments replaced by name.
    ///
    /// Launches on one stream are ordered one after the other, and after what their stream waits for; other launches
    /// have no order and run concurrently. A copy is ordered after all earlier captured uses of its tensor and before
    /// all later ones; it copies the data that it is given during the capture. Everything else happens at once:
    /// tensors, streams and events are created and dropped. A launch is proven and checked when it is captured, and
    /// again where arguments that this depends on are replaced. The graph keeps its tensors, and uses their contents as
    /// they are at each launch. On the CPU, its launches exclude other threads that use these tensors.
    ///
    /// # Errors
    /// The errors of `record`. [`Error::Capture`] from operations that cannot be captured: waits of the host, reads and
    /// writes of tensors, kernels that return a value, host arrays, waits for events that were recorded outside, and
    /// another capture. Such a call has no effect, and the capture can go on. [`Error::Hazard`] where two launches
    /// without an order conflict, under [`Hazards::Check`](crate::Hazards::Check).
    pub fn capture(&self, record: impl FnOnce() -> Result<()>) -> Result<Graph> {
        if is_active() {
            return Err(Error::Capture { what: "another capture" });
        }
        let capture = Capture::new(self.inner());
        {
            let _guard = CaptureGuard;
            CAPTURE.set(&raw const capture);
            record()?;
        }
        capture.finish()
    }
}

/// Whether this thread is capturing.
#[inline]
pub(crate) fn is_active() -> bool {
    !CAPTURE.get().is_null()
}

/// Rejects an operation that cannot be captured, where this thread captures the program.
///
/// # Errors
/// [`Error::Capture`]
#[inline]
pub(crate) fn refuse(shared: &ProgramShared, what: &'static str) -> Result<()> {
    if is_active() {
        with(shared, |_| Err(Error::Capture { what })).unwrap_or(Ok(()))
    } else {
        Ok(())
    }
}

/// Captures a launch. Returns none where the program is not being captured.
#[cold]
pub(crate) fn launch(
    program: &ProgramInner,
    kernel: &KernelDef,
    args: &ArgList<'_>,
    has_value: bool,
    target: LaunchTarget<'_>,
) -> Option<Result<()>> {
    with(&program.shared, |capture| capture.launch(kernel, args, has_value, target))
}

/// Captures the record of an event. Returns none where the program is not being captured.
pub(crate) fn record(
    shared: &ProgramShared,
    event: u64,
    stream: &StreamState,
) -> Option<Result<()>> {
    with(shared, |capture| {
        capture.record(event, stream);
        Ok(())
    })
}

/// Captures the wait of a stream for an event. Returns none where the program is not being captured.
pub(crate) fn wait(shared: &ProgramShared, event: u64, stream: &StreamState) -> Option<Result<()>> {
    with(shared, |capture| capture.wait(event, stream))
}

/// Captures a copy of host data into a tensor. Returns none where the program is not being captured.
#[cold]
pub(crate) fn copy(
    to: &DeviceTensor,
    elements: usize,
    bytes: &[u8],
    spans: &[Span],
    at: &'static Location<'static>,
) -> Option<Result<()>> {
    with(&to.program.shared, |capture| capture.copy(to, elements, bytes, spans, at))
}

fn with<R>(shared: &ProgramShared, then: impl FnOnce(&Capture) -> R) -> Option<R> {
    // SAFETY: `Program::capture` holds the capture on this thread's stack below this call, until `CaptureGuard` resets
    // the pointer.
    let capture = unsafe { CAPTURE.get().as_ref() }?;
    ptr::eq(Arc::as_ptr(&capture.program().shared), shared).then(|| then(capture))
}
