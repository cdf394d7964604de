//! Broadcasts, barriers and leaving.

use std::time::Duration;

use super::{ProcessGroup, at_once, config, group, join_later, joined, lead_later, listener};
use crate::bootstrap::{Error, MAX_PAYLOAD};

/// A group of three whose operations have a timeout, by rank.
fn impatient(timeouts: [u64; 3]) -> Vec<ProcessGroup> {
    let (listener, port) = listener();
    let mut configs = [0, 1, 2].map(|rank| config(rank, 3, port));
    for (config, timeout) in configs.iter_mut().zip(timeouts) {
        config.timeout = Duration::from_millis(timeout);
    }
    let [leader, first, second] = configs;
    let threads = [lead_later(listener, leader), join_later(first), join_later(second)];
    threads.into_iter().map(joined).collect()
}

#[test]
fn repeated_broadcasts_come_in_order() {
    let groups = group(3);
    at_once(&groups, |group| {
        for round in 0..100_u8 {
            let payload = vec![round; usize::from(round)];
            let sent = if group.rank() == 0 { &payload[..] } else { b"ignored" };
            assert_eq!(group.broadcast(sent).unwrap(), payload);
            if round.is_multiple_of(10) {
                group.barrier().unwrap();
            }
        }
    });
}

#[test]
fn the_longest_payload() {
    let groups = group(2);
    let error = groups[0].broadcast(&vec![1; MAX_PAYLOAD + 1]).unwrap_err();
    assert!(matches!(error, Error::TooLong { .. }), "{error:?}");
    let payload = vec![2; MAX_PAYLOAD];
    let received = at_once(&groups, |group| group.broadcast(&payload).unwrap());
    assert!(received.iter().all(|received| *received == payload));
}

/// Whether an error is a timeout that names rank 2.
fn names_rank_2(error: &Error) -> bool {
    matches!(error, Error::Timeout { missing, .. } if *missing == [2])
}

#[test]
fn a_missing_rank_is_named_on_all() {
    let groups = impatient([1500, 60_000, 60_000]);
    for error in at_once(&groups[..2], |group| group.barrier().unwrap_err()) {
        assert!(names_rank_2(&error), "{error:?}");
    }
}

#[test]
fn a_rank_that_gives_up_first_knows_who_is_missing() {
    let groups = impatient([60_000, 1500, 60_000]);
    std::thread::scope(|scope| {
        let leader = scope.spawn(|| groups[0].barrier());
        let error = groups[1].barrier().unwrap_err();
        assert!(names_rank_2(&error), "{error:?}");
        // The others are still waiting.
        groups[2].barrier().unwrap();
        leader.join().unwrap().unwrap();
    });
}

#[test]
fn after_an_error_every_operation_returns_it() {
    let groups = group(2);
    let call = |group: &ProcessGroup| match group.rank() {
        0 => group.barrier().unwrap_err(),
        _ => group.broadcast(&[]).unwrap_err(),
    };
    for _ in 0..2 {
        for error in at_once(&groups, call) {
            assert!(matches!(error, Error::OutOfOrder { rank: 1 }), "{error:?}");
        }
    }
    assert!(groups.iter().all(|group| group.lost().is_none()));
}

#[test]
fn leaving_in_order_is_not_a_loss() {
    let mut groups = group(3);
    drop(groups.pop());
    for error in at_once(&groups, |group| group.barrier().unwrap_err()) {
        assert!(matches!(error, Error::Left { rank: 2 }), "{error:?}");
    }
    assert!(groups.iter().all(|group| group.lost().is_none()));

    let mut groups = group(3);
    drop(groups.remove(0));
    for error in at_once(&groups, |group| group.barrier().unwrap_err()) {
        assert!(matches!(error, Error::Left { rank: 0 }), "{error:?}");
    }
    assert!(groups.iter().all(|group| group.lost().is_none()));
}

#[test]
fn a_group_may_end_right_after_its_last_operation() {
    for _ in 0..20 {
        let threads = group(3).into_iter().map(|group| {
            std::thread::spawn(move || {
                let received = group.broadcast(b"last");
                (received, group.lost())
            })
        });
        for thread in threads.collect::<Vec<_>>() {
            let (received, lost) = thread.join().unwrap();
            assert_eq!((received.unwrap(), lost), (b"last".to_vec(), None));
        }
    }
}
