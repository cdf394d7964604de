//! The creation and the end of communicators.

use std::{ffi::c_int, time::Instant};

use quadrants_driver_sim::{ReportKind, Schedule};

use super::{super::hip, support::*};

#[test]
fn texts_and_the_version() {
    assert_eq!(get(ncclGetVersion), 22_803);
    assert_eq!(ncclGetVersion(nowhere()), INVALID_ARGUMENT);
    assert_eq!(text_of("ncclGetErrorString", 0), "no error");
    assert_eq!(text_of("ncclGetErrorString", 7), "NCCL operation in progress");
    assert_eq!(text_of("ncclGetErrorString", 99), "unknown result code");
    assert_eq!(text_of("ncclGetLastError", 0), "");
    let members = members(2, Schedule::Lazy, 0);
    assert_eq!(text_of("ncclGetLastError", members[0].comm), "no error");
    members[0].gpu.world.break_communicators();
    assert!(text_of("ncclGetLastError", members[0].comm).starts_with("remote process"));
    members.iter().for_each(|m| ok(ncclCommAbort(m.comm)));
}

#[test]
fn a_thread_per_rank_creates_communicators() {
    for count in [1, 2, 5] {
        let members = devices(count, Schedule::Lazy, 0);
        let id = get(ncclGetUniqueId);
        std::thread::scope(|scope| {
            for m in members.iter() {
                scope.spawn(move || {
                    let init = |out| ncclCommInitRank(out, count as c_int, id, m.rank as c_int);
                    let comm = m.with(|| get(init));
                    assert_eq!(get(|out| ncclCommCount(comm, out)), count as c_int);
                    assert_eq!(get(|out| ncclCommUserRank(comm, out)), m.rank as c_int);
                    assert_eq!(get(|out| ncclCommCuDevice(comm, out)), m.gpu.device());
                    assert_eq!(m.gpu.world.live().communicators, 1);
                    ok(ncclCommDestroy(comm));
                    assert_eq!(m.gpu.world.live().communicators, 0);
                    assert_eq!(m.gpu.world.creates().communicators, 1);
                });
            }
        });
        // The id is used up.
        let m = &members[0];
        m.with(|| assert_eq!(ncclCommInitRank(&mut 0, 1, id, 0), INVALID_ARGUMENT));
    }
}

#[test]
fn wrong_arguments_create_nothing() {
    let members = devices(2, Schedule::Lazy, 0);
    let id = get(ncclGetUniqueId);
    let m = &members[0];
    m.with(|| {
        let refused = |code| assert_eq!(code, INVALID_ARGUMENT);
        refused(ncclCommInitRank(&mut 0, 2, id, 2));
        refused(ncclCommInitRank(&mut 0, 2, id, -1));
        refused(ncclCommInitRank(&mut 0, 0, id, 0));
        refused(ncclCommInitRank(nowhere(), 1, id, 0));
        refused(ncclCommInitRank(&mut 0, 1, UniqueId::default(), 0));
        let config = |change: fn(&mut Config)| {
            let mut config = no_blocking();
            change(&mut config);
            config
        };
        let changes: [fn(&mut Config); 4] =
            [|c| c.magic = 1, |c| c.size = 8, |c| c.version = 0, |c| c.blocking = 7];
        for change in changes {
            refused(ncclCommInitRankConfig(&mut 0, 1, id, 0, &config(change)));
        }
        assert_eq!(m.gpu.world.live().communicators, 0);
        let blocking = config(|c| c.blocking = c_int::MIN);
        let comm = get(|out| ncclCommInitRankConfig(out, 1, id, 0, &blocking));
        ok(ncclCommDestroy(comm));
        let id = get(ncclGetUniqueId);
        ok(ncclCommDestroy(get(|out| ncclCommInitRankConfig(out, 1, id, 0, std::ptr::null()))));
    });
    assert_eq!(ncclGroupEnd(), INVALID_USAGE, "no group is open");
}

#[test]
fn a_device_has_one_rank() {
    let members = devices(1, Schedule::Lazy, 0);
    let id = get(ncclGetUniqueId);
    let m = &members[0];
    m.with(|| {
        let first = &mut 0;
        assert_eq!(ncclCommInitRankConfig(first, 2, id, 0, &no_blocking()), IN_PROGRESS);
        assert_eq!(ncclCommInitRank(&mut 0, 2, id, 1), INVALID_USAGE);
        assert_eq!(get(|out| ncclCommGetAsyncError(*first, out)), INVALID_USAGE);
        ok(ncclCommAbort(*first));
        assert_eq!(m.gpu.world.live().communicators, 0);
    });
}

