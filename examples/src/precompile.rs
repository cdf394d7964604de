//! Runs all simulations once, small and short, so that their program knows every kernel and can export them.

use std::path::Path;

use quadrants as qd;

use crate::{
    About, Error, Result, Run,
    command::{execute, parse},
    coupled, mpm, nbody, path_tracer, smoke, sph,
};

/// A simulation and the function that runs it.
type Example = (About, fn(&mut Run) -> Result<()>);

/// All simulations.
pub(crate) const EXAMPLES: &[Example] = &[
    (coupled::ABOUT, coupled::work),
    (mpm::ABOUT, mpm::work),
    (nbody::ABOUT, nbody::work),
    (path_tracer::ABOUT, path_tracer::work),
    (smoke::ABOUT, smoke::work),
    (sph::ABOUT, sph::work),
];

/// Runs every simulation on `program` at its smallest size and writes the pictures into `folder`.
///
/// # Errors
/// The error of the first simulation that fails.
pub fn launch_all(program: &qd::Program, folder: &Path) -> Result<()> {
    for (about, work) in EXAMPLES {
        let size = about.sizes.0.max(8).to_string();
        let arguments = [about.name, "--steps", "2", "--size", &size, "--out"];
        let arguments =
            arguments.into_iter().map(Into::into).chain([folder.as_os_str().to_owned()]);
        let options = parse(about, arguments)?;
        let options = options.ok_or_else(|| Error::Usage("help is no run".to_owned()))?;
        execute(about, &options, || Ok(program.clone()), work)?;
    }
    Ok(())
}
