//! Smoke that the mouse stirs, in a window; or, without a window, stirred by a scripted mouse path, with pictures of
//! some frames.
//!
//! The left button adds warm smoke, the right one cold smoke, and both move the air along with the mouse.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use clap::Parser;
use image::RgbImage;
use quadrants as qd;

use super::{Smoke, kernels};
use crate::{
    Error, Result,
    command::{self, BackendChoice},
    picture::due,
    progress::Progress,
    run,
    trace::TraceOption,
};

/// The name of the program, and of the folder for its pictures.
const NAME: &str = "smoke_window";
/// The share of smoke that remains after a frame.
const KEEP: f32 = 0.999;
/// Pairs of Jacobi sweeps per frame.
const SWEEPS: usize = 10;
/// How many pictures a run without a window writes.
const PICTURES: usize = 6;
/// The highest speed of the hand, in sides of the box per second.
const TOP_SPEED: f32 = 3.0;

/// The command line.
#[derive(Parser, Debug)]
#[command(
    name = NAME,
    about = "Smoke that the mouse stirs: the left button adds warm smoke, the right one cold smoke",
    max_term_width = 100
)]
pub(super) struct Options {
    /// The device
    #[arg(long, value_enum, default_value_t = BackendChoice::Cpu)]
    backend: BackendChoice,
    /// Cells along a side of the box
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = clap::value_parser!(u32).range(8..=4096))]
    size: u32,
    /// Makes this many frames without a window, and writes pictures of some
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    frames: Option<u32>,
    /// The folder for the pictures
    #[arg(long, value_name = "DIR", default_value = "target/smoke_window")]
    out: PathBuf,
    #[command(flatten)]
    trace: TraceOption,
}

/// Where the hand is and what it does. Lengths are in sides of the box, from the lower left corner.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Hand {
    pub(super) at: [f32; 2],
    /// Per second.
    pub(super) speed: [f32; 2],
    /// How much warm and cold smoke it adds, from 0 to 1.
    pub(super) smoke: [f32; 2],
}

/// The smoke, and the pixels of its picture on the device.
pub(super) struct Live {
    pub(super) smoke: Smoke,
    pixels: qd::Tensor<u32, 2>,
}

/// The program's entry point.
#[must_use]
pub fn main() -> ExitCode {
    let options = match Options::try_parse() {
        Ok(options) => options,
        Err(error) => error.exit(),
    };
    match execute(&options) {
        Ok(summary) => {
            print!("{summary}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{NAME}: {}", error.one_line());
            ExitCode::FAILURE
        }
    }
}

/// Shows or makes frames, and returns the summary.
pub(super) fn execute(options: &Options) -> Result<String> {
    let program = command::open(options.backend)?;
    let (summary, files) =
        options.trace.record(std::slice::from_ref(&program), || match options.frames {
            Some(frames) => without_window(&program, options, frames),
            None => window::show(&program, options),
        })?;
    Ok(summary + &files)
}

/// Makes frames with a fixed hand, writes pictures, and returns the summary.
fn without_window(program: &qd::Program, options: &Options, frames: u32) -> Result<String> {
    run::prepare_folder(&options.out)?;
    let mut live = Live::new(program, options.size as usize)?;
    let frames = frames as usize;
    let mut summary = String::new();
    // The first frame finds and compiles the kernels.
    live.frame(Hand::at_frame(0))?;
    let progress = Progress::new(frames);
    let mut took = Duration::ZERO;
    for frame in 0..frames {
        let start = Instant::now();
        let pixels = live.frame(Hand::at_frame(frame))?;
        took += start.elapsed();
        progress.step(program)?;
        for number in due(frame, frames, PICTURES.min(frames)) {
            let path = options.out.join(format!("smoke_window-{number}.png"));
            write(&path, &pixels, options.size)?;
            summary += &format!("picture    {}\n", path.display());
        }
    }
    let rate = frames as f64 / took.as_secs_f64().max(1e-9);
    summary += &format!("frames     {frames}, {rate:.1} per second\n");
    Ok(summary)
}

fn write(path: &Path, pixels: &[u32], size: u32) -> Result<()> {
    let picture = RgbImage::from_fn(size, size, |x, y| {
        let [_, red, green, blue] = pixels[(y * size + x) as usize].to_be_bytes();
        image::Rgb([red, green, blue])
    });
    picture
        .save_with_format(path, image::ImageFormat::Png)
        .map_err(|source| Error::Write { path: path.to_owned(), source })
}

