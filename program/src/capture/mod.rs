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
//! ([`HostExclusion`](crate::state::host_exclusion::HostExclusion)).

mod args;
mod executable;
mod graph;
mod graph_hazards;
mod record;
mod recorded;

pub use graph::{Graph, GraphLaunch};
use record::Capture;

#[cfg(doc)]
use crate::Error;
use crate::{Program, Result, thread_state::capture::capturing};

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
    /// The errors of `record`. [`Error::Capture`] from operations that cannot be captured: host waits, reads of
    /// tensors, kernels that return a value, host arrays, waits for events that were recorded outside, and another
    /// capture. Such a call has no effect, and the capture can go on. [`Error::Hazard`] where two launches without an
    /// order conflict, under [`Hazards::Check`](crate::Hazards::Check).
    pub fn capture(&self, record: impl FnOnce() -> Result<()>) -> Result<Graph> {
        let capture = Capture::new(self.inner());
        capturing(&capture, record)?;
        let (recorded, dependencies) = capture.finish()?;
        Ok(Graph::new(recorded, dependencies))
    }
}
