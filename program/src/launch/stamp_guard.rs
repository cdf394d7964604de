//! The guard that stamps the tensors of a launch after it is enqueued.

use std::mem;

use super::{arguments::TensorArg, context::TensorParamUse};
use crate::{
    hazards::{LaunchUses, Tracker},
    stream::StreamState,
};

/// Stamps the tensors of a launch when it is finished or dropped, also where the device panics. The stamp must be taken
/// after all that the launch enqueued: a wait of another thread in between would take unfinished work for complete.
///
/// All methods are inlined, so that on the fast path, which tracks no hazards, the guard stays in registers.
pub(super) struct StampGuard<'a> {
    params: &'a [TensorParamUse],
    tensors: &'a [TensorArg<'a>],
    stream: &'a StreamState,
    /// Where hazards are tracked: by whom, and what the launch uses.
    tracked: Option<(&'a Tracker, LaunchUses<'a>)>,
}

impl<'a> StampGuard<'a> {
    #[inline(always)]
    pub(super) fn new(
        params: &'a [TensorParamUse],
        tensors: &'a [TensorArg<'a>],
        stream: &'a StreamState,
    ) -> Self {
        Self { params, tensors, stream, tracked: None }
    }

    /// The guard of a launch whose uses `tracker` also records.
    #[inline(always)]
    pub(super) fn tracked(
        tracker: &'a Tracker,
        uses: LaunchUses<'a>,
        stream: &'a StreamState,
    ) -> Self {
        let tracked = Some((tracker, uses));
        Self { params: uses.params, tensors: uses.tensors, stream, tracked }
    }

    /// Stamps the tensors. Faster than a drop, which is the path of panics.
    #[inline(always)]
    pub(super) fn finish(self) {
        let Self { params, tensors, stream, tracked } = self;
        mem::forget(self);
        stamp(params, tensors, stream, tracked);
    }
}

impl Drop for StampGuard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        stamp_after_panic(self.params, self.tensors, self.stream, self.tracked);
    }
}

#[cold]
#[inline(never)]
fn stamp_after_panic(
    params: &[TensorParamUse],
    tensors: &[TensorArg<'_>],
    stream: &StreamState,
    tracked: Option<(&Tracker, LaunchUses<'_>)>,
) {
    stamp(params, tensors, stream, tracked);
}

#[inline(always)]
fn stamp(
    params: &[TensorParamUse],
    tensors: &[TensorArg<'_>],
    stream: &StreamState,
    tracked: Option<(&Tracker, LaunchUses<'_>)>,
) {
    let stamp = stream.stream.next_stamp();
    if let Some((tracker, uses)) = tracked {
        tracker.record_launch(&uses, stamp);
    }
    for (tensor, param) in tensors.iter().zip(params) {
        let Some(device_tensor) = tensor.device_tensor() else { continue };
        device_tensor.buffer.stamp(stamp, param.writable);
    }
}
