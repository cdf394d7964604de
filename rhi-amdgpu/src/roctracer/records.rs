//! The fields of roctracer's records that are needed, by their offsets in `activity_record_t`. The struct has these
//! since ROCm 3; new versions only gave more meanings to its last word.

use quadrants_rhi::activity::{ActivityRecord, RecordBytes};

/// The size of a record.
pub(super) const RECORD_BYTES: usize = 64;

/// The domains of records, `ACTIVITY_DOMAIN_…`: what the device does, the calls of the HIP API, external ids.
pub(super) const DOMAIN_HIP_OPS: u32 = 2;
pub(super) const DOMAIN_HIP_API: u32 = 3;
const DOMAIN_EXT_API: u32 = 5;

/// The operations of [`DOMAIN_HIP_OPS`] that are work: kernels and copies, to which fills belong. The others are
/// barriers, among them the records of events.
const OP_DISPATCH: u32 = 0;
const OP_COPY: u32 = 1;
/// The operation of [`DOMAIN_EXT_API`] that is an external id, `ACTIVITY_EXT_OP_EXTERN_ID`.
const OP_EXTERN_ID: u32 = 1;

/// The contents of a record. `None` if its kind is not needed, if it belongs to no call, if it has no times, or if
/// bytes are missing.
pub(super) fn read(record: RecordBytes<'_>) -> Option<ActivityRecord> {
    if record.room() < RECORD_BYTES {
        return None;
    }
    // Work that the runtime enqueues by itself, and that of libraries which bypass the HIP API, has the id 0.
    let correlation = record.u64_at(16).filter(|id| *id != 0)?;
    match (record.u32_at(0)?, record.u32_at(8)?) {
        (DOMAIN_EXT_API, OP_EXTERN_ID) => {
            Some(ActivityRecord::Call { correlation, call: record.u64_at(40)? })
        }
        (DOMAIN_HIP_OPS, OP_DISPATCH | OP_COPY) => {
            // No field has the node of a graph.
            let activity = record.activity([24, 32], 0)?;
            Some(ActivityRecord::Activity { correlation, activity })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
