//! `quadrants trace`: the table and the picture of a trace.

use std::{fs, io::Write, path::PathBuf};

use clap::Args;
use quadrants::Timeline;

use crate::CommandError;

#[derive(Args)]
pub(crate) struct Options {
    /// The file that QUADRANTS_TRACE or `Timeline::chrome_trace` wrote.
    file: PathBuf,
    /// Also draw the streams side by side, to this file.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

pub(crate) fn run(options: &Options, out: &mut dyn Write) -> Result<(), CommandError> {
    let Options { file, svg } = options;
    let unreadable =
        |source| CommandError::File { what: "cannot read", path: file.clone(), source };
    let text = fs::read_to_string(file).map_err(unreadable)?;
    let timeline = Timeline::from_chrome_trace(&text)
        .map_err(|error| CommandError::Refused(format!("`{}`: {error}", file.display())))?;
    writeln!(out, "{timeline}")?;
    if let Some(svg) = svg {
        let unwritable =
            |source| CommandError::File { what: "cannot write", path: svg.clone(), source };
        fs::write(svg, timeline.svg()).map_err(unwritable)?;
        writeln!(out, "wrote {}", svg.display())?;
    }
    Ok(())
}
