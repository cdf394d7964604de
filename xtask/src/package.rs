//! `cargo xtask package`: packs every public crate as for crates.io, and builds a project from the packed crates only.
//!
//! The project is the one that the packed `quadrants` command makes. It is outside the repository, so that it sees
//! nothing that is not in a package.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use crate::shell::{self, TaskError, Workspace, at};

/// The name of the project.
const PROJECT: &str = "first-kernel";

/// A crate that is published.
struct Package {
    name: String,
    version: String,
    /// Its folder, from the root of the workspace.
    folder: PathBuf,
}

/// Packs the crates, unpacks them elsewhere, and runs and tests a project there.
pub(crate) fn run(workspace: &Workspace) -> Result<(), TaskError> {
    let packages = public_packages(workspace)?;
    let packed = workspace.target().join("packages");
    pack(workspace, &packages, &packed)?;
    let scratch = ScratchDir::make()?;
    scratch.unpack(&packages, &packed.join("package"))?;
    scratch.check_project(workspace)
}

/// The members of the workspace that may be published.
fn public_packages(workspace: &Workspace) -> Result<Vec<Package>, TaskError> {
    let members = workspace.members()?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let public = members.iter().filter(|package| package["publish"].is_null());
    let packages = public.map(|package| {
        let manifest = PathBuf::from(text(&package["manifest_path"]));
        let folder = manifest.parent().unwrap_or(&manifest);
        Package {
            name: text(&package["name"]),
            version: text(&package["version"]),
            folder: folder.strip_prefix(workspace.root()).unwrap_or(folder).to_owned(),
        }
    });
    Ok(packages.collect())
}

/// Packs the crates. Cargo resolves dependencies between them as if they were published; the project builds them.
fn pack(workspace: &Workspace, packages: &[Package], to: &Path) -> Result<(), TaskError> {
    let mut cargo = workspace.cargo(["package", "--no-verify", "--allow-dirty", "--quiet"]);
    cargo.arg("--target-dir").arg(to);
    for package in packages {
        cargo.args(["--package", &package.name]);
    }
    shell::run(&mut cargo)
}

/// A folder outside the repository, which is removed at the end.
struct ScratchDir {
    root: PathBuf,
}

impl ScratchDir {
    fn make() -> Result<Self, TaskError> {
        let root = std::env::temp_dir().join(format!("quadrants-package-{}", std::process::id()));
        fs::create_dir(&root).map_err(at(&root))?;
        Ok(Self { root })
    }

    /// Unpacks the crates into the folders that they have in the repository, and patches crates.io with
    /// them.
    fn unpack(&self, packages: &[Package], packed: &Path) -> Result<(), TaskError> {
        let mut patches = String::from("[patch.crates-io]\n");
        for Package { name, version, folder } in packages {
            let file = packed.join(format!("{name}-{version}.crate"));
            let mut tar = Command::new("tar");
            tar.arg("-xzf").arg(&file).arg("-C").arg(&self.root);
            shell::run(&mut tar)?;
            let (from, to) =
                (self.root.join(format!("{name}-{version}")), self.checkout_dir().join(folder));
            fs::create_dir_all(to.parent().unwrap_or(&to)).map_err(at(&to))?;
            fs::rename(&from, &to).map_err(at(&from))?;
            check_contents(&to)?;
            patches += &format!("{name} = {{ path = {to:?} }}\n");
        }
        let config = self.root.join(".cargo");
        fs::create_dir(&config).map_err(at(&config))?;
        let config = config.join("config.toml");
        fs::write(&config, patches).map_err(at(&config))
    }

    /// The packed crates, in the folders of a clone of the repository.
    fn checkout_dir(&self) -> PathBuf {
        self.root.join("quadrants")
    }

    /// Makes a project with the packed command, runs it on the CPU, and tests it on the CPU and the simulator.
    fn check_project(&self, workspace: &Workspace) -> Result<(), TaskError> {
        let target = workspace.target().join("external");
        let lock = |folder: &Path| {
            // The versions that are on this machine already.
            let to = folder.join("Cargo.lock");
            fs::copy(workspace.path("Cargo.lock"), &to).map_err(at(&to)).map(|_| ())
        };
        let cargo = |subcommand: &str, folder: &Path| {
            let mut cargo = workspace.cargo([subcommand, "--quiet", "--offline", "--target-dir"]);
            cargo.arg(&target).current_dir(folder);
            // Cargo sets it for this program by the repository's configuration.
            cargo.env_remove("QUADRANTS_CPU_BASELINE").env("QUADRANTS_ARCH", "cpu");
            cargo
        };
        let command = self.checkout_dir().join("quadrants");
        lock(&command)?;
        let mut new = cargo("run", &self.root);
        new.args(["--features", "cli", "--manifest-path"]).arg(command.join("Cargo.toml"));
        new.args(["--", "new", PROJECT, "--path"]).arg(self.checkout_dir());
        shell::run(&mut new)?;
        let project = self.root.join(PROJECT);
        lock(&project)?;
        shell::run(&mut cargo("run", &project))?;
        shell::run(&mut cargo("test", &project))
    }
}

/// Checks that a crate has the files that every package must have.
fn check_contents(folder: &Path) -> Result<(), TaskError> {
    for name in ["Cargo.toml", "README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        let path = folder.join(name);
        if !path.is_file() {
            return Err(TaskError::MissingInPackage { path });
        }
    }
    Ok(())
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        // Where it fails, a folder of temporary files stays.
        let _ = fs::remove_dir_all(&self.root);
    }
}
