//! The order of calls with other work: missing dependencies are races on each device, and what a call orders across
//! devices is not.

use std::ffi::c_int;

use quadrants_driver_sim::{AccessKind, OpKind, Schedule};

use super::support::*;

const N: usize = 16;
const CALL: OpKind = OpKind::Collective("ncclAllReduce");

/// A stream's later work waits for another one's.
fn edge(m: &Member, from: usize, to: usize) {
    m.with(|| {
        let event = m.gpu.event();
        ok(cuEventRecord(event, from));
        ok(cuStreamWaitEvent(to, event, 0));
        ok(cuEventDestroy_v2(event));
    });
}

#[test]
fn each_missing_wait_is_a_race_on_its_device() {
    // The device with a missing wait, and which of them.
    let missing = [None, Some(0), Some(1), Some(2), Some(3)];
    for (schedule, missing) in SCHEDULES.iter().flat_map(|s| missing.map(|m| (*s, m))) {
        for (rank, threads) in [(0, false), (1, false), (1, true)] {
            let members = members(2, schedule, 5);
            let [send, recv]: [Vec<u64>; 2] =
                [(); 2].map(|()| members.iter().map(|m| m.memory(&[0; N])).collect());
            let others: Vec<usize> = members.iter().map(|m| m.with(|| m.gpu.stream())).collect();
            let calls = |m: &Member| {
                let other = others[m.rank];
                m.with(|| ok(cuMemsetD32Async(send[m.rank], 3, N, other)));
                if missing != Some(0) || rank != m.rank {
                    edge(m, other, m.stream);
                }
                ok(m.sum(send[m.rank], recv[m.rank], N));
            };
            // The host must wait for nothing.
            match threads {
                true => std::thread::scope(|scope| {
                    members.iter().for_each(|m| drop(scope.spawn(|| calls(m))));
                }),
                false => all(&members, false, calls),
            }
            for m in members.iter() {
                let [writer, reader] = m.with(|| [(); 2].map(|()| m.gpu.stream()));
                let out = m.alloc(N);
                let order = |step, from, to| {
                    if missing != Some(step) || rank != m.rank {
                        edge(m, from, to);
                    }
                };
                order(1, m.stream, writer);
                if missing == Some(1) {
                    // Only the order after the call is missing.
                    edge(m, others[m.rank], writer);
                }
                if missing != Some(0) {
                    m.with(|| ok(cuMemsetD32Async(send[m.rank], 4, N, writer)));
                }
                order(2, m.stream, reader);
                m.with(|| ok(cuMemcpyDtoDAsync_v2(out, recv[m.rank], 4 * N, reader)));
                order(3, reader, m.stream);
                m.with(|| ok(cuMemsetD32Async(recv[m.rank], 5, N, m.stream)));
            }
            // A wait for one rank tells the host that the others have read what they sent.
            members.iter().for_each(|m| m.with(|| ok(cuCtxSynchronize())));
            for m in members.iter() {
                let races = m.races();
                if missing.is_none() || rank != m.rank {
                    assert_eq!(races, [], "{schedule:?} {missing:?} {rank}");
                    continue;
                }
                let [race] = &races[..] else { panic!("{schedule:?} {missing:?}: {races:?}") };
                let kinds = (race.first.kind.clone(), race.second.kind.clone());
                let touches = (race.first.access, race.second.access);
                let expected = match missing {
                    Some(0) => ((OpKind::Fill, CALL), (AccessKind::Write, AccessKind::Read)),
                    Some(1) => ((CALL, OpKind::Fill), (AccessKind::Read, AccessKind::Write)),
                    Some(2) => ((CALL, OpKind::CopyDtod), (AccessKind::Write, AccessKind::Read)),
                    _ => ((OpKind::CopyDtod, OpKind::Fill), (AccessKind::Read, AccessKind::Write)),
                };
                assert_eq!((kinds, touches, race.bytes), (expected.0, expected.1, 4 * N));
            }
        }
    }
}

#[test]
fn a_missing_wait_shows_in_the_results_of_an_adversary() {
    let members = members(2, Schedule::Adversarial, 0);
    let [send, recv]: [Vec<u64>; 2] =
        [(); 2].map(|()| members.iter().map(|m| m.memory(&[1; N])).collect());
    all(&members, false, |m| ok(m.sum(send[m.rank], recv[m.rank], N)));
    let m = &members[1];
    m.with(|| {
        let writer = m.gpu.stream();
        ok(cuMemsetD32Async(send[1], 7, N, writer));
    });
    assert_eq!(members[0].words(recv[0], N), [8; N], "the read came too late");
    assert_eq!(m.races().len(), 1);
}

