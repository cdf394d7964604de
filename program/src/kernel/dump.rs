//! Dumps of kernels: their IR and their source text for the device's compiler, as files. For inspection, and for tests
//! that compile all emitted text.
//!
//! `QUADRANTS_DUMP` names a folder, which is made. Each kernel `name` leaves, with the first 8 digits of the hash
//! of its offloaded form,
//!
//! * `name-hash.ir`: the IR as written, and the tasks that it was split into;
//! * `name-hash.proven.cu`, `name-hash.checked.hip` and their like: the text for the device's compiler, one per
//!   image; `checked-0-2` where only the tasks 0 and 2 are checked. A simulated device leaves the text that a real
//!   one would get.
//!
//! Equal kernels have equal names. A file that cannot be written is logged, and the launch goes on.

use std::{
    ffi::OsString,
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use quadrants_codegen::SourceText;
use quadrants_ir::{Kernel, Offloaded, abi::Forms};

pub(crate) fn ir(written: &Kernel, offloaded: &Offloaded) {
    if let Some(folder) = folder() {
        let text = format!("{}\n{offloaded}", quadrants_ir::print(written));
        write(folder, offloaded, "ir", &text);
    }
}

/// Writes the source text of a kernel in these forms. `text` is only called where dumps are on.
pub(crate) fn source(kernel: &Offloaded, forms: Forms, text: impl FnOnce() -> Option<SourceText>) {
    if let Some(folder) = folder()
        && let Some(source) = text()
    {
        write(folder, kernel, &format!("{forms}.{}", source.extension), &source.text);
    }
}

/// The folder for dumps. The environment is read once.
fn folder() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOLDER.get_or_init(|| chosen(std::env::var_os("QUADRANTS_DUMP"))).as_deref()
}

fn chosen(variable: Option<OsString>) -> Option<PathBuf> {
    variable.filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn write(folder: &Path, kernel: &Offloaded, ending: &str, text: &str) {
    let path = folder.join(format!("{}.{ending}", stem(kernel)));
    if let Err(error) = replace(folder, &path, text) {
        tracing::warn!(path = %path.display(), %error, "a kernel's dump cannot be written");
    }
}

/// Replaces a file in one step: other threads and processes may write it too, and a reader finds one version.
fn replace(folder: &Path, path: &Path, text: &str) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut partial = path.as_os_str().to_owned();
    partial.push(format!(".{}-{:?}", std::process::id(), std::thread::current().id()));
    fs::write(&partial, text)?;
    fs::rename(&partial, path)
}

fn stem(kernel: &Offloaded) -> String {
    let mut stem = kernel.name.clone() + "-";
    for byte in &quadrants_ir::hash(kernel)[..4] {
        let _ = write!(stem, "{byte:02x}");
    }
    stem
}

#[cfg(test)]
mod tests {
    use quadrants_samples as samples;

    use super::*;

    #[test]
    fn an_empty_variable_turns_dumps_off() {
        assert_eq!(chosen(None), None);
        assert_eq!(chosen(Some("".into())), None);
        assert_eq!(chosen(Some("here".into())), Some("here".into()));
    }

    #[test]
    fn file_names_are_stable_and_differ_between_kernels() {
        let mut kernel = samples::saxpy();
        let name = stem(&kernel);
        assert_eq!(name, stem(&samples::saxpy()));
        assert!(name.starts_with("saxpy-") && name.len() == 14, "{name}");
        kernel.options.strict = true;
        assert_ne!(name, stem(&kernel));
    }

    #[test]
    fn a_dump_that_cannot_be_written_is_ignored() {
        // The parent of the folder is a file.
        let file = std::env::current_exe().unwrap();
        write(&file.join("dump"), &samples::saxpy(), "ir", "text");
    }
}
