//! Real processes, of which one is killed.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{eventually, listener, secret};
use crate::bootstrap::{ProcessGroup, RankConfig};

const RANK: &str = "RENDEZVOUS_TEST_RANK";
const PORT: &str = "RENDEZVOUS_TEST_PORT";

/// The body of the processes that the other test starts. As a test, it does nothing.
#[test]
fn child() {
    let Ok(rank) = std::env::var(RANK) else { return };
    let port = std::env::var(PORT).unwrap().parse().unwrap();
    let mut config = RankConfig::new(rank.parse().unwrap(), 3, "127.0.0.1", port);
    config.secret = Some(secret());
    let group = ProcessGroup::join(&config).unwrap();
    let id = group.broadcast(&[7; 128]).unwrap();
    assert_eq!(id, [7; 128]);
    // The test's harness may have begun a line.
    println!("\njoined");
    std::io::stdout().flush().unwrap();
    eventually(Duration::from_secs(20), || group.lost().is_some());
    println!("\nlost {:?}", group.lost());
    // Without leaving in order: its end may not replace the first loss on the others.
    std::process::exit(0);
}

fn start(rank: usize, port: u16) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "bootstrap::tests::process::child", "--nocapture"])
        .env(RANK, rank.to_string())
        .env(PORT, port.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn the_others_notice_a_killed_process() {
    for killed in [0, 1] {
        let (free, port) = listener();
        drop(free);
        let mut children: Vec<_> = (0..3).map(|rank| start(rank, port)).collect();
        let outputs = children.iter_mut().map(|child| child.stdout.take().unwrap());
        let mut outputs: Vec<_> = outputs.map(|output| BufReader::new(output).lines()).collect();
        for output in &mut outputs {
            assert!(output.any(|line| line.unwrap() == "joined"), "a process did not join");
        }
        let start = Instant::now();
        children[killed].kill().unwrap();
        for (rank, output) in outputs.iter_mut().enumerate().filter(|(rank, _)| *rank != killed) {
            let expected = format!("lost Some({killed})");
            assert!(output.any(|line| line.unwrap() == expected), "rank {rank} noticed no loss");
        }
        assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
        for mut child in children {
            child.wait().unwrap();
        }
    }
}
