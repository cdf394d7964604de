#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

use std::{fs, io, path::Path};

/// Sets `QUADRANTS_SOURCES` for the compilation of the crate to the hash of a folder of the crate.
///
/// # Errors
/// If the folder cannot be read.
pub fn emit(folder: &str) -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={folder}");
    println!("cargo::rustc-env=QUADRANTS_SOURCES={:016x}", hash(Path::new(folder))?);
    Ok(())
}

/// Hashes the names and contents of all files with FNV-1a. The result is the same on every machine.
///
/// # Errors
/// If the folder cannot be read.
pub fn hash(folder: &Path) -> io::Result<u64> {
    let mut sum = 0xcbf2_9ce4_8422_2325;
    add(folder, &mut sum)?;
    Ok(sum)
}

fn add(folder: &Path, sum: &mut u64) -> io::Result<()> {
    let mut paths: Vec<_> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            add(&path, sum)?;
        } else {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let bytes = name.into_bytes().into_iter().chain(fs::read(&path)?);
            // Line ends differ between systems.
            for byte in bytes.filter(|byte| *byte != b'\r') {
                *sum = (*sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
    }
    Ok(())
}