#[test]
fn the_creation_waits_for_missing_ranks_for_a_limited_time() {
    let members = devices(2, Schedule::Lazy, 0);
    let id = get(ncclGetUniqueId);
    members[0].set_limit(5);
    let start = Instant::now();
    members[0].with(|| assert_eq!(ncclCommInitRank(&mut 0, 2, id, 0), SYSTEM_ERROR));
    assert!(start.elapsed().as_millis() >= 15);
    members[1].with(|| assert_eq!(ncclCommInitRank(&mut 0, 2, id, 1), INVALID_ARGUMENT));
    members.iter().for_each(|m| assert_eq!(m.gpu.world.live().communicators, 0));
}

#[test]
fn without_blocking_the_creation_is_in_progress() {
    let mut members = devices(2, Schedule::Lazy, 0);
    let id = get(ncclGetUniqueId);
    for (at, m) in members.0.iter_mut().enumerate() {
        ok(cuCtxPushCurrent_v2(m.gpu.context));
        let code = ncclCommInitRankConfig(&mut m.comm, 2, id, at as c_int, &no_blocking());
        assert_eq!(code, IN_PROGRESS);
        get(cuCtxPopCurrent_v2);
        if at == 0 {
            assert_eq!(m.error(), IN_PROGRESS);
            assert_eq!(m.sum(4, 4, 1), INVALID_USAGE);
            assert_eq!(ncclCommDestroy(m.comm), INVALID_USAGE);
            assert_eq!(ncclCommFinalize(m.comm), INVALID_USAGE);
        }
    }
    members.iter().for_each(|m| assert_eq!(m.error(), 0));
    for m in members.iter() {
        assert_eq!(ncclCommFinalize(m.comm), IN_PROGRESS);
        assert_eq!(settle(m).0, 0);
        assert_eq!(m.sum(4, 4, 1), INVALID_USAGE, "it takes no calls any more");
        ok(ncclCommDestroy(m.comm));
    }
}

#[test]
fn without_blocking_the_first_calls_are_enqueued_late() {
    for schedule in SCHEDULES {
        let mut members = devices(2, schedule, 0);
        open_without_blocking(&mut members);
        members.iter().for_each(|m| assert_eq!(m.error(), 0));
        let x: Vec<u64> = members.iter().map(|m| m.memory(&[1; 4])).collect();
        for round in 0..4 {
            let expected = if round < 2 { IN_PROGRESS } else { 0 };
            ok(ncclGroupStart());
            members.iter().for_each(|m| ok(m.sum(x[m.rank], x[m.rank], 4)));
            assert_eq!(ncclGroupEnd(), expected);
            for m in members.iter() {
                if expected == IN_PROGRESS {
                    // A program that does not ask for the state misses the call.
                    assert_eq!(m.parts().len(), 4 * round);
                    ok(cuStreamQuery(m.stream));
                    assert_eq!(m.sum(x[m.rank], x[m.rank], 4), INVALID_USAGE);
                }
                assert_eq!(settle(m), (0, usize::from(expected == IN_PROGRESS)));
            }
            let sum = 2u32.pow(round as u32 + 1);
            members.iter().for_each(|m| assert_eq!(m.words(x[m.rank], 4), [sum; 4]));
        }
        members.iter().for_each(|m| ok(ncclCommDestroy(m.comm)));
        members.iter().for_each(|m| assert_eq!(m.races(), []));
    }
}

#[test]
fn a_finalized_communicator_makes_progress_when_its_state_is_asked() {
    let mut members = devices(2, Schedule::Lazy, 0);
    open_without_blocking(&mut members);
    let x: Vec<u64> = members.iter().map(|m| m.memory(&[1; 4])).collect();
    for m in members.iter() {
        assert_eq!(m.sum(x[m.rank], x[m.rank], 4), IN_PROGRESS);
        assert_eq!(settle(m).0, 0);
    }
    for m in members.iter() {
        assert_eq!(ncclCommFinalize(m.comm), IN_PROGRESS);
        let (status, waits) = settle(m);
        assert!(status == 0 && waits > 0, "{status} {waits}");
        ok(cuStreamQuery(m.stream));
        ok(ncclCommDestroy(m.comm));
    }
}

