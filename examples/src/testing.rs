//! What the tests of the simulations share.

use quadrants as qd;

use crate::{
    About, Error, Result, Run,
    command::{execute, parse},
};

/// What the program prints when it is run on the processor with these options, without a process of its own.
pub(crate) fn run(
    about: &About,
    work: impl FnOnce(&mut Run) -> Result<()>,
    options: &[&str],
) -> Result<String> {
    run_on(|| Ok(qd::Program::open(qd::Arch::Cpu)?), about, work, options)
}

/// The same, on a program that `open` gives.
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

/// Whether all numbers are those expected, within `tolerance` relative to the largest of them.
pub(crate) fn assert_close(what: &str, found: &[f32], expected: &[f32], tolerance: f32) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let scale = expected.iter().fold(0.0f32, |most, v| most.max(v.abs()));
    for (at, (f, e)) in found.iter().zip(expected).enumerate() {
        let off = (f - e).abs();
        // Written so that a NaN fails.
        assert!(off <= tolerance * scale, "{what}[{at}]: {f}, not {e} (off by {off:e} of {scale})");
    }
}