/// What precedes a call on one device is complete for what follows it on another one, even if the other one made its
/// call first.
#[test]
fn a_call_orders_the_work_of_all_ranks() {
    for (schedule, first) in SCHEDULES.iter().flat_map(|s| [(*s, 0), (*s, 1)]) {
        let members = members(2, schedule, 4);
        let (a, b) = (&members[0], &members[1]);
        let sums: Vec<u64> = members.iter().map(|m| m.memory(&[1; N])).collect();
        let (x, y) = (a.memory(&[3; N]), b.memory(&[0; N]));
        let (aside, event) = (b.with(|| b.gpu.stream()), a.with(|| a.gpu.event()));
        let call_of_a = || {
            ok(a.sum(sums[0], sums[0], N));
            a.with(|| {
                // Writes what `b` read before its call, and records that.
                ok(cuMemsetD32Async(x, 4, N, a.stream));
                ok(cuEventRecord(event, a.stream));
            });
        };
        // `b` waits for the record on another stream, and changes what it wrote before its call.
        let after_on_b = || {
            b.with(|| {
                ok(cuStreamWaitEvent(aside, event, 0));
                ok(cuMemsetD32Async(y, 9, N, aside));
            });
        };
        if first == 0 {
            call_of_a();
            after_on_b();
        }
        b.with(|| {
            let (to, of) = (b.gpu.context, a.gpu.context);
            ok(cuMemcpyPeerAsync(y, to, x, of, 4 * N, b.stream));
        });
        ok(b.sum(sums[1], sums[1], N));
        if first == 1 {
            call_of_a();
            after_on_b();
        }
        b.with(|| ok(cuStreamSynchronize(aside)));
        a.with(|| ok(cuCtxSynchronize()));
        ok(b.synchronize());
        assert_eq!((b.words(y, N), a.words(x, N)), (vec![9; N], vec![4; N]));
        close(members);
    }
}

#[test]
fn a_wait_of_one_rank_does_not_cover_the_writes_of_others() {
    let members = members(2, Schedule::Lazy, 4);
    let x: Vec<u64> = members.iter().map(|m| m.memory(&[1; N])).collect();
    all(&members, false, |m| ok(m.sum(x[m.rank], x[m.rank], N)));
    ok(members[0].synchronize());
    let m = &members[1];
    m.with(|| {
        let other = m.gpu.stream();
        ok(cuMemsetD32Async(x[1], 4, N, other));
        ok(cuCtxSynchronize());
    });
    assert_eq!((members[0].races().len(), m.races().len()), (0, 1));
}

#[test]
fn the_calls_of_a_group_are_concurrent_and_span_its_streams() {
    for schedule in SCHEDULES {
        let members = members(2, schedule, 8);
        let [x, y, z]: [Vec<u64>; 3] =
            [(); 3].map(|()| members.iter().map(|m| m.memory(&[1; N])).collect());
        let aside: Vec<usize> = members.iter().map(|m| m.with(|| m.gpu.stream())).collect();
        for m in members.iter() {
            m.with(|| ok(cuMemsetD32Async(x[m.rank], 2, N, aside[m.rank])));
        }
        // The call on the stream reads what the other stream of the group wrote.
        all(&members, false, |m| {
            ok(m.sum(x[m.rank], y[m.rank], N));
            ok(ncclAllReduce(z[m.rank], z[m.rank], N, I32, SUM, m.comm, aside[m.rank]));
        });
        for m in members.iter() {
            m.with(|| ok(cuMemsetD32Async(y[m.rank], 5, N, aside[m.rank])));
            assert_eq!(m.words(z[m.rank], N), [2; N]);
        }
        members.iter().for_each(|m| m.with(|| ok(cuCtxSynchronize())));
        members.iter().for_each(|m| assert_eq!(m.races(), [], "{schedule:?}"));
        // The second call reads what the first one writes.
        all(&members, false, |m| {
            ok(m.sum(x[m.rank], y[m.rank], N));
            ok(m.sum(y[m.rank], z[m.rank], N));
        });
        members.iter().for_each(|m| m.with(|| ok(cuCtxSynchronize())));
        members.iter().for_each(|m| assert_eq!(m.races().len(), 1, "{schedule:?}"));
    }
}

#[test]
fn queries_are_not_ready_until_all_ranks_have_called() {
    for schedule in SCHEDULES {
        let members = members(2, schedule, 3);
        let x: Vec<u64> = members.iter().map(|m| m.memory(&[1; N])).collect();
        let m = &members[0];
        ok(m.sum(x[0], x[0], N));
        let event = m.with(|| {
            let event = m.gpu.event();
            ok(cuEventRecord(event, m.stream));
            event
        });
        for _ in 0..50 {
            m.with(|| assert_eq!((cuStreamQuery(m.stream), cuEventQuery(event)), (600, 600)));
        }
        ok(members[1].sum(x[1], x[1], N));
        let queries = (0..1000).take_while(|_| m.with(|| cuEventQuery(event)) == 600).count();
        assert!(queries < 1000, "{schedule:?}");
        assert_eq!(m.words(x[0], N), [2; N]);
        close(members);
    }
}

