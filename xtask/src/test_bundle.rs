//! A folder that tests a backend on a machine that has a GPU and no Rust: built here, run there.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::ValueEnum;

use crate::{
    matrix::{EXAMPLES, MODULES_THAT_NEED_RUST},
    shell::{self, TaskError, Workspace, at},
};

/// The largest bundle, in MiB: it is sent to machines without Rust, which may have a slow connection.
const LIMIT_MIB: u64 = 60;

/// The script that the bundle is run with; `@BACKEND@` stands for the backend, `@SKIP@` for the modules
/// of the whole-system suite that need a Rust installation.
const RUN: &str = include_str!("../bundle/run.sh");

/// The photograph of the example, from the workspace's folder.
pub(crate) const PHOTO: &str = "quadrants/data/hubble_deep_field.png";

/// What `--backend` takes here: a bundle is for machines with a GPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum GpuBackend {
    /// NVIDIA GPUs.
    Cuda,
    /// AMD GPUs.
    Amdgpu,
}

impl GpuBackend {
    fn name(self) -> &'static str {
        match self {
            Self::Cuda => "cuda",
            Self::Amdgpu => "amdgpu",
        }
    }
}

/// The folder in `bin` for the simulations, all of which the script runs.
const SIMULATIONS: &str = "examples";

/// What goes into the bundle's `bin` folder under its own name.
struct BundledProgram {
    name: String,
    path: PathBuf,
}

/// Builds the programs and fills the folder.
pub(crate) fn make(
    workspace: &Workspace,
    backend: GpuBackend,
    out: &Path,
) -> Result<(), TaskError> {
    let programs = build(workspace, backend.name())?;
    let bin = out.join("bin");
    let simulations = bin.join(SIMULATIONS);
    // The script runs all programs that it finds there, so remove those of an older bundle.
    if simulations.exists() {
        fs::remove_dir_all(&simulations).map_err(at(&simulations))?;
    }
    fs::create_dir_all(&simulations).map_err(at(&simulations))?;
    for program in &programs {
        let to = bin.join(&program.name);
        fs::copy(&program.path, &to).map_err(at(&to))?;
        strip(&to);
    }
    let photo = out.join("photo.png");
    fs::copy(workspace.path(PHOTO), &photo).map_err(at(&photo))?;
    let script = RUN.replace("@BACKEND@", backend.name()).replace("@SKIP@", &skip_args());
    write_script(&out.join("run.sh"), &script)?;

    let mut bytes = 0;
    for entry in [out, &bin, &simulations] {
        for file in fs::read_dir(entry).map_err(at(entry))? {
            let file = file.map_err(at(entry))?;
            let data = file.metadata().map_err(at(&file.path()))?;
            if data.is_file() {
                println!("{:>10}  {}", data.len(), file.path().display());
                bytes += data.len();
            }
        }
    }
    let mebibytes = bytes.div_ceil(1 << 20);
    println!("{} MiB; run it with `sh run.sh` in that folder", mebibytes);
    if mebibytes > LIMIT_MIB {
        return Err(TaskError::TooLarge { mebibytes, limit: LIMIT_MIB });
    }
    Ok(())
}

fn skip_args() -> String {
    MODULES_THAT_NEED_RUST.map(|module| format!("--skip {module}")).join(" ")
}

