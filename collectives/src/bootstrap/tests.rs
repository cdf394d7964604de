//! Tests with threads as ranks, with hostile peers, and with processes.

use std::net::{Ipv4Addr, TcpListener};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

use super::{Error, ProcessGroup, RankConfig, Result, Secret};

mod comparison;
mod config;
mod frame;
mod hostile;
mod join;
#[cfg(unix)]
mod launchers;
mod lost;
mod operations;
#[cfg(unix)]
mod process;
#[cfg(unix)]
mod secret;

fn secret() -> Secret {
    Secret::new("a secret of the tests").unwrap()
}

/// A listening socket on a free port, and its port.
fn listener() -> (TcpListener, u16) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

fn config(rank: usize, world_size: usize, port: u16) -> RankConfig {
    let mut config = RankConfig::new(rank, world_size, "127.0.0.1", port);
    config.secret = Some(secret());
    config.timeout = Duration::from_secs(60);
    config.heartbeat = Duration::from_millis(50);
    config.lost_after = Duration::from_secs(20);
    config
}

fn join_later(config: RankConfig) -> JoinHandle<Result<ProcessGroup>> {
    spawn(move || ProcessGroup::join(&config))
}

fn lead_later(listener: TcpListener, config: RankConfig) -> JoinHandle<Result<ProcessGroup>> {
    spawn(move || ProcessGroup::join_on(&config, &listener, &secret()))
}

fn joined(group: JoinHandle<Result<ProcessGroup>>) -> ProcessGroup {
    group.join().unwrap().unwrap()
}

fn refused(group: JoinHandle<Result<ProcessGroup>>) -> Error {
    group.join().unwrap().unwrap_err()
}

/// A group of threads, by rank.
fn group(world_size: usize) -> Vec<ProcessGroup> {
    let (listener, port) = listener();
    let leader = lead_later(listener, config(0, world_size, port));
    let others = (1..world_size).map(|rank| join_later(config(rank, world_size, port)));
    let others: Vec<_> = others.collect();
    [leader].into_iter().chain(others).map(joined).collect()
}

/// Calls a function with every group at the same time.
fn at_once<T: Send>(groups: &[ProcessGroup], call: impl Fn(&ProcessGroup) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = groups.iter().map(|group| scope.spawn(|| call(group))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn eventually(most: Duration, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < most, "the condition does not hold after {most:?}");
        sleep(Duration::from_millis(2));
    }
}