#[test]
fn waits_go_on_when_another_thread_makes_its_call() {
    for schedule in SCHEDULES {
        let members = members(3, schedule, 3);
        let x: Vec<u64> = members.iter().map(|m| m.memory(&[1; N])).collect();
        std::thread::scope(|scope| {
            for m in members.iter() {
                let x = &x;
                scope.spawn(move || {
                    for round in 0..20 {
                        if round % 3 == m.rank {
                            std::thread::sleep(std::time::Duration::from_millis(2));
                        }
                        ok(m.sum(x[m.rank], x[m.rank], N));
                        match round % 4 {
                            0 => ok(m.synchronize()),
                            1 => m.with(|| ok(cuCtxSynchronize())),
                            2 => {
                                let sum = 3u32.pow(round as u32 + 1);
                                assert_eq!(m.words(x[m.rank], N), [sum; N]);
                            }
                            _ => {}
                        }
                    }
                });
            }
        });
        close(members);
    }
}

#[test]
fn calls_have_their_names_in_the_trace() {
    let members = members(2, Schedule::Lazy, 0);
    let x: Vec<u64> = members.iter().map(|m| m.memory(&[1; N])).collect();
    all(&members, false, |m| ok(m.sum(x[m.rank], x[m.rank], N)));
    assert_eq!(members[0].parts(), [CALL, CALL, CALL, CALL], "start, read, write, end");
    let m = &members[0];
    ok(m.synchronize());
    assert!(m.gpu.world.timeline_text().contains("ncclAllReduce on stream"));
    assert_eq!(m.gpu.world.calls("ncclAllReduce"), 1);
    close(members);
}

#[test]
fn seeds_are_explored_and_repeat_their_schedule() {
    let members = members(2, Schedule::Lazy, 0);
    let [x, y]: [Vec<u64>; 2] =
        [(); 2].map(|()| members.iter().map(|m| m.memory(&[1; N])).collect());
    let m = &members[0];
    let mut hashes = [Vec::new(), Vec::new()];
    for hashes in &mut hashes {
        members[1].gpu.world.set_seed(0);
        let explored = m.gpu.world.explore(Schedule::Random, 0..100, |_| -> Result<(), c_int> {
            let before = m.gpu.world.executed();
            for _ in 0..3 {
                all(&members, false, |m| ok(m.sum(x[m.rank], y[m.rank], N)));
                all(&members, false, |m| ok(m.sum(x[m.rank], y[m.rank], N)));
            }
            assert_eq!(m.words(y[0], N), [2; N]);
            ok(members[1].synchronize());
            hashes.push(m.gpu.world.executed() - before);
            Ok(())
        });
        assert_eq!(explored, Ok(()));
    }
    assert_eq!(hashes[0], hashes[1]);
    close(members);
}

#[test]
fn many_calls_without_a_wait_complete() {
    for schedule in SCHEDULES {
        let members = members(2, schedule, 3);
        let x: Vec<u64> = members.iter().map(|m| m.memory(&[0; N])).collect();
        // This schedule compares all pending operations with each other.
        let rounds = if schedule == Schedule::Adversarial { 60 } else { 1500 };
        for round in 0..rounds {
            if round % 10 == 0 {
                members.iter().for_each(|m| ok(m.sum(x[m.rank], x[m.rank], N)));
            } else {
                all(&members, false, |m| ok(m.sum(x[m.rank], x[m.rank], N)));
            }
        }
        members.iter().for_each(|m| assert_eq!(m.words(x[m.rank], N), [0; N]));
        close(members);
    }
}

#[test]
fn transfers_outside_groups_pass_along_a_chain() {
    for (schedule, threads) in SCHEDULES.iter().flat_map(|s| [(*s, false), (*s, true)]) {
        let members = members(3, schedule, 3);
        let x: Vec<u64> = members.iter().map(|m| m.memory(&[m.rank as u32; N])).collect();
        let calls = |m: &Member| {
            for _ in 0..3 {
                if m.rank > 0 {
                    ok(ncclRecv(x[m.rank], N, I32, m.rank as c_int - 1, m.comm, m.stream));
                }
                if m.rank < 2 {
                    ok(ncclSend(x[m.rank], N, I32, m.rank as c_int + 1, m.comm, m.stream));
                }
            }
        };
        match threads {
            true => all(&members, true, calls),
            false => members.iter().rev().for_each(calls),
        }
        members.iter().rev().for_each(|m| assert_eq!(m.words(x[m.rank], N), [0; N]));
        close(members);
    }
}
