//! Calls that do not match or are missing, deadlocks, aborts, broken communicators and faults.

use std::ffi::c_int;

use quadrants_driver_sim::{self as sim, Code, ReportKind, Schedule};

use super::support::*;

functions! { sim::cuda_symbol:
    cuStreamBeginCapture_v2(stream: usize, mode: u32);
    cuStreamEndCapture(stream: usize, graph: *mut usize);
}

const N: usize = 4;

fn memory(members: &Members) -> Vec<u64> {
    members.iter().map(|m| m.memory(&[1; N])).collect()
}

fn abort(members: &Members) {
    for m in members.iter() {
        ok(ncclCommAbort(m.comm));
    }
    for m in members.iter() {
        ok(m.synchronize());
        assert_eq!(m.gpu.world.live().communicators, 0);
        assert_eq!(m.gpu.world.live().pending, 0);
    }
}

#[test]
fn a_wait_for_a_missing_rank_ends_and_names_it() {
    for schedule in SCHEDULES {
        let members = members(3, schedule, 1);
        let x = memory(&members);
        for m in &members[..2] {
            ok(m.sum(x[m.rank], x[m.rank], N));
            m.set_limit(5);
        }
        let m = &members[0];
        let event = m.with(|| {
            let event = m.gpu.event();
            ok(cuEventRecord(event, m.stream));
            event
        });
        assert_eq!(m.synchronize(), TIMEOUT);
        m.with(|| assert_eq!((cuEventSynchronize(event), cuCtxSynchronize()), (TIMEOUT, TIMEOUT)));
        let mut host = [0; N];
        m.with(|| {
            assert_eq!(cuMemcpyDtoHAsync_v2(host.as_mut_ptr(), x[0], 4 * N, m.stream), TIMEOUT);
        });
        assert_eq!(ncclCommDestroy(m.comm), UNHANDLED, "its calls are not complete");
        let reports = m.gpu.world.reports();
        assert_eq!(m.reports(), [ReportKind::MissingRank; 5]);
        let text = reports[0].to_string();
        assert!(text.contains("ncclAllReduce (sum, 4 of int32)"), "{text}");
        assert!(text.ends_with(": rank 2 has not enqueued"), "{text}");
        // The context is not lost: the wait succeeds once the rank has called.
        ok(members[2].sum(x[2], x[2], N));
        assert_eq!(m.words(x[0], N), [3; N]);
        members.iter().for_each(|m| ok(ncclCommDestroy(m.comm)));
    }
}

#[test]
fn calls_that_do_not_match_are_reported() {
    type Call = fn(&Member, u64) -> c_int;
    let first: Call = |m, x| m.sum(x, x, N);
    let others: [Call; 6] = [
        |m, x| m.sum(x, x, N - 1),
        |m, x| ncclAllReduce(x, x, N, I32, 2, m.comm, m.stream),
        |m, x| ncclAllReduce(x, x, N, 7, SUM, m.comm, m.stream),
        |m, x| ncclBroadcast(x, x, N, I32, 0, m.comm, m.stream),
        |m, x| ncclReduce(x, x, N, I32, SUM, 0, m.comm, m.stream),
        |m, x| ncclReduceScatter(x, x + 4 * m.rank as u64, 1, I32, SUM, m.comm, m.stream),
    ];
    let roots: Call = |m, x| ncclBroadcast(x, x, N, I32, 1, m.comm, m.stream);
    let sends: Call = |m, x| ncclSend(x, N, I32, 1, m.comm, m.stream);
    let receives: Call = |m, x| ncclRecv(x, N - 1, I32, 0, m.comm, m.stream);
    let pairs = others.map(|other| (first, other));
    let pairs = pairs.into_iter().chain([(others[3], roots), (sends, receives)]);
    for ((a, b), schedule) in pairs.zip(SCHEDULES.into_iter().cycle()) {
        let members = members(2, schedule, 1);
        let x = memory(&members);
        ok(a(&members[0], x[0]));
        assert_eq!(members[0].error(), 0);
        ok(b(&members[1], x[1]));
        assert_eq!(members[1].reports(), [ReportKind::Mismatch]);
        members.iter().for_each(|m| assert_eq!(m.error(), INVALID_USAGE));
        members[0].set_limit(5);
        assert_eq!(members[0].synchronize(), TIMEOUT);
        abort(&members);
    }
}

#[test]
fn sends_before_receives_outside_a_group_end_by_the_limit() {
    for schedule in SCHEDULES {
        let members = members(2, schedule, 1);
        let [x, y] = [memory(&members), memory(&members)];
        for m in members.iter() {
            let peer = 1 - m.rank as c_int;
            ok(ncclSend(x[m.rank], N, I32, peer, m.comm, m.stream));
            ok(ncclRecv(y[m.rank], N, I32, peer, m.comm, m.stream));
            m.set_limit(5);
        }
        for m in members.iter() {
            (0..50).for_each(|_| m.with(|| assert_eq!(cuStreamQuery(m.stream), 600)));
            assert_eq!(m.synchronize(), TIMEOUT);
            assert_eq!(m.reports(), [ReportKind::Deadlock]);
        }
        abort(&members);
    }
}

