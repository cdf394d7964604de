//! `--trace`: what ran on which stream, for a trace viewer and as a picture.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::Args;
use quadrants::{Program, Timeline};

use crate::{Error, Result};

/// The option, which all command lines have.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct TraceOption {
    /// Writes what ran on which stream: a Chrome trace to FILE, and beside it a picture, FILE with the extension svg,
    /// which is legible for few steps
    #[arg(id = "trace", long, value_name = "FILE", value_parser = no_picture)]
    file: Option<PathBuf>,
}

/// The picture would replace a trace with its extension.
fn no_picture(text: &str) -> std::result::Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.extension() {
        Some(extension) if extension == "svg" => Err("name the trace, such as out.json".to_owned()),
        _ => Ok(path),
    }
}

impl TraceOption {
    /// Does the work, and records the programs meanwhile if the option was given. Returns the value with lines for the
    /// summary, which name the files.
    pub(crate) fn record<R>(
        &self,
        programs: &[Program],
        work: impl FnOnce() -> Result<R>,
    ) -> Result<(R, String)> {
        let Some(file) = &self.file else { return Ok((work()?, String::new())) };
        let files: Vec<_> = (0..programs.len()).map(|number| files_of(file, number)).collect();
        // A mistake in the path shows before the work is done.
        for path in files.iter().flatten() {
            write(path, "")?;
        }
        let (mut work, mut value) = (Some(work), None);
        let timelines = profile(programs, &mut || value = work.take().map(|work| work()))?;
        let mut lines = String::new();
        for ([trace, picture], timeline) in files.iter().zip(timelines) {
            write(trace, &timeline.chrome_trace())?;
            write(picture, &timeline.svg())?;
            lines += &format!("{:<11}{}\n", "trace", trace.display());
            lines += &format!("{:<11}{}\n", "streams", picture.display());
        }
        // Also of work that failed, the traces are written.
        let value =
            value.unwrap_or_else(|| Err(Error::Usage("nothing was recorded".to_owned())))?;
        Ok((value, lines))
    }
}

/// Records all programs at once. The timelines are in their order.
fn profile(programs: &[Program], work: &mut dyn FnMut()) -> Result<Vec<Timeline>> {
    let Some((last, others)) = programs.split_last() else {
        work();
        return Ok(Vec::new());
    };
    let (timelines, timeline) = last.profile(|| profile(others, work))?;
    let mut timelines = timelines?;
    timelines.push(timeline);
    Ok(timelines)
}

/// Trace and picture of a program: the first has the given path, the next `-2` before the extension, as with
/// `QUADRANTS_TRACE`.
fn files_of(file: &Path, number: usize) -> [PathBuf; 2] {
    let mut trace = file.to_owned();
    if number > 0 {
        let mut name = file.file_stem().unwrap_or_default().to_owned();
        name.push(format!("-{}", number + 1));
        if let Some(extension) = file.extension() {
            name.push(".");
            name.push(extension);
        }
        trace.set_file_name(name);
    }
    let picture = trace.with_extension("svg");
    [trace, picture]
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|source| Error::Trace { path: path.to_owned(), source })
}
