//! Runs generated crates: each in a process, and in another one after a kernel that ended it.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    sync::mpsc,
    time::Duration,
};

use crate::{FuzzError, driver::compile::Binary};

/// The time after which a kernel is considered not to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// The outcome of one kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum RunOutcome {
    /// All runs had the same results.
    Agrees,
    /// All runs returned this kind of error.
    Error(String),
    /// The runs had different results or errors.
    Differs(String),
    /// A run panicked, ended the process or did not end.
    Crashed(String),
}

/// Runs all kernels.
pub(crate) fn all(binaries: &[Binary]) -> Result<BTreeMap<u64, RunOutcome>, FuzzError> {
    let mut verdicts = BTreeMap::new();
    for chunk in binaries.chunks(2) {
        let results: Vec<_> = std::thread::scope(|scope| {
            let running: Vec<_> =
                chunk.iter().map(|binary| scope.spawn(move || one(binary))).collect();
            running.into_iter().map(|thread| thread.join().expect("no thread panics")).collect()
        });
        for result in results {
            verdicts.append(&mut result?);
        }
    }
    Ok(verdicts)
}

fn one(binary: &Binary) -> Result<BTreeMap<u64, RunOutcome>, FuzzError> {
    let mut verdicts = BTreeMap::new();
    let mut from = 0;
    loop {
        let start = |source| FuzzError::Start { program: "a generated crate".to_owned(), source };
        let mut child = Command::new(&binary.path)
            .args(["--from", &from.to_string()])
            .env("QUADRANTS_CACHE", "off")
            .env("QUADRANTS_TEST_DEVICE", "simulated")
            .env_remove("QUADRANTS_TEST_BACKENDS")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(start)?;
        let output = child.stdout.take().map(BufReader::new);
        let (send, lines) = mpsc::channel();
        let reader = std::thread::spawn(move || {
            for line in output.into_iter().flat_map(BufRead::lines).map_while(Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        let (mut current, mut ended, mut waited) = (None, false, true);
        loop {
            match lines.recv_timeout(PATIENCE) {
                Ok(line) => {
                    if line == "end" {
                        ended = true;
                    } else if let Some(number) = line.strip_prefix("begin ") {
                        current = number.parse::<u64>().ok();
                    } else if let Some((number, result)) = verdict(&line) {
                        verdicts.insert(number, result);
                        current = None;
                    }
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    waited = false;
                    let _ = child.kill();
                    break;
                }
            }
        }
        let status = child.wait().map_err(start)?;
        let _ = reader.join();
        let Some(number) = current else {
            if !ended || !status.success() {
                // After all kernels, when simulated worlds are dropped.
                if let Some(last) = verdicts.keys().next_back().copied() {
                    verdicts.insert(last, RunOutcome::Crashed(format!("after it: {status}")));
                }
            }
            return Ok(verdicts);
        };
        let why = if waited { status.to_string() } else { "it does not end".to_owned() };
        verdicts.insert(number, RunOutcome::Crashed(why));
        from = number + 1;
        if binary.numbers.iter().all(|number| *number < from) {
            return Ok(verdicts);
        }
    }
}

fn verdict(line: &str) -> Option<(u64, RunOutcome)> {
    let (number, result) = line.split_once(' ')?;
    let verdict = match result.split_once(' ').unwrap_or((result, "")) {
        ("agrees", _) => RunOutcome::Agrees,
        ("error", text) => RunOutcome::Error(text.to_owned()),
        ("differs", text) => RunOutcome::Differs(text.to_owned()),
        ("panic", text) => RunOutcome::Crashed(format!("panic on {text}")),
        _ => return None,
    };
    Some((number.parse().ok()?, verdict))
}
