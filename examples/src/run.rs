//! A run of an example: its device, its progress, its pictures and its summary.

use std::{
    fmt::{Display, Write as _},
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use image::RgbImage;
use quadrants as qd;

use crate::{About, Error, Result, command::Options, progress::Progress, unsafe_share::Share};

/// A run of an example.
#[derive(Debug)]
pub struct Run {
    program: qd::Program,
    steps: usize,
    size: usize,
    out: PathBuf,
    summary: String,
}

impl Run {
    /// Everything that can be wrong with the options shows here, before the work is done.
    pub(crate) fn new(
        about: &About,
        options: &Options,
        open: impl FnOnce() -> Result<qd::Program>,
    ) -> Result<Self> {
        let size = options.size.map_or(about.size, usize::from);
        let (smallest, largest) = about.sizes;
        if !(smallest..=largest).contains(&size) {
            return Err(Error::Size { size, smallest, largest });
        }
        let out = options.out.clone().unwrap_or_else(|| Path::new("target").join(about.name));
        prepare_folder(&out)?;
        let program = open()?;
        let steps = options.steps.map_or(about.steps, usize::from);
        let mut run = Self { program, steps, size, out, summary: String::new() };
        let info = run.program.device_info();
        let simulated = if info.simulated { ", simulated" } else { "" };
        let device = format!("{} ({}{simulated})", info.name, info.backend);
        run.say("device", device);
        run.say("kernels", Share::of(about.kernels));
        Ok(run)
    }

    /// The program that the simulation runs on.
    #[must_use]
    pub fn program(&self) -> &qd::Program {
        &self.program
    }

    /// How large the simulation is.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// The default number of steps.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// Calls `step` with the number of each step, shows the progress, and waits for the device.
    ///
    /// # Errors
    /// That of a step, or of the device.
    pub fn each_step(&mut self, mut step: impl FnMut(usize) -> Result<()>) -> Result<()> {
        let progress = Progress::new(self.steps);
        // The first step finds and compiles the kernels: it says nothing about the others.
        step(0)?;
        progress.step(&self.program)?;
        self.program.device_sync()?;
        let start = Instant::now();
        for number in 1..self.steps {
            step(number)?;
            progress.step(&self.program)?;
        }
        self.program.device_sync()?;
        drop(progress);
        self.say("steps", self.steps);
        if let Some(rest) = u32::try_from(self.steps - 1).ok().filter(|rest| *rest > 0) {
            self.say("a step", milliseconds(start.elapsed() / rest));
        }
        Ok(())
    }

    /// Writes a picture into the folder, and names it in the summary.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&mut self, name: &str, picture: &RgbImage) -> Result<()> {
        let path = self.out.join(name);
        picture
            .save_with_format(&path, image::ImageFormat::Png)
            .map_err(|source| Error::Write { path: path.clone(), source })?;
        self.say("picture", path.display());
        Ok(())
    }

    /// Adds a line to the summary.
    pub fn say(&mut self, what: &str, value: impl Display) {
        // Writing to a String does not fail.
        let _ = writeln!(self.summary, "{what:<11}{value}");
    }

    /// The summary.
    pub(crate) fn finish(self) -> String {
        self.summary
    }
}

/// Makes the folder, and finds out whether files can be written there.
pub(crate) fn prepare_folder(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)
        .and_then(|()| tempfile::tempfile_in(folder))
        .map(drop)
        .map_err(|source| Error::Folder { path: folder.to_owned(), source })
}

fn milliseconds(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1e3)
}