fn build(workspace: &Workspace, backend: &str) -> Result<Vec<BundledProgram>, TaskError> {
    let backend_package = format!("quadrants-rhi-{backend}");
    let json = "--message-format=json-render-diagnostics";
    let mut tests = workspace.cargo(["test", "--release", "--no-run", json, "--test", "suite"]);
    tests.args(["--package", "quadrants-tests", "--package", &backend_package]);
    let mut built = executables(&shell::read(&mut tests)?)?;
    let mut programs = workspace.cargo(["build", "--release", json]);
    programs.args(["--package", "quadrants", "--features", "cli"]);
    programs.args(["--bin", "quadrants", "--example", "galaxies"]);
    built.extend(executables(&shell::read(&mut programs)?)?);
    let mut tests = workspace.cargo(["test", "--release", "--no-run", json, "--lib"]);
    built.extend(executables(&shell::read(tests.args(["--package", EXAMPLES]))?)?);
    let mut programs = workspace.cargo(["build", "--release", json, "--examples"]);
    let simulations = executables(&shell::read(programs.args(["--package", EXAMPLES]))?)?;
    let mut simulator =
        workspace.cargo(["build", "--release", "--package", "quadrants-driver-sim"]);
    shell::run(&mut simulator)?;

    let find = |name: &str, package: &str, target: &str| {
        let found =
            built.iter().find(|program| program.package == package && program.target == target);
        let what = || TaskError::NotBuilt { what: format!("{target} of {package}") };
        found
            .map(|found| BundledProgram { name: name.to_owned(), path: found.path.clone() })
            .ok_or_else(what)
    };
    let mut programs = vec![
        find("system-suite", "quadrants-tests", "suite")?,
        find("backend-suite", &backend_package, "suite")?,
        find("examples-suite", EXAMPLES, "quadrants_examples")?,
        find("galaxies", "quadrants", "galaxies")?,
        find("quadrants", "quadrants", "quadrants")?,
        BundledProgram {
            name: "libquadrants_driver_sim.so".to_owned(),
            path: workspace.target().join("release/libquadrants_driver_sim.so"),
        },
    ];
    programs.extend(simulations.into_iter().map(|built| BundledProgram {
        name: format!("{SIMULATIONS}/{}", built.target),
        path: built.path,
    }));
    Ok(programs)
}

/// A program that cargo built.
pub(crate) struct BuiltProgram {
    pub(crate) package: String,
    pub(crate) target: String,
    pub(crate) path: PathBuf,
    /// The folder of the package.
    pub(crate) folder: PathBuf,
}

/// What cargo's messages say that it built.
pub(crate) fn executables(messages: &str) -> Result<Vec<BuiltProgram>, TaskError> {
    let mut built = Vec::new();
    for line in messages.lines().filter(|line| line.starts_with('{')) {
        let message: serde_json::Value =
            serde_json::from_str(line).map_err(|source| TaskError::Message { source })?;
        if let (Some(path), Some(package), Some(target)) = (
            message["executable"].as_str(),
            message["package_id"].as_str(),
            message["target"]["name"].as_str(),
        ) {
            built.push(BuiltProgram {
                package: package_name(package).to_owned(),
                target: target.to_owned(),
                path: path.into(),
                folder: message["manifest_path"]
                    .as_str()
                    .and_then(|manifest| Path::new(manifest).parent())
                    .unwrap_or(Path::new("."))
                    .to_owned(),
            });
        }
    }
    Ok(built)
}

/// The file of a package's library, by cargo's messages.
pub(crate) fn library(messages: &str, name: &str) -> Option<PathBuf> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str(line).ok());
    let files = messages.filter(|message: &serde_json::Value| message["target"]["name"] == name);
    let files: Vec<_> =
        files.filter_map(|message| message["filenames"].as_array().cloned()).collect();
    let mut files = files.iter().flatten().filter_map(|file| file.as_str());
    files.find(|file| file.ends_with(".rlib")).map(PathBuf::from)
}

/// Removes the symbol names, if `strip` is installed. Otherwise the bundle is larger, and may exceed the limit.
pub(crate) fn strip(path: &Path) {
    let mut strip = std::process::Command::new("strip");
    strip.arg("--strip-unneeded").arg(path);
    if let Err(failure) = shell::run(&mut strip) {
        eprintln!("not stripped: {failure}");
    }
}

/// A script that can be run as a program.
pub(crate) fn write_script(path: &Path, text: &str) -> Result<(), TaskError> {
    fs::write(path, text).map_err(at(path))?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).map_err(at(path))?;
    }
    Ok(())
}

/// The name in a package id: `path+file:///…/rhi#quadrants-rhi@0.1.0` or, where folder and name are
/// equal, `path+file:///…/quadrants#0.1.0`.
fn package_name(id: &str) -> &str {
    let (path, rest) = id.rsplit_once('#').unwrap_or(("", id));
    match rest.split_once('@') {
        Some((name, _)) => name,
        None => path.rsplit('/').next().unwrap_or(path),
    }
}

#[cfg(test)]
mod tests {
    use super::package_name;

    #[test]
    fn package_ids_of_both_forms_are_read() {
        assert_eq!(
            package_name("path+file:///w/rhi-cuda#quadrants-rhi-cuda@0.1.0"),
            "quadrants-rhi-cuda"
        );
        assert_eq!(package_name("path+file:///w/quadrants#0.1.0"), "quadrants");
    }
}
