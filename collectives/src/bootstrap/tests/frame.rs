//! Frames, messages and their authentication, also with random bytes.

use std::time::Duration;

use crate::bootstrap::Rejection;
use crate::bootstrap::frame::{Frame, FrameReader, MacChannel, encode};
use crate::bootstrap::handshake::{self, Hello, parse_rejected, rejected_body};
use crate::bootstrap::message::{self, GroupCall, GroupOperation, Message, OperationFailure};
use crate::{
    call::{CallKind, CollectiveCall, GroupPosition},
    call_matching::Mismatch,
    element::{DataType, Reduction},
    library_mismatch::LibraryMismatch,
    random::Random,
};

fn call(operation: GroupOperation) -> GroupCall {
    GroupCall { number: 1 << 40, operation }
}

/// A call of each kind.
fn calls() -> Vec<CollectiveCall> {
    let kinds = [
        CallKind::AllReduce(Reduction::Mean),
        CallKind::Reduce { reduction: Reduction::Product, root: 65_535 },
        CallKind::Broadcast { root: 3 },
        CallKind::AllGather,
        CallKind::ReduceScatter(Reduction::Min),
        CallKind::Send { to: 1 },
        CallKind::Receive { from: 2 },
    ];
    let call = |(index, kind)| CollectiveCall {
        kind,
        count: usize::MAX - index,
        data_type: DataType::F64,
        group_position: GroupPosition { index: index as u32, of: u32::MAX },
    };
    kinds.into_iter().enumerate().map(call).collect()
}

fn messages() -> Vec<Message> {
    vec![
        Message::Start,
        Message::Heartbeat,
        Message::Waiting(vec![1, 70_000]),
        Message::Arrive(call(GroupOperation::Barrier), String::new()),
        Message::Arrive(call(GroupOperation::Join), "NCCL 2.28.3".into()),
        Message::Arrive(call(GroupOperation::JoinUnchecked), String::new()),
        Message::Release(call(GroupOperation::Broadcast), vec![7; 128]),
        Message::Failed(OperationFailure::Timeout(vec![3])),
        Message::Failed(OperationFailure::Left(4)),
        Message::Failed(OperationFailure::OutOfOrder(5)),
        Message::Lost(6),
        Message::Goodbye,
        Message::Compare(7, calls()),
        Message::Compare(8, vec![]),
        Message::Matched(9),
        Message::Mismatch(
            10,
            Mismatch { rank: 2, call: calls()[0], other: 1, other_call: calls()[3], number: 11 },
        ),
        Message::Refused(
            call(GroupOperation::Join),
            LibraryMismatch {
                rank: 3,
                library: "NCCL 2.28.3".into(),
                other: 0,
                other_library: "the CPU's own operations".into(),
            },
        ),
    ]
}

#[test]
fn messages_arrive_as_sent_in_pieces_of_any_size() {
    for size in [1, 3, 4096] {
        let (mut sender, mut receiver) = (MacChannel::new([1; 32]), MacChannel::new([1; 32]));
        let sent = messages().into_iter().flat_map(|message| {
            let (kind, body) = message.encode();
            sender.authenticate(kind, &body)
        });
        let sent: Vec<u8> = sent.collect();
        let (mut incoming, mut received) = (FrameReader::default(), vec![]);
        for mut piece in sent.chunks(size) {
            incoming.read_from(&mut piece).unwrap();
            while let Some(frame) = incoming.next_frame(message::MAX_MESSAGE_BYTES).unwrap() {
                received.push(Message::decode(&receiver.verify(frame).unwrap()).unwrap());
            }
        }
        assert_eq!(received, messages());
    }
}

#[test]
fn changed_repeated_and_reordered_frames_are_not_authentic() {
    let frames = |sender: &mut MacChannel, count| -> Vec<Frame> {
        let seal = |_| {
            let bytes = sender.authenticate(20, b"payload");
            Frame { kind: bytes[0], body: bytes[5..].to_vec() }
        };
        (0..count).map(seal).collect()
    };
    let sent = frames(&mut MacChannel::new([1; 32]), 2);
    let copy = |frame: &Frame| Frame { kind: frame.kind, body: frame.body.clone() };
    let receiver = || MacChannel::new([1; 32]);

    assert_eq!(receiver().verify(copy(&sent[0])).unwrap().body, b"payload");
    assert!(receiver().verify(copy(&sent[1])).is_none());
    let mut twice = receiver();
    assert!(twice.verify(copy(&sent[0])).is_some() && twice.verify(copy(&sent[0])).is_none());
    assert!(MacChannel::new([2; 32]).verify(copy(&sent[0])).is_none());
    assert!(receiver().verify(Frame { kind: 21, body: sent[0].body.clone() }).is_none());
    for at in 0..sent[0].body.len() {
        let mut changed = copy(&sent[0]);
        changed.body[at] ^= 1;
        assert!(receiver().verify(changed).is_none());
        let shortened = Frame { kind: 20, body: sent[0].body[..at].to_vec() };
        assert!(receiver().verify(shortened).is_none());
    }
}

#[test]
fn rejections_arrive_as_sent() {
    for reason in [
        Rejection::Version { supported: 9 },
        Rejection::Secret,
        Rejection::WorldSize { expected: 3 },
        Rejection::RankOutOfRange { world_size: 4 },
        Rejection::DuplicateRank { rank: 1 },
    ] {
        assert_eq!(parse_rejected(&rejected_body(reason)), Some(reason));
    }
}

#[test]
fn a_long_frame_is_refused_before_its_body_comes() {
    let mut incoming = FrameReader::default();
    incoming.read_from(&mut &[1, 65, 0, 0, 0][..]).unwrap();
    assert!(incoming.next_frame(handshake::MAX_MESSAGE_BYTES).is_err());
    incoming = FrameReader::default();
    incoming.read_from(&mut &[1, 255, 255, 255, 255][..]).unwrap();
    assert!(incoming.next_frame(message::MAX_MESSAGE_BYTES).is_err());
}

#[test]
fn random_bytes_are_refused_or_incomplete() {
    let mut random = Random(1);
    let hello = Hello::new(1, 2).unwrap();
    for _ in 0..20_000 {
        // Random bytes, or a valid hello with a few random changes.
        let mut bytes = random.bytes(100);
        if random.next().is_multiple_of(2) {
            bytes = encode(handshake::HELLO, &hello.body());
            for _ in 0..1 + random.next() % 3 {
                let at = random.next() as usize % bytes.len();
                bytes[at] = random.next() as u8;
            }
        }
        let mut incoming = FrameReader::default();
        incoming.read_from(&mut &bytes[..]).unwrap();
        while let Ok(Some(frame)) = incoming.next_frame(handshake::MAX_MESSAGE_BYTES) {
            let _ = Hello::parse(&frame);
            let _ = parse_rejected(&frame.body);
            assert!(MacChannel::new([1; 32]).verify(frame).is_none());
        }
        // Bodies of every kind of message, as a broken member would send them.
        let body = random.bytes(48);
        let kind = 16 + (random.next() % 12) as u8;
        if let Some(Message::Failed(failure)) = Message::decode(&Frame { kind, body }) {
            let _ = failure.error("a test", Duration::ZERO).to_string();
        }
    }
}
