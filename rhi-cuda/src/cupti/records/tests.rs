//! Records of CUPTI are read from their bytes.

use quadrants_rhi::{
    Activity,
    activity::{ActivityRecord, RecordBytes},
};

use super::{KIND_EXTERNAL_CORRELATION, KIND_KERNEL, KIND_MEMSET};

fn read(bytes: &[u8]) -> Option<ActivityRecord> {
    super::read(RecordBytes::new(bytes))
}

/// The last kernel of a graph, as CUPTI of CUDA 13.0 wrote it on an H100.
const GRAPH_KERNEL: &str = "\
    0a0000000000130001000000010000007809657e29d0eb18796a657e29d0eb18796a657e29d0eb18\
    00000000010000000700000001000000010000000100000001000000010000000100000000000000\
    0000000000000000000048094a0000000400000000000000406eef71657f00000000000000000000\
    00000000000000000000000000000000000000000080000002000000020000000000000002000000\
    00000000000000000000000001000000000000000000000000000000010000000000480900000000\
    0000000000000000\
";

/// The copy before it.
const GRAPH_COPY: &str = "\
    01000000080303010002000000000000d904657e29d0eb18f808657e29d0eb180000000001000000\
    070000004a0000000000000000000000000000000000000001000000020000000200000000000000\
    01000000000000000100000000000000\
";

/// A fill of no graph.
const FILL_OF_NONE: &str = "\
    02000000000000000000100000000000518e5f7e29d0eb1832945f7e29d0eb180000000001000000\
    07000000330000000100030000000000000000000000000000000000000000000000000000000000\
    0100000000000000\
";

/// The call that launched the graph.
const GRAPH_CALL: &str = "\
    270000000300000004000000000000004700000000000000\
";

fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().as_chunks::<2>().0.iter();
    let byte = |pair: &[u8; 2]| {
        let pair = str::from_utf8(pair).expect("digits");
        u8::from_str_radix(pair, 16).expect("digits")
    };
    digits.map(byte).collect()
}

#[test]
fn records_of_a_device_are_read() {
    let activity = |hex: &str| match read(&bytes(hex)) {
        Some(ActivityRecord::Activity { correlation, activity }) => (correlation, activity),
        other => panic!("{other:?}"),
    };
    let kernel = Activity {
        call: 0,
        node: 8_589_934_594,
        start: 1_795_757_753_070_061_944,
        end: 1_795_757_753_070_086_777,
    };
    assert_eq!(activity(GRAPH_KERNEL), (74, kernel));
    let copy = Activity {
        call: 0,
        node: 8_589_934_593,
        start: 1_795_757_753_070_060_761,
        end: 1_795_757_753_070_061_816,
    };
    assert_eq!(activity(GRAPH_COPY), (74, copy));
    let fill = Activity {
        call: 0,
        node: 0,
        start: 1_795_757_753_069_702_737,
        end: 1_795_757_753_069_704_242,
    };
    assert_eq!(activity(FILL_OF_NONE), (51, fill));
    let call = ActivityRecord::Call { correlation: 71, call: 4 };
    assert_eq!(read(&bytes(GRAPH_CALL)), Some(call));
}

/// A record of this length with some fields.
fn record(length: usize, kind: u32, words: &[(usize, u64)], halves: &[(usize, u32)]) -> Vec<u8> {
    let mut bytes = vec![0xa5; length];
    bytes[..4].copy_from_slice(&kind.to_ne_bytes());
    for (at, word) in words {
        bytes[*at..at + 8].copy_from_slice(&word.to_ne_bytes());
    }
    for (at, half) in halves {
        bytes[*at..at + 4].copy_from_slice(&half.to_ne_bytes());
    }
    bytes
}

#[test]
fn records_are_read_by_their_documented_offsets() {
    // The sizes of `CUpti_ActivityKernel9`, `10` and `13`, of `Memcpy5`, `6` and `7`, of `Memset4` and `5`.
    for length in [208, 216, 248] {
        let kernel = record(length, KIND_KERNEL, &[(16, 100), (24, 250), (144, 77)], &[(92, 5)]);
        let activity = Activity { call: 0, node: 77, start: 100, end: 250 };
        assert_eq!(read(&kernel), Some(ActivityRecord::Activity { correlation: 5, activity }));
    }
    for (kind, length) in [(1, 88), (1, 96), (1, 112), (KIND_MEMSET, 88), (KIND_MEMSET, 104)] {
        let transfer = record(length, kind, &[(16, 1), (24, 2), (64, 0)], &[(44, 6)]);
        let activity = Activity { call: 0, node: 0, start: 1, end: 2 };
        assert_eq!(read(&transfer), Some(ActivityRecord::Activity { correlation: 6, activity }));
    }
    let call = record(24, KIND_EXTERNAL_CORRELATION, &[(8, 1 << 40)], &[(16, 7)]);
    assert_eq!(read(&call), Some(ActivityRecord::Call { correlation: 7, call: 1 << 40 }));
}

#[test]
fn incomplete_and_unknown_records_are_left_out() {
    let kernel = record(208, KIND_KERNEL, &[(16, 100), (24, 250), (144, 77)], &[(92, 5)]);
    for length in 0..152 {
        assert_eq!(read(&kernel[..length]), None, "{length}");
    }
    let without_times = record(208, KIND_KERNEL, &[(16, 0), (24, 0), (144, 77)], &[(92, 5)]);
    assert_eq!(read(&without_times), None);
    let backwards = record(208, KIND_KERNEL, &[(16, 9), (24, 8), (144, 77)], &[(92, 5)]);
    assert_eq!(read(&backwards), None);
    assert_eq!(read(&record(208, 12345, &[], &[])), None);
}
