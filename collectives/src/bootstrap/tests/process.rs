//! Real processes, of which one is killed, or makes a wrong call.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{comparison::all_reduce, eventually, listener, secret};
use crate::bootstrap::{Error, ProcessGroup, RankConfig, Refusal};

const RANK: &str = "RENDEZVOUS_TEST_RANK";
const PORT: &str = "RENDEZVOUS_TEST_PORT";
/// The rank whose 50th call is wrong.
const WRONG: &str = "RENDEZVOUS_TEST_WRONG";

fn join(rank: &str) -> ProcessGroup {
    let port = std::env::var(PORT).unwrap().parse().unwrap();
    let mut config = RankConfig::new(rank.parse().unwrap(), 3, "127.0.0.1", port);
    config.secret = Some(secret());
    ProcessGroup::join(&config).unwrap()
}

/// The body of the processes that the other test starts. As a test, it does nothing.
#[test]
fn child() {
    let Ok(rank) = std::env::var(RANK) else { return };
    let group = join(&rank);
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

/// The body of processes that compare calls. As a test, it does nothing.
#[test]
fn comparing_child() {
    let (Ok(rank), Ok(wrong)) = (std::env::var(RANK), std::env::var(WRONG)) else { return };
    let group = join(&rank);
    let (_, communicator) = group.join_communicator(&[7; 128], "a library", true).unwrap().unwrap();
    println!("\njoined");
    let refusal = (1_usize..).find_map(|number| {
        let count = number + usize::from(rank == wrong && number == 50);
        let calls = [all_reduce(count)];
        let timeout = Duration::from_secs(60);
        let compared = group.compare(communicator.unwrap(), &calls, timeout, &|| false);
        std::thread::sleep(Duration::from_micros(200));
        compared.err()
    });
    match refusal.unwrap() {
        Refusal::Mismatch(mismatch) => println!("\n{mismatch}"),
        Refusal::Unanswered(Error::PeerLost { rank }) => println!("\nlost Some({rank})"),
        other => println!("\n{other:?}"),
    }
    std::io::stdout().flush().unwrap();
    // A rank that fails first does not end first, which would be a loss.
    let mut line = String::new();
    let _ = std::io::stdin().read_line(&mut line);
    std::process::exit(0);
}

fn start(rank: usize, port: u16) -> Child {
    spawn(rank, port, "child", "")
}

fn spawn(rank: usize, port: u16, test: &str, wrong: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", &format!("bootstrap::tests::process::{test}"), "--nocapture"])
        .env(RANK, rank.to_string())
        .env(PORT, port.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    if !wrong.is_empty() {
        command.env(WRONG, wrong);
    }
    command.spawn().unwrap()
}

/// Processes that compare calls, and what they print after they have joined.
fn comparing(wrong: &str) -> (Vec<Child>, Vec<impl Iterator<Item = String> + use<>>) {
    let (free, port) = listener();
    drop(free);
    let start = |rank| spawn(rank, port, "comparing_child", wrong);
    let mut children: Vec<_> = (0..3).map(start).collect();
    let outputs = children.iter_mut().map(|child| {
        let output = BufReader::new(child.stdout.take().unwrap());
        output.lines().map(|line| line.unwrap())
    });
    let mut outputs: Vec<_> = outputs.collect();
    for output in &mut outputs {
        assert!(output.any(|line| line == "joined"), "a process did not join");
    }
    (children, outputs)
}

#[test]
fn a_wrong_call_of_a_process_is_known_to_all() {
    for wrong in ["0", "1", "2"] {
        let (children, outputs) = comparing(wrong);
        let reasons = outputs.into_iter().map(|mut output| {
            output.find(|line| line.starts_with("the calls of ranks")).expect("a mismatch")
        });
        let reasons: Vec<_> = reasons.collect();
        assert!(reasons[0].contains("in collective operation 50: "), "{}", reasons[0]);
        assert!(reasons[0].contains(&format!("rank {wrong} called `all_reduce` (51 ")));
        assert!(reasons.iter().all(|reason| *reason == reasons[0]), "{reasons:?}");
        for mut child in children {
            drop(child.stdin.take());
            child.wait().unwrap();
        }
    }
}

#[test]
fn a_comparison_ends_if_a_process_is_killed() {
    for killed in [0, 2] {
        let (mut children, mut outputs) = comparing("none");
        std::thread::sleep(Duration::from_millis(50));
        let start = Instant::now();
        children[killed].kill().unwrap();
        for (rank, output) in outputs.iter_mut().enumerate().filter(|(rank, _)| *rank != killed) {
            let expected = format!("lost Some({killed})");
            // Rank 0 compares itself, and notices a loss otherwise.
            let noticed = rank == 0 || output.any(|line| line == expected);
            assert!(noticed, "rank {rank} noticed no loss");
        }
        assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
        for mut child in children {
            let _ = child.kill();
            child.wait().unwrap();
        }
    }
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