#[test]
fn communicators_in_different_orders_are_a_deadlock() {
    let mut members = members(2, Schedule::Lazy, 1);
    let x = memory(&members);
    let id = get(ncclGetUniqueId);
    ok(ncclGroupStart());
    let second: Vec<usize> = members
        .iter()
        .map(|m| m.with(|| get(|out| ncclCommInitRank(out, 2, id, m.rank as c_int))))
        .collect();
    ok(ncclGroupEnd());
    for m in members.0.iter_mut() {
        let mut comms = [m.comm, second[m.rank]];
        if m.rank == 1 {
            comms.reverse();
        }
        for comm in comms {
            ok(ncclAllReduce(x[m.rank], x[m.rank], N, I32, SUM, comm, m.stream));
        }
        m.set_limit(5);
    }
    assert_eq!(members[0].synchronize(), TIMEOUT);
    assert_eq!(members[0].reports(), [ReportKind::Deadlock]);
    second.iter().for_each(|comm| ok(ncclCommAbort(*comm)));
    members.iter().for_each(|m| ok(m.synchronize()));
    members.iter().for_each(|m| ok(ncclCommDestroy(m.comm)));
}

#[test]
fn an_abort_ends_calls_without_effect() {
    for schedule in SCHEDULES {
        let members = members(2, schedule, 1);
        let x = memory(&members);
        let m = &members[0];
        ok(m.sum(x[0], x[0], N));
        ok(ncclCommAbort(m.comm));
        ok(m.synchronize());
        m.words(x[0], N);
        assert_eq!(m.reports(), [ReportKind::Uninitialized], "what was received is undefined");
        // The other rank needs an abort of its own.
        let other = &members[1];
        assert_eq!(other.error(), REMOTE_ERROR);
        ok(other.sum(x[1], x[1], N));
        other.set_limit(5);
        assert_eq!(other.synchronize(), TIMEOUT);
        ok(ncclCommAbort(other.comm));
        ok(other.synchronize());
    }
}

#[test]
fn an_abort_in_another_thread_ends_a_wait() {
    let members = members(2, Schedule::Lazy, 1);
    let x = memory(&members);
    let m = &members[0];
    ok(m.sum(x[0], x[0], N));
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| m.synchronize());
        std::thread::sleep(std::time::Duration::from_millis(20));
        ok(ncclCommAbort(m.comm));
        ok(waits.join().unwrap());
    });
    ok(ncclCommAbort(members[1].comm));
}

#[test]
fn broken_communicators_do_not_complete_until_they_are_aborted() {
    for schedule in SCHEDULES {
        let members = members(2, schedule, 1);
        let x = memory(&members);
        ok(members[0].sum(x[0], x[0], N));
        members[0].gpu.world.break_communicators();
        ok(members[1].sum(x[1], x[1], N));
        ok(members[0].sum(x[0], x[0], N));
        assert_eq!((members[0].error(), members[1].error()), (REMOTE_ERROR, 0));
        for m in members.iter() {
            m.set_limit(5);
            (0..20).for_each(|_| m.with(|| assert_eq!(cuStreamQuery(m.stream), 600)));
            assert_eq!(m.synchronize(), TIMEOUT);
            let text = m.gpu.world.reports()[0].to_string();
            assert!(text.contains("the communicator of rank 0 is broken"), "{text}");
        }
        ok(ncclCommAbort(members[0].comm));
        ok(members[0].synchronize());
        assert_eq!(members[1].error(), REMOTE_ERROR);
        ok(ncclCommAbort(members[1].comm));
        ok(members[1].synchronize());
    }
}

#[test]
fn a_lost_context_is_an_error_of_the_device() {
    let members = members(2, Schedule::Lazy, 1);
    let x = memory(&members);
    let m = &members[0];
    m.gpu.world.lose(Some("ncclAllReduce"), 1, Code::LAUNCH_FAILED);
    assert_eq!(m.sum(x[0], x[0], N), UNHANDLED);
    assert_eq!((m.sum(x[0], x[0], N), m.error()), (UNHANDLED, UNHANDLED));
    assert_eq!(ncclCommDestroy(m.comm), UNHANDLED);
    assert_eq!(members[1].error(), REMOTE_ERROR);
    members.iter().for_each(|m| ok(ncclCommAbort(m.comm)));
}

