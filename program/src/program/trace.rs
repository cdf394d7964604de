//! The trace of a whole program, which the environment variable `QUADRANTS_TRACE` asks for. It is written when the
//! program is dropped, or else when the process exits.

use std::{
    ffi::c_int,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Once, Weak,
        atomic::{
            AtomicBool, AtomicUsize,
            Ordering::{AcqRel, Relaxed},
        },
    },
};

use parking_lot::Mutex;

use crate::{
    Error, Result, TRACE_VARIABLE,
    profile::{ProgramTrace, session::Mark, timeline_builder},
    state::{ProgramInner, ProgramShared},
};

/// The number of traced programs that this process has opened.
static PROGRAMS: AtomicUsize = AtomicUsize::new(0);

/// The traced programs.
static TRACED: Mutex<Vec<Weak<ProgramShared>>> = Mutex::new(Vec::new());

/// Begins the trace of a program, if the environment asks for one.
///
/// # Errors
/// [`Error::Trace`] where the file cannot be written, or an error of the device.
pub(crate) fn begin_by_env(shared: &Arc<ProgramShared>) -> Result<()> {
    let Some(path) = std::env::var_os(TRACE_VARIABLE).filter(|path| !path.is_empty()) else {
        return Ok(());
    };
    let path = path_of(Path::new(&path), PROGRAMS.fetch_add(1, Relaxed));
    // A mistake in the path is reported now, not at the end.
    fs::write(&path, "").map_err(|source| Error::Trace { path: path.clone(), source })?;
    shared.synchronize()?;
    shared.profiler.record(&shared.context, &shared.graphs)?;
    let _ = shared.profiler.trace.set(ProgramTrace { path, is_written: AtomicBool::new(false) });
    let mut traced = TRACED.lock();
    traced.retain(|program| program.strong_count() > 0);
    traced.push(Arc::downgrade(shared));
    drop(traced);
    static AT_EXIT: Once = Once::new();
    AT_EXIT.call_once(|| {
        // Where it fails, only programs that are dropped write their traces.
        let _ = atexit(write_all);
    });
    Ok(())
}

/// The file of the program with this number: the first has the given path, the next `-2` before its extension.
fn path_of(path: &Path, number: usize) -> PathBuf {
    if number == 0 {
        return path.to_owned();
    }
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{}", number + 1));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

// SAFETY: the signature of the C library's function, which only keeps the pointer.
unsafe extern "C" {
    safe fn atexit(function: extern "C" fn()) -> c_int;
}

/// Writes the traces of the programs that still exist.
extern "C" fn write_all() {
    let write = || {
        let traced = std::mem::take(&mut *TRACED.lock());
        traced.iter().filter_map(Weak::upgrade).for_each(|program| write(&program));
    };
    // The C library cannot be unwound.
    let _ = std::panic::catch_unwind(write);
}

impl Drop for ProgramInner {
    fn drop(&mut self) {
        write(&self.shared);
    }
}

/// Writes the trace of a program, if it has one that is not written yet.
fn write(shared: &ProgramShared) {
    let Some(trace) = shared.profiler.trace.get() else { return };
    if trace.is_written.swap(true, AcqRel) {
        return;
    }
    shared.context.interpose(false, Arc::clone);
    shared.graphs.set_for_regions(true);
    if let Err(error) = shared.synchronize() {
        tracing::warn!(%error, "the end of a trace");
    }
    let info = shared.context.device().info();
    let Some(session) = shared.profiler.device.get().and_then(|device| device.end()) else {
        return;
    };
    let timeline = timeline_builder::timeline(&session, Mark::default(), info);
    if let Err(error) = fs::write(&trace.path, timeline.chrome_trace()) {
        tracing::error!(%error, path = %trace.path.display(), "the trace cannot be written");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_program_of_a_process_has_a_file() {
        let path = |path: &str, number| path_of(Path::new(path), number);
        assert_eq!(path("a/out.json", 0), Path::new("a/out.json"));
        assert_eq!(path("a/out.json", 1), Path::new("a/out-2.json"));
        assert_eq!(path("trace", 2), Path::new("trace-3"));
    }
}
