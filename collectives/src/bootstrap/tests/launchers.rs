//! Processes that a real launcher starts: Open MPI, MPICH or Slurm, where it is installed.
//! `docs/book/src/collectives.md` says which versions were run.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{comparison::all_reduce, eventually, listener};
use crate::bootstrap::{Error, ProcessGroup, RankConfig, Refusal};

/// What the launched processes do.
const BODY: &str = "RENDEZVOUS_TEST_LAUNCHED";
const RANKS: usize = 3;
const LONG: Duration = Duration::from_secs(60);

struct Launcher {
    name: &'static str,
    program: &'static str,
    /// Which `--version` has this text.
    version: &'static str,
    /// A command that succeeds where processes can be started.
    ready: Option<[&'static str; 2]>,
    args: &'static [&'static str],
    /// So that the other processes go on where one is killed, if it can.
    goes_on: Option<&'static str>,
}

const OPEN_MPI: Launcher = Launcher {
    name: "Open MPI",
    program: "mpirun",
    version: "Open MPI",
    ready: None,
    args: &["--allow-run-as-root", "--oversubscribe", "-n", "3"],
    goes_on: Some("--enable-recovery"),
};

const MPICH: Launcher = Launcher {
    name: "MPICH",
    program: "mpiexec.hydra",
    version: "HYDRA",
    ready: None,
    args: &["-n", "3"],
    // It has an option for this, which has no effect in version 4.0.2.
    goes_on: None,
};

const SLURM: Launcher = Launcher {
    name: "Slurm",
    program: "srun",
    version: "slurm",
    ready: Some(["scontrol", "ping"]),
    args: &["-n", "3", "--overcommit"],
    goes_on: Some("--kill-on-bad-exit=0"),
};

impl Launcher {
    /// Why it cannot start processes.
    fn missing(&self) -> Option<String> {
        let Self { name, program, version, .. } = self;
        let found = match Command::new(program).arg("--version").output() {
            Ok(output) => [output.stdout, output.stderr].concat(),
            Err(error) => return Some(format!("{name} is not installed: `{program}`: {error}")),
        };
        let found = String::from_utf8_lossy(&found);
        if !found.contains(version) {
            let line = found.lines().next().unwrap_or("nothing");
            return Some(format!("`{program}` is not of {name}, or not usable: {line}"));
        }
        let [ready, argument] = self.ready?;
        let asked = Command::new(ready).arg(argument).output();
        let is_ready = asked.is_ok_and(|output| output.status.success());
        (!is_ready).then(|| format!("{name} has no cluster: `{ready} {argument}` fails"))
    }

    /// Starts three processes, and returns the lines that they print and whether all ended well. None where the
    /// launcher is missing.
    fn run(&self, body: &str, option: Option<&str>) -> Option<(Vec<String>, bool)> {
        if let Some(reason) = self.missing() {
            println!("skipped: {reason}");
            return None;
        }
        let (free, port) = listener();
        drop(free);
        let mut command = Command::new(self.program);
        command.args(self.args).args(option);
        for variable in ["RANK", "WORLD_SIZE", "LOCAL_RANK", "TORCHELASTIC_USE_AGENT_STORE"] {
            command.env_remove(variable);
        }
        command
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "bootstrap::tests::launchers::launched", "--nocapture"])
            .env(BODY, body)
            .env("MASTER_ADDR", "127.0.0.1")
            .env("MASTER_PORT", port.to_string())
            .env("QUADRANTS_RENDEZVOUS_SECRET", "a secret of the tests")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut launched = command.spawn().unwrap();
        let (mut out, mut err) = (launched.stdout.take().unwrap(), launched.stderr.take().unwrap());
        let out = std::thread::spawn(move || {
            let mut text = Vec::new();
            out.read_to_end(&mut text).map(|_| String::from_utf8_lossy(&text).into_owned())
        });
        let err = std::thread::spawn(move || {
            let mut text = Vec::new();
            err.read_to_end(&mut text).map(|_| String::from_utf8_lossy(&text).into_owned())
        });
        let start = Instant::now();
        let status = loop {
            if let Some(status) = launched.try_wait().unwrap() {
                break status;
            }
            if start.elapsed() > LONG {
                launched.kill().unwrap();
                launched.wait().unwrap();
                panic!("the processes of {} do not end", self.name);
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        let (out, err) = (out.join().unwrap().unwrap(), err.join().unwrap().unwrap());
        println!("{}: {status} after {:?}\n{err}", self.name, start.elapsed());
        Some((out.lines().map(str::to_owned).collect(), status.success()))
    }
}

