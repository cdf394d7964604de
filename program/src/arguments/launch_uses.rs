//! [`LaunchUses`]: how a launch uses its tensors, and the check for hazards.

use std::panic::Location;

use quadrants_runtime::{AccessOrigin, Buffer, StridedRange};

use super::TensorArg;
use crate::{
    Result,
    hazards::tracker::{BufferUses, Tracker},
    launcher::kernel_context::TensorParamUse,
    state::{ProgramShared, StreamState},
};

/// How a launch uses its tensors.
#[derive(Clone, Copy)]
pub(crate) struct LaunchUses<'a> {
    pub(crate) kernel: u32,
    /// The parameters of `tensors`, in the same order.
    pub(crate) params: &'a [TensorParamUse],
    pub(crate) tensors: &'a [TensorArg<'a>],
    pub(crate) at: &'static Location<'static>,
}

impl BufferUses for LaunchUses<'_> {
    #[inline]
    fn each(&self, mut visit: impl FnMut(&Buffer, bool, AccessOrigin, &dyn Fn() -> StridedRange)) {
        for (tensor, param) in self.tensors.iter().zip(self.params) {
            if let (Some(device_tensor), Some(writes)) = (tensor.device_tensor(), param.writes) {
                let by = AccessOrigin { kernel: self.kernel, parameter: param.index, at: self.at };
                visit(&device_tensor.buffer, writes, by, &|| tensor.bytes());
            }
        }
    }
}

impl ProgramShared {
    /// Checks a launch against the earlier uses of its tensors, and applies the policy to the conflicts.
    ///
    /// # Errors
    /// [`Error::Hazard`](crate::Error::Hazard) under [`Hazards::Check`](crate::Hazards::Check); the driver's error if
    /// a wait cannot be inserted.
    pub(crate) fn check_launch(
        &self,
        tracker: &Tracker,
        launch: &LaunchUses<'_>,
        stream: &StreamState,
    ) -> Result<()> {
        let conflicts = tracker.conflicts(launch, stream.stream.newest());
        if conflicts.is_empty() {
            Ok(())
        } else {
            self.handle_conflicts(tracker, &conflicts, stream)
        }
    }
}
