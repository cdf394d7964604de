//! The guard that stamps the tensors of a launch after it is enqueued.

use std::mem;

use quadrants_runtime::Stamp;

use crate::{
    arguments::{TensorArg, launch_uses::LaunchUses},
    hazards::tracker::Tracker,
    launcher::kernel_context::TensorParamUse,
    state::StreamState,
};

/// Stamps the tensors of a launch when it is finished or dropped, also where the device panics. The stamp must be taken
/// after all that the launch enqueued: otherwise a wait of another thread in between would treat
/// unfinished work as complete.
///
/// `R` also records the launch where hazards are tracked, and is `()` elsewhere. All methods are inlined, so that on
/// the fast path, which tracks no hazards, the guard stays in registers.
pub(super) struct StampGuard<'a, R: RecordUses = ()>(StampedTensors<'a, R>);

#[derive(Clone, Copy)]
struct StampedTensors<'a, R> {
    params: &'a [TensorParamUse],
    tensors: &'a [TensorArg<'a>],
    stream: &'a StreamState,
    record: R,
}

pub(super) trait RecordUses: Copy {
    fn record(self, stamp: Stamp);
}

impl RecordUses for () {
    #[inline(always)]
    fn record(self, _: Stamp) {}
}

impl RecordUses for Option<(&Tracker, LaunchUses<'_>)> {
    #[inline]
    fn record(self, stamp: Stamp) {
        if let Some((tracker, uses)) = self {
            tracker.record_launch(&uses, stamp);
        }
    }
}

impl<'a, R: RecordUses> StampGuard<'a, R> {
    #[inline(always)]
    pub(super) fn new(
        params: &'a [TensorParamUse],
        tensors: &'a [TensorArg<'a>],
        stream: &'a StreamState,
        record: R,
    ) -> Self {
        Self(StampedTensors { params, tensors, stream, record })
    }

    /// Stamps the tensors. Faster than a drop, which is the path of panics.
    #[inline(always)]
    pub(super) fn finish(self) {
        let uses = self.0;
        mem::forget(self);
        uses.stamp();
    }
}

impl<R: RecordUses> Drop for StampGuard<'_, R> {
    #[inline(always)]
    fn drop(&mut self) {
        stamp_after_panic(self.0);
    }
}

#[cold]
#[inline(never)]
fn stamp_after_panic(uses: StampedTensors<'_, impl RecordUses>) {
    uses.stamp();
}

impl<R: RecordUses> StampedTensors<'_, R> {
    #[inline(always)]
    fn stamp(self) {
        let stamp = self.stream.stream.next_stamp();
        self.record.record(stamp);
        for (tensor, param) in self.tensors.iter().zip(self.params) {
            let Some(device_tensor) = tensor.device_tensor() else { continue };
            device_tensor.buffer.stamp(stamp, param.writable);
        }
    }
}
