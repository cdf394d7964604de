//! Helpers for the tests of the simulations.

use quadrants as qd;

use crate::{
    About, Error, Result, Run,
    command::{execute, parse},
};

/// The summary of a run on the CPU with these options, in this process.
pub(crate) fn run(
    about: &About,
    work: impl FnOnce(&mut Run) -> Result<()>,
    options: &[&str],
) -> Result<String> {
    run_on(|| Ok(qd::Program::open(qd::Arch::Cpu)?), about, work, options)
}

/// As [`run`], on the program that `open` returns.
pub(crate) fn run_on(
    open: impl FnOnce() -> Result<qd::Program>,
    about: &About,
    work: impl FnOnce(&mut Run) -> Result<()>,
    options: &[&str],
) -> Result<String> {
    let args = [about.name].into_iter().chain(options.iter().copied());
    let Some(options) = parse(about, args.map(Into::into))? else {
        return Err(Error::Usage("help is no run".to_owned()));
    };
    execute(about, &options, open, work)
}

/// Asserts that all numbers match, within `tolerance` relative to the largest expected one.
pub(crate) fn assert_close(what: &str, found: &[f32], expected: &[f32], tolerance: f32) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let scale = expected.iter().fold(0.0f32, |most, v| most.max(v.abs()));
    for (at, (f, e)) in found.iter().zip(expected).enumerate() {
        let off = (f - e).abs();
        // Written so that a NaN fails.
        assert!(off <= tolerance * scale, "{what}[{at}]: {f}, not {e} (off by {off:e} of {scale})");
    }
}
