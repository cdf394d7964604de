//! Parses the output of `cargo test`: how each test of each program ended, why tests were skipped, and the totals.
//!
//! The totals come from the `test result:` lines, which libtest always writes. The names only sort the totals into
//! rows, so that a garbled line moves a test to another row and never loses it.

use std::{collections::BTreeMap, fmt};

use crate::shell::TaskError;

/// How many tests ended how.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl Totals {
    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }

    /// An error where a test failed.
    pub(crate) fn success(self) -> Result<(), TaskError> {
        if self.failed == 0 { Ok(()) } else { Err(TaskError::Tests { failed: self.failed }) }
    }
}

/// The closing line that scripts read.
impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// Follows the lines of one `cargo test … -- --show-output`.
#[derive(Default)]
pub(crate) struct TestOutputParser {
    /// The test program that runs now: its path, or `doc:` and the crate's name.
    program: String,
    /// The tests of the running program, by name.
    tests: BTreeMap<String, TestOutcome>,
    /// Why tests of the running program were skipped, by name.
    reasons: BTreeMap<String, String>,
    /// The panic messages of failed tests of the running program, by name.
    messages: BTreeMap<String, Vec<String>>,
    /// Which part of the program's output is being read.
    part: Part,
    /// The test whose output is being read.
    section: String,
    finished: Vec<TestProgram>,
}

/// The parts of what a test program prints.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Part {
    /// How each test ended; later the names of those that failed, and the sums.
    #[default]
    Endings,
    /// What the successful tests printed.
    Outputs,
    /// The names of the successful tests, once more.
    Names,
    /// What the failed tests printed.
    Failures,
}

/// The lines of a panic message that are kept.
const MESSAGE_LINES: usize = 12;

/// A test program that has ended.
pub(crate) struct TestProgram {
    /// Its path, or `doc:` and the crate's name.
    pub(crate) name: String,
    /// Its tests, by name.
    pub(crate) tests: BTreeMap<String, TestOutcome>,
    /// Why tests were skipped, by name.
    pub(crate) reasons: BTreeMap<String, String>,
    /// The first lines of the panic messages of failed tests, by name.
    pub(crate) messages: BTreeMap<String, Vec<String>>,
    /// Its totals.
    pub(crate) totals: Totals,
}

/// How a test ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TestOutcome {
    Passed,
    Failed,
    Skipped,
}

impl TestOutputParser {
    /// A listener to one test program that runs without cargo.
    pub(crate) fn of(program: &str) -> Self {
        Self { program: program.to_owned(), ..Self::default() }
    }

    /// Parses a line, and returns whether it should be printed.
    pub(crate) fn line(&mut self, line: &str) -> bool {
        let trimmed = line.trim_start();
        if let Some(rest) = trimmed.strip_prefix("Running ")
            && let Some((_, path)) = rest.rsplit_once('(')
        {
            self.program = path.trim_end_matches(')').to_owned();
        } else if let Some(name) = trimmed.strip_prefix("Doc-tests ") {
            self.program = format!("doc:{name}");
        } else if line == "successes:" {
            self.part = if self.part == Part::Endings { Part::Outputs } else { Part::Names };
            return false;
        } else if line == "failures:" {
            self.part = if self.part == Part::Failures { Part::Endings } else { Part::Failures };
        } else if self.part == Part::Outputs {
            // Sums among them are of test programs that a test has run.
            return self.output_line(line);
        } else if self.part == Part::Failures {
            self.failure_line(line);
            return true;
        } else if let Some(counts) = line.strip_prefix("test result: ") {
            self.finish(counts);
        } else if let Some((name, ending)) = test_line(line) {
            if ending == TestOutcome::Skipped {
                let reason = line.rsplit_once("ignored, ").map_or("ignored", |(_, reason)| reason);
                self.reasons.insert(name.to_owned(), reason.to_owned());
            }
            self.tests.insert(name.to_owned(), ending);
        }
        self.part == Part::Endings
    }

    /// The programs that ran.
    pub(crate) fn finished(self) -> Vec<TestProgram> {
        self.finished
    }

    fn output_line(&mut self, line: &str) -> bool {
        if let Some(name) = section(line) {
            self.section = name.to_owned();
            return false;
        }
        let Some(reason) = line.strip_prefix("skipped: ") else { return !line.is_empty() };
        if let Some(ending) = self.tests.get_mut(&self.section) {
            *ending = TestOutcome::Skipped;
            self.reasons.entry(self.section.clone()).or_insert_with(|| reason.to_owned());
        }
        false
    }

    /// Keeps the panic message of a failed test. A test may print messages of other threads before its own.
    fn failure_line(&mut self, line: &str) {
        if let Some(name) = section(line) {
            self.section = name.to_owned();
            return;
        }
        let message = self.messages.entry(self.section.clone()).or_default();
        if line.starts_with("thread '") && line.contains(" panicked at ") {
            message.clear();
            message.push(line.to_owned());
        } else if !message.is_empty() && message.len() < MESSAGE_LINES && !line.is_empty() {
            message.push(line.to_owned());
        }
    }

