//! Finds stars and galaxies in a photograph, on the processor or on a GPU.
//!
//! Three streams process red, green and blue concurrently: the background of each channel is subtracted, the channel is
//! blurred and measured; then the channels are combined, and every pixel that is significantly brighter than
//! its surroundings becomes an entry of a catalogue.
//!
//! ```text
//! cargo run --release --example galaxies
//! cargo run --release --example galaxies -- --help
//! ```

mod catalogue;
mod kernels;
mod photo;
mod pipeline;
#[cfg(test)]
mod reference;

use std::{
    ffi::OsString,
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use clap::{Parser, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use quadrants as qd;

use crate::{catalogue::Source, photo::Crop, pipeline::Streams};

/// The default photograph.
const PHOTO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/hubble_deep_field.png");

/// How many sources the summary lists.
const BRIGHTEST: usize = 10;

/// Find stars and galaxies in a photograph.
#[derive(Parser, Debug)]
#[command(name = "galaxies", max_term_width = 100)]
struct Options {
    /// The photograph, PNG or JPEG [default: the Hubble deep field that comes with the project]
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// The folder for sources.csv, annotated.png, detection.png and background.png
    #[arg(long, value_name = "DIR", default_value = "target/galaxies")]
    out: PathBuf,
    /// The device
    #[arg(long, value_enum, default_value_t = Backend::Auto)]
    backend: Backend,
    /// The detection threshold in standard deviations
    #[arg(long, value_name = "K", default_value_t = 4.0, value_parser = threshold)]
    threshold: f32,
    /// Process only this part of the picture
    #[arg(long, value_name = "WxH+X+Y")]
    crop: Option<Crop>,
    /// How the three channels run concurrently
    #[arg(long, value_enum, default_value_t = Streams::Explicit)]
    streams: Streams,
    /// Compare with a catalogue of an earlier run, and fail where more than rounding differs
    #[arg(long, value_name = "FILE")]
    expect: Option<PathBuf>,
    /// Write what ran on which stream: a Chrome trace to FILE, and beside it a picture, FILE with the extension svg
    #[arg(long, value_name = "FILE", value_parser = trace)]
    trace: Option<PathBuf>,
    /// Compile all kernels ahead for the architectures of `--arch`, into this file
    #[arg(long, value_name = "FILE", requires = "arch")]
    export: Option<PathBuf>,
    /// An architecture for `--export`; may be repeated: `sm_90`, `gfx90a`
    #[arg(long, value_name = "NAME")]
    arch: Vec<String>,
}

/// What `--backend` takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Backend {
    /// The processor.
    Cpu,
    /// An NVIDIA GPU.
    Cuda,
    /// An AMD GPU.
    Amdgpu,
    /// The best available device.
    Auto,
}

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("{0}")]
    Usage(String),
    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error("{path} is no PNG or JPEG picture that can be read: {source}")]
    Decode { path: PathBuf, source: image::ImageError },
    #[error(
        "the picture is {width}x{height} pixels, and must be at least {0}x{0}: a source is not \
         nearer than {1} pixels to a border",
        photo::SMALLEST,
        kernels::BORDER
    )]
    TooSmall { width: u32, height: u32 },
    #[error("the part {crop} does not lie within the picture of {width}x{height} pixels")]
    Crop { crop: Crop, width: u32, height: u32 },
    #[error("cannot write into the folder {path}: {source}")]
    Folder { path: PathBuf, source: io::Error },
    #[error("cannot write {path}: {source}")]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot write {path}: {source}")]
    Encode { path: PathBuf, source: image::ImageError },
    #[error("{path}, line {line}: not a catalogue of this program")]
    Catalogue { path: PathBuf, line: usize },
    #[error(
        "the catalogues differ: the source at x {}, y {} with snr {:.4} is only in {only_in}",
        .found.x, .found.y, .found.snr
    )]
    Differs { found: Source, only_in: &'static str },
    #[error("the device {device} is not usable: {source}")]
    Open { device: &'static str, source: Box<qd::Error> },
    #[error("the work on the device failed: {source}")]
    Device { source: Box<qd::Error> },
}

fn main() -> ExitCode {
    let options = match parse(std::env::args_os()) {
        Ok(options) => options,
        Err(code) => return code,
    };
    match run(&options) {
        Ok(summary) => {
            print!("{summary}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("galaxies: {}", one_line(&error));
            ExitCode::FAILURE
        }
    }
}

/// The options, or the exit status if the program ends here.
fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Options, ExitCode> {
    Options::try_parse_from(args).map_err(|error| {
        if error.use_stderr() {
            eprintln!("galaxies: {}", one_line(&usage(&error)));
            ExitCode::from(2)
        } else {
            // Help was requested.
            let _ = error.print();
            ExitCode::SUCCESS
        }
    })
}

/// The error of the arguments, without clap's advice.
fn usage(error: &clap::Error) -> Error {
    let text = error.to_string();
    let first = text.split("\n\n").next().unwrap_or(&text);
    Error::Usage(first.trim_start_matches("error: ").to_owned())
}

fn threshold(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err("not a number".to_owned()),
    }
}

/// The picture would replace a trace with its extension.
fn trace(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.extension() {
        Some(extension) if extension == "svg" => Err("name the trace, such as out.json".to_owned()),
        _ => Ok(path),
    }
}

/// An error with its causes, in one line.
fn one_line(error: &Error) -> String {
    let text = error.to_string();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Runs the program and returns the summary.
fn run(options: &Options) -> Result<String, Error> {
    let mut steps = Steps::new();
    let input = options.input.as_deref().unwrap_or(Path::new(PHOTO));
    let photo = steps.step("read the photograph", || photo::read(input, options.crop))?;
    prepare_folder(&options.out)?;
    for file in traces(options).iter().flatten() {
        // A mistake in the path shows before the work is done.
        write_text(file, "")?;
    }
    let expected = options.expect.as_deref().map(catalogue::read).transpose()?;

    let program = steps.step("open the device", || open(options.backend))?;
    // Warm up on the smallest picture, so that the measurement below excludes compilation.
    let smallest = image::RgbImage::new(photo::SMALLEST, photo::SMALLEST);
    let work = |picture| {
        pipeline::run(&program, picture, options.threshold, options.streams)
            .map_err(|source| Error::Device { source: Box::new(source) })
    };
    steps.step("prepare the kernels", || work(&smallest))?;
    let found = steps.step("look for sources", || match traces(options) {
        None => work(&photo),
        Some(files) => record(&program, &files, || work(&photo)),
    })?;
    steps.step("write the results", || write(&options.out, &photo, &found, options.threshold))?;

    if let Some(file) = &options.export {
        let export = || export(&program, &smallest, options, file);
        export().map_err(|source| Error::Device { source: Box::new(source) })?;
    }
    let mut summary = summary(&program, options, &found, &steps);
    if let Some(expected) = expected {
        catalogue::compare(&found.sources, &expected, options.threshold)?;
        let _ = writeln!(summary, "the catalogue is the expected one");
    }
    Ok(summary)
}

/// The files for the trace and its picture.
fn traces(options: &Options) -> Option<[PathBuf; 2]> {
    options.trace.as_ref().map(|trace| [trace.clone(), trace.with_extension("svg")])
}

/// Does the work, and writes what ran on which stream: a trace and a picture.
fn record<R>(
    program: &qd::Program,
    [trace, picture]: &[PathBuf; 2],
    work: impl FnOnce() -> Result<R, Error>,
) -> Result<R, Error> {
    let recorded = program.profile(work);
    let (value, timeline) =
        recorded.map_err(|source| Error::Device { source: Box::new(source) })?;
    write_text(trace, &timeline.chrome_trace())?;
    write_text(picture, &timeline.svg())?;
    value
}

fn write_text(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(|source| Error::Write { path: path.to_owned(), source })
}

/// Creates the folder and checks that it is writable before the work starts.
fn prepare_folder(folder: &Path) -> Result<(), Error> {
    fs::create_dir_all(folder)
        .and_then(|()| tempfile::tempfile_in(folder))
        .map(drop)
        .map_err(|source| Error::Folder { path: folder.to_owned(), source })
}

/// Compiles the kernels of all stream modes for machines without a compiler.
fn export(
    program: &qd::Program,
    smallest: &image::RgbImage,
    options: &Options,
    file: &Path,
) -> qd::Result<()> {
    for streams in Streams::value_variants() {
        pipeline::run(program, smallest, options.threshold, *streams)?;
    }
    let targets = options.arch.iter().map(|arch| qd::target(arch));
    program.export_cache(file, &targets.collect::<qd::Result<Vec<_>>>()?)?;
    Ok(())
}

fn open(backend: Backend) -> Result<qd::Program, Error> {
    let (device, opened) = match backend {
        Backend::Cpu => ("cpu", qd::Program::open(qd::Arch::Cpu)),
        Backend::Cuda => ("cuda", qd::Program::open(qd::Arch::Cuda)),
        Backend::Amdgpu => ("amdgpu", qd::Program::open(qd::Arch::AmdGpu)),
        Backend::Auto => ("auto", qd::Program::open(qd::Arch::from_env_or_best())),
    };
    opened.map_err(|source| Error::Open { device, source: Box::new(source) })
}

fn write(
    folder: &Path,
    photo: &image::RgbImage,
    found: &pipeline::Found,
    threshold: f32,
) -> Result<(), Error> {
    let size = photo.dimensions();
    catalogue::write(&folder.join("sources.csv"), &found.sources)?;
    photo::write_annotated(&folder.join("annotated.png"), photo, &found.sources)?;
    let white = 5.0 * threshold.abs().max(1.0);
    photo::write_detection(&folder.join("detection.png"), size, &found.detection, white)?;
    photo::write_background(&folder.join("background.png"), size, &found.background)
}

fn summary(
    program: &qd::Program,
    options: &Options,
    found: &pipeline::Found,
    steps: &Steps,
) -> String {
    let info = program.device_info();
    let simulated = if info.simulated { ", simulated" } else { "" };
    let mut text = String::new();
    // Writing to a String does not fail.
    let _ = writeln!(text, "device   {} ({}{simulated})", info.name, info.backend);
    let _ = writeln!(text, "sources  {}", found.sources.len());
    let _ = writeln!(text, "results  {}", options.out.display());
    for (what, file) in ["trace", "streams"].into_iter().zip(traces(options).iter().flatten()) {
        let _ = writeln!(text, "{what:<9}{}", file.display());
    }
    let _ = writeln!(text, "\nthe brightest\n{:>6} {:>6} {:>9}", "x", "y", "snr");
    for Source { x, y, snr } in found.sources.iter().take(BRIGHTEST) {
        let _ = writeln!(text, "{x:>6} {y:>6} {snr:>9.2}");
    }
    let _ = writeln!(text, "\ntime in milliseconds");
    for (name, time) in &steps.times {
        let _ = writeln!(text, "{name:<24} {:>10.3}", milliseconds(*time));
        if *name == "look for sources" {
            for (stage, time) in &found.stages {
                let _ = writeln!(text, "  {:<22} {:>10.3}", stage.to_string(), milliseconds(*time));
            }
        }
    }
    text
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Progress and timing of the steps of a run.
struct Steps {
    bar: ProgressBar,
    times: Vec<(&'static str, Duration)>,
}

impl Steps {
    /// How many there are.
    const COUNT: u64 = 5;

    fn new() -> Self {
        let bar = ProgressBar::new(Self::COUNT);
        if let Ok(style) = ProgressStyle::with_template("{spinner} [{bar:20}] {pos}/{len} {msg}") {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.enable_steady_tick(Duration::from_millis(100));
        Self { bar, times: Vec::new() }
    }

    fn step<T>(
        &mut self,
        name: &'static str,
        work: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        if self.bar.is_hidden() {
            // No terminal, as in a log.
            eprintln!("{name} …");
        }
        self.bar.set_message(name);
        let start = Instant::now();
        let result = work();
        self.times.push((name, start.elapsed()));
        self.bar.inc(1);
        result
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests;
