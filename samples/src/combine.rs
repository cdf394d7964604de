//! Combines several source texts into one, so that the compiler starts once for all of them and for many architectures.

use std::{env, fs, io, path::Path};

/// Combines texts into one. Each gets a namespace and C++ linkage; with C linkage, functions of the same name would be
/// the same function.
#[must_use]
pub fn combine<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut all = String::new();
    for (i, text) in texts.into_iter().enumerate() {
        all += &format!("namespace k{i} {{\n{}}}\n", text.replace("extern \"C\" ", ""));
    }
    all
}

/// The texts of the files `*.extension` in the folder in the variable `QUADRANTS_COMPILE_DUMP`, sorted by name. Test
/// runs with `QUADRANTS_DUMP` write them. None if the variable is not set.
///
/// # Errors
/// I/O errors of the folder and its files.
pub fn dumped_sources(extension: &str) -> io::Result<Option<Vec<String>>> {
    let Some(folder) = env::var_os("QUADRANTS_COMPILE_DUMP") else { return Ok(None) };
    let mut paths = Vec::new();
    for entry in fs::read_dir(Path::new(&folder))? {
        let path = entry?.path();
        if path.extension().is_some_and(|found| found == extension) {
            paths.push(path);
        }
    }
    paths.sort();
    paths.iter().map(fs::read_to_string).collect::<io::Result<_>>().map(Some)
}
