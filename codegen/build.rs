//! Computes the hash of the sources that the text of kernels depends on. Cached images are valid only for the same
//! text. Published crates are identified by their version, but in the workspace the sources can change without a new
//! version.

use std::{fs, io, path::Path};

/// The folders of these sources, as far as they exist.
const FOLDERS: [&str; 4] =
    ["src", "../ir/src", "../rhi-cuda/src/compiler", "../rhi-amdgpu/src/compiler"];

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let mut sum = 0xcbf2_9ce4_8422_2325;
    for folder in FOLDERS.map(Path::new).into_iter().filter(|folder| folder.is_dir()) {
        println!("cargo::rerun-if-changed={}", folder.display());
        hash(folder, &mut sum)?;
    }
    println!("cargo::rustc-env=QUADRANTS_SOURCES={sum:016x}");
    Ok(())
}

/// Hashes all files with FNV-1a. The result is the same on every machine.
fn hash(folder: &Path, sum: &mut u64) -> io::Result<()> {
    let mut paths: Vec<_> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            hash(&path, sum)?;
        } else {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let bytes = name.into_bytes().into_iter().chain(fs::read(&path)?);
            for byte in bytes.filter(|byte| *byte != b'\r') {
                *sum = (*sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
    }
    Ok(())
}
