//! What calls compute: all calls, element types, reductions and numbers of ranks.

use std::ffi::c_int;

use half::{bf16, f16};
use quadrants_driver_sim::Schedule;

use super::support::*;

/// The elements of a rank.
const COUNT: usize = 8;
/// The bytes of the element types, by their numbers.
const BYTES: [usize; 10] = [1, 1, 4, 4, 8, 8, 2, 4, 8, 2];

/// The bytes of a small number.
fn encode(data_type: c_int, value: f64) -> Vec<u8> {
    let integer = value as i128;
    match data_type {
        0 => (integer as i8).to_le_bytes().into(),
        1 => (integer as u8).to_le_bytes().into(),
        2 => (integer as i32).to_le_bytes().into(),
        3 => (integer as u32).to_le_bytes().into(),
        4 => (integer as i64).to_le_bytes().into(),
        5 => (integer as u64).to_le_bytes().into(),
        6 => f16::from_f64(value).to_le_bytes().into(),
        7 => (value as f32).to_le_bytes().into(),
        8 => value.to_le_bytes().into(),
        _ => bf16::from_f64(value).to_le_bytes().into(),
    }
}

fn words(data_type: c_int, values: impl IntoIterator<Item = f64>) -> Vec<u32> {
    let bytes: Vec<u8> = values.into_iter().flat_map(|value| encode(data_type, value)).collect();
    bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

/// What a rank sends at a position.
fn value(rank: usize, at: usize) -> f64 {
    ((rank + 1) * (at % 3 + 1)) as f64
}

/// The reduction of what all ranks send at a position. The largest products exceed a byte.
fn reduced(data_type: c_int, op: c_int, ranks: usize, at: usize) -> f64 {
    let all = (0..ranks).map(|rank| value(rank, at));
    let wrapped = |value: f64| match data_type {
        0 => f64::from(value as i128 as i8),
        1 => f64::from(value as i128 as u8),
        _ => value,
    };
    match op {
        0 => all.sum(),
        1 => wrapped(all.product()),
        2 => all.fold(f64::MIN, f64::max),
        3 => all.fold(f64::MAX, f64::min),
        _ => all.sum::<f64>() / ranks as f64,
    }
}

/// The memory of a rank: for all ranks to send, and for all to receive.
struct Buffers {
    send: Vec<u64>,
    recv: Vec<u64>,
}

impl Buffers {
    fn new(members: &Members, data_type: c_int) -> Self {
        let all = COUNT * members.len();
        let send = members
            .iter()
            .map(|m| m.memory(&words(data_type, (0..all).map(|at| value(m.rank, at)))));
        let send = send.collect();
        let bytes = all * BYTES[data_type as usize];
        let recv = members.iter().map(|m| m.memory(&vec![0x7777_7777; bytes / 4])).collect();
        Self { send, recv }
    }

    /// What each rank has received in the first elements.
    fn check(
        &self,
        members: &Members,
        data_type: c_int,
        count: usize,
        expected: impl Fn(usize, usize) -> f64,
    ) {
        for m in members.iter() {
            let expected = words(data_type, (0..count).map(|at| expected(m.rank, at)));
            assert_eq!(m.words(self.recv[m.rank], expected.len()), expected, "rank {}", m.rank);
        }
    }
}

fn check_all_calls(members: &Members, threads: bool, data_type: c_int, op: c_int) {
    let ranks = members.len();
    let bytes = (COUNT * BYTES[data_type as usize]) as u64;
    let root = ranks - 1;
    let b = Buffers::new(members, data_type);
    all(members, threads, |m| {
        let (send, recv) = (b.send[m.rank], b.recv[m.rank]);
        ok(ncclAllReduce(send, recv, COUNT, data_type, op, m.comm, m.stream));
    });
    b.check(members, data_type, COUNT, |_, at| reduced(data_type, op, ranks, at));
    all(members, threads, |m| {
        let (send, recv) = (b.send[m.rank], b.recv[m.rank]);
        ok(ncclReduceScatter(send, recv, COUNT, data_type, op, m.comm, m.stream));
    });
    b.check(members, data_type, COUNT, |rank, at| reduced(data_type, op, ranks, rank * COUNT + at));
    all(members, threads, |m| {
        // Only the root receives.
        let recv = if m.rank == root { b.recv[m.rank] } else { NULL };
        let (send, root) = (b.send[m.rank], root as c_int);
        ok(ncclReduce(send, recv, COUNT, data_type, op, root, m.comm, m.stream));
    });
    b.check(members, data_type, COUNT, |rank, at| match rank == root {
        true => reduced(data_type, op, ranks, at),
        false => reduced(data_type, op, ranks, rank * COUNT + at),
    });
    all(members, threads, |m| {
        // Only the root sends.
        let send = if m.rank == root { b.send[m.rank] } else { NULL };
        let (recv, root) = (b.recv[m.rank], root as c_int);
        ok(ncclBroadcast(send, recv, COUNT, data_type, root, m.comm, m.stream));
    });
    b.check(members, data_type, COUNT, |_, at| value(root, at));
    all(members, threads, |m| {
        let (send, recv) = (b.send[m.rank], b.recv[m.rank]);
        ok(ncclAllGather(send, recv, COUNT, data_type, m.comm, m.stream));
    });
    b.check(members, data_type, COUNT * ranks, |_, at| value(at / COUNT, at % COUNT));
    // A ring.
    all(members, threads, |m| {
        let next = ((m.rank + 1) % ranks) as c_int;
        let last = ((m.rank + ranks - 1) % ranks) as c_int;
        ok(ncclGroupStart());
        ok(ncclSend(
            b.send[m.rank] + bytes * (m.rank as u64),
            COUNT,
            data_type,
            next,
            m.comm,
            m.stream,
        ));
        ok(ncclRecv(b.recv[m.rank], COUNT, data_type, last, m.comm, m.stream));
        ok(ncclGroupEnd());
    });
    b.check(members, data_type, COUNT, |rank, at| {
        let last = (rank + ranks - 1) % ranks;
        value(last, last * COUNT + at)
    });
}

#[test]
fn all_element_types_and_reductions() {
    for ranks in [1, 2, 3, 5] {
        for threads in [false, true] {
            let members = members(ranks, Schedule::Lazy, 0);
            for data_type in 0..10 {
                for op in 0..5 {
                    check_all_calls(&members, threads, data_type, op);
                }
            }
            close(members);
        }
    }
}

#[test]
fn all_schedules_with_many_seeds() {
    for schedule in SCHEDULES {
        for seed in 0..20 {
            let members = members([2, 3, 5][seed as usize % 3], schedule, seed);
            for _ in 0..2 {
                check_all_calls(&members, seed % 2 == 1, 7, 0);
            }
            close(members);
        }
    }
}

#[test]
fn calls_in_place() {
    for (schedule, threads) in SCHEDULES.iter().flat_map(|s| [(*s, false), (*s, true)]) {
        let members = members(3, schedule, 3);
        let own = |rank: usize| vec![rank as u32 + 1; 4];
        let x: Vec<u64> = members.iter().map(|m| m.memory(&own(m.rank))).collect();
        all(&members, threads, |m| ok(m.sum(x[m.rank], x[m.rank], 4)));
        members.iter().for_each(|m| assert_eq!(m.words(x[m.rank], 4), [6; 4]));
        // Each rank's part of 12 elements.
        let whole: Vec<u64> = members.iter().map(|m| m.memory(&[m.rank as u32 + 1; 12])).collect();
        let part = |m: &Member| whole[m.rank] + 16 * m.rank as u64;
        all(&members, threads, |m| {
            ok(ncclAllGather(part(m), whole[m.rank], 4, I32, m.comm, m.stream));
        });
        for m in members.iter() {
            assert_eq!(m.words(whole[m.rank], 12), [own(0), own(1), own(2)].concat());
        }
        all(&members, threads, |m| {
            ok(ncclReduceScatter(whole[m.rank], part(m), 4, I32, SUM, m.comm, m.stream));
        });
        for m in members.iter() {
            assert_eq!(m.words(part(m), 4), [3 * (m.rank as u32 + 1); 4]);
        }
        all(&members, threads, |m| {
            ok(ncclBroadcast(x[m.rank], x[m.rank], 4, I32, 1, m.comm, m.stream));
            ok(ncclReduce(whole[m.rank], whole[m.rank], 4, I32, 2, 0, m.comm, m.stream));
        });
        close(members);
    }
}

#[test]
fn other_overlaps_and_arguments_are_refused() {
    let members = members(2, Schedule::Lazy, 0);
    let (m, x) = (&members[0], members[0].alloc(64));
    let (comm, s) = (m.comm, m.stream);
    let refused = |code| assert_eq!(code, INVALID_ARGUMENT);
    refused(m.sum(x, x + 4, 4));
    refused(ncclAllGather(x + 4, x, 4, I32, comm, s));
    refused(ncclReduceScatter(x, x + 4, 4, I32, SUM, comm, s));
    refused(ncclReduce(x, x + 8, 4, I32, SUM, 0, comm, s));
    refused(ncclBroadcast(x, x + 8, 4, I32, 0, comm, s));
    refused(m.sum(NULL, x, 4));
    refused(m.sum(x, NULL, 4));
    refused(m.sum(x, x, usize::MAX / 2));
    refused(ncclAllReduce(x, x, 4, 10, SUM, comm, s));
    refused(ncclAllReduce(x, x, 4, -1, SUM, comm, s));
    refused(ncclAllReduce(x, x, 4, I32, 5, comm, s));
    refused(ncclReduce(x, x, 4, I32, SUM, 2, comm, s));
    refused(ncclBroadcast(x, x, 4, I32, -1, comm, s));
    refused(ncclSend(x, 4, I32, 2, comm, s));
    refused(ncclRecv(x, 4, I32, -1, comm, s));
    refused(ncclAllReduce(x, x, 4, I32, SUM, comm, members[1].stream));
    refused(ncclAllReduce(x, x, 4, I32, SUM, 0, s));
    refused(ncclAllReduce(x, x, 4, I32, SUM, s, s));
    refused(ncclCommCount(comm, nowhere()));
    // Collective calls of nothing are none.
    ok(m.sum(NULL, NULL, 0));
    assert_eq!(m.parts(), []);
    close(members);
}

#[test]
fn copies_keep_what_is_initialized_and_check_bounds() {
    let members = members(2, Schedule::Lazy, 0);
    let x: Vec<u64> = members.iter().map(|m| m.alloc(4)).collect();
    let y: Vec<u64> = members.iter().map(|m| m.memory(&[9; 4])).collect();
    members[0].with(|| ok(cuMemsetD32Async(x[0], 1, 2, members[0].stream)));
    all(&members, false, |m| ok(ncclBroadcast(x[m.rank], y[m.rank], 4, I32, 0, m.comm, m.stream)));
    assert_eq!(members[1].words(y[1], 2), [1; 2]);
    assert_eq!(members[1].reports(), []);
    members[1].words(y[1], 4);
    assert_eq!(members[1].reports(), [quadrants_driver_sim::ReportKind::Uninitialized]);
    // The last element is outside the memory of rank 1.
    let end = x[1] + 4;
    all(&members, false, |m| {
        let send = if m.rank == 1 { end } else { y[0] };
        ok(m.sum(send, y[m.rank], 4));
    });
    assert_eq!(members[1].synchronize(), 700);
    assert_eq!((members[0].error(), members[1].error()), (REMOTE_ERROR, UNHANDLED));
    members[0].set_limit(10);
    assert_eq!(members[0].synchronize(), TIMEOUT);
    members.iter().for_each(|m| ok(ncclCommAbort(m.comm)));
    ok(members[0].synchronize());
}

#[test]
fn pinned_memory_can_be_sent_and_received() {
    let members = members(2, Schedule::Lazy, 0);
    let pinned: Vec<u64> = members
        .iter()
        .map(|m| {
            let words = m.with(|| m.gpu.pinned(4));
            words.fill(m.rank as u32 + 5);
            words.as_mut_ptr() as u64
        })
        .collect();
    all(&members, false, |m| ok(m.sum(pinned[m.rank], pinned[m.rank], 4)));
    members.iter().for_each(|m| assert_eq!(m.words(pinned[m.rank], 4), [11; 4]));
    close(members);
}

#[test]
fn a_rank_can_send_to_itself() {
    for schedule in SCHEDULES {
        let members = members(2, schedule, 1);
        let m = &members[0];
        let (x, y) = (m.memory(&[4; 4]), m.alloc(4));
        ok(ncclGroupStart());
        ok(ncclRecv(y, 4, I32, 0, m.comm, m.stream));
        ok(ncclSend(x, 4, I32, 0, m.comm, m.stream));
        ok(ncclGroupEnd());
        assert_eq!(m.words(y, 4), [4; 4]);
        close(members);
    }
}
