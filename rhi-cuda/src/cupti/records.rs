//! The fields of CUPTI's records that are needed, by their offsets. These are the same in all versions of the structs
//! that CUPTI of CUDA 12 and 13 writes: `CUpti_ActivityKernel9` to `11`, `CUpti_ActivityMemcpy5` to `7`,
//! `CUpti_ActivityMemset4` and `5`, `CUpti_ActivityExternalCorrelation`. New versions add fields at the end.

use quadrants_rhi::Activity;

/// The kinds of records, `CUPTI_ACTIVITY_KIND_…`.
pub(super) const KIND_MEMCPY: u32 = 1;
pub(super) const KIND_MEMSET: u32 = 2;
pub(super) const KIND_DRIVER: u32 = 4;
pub(super) const KIND_KERNEL: u32 = 10;
pub(super) const KIND_EXTERNAL_CORRELATION: u32 = 39;

/// The contents of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ActivityRecord {
    /// The driver call with this external id has this correlation id.
    ExternalCorrelation { correlation: u32, external_id: u64 },
    /// An activity. The number of its call is filled in by the reader of the records.
    Activity { correlation: u32, activity: Activity },
}

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

impl ActivityRecord {
    /// Reads a record at the beginning of these bytes. `None` if its kind is not needed, if it has no times, or if
    /// bytes are missing.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let offsets = match u32_at(bytes, 0)? {
            KIND_EXTERNAL_CORRELATION => {
                return Some(Self::ExternalCorrelation {
                    correlation: u32_at(bytes, 16)?,
                    external_id: u64_at(bytes, 8)?,
                });
            }
            KIND_KERNEL => KERNEL_OFFSETS,
            KIND_MEMCPY | KIND_MEMSET => TRANSFER_OFFSETS,
            _ => return None,
        };
        let (start, end) = (u64_at(bytes, offsets.start)?, u64_at(bytes, offsets.end)?);
        let node = u64_at(bytes, offsets.node)?;
        let activity = Activity { call: 0, node, start, end };
        // CUPTI writes 0 where it has no time.
        let has_times = start != 0 && start <= end;
        let correlation = u32_at(bytes, offsets.correlation)?;
        has_times.then_some(Self::Activity { correlation, activity })
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests;