    fn finish(&mut self, counts: &str) {
        self.part = Part::Endings;
        let tests = std::mem::take(&mut self.tests);
        let said = tests.values().filter(|e| **e == TestOutcome::Skipped).count() as u64;
        let ignored = count(counts, "ignored");
        // Tests that libtest ignores are among the skipped names already.
        let skipped_by_word = said.saturating_sub(ignored);
        let totals = Totals {
            passed: count(counts, "passed").saturating_sub(skipped_by_word),
            failed: count(counts, "failed"),
            skipped: ignored + skipped_by_word,
        };
        let reasons = std::mem::take(&mut self.reasons);
        let messages = std::mem::take(&mut self.messages);
        self.finished.push(TestProgram {
            name: self.program.clone(),
            tests,
            reasons,
            messages,
            totals,
        });
    }
}

/// The test in the heading of its output.
fn section(line: &str) -> Option<&str> {
    line.strip_prefix("---- ")?.strip_suffix(" stdout ----")
}

/// `test NAME ... ok`, with or without what libtest adds to either.
fn test_line(line: &str) -> Option<(&str, TestOutcome)> {
    let (name, ending) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let ending = match ending.split([' ', ',']).next()? {
        "ok" => TestOutcome::Passed,
        "FAILED" => TestOutcome::Failed,
        "ignored" => TestOutcome::Skipped,
        _ => return None,
    };
    Some((name.trim_end_matches(" - should panic"), ending))
}

/// The number before `word` in `ok. 3 passed; 0 failed; 1 ignored; …`.
fn count(counts: &str, word: &str) -> u64 {
    let before = counts.split([';', '.']).find_map(|part| part.trim().strip_suffix(word));
    before.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listen(text: &str) -> (Vec<TestProgram>, String) {
        let mut listener = TestOutputParser::default();
        let shown: Vec<&str> = text.lines().filter(|line| listener.line(line)).collect();
        (listener.finished(), shown.join("\n"))
    }

    #[test]
    fn a_test_that_prints_skipped_is_not_counted_as_passed() {
        let (programs, shown) = listen(
            "     Running tests/suite.rs (target/debug/deps/suite-0123)\n\
             running 3 tests\n\
             test launch::case_1_cpu ... ok\n\
             test launch::case_2_cuda ... ok\n\
             test launch::panics - should panic ... ok\n\
             \n\
             successes:\n\
             \n\
             ---- launch::case_2_cuda stdout ----\n\
             skipped: no cuda hardware\n\
             \n\
             ---- launch::case_1_cpu stdout ----\n\
             7 distinct schedules\n\
             test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 2 filtered out; of a child\n\
             \n\
             \n\
             successes:\n    launch::case_1_cpu\n\
             \n\
             test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.0s\n",
        );
        assert_eq!(programs.len(), 1);
        assert_eq!(programs[0].name, "target/debug/deps/suite-0123");
        assert_eq!(programs[0].totals, Totals { passed: 2, failed: 0, skipped: 1 });
        assert_eq!(programs[0].tests["launch::case_2_cuda"], TestOutcome::Skipped);
        assert_eq!(programs[0].tests["launch::panics"], TestOutcome::Passed);
        assert_eq!(programs[0].reasons["launch::case_2_cuda"], "no cuda hardware");
        assert!(!shown.contains("no cuda hardware"), "{shown}");
        assert!(shown.contains("7 distinct schedules"), "{shown}");
        assert!(!shown.contains("    launch::case_1_cpu"), "{shown}");
        assert!(shown.contains("3 passed"), "{shown}");
    }

    #[test]
    fn failures_are_shown_and_counted() {
        let (programs, shown) = listen(
            "   Doc-tests quadrants_rhi\n\
             test rhi/src/lib.rs - (line 3) ... FAILED\n\
             test rhi/src/lib.rs - (line 9) ... ignored, needs a reason\n\
             failures:\n\
             ---- rhi/src/lib.rs - (line 3) stdout ----\n\
             it broke\n\
             test result: FAILED. 0 passed; 9 failed; 0 ignored; 0 measured; of a child\n\
             thread 'main' (7) panicked at lib.rs:3:5:\n\
             1 is not 2\n\
             failures:\n    rhi/src/lib.rs - (line 3)\n\
             test result: FAILED. 0 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out\n",
        );
        assert_eq!(programs[0].name, "doc:quadrants_rhi");
        assert_eq!(programs[0].totals, Totals { passed: 0, failed: 1, skipped: 1 });
        assert_eq!(programs[0].reasons["rhi/src/lib.rs - (line 9)"], "needs a reason");
        let message = ["thread 'main' (7) panicked at lib.rs:3:5:", "1 is not 2"];
        assert_eq!(programs[0].messages["rhi/src/lib.rs - (line 3)"], message);
        assert_eq!(programs.len(), 1);
        assert!(shown.contains("it broke"), "{shown}");
        assert!(programs[0].totals.success().is_err());
    }

    #[test]
    fn a_program_without_readable_names_keeps_its_sums() {
        let (programs, _) = listen(
            "     Running unittests src/lib.rs (target/debug/deps/quadrants_ir-1)\n\
             test a ... noise ok\n\
             test result: ok. 7 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n",
        );
        assert_eq!(programs[0].totals.passed, 7);
        assert!(programs[0].tests.is_empty());
    }

    #[test]
    fn the_closing_line_has_its_fixed_form() {
        let totals = Totals { passed: 12, failed: 0, skipped: 3 };
        assert_eq!(totals.to_string(), "12 passed, 0 failed, 3 skipped");
    }
}