#[test]
fn groups_are_nested_and_end_with_their_first_error() {
    let members = members(2, Schedule::Lazy, 0);
    let x: Vec<u64> = members.iter().map(|m| m.memory(&[1; 4])).collect();
    ok(ncclGroupStart());
    for m in members.iter() {
        ok(ncclGroupStart());
        ok(m.sum(x[m.rank], x[m.rank], 4));
        ok(ncclGroupEnd());
        assert_eq!(m.parts(), []);
    }
    ok(ncclGroupEnd());
    members.iter().for_each(|m| assert_eq!(m.words(x[m.rank], 4), [2; 4]));
    ok(ncclGroupStart());
    ok(members[0].sum(x[0], x[0], 4));
    assert_eq!(members[1].sum(NULL, x[1], 4), INVALID_ARGUMENT);
    assert_eq!(ncclGroupEnd(), INVALID_ARGUMENT);
    assert_eq!(members[0].parts().len(), 4, "nothing of the group is enqueued");
    close(members);
}

#[test]
fn a_destroyed_communicator_is_recognized() {
    let members = members(2, Schedule::Lazy, 0);
    let m = &members[0];
    ok(ncclCommDestroy(m.comm));
    assert_eq!(m.sum(4, 4, 1), INVALID_ARGUMENT);
    assert_eq!(ncclCommAbort(m.comm), INVALID_ARGUMENT);
    assert_eq!(m.reports(), [ReportKind::DestroyedCommunicator; 2]);
    assert!(m.gpu.world.reports()[0].to_string().contains("ncclAllReduce with 0x5a"));
    ok(ncclCommDestroy(members[1].comm));
}

#[test]
fn a_reset_of_the_world_destroys_its_communicators() {
    let members = members(2, Schedule::Lazy, 0);
    let x = members[1].memory(&[1; 4]);
    ok(members[1].sum(x, x, 4));
    members[0].gpu.world.reset();
    assert_eq!(members[0].gpu.world.live().communicators, 0);
    assert_eq!(ncclCommDestroy(members[0].comm), INVALID_ARGUMENT);
    assert_eq!(members[1].error(), REMOTE_ERROR);
    ok(ncclCommAbort(members[1].comm));
    ok(members[1].synchronize());
}

#[test]
fn a_released_context_leaves_its_communicators_behind() {
    let members = members(2, Schedule::Lazy, 0);
    let m = &members[0];
    ok(cuDevicePrimaryCtxRelease_v2(m.gpu.device()));
    let world = &m.gpu.world;
    assert_eq!((world.left_behind().communicators, world.live().communicators), (1, 0));
    ok(ncclCommDestroy(members[1].comm));
}

#[test]
fn hip_devices_have_ranks_too() {
    let leases = [(); 2].map(|()| quadrants_driver_sim::lease_world());
    let id = get(ncclGetUniqueId);
    ok(ncclGroupStart());
    let comms = [0, 1].map(|rank| {
        ok(hip::hipSetDevice(leases[rank].ordinal() as c_int));
        get(|out| ncclCommInitRank(out, 2, id, rank as c_int))
    });
    ok(ncclGroupEnd());
    let memory = leases.each_ref().map(|lease| {
        ok(hip::hipSetDevice(lease.ordinal() as c_int));
        let memory = get(|out| hip::hipMalloc(out, 16));
        ok(hip::hipMemsetD32Async(memory, 3, 4, 0));
        memory
    });
    ok(ncclGroupStart());
    for rank in 0..2 {
        ok(ncclAllReduce(memory[rank] as u64, memory[rank] as u64, 4, I32, SUM, comms[rank], 0));
    }
    ok(ncclGroupEnd());
    for rank in 0..2 {
        ok(hip::hipSetDevice(leases[rank].ordinal() as c_int));
        let mut host = [0u32; 4];
        ok(hip::hipMemcpyDtoHAsync(host.as_mut_ptr(), memory[rank], 16, 0));
        assert_eq!(host, [6; 4]);
        ok(ncclCommDestroy(comms[rank]));
        ok(hip::hipFree(memory[rank]));
    }
}
