//! The pipeline from photograph to catalogue on one device: which kernels run on which streams, and
//! how events order them. The host enqueues everything and waits once, for the results.

use std::{
    fmt,
    time::{Duration, Instant},
};

use image::RgbImage;
use quadrants as qd;

use crate::{
    catalogue::{self, Source},
    kernels::{self, NARROW, WIDE},
    photo,
};

/// Standard deviation in pixels of the blur that gives the background.
const WIDE_SIGMA: f32 = 24.0;

/// Standard deviation in pixels of the blur that makes sources stand out.
const NARROW_SIGMA: f32 = 1.5;

/// How the three channels run concurrently.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Streams {
    /// Each on its own stream, ordered by events.
    Explicit,
    /// As the three `stream_parallel` blocks of one kernel.
    Parallel,
    /// One after the other on the default stream.
    Serial,
}

/// The result of a run.
pub(crate) struct Found {
    /// The sources, in the catalogue's order.
    pub(crate) sources: Vec<Source>,
    /// The significance of each pixel, in standard deviations.
    pub(crate) detection: Vec<f32>,
    /// The background of red, green and blue.
    pub(crate) background: [Vec<f32>; 3],
    /// The device's time for each stage.
    pub(crate) stages: Vec<(Stage, Duration)>,
}

/// A part of the work on the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    Split,
    Channels,
    Combine,
    Find,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Split => "split into channels",
            Self::Channels => "background and blur",
            Self::Combine => "combine channels",
            Self::Find => "find sources",
        })
    }
}

/// One channel's tensors.
struct Channel {
    plane: qd::Tensor<f32, 2>,
    background: qd::Tensor<f32, 2>,
    scratch: qd::Tensor<f32, 2>,
    smoothed: qd::Tensor<f32, 2>,
    rows: qd::Tensor<f32, 1>,
    mean: qd::Tensor<f32, 1>,
    deviation: qd::Tensor<f32, 1>,
}

impl Channel {
    fn new(program: &qd::Program, shape: [usize; 2]) -> qd::Result<Self> {
        Ok(Self {
            plane: program.zeros(shape)?,
            background: program.zeros(shape)?,
            scratch: program.zeros(shape)?,
            smoothed: program.zeros(shape)?,
            rows: program.zeros([shape[0]])?,
            mean: program.zeros([1])?,
            deviation: program.zeros([1])?,
        })
    }
}

/// The weights of the two blurs.
struct Weights {
    wide: qd::Tensor<f32, 1>,
    narrow: qd::Tensor<f32, 1>,
}

/// Finds the sources that stand out by more than `threshold` standard deviations.
pub(crate) fn run(
    program: &qd::Program,
    picture: &RgbImage,
    threshold: f32,
    streams: Streams,
) -> qd::Result<Found> {
    let shape = [picture.height() as usize, picture.width() as usize];
    let weights = Weights {
        wide: program.tensor_from(&gaussian(WIDE_SIGMA, WIDE), [2 * WIDE + 1])?,
        narrow: program.tensor_from(&gaussian(NARROW_SIGMA, NARROW), [2 * NARROW + 1])?,
    };
    let pixels = program.tensor_from(&photo::packed(picture), shape)?;
    let mut red = Channel::new(program, shape)?;
    let mut green = Channel::new(program, shape)?;
    let mut blue = Channel::new(program, shape)?;
    let mut detection = program.zeros(shape)?;
    // Of two neighbors at most one is a source, so this capacity always suffices.
    let capacity = shape[0].div_ceil(2) * shape[1].div_ceil(2);
    let mut count = program.zeros::<usize, 1>([1])?;
    let mut xs = program.zeros([capacity])?;
    let mut ys = program.zeros([capacity])?;
    let mut snrs = program.zeros([capacity])?;

    let mut clock = Clock::start(program)?;
    kernels::split(&pixels, &mut red.plane, &mut green.plane, &mut blue.plane).launch()?;
    clock.mark(Stage::Split)?;
    {
        let channels = [&mut red, &mut green, &mut blue];
        match streams {
            Streams::Explicit => on_streams(program, &weights, channels)?,
            Streams::Parallel => in_a_region(&weights, channels)?,
            Streams::Serial => {
                for c in channels {
                    launch_of(&weights, c).launch()?;
                }
            }
        }
    }
    clock.mark(Stage::Channels)?;
    kernels::combine(
        &red.smoothed,
        &red.mean,
        &red.deviation,
        &green.smoothed,
        &green.mean,
        &green.deviation,
        &blue.smoothed,
        &blue.mean,
        &blue.deviation,
        &mut detection,
    )
    .launch()?;
    clock.mark(Stage::Combine)?;
    kernels::find(&detection, threshold, &mut count, &mut xs, &mut ys, &mut snrs).launch()?;
    clock.mark(Stage::Find)?;

    let found = count.to_vec()?[0];
    let (xs, ys, snrs) = (xs.to_vec()?, ys.to_vec()?, snrs.to_vec()?);
    let mut sources: Vec<Source> = xs
        .into_iter()
        .zip(ys)
        .zip(snrs)
        .take(found)
        .map(|((x, y), snr)| Source { x, y, snr })
        .collect();
    catalogue::sort(&mut sources);
    Ok(Found {
        sources,
        detection: detection.to_vec()?,
        background: [
            red.background.to_vec()?,
            green.background.to_vec()?,
            blue.background.to_vec()?,
        ],
        stages: clock.read()?,
    })
}

