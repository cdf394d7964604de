//! Times of operations from the profiling interface of a driver.

mod record;
mod store;

use std::fmt;

pub use self::{
    record::{RecordBytes, each_record},
    store::{ActivityRecord, ActivityStore},
};
use crate::Result;

/// What the device did for one call: a kernel, a copy or a fill.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(clippy::exhaustive_structs)] // a plain record
pub struct Activity {
    /// The number of the call that enqueued it; see [`Activities::enter`].
    pub call: u64,
    /// The number of the graph node that it is; 0 where it is of no graph, or where the interface does not know it. The
    /// nodes of a graph have ascending numbers.
    pub node: u64,
    /// When it started, in nanoseconds of a clock that all activities of a device share.
    pub start: u64,
    /// When it ended.
    pub end: u64,
}

/// The profiling interface of a driver. [`Device::activities`](crate::Device::activities) returns it.
///
/// It is that of the process: [`begin`](Self::begin) and [`end`](Self::end) are counted.
pub trait Activities: fmt::Debug + Send + Sync {
    /// Its name and version.
    fn name(&self) -> &str;

    /// Begins to record.
    ///
    /// # Errors
    /// That of the interface, for example because another profiler uses it.
    fn begin(&self) -> Result<()>;

    /// Until [`leave`](Self::leave), what this thread enqueues belongs to the call with this number. The number is used
    /// once in a process. Calls may be nested.
    fn enter(&self, call: u64);

    /// See [`enter`](Self::enter).
    fn leave(&self);

    /// Returns the activities of some calls, and forgets them. The work of these calls is complete.
    fn take(&self, is_wanted: &dyn Fn(u64) -> bool) -> Vec<Activity>;

    /// Returns the number of records that were lost since the last call, and forgets it. The operations of lost records
    /// have no times.
    fn take_lost(&self) -> u64;

    /// Ends what one [`begin`](Self::begin) began.
    fn end(&self);
}
