//! Names the sources that kernels' text comes from, so that images that were kept are those of this text: its crates'
//! versions tell that of published ones, and here in the workspace the sources themselves do.

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    io,
    path::Path,
};

/// The folders of what prints kernels, as far as they stand beside each other.
const FOLDERS: [&str; 4] =
    ["src", "../ir/src", "../rhi-cuda/src/compiler", "../rhi-amdgpu/src/compiler"];

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let mut hasher = DefaultHasher::new();
    for folder in FOLDERS.map(Path::new).into_iter().filter(|folder| folder.is_dir()) {
        println!("cargo::rerun-if-changed={}", folder.display());
        hash(folder, &mut hasher)?;
    }
    println!("cargo::rustc-env=QUADRANTS_SOURCES={:016x}", hasher.finish());
    Ok(())
}

fn hash(folder: &Path, hasher: &mut DefaultHasher) -> io::Result<()> {
    let mut paths: Vec<_> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            hash(&path, hasher)?;
        } else {
            (path.file_name(), fs::read(&path)?).hash(hasher);
        }
    }
    Ok(())
}
