//! Joining, and why it fails.

use std::net::{Ipv6Addr, TcpListener};
use std::thread::sleep;
use std::time::Duration;

use super::{at_once, config, group, join_later, joined, lead_later, listener, refused, secret};
use crate::bootstrap::{Error, ProcessGroup, RankConfig, Rejection, Secret};

#[test]
fn a_group_of_one_needs_no_connection() {
    let group = ProcessGroup::join(&RankConfig::single()).unwrap();
    assert_eq!((group.rank(), group.world_size(), group.local_rank()), (0, 1, 0));
    assert_eq!(group.broadcast(&[1, 2]).unwrap(), [1, 2]);
    group.barrier().unwrap();
    assert_eq!(group.lost(), None);
}

#[test]
fn eight_ranks_in_any_order() {
    for order in [[3, 7, 1, 5, 2, 6, 4], [7, 6, 5, 4, 3, 2, 1]] {
        let (listener, port) = listener();
        let others: Vec<_> = order.iter().map(|&rank| join_later(config(rank, 8, port))).collect();
        let leader = lead_later(listener, config(0, 8, port));
        let groups: Vec<_> = [leader].into_iter().chain(others).map(joined).collect();
        let ids = at_once(&groups, |group| {
            let payload = [group.rank() as u8; 128];
            group.barrier().unwrap();
            group.broadcast(&payload).unwrap()
        });
        assert!(ids.iter().all(|id| *id == [0; 128]));
        assert!(groups.iter().all(|group| group.lost().is_none()));
        assert_eq!(groups[0].rejected(), 0);
    }
}

#[test]
fn rank_0_starts_last_on_the_address_itself() {
    let (free, port) = listener();
    drop(free);
    let other = join_later(config(1, 2, port));
    sleep(Duration::from_millis(100));
    let leader = join_later(config(0, 2, port));
    let groups = [joined(leader), joined(other)];
    assert_eq!(at_once(&groups, |group| group.broadcast(b"id").unwrap()), [b"id", b"id"]);
    // Nothing listens any more.
    let mut late = config(1, 2, port);
    late.timeout = Duration::from_millis(50);
    assert!(matches!(ProcessGroup::join(&late), Err(Error::Timeout { .. })));
}

#[test]
fn ipv6() {
    let Ok(listener) = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)) else {
        println!("skipped: there is no IPv6 here");
        return;
    };
    let port = listener.local_addr().unwrap().port();
    let mut other = config(1, 2, port);
    other.address = "[::1]".into();
    let other = join_later(other);
    let groups = [joined(lead_later(listener, config(0, 2, port))), joined(other)];
    at_once(&groups, |group| group.barrier().unwrap());
}

#[test]
fn an_address_of_another_machine_cannot_be_bound() {
    let mut config = config(0, 2, 4000);
    config.address = "192.0.2.1".into();
    let error = ProcessGroup::join(&config).unwrap_err();
    assert!(matches!(error, Error::Listen { .. }), "{error:?}");
}

#[test]
fn wrong_peers_are_rejected_and_the_others_join() {
    let (listener, port) = listener();
    let leader = lead_later(listener, config(0, 3, port));
    let first = join_later(config(1, 3, port));

    let mut wrong = config(2, 3, port);
    wrong.secret = Secret::new("another secret");
    let reasons = [
        (wrong, Rejection::Secret),
        (config(1, 2, port), Rejection::WorldSize { expected: 3 }),
        (config(3, 4, port), Rejection::WorldSize { expected: 3 }),
    ];
    for (config, expected) in reasons {
        let error = ProcessGroup::join(&config).unwrap_err();
        assert!(matches!(error, Error::Rejected { reason } if reason == expected), "{error:?}");
    }
    let last = join_later(config(2, 3, port));
    let groups = [joined(leader), joined(first), joined(last)];
    at_once(&groups, |group| group.barrier().unwrap());
    assert_eq!(groups[0].rejected(), 3);
}

#[test]
fn a_second_process_with_a_rank_is_rejected() {
    let (listener, port) = listener();
    let mut leader = config(0, 3, port);
    leader.timeout = Duration::from_millis(600);
    let leader = lead_later(listener, leader);
    let mut twice = [join_later(config(1, 3, port)), join_later(config(1, 3, port))].map(refused);
    twice.sort_by_key(|error| matches!(error, Error::Rejected { .. }));
    // The first one waits for rank 2, until rank 0 gives up.
    assert!(matches!(&twice[0], Error::Timeout { missing, .. } if *missing == [2]), "{twice:?}");
    let duplicate = Rejection::DuplicateRank { rank: 1 };
    assert!(matches!(twice[1], Error::Rejected { reason } if reason == duplicate), "{twice:?}");
    let Error::Timeout { missing, rejected: 1, .. } = refused(leader) else { panic!() };
    assert_eq!(missing, [2]);
}

#[test]
fn a_timeout_names_the_missing_ranks_on_all() {
    let (listener, port) = listener();
    let mut leader = config(0, 4, port);
    leader.timeout = Duration::from_millis(900);
    let leader = lead_later(listener, leader);
    let mut early = config(1, 4, port);
    early.timeout = Duration::from_millis(600);
    let others = [join_later(early), join_later(config(2, 4, port))];
    for error in others.map(refused) {
        let Error::Timeout { missing, .. } = &error else { panic!("{error:?}") };
        // Rank 1 gave up, so that it is missing as well.
        assert!(*missing == [3] || *missing == [1, 3], "{error:?}");
    }
    let error = refused(leader);
    let message = error.to_string();
    assert!(message.contains("missing: ranks 1, 3"), "{message}");
}

#[test]
fn nobody_listens() {
    let (free, port) = listener();
    drop(free);
    let mut config = config(1, 2, port);
    config.timeout = Duration::from_millis(50);
    let error = ProcessGroup::join(&config).unwrap_err();
    assert!(matches!(&error, Error::Timeout { missing, .. } if *missing == [0]), "{error:?}");
    config.address = "name.invalid".into();
    let error = ProcessGroup::join(&config).unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }), "{error:?}");
}

#[test]
fn a_process_that_ends_before_the_start_can_be_started_again() {
    let (listener, port) = listener();
    let leader = lead_later(listener, config(0, 3, port));
    let mut short = config(1, 3, port);
    short.timeout = Duration::from_millis(100);
    assert!(matches!(ProcessGroup::join(&short), Err(Error::Timeout { .. })));
    let again = join_later(config(1, 3, port));
    let last = join_later(config(2, 3, port));
    let groups = [joined(leader), joined(again), joined(last)];
    at_once(&groups, |group| group.barrier().unwrap());
}

#[test]
fn groups_print_and_cross_threads() {
    fn crosses<T: Send + Sync>(_: &T) {}
    let groups = group(2);
    crosses(&groups[0]);
    assert!(format!("{:?}", groups[1]).contains("rank: 1"));
    assert!(!format!("{:?}", secret()).contains("tests"));
}
