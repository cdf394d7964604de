//! Captured graphs: what a closure launches and orders by events, recorded by us and launched as one, again
//! and again.
//!
//! # Order
//! While the closure runs, its launches, on whatever streams, become nodes. A node comes behind the one before it on its
//! stream, and behind what an event was recorded behind in the capture that its stream waited for since; by nothing
//! else are two nodes ordered. A graph's launch comes as a whole behind what its stream was given before, and before what
//! it is given later.
//!
//! # Memory
//! A graph goes on using tensors that their owners have back, which no borrow shows. On a device that works beside the
//! host that is what streams do anyway: all uses are stamped, frees and reads of the host come behind them. Where
//! kernels run on the thread that launches them, it would be a race; there, who reaches memory that a graph keeps
//! takes a turn ([`HostExclusion`]).

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
    tensor::{TensorCore, layout::Span},
};
use record::Capture;

thread_local! {
    /// The capture of this thread.
    static CAPTURE: Cell<*const Capture> = const { Cell::new(ptr::null()) };
}

/// Ends a capture on every way out.
struct End;

impl Drop for End {
    fn drop(&mut self) {
        CAPTURE.set(ptr::null());
    }
}

impl Program {
    /// Records what `record` does with this program on this thread, instead of doing it: launches on any of its streams,
    /// regions among them, copies of the host's into tensors, and records of events and waits of streams for them. The [`Graph`] that comes of it
    /// does all that with one call, as often as it is launched, with other arguments where they are given by name.
    ///
    /// Launches on one stream come one behind the other, and behind what their stream waits for; others are
    /// unordered, and run side by side. A copy comes behind what was captured before that uses its tensor, and before what
    /// is captured later and does; it copies what it is given now. What else there is to do is done at once, as ever: tensors, streams and events
    /// are made and dropped. A launch has its arguments proven when it is captured, and again where they are replaced.
    /// The graph keeps the tensors, and uses them whenever it is launched, as they are then; on the processor
    /// it takes turns with other threads that use them.
    ///
    /// # Errors
    /// What `record` returns. [`Error::Capture`] from what cannot be captured: waits of the host, reads and writes of
    /// tensors, kernels with a value, arrays of the host, waits for events that were recorded outside, another capture. Such
    /// a call has done nothing, and the capture can go on. [`Error::Hazard`] where two unordered launches conflict and
    /// hazards are refused.
    pub fn capture(&self, record: impl FnOnce() -> Result<()>) -> Result<Graph> {
        if is_on() {
            return Err(Error::Capture { what: "another capture" });
        }
        let capture = Capture::new(self.inner());
        {
            let _end = End;
            CAPTURE.set(&raw const capture);
            record()?;
        }
        capture.finish()
    }
}

/// Whether this thread captures.
#[inline]
pub(crate) fn is_on() -> bool {
    !CAPTURE.get().is_null()
}

/// Refuses what cannot be captured, where this thread captures the program.
///
/// # Errors
/// [`Error::Capture`]
#[inline]
pub(crate) fn refuse(shared: &ProgramShared, what: &'static str) -> Result<()> {
    if is_on() { with(shared, |_| Err(Error::Capture { what })).unwrap_or(Ok(())) } else { Ok(()) }
}

/// Captures a launch; none where the program is not captured.
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

/// Captures the record of an event; none where the program is not captured.
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

/// Captures the wait of a stream for an event; none where the program is not captured.
pub(crate) fn wait(shared: &ProgramShared, event: u64, stream: &StreamState) -> Option<Result<()>> {
    with(shared, |capture| capture.wait(event, stream))
}

/// Captures a copy of the host's into a tensor; none where the program is not captured.
#[cold]
pub(crate) fn copy(
    to: &TensorCore,
    elements: usize,
    bytes: &[u8],
    spans: &[Span],
    at: &'static Location<'static>,
) -> Option<Result<()>> {
    with(&to.program.shared, |capture| capture.copy(to, elements, bytes, spans, at))
}

fn with<R>(shared: &ProgramShared, then: impl FnOnce(&Capture) -> R) -> Option<R> {
    // SAFETY: `Program::capture` holds what it set until `End` has taken it off, on this thread's stack, below this.
    let capture = unsafe { CAPTURE.get().as_ref() }?;
    ptr::eq(Arc::as_ptr(&capture.program().shared), shared).then(|| then(capture))
}
