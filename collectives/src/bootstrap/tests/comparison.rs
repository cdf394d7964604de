//! The comparison of calls of communicators.

use std::time::{Duration, Instant};

use super::{ProcessGroup, at_once, group};
use crate::{
    bootstrap::{Error, Refusal, message::MOST_CALLS},
    call::{CallKind, CollectiveCall, GroupPosition},
    call_matching::Mismatch,
    element::{DataType, Reduction},
    library_mismatch::{LibraryMismatch, NONE},
};

const LONG: Duration = Duration::from_secs(20);
const SOON: Duration = Duration::from_secs(3);

pub(super) fn all_reduce(count: usize) -> CollectiveCall {
    let (kind, group_position) =
        (CallKind::AllReduce(Reduction::Sum), GroupPosition { index: 0, of: 1 });
    CollectiveCall { kind, count, data_type: DataType::F32, group_position }
}

fn transfer(kind: CallKind) -> CollectiveCall {
    CollectiveCall {
        kind,
        count: 5,
        data_type: DataType::F32,
        group_position: GroupPosition::default(),
    }
}

/// Joins a communicator.
fn join(group: &ProcessGroup) -> u64 {
    let (id, number) = group.join_communicator(&[7; 128], "a library", true).unwrap().unwrap();
    assert_eq!(id, [7; 128]);
    number.unwrap()
}

fn compare(
    group: &ProcessGroup,
    communicator: u64,
    calls: &[CollectiveCall],
) -> Result<(), Refusal> {
    group.compare(communicator, calls, LONG, &|| false)
}

/// Drops groups of one thread. That of rank 0 waits for the others.
fn end(groups: Vec<ProcessGroup>) {
    groups.into_iter().rev().for_each(drop);
}

#[test]
fn a_rank_does_not_wait_for_the_others() {
    let groups = group(3);
    let numbers = at_once(&groups, join);
    for rank in [2, 0, 1] {
        let start = Instant::now();
        for count in 0..100 {
            compare(&groups[rank], numbers[rank], &[all_reduce(count)]).unwrap();
        }
        println!("rank {rank}: {:?} for each comparison", start.elapsed() / 100);
    }
    end(groups);
}

#[test]
fn a_mismatch_is_known_to_all() {
    for wrong in 0..3 {
        let groups = group(3);
        let numbers = at_once(&groups, join);
        let other = at_once(&groups, join);
        let rest: Vec<_> = (0..3).filter(|rank| *rank != wrong).collect();
        for rank in &rest {
            compare(&groups[*rank], numbers[0], &[all_reduce(1), all_reduce(2)]).unwrap();
        }
        let calls = [all_reduce(1), all_reduce(3)];
        let refusal = compare(&groups[wrong], numbers[0], &calls).unwrap_err();
        let Refusal::Mismatch(mismatch) = refusal else { panic!("{refusal:?}") };
        let (call, other_call) = (all_reduce(3), all_reduce(2));
        let expected = Mismatch { rank: wrong, call, other: rest[0], other_call, number: 2 };
        assert_eq!(mismatch, expected);
        for group in &groups {
            super::eventually(SOON, || group.mismatch(numbers[0]).is_some());
            assert_eq!(group.mismatch(numbers[0]), Some(expected));
            // For every later call, too.
            let refusal = compare(group, numbers[0], &[all_reduce(2)]).unwrap_err();
            assert!(matches!(refusal, Refusal::Mismatch(found) if found == expected));
        }
        // Another communicator goes on.
        at_once(&groups, |group| compare(group, other[0], &[all_reduce(9)]).unwrap());
        assert!(groups[0].mismatch(other[0]).is_none());
        end(groups);
    }
}

#[test]
fn communicators_of_several_threads_are_told_apart() {
    let groups = group(2);
    let numbers: Vec<u64> = (0..4).map(|_| at_once(&groups, join)[0]).collect();
    at_once(&groups, |group| {
        std::thread::scope(|scope| {
            for number in &numbers {
                scope.spawn(move || {
                    for round in 0..200 {
                        let count = round + *number as usize * 1000;
                        compare(group, *number, &[all_reduce(count)]).unwrap();
                    }
                });
            }
        });
    });
    end(groups);
}

#[test]
fn a_group_of_many_calls_is_compared_in_parts() {
    let groups = group(2);
    let numbers = at_once(&groups, join);
    let calls: Vec<_> = (0..MOST_CALLS * 3 + 1).map(all_reduce).collect();
    at_once(&groups, |group| compare(group, numbers[0], &calls).unwrap());
    let mut wrong = calls.clone();
    wrong[MOST_CALLS * 2].count += 1;
    compare(&groups[0], numbers[0], &calls).unwrap();
    assert!(compare(&groups[1], numbers[0], &wrong).is_err());
    end(groups);
}

