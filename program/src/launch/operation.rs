//! Operations on a stream that are not launches of kernels, such as copies between tensors. They are checked, ordered
//! and stamped as launches are.

use std::panic::Location;

use super::stamp_guard::StampGuard;
use crate::{
    Result,
    arguments::{any_shared, launch_uses::LaunchUses, operation_tensors::OperationTensors},
    launcher::operation_names::FIRST_ID,
    state::{ProgramShared, StreamState},
    thread_state::{mode::is_observed, regions},
};

impl ProgramShared {
    /// Does what a launch does around its driver calls: returns the errors of earlier kernels of the stream, checks for
    /// hazards, calls `enqueue`, and stamps the tensors, also where `enqueue` fails or panics. The first fills of the
    /// tensors are ordered before.
    ///
    /// # Errors
    /// Those of earlier kernels, hazards, and those of `enqueue`.
    pub(crate) fn submit_operation<R>(
        &self,
        stream: &StreamState,
        name: &'static str,
        tensors: &OperationTensors<'_>,
        at: &'static Location<'static>,
        enqueue: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        let OperationTensors { tensors, uses, unnamed } = tensors;
        self.context.check()?;
        stream.check()?;
        let named;
        let (kernel, params) = if self.hazards.is_some() || is_observed() {
            named = self.operation_names.params(uses.iter().copied());
            (self.operation_names.id(name), &*named)
        } else {
            // Nothing asks for names.
            (FIRST_ID, &**unnamed)
        };
        let launch = LaunchUses { kernel, params, tensors, at };
        regions::check(self, &launch, stream)?;
        let tracked = self.hazards.as_ref().map(|tracker| (tracker, launch));
        if let Some((tracker, launch)) = &tracked {
            self.check_launch(tracker, launch, stream)?;
        }
        let guard = StampGuard::new(params, tensors, stream, tracked);
        let exclusion = self.host_exclusion.lock(|| any_shared(tensors));
        let enqueued = enqueue();
        drop(exclusion);
        guard.finish();
        enqueued
    }
}
