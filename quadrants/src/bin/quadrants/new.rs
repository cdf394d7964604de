//! `quadrants new`: a project with kernels on two streams, and tests on the CPU and on the simulator.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use clap::Args;

use crate::CommandError;

/// The files of a project. `@NAME@` is its name, `@SOURCE:folder@` where cargo finds the package in that folder of the
/// repository.
const FILES: [(&str, &str); 6] = [
    ("Cargo.toml", include_str!("template/project.toml")),
    ("src/main.rs", include_str!("template/main.rs")),
    ("src/tests.rs", include_str!("template/tests.rs")),
    ("kernels/Cargo.toml", include_str!("template/kernels.toml")),
    ("kernels/src/lib.rs", include_str!("template/kernels.rs")),
    (".gitignore", "/target\n"),
];

/// Names that cargo refuses, or that the project needs for a dependency.
const TAKEN: [&str; 8] = [
    "kernels",
    "quadrants",
    "quadrants-driver-sim",
    "quadrants-rhi-cuda",
    "test",
    "core",
    "std",
    "alloc",
];

#[derive(Args)]
pub(crate) struct Options {
    /// The name of the project and of its folder.
    name: String,
    /// Use a clone of the repository of Quadrants instead of the published one.
    #[arg(long, value_name = "FOLDER")]
    path: Option<PathBuf>,
}

pub(crate) fn run(options: &Options, out: &mut dyn Write) -> Result<(), CommandError> {
    let name = &options.name;
    check_name(name)
        .map_err(|what| CommandError::Refused(format!("`{name}` cannot be a project: {what}")))?;
    let clone = options.path.as_deref().map(clone_at).transpose()?;
    let folder = Path::new(name);
    // Not `create_dir_all`, which takes a folder that exists.
    fs::create_dir(folder).map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => CommandError::Refused(format!(
            "`{name}` exists already: choose another name, or remove it first"
        )),
        _ => {
            CommandError::File { what: "cannot create the folder", path: folder.to_owned(), source }
        }
    })?;
    for (file, template) in FILES {
        let path = folder.join(file);
        let write = || {
            fs::create_dir_all(path.parent().unwrap_or(folder))?;
            fs::write(&path, filled(template, name, clone.as_deref()))
        };
        write().map_err(|source| CommandError::File {
            what: "cannot write",
            path: path.clone(),
            source,
        })?;
    }
    Ok(writeln!(
        out,
        "created {name}; next:\n  cd {name}\n  cargo run     # the best device of this machine, or the CPU\n  \
         cargo test    # the CPU and a simulated GPU"
    )?)
}

/// Fills a template.
fn filled(template: &str, name: &str, clone: Option<&Path>) -> String {
    let mut text = template.replace("@NAME@", name);
    for package in ["quadrants", "driver-sim", "rhi-cuda"] {
        let source = match clone {
            Some(clone) => format!("path = {:?}", clone.join(package).to_string_lossy()),
            None => format!("git = {:?}", env!("CARGO_PKG_REPOSITORY")),
        };
        text = text.replace(&format!("@SOURCE:{package}@"), &source);
    }
    text
}

/// The absolute path of a clone of the repository.
fn clone_at(path: &Path) -> Result<PathBuf, CommandError> {
    let unusable =
        |source| CommandError::File { what: "cannot use", path: path.to_owned(), source };
    let clone = fs::canonicalize(path).map_err(unusable)?;
    if !clone.join("quadrants/Cargo.toml").is_file() {
        let path = path.display();
        return Err(CommandError::Refused(format!(
            "`{path}` is not a clone of the repository of Quadrants"
        )));
    }
    Ok(clone)
}

/// Checks what cargo requires of the name of a package.
fn check_name(name: &str) -> Result<(), String> {
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return Err("it must begin with a letter".to_owned());
    }
    let is_other = |c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if let Some(other) = name.chars().find(|c| is_other(*c)) {
        return Err(format!("{other:?} is neither a letter, a digit, `-` nor `_`"));
    }
    if TAKEN.contains(&name) || is_keyword(name) {
        return Err("the name is taken".to_owned());
    }
    Ok(())
}

/// Whether Rust does not allow the name for a crate.
fn is_keyword(name: &str) -> bool {
    const KEYWORDS: &str = "abstract as async await become box break const continue crate do dyn else enum extern \
        false final fn for gen if impl in let loop macro match mod move mut override priv pub ref return self Self static \
        struct super trait true try type typeof unsafe unsized use virtual where while yield";
    KEYWORDS.split_whitespace().any(|keyword| keyword == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_cargo_takes() {
        for name in ["a", "waves", "my-waves_2", "Type"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        for name in ["", "2d", "-a", "_a", "a b", "a/b", "../a", "ä", "type", "kernels", "test"] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn every_placeholder_is_filled() {
        for clone in [None, Some(Path::new("/a \"clone\"\\x"))] {
            for (file, template) in FILES {
                let text = filled(template, "waves", clone);
                assert!(!text.contains('@'), "{file}: {text}");
            }
        }
    }
}