#[test]
fn rank_0_stays_for_transfers_between_others() {
    let mut groups = group(3);
    let numbers = at_once(&groups, join);
    let first = groups.remove(0);
    let leaving = std::thread::spawn(move || drop(first));
    std::thread::sleep(Duration::from_millis(200));
    compare(&groups[0], numbers[0], &[transfer(CallKind::Send { to: 2 })]).unwrap();
    compare(&groups[1], numbers[0], &[transfer(CallKind::Receive { from: 1 })]).unwrap();
    let start = Instant::now();
    end(groups);
    leaving.join().unwrap();
    assert!(start.elapsed() < SOON);
}

#[test]
fn the_loss_of_a_rank_ends_comparisons() {
    for lost in [0, 2] {
        let mut groups = group(3);
        let numbers = at_once(&groups, join);
        groups.remove(lost).die();
        let survivor = groups.pop().unwrap();
        let start = Instant::now();
        let refusal = loop {
            if let Err(refusal) = compare(&survivor, numbers[0], &[all_reduce(1)]) {
                break refusal;
            }
            assert!(start.elapsed() < SOON);
        };
        let Refusal::Unanswered(error) = refusal else { panic!("{refusal:?}") };
        assert!(matches!(error, Error::PeerLost { rank } if rank == lost), "{error}");
        drop((groups, survivor));
        assert!(start.elapsed() < SOON);
    }
}

#[test]
fn an_ended_communicator_does_not_wait() {
    let groups = group(2);
    // Rank 0 knows no such communicator, and does not answer: the sender is lost.
    let start = Instant::now();
    let ended = || start.elapsed() > Duration::from_millis(100);
    let refusal = groups[1].compare(77, &[all_reduce(1)], LONG, &ended).unwrap_err();
    let expected = matches!(refusal, Refusal::Ended | Refusal::Unanswered(Error::PeerLost { .. }));
    assert!(expected && start.elapsed() < SOON, "{refusal:?}");
}

#[test]
fn all_ranks_compare_or_none_does() {
    let groups = group(2);
    let join = |group: &ProcessGroup| group.join_communicator(&[1; 128], "", group.rank() == 0);
    for error in at_once(&groups, join) {
        assert!(matches!(error, Err(Error::OutOfOrder { rank: 1 })), "{error:?}");
    }
    // Nor is a broadcast of bytes an id.
    let groups = group(2);
    let errors = at_once(&groups, |group| match group.rank() {
        0 => group.broadcast(&[1; 128]).map(drop),
        _ => group.join_communicator(&[], "", true).map(drop),
    });
    for error in errors {
        assert!(matches!(error, Err(Error::OutOfOrder { rank: 1 })), "{error:?}");
    }
}

#[test]
fn all_ranks_hear_of_different_libraries_and_the_group_goes_on() {
    let groups = group(3);
    let join = |names: [&'static str; 3], compare| {
        at_once(&groups, move |group| {
            group.join_communicator(&[7; 128], names[group.rank()], compare).unwrap()
        })
    };
    for (names, compare, rank) in [
        (["NCCL 2.28.3", "NCCL 2.28.3", "NCCL 2.27.7"], true, 2),
        (["NCCL 2.28.3", "RCCL 2.28.3", "NCCL 2.28.3"], false, 1),
        (["NCCL 2.28.3", "the CPU", "RCCL 2.22.3"], true, 1),
        (["NCCL 2.28.3", "NCCL 2.28.3", NONE], true, 2),
        ([NONE, "NCCL 2.28.3", "NCCL 2.28.3"], true, 1),
        ([NONE; 3], true, 1),
    ] {
        let expected = LibraryMismatch {
            rank,
            library: names[rank].into(),
            other: 0,
            other_library: names[0].into(),
        };
        for joined in join(names, compare) {
            assert_eq!(joined, Err(expected.clone()), "{names:?}");
        }
        at_once(&groups, |group| group.barrier().unwrap());
    }
    assert!(groups[0].shared.ledgers.is_empty(), "nothing is compared of what does not exist");
    for joined in join(["NCCL 2.28.3"; 3], true) {
        let (id, communicator) = joined.unwrap();
        assert_eq!((&id[..], communicator), (&[7; 128][..], Some(12)));
    }
    at_once(&groups, |group| compare(group, 12, &[all_reduce(1)]).unwrap());
    let long = at_once(&groups, |group| group.join_communicator(&[1; 128], &"é".repeat(200), true));
    assert!(long.into_iter().all(|joined| joined.unwrap().is_ok()), "a cut name");
    end(groups);
}
