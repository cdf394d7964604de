//! Records of roctracer are read from their bytes.

use quadrants_rhi::{
    Activity,
    activity::{ActivityRecord, RecordBytes},
};

use super::{DOMAIN_EXT_API, DOMAIN_HIP_API, DOMAIN_HIP_OPS, OP_COPY, OP_DISPATCH, OP_EXTERN_ID};

fn read(bytes: &[u8]) -> Option<ActivityRecord> {
    super::read(RecordBytes::new(bytes))
}

/// A record with these fields: domain and operation, correlation id, begin, end, and the word after them, which is an
/// external id or the number of the device. Its other bytes have values that no field may be read from.
fn record(domain: u32, op: u32, [id, begin, end, word]: [u64; 4]) -> Vec<u8> {
    let mut bytes = vec![0xa5; 64];
    bytes[..4].copy_from_slice(&domain.to_ne_bytes());
    bytes[8..12].copy_from_slice(&op.to_ne_bytes());
    for (at, value) in [(16, id), (24, begin), (32, end), (40, word)] {
        bytes[at..at + 8].copy_from_slice(&value.to_ne_bytes());
    }
    bytes
}

fn activity(correlation: u64, start: u64, end: u64) -> Option<ActivityRecord> {
    let activity = Activity { call: 0, node: 0, start, end };
    Some(ActivityRecord::Activity { correlation, activity })
}

#[test]
fn records_are_read_by_their_documented_offsets() {
    let id = 1 << 40;
    let kernel = record(DOMAIN_HIP_OPS, OP_DISPATCH, [id, 100, 250, 1]);
    assert_eq!(read(&kernel), activity(id, 100, 250));
    let copy = record(DOMAIN_HIP_OPS, OP_COPY, [6, 7, 7, 1]);
    assert_eq!(read(&copy), activity(6, 7, 7));
    let external = record(DOMAIN_EXT_API, OP_EXTERN_ID, [6, 0, 0, 1 << 50]);
    assert_eq!(read(&external), Some(ActivityRecord::Call { correlation: 6, call: 1 << 50 }));
}

#[test]
fn other_kinds_are_left_out() {
    for (domain, op) in [
        (DOMAIN_HIP_OPS, 2), // a barrier
        (DOMAIN_HIP_OPS, 3), // none of today's
        (DOMAIN_HIP_API, OP_DISPATCH),
        (DOMAIN_EXT_API, 0), // a mark
        (0, 0),              // HSA
        (12345, 1),
    ] {
        assert_eq!(read(&record(domain, op, [6, 7, 8, 9])), None, "{domain} {op}");
    }
}

#[test]
fn records_without_a_call_or_times_are_left_out() {
    for fields in [[0, 7, 8, 1], [6, 0, 0, 1], [6, 0, 8, 1], [6, 8, 7, 1]] {
        assert_eq!(read(&record(DOMAIN_HIP_OPS, OP_DISPATCH, fields)), None, "{fields:?}");
    }
    assert_eq!(read(&record(DOMAIN_EXT_API, OP_EXTERN_ID, [0, 0, 0, 4])), None);
}

#[test]
fn incomplete_records_are_left_out() {
    for whole in [
        record(DOMAIN_HIP_OPS, OP_DISPATCH, [6, 7, 8, 1]),
        record(DOMAIN_EXT_API, OP_EXTERN_ID, [6, 0, 0, 4]),
    ] {
        for length in 0..64 {
            assert_eq!(read(&whole[..length]), None, "{length}");
        }
        let longer = [&whole[..], &[0xa5; 40]].concat();
        assert_eq!(read(&longer), read(&whole));
        assert!(read(&whole).is_some());
    }
}