fn launch_of<'a>(weights: &'a Weights, c: &'a mut Channel) -> qd::Launch<'a> {
    kernels::channel(
        &weights.wide,
        &weights.narrow,
        &c.plane,
        &mut c.background,
        &mut c.scratch,
        &mut c.smoothed,
        &mut c.rows,
        &mut c.mean,
        &mut c.deviation,
    )
}

/// Each channel on its own stream, after the earlier work of the default stream and before its later work.
fn on_streams(
    program: &qd::Program,
    weights: &Weights,
    channels: [&mut Channel; 3],
) -> qd::Result<()> {
    let planes_ready = program.create_event()?;
    planes_ready.record(program.default_stream())?;
    // The streams live until all is enqueued: dropping one waits for its work.
    let mut streams = Vec::new();
    for c in channels {
        let stream = program.create_stream()?;
        planes_ready.wait(&stream)?;
        launch_of(weights, c).launch_on(&stream)?;
        let channel_done = program.create_event()?;
        channel_done.record(&stream)?;
        channel_done.wait(program.default_stream())?;
        streams.push(stream);
    }
    Ok(())
}

/// All channels as the blocks of one region, which run concurrently.
fn in_a_region(weights: &Weights, [red, green, blue]: [&mut Channel; 3]) -> qd::Result<()> {
    kernels::channels(
        &weights.wide,
        &weights.narrow,
        &red.plane,
        &mut red.background,
        &mut red.scratch,
        &mut red.smoothed,
        &mut red.rows,
        &mut red.mean,
        &mut red.deviation,
        &green.plane,
        &mut green.background,
        &mut green.scratch,
        &mut green.smoothed,
        &mut green.rows,
        &mut green.mean,
        &mut green.deviation,
        &blue.plane,
        &mut blue.background,
        &mut blue.scratch,
        &mut blue.smoothed,
        &mut blue.rows,
        &mut blue.mean,
        &mut blue.deviation,
    )
    .launch()
}

/// The weights of a Gaussian blur, `2 * radius + 1` of them, with the sum 1.
pub(crate) fn gaussian(sigma: f32, radius: usize) -> Vec<f32> {
    let weight = |k: usize| {
        let distance = k.abs_diff(radius) as f32;
        (-distance * distance / (2.0 * sigma * sigma)).exp()
    };
    let weights: Vec<f32> = (0..2 * radius + 1).map(weight).collect();
    let sum: f32 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
}

/// Timing events in the default stream, read at the end.
struct Clock<'a> {
    program: &'a qd::Program,
    start: Mark,
    stages: Vec<(Stage, Mark)>,
}

/// A timing event of the default stream.
struct Mark {
    event: qd::Event,
    enqueued: Instant,
}

impl Mark {
    fn new(program: &qd::Program) -> qd::Result<Self> {
        let event = program.create_timing_event()?;
        event.record(program.default_stream())?;
        Ok(Self { event, enqueued: Instant::now() })
    }
}

impl<'a> Clock<'a> {
    fn start(program: &'a qd::Program) -> qd::Result<Self> {
        Ok(Self { program, start: Mark::new(program)?, stages: Vec::new() })
    }

    /// The end of a stage.
    fn mark(&mut self, stage: Stage) -> qd::Result<()> {
        self.stages.push((stage, Mark::new(self.program)?));
        Ok(())
    }

    /// The time of each stage. Waits for the last.
    fn read(&self) -> qd::Result<Vec<(Stage, Duration)>> {
        let mut before = &self.start;
        let mut times = Vec::new();
        for (stage, mark) in &self.stages {
            // CPU launches are complete when the call returns; other devices need events.
            let time = if self.program.capabilities().asynchronous {
                mark.event.synchronize()?;
                let milliseconds = mark.event.elapsed_ms_since(&before.event)?;
                Duration::from_secs_f32(milliseconds.max(0.0) / 1e3)
            } else {
                mark.enqueued - before.enqueued
            };
            times.push((*stage, time));
            before = mark;
        }
        Ok(times)
    }
}
