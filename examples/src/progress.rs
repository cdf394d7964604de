//! The progress of a run in a terminal.

use indicatif::{ProgressBar, ProgressStyle};
use quadrants::Program;

/// How many steps are enqueued before the host waits for them, so that the progress shown is that of the device.
const AHEAD: u64 = 8;

/// A bar that counts steps. Without a terminal it shows nothing.
#[derive(Debug)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    pub(crate) fn new(steps: usize) -> Self {
        let bar = ProgressBar::new(steps as u64);
        if let Ok(style) =
            ProgressStyle::with_template("{spinner} [{bar:40}] step {pos}/{len} {eta}")
        {
            bar.set_style(style.progress_chars("=> "));
        }
        Self(bar)
    }

    /// A bar that is not shown.
    pub(crate) fn hidden() -> Self {
        Self(ProgressBar::hidden())
    }

    /// A step was enqueued. Where the bar is shown, this waits for the device now and then.
    pub(crate) fn step(&self, program: &Program) -> quadrants::Result<()> {
        self.0.inc(1);
        if !self.0.is_hidden() && self.0.position().is_multiple_of(AHEAD) {
            program.device_sync()?;
        }
        Ok(())
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
