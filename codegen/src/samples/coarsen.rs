//! Many texts as few: a compiler then starts once for all of them, and can be asked for many architectures.

use std::{env, fs, io, path::Path};

/// Texts of one language as one text. Each has a namespace of its own and C++ linkage: with C's, functions of
/// one name would be the same function.
#[must_use]
pub fn batch<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut all = String::new();
    for (i, text) in texts.into_iter().enumerate() {
        all += &format!("namespace k{i} {{\n{}}}\n", text.replace("extern \"C\" ", ""));
    }
    all
}

/// The texts of files `*.extension` in the folder that `QUADRANTS_COMPILE_DUMP` names, in the order of their names:
/// what test runs left there by `QUADRANTS_DUMP`. None where the variable is not set.
///
/// # Errors
/// What reading the folder and its files gives.
pub fn dumped(extension: &str) -> io::Result<Option<Vec<String>>> {
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
