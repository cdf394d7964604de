//! Environment variables that are not UTF-8 are errors that name the variable.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _, time::Duration};

use quadrants::{Arch, Error, Program, Result};
use quadrants_tests::TestBackend::{self, Cpu};

use crate::child;

/// The works of children.
pub(crate) const WORKS: &[child::Work] = &[("open by the environment", open)];

/// Opens a program, which the environment forbids.
fn open(_: TestBackend) -> Result<()> {
    let refused = Program::open(Arch::from_env_or_best());
    let error = refused.expect_err("the environment is no text");
    assert!(matches!(error, Error::Runtime(_)), "{error:?}");
    println!("refused: {error}");
    Ok(())
}

#[test]
fn environment_variables_that_are_not_utf_8_are_named_in_the_error() {
    const LIMIT: Duration = Duration::from_secs(60);
    let value = OsStr::from_bytes(b"cpu\xff");
    for variable in
        ["QUADRANTS_ARCH", "QUADRANTS_HAZARDS", "QUADRANTS_GRAPHS", "QUADRANTS_AUTOTUNE"]
    {
        let others = [("QUADRANTS_ARCH", OsStr::new("cpu")), (variable, value)];
        let output = child::output_in("open by the environment", Cpu, LIMIT, &others);
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{variable}: {output:?}");
        let told = said.lines().any(|line| line.contains("refused: ") && line.contains(variable));
        assert!(told, "{variable}: {said}");
    }
}
