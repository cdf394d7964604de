//! `cargo xtask book`: builds the book as HTML with mdBook, and checks the links of all pages.
//!
//! The sources link files of the repository by relative paths, which work in a clone. The book has no such files, so a
//! preprocessor, which is this program again, makes them links to the repository.

mod links;
mod outside;

use std::{path::Path, process::Command};

use crate::shell::{self, TaskError, Workspace};

pub(crate) use outside::preprocess;

/// The program that builds books.
const MDBOOK: &str = "mdbook";

/// Builds the book and checks it.
pub(crate) fn run(workspace: &Workspace) -> Result<(), TaskError> {
    let folder = workspace.target().join("book");
    let mut build = Command::new(MDBOOK);
    build.arg("build").arg(workspace.path("docs/book")).arg("--dest-dir").arg(&folder);
    shell::run(&mut build)?;
    check(&folder)
}

/// Whether mdBook is there. Without it, `cargo install mdbook --locked` installs it.
pub(crate) fn is_possible() -> bool {
    Command::new(MDBOOK).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Reports each link without a target.
fn check(folder: &Path) -> Result<(), TaskError> {
    let site = links::Website::read(folder)?;
    let broken = site.broken_links();
    for link in &broken {
        println!("{link}");
    }
    println!("{} pages, {} links, {} broken", site.pages(), site.links(), broken.len());
    if broken.is_empty() { Ok(()) } else { Err(TaskError::Links { count: broken.len() }) }
}