/// The body of the processes. As a test, it does nothing.
#[test]
fn launched() {
    let Ok(body) = std::env::var(BODY) else { return };
    let mut config = RankConfig::from_env().unwrap();
    assert!(config.secret.is_some());
    config.timeout = LONG / 2;
    let group = ProcessGroup::join(&config).unwrap();
    match &body[..] {
        "exchange" => exchange(&group),
        "killed" => killed(&group),
        other => panic!("{other}"),
    }
}

fn say(line: &str) {
    // The test's harness may have begun a line, and the launcher passes on what is written at once.
    let mut out = std::io::stdout();
    out.write_all(format!("\n{line}\n").as_bytes()).and_then(|()| out.flush()).unwrap();
}

fn exchange(group: &ProcessGroup) {
    let rank = group.rank();
    let payload = group.broadcast(format!("process {}", std::process::id()).as_bytes()).unwrap();
    for _ in 0..100 {
        group.barrier().unwrap();
    }
    let refused = group.join_communicator(&[1; 128], ["one", "one", "other"][rank], true);
    let refused = refused.unwrap().unwrap_err();
    let joined = group.join_communicator(&[2; 128], "one", true).unwrap();
    let (id, communicator) = joined.unwrap();
    assert_eq!(id, [2; 128]);
    let compare =
        |count| group.compare(communicator.unwrap(), &[all_reduce(count)], LONG, &|| false);
    (0..200).for_each(|count| compare(count).unwrap());
    // The next call of rank 2 is wrong, which the others hear at once, whatever they compare.
    group.barrier().unwrap();
    let mismatch = match compare(1000 + rank / 2) {
        Err(Refusal::Mismatch(mismatch)) => mismatch,
        Ok(()) => {
            eventually(LONG, || group.mismatch(communicator.unwrap()).is_some());
            group.mismatch(communicator.unwrap()).unwrap()
        }
        other => panic!("{other:?}"),
    };
    say(&format!(
        "rank {rank} of {}, local {}; {}; {refused}; number {}",
        group.world_size(),
        group.local_rank(),
        String::from_utf8(payload).unwrap(),
        mismatch.number
    ));
}

/// Rank 1 is killed; the others are in a barrier.
fn killed(group: &ProcessGroup) {
    group.barrier().unwrap();
    if group.rank() == 1 {
        let id = std::process::id().to_string();
        Command::new("kill").args(["-KILL", &id]).status().unwrap();
        std::thread::sleep(LONG);
    }
    let start = Instant::now();
    let error = group.barrier().unwrap_err();
    assert!(matches!(error, Error::PeerLost { rank: 1 }), "{error}");
    let at_once = start.elapsed() < Duration::from_secs(5);
    say(&format!("rank {}: {error}; at once: {at_once}", group.rank()));
}

fn check_exchange(launcher: &Launcher) {
    let Some((lines, succeeded)) = launcher.run("exchange", None) else { return };
    let said: Vec<_> = lines.iter().filter(|line| line.starts_with("rank ")).collect();
    assert!(succeeded, "{lines:#?}");
    let of_first = said.iter().find(|line| line.starts_with("rank 0 ")).expect("rank 0");
    let rest = of_first.split_once("; ").expect("a payload").1;
    assert!(rest.starts_with("process ") && rest.ends_with("; number 201"), "{rest}");
    assert!(rest.contains("ranks 2 and 0 use different libraries (rank 2: other"), "{rest}");
    for rank in 0..RANKS {
        // All processes are on this machine.
        let expected = format!("rank {rank} of {RANKS}, local {rank}; {rest}");
        assert!(said.iter().any(|line| **line == expected), "no {expected:?} in {said:#?}");
    }
}

fn check_killed(launcher: &Launcher) {
    // By default, the launcher ends the others, some of which may have the error before.
    for option in [None, launcher.goes_on] {
        let Some((lines, succeeded)) = launcher.run("killed", option) else { return };
        let errors: Vec<_> = lines.iter().filter(|line| line.starts_with("rank ")).collect();
        for line in &errors {
            assert!(line.contains(": rank 1") && line.ends_with("; at once: true"), "{line}");
        }
        assert!(option.is_some() || !succeeded, "{lines:#?}");
        assert!(option.is_none() || errors.len() == RANKS - 1, "{lines:#?}");
    }
}

#[test]
fn processes_of_open_mpi_exchange_messages() {
    check_exchange(&OPEN_MPI);
}

#[test]
fn processes_of_mpich_exchange_messages() {
    check_exchange(&MPICH);
}

#[test]
fn processes_of_slurm_exchange_messages() {
    check_exchange(&SLURM);
}

#[test]
fn a_killed_process_of_open_mpi_is_an_error_of_the_others() {
    check_killed(&OPEN_MPI);
}

#[test]
fn a_killed_process_of_mpich_is_an_error_of_the_others() {
    check_killed(&MPICH);
}

#[test]
fn a_killed_process_of_slurm_is_an_error_of_the_others() {
    check_killed(&SLURM);
}
