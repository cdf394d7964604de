//! What [`Error::Capture`](super::Error::Capture) names, and what to do instead.

pub(crate) const HOST_ARRAY: &str = "a host array";
pub(crate) const KERNEL_WITH_VALUE: &str = "a kernel with a value";
pub(crate) const CAPTURE: &str = "another capture";
pub(crate) const WAIT_FOR_OUTSIDE: &str = "a wait for an event that was recorded outside";
pub(crate) const FOREIGN: &str = "a foreign operation on a device without graphs";

/// The remedy for the operation `what`.
pub(super) fn help(what: &str) -> &'static str {
    match what {
        HOST_ARRAY => "copy it to a tensor, and pass the tensor",
        KERNEL_WITH_VALUE => "write the result to a tensor",
        CAPTURE => "end the outer capture first",
        WAIT_FOR_OUTSIDE => "launch the graph on a stream that waits for the event",
        FOREIGN => "use a device with graphs, such as a GPU",
        _ => "do it before or after the capture",
    }
}
