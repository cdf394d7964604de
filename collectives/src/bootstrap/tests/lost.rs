//! Processes that die or lose their connection.

use std::time::{Duration, Instant};

use super::{at_once, config, eventually, group, join_later, joined, lead_later, listener};
use crate::bootstrap::Error;

const SOON: Duration = Duration::from_secs(3);

#[test]
fn a_lost_rank_is_known_to_all_and_ends_operations() {
    for lost in [0, 2] {
        let mut groups = group(4);
        let dead = groups.remove(lost);
        let errors = std::thread::scope(|scope| {
            scope.spawn(|| dead.die());
            at_once(&groups, |group| group.barrier().unwrap_err())
        });
        for error in errors {
            assert!(matches!(error, Error::PeerLost { rank } if rank == lost), "{error:?}");
        }
        for group in &groups {
            eventually(SOON, || group.lost() == Some(lost));
        }
        let start = Instant::now();
        drop(groups);
        assert!(start.elapsed() < SOON);
    }
}

#[test]
fn a_silent_rank_is_lost() {
    let (listener, port) = listener();
    let mut leader = config(0, 2, port);
    leader.lost_after = Duration::from_millis(300);
    // This one sends no sign of life for long.
    let mut silent = config(1, 2, port);
    silent.heartbeat = Duration::from_secs(15);
    let silent = join_later(silent);
    let group = joined(lead_later(listener, leader));
    let silent = joined(silent);
    eventually(SOON, || group.lost() == Some(1));
    eventually(SOON, || silent.lost() == Some(0));
}

#[test]
fn signs_of_life_keep_a_quiet_group_together() {
    let (listener, port) = listener();
    let mut leader = config(0, 2, port);
    leader.lost_after = Duration::from_millis(1000);
    let other = join_later(config(1, 2, port));
    let groups = [joined(lead_later(listener, leader)), joined(other)];
    std::thread::sleep(Duration::from_millis(1200));
    assert!(groups.iter().all(|group| group.lost().is_none()));
}

/// Rank 0 tells the others of a loss before it leaves because of that: they must not take the end of rank 0 for the
/// reason.
#[test]
fn the_loss_is_known_to_all_even_if_rank_0_leaves_at_once() {
    for _ in 0..100 {
        let mut groups = group(3);
        let (last, killed) = (groups.pop().unwrap(), groups.pop().unwrap());
        let first = groups.pop().unwrap();
        let first = std::thread::spawn(move || first.barrier().unwrap_err());
        let last = std::thread::spawn(move || last.barrier().unwrap_err());
        killed.die();
        for error in [first, last].map(|thread| thread.join().unwrap()) {
            assert!(matches!(error, Error::PeerLost { rank: 1 }), "{error}");
        }
    }
}