#[test]
fn calls_fail_on_demand() {
    let members = members(2, Schedule::Lazy, 1);
    let x = memory(&members);
    let m = &members[0];
    m.gpu.world.fail("ncclAllReduce", 2, Code(SYSTEM_ERROR));
    ok(m.sum(x[0], x[0], N));
    assert_eq!(m.sum(x[0], x[0], N), SYSTEM_ERROR);
    assert_eq!(m.parts().len(), 4);
    ok(members[1].sum(x[1], x[1], N));
    assert_eq!(m.words(x[0], N), [2; N]);
    m.gpu.world.fail("ncclCommGetAsyncError", 1, Code(SYSTEM_ERROR));
    assert_eq!(ncclCommGetAsyncError(m.comm, &mut 0), SYSTEM_ERROR);
    // Functions of no communicator belong to the current device.
    m.with(|| {
        m.gpu.world.fail("ncclGetUniqueId", 1, Code(SYSTEM_ERROR));
        assert_eq!(ncclGetUniqueId(&mut UniqueId::default()), SYSTEM_ERROR);
        let id = get(ncclGetUniqueId);
        m.gpu.world.fail("ncclCommInitRank", 1, Code(SYSTEM_ERROR));
        assert_eq!(ncclCommInitRank(&mut 0, 1, id, 0), SYSTEM_ERROR);
        // A group that fails at its end is over.
        ok(ncclGroupStart());
        ok(m.sum(x[0], x[0], N));
        m.gpu.world.fail("ncclGroupEnd", 1, Code(SYSTEM_ERROR));
        assert_eq!(ncclGroupEnd(), SYSTEM_ERROR);
        assert_eq!((ncclGroupEnd(), m.parts().len()), (INVALID_USAGE, 4));
        // A call that does nothing is missing.
        m.gpu.world.ignore("ncclAllReduce", 1);
        ok(m.sum(x[0], x[0], N));
        assert_eq!(m.parts().len(), 4);
        m.gpu.world.fail_often(Some("ncclAllReduce"), 1.0, Code(UNHANDLED));
        assert_eq!(m.sum(x[0], x[0], N), UNHANDLED);
        m.gpu.world.disarm_faults();
    });
    close(members);
}

#[test]
fn calls_cannot_be_captured() {
    let members = members(1, Schedule::Lazy, 1);
    let x = memory(&members);
    let m = &members[0];
    m.with(|| {
        ok(cuStreamBeginCapture_v2(m.stream, 2));
        assert_eq!(m.sum(x[0], x[0], N), INVALID_USAGE);
        ok(cuGraphDestroy(get(|out| cuStreamEndCapture(m.stream, out))));
    });
    close(members);
}

#[test]
fn memory_that_is_freed_too_early_is_reported() {
    let members = members(2, Schedule::Lazy, 1);
    let x = memory(&members);
    let y = memory(&members);
    members.iter().for_each(|m| ok(m.sum(x[m.rank], y[m.rank], N)));
    members[0].with(|| ok(cuMemFree_v2(y[0])));
    assert_eq!(members[0].synchronize(), 700);
    let after_free = ReportKind::Access(quadrants_driver_sim::InvalidAccess::AfterFree);
    assert_eq!(members[0].reports(), [after_free]);
    assert_eq!(members[0].races().len(), 1);
    // All ranks have read what they send, so the other one has what it needs.
    assert_eq!(members[1].words(y[1], N), [2; N]);
    members.iter().for_each(|m| ok(ncclCommAbort(m.comm)));
}

#[test]
fn a_context_is_released_although_its_calls_never_complete() {
    let members = members(2, Schedule::Lazy, 1);
    let x = memory(&members);
    let m = &members[0];
    ok(m.sum(x[0], x[0], N));
    m.set_limit(5);
    assert_eq!(cuDevicePrimaryCtxRelease_v2(m.gpu.device()), TIMEOUT);
    assert_eq!(m.gpu.world.live().context_refs, 0);
    assert_eq!(members[1].error(), REMOTE_ERROR);
    ok(ncclCommAbort(members[1].comm));
}

#[test]
fn ranks_that_are_aborted_at_any_time_end_all_waits() {
    for (schedule, seed) in SCHEDULES.iter().flat_map(|s| (0..10).map(|seed| (*s, seed))) {
        let members = members(3, schedule, seed);
        let x = memory(&members);
        std::thread::scope(|scope| {
            for m in members.iter() {
                let (x, leaves) = (x[m.rank], 3 + seed as usize % 5);
                scope.spawn(move || {
                    for round in 0.. {
                        ok(m.sum(x, x, N));
                        if m.rank == 0 && round == leaves {
                            break;
                        }
                        let waits = || m.with(|| cuStreamQuery(m.stream)) == 600;
                        while waits() && m.error() == 0 {
                            std::thread::yield_now();
                        }
                        if m.error() != 0 {
                            assert_eq!(m.error(), REMOTE_ERROR);
                            break;
                        }
                    }
                    ok(ncclCommAbort(m.comm));
                    ok(m.synchronize());
                });
            }
        });
        for m in members.iter() {
            assert_eq!((m.gpu.world.live().pending, m.races(), m.reports()), (0, vec![], vec![]));
        }
    }
}