impl Hand {
    /// The fixed hand: it circles twice in 240 frames, and changes the kind of smoke half way.
    pub(super) fn at_frame(frame: usize) -> Option<Self> {
        let turn = std::f32::consts::TAU / 120.0;
        let angle = turn * frame as f32;
        let (radius, speed) = (0.25, 0.25 * turn * 60.0);
        let smoke = if (frame / 60).is_multiple_of(2) { [1.0, 0.0] } else { [0.0, 1.0] };
        Some(Self {
            at: [0.5 + radius * angle.cos(), 0.5 + radius * angle.sin()],
            speed: [-speed * angle.sin(), speed * angle.cos()],
            smoke,
        })
    }
}

impl Live {
    pub(super) fn new(program: &qd::Program, size: usize) -> Result<Self> {
        Ok(Self { smoke: Smoke::new(program, size)?, pixels: program.zeros([size, size])? })
    }

    /// Makes a frame. Returns its pixels as `0x00RRGGBB`, the top row first.
    pub(super) fn frame(&mut self, hand: Option<Hand>) -> Result<Vec<u32>> {
        let Self { smoke, pixels } = self;
        smoke.advect(KEEP)?;
        if let Some(Hand { at, speed, smoke: [warm, cold] }) = hand {
            let [u, v] = speed.map(|speed| speed.clamp(-TOP_SPEED, TOP_SPEED));
            let Smoke { u: [us, _], v: [vs, _], left: [left, _], right: [right, _], .. } = smoke;
            kernels::stir(at[0], at[1], u, v, warm, cold, us, vs, left, right).launch()?;
        }
        smoke.flow(SWEEPS)?;
        kernels::shade(&smoke.left[0], &smoke.right[0], pixels).launch()?;
        Ok(pixels.to_vec()?)
    }
}

#[cfg(not(feature = "window"))]
mod window {
    use quadrants as qd;

    use super::{Options, Result};
    use crate::Error;

    pub(super) fn show(_: &qd::Program, _: &Options) -> Result<String> {
        Err(Error::Usage(
            "this program was built without a window: add `--features window` to cargo, or pass --frames N"
                .to_owned(),
        ))
    }
}

#[cfg(feature = "window")]
mod window {
    use std::time::Instant;

    use minifb::{Key, MouseButton, MouseMode, Scale, ScaleMode, Window, WindowOptions};
    use quadrants as qd;

    use super::{Hand, Live, Options, Result};
    use crate::Error;

    /// Shows frames until the window is closed. Returns the summary.
    pub(super) fn show(program: &qd::Program, options: &Options) -> Result<String> {
        let size = options.size as usize;
        let mut live = Live::new(program, size)?;
        let failed = |error: minifb::Error| Error::Usage(format!("no window: {error}"));
        let style = WindowOptions {
            resize: true,
            scale: Scale::FitScreen,
            scale_mode: ScaleMode::AspectRatioStretch,
            ..WindowOptions::default()
        };
        let mut window = Window::new("smoke", size, size, style).map_err(failed)?;
        window.set_target_fps(60);
        let (mut before, mut frames, start) = (None, 0u32, Instant::now());
        let mut shown = Instant::now();
        while window.is_open() && !window.is_key_down(Key::Escape) {
            let seconds = shown.elapsed().as_secs_f32().max(1e-3);
            shown = Instant::now();
            let at = window.get_mouse_pos(MouseMode::Clamp).map(|(x, y)| {
                let (width, height) = window.get_size();
                [x / width.max(1) as f32, 1.0 - y / height.max(1) as f32]
            });
            let button = |button| f32::from(u8::from(window.get_mouse_down(button)));
            let smoke = [button(MouseButton::Left), button(MouseButton::Right)];
            let hand = at.filter(|_| smoke != [0.0; 2]).map(|at| {
                let from = before.unwrap_or(at);
                let speed = [0, 1].map(|axis| (at[axis] - from[axis]) / seconds);
                Hand { at, speed, smoke }
            });
            before = at;
            let pixels = live.frame(hand)?;
            window.update_with_buffer(&pixels, size, size).map_err(failed)?;
            frames += 1;
        }
        let rate = f64::from(frames) / start.elapsed().as_secs_f64().max(1e-9);
        Ok(format!("frames     {frames}, {rate:.1} per second\n"))
    }
}
