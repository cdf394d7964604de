//! The fields of CUPTI's records that are needed, by their offsets. These are the same in all versions of the structs
//! that CUPTI of CUDA 12.0 to 13.5 writes, by `offsetof` in its headers: `CUpti_ActivityKernel9` to `13`,
//! `CUpti_ActivityMemcpy5` to `7`, `CUpti_ActivityMemset4` and `5`, `CUpti_ActivityExternalCorrelation`. New versions
//! add fields at the end.

use quadrants_rhi::activity::{ActivityRecord, RecordBytes};

/// The kinds of records, `CUPTI_ACTIVITY_KIND_…`.
pub(super) const KIND_MEMCPY: u32 = 1;
pub(super) const KIND_MEMSET: u32 = 2;
pub(super) const KIND_DRIVER: u32 = 4;
pub(super) const KIND_KERNEL: u32 = 10;
pub(super) const KIND_EXTERNAL_CORRELATION: u32 = 39;

/// The offsets in the record of an activity.
struct Offsets {
    start: usize,
    end: usize,
    correlation: usize,
    node: usize,
}

const KERNEL_OFFSETS: Offsets = Offsets { start: 16, end: 24, correlation: 92, node: 144 };
/// Copies and fills have the same.
const TRANSFER_OFFSETS: Offsets = Offsets { start: 16, end: 24, correlation: 44, node: 64 };

/// The contents of a record. `None` if its kind is not needed, if it has no times, or if bytes are missing.
pub(super) fn read(record: RecordBytes<'_>) -> Option<ActivityRecord> {
    let offsets = match record.u32_at(0)? {
        KIND_EXTERNAL_CORRELATION => {
            return Some(ActivityRecord::Call {
                correlation: record.u32_at(16)?.into(),
                call: record.u64_at(8)?,
            });
        }
        KIND_KERNEL => KERNEL_OFFSETS,
        KIND_MEMCPY | KIND_MEMSET => TRANSFER_OFFSETS,
        _ => return None,
    };
    let node = record.u64_at(offsets.node)?;
    let activity = record.activity([offsets.start, offsets.end], node)?;
    let correlation = record.u32_at(offsets.correlation)?.into();
    Some(ActivityRecord::Activity { correlation, activity })
}

#[cfg(test)]
mod tests;
